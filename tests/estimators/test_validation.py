"""Bad input: one clear sentence that names the parameter, and nothing fitted."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from kpegasos import (
    RBF,
    LinearPegasosSVC,
    PegasosSVC,
    linear_rows,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)

BOTH = pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])


def data(n_classes=2):
    return make_blobs(60, centers=n_classes, n_features=3, random_state=0)


def assert_nothing_fitted(clf):
    assert [name for name in vars(clf) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        clf.predict(np.zeros((1, 3)))


def message_of(clf, X, y, method="fit", **arguments):
    """The message of the ValueError that a fit raises; nothing may be left of the fit."""
    with pytest.raises(ValueError, match=r"\S") as caught:
        getattr(clf, method)(X, y, **arguments)
    assert_nothing_fitted(clf)
    return str(caught.value)


def assert_rejected(clf, X, y, match, **arguments):
    message = message_of(clf, X, y, **arguments)
    assert re.search(match, message), message
    # A sentence for people, not the leftovers of numpy or numba.
    for word in ("broadcast", "out of bounds", "boolean index", "Traceback", "ufunc", "object is"):
        assert word not in message


# --- parameters -----------------------------------------------------------------------------------

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
    assert_rejected(
        Estimator(**{name: value}), X, y, rf"'{name}' parameter of {Estimator.__name__} must be"
    )


@pytest.mark.parametrize(("name", "value"), KERNEL_PARAMETERS, ids=str)
def test_kernel_parameter_is_named(name, value):
    X, y = data()
    assert_rejected(PegasosSVC(**{name: value}), X, y, rf"'{name}' parameter of PegasosSVC must be")


@BOTH
@pytest.mark.parametrize(
    "checkpoints", [[0], [5, -1], [1.5], ["a"], [[1, 2], [3, 4]], [np.nan], [None]], ids=str
)
def test_trace_entries(Estimator, checkpoints):
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
    assert_rejected(Estimator(n_jobs=0), X, y, "n_jobs")


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


# --- data -----------------------------------------------------------------------------------------


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
    assert_rejected(Estimator(), X, y + 0.5 * X[:, 0], "label type: continuous")
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


# --- kernels --------------------------------------------------------------------------------------


def test_precomputed_not_square():
    X, y = data()
    assert_rejected(PegasosSVC(kernel="precomputed"), X, y, r"precomputed.*square.*shape \(60, 3\)")


def test_precomputed_not_symmetric():
    X, y = data()
    gram = X @ X.T
    gram[3, 50] += 1.0
    assert_rejected(PegasosSVC(kernel="precomputed"), gram, y, r"precomputed.*symmetric.*1\b")
    # Rounding is no asymmetry.
    gram = (X @ X.T).astype(np.float32)
    gram[3, 50] = np.nextafter(gram[3, 50], np.float32(np.inf))
    PegasosSVC(kernel="precomputed", epochs=1).fit(gram, y)


def test_precomputed_takes_no_sparse():
    X, y = data()
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        PegasosSVC(kernel="precomputed").fit(sparse.csr_matrix(X @ X.T), y)


def test_precomputed_not_finite():
    X, y = data()
    gram = X @ X.T
    gram[2, 2] = np.nan
    assert_rejected(PegasosSVC(kernel="precomputed"), gram, y, "X contains NaN")


def test_precomputed_predict_of_wrong_width():
    X, y = data()
    clf = PegasosSVC(kernel="precomputed", epochs=1).fit(X @ X.T, y)
    with pytest.raises(ValueError, match=r"59 features.*expecting 60"):
        clf.predict((X @ X.T)[:, :-1])


CACHES = pytest.mark.parametrize("cache", ["auto", "precomputed", "cached", "streamed"])


@CACHES
@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda A, B: A @ A.T if A.shape != B.shape else (A @ B.T)[:-1], r"kernel.*shape"),
        (lambda A, B: (A @ B.T).sum(axis=1), r"kernel.*shape"),
        (lambda A, B: 1.0, r"kernel.*shape"),
        (lambda A, B: np.nan * (A @ B.T), r"kernel.*finite"),
        (lambda A, B: np.full((len(A), len(B)), np.inf), r"kernel.*finite"),
        (lambda A, B: 1j * (A @ B.T), r"kernel.*real"),
        (lambda A, B: None, r"kernel"),
        (lambda A, B: np.full((len(A), len(B)), "a"), r"kernel.*real"),
    ],
    ids=["shape", "vector", "scalar", "nan", "inf", "complex", "none", "string"],
)
def test_callable_kernel_values(function, match, cache):
    X, y = data()
    assert_rejected(PegasosSVC(kernel=function, cache=cache), X, y, match)


@CACHES
def test_callable_kernel_bad_off_the_diagonal(cache):
    """Values that only go wrong between different points."""
    X, y = data()

    def kernel(A, B):
        distances = ((A[:, None] - B[None]) ** 2).sum(axis=2)
        return np.where(distances > 20.0, np.nan, np.exp(-distances))

    assert_rejected(PegasosSVC(kernel=kernel, cache=cache), X, y, r"kernel.*finite")


def test_callable_kernel_error_comes_through():
    X, y = data()

    def kernel(A, B):
        raise ZeroDivisionError("of the user")

    clf = PegasosSVC(kernel=kernel)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        clf.fit(X, y)
    assert_nothing_fitted(clf)


def test_kernel_object_without_methods():
    class Half:
        def block(self, A, B):
            return A @ B.T

    X, y = data()
    assert_rejected(PegasosSVC(kernel=Half()), X, y, r"kernel")


def test_kernel_class_instead_of_object():
    X, y = data()
    assert_rejected(PegasosSVC(kernel=RBF), X, y, r"kernel")


def test_tol_without_certificate():
    X, y = data()
    for parameters in ({"tol": 0.1}, {"polish": True}):
        clf = PegasosSVC(kernel="sigmoid", **parameters)
        (name,) = parameters
        assert_rejected(clf, X, y, rf"{name}.*positive semi-definite")


@pytest.mark.parametrize("given", ["precomputed", "callable"])
@pytest.mark.parametrize("factor", [-1.0, 1.0], ids=["negative", "shifted"])
def test_indefinite_kernel_certifies_nothing(given, factor):
    """A negative squared norm, or a dual value above the primal, is no gap of zero."""
    X, y = data()

    def kernel(A, B):
        return factor * (A @ B.T) - (300.0 if factor > 0 else 0.0)

    clf = PegasosSVC(kernel=given if given == "precomputed" else kernel, tol=0.1, random_state=0)
    Z = kernel(X, X) if given == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            clf.fit(Z, y)
        except ValueError as error:
            assert "positive semi-definite" in str(error)  # noqa: PT017
            assert_nothing_fitted(clf)
        else:
            assert np.isnan(clf.relative_gap_)


@pytest.mark.parametrize("cache", ["cached", "streamed", "precomputed"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_cache_mb_too_small(cache, as_sparse):
    X, y = make_blobs(300, n_features=3, centers=2, random_state=0)
    X = sparse.csr_matrix(X) if as_sparse else X
    match = r"cache_mb must be at least [\d.e-]+.*got 1e-05"
    assert_rejected(PegasosSVC(cache=cache, cache_mb=1e-5), X, y, match)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("cache", ["cached", "streamed", "precomputed"])
def test_cache_mb_that_is_asked_for_is_enough(cache, n_jobs):
    """The number in the message helps; threads share the budget."""
    X, y = make_blobs(300, n_features=3, centers=3, random_state=0)
    clf = PegasosSVC(cache=cache, cache_mb=1e-5, epochs=1, n_jobs=n_jobs)
    needed = float(re.search(r"at least ([\d.e-]+)", message_of(clf, X, y))[1])
    clf.set_params(cache_mb=1.01 * needed).fit(X, y)
    with pytest.raises(ValueError, match="cache_mb"):
        clf.set_params(cache_mb=0.5 * needed).fit(X, y)


# --- an error does not harm an earlier model ------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("wrong", ["batch_size", "y", "features", "weight"])
def test_failed_refit_keeps_the_model(Estimator, n_classes, wrong):
    X, y = data(n_classes)
    clf = Estimator(random_state=0, epochs=3).fit(X, y)
    decisions = clf.decision_function(X)
    before = set(vars(clf))
    Z, labels, weight = X * 3, y, None
    if wrong == "batch_size":
        clf.set_params(batch_size=1000)
    elif wrong == "y":
        labels = np.zeros_like(y)
    elif wrong == "features":
        Z, labels = np.column_stack((X, X)), np.zeros_like(y)
    else:
        weight = np.zeros(y.size)
    with pytest.raises(ValueError, match=r"\S"):
        clf.fit(Z, labels, sample_weight=weight)
    assert set(vars(clf)) == before
    np.testing.assert_array_equal(clf.decision_function(X), decisions)


def test_failed_refit_keeps_the_stream():
    X, y = data()
    a, b = (LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1]) for _ in range(2))
    with pytest.raises(ValueError, match="batch_size"):
        a.set_params(batch_size=1000).fit(X, y)
    a.set_params(batch_size=1).partial_fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.partial_fit(X, y).coef_)


# --- streams --------------------------------------------------------------------------------------


def assert_chunk_rejected(X, y, match, *, parameters=None, **arguments):
    clf = LinearPegasosSVC(**(parameters or {}))
    assert_rejected(clf, X, y, match, method="partial_fit", **arguments)


def test_partial_fit_first_call():
    X, y = data()
    assert_chunk_rejected(X, y, "classes must be passed on the first call")
    assert_chunk_rejected(X, y, "classes must hold at least two classes", classes=[1])
    assert_chunk_rejected(X, y + 5, "y must have classes among", classes=[0, 1])
    assert_chunk_rejected(X * np.nan, y, "X contains NaN", classes=[0, 1])


def test_partial_fit_y():
    X, y = data()
    for wrong in (y[:-1], y[:1], np.append(y, 0)):
        assert_chunk_rejected(
            X, wrong, r"inconsistent numbers of samples|length|y must", classes=[0, 1]
        )
    assert_chunk_rejected(X, np.column_stack((y, y)), r"(?i)\by\b|label", classes=[0, 1])
    assert_chunk_rejected(X, np.where(y == 1, np.nan, 0.0), r"\by\b", classes=[0, 1])


def test_partial_fit_weights():
    X, y = data()
    one = np.ones(60)
    for wrong in (-one, one * np.nan, one[:-1]):
        assert_chunk_rejected(X, y, r"(?i)sample.?weight", classes=[0, 1], sample_weight=wrong)
    for weight in (-1.0, np.nan, np.inf):
        assert_chunk_rejected(
            X, y, "class_weight", classes=[0, 1], parameters={"class_weight": {1: weight}}
        )
    assert_chunk_rejected(
        X, y, "class_weight", classes=[0, 1], parameters={"class_weight": "balanced"}
    )


def test_partial_fit_parameters():
    X, y = data()
    for name, value in (("C", -1.0), ("lam", 0.0), ("batch_size", 0), ("average", "mean")):
        assert_chunk_rejected(X, y, f"'{name}' parameter", classes=[0, 1], parameters={name: value})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("projection", [False, True])
def test_partial_fit_overflow(projection):
    X, y = data()
    parameters = {"projection": projection}
    assert_chunk_rejected(X * 1e200, y, r"\bX\b", classes=[0, 1], parameters=parameters)


def test_partial_fit_failed_chunk_changes_nothing():
    X, y = data()
    a, b = (LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1]) for _ in range(2))
    for bad_X, bad_y, weight in (
        (X * np.nan, y, None),
        (X, y + 1, None),
        (X[:, :2], y, None),
        (X, y, -np.ones(60)),
    ):
        with pytest.raises(ValueError, match=r"\S"):
            a.partial_fit(bad_X, bad_y, sample_weight=weight)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)


# --- the functional layer -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": np.inf}, "epochs"),
        ({"epochs": None}, "epochs"),
        ({"n_steps": 0}, "n_steps"),
        ({"n_steps": 1.5}, "n_steps"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 61}, "batch_size"),
        ({"sampling": "random"}, "sampling"),
        ({"average": "mean"}, "average"),
        ({"checkpoints": "step"}, "checkpoints"),
        ({"checkpoints": [0]}, "checkpoints"),
    ],
    ids=str,
)
def test_function_pegasos_names_the_argument(arguments, match):
    X, y = data()
    problem = make_problem(2.0 * y - 1.0, 0.1)
    for rows in (make_rows(X, "rbf"), linear_rows(X)):
        with pytest.raises(ValueError, match=rf"{match} (must|needs)"):
            pegasos(problem, rows, **arguments)


def test_functions_name_the_argument():
    X, y = data()
    with pytest.raises(ValueError, match="y must be"):
        make_problem(y, 0.1)
    with pytest.raises(ValueError, match=r"lam must be.*got -1"):
        make_problem(2 * y - 1, -1.0)
    with pytest.raises(ValueError, match="sample_weight must be"):
        make_problem(2 * y - 1, 0.1, np.zeros(60))
    with pytest.raises(ValueError, match=r"cache must be one of.*'disk'"):
        make_rows(X, "rbf", cache="disk")
    with pytest.raises(ValueError, match=r"kernel must be one of.*'gauss'"):
        make_kernel("gauss")
    with pytest.raises(ValueError, match="kernel must be a name"):
        make_kernel(3)
    with pytest.raises(ValueError, match=r"rows must belong to the 60 examples.*got 59"):
        pegasos(make_problem(2 * y - 1, 0.1), make_rows(X[:-1]))
