"""Bad kernels: one clear sentence, and nothing fitted."""

import re
import warnings

import numpy as np
import pytest
from rejections import assert_nothing_fitted, assert_rejected, data, message_of
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import (
    RBF,
    PegasosSVC,
)


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
