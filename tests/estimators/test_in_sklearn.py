"""The estimators in scikit-learn's hands: its own checks, its names of parameters."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.feature_selection import RFE
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR

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
        PegasosSVCCV(Cs=[1.0], kernel="linear", cv=5),
    ],
    expected_failed_checks=expected_failures,
)
def test_other_configurations_conform(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [PegasosSVC(kernel="linear"), LinearPegasosSVC()], ids=str)
def test_estimators_heed_class_weights_in_enough_epochs(estimator):
    check_class_weight_classifiers(str(estimator), estimator.set_params(epochs=200))


# --- subclasses, and what is set or looked at after a fit ---

ALL = pytest.mark.parametrize(
    "Estimator", [PegasosSVC, LinearPegasosSVC, PegasosSVR, LinearPegasosSVR, PegasosSVCCV]
)
IRIS = load_iris(return_X_y=True)


@ALL
def test_subclass_may_pass_on_some_parameters(Estimator):
    class Own(Estimator):
        def __init__(self, note=None, random_state=None):
            super().__init__(random_state=random_state)
            self.note = note

    expected = Estimator(random_state=0).fit(*IRIS).predict(IRIS[0])
    np.testing.assert_array_equal(clone(Own("a", 0)).fit(*IRIS).predict(IRIS[0]), expected)
    if hasattr(Estimator, "partial_fit"):
        begin = {"classes": np.unique(IRIS[1])} if is_classifier(Estimator()) else {}
        assert np.min(Own().partial_fit(*IRIS, **begin).partial_fit(*IRIS).n_steps_) >= 200


def test_warm_start_of_a_subclass_refuses_another_value_of_what_it_does_not_pass_on():
    class Own(LinearPegasosSVC):
        def __init__(self, note=None):
            super().__init__(warm_start=True, random_state=0, epochs=1)
            self.note = note

    model = Own().fit(*IRIS).fit(*IRIS)
    model.C = 2.0
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
        model.fit(*IRIS)


@pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC, PegasosSVCCV])
def test_votes_are_by_the_parameters_as_they_are_now(Estimator):
    X, y = IRIS
    model = Estimator(random_state=0).fit(X, y)
    of_classes = model.decision_function(X)
    of_pairs = model.set_params(decision_function_shape="ovo").decision_function(X)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(of_pairs, again.decision_function(X))
    lower, upper = model.decision_bounds(X)
    assert ((lower <= of_pairs) & (of_pairs <= upper)).all()
    model.set_params(decision_function_shape="ovr", break_ties=True)
    np.testing.assert_array_equal(model.predict(X), of_classes.argmax(axis=1))
    with pytest.raises(ValueError, match="decision_function_shape must be one of"):
        model.set_params(decision_function_shape="all").decision_function(X)
    with pytest.raises(ValueError, match="break_ties must be True or False"):
        model.set_params(decision_function_shape="ovr", break_ties="yes").predict(X)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (PegasosSVC(kernel="linear", fit_intercept="free"), SVC(kernel="linear")),
        (PegasosSVR(kernel="linear", fit_intercept="free"), SVR(kernel="linear")),
    ],
    ids=str,
)
def test_weights_of_a_linear_kernel_are_theirs_and_not_to_be_written_to(ours, theirs):
    X, y = IRIS[0][:100], IRIS[1][:100] * 2.0
    ours.set_params(polish=True, tol=1e-7, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.set_params(tol=1e-7).fit(X, y).coef_, atol=1e-3)
    with pytest.raises(ValueError, match="read-only"):
        ours.coef_[0, 0] = 99.0
    # Of the three that are left two have one weight: which of them went next would be chance.
    chosen, expected = (RFE(each, n_features_to_select=3).fit(X, y) for each in (ours, theirs))
    np.testing.assert_array_equal(chosen.support_, expected.support_)
    with pytest.raises(AttributeError, match="kernel='linear'"):
        _ = ours.set_params(kernel="rbf", tol=1e-2).fit(X, y).coef_
