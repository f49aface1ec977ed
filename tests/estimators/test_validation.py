"""Bad parameters and data: one clear sentence that names the parameter, and nothing fitted."""

import re
import warnings

import numpy as np
import pytest
from models import BOTH
from rejections import assert_nothing_fitted, assert_rejected, data
from scipy import sparse
from sklearn.datasets import make_blobs

from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
)

PARAMETERS = [
    *[(name, value) for name in ("C", "lam") for value in (0, -1.0, np.nan, np.inf, "1")],
    ("C", None),
    *[("intercept_scaling", value) for value in (0.0, -1.0, np.inf, None)],
    *[("epochs", value) for value in (0, -1, np.nan, np.inf, None, "20")],
    *[("n_steps", value) for value in (0, -5, 2.5, "10")],
    *[("batch_size", value) for value in (0, -1, 1.5, None)],
    *[("tol", value) for value in (0, -0.1, np.nan, "small")],
    *[("max_time", value) for value in (0, -1, np.nan)],
    *[("sampling", value) for value in ("random", None)],
    *[("average", value) for value in ("mean", 1)],
    *[("checkpoints", value) for value in ("step", 5, 0.5)],
    ("projection", "yes"),
    ("polish", "yes"),
    ("fit_intercept", "no"),
    ("class_weight", "even"),
    ("class_weight", [1.0, 2.0]),
    ("decision_function_shape", "ovx"),
    ("break_ties", "often"),
    ("n_jobs", 1.5),
    ("warm_start", "yes"),
    ("verbose", "loud"),
    ("random_state", "seed"),
]
KERNEL_PARAMETERS = [
    *[("gamma", value) for value in (0, -1.0, np.nan, np.inf, "large", None)],
    *[("degree", value) for value in (-1, 2.5)],
    *[("coef0", value) for value in (np.nan, np.inf, "0")],
    *[("cache", value) for value in ("disk", None)],
    *[("cache_mb", value) for value in (0, -1, np.nan)],
    *[("kernel", value) for value in ("gauss", None, 3)],
    pytest.param("kernel", object(), id="kernel-object"),
]


@BOTH
@pytest.mark.parametrize(("name", "value"), PARAMETERS, ids=str)
def test_parameter_is_named(Estimator, name, value):
    X, y = data()
    assert_rejected(Estimator(**{name: value}), X, y, rf"^{name} must be")


@pytest.mark.parametrize(("name", "value"), KERNEL_PARAMETERS, ids=str)
def test_kernel_parameter_is_named(name, value):
    X, y = data()
    assert_rejected(PegasosSVC(**{name: value}), X, y, rf"^{name} must be")


@BOTH
@pytest.mark.parametrize(
    "checkpoints", [[0], [5, -1], [1.5], ["a"], [[1, 2], [3, 4]], [np.nan], [None]], ids=str
)
def test_checkpoints_entries(Estimator, checkpoints):
    X, y = data()
    assert_rejected(Estimator(checkpoints=checkpoints), X, y, "checkpoints")


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
def test_batch_size_beyond_the_examples(Estimator, n_classes):
    X, y = data(n_classes)
    n_pair = 60 if n_classes == 2 else 40
    assert_rejected(
        Estimator(batch_size=61), X, y, rf"batch_size must be at most .*{n_pair}.*got 61"
    )


@BOTH
def test_n_jobs_zero(Estimator):
    X, y = data(3)
    message = "^n_jobs must be None or an integer other than 0, got 0 instead"
    assert_rejected(Estimator(n_jobs=0), X, y, message)


@BOTH
@pytest.mark.parametrize(
    "parameters",
    [{"C": 1e-320}, {"C": 1e308}, {"lam": 1e-320}, {"lam": 1e308}, {"intercept_scaling": 1e200}],
    ids=str,
)
def test_extreme_parameters(Estimator, parameters):
    """A clear refusal or a finite model, nothing between."""
    X, y = data()
    (name,) = parameters
    clf = Estimator(**parameters)
    try:
        clf.fit(X, y)
    except ValueError as error:
        # C only counts through lam.
        named = r"\b(C|lam)\b" if name == "C" else rf"\b{name}\b"
        assert re.search(named, str(error)), error  # noqa: PT017
        assert_nothing_fitted(clf)
    else:
        assert np.isfinite(clf.decision_function(X)).all()
        assert np.isfinite(clf.objective_)
        assert np.isfinite(clf.duality_gap_)


@BOTH
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_x_not_finite(Estimator, value, word, as_sparse):
    X, y = data()
    X[3, 1] = value
    X = sparse.csr_matrix(X) if as_sparse else X
    assert_rejected(Estimator(), X, y, rf"X contains.*{word}")


