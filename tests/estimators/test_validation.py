"""Bad parameters, kernels and data: a clear sentence that names them, and nothing fitted."""

import re
import warnings

import numpy as np
import pytest
from models import BOTH
from rejections import assert_rejected, data, message_of
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from kpegasos import (
    RBF,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVR,
    linear_rows,
    losses,
    make_rows,
)

X, Y = data()
ONES = np.ones(60)
GRAM = X @ X.T


def changed(values, place, value):
    values = np.array(values)
    values[place] = value
    return values


def masked(values):
    return np.ma.masked_array(values, mask=np.arange(60) < 2)


# --- parameters ---

#: Values beside those of `tests/test_any_input.py`, by name.
PARAMETERS = {
    "C": (0, -1.0, np.nan, "1", None),
    "lam": (0, np.inf),
    "intercept_scaling": (0.0, None),
    "epochs": (0, np.inf, "20", "epoch", 1e308, 1e15),
    "n_steps": (0, 2.5, 10**30),
    "batch_size": (0, 1.5, None, 61, 10**30),
    "tol": (0, np.nan),
    "max_time": (0, np.nan),
    "sampling": ("random",),
    "average": ("mean",),
    "checkpoints": ("step", 5, [0], [1.5], ["a"], [[1, 2], [3, 4]], [np.nan]),
    "projection": ("yes",),
    "step": (0.1, "constant"),
    "polish": ("yes",),
    "fit_intercept": ("no",),
    "class_weight": ("even", [1.0, 2.0]),
    "decision_function_shape": ("ovx",),
    "break_ties": ("often",),
    "n_jobs": (0, 1.5, True, np.array(1)),
    "warm_start": ("yes",),
    "verbose": ("loud",),
    "random_state": ("seed",),
    "loss": ("no such loss", "epsilon_insensitive", losses.Huber()),
}
KERNEL_PARAMETERS = {
    "gamma": (0, np.nan, "large", None),
    "degree": (-1, 2.5),
    "coef0": (np.nan, "0"),
    "cache": ("disk", None),
    "cache_mb": (0, np.nan),
    "kernel": ("gauss", None, 3, object(), RBF),
}


def named(table):
    cases = [(name, value) for name, values in table.items() for value in values]
    return pytest.mark.parametrize(("name", "value"), cases)


@BOTH
@named(PARAMETERS)
def test_parameter_is_named(Estimator, name, value):
    assert_rejected(Estimator(**{name: value}), X, Y, rf"^(each of )?{name}\b.* must be")


@named(KERNEL_PARAMETERS)
def test_kernel_parameter_is_named(name, value):
    assert_rejected(PegasosSVC(**{name: value}), X, Y, rf"^{name} must (be|have)")


# --- data and weights ---


def told(match, rows=X, labels=Y, weight=None, **parameters):
    return pytest.param(rows, labels, weight, parameters, match, id=match)


def mixed(values):
    values = values.astype(object)
    values[3] = "a"
    return values


