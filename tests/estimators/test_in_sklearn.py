"""The estimators in scikit-learn's hands: its own checks, its names of parameters."""

from inspect import signature

import pytest
from sklearn.base import is_regressor
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR
from kpegasos.estimators.base import COUNTERPARTS

_REPETITION = (
    "An example of weight 2 is drawn once, one that is there twice is drawn twice, and may be in "
    "two folds: the order of the stream differs and only the optimum is the same."
)
_SMALL_LAM = (
    "Class weights of 1000 make lam = 1 / (C · Σ weights) a thousandth of its usual size, for "
    "which 20 epochs of a few examples are too few steps in the linear kernel; 200 epochs pass."
)
_VOTE = "Classes are voted on, as in SVC; the coupled probabilities may differ at a near tie."


def expected_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": _REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": _REPETITION,
    }
    if is_regressor(estimator) or isinstance(estimator, PegasosSVCCV):
        return failures
    if isinstance(estimator, LinearPegasosSVC) or estimator.kernel == "linear":
        failures["check_class_weight_classifiers"] = _SMALL_LAM
    elif estimator.loss == "log_loss":
        failures["check_classifiers_train"] = _VOTE
    return failures


@parametrize_with_checks(
    [
        PegasosSVC(),
        LinearPegasosSVC(),
        PegasosSVR(),
        PegasosSVCCV(Cs=[1.0], gammas=["scale"], cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimators_conform(estimator, check):
    check(estimator)


# The checks want of probabilities what `predict` says, and models of halves know less: cv=5.
@pytest.mark.slow
@parametrize_with_checks(
    [
        PegasosSVC(kernel="linear", cache="streamed"),
        PegasosSVC(kernel="precomputed"),
        PegasosSVC(loss="log_loss"),
        LinearPegasosSVC(loss="log_loss"),
        PegasosSVR(kernel="linear"),
        PegasosSVR(polish=True),
        LinearPegasosSVR(),
        PegasosSVCCV(Cs=[1.0], kernel="linear", cv=5, calibration="sigmoid"),
    ],
    expected_failed_checks=expected_failures,
)
def test_other_configurations_conform(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [PegasosSVC(kernel="linear"), LinearPegasosSVC()], ids=str)
def test_estimators_heed_class_weights_in_enough_epochs(estimator):
    check_class_weight_classifiers(str(estimator), estimator.set_params(epochs=200))


PAIRS = [
    (SVC, PegasosSVC),
    (LinearSVC, LinearPegasosSVC),
    (SGDClassifier, LinearPegasosSVC),
    (SVR, PegasosSVR),
    (LinearSVR, LinearPegasosSVR),
]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_every_parameter_of_theirs_is_ours_or_has_a_counterpart(theirs, ours):
    own, others = (set(signature(Estimator).parameters) for Estimator in (ours, theirs))
    assert others - own - set(COUNTERPARTS) <= {"epsilon"}  # of Huber, in SGD
    for name in COUNTERPARTS:
        with pytest.raises(TypeError, match=f"{ours.__name__} has no parameter '{name}'; its cou"):
            ours(**{name: 1})
