"""Cached rows: computed once while they fit, the least recently used given up otherwise."""

import numpy as np
from conftest import stream
from numpy.testing import assert_array_equal
from row_cases import RNG, N, X, Y

from kpegasos import RBF, CachedRows, KernelMatrix, Linear, make_problem, make_rows, pegasos, sdca
from kpegasos.rows.cached import BufferPool, _parts
from kpegasos.utils import tuning


def view_of(rows):
    """What the loops see, without a claim on any row."""
    return rows.ensure_rows(np.empty(0, dtype=np.int64), 1)


def test_cached_rows_cost_no_more_than_the_matrix():
    """While everything fits, no value is computed twice, in one run or in several."""
    rows = make_rows(X, "rbf", cache="cached")
    for random_state in range(4):
        pegasos(make_problem(Y, 1e-3), rows, epochs=5, random_state=random_state)
    sdca(make_problem(Y, 1e-3), rows, max_epochs=20)
    assert N <= rows.evaluations <= N * N


def test_cached_rows_evict_the_least_recently_used():
    """Everything violates and comes round once in an epoch: the rows drawn last are there."""
    values = KernelMatrix(Linear(), np.eye(200))
    rows = CachedRows(values, cache_mb=40 * 200 * 8 / tuning.MEBIBYTE, tile_rows=1)
    kept = rows.row_capacity
    assert 16 <= kept < 40
    task = make_problem(np.ones(200), 1.0)
    result = pegasos(task, rows, n_steps=1000, random_state=0, checkpoints=None)
    assert_array_equal(result.alpha, 5)
    latest = list(dict.fromkeys(stream(200, 1000)[::-1].tolist()))[:kept]
    assert rows.n_kept == kept
    assert set(np.flatnonzero(view_of(rows).slots >= 0)) == set(latest)


def test_cached_rows_of_an_earlier_run_are_the_oldest():
    """Whether that run had used them or only fetched them ahead."""
    A = RNG.normal(size=(300, 3))
    task = make_problem(np.where(RNG.random(300) < 0.5, 1, -1), 1e-2)
    rows = make_rows(A, "rbf", cache="cached", cache_mb=0.3 * 300 * 300 * 8 / tuning.MEBIBYTE)
    pegasos(task, rows, n_steps=100, random_state=0, checkpoints=None)
    assert (view_of(rows).ticks < -1).any()  # fetched and not used so far
    pegasos(task, rows, n_steps=1, random_state=0, checkpoints=None)
    ticks = view_of(rows).ticks
    assert np.where(ticks < 0, -1 - ticks, ticks).max() <= 1


def test_buffer_pool_hands_memory_on():
    """Sources that were closed leave their memory to those that come; the model is the same."""
    pool, values = BufferPool(), KernelMatrix(RBF(0.5), X)
    first = CachedRows(values, pool=pool)
    expected = pegasos(make_problem(Y, 0.1), first, epochs=3, random_state=0)
    both = CachedRows(values, pool=pool)
    held = view_of(first).values
    assert not np.shares_memory(view_of(both).values, held)
    first.close()
    small = CachedRows(KernelMatrix(RBF(0.5), X[:20]), pool=pool)
    assert view_of(small).values.shape == (20, 20)
    assert np.shares_memory(view_of(small).values, held)
    small.close()
    again = CachedRows(values, pool=pool)
    assert view_of(again).values.shape == (N, N)
    assert np.shares_memory(view_of(again).values, held)
    result = pegasos(make_problem(Y, 0.1), again, epochs=3, random_state=0)
    assert_array_equal(result.alpha, expected.alpha)
    assert_array_equal(result.coef, expected.coef)


def test_buffer_pool_takes_the_smallest_that_fits():
    pool, dtype = BufferPool(), np.dtype(np.float64)
    buffers = [pool.acquire(size, dtype) for size in (100, 20, 50)]
    for buffer in buffers:
        pool.release(buffer)
    assert pool.acquire(30, dtype) is buffers[2]
    assert pool.acquire(30, np.dtype(np.float32)).dtype == np.float32
    # Nothing fitted, so what lay idle was given up.
    assert all(pool.acquire(10, dtype) is not buffer for buffer in buffers)


def test_close_forgets_the_rows():
    rows = CachedRows(KernelMatrix(RBF(0.5), X))
    rows.ensure_rows(np.array([3, 1]), 0)
    assert rows.n_kept == 2
    rows.close()
    assert rows.n_kept == 0


def test_parts_have_as_many_missing_rows_as_they_may():
    missing = np.array([False, True, True, False, True, True, True])
    assert [*_parts(missing, 2)] == [slice(0, 4), slice(4, 6), slice(6, 7)]
    assert [*_parts(np.full(3, False), 2)] == [slice(0, 3)]
