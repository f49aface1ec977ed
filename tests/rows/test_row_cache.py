"""Slots of kernel rows, and the warm-up that fills none."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from row_cases import N, X, Y, make_gram

from kpegasos import RBF, CachedRows, KernelMatrix, Linear, make_problem, pegasos
from kpegasos.core.state import STEPS, LoopParameters, PegasosOptions, new_state
from kpegasos.rows.cache import BufferPool, RowCache
from kpegasos.rows.warmup import WarmUp
from kpegasos.solvers.dual_ascent import DUAL
from kpegasos.solvers.pegasos import PRIMAL
from kpegasos.utils import tuning

VALUES = KernelMatrix(RBF(0.5), X)


def make_cache(row_capacity, tile_rows=4):
    return RowCache(VALUES, VALUES.diagonal, 0.0, row_capacity, tile_rows, BufferPool())


def assert_rows_are_right(cache):
    held = np.flatnonzero(cache.view.slots >= 0)
    assert cache.n_kept == held.size <= cache.view.values.shape[0]
    assert np.unique(cache.view.slots[held]).size == held.size
    np.testing.assert_allclose(
        cache.view.values[cache.view.slots[held]], make_gram("rbf")[held], rtol=1e-10
    )


@pytest.mark.parametrize("row_capacity", [4, 7, 20, N])
@pytest.mark.parametrize("tile_rows", [1, 3, 16])
def test_row_cache_holds_what_was_asked_for(row_capacity, tile_rows):
    """Whatever came before: all members of a request are there together, with the right values."""
    rng, cache = np.random.default_rng(0), make_cache(row_capacity, min(tile_rows, row_capacity))
    for t in range(1, 30):
        members = rng.permutation(N)[: rng.integers(1, row_capacity + 1)]
        missing = np.count_nonzero(cache.missing(members))
        before = cache.evaluations
        view = cache.ensure(members, t)
        assert (view.slots[members] >= 0).all()
        assert (view.ticks[view.slots[members]] == t).all()
        assert cache.evaluations - before == missing * N
        assert_rows_are_right(cache)


def test_row_cache_gives_up_the_least_recently_used():
    cache = make_cache(4)
    for t, member in enumerate([10, 11, 12, 13, 10, 14, 15], start=1):
        cache.ensure(np.array([member]), t)
    assert_array_equal(np.flatnonzero(cache.view.slots >= 0), [10, 13, 14, 15])


def test_row_cache_of_a_new_run_is_of_one_age():
    """Rows of an earlier run, however late, make room for those of the run that begins."""
    cache = make_cache(4)
    cache.ensure(np.array([1, 2, 3]), 10_000)
    cache.ensure(np.array([4]), 0)
    cache.ensure(np.array([5]), 1)
    cache.ensure(np.array([6, 7]), 2)
    assert_array_equal(np.flatnonzero(cache.view.slots >= 0), [4, 5, 6, 7])


# --- the warm-up ---


def make_warm_up(row_capacity=N):
    return WarmUp(VALUES, 0.0, tuning.MEBIBYTE, row_capacity, 4)


def state_after(steps, support=0, batch_size=1):
    state = new_state(N, N, PegasosOptions(batch_size=batch_size), 1.0, seed=0).loop
    state.counters[STEPS] = steps
    state.alpha[:support] = 1
    return state


@pytest.mark.parametrize(
    ("steps", "batch_size", "stop", "expected"),
    [
        (0, 1, 20, 20),
        (0, 1, 100, N),
        (50, 1, 100, 3),
        (N, 1, 100, 0),
        (0, 10, 100, 50),  # whole batches, of which the sixth ends in the second epoch
        (4, 10, 100, 10),
        (5, 10, 100, 0),
    ],
)
def test_warm_up_is_the_first_epoch(steps, batch_size, stop, expected):
    parameters = LoopParameters(1.0, N, batch_size, False, False)
    state = state_after(steps, support=20, batch_size=batch_size)
    assert make_warm_up().draws_to_score(PRIMAL, state, stop, parameters) == expected


@pytest.mark.parametrize(("support", "expected"), [(10, 0), (15, 0), (16, 30), (40, 30)])
def test_warm_up_returns_where_the_support_outgrows_the_cache(support, expected):
    """Rows would be given up before they are used again: 20 slots hold a support of 15."""
    parameters = LoopParameters(1.0, N, 1, False, False)
    state = state_after(5 * N, support)
    assert make_warm_up(20).draws_to_score(PRIMAL, state, 30, parameters) == expected
    assert make_warm_up(N).draws_to_score(PRIMAL, state, 30, parameters) == 0


def test_warm_up_is_not_for_dual_ascent():
    """It begins anywhere, and changes most examples it draws."""
    parameters = LoopParameters(1.0, N, 1, False, False)
    assert make_warm_up().draws_to_score(DUAL, state_after(0), 30, parameters) == 0


def test_warm_up_of_another_run_on_the_same_rows():
    """What is packed of one run's support is given up for another's."""
    task, options = make_problem(Y, 0.05), {"n_steps": 40, "checkpoints": None}
    shared = CachedRows(KernelMatrix(Linear(), X), warmup_draws=4)
    for random_state in (0, 1, 0, 2):
        expected = pegasos(
            task,
            CachedRows(KernelMatrix(Linear(), X), warmup_draws=4),
            random_state=random_state,
            **options,
        )
        result = pegasos(task, shared, random_state=random_state, **options)
        assert_array_equal(result.alpha, expected.alpha)
