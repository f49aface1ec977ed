"""Bad parameters, kernels and data: a clear sentence that names them, and nothing fitted."""

import re
import warnings
from functools import partial

import numpy as np
import pytest
from models import BOTH
from rejections import assert_rejected, data, message_of
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from kpegasos import (
    RBF,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    linear_rows,
    make_rows,
)

X, Y = data()
GRAM = X @ X.T
WINE, IRIS, DIGITS = (load(return_X_y=True) for load in (load_wine, load_iris, load_digits))
SCALED = StandardScaler().fit_transform(WINE[0]), WINE[1]


# --- data and weights ---


@BOTH
def test_indices_of_no_feature(Estimator):
    """SciPy does not check them, and compiled code would read what lies there."""
    wrong = sparse.csr_matrix(X)
    wrong.indices[5] = 3
    match = "whose data, indices and shape agree: indices must be < 3"
    assert_rejected(Estimator(), wrong, Y, match)
    beside = partial(RBF(1.0).block, X)
    for call in (Estimator(epochs=1).fit(X, Y).predict, make_rows, linear_rows, beside):
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
    (LinearPegasosSVC(projection=True), 1e200, np.float64),
    (PegasosSVC(kernel="linear"), 1e30, np.float32),
    (PegasosSVC(kernel="linear", cache="streamed"), 1e30, np.float32),
    (PegasosSVC(), 1e200, np.float64),
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
@pytest.mark.parametrize(
    ("clf", "rows"),
    [(LinearPegasosSVC(epochs=1), X / 100), (PegasosSVC(kernel="precomputed", epochs=1), GRAM)],
    ids=str,
)
def test_decisions_that_overflow_have_no_class(clf, rows):
    clf.set_params(C=1e4, random_state=0).fit(rows, Y)
    far = np.where(np.arange(rows.shape[1]) % 2, -1.7e308, 1.7e308)[None]
    for method in (clf.predict, clf.decision_function):
        with pytest.raises(ValueError, match=r"^X must be small enough that decisions"):
            method(far)


# --- kernels ---


def test_given_matrix_may_be_rounded_but_neither_sparse_nor_narrow():
    gram = GRAM.astype(np.float32)
    gram[3, 50] = np.nextafter(gram[3, 50], np.float32(np.inf))
    clf = PegasosSVC(kernel="precomputed", epochs=1)
    clf.fit(gram, Y)
    for model in (clf, PegasosSVCCV([1.0], kernel="precomputed", cv=2).fit(gram, Y)):
        with pytest.raises(ValueError, match=r"kernel values with the 60 training.*\(60, 59\)"):
            model.predict(gram[:, :-1])
    with pytest.raises(TypeError, match=r"(?i)sparse"):
        clf.fit(sparse.csr_matrix(gram), Y)


@pytest.mark.parametrize("cache", ["cached", "streamed", "precomputed"])
def test_cache_mb_that_is_asked_for_is_enough(cache):
    """The number in the message helps; threads share the budget."""
    clf = PegasosSVC(cache=cache, cache_mb=1e-5, epochs=1, n_jobs=2)
    message = message_of(clf, *IRIS)
    needed = float(re.search(r"cache_mb must be at least ([\d.e-]+).*got 1e-05", message)[1])
    clf.set_params(cache_mb=1.01 * needed).fit(*IRIS)
    with pytest.raises(ValueError, match="cache_mb"):
        clf.set_params(cache_mb=0.5 * needed).fit(*IRIS)


# --- streams and functions ---


def caught(clf, X, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        clf.fit(X, y)
    return found


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_raw_features_are_warned_of_once(form):
    (warning,) = caught(LinearPegasosSVC(random_state=0), form(WINE[0]), WINE[1])
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__
    text = str(warning.message)
    for part in ("for 3 of 3 pairs", "relative gap of 1", "StandardScaler", "polish=True"):
        assert part in text
    (warning,) = caught(LinearPegasosSVC(random_state=0, tol=1e-3), form(WINE[0]), WINE[1])
    assert "did not reach tol" in str(warning.message)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (LinearPegasosSVC(polish=True), WINE),
        (LinearPegasosSVC(n_steps=10), WINE),
        (LinearPegasosSVC(), SCALED),
        (LinearPegasosSVC(), IRIS),
        (PegasosSVC(polish=True), DIGITS),
        (PegasosSVC(polish=True), IRIS),
    ],
    ids=["polished wine", "few steps", "scaled wine", "iris", "kernel digits", "kernel iris"],
)
def test_fits_that_are_short_polished_or_of_scaled_data_are_warned_of_nothing(model, data):
    assert caught(model.set_params(random_state=0), *data) == []


