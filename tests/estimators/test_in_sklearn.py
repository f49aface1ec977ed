"""The estimators in scikit-learn's hands: its own checks, its names of parameters."""

from inspect import signature

import pytest
from sklearn.base import clone, is_regressor
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
_LONELY_CLASS = (
    "These checks make classes of the values of a kernel matrix, of which some have one example: "
    "the fold that tests it has none to train on, which is an error."
)
_WITH_LONELY_CLASSES = (
    "check_dont_overwrite_parameters",
    "check_positive_only_tag_during_fit",
    "check_estimators_dtypes",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit2d_predict1d",
)


def expected_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": _REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": _REPETITION,
    }
    if is_regressor(estimator):
        return failures
    if isinstance(estimator, PegasosSVCCV):
        lonely = _WITH_LONELY_CLASSES if estimator.kernel == "precomputed" else ()
        return failures | dict.fromkeys(lonely, _LONELY_CLASS)
    if isinstance(estimator, LinearPegasosSVC) or estimator.kernel == "linear":
        failures["check_class_weight_classifiers"] = _SMALL_LAM
    elif estimator.loss == "log_loss":
        failures["check_classifiers_train"] = _VOTE
    return failures


# The checks want of probabilities what `predict` says, and models of halves know less: cv=5.
@parametrize_with_checks(
    [
        PegasosSVC(),
        LinearPegasosSVC(),
        PegasosSVR(),
        PegasosSVCCV(Cs=[1.0], kernel="linear", cv=5, calibration="sigmoid"),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimators_conform(estimator, check):
    check(estimator)


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
        PegasosSVCCV(Cs=[1.0, 10.0], gammas=["scale"], cv=2),
        PegasosSVCCV(Cs=[1.0], kernel="precomputed", cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_other_configurations_conform(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [PegasosSVC(kernel="linear"), LinearPegasosSVC()], ids=str)
def test_estimators_heed_class_weights_in_enough_epochs(estimator):
    check_class_weight_classifiers(str(estimator), estimator.set_params(epochs=200))


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
def test_signature_and_parameters_are_those_of_the_constructor(Ours):
    assert {"C", "lam", "epochs", "tol"} <= names(Ours)
    assert clone(Ours(C=2.0)).get_params() == Ours(2.0).get_params()