TOLD = [
    told(r"class_weight.*got 1e-200", class_weight={0: 1e-200, 1: 1e200}),
    told("class_weight of 0 must be a positive finite number", class_weight={0: 10**400}),
    told("class_weight of 0 must be .*got 'heavy'", class_weight={0: "heavy"}),
    told(r"sample_weight must not be negative.*-2\.5", weight=changed(ONES, 7, -2.5)),
    told("(?i)sample.?weight", weight=ONES * np.nan),
    told("(?i)sample.?weight.*", weight=ONES * 0.0),
    told("sample_weight must have no masked entries", weight=masked(Y)),
    told(r"y must have at least two classes.*got 1 class: \[1\]", weight=(Y == 1).astype(float)),
    told(r"sample_weight .* between 1e-100 and 1e\+100, got 1e\+2",
         weight=changed(ONES, slice(5), 1e200)),
    told("sample_weight must .*got 1e-120", weight=1e-120 * ONES, class_weight={0: 1e50, 1: 1e50}),
    told(r"C times the mean of sample_weight .*got 1e-200", weight=1e-100 * ONES, C=1e-100),
    told("X contains.*NaN", changed(X, (3, 1), np.nan)),
    told("X contains.*infinity", sparse.csr_matrix(changed(X, (3, 1), np.inf))),
    told("^X must be a matrix of real numbers: could not convert", [["a", "b"]] * 60),
    told("^X must be a matrix of real numbers: Complex data not supported", 1j * X),
    told(r"^X must hold real numbers, got datetime64\[s\]", X.astype("M8[s]")),
    told("X must have no masked entries, got 1 of 180", np.ma.masked_greater(X, X.max() - 1e-9)),
    told(r"inconsistent numbers of samples|length|y must", labels=Y[:-1]),
    told(r"(?i)\by\b|label|multilabel", labels=np.column_stack((Y, Y))),
    told("^y must be class labels: Unknown label type: continuous", labels=Y + 0.5 * X[:, 0]),
    told("y contains NaN", labels=np.where(Y == 1, np.nan, 0.0)),
    told(r"y must have at least two classes.*got 1 class: \[.+\]", labels=np.full(60, "only")),
    told("y must have no masked entries, got 2 of 60", labels=masked(Y)),
    told("^y must hold labels of one kind.* got array", labels=mixed(Y)),
]  # fmt: skip


@BOTH
@pytest.mark.parametrize(("rows", "labels", "weight", "parameters", "match"), TOLD)
def test_bad_data_are_told(Estimator, rows, labels, weight, parameters, match):
    with np.errstate(all="ignore"):
        assert_rejected(Estimator(**parameters), rows, labels, match, sample_weight=weight)


REGRESSION = [
    told("loss must be one of", loss="hinge"),
    told("loss must be one of numbers, got Hinge", loss=losses.Hinge()),
    told("^epsilon must be", epsilon=-1.0),
    told(r"^Input y contains NaN", labels=changed(X[:, 0], 3, np.nan)),
    told(r"^y must be of size 1e\+100 at the most, got 1e\+101", labels=1e101 * ONES),
    told(r"^y must hold real numbers, got array\(\['a'", labels=np.full(60, "a", object)),
    told(r"^y must have no masked entries", labels=masked(X[:, 0])),
    told(r"^y must be a vector with an entry for each row of X", labels=X[:-1, 0]),
]


@pytest.mark.parametrize(
    ("Estimator", "method"),
    [(PegasosSVR, "fit"), (LinearPegasosSVR, "fit"), (LinearPegasosSVR, "partial_fit")],
)
@pytest.mark.parametrize(("rows", "labels", "weight", "parameters", "match"), REGRESSION)
def test_bad_targets_are_told(Estimator, method, rows, labels, weight, parameters, match):
    with pytest.raises(ValueError, match=match):
        getattr(Estimator(**parameters), method)(rows, labels, sample_weight=weight)


@BOTH
@pytest.mark.parametrize("index", [3, -1])
def test_indices_of_no_feature(Estimator, index):
    """SciPy does not check them, and compiled code would read what lies there."""
    wrong = sparse.csr_matrix(X)
    wrong.indices[5] = index
    match = "X must have column indices from 0 to 2, got"
    assert_rejected(Estimator(), wrong, Y, match)
    for call in (Estimator(epochs=1).fit(X, Y).predict, make_rows, linear_rows):
        with pytest.raises(ValueError, match=match):
            call(wrong)


@BOTH
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_])
def test_labels_of_numbers_one_by_one(Estimator, kind):
    expected = Estimator(epochs=1, random_state=0).fit(X, Y.astype(kind))
    model = clone(expected).fit(X.astype("U8").astype(float), Y.astype(kind).astype(object))
    assert model.classes_.dtype == kind
    np.testing.assert_array_equal(model.alpha_, expected.alpha_)


# --- values beyond what arithmetic can hold ---

