"""Conformance with scikit-learn, by its own suite of checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from kpegasos import LinearPegasosSVC, PegasosSVC

_REPETITION = (
    "An example of weight 2 is drawn once and an example that is there twice is drawn twice, so "
    "the order of the stream differs and only the optimum is the same."
)


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": _REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": _REPETITION,
    }


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
