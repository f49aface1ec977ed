"""Conformance of the search with scikit-learn, by its own suite of checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from kpegasos import PegasosSVCCV

_OTHER_FOLDS = (
    "An example that is there twice may be in two folds, where an example of weight 2 is in one; "
    "an example of weight zero makes the folds of the others other ones."
)
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


def expected_failures(search):
    failures = {
        "check_sample_weight_equivalence_on_dense_data": _OTHER_FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": _OTHER_FOLDS,
    }
    if search.kernel == "precomputed":
        failures.update(dict.fromkeys(_WITH_LONELY_CLASSES, _LONELY_CLASS))
    return failures


@parametrize_with_checks(
    [
        PegasosSVCCV(Cs=[1.0, 10.0], gammas=["scale"], cv=2),
        # The checks want of probabilities what `predict` says, and models of halves know less.
        PegasosSVCCV(Cs=[1.0], kernel="linear", cv=5, calibration="sigmoid"),
        PegasosSVCCV(Cs=[1.0], kernel="precomputed", cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_search_conforms(estimator, check):
    check(estimator)
