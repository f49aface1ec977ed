"""Names that SVC, LinearSVC and SGDClassifier have for a parameter are answered by ours."""

from inspect import signature

import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR
from kpegasos.estimators.base import COUNTERPARTS

OURS = [PegasosSVC, LinearPegasosSVC, PegasosSVR, LinearPegasosSVR]
PAIRS = [
    (SVC, PegasosSVC),
    (LinearSVC, LinearPegasosSVC),
    (SGDClassifier, LinearPegasosSVC),
    (SVR, PegasosSVR),
    (LinearSVR, LinearPegasosSVR),
]


def names(Estimator):
    return set(signature(Estimator).parameters)


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_every_parameter_of_theirs_is_ours_or_has_a_counterpart(theirs, ours):
    assert names(theirs) - names(ours) - set(COUNTERPARTS) <= {"epsilon"}  # of Huber, in SGD


@pytest.mark.parametrize("Ours", OURS)
@pytest.mark.parametrize("name", sorted(COUNTERPARTS))
def test_constructor_names_the_counterpart(Ours, name):
    with pytest.raises(TypeError, match=f"{Ours.__name__} has no parameter '{name}'; its counter"):
        Ours(**{name: 1})


@pytest.mark.parametrize("Ours", OURS)
def test_other_errors_of_the_constructor_are_python_s(Ours):
    with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
        Ours(gama=1.0)
    with pytest.raises(TypeError, match="positional"):
        Ours(1.0, 2.0)


@pytest.mark.parametrize("Ours", OURS)
def test_signature_and_parameters_are_those_of_the_constructor(Ours):
    assert {"C", "lam", "epochs", "tol"} <= names(Ours)
    assert clone(Ours(C=2.0)).get_params() == Ours(2.0).get_params()
