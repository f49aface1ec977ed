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
