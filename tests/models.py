"""Data, and comparisons of fitted models, that the tests of the estimators share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from kpegasos import LinearPegasosSVC, PegasosSVC

BOTH = pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])


def two_classes(n_samples=120):
    return make_moons(n_samples, noise=0.2, random_state=0)


def four_classes(n_samples=160):
    return make_blobs(n_samples, centers=4, n_features=3, cluster_std=4.0, random_state=1)


def integers(n_classes, n_per_class=32):
    """Small integers: with lam a power of two and an integer kernel, every sum is exact."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), n_per_class)
    X = rng.integers(-3, 4, size=(y.size, 5)) + 2 * (y[:, None] == np.arange(5))
    order = rng.permutation(y.size)
    return X[order].astype(np.float64), y[order]


EXACT = {"lam": 2.0**-6, "random_state": 0, "epochs": 5}


def counts_of(clf):
    """``alpha_`` as an array."""
    return clf.alpha_.toarray() if sparse.issparse(clf.alpha_) else clf.alpha_


def assert_same_model(a, b, X):
    """The same counts and, exactly, the same decisions."""
    np.testing.assert_array_equal(counts_of(a), counts_of(b))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.objective_, b.objective_)
    np.testing.assert_array_equal(a.duality_gap_, b.duality_gap_)


def assert_close_model(a, b, X, Z=None, rtol=1e-9):
    """The same counts, and decisions up to rounding."""
    np.testing.assert_array_equal(counts_of(a), counts_of(b))
    decisions = a.decision_function(X)
    np.testing.assert_allclose(
        decisions,
        b.decision_function(X if Z is None else Z),
        atol=rtol * np.abs(decisions).max(),
        rtol=0,
    )


def with_duplicates(X):
    """CSR with every entry stored as two halves, columns out of order."""
    plain = sparse.csr_matrix(X)
    data = np.repeat(plain.data / 2, 2)
    made = sparse.csr_matrix((data, np.repeat(plain.indices, 2), plain.indptr * 2), shape=X.shape)
    for row in range(X.shape[0]):
        part = slice(made.indptr[row], made.indptr[row + 1])
        made.indices[part] = made.indices[part][::-1].copy()
        made.data[part] = made.data[part][::-1].copy()
    made.has_sorted_indices = made.has_canonical_format = False
    return made