@BOTH
def test_x_of_wrong_shape(Estimator):
    X, y = data()
    assert_rejected(Estimator(), X[:, 0], y, "Expected 2D array, got 1D array")
    assert_rejected(Estimator(), X[:0], y[:0], "0 sample")
    assert_rejected(Estimator(), X[:, :0], y, "0 feature")
    assert_rejected(Estimator(), [["a", "b"]] * 60, y, "could not convert string")
    assert_rejected(Estimator(), X * 1j, y, "[Cc]omplex")


@BOTH
def test_y_of_wrong_length(Estimator):
    X, y = data()
    for wrong in (y[:-1], np.append(y, 0), y[:1], y[:0]):
        assert_rejected(Estimator(), X, wrong, r"inconsistent numbers of samples|length|y must")


@BOTH
def test_y_of_wrong_shape(Estimator):
    X, y = data()
    assert_rejected(Estimator(), X, np.column_stack((y, y)), r"(?i)\by\b|label|multilabel")
    assert_rejected(Estimator(), X, None, r"y")


@BOTH
def test_y_that_is_no_class(Estimator):
    X, y = data()
    expected = "^y must be class labels: Unknown label type: continuous"
    assert_rejected(Estimator(), X, y + 0.5 * X[:, 0], expected)
    assert_rejected(Estimator(), X, np.where(y == 1, np.nan, 0.0), "y contains NaN")


@BOTH
@pytest.mark.parametrize("y", [np.zeros(60), np.full(60, "only")], ids=["number", "string"])
def test_y_of_one_class(Estimator, y):
    X, _ = data()
    assert_rejected(Estimator(), X, y, r"y must have at least two classes.*got 1 class: \[.+\]")


@BOTH
def test_y_of_one_class_by_weight(Estimator):
    X, y = data()
    weight = (y == 1).astype(float)
    assert_rejected(Estimator(), X, y, r"two classes.*got 1 class: \[1\]", sample_weight=weight)


@BOTH
def test_sample_weight(Estimator):
    X, y = data()
    one = np.ones(60)
    name = r"(?i)sample.?weights?"
    some = one.copy()
    some[7] = -1.0
    for wrong in (some, one * np.nan, one * np.inf, one * 0.0, one[:-1], one[:, None] * one):
        assert_rejected(Estimator(), X, y, name, sample_weight=wrong)


@BOTH
def test_sample_weight_negative_tells_the_value(Estimator):
    X, y = data()
    weight = np.ones(60)
    weight[7] = -2.5
    assert_rejected(
        Estimator(), X, y, r"sample_weight must not be negative.*-2\.5", sample_weight=weight
    )


@BOTH
@pytest.mark.parametrize("weight", [-1.0, 0.0, np.nan, np.inf])
def test_class_weight_values(Estimator, weight):
    X, y = data()
    assert_rejected(Estimator(class_weight={0: 1.0, 1: weight}), X, y, "class_weight")


@BOTH
def test_class_weight_unknown_class(Estimator):
    X, y = data()
    assert_rejected(Estimator(class_weight={0: 1.0, "b": 2.0}), X, y, "class_weight")


OVERFLOWING = [
    (LinearPegasosSVC(), 1e200, np.float64),
    (LinearPegasosSVC(projection=True), 1e200, np.float64),
    (PegasosSVC(kernel="linear"), 1e200, np.float64),
    (PegasosSVC(kernel="linear"), 1e30, np.float32),
    (PegasosSVC(kernel="linear", cache="cached"), 1e30, np.float32),
    (PegasosSVC(kernel="linear", cache="streamed"), 1e30, np.float32),
    (PegasosSVC(kernel="poly"), 1e200, np.float64),
    (PegasosSVC(kernel="poly", gamma=1.0), 1e60, np.float64),
    (PegasosSVC(kernel="poly", gamma=1.0), 1e30, np.float32),
    (PegasosSVC(), 1e200, np.float64),
    (PegasosSVC(), 1e30, np.float32),
]


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("clf", "factor", "dtype"), OVERFLOWING, ids=str)
def test_features_that_overflow(clf, factor, dtype, as_sparse):
    X, y = data()
    X = (X * factor).astype(dtype)
    X = sparse.csr_matrix(X) if as_sparse else X
    clf = type(clf)(**clf.get_params())
    with np.errstate(all="ignore"):
        assert_rejected(clf, X, y, r"X must be small enough.*got values up to .*scale the features")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("factor", 10.0 ** np.array([100, 140, 148, 150, 151, 152, 153, 154, 200]))