OVERFLOWING = [
    (LinearPegasosSVC(), 1e200, np.float64),
    (LinearPegasosSVC(projection=True), 1e200, np.float64),
    (PegasosSVC(kernel="linear"), 1e30, np.float32),
    (PegasosSVC(kernel="linear", cache="cached"), 1e30, np.float32),
    (PegasosSVC(kernel="linear", cache="streamed"), 1e30, np.float32),
    (PegasosSVC(kernel="poly"), 1e200, np.float64),
    (PegasosSVC(kernel="poly", gamma=1.0), 1e60, np.float64),
    (PegasosSVC(), 1e200, np.float64),
    (PegasosSVC(), 1e30, np.float32),
]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("clf", "factor", "dtype"), OVERFLOWING, ids=str)
def test_features_that_overflow(clf, factor, dtype, form):
    rows = form((X * factor).astype(dtype))
    match = r"X must be small enough.*got values up to .*scale the features"
    with warnings.catch_warnings():
        warnings.simplefilter("error" if dtype is np.float64 else "ignore")
        assert_rejected(clone(clf), rows, Y, match)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "clf", [LinearPegasosSVC(epochs=1), PegasosSVC(kernel="precomputed", epochs=1)], ids=str
)
def test_decisions_that_overflow_have_no_class(clf, n_classes):
    rows, y = data(n_classes)
    rows = rows / 100 if isinstance(clf, LinearPegasosSVC) else rows @ rows.T
    clf.set_params(C=1e4, random_state=0).fit(rows, y)
    far = np.where(np.arange(rows.shape[1]) % 2, -1.7e308, 1.7e308)[None]
    for method in (clf.predict, clf.decision_function):
        with pytest.raises(ValueError, match=r"^X must be small enough that decisions"):
            method(far)


# --- kernels ---


@pytest.mark.parametrize(
    ("gram", "match"),
    [
        (X, r"precomputed.*square.*shape \(60, 3\)"),
        (changed(GRAM, (3, 50), GRAM[3, 50] + 1), r"precomputed.*symmetric.*1\b"),
        (changed(GRAM, (2, 2), np.nan), "X contains NaN"),
    ],
)
def test_given_matrix_is_checked(gram, match):
    assert_rejected(PegasosSVC(kernel="precomputed"), gram, Y, match)


def test_given_matrix_may_be_rounded_but_neither_sparse_nor_narrow():
    gram = GRAM.astype(np.float32)
    gram[3, 50] = np.nextafter(gram[3, 50], np.float32(np.inf))
    clf = PegasosSVC(kernel="precomputed", epochs=1).fit(gram, Y)
    with pytest.raises(ValueError, match=r"59 features.*expecting 60"):
        clf.predict(gram[:, :-1])
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        clf.fit(sparse.csr_matrix(gram), Y)


@pytest.mark.parametrize("parameters", [{"tol": 0.1}, {"polish": True}], ids=str)
def test_tol_and_polish_need_a_certificate(parameters):
    match = rf"{next(iter(parameters))}.*positive semi-definite"
    assert_rejected(PegasosSVC(kernel="sigmoid", **parameters), X, Y, match)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("cache", ["cached", "streamed", "precomputed"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_cache_mb_that_is_asked_for_is_enough(form, cache, n_jobs):
    """The number in the message helps; threads share the budget."""
    rows, y = make_blobs(300, n_features=3, centers=3, random_state=0)
    clf = PegasosSVC(cache=cache, cache_mb=1e-5, epochs=1, n_jobs=n_jobs)
    message = message_of(clf, form(rows), y)
    needed = float(re.search(r"cache_mb must be at least ([\d.e-]+).*got 1e-05", message)[1])
    clf.set_params(cache_mb=1.01 * needed).fit(form(rows), y)
    with pytest.raises(ValueError, match="cache_mb"):
        clf.set_params(cache_mb=0.5 * needed).fit(form(rows), y)


# --- streams and functions ---


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("rows", "labels", "arguments", "parameters", "match"),
    [
        (X, Y, {}, {}, "classes must be passed on the first call"),
        (X, Y + 5, {"classes": [0, 1]}, {}, "y must have classes among"),
        (X, np.array([0, None] * 30, object), {"classes": [0, 1]}, {}, r"\by\b"),
        (X, Y, {"classes": [0, 1]}, {"class_weight": "balanced"}, "class_weight"),
        (X * 1e200, Y, {"classes": [0, 1]}, {}, r"\bX\b"),
    ],
)
def test_bad_first_chunks_are_told(rows, labels, arguments, parameters, match):
    clf = LinearPegasosSVC(**parameters)
    assert_rejected(clf, rows, labels, match, method="partial_fit", **arguments)


@pytest.mark.parametrize(
    ("rows", "labels", "arguments", "parameters", "match"),
    [
        (X, Y, {"classes": [0, 1, 2]}, {}, "classes must be those of the first call"),
        (X, Y + 1, {}, {}, "y must have classes among"),
        (X, Y, {}, {"lam": 0.5}, "lam"),
        (X, Y, {}, {"loss": "log_loss"}, "loss .*must be those of the first call"),
    ],
)
def test_bad_later_chunks_are_told(rows, labels, arguments, parameters, match):
    clf = LinearPegasosSVC(lam=0.1, random_state=0).partial_fit(X, Y, classes=[0, 1])
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match=match):
        clf.set_params(**parameters).partial_fit(rows, labels, **arguments)
    np.testing.assert_array_equal(clf.coef_, coef)


