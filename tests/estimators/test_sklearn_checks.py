"""Conformance with scikit-learn, by its own suite of checks."""

import pytest
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    parametrize_with_checks,
)

from kpegasos import LinearPegasosSVC, PegasosSVC

_REPETITION = (
    "An example of weight 2 is drawn once and an example that is there twice is drawn twice, so "
    "the order of the stream differs and only the optimum is the same."
)
_SMALL_LAM = (
    "Class weights of 1000 make lam = 1 / (C · Σ weights) a thousandth of its usual size, for "
    "which 20 epochs of a few examples are too few steps in the linear kernel; 200 epochs pass."
)


def expected_failures(estimator):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": _REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": _REPETITION,
    }
    if isinstance(estimator, LinearPegasosSVC) or estimator.kernel == "linear":
        failures["check_class_weight_classifiers"] = _SMALL_LAM
    return failures


@parametrize_with_checks(
    [
        PegasosSVC(),
        PegasosSVC(kernel="linear", cache="streamed"),
        PegasosSVC(kernel="precomputed"),
        LinearPegasosSVC(),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimators_conform(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [PegasosSVC(kernel="linear"), LinearPegasosSVC()], ids=str)
def test_estimators_heed_class_weights_in_enough_epochs(estimator):
    check_class_weight_classifiers(str(estimator), estimator.set_params(epochs=200))