def test_column_that_hides_the_others_from_distances_is_told():
    X, y = WINE
    (warning,) = caught(PegasosSVC(polish=True, random_state=0), X, y)
    assert warning.category is UserWarning
    assert warning.filename == __file__
    assert "little but column 12 of X, which has 99.8% of the variance" in str(warning.message)
    for kernel, rows in (("rbf", SCALED[0]), ("linear", X), ("rbf", X[:, 12:])):
        found = caught(PegasosSVC(kernel=kernel, polish=True, random_state=0), rows, y)
        assert not any(warning.category is UserWarning for warning in found)


YEARS = np.linspace(2000.0, 2020.0, 100)[:, None]


@pytest.mark.parametrize(
    "model",
    [
        PegasosSVC(kernel="linear"),
        PegasosSVC(kernel="linear", polish=True),
        LinearPegasosSVC(polish=True),
    ],
    ids=str,
)
def test_column_that_a_regularised_intercept_cannot_make_up_for_is_told(model):
    """Separable, certified, and right for every other example."""
    y = (YEARS[:, 0] > 2010.0).astype(int)
    (warning,) = caught(model.set_params(random_state=0), YEARS, y)
    assert warning.category is UserWarning
    assert warning.filename == __file__
    text = "column 0 of X is far from zero (2010 on average, with a standard deviation of 5.83)"
    for part in (text, "StandardScaler", "fit_intercept='free'"):
        assert part in str(warning.message)
    assert model.score(YEARS, y) == 0.5
    assert model.set_params(fit_intercept="free").fit(YEARS, y).score(YEARS, y) > 0.95
    model.set_params(fit_intercept=True)
    assert caught(model, YEARS - 2010.0, y) == []


def test_fit_that_a_far_column_ruins_says_so():
    X = np.hstack((1e7 * (7.0 + np.random.default_rng(0).random((100, 1))), YEARS - 2010.0))
    model = PegasosSVC(kernel="linear", polish=True, random_state=0)
    (warning,) = caught(model, X, (YEARS[:, 0] > 2010.0).astype(int))
    assert warning.category is ConvergenceWarning
    assert "fit_intercept='free', since column 0 of X is far from zero" in str(warning.message)


def test_rounding_is_told_with_what_leaves_less_of_it():
    """And not with what is set already."""
    X, y = SCALED
    options = {"C": 1e10, "polish": True, "tol": 1e-9, "random_state": 0}
    for parameters, rows, remedy in (
        ({}, X, "mostly rounding; "),
        ({"row_dtype": "float64"}, X.astype(np.float32), "mostly rounding; "),
        ({"row_dtype": "float32"}, X, "rounding, of which row_dtype='float64' leaves less; "),
        ({}, X.astype(np.float32), ", of which row_dtype='float64' leaves less; "),
    ):
        (warning, *_) = caught(PegasosSVC(**options, **parameters), rows, y > 0)
        assert remedy in str(warning.message)
    model = PegasosSVR(epsilon=0.0, polish=True, tol=1e-8, random_state=0)
    (warning,) = caught(model, X, 1e12 + X[:, 0])
    assert "mostly rounding beside targets of about 1e+12 (subtract that" in str(warning.message)


@pytest.mark.parametrize("parameters", [{}, {"polish": True}], ids=str)
@pytest.mark.parametrize("Estimator", [PegasosSVR, LinearPegasosSVR])
def test_targets_whose_size_leaves_nothing_to_learn_are_told(Estimator, parameters):
    X, y = SCALED[0], SCALED[0][:, 0] + SCALED[0][:, 1]
    model, noise = (
        Estimator(random_state=0, **parameters),
        np.random.default_rng(0).normal(size=178),
    )
    for size, match in ((1e5, "C is small for targets"), (1e-4, "target is within epsilon of it")):
        (warning,) = caught(model, X, size * y)
        assert warning.category is UserWarning
        assert warning.filename == __file__
        assert match in str(warning.message)
        assert model.score(X, size * y) < 0.01
    for targets in (y, 5.0 * y, noise, np.full(178, 7.0)):
        assert caught(model, X, targets) == []