def test_early_stopping_needs_examples_of_each_class():
    weight = changed(ONES, np.flatnonzero(Y == 1)[1:], 0.0)
    match = r"at least two examples \(of positive sample_weight\) of each class, got one of \[1\]"
    assert_rejected(LinearPegasosSVC(early_stopping=True), X, Y, match, sample_weight=weight)
    clf = LinearPegasosSVC(early_stopping=True, validation_fraction=0.01)
    assert_rejected(clf, X, Y, "validation_fraction must set one example of each")
    assert_rejected(LinearPegasosSVC(early_stopping=True), X, X[:, 0], "y must be class labels")


def caught(clf, X, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        clf.fit(X, y)
    return found


@pytest.mark.parametrize("form", [lambda X: X, sparse.csr_matrix])
def test_raw_features_are_warned_of_once(form):
    X, y = load_wine(return_X_y=True)
    (warning,) = caught(LinearPegasosSVC(random_state=0), form(X), y)
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__
    text = str(warning.message)
    for part in ("for 3 of 3 pairs", "relative gap of 1", "StandardScaler", "polish=True"):
        assert part in text


@pytest.mark.parametrize("options", [{"polish": True}, {"n_steps": 10}])
def test_neither_the_cure_nor_a_few_steps_are_warned_of(options):
    X, y = load_wine(return_X_y=True)
    assert caught(LinearPegasosSVC(random_state=0, **options), X, y) == []


@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_usual_features_are_not_warned_of(load):
    X, y = load(return_X_y=True)
    if load is load_wine:
        X = StandardScaler().fit_transform(X)
    assert caught(LinearPegasosSVC(random_state=0), X, y) == []


def test_tol_that_is_missed_is_one_warning():
    X, y = load_wine(return_X_y=True)
    (warning,) = caught(LinearPegasosSVC(random_state=0, tol=1e-3), X, y)
    assert "did not reach tol" in str(warning.message)


def test_column_that_hides_the_others_from_distances_is_told():
    X, y = load_wine(return_X_y=True)
    (warning,) = caught(PegasosSVC(polish=True, random_state=0), X, y)
    assert warning.category is UserWarning
    assert warning.filename == __file__
    assert "little but column 12 of X, which has 99.8% of the variance" in str(warning.message)
    for model, rows in (
        (PegasosSVC(polish=True, random_state=0), StandardScaler().fit_transform(X)),
        (PegasosSVC(kernel="linear", polish=True, random_state=0), X),
        (PegasosSVC(polish=True, random_state=0), X[:, 12:]),
    ):
        assert not any(warning.category is UserWarning for warning in caught(model, rows, y))


@pytest.mark.parametrize("load", [load_digits, load_iris])
def test_columns_of_like_spread_are_not_told_of(load):
    X, y = load(return_X_y=True)
    assert caught(PegasosSVC(polish=True, random_state=0), X, y) == []
