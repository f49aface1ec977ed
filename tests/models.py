"""Data, and comparisons of fitted models, that the tests of the estimators share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.solvers.result import History

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


def left(model):
    """Names of what fits have set, private ones where they hold something."""
    names = set(vars(model)) - set(model.get_params())
    return sorted(n for n in names if n.endswith("_") or getattr(model, n) is not None)


def assert_same_values(a, b, name):
    """The same, but for the seconds of histories."""
    assert isinstance(b, type(a)), name  # a file may be mapped
    if isinstance(a, History):
        for column in (c for c in a.to_dict() if c != "seconds"):
            np.testing.assert_array_equal(a[column], b[column], err_msg=column)
    elif isinstance(a, list):
        assert len(a) == len(b), name
        for one, other in zip(a, b, strict=True):
            assert_same_values(one, other, name)
    elif sparse.issparse(a):
        assert_same_values(a.toarray(), b.toarray(), name)
    else:
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert np.asarray(a).dtype == np.asarray(b).dtype, name


def assert_same_attributes(a, b):
    """The same names, and the same values under the public ones."""
    assert left(a) == left(b)
    for name in (name for name in left(a) if name.endswith("_")):
        assert_same_values(getattr(a, name), getattr(b, name), name)


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