@pytest.mark.parametrize(
    "clf",
    [
        LinearPegasosSVC(),
        LinearPegasosSVC(projection=True),
        PegasosSVC(kernel="linear"),
        PegasosSVC(kernel="linear", cache="streamed"),
        PegasosSVC(kernel="laplacian"),
        PegasosSVC(kernel="sigmoid", gamma=1.0),
    ],
    ids=str,
)
def test_large_features_are_refused_or_learned(clf, factor):
    """No NaN, and no gap of zero that nothing certifies, up to the edge of overflow."""
    X, y = data()
    X = X * factor
    clf = type(clf)(**clf.get_params()).set_params(random_state=0)
    try:
        clf.fit(X, y)
    except ValueError as error:
        assert re.search(r"\bX\b", str(error))  # noqa: PT017
        assert_nothing_fitted(clf)
        return
    assert np.isfinite(clf.objective_)
    if not (isinstance(clf, PegasosSVC) and clf.kernel == "sigmoid"):
        assert np.isfinite(clf.duality_gap_)
        assert clf.duality_gap_ > 0
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_tol_is_not_reached_by_nan():
    X, y = data()
    clf = PegasosSVC(kernel="linear", tol=0.1, random_state=0)
    try:
        clf.fit(X * 1e153, y)
    except ValueError:
        return
    assert np.isfinite(clf.objective_)
    assert clf.objective_ - clf.duality_gap_ >= 0


def test_overflow_warns_of_nothing_before_the_error():
    X, y = data()
    for kernel in ("linear", "rbf", "poly"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match="X must be small"):
                PegasosSVC(kernel=kernel).fit(X * 1e200, y)


@BOTH
def test_predict_of_wrong_input(Estimator):
    X, y = data()
    clf = Estimator(epochs=1).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3"):
        clf.predict(X[:, :2])
    with pytest.raises(ValueError, match="X contains NaN"):
        clf.decision_function(X * np.nan)
    with pytest.raises(ValueError, match="2D"):
        clf.predict(X[0])


# --- weights out of range -------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("factor", [1e200, 1e-200])
@pytest.mark.parametrize("some", [False, True])
def test_sample_weight_range(Estimator, factor, some):
    X, y = data()
    weight = np.where((np.arange(60) < 5) | (not some), factor, 1.0)
    match = r"sample_weight .*must be zero or between 1e-100 and 1e\+?100, got 1e"
    assert_rejected(Estimator(), X, y, match, sample_weight=weight)
    assert_rejected(Estimator(class_weight={0: factor}), X, y, "class_weight of 0 must be at .*1e")


@BOTH
@pytest.mark.parametrize(("C", "weight"), [(1e90, 1e90), (1e-90, 1e-90)])
def test_sample_weight_times_c_range(Estimator, C, weight):
    X, y = data()
    match = r"C times the mean of sample_weight .*must be between 1e-100 and 1e\+?100"
    assert_rejected(Estimator(C=C), X, y, match, sample_weight=np.full(60, weight))
    clf = Estimator(C=1 / C, epochs=2).fit(X, y, sample_weight=np.full(60, weight))
    assert np.isfinite(clf.objective_)


# --- early stopping -------------------------------------------------------------------------------


def test_early_stopping_passes_over_weight_zero():
    """Examples of weight zero are as good as absent: they are not set aside either."""
    X, y = make_blobs(200, centers=3, cluster_std=2.0, random_state=0)
    weight = np.where(np.arange(200) % 3 == 0, 0.0, 1.0)
    weight[y == 2] = 0.0
    kept = weight > 0
    clf = LinearPegasosSVC(early_stopping=True, epochs=20, random_state=0)
    clf.fit(X, y, sample_weight=weight)
    alone = LinearPegasosSVC(early_stopping=True, epochs=20, random_state=0)
    alone.fit(X[kept], y[kept])
    assert clf.validation_scores_ == alone.validation_scores_
    np.testing.assert_array_equal(clf.alpha_[kept], alone.alpha_)
    assert not clf.alpha_[~kept].any()


def test_early_stopping_needs_examples_of_each_class():
    X, y = data()
    weight = np.ones(60)
    weight[np.flatnonzero(y == 1)[1:]] = 0.0
    clf = LinearPegasosSVC(early_stopping=True)
    match = r"at least two examples \(of positive sample_weight\) of each class, got one of \[1\]"
    assert_rejected(clf, X, y, match, sample_weight=weight)
    clf = LinearPegasosSVC(early_stopping=True, validation_fraction=0.01)
    assert_rejected(clf, X, y, "validation_fraction must set one example of each")
