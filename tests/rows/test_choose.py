"""Sources of kernel rows: each stands for the same matrix; which one is chosen."""

from itertools import combinations

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import KERNELS, RNG, N, X, each_cache, make_gram
from scipy import sparse

from kpegasos import (
    CachedRows,
    GramRows,
    KernelMatrix,
    UncachedRows,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.kernels.matrix import ClassSortedMatrix


@each_pair(
    kernel=list(KERNELS),
    cache=["precomputed", "cached", "streamed"],
    as_rows=[np.asarray, sparse.csr_matrix],
    dtype=[np.float64, np.float32],
    B=[0.0, 1.5],
)
def test_product_by_the_book(kernel, cache, as_rows, dtype, B):
    """Each source stands for the same matrix, dense or not, with the constant feature."""
    rows = make_rows(as_rows(X.astype(dtype)), KERNELS[kernel], cache=cache, intercept_scaling=B)
    columns = RNG.normal(size=(N, 2))
    columns[::3] = 0
    expected = (make_gram(kernel) + B**2) @ columns
    rtol, atol = (1e-10, 1e-10) if dtype == np.float64 else (1e-4, 1e-3)
    product = rows.product(columns)
    assert product.dtype == np.float64
    assert_allclose(product, expected, rtol=rtol, atol=atol)
    diagonal = make_gram(kernel).diagonal() + B**2
    assert_allclose(rows.squared_norms(), diagonal, rtol=rtol if dtype == np.float64 else 1e-5)
    assert rows.n_samples == N
    assert rows.positive_definite == (kernel != "sigmoid")


def test_rows_of_csr_with_duplicates():
    """Entries stored twice add up, in norms too."""
    X2 = sparse.csr_matrix(X)
    halves = sparse.csr_matrix(
        (np.repeat(X2.data / 2, 2), np.repeat(X2.indices, 2), 2 * X2.indptr), shape=X.shape
    )
    assert not halves.has_canonical_format
    for kernel in ("linear", "poly", "rbf", "laplacian"):
        rows = make_rows(halves, KERNELS[kernel])
        assert_allclose(rows.product(np.eye(N)), make_gram(kernel), rtol=1e-9, atol=1e-12)
        assert_allclose(rows.squared_norms(), make_gram(kernel).diagonal(), rtol=1e-9)


@each_cache
@pytest.mark.parametrize("batch_size", [1, 5])
def test_rows_of_a_pair_train_like_their_own_data(cache, batch_size):
    """Two classes of a matrix that all pairs share are a problem of their own."""
    members = np.split(np.arange(N), [20, 23])
    shared = ClassSortedMatrix(KERNELS["rbf"], X, members)
    make = {
        "precomputed": GramRows.from_values,
        "cached": lambda values: CachedRows(values, tile_rows=4),
        "streamed": lambda values: UncachedRows(values, tile_rows=8),
    }[cache]
    for one, other in combinations(range(3), 2):
        both = np.concatenate([members[one], members[other]])
        y = np.where(both < 20, 1, -1) if one == 0 else np.resize([1, -1], both.size)
        own_values = KernelMatrix(KERNELS["rbf"], X[both])
        pair, own = (
            pegasos(
                make_problem(y, 0.02),
                make(values),
                epochs=8,
                batch_size=batch_size,
                random_state=0,
            )
            for values in (shared.pair(one, other), own_values)
        )
        assert_array_equal(pair.alpha, own.alpha)
        assert_allclose(pair.margins, own.margins, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "cache_mb", "expected"),
    [
        (N, 1024, GramRows),
        (500, 2.0, GramRows),
        (500, 1.8, UncachedRows),
        (2000, 31.0, GramRows),
        (2001, 1024, CachedRows),
        (2001, 1.0, UncachedRows),
        (2500, 30.0, CachedRows),
        (2500, 15.0, CachedRows),
        (2500, 8.0, CachedRows),
        (2500, 1.5, UncachedRows),
    ],
)
def test_auto_fits_the_budget(n, cache_mb, expected):
    """The whole matrix if small, rows while some of them fit, nothing otherwise."""
    rows = make_rows(np.zeros((n, 1)) + np.arange(n)[:, None], "linear", cache_mb=cache_mb)
    assert type(rows) is expected


@pytest.mark.parametrize("data", [X.tolist(), X.astype(np.float16), X.astype(">f8")], ids=type)
def test_rows_of_other_types_are_float64(data):
    rows = make_rows(data, "linear")
    assert rows.gram.dtype == np.float64
    Z = np.asarray(data, dtype=np.float64)
    assert_allclose(rows.gram, Z @ Z.T, rtol=1e-12, atol=1e-12)
