"""Memory: what a budget is enough for, and that it is kept."""

import numpy as np
import pytest
from row_cases import BYTES_PER_EXAMPLE, SLACK_MB, X, each_dtype, each_format, large_data, peak_mb
from scipy import sparse

from kpegasos import KernelMatrix, Linear, make_problem, make_rows, pegasos
from kpegasos.rows.budget import cache_capacity, cached_mb_needed, check_budget
from kpegasos.utils import tuning


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@each_dtype
@pytest.mark.parametrize("n", [3, 40, 53])
@each_format
def test_cache_mb_too_small(cache, dtype, n, as_rows):
    """The error names the least that would do: that number is accepted as it is printed."""
    data = as_rows(X[:n].astype(dtype))
    with pytest.raises(ValueError, match="cache_mb must be at least") as error:
        make_rows(data, "rbf", cache=cache, cache_mb=1e-9)
    needed = float(str(error.value).split("cache_mb must be at least ")[1].split()[0])
    make_rows(data, "rbf", cache=cache, cache_mb=needed)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 1000, 5000])
@pytest.mark.parametrize("is_sparse", [False, True])
@each_dtype
def test_cache_capacity_keeps_the_budget(n, is_sparse, dtype):
    """Rows kept and rows in work together take no more than was given."""
    rows = np.arange(n, dtype=dtype)[:, None]
    values = KernelMatrix(Linear(), sparse.csr_matrix(rows) if is_sparse else rows)
    row = n * np.dtype(dtype).itemsize
    work = row + (24 * n if is_sparse else 0)
    for cache_mb in cached_mb_needed(values) * np.array([1, 1.1, 2, 5, 20, 100, 1000]):
        kept, tile = cache_capacity(values, cache_mb)
        assert kept * row + tile * work <= cache_mb * tuning.MEBIBYTE
        assert kept >= min(n, 16)
        assert 1 <= tile <= min(256, kept)
    assert cache_capacity(values, 1e6) == (n, min(n, 256))


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_check_budget_says_what_all_shares_need(cache):
    values = KernelMatrix(Linear(), X)
    check_budget(cache, 2.0, 6.0, values, shares=3)
    message = rf"cache_mb must be at least 8\.04 for cache='{cache}' with 53 examples, got 6"
    with pytest.raises(ValueError, match=message) as caught:
        check_budget(cache, 2.0, 6.0, values, shares=4)
    assert ("use cache='streamed'" in str(caught.value)) == (cache != "streamed")


@pytest.mark.parametrize(
    ("cache", "cache_mb"),
    [("cached", 0.6), ("cached", 2), ("cached", 8), ("streamed", 0.5), ("streamed", 8)],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@each_dtype
def test_memory_stays_within_the_budget(cache, cache_mb, kernel, dtype):
    A, y = large_data()
    A = A.astype(dtype)
    task = make_problem(y, 1e-3)
    options = {"n_steps": 2000, "checkpoints": [1000, 2000], "random_state": 0}

    def train(rows=A, problem=task, mb=cache_mb):
        pegasos(problem, make_rows(rows, kernel, cache=cache, cache_mb=mb), **options)

    train(A[:50], make_problem(y[:50], 1e-3), 8)  # compiles
    assert peak_mb(train) < cache_mb + BYTES_PER_EXAMPLE * y.size / tuning.MEBIBYTE + SLACK_MB


@pytest.mark.parametrize("cache_mb", [2, 8])
def test_memory_of_sparse_rows(cache_mb):
    A, y = large_data()
    A[np.random.default_rng(0).random(A.shape) < 0.7] = 0
    data, task = sparse.csr_matrix(A), make_problem(y, 1e-3)
    for cache in ("cached", "streamed"):

        def train(rows=data, problem=task, cache=cache):
            source = make_rows(rows, "rbf", cache=cache, cache_mb=cache_mb)
            pegasos(problem, source, n_steps=1500, checkpoints=None, random_state=0)

        train(data[:50], make_problem(y[:50], 1e-3))
        assert peak_mb(train) < cache_mb + BYTES_PER_EXAMPLE * y.size / tuning.MEBIBYTE + SLACK_MB
