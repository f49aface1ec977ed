"""Slots of kernel rows, and tiles of draws that fill them; the rows of whole sources."""

from itertools import count
from threading import Event, Thread
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from covering import each_pair, each_value
from forks import needs_fork, of_child
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import N, X, Y, make_gram, n_kept

from kpegasos import RBF, KernelMatrix, make_problem, pegasos, sdca
from kpegasos.rows import cached
from kpegasos.rows.cached import CachedRows, RowCache, TiledSteps
from kpegasos.utils import tuning

VALUES = KernelMatrix(RBF(0.5), X)


def make_cache(row_capacity, tile_rows=4):
    return RowCache(VALUES, 0.0, row_capacity, tile_rows)


def assert_rows_are_right(cache):
    held = np.flatnonzero(cache.view.slots >= 0)
    assert n_kept(cache.view) == held.size <= cache.view.values.shape[0]
    assert np.unique(cache.view.slots[held]).size == held.size
    assert_allclose(cache.view.values[cache.view.slots[held]], make_gram("rbf")[held], rtol=1e-10)


@each_value(row_capacity=[4, 7, 20, N], tile_rows=[1, 3, 16])
def test_row_cache_holds_what_was_asked_for(row_capacity, tile_rows):
    """Whatever came before: all members of a request are there together, with the right values."""
    rng, cache = np.random.default_rng(0), make_cache(row_capacity, min(tile_rows, row_capacity))
    for t in range(1, 30):
        members = rng.permutation(N)[: rng.integers(1, row_capacity + 1)]
        missing = np.count_nonzero(cache.view.slots[members] < 0)
        before = cache.evaluations
        view = cache.ensure(members, t)
        assert (view.slots[members] >= 0).all()
        assert (view.ticks[view.slots[members]] == t).all()
        assert cache.evaluations - before == missing * N
        assert_rows_are_right(cache)


def held_by(cache):
    return np.flatnonzero(cache.view.slots >= 0).tolist()


def test_row_cache_gives_up_the_least_recently_used():
    cache = make_cache(4)
    for t, member in enumerate([10, 11, 12, 13, 10, 14, 15], start=1):
        cache.ensure(np.array([member]), t)
    assert held_by(cache) == [10, 13, 14, 15]


@pytest.mark.parametrize("fresh", [1.0, 3.0, 10.0, 1000.0])
def test_row_cache_with_more_room_never_costs_much_more(fresh, monkeypatch):
    """Whatever memory costs that is touched first: no more than what was computed again."""
    monkeypatch.setattr(tuning, "FRESH_BYTES", 4 * N * 8)
    clock, write = [0.0], RowCache._write
    monkeypatch.setattr(cached, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def timed(self, members, slots):
        clock[0] += float(members.size + fresh * np.count_nonzero(slots >= timed.touched))
        timed.touched = max(timed.touched, slots.max() + 1)
        write(self, members, slots)

    monkeypatch.setattr(RowCache, "_write", timed)
    seconds = []
    for row_capacity in (4, 20):
        clock[0], timed.touched, cache = 0.0, 0, make_cache(row_capacity)
        for t in range(1, 100):
            cache.ensure(np.array([t % 9, (t + 1) % 9]), t)
        seconds.append(clock[0])
        assert_rows_are_right(cache)
    assert seconds[1] <= min(seconds[0] + 2.0 * fresh, 9 * (1.0 + fresh) + 6.0 * (1.0 + fresh) + 20)
    assert (n_kept(cache.view) == 9) == (fresh < 100.0)


@pytest.mark.parametrize("how", ["forgotten", "another run", "draws"])
def test_row_cache_counts_what_working_sets_of_a_run_compute_again(how, monkeypatch):
    monkeypatch.setattr(tuning, "FRESH_BYTES", 0)
    cache = make_cache(20)
    cache.ensure(np.array([1, 2, 3]), 1)
    cache.ensure(np.array([4]), 2)
    assert held_by(cache) == [2, 3, 4]
    cache.compute(np.array([1]), 3) if how == "draws" else cache.ensure(np.array([1]), 3)
    if how == "forgotten":
        cache.forget()
    elif how == "another run":
        cache.begin(0)
    assert cache._again == 0


def test_row_cache_of_a_new_run_is_of_one_age():
    """Rows of an earlier run, used late or only fetched, make room for those of one that begins."""
    cache = make_cache(4)
    cache.ensure(np.array([1, 2]), 10_000)
    cache.compute(np.array([3]), 10_000)
    for t, members in enumerate([[4], [5], [6, 7]]):
        cache.ensure(np.array(members), t)
    assert held_by(cache) == [4, 5, 6, 7]


# --- rows for now ---


def compute_for_now(cache, members, t, alpha, idle=10):
    rows = cache.compute_for_now(np.array(members), t, idle, alpha)
    left = members[len(members) - rows.shape[0] :]
    assert_allclose(rows, make_gram("rbf")[left], rtol=1e-10)
    assert (cache.view.slots[left] < 0).all()
    assert_rows_are_right(cache)
    return held_by(cache)


def test_row_cache_keeps_the_rows_that_came_first():
    """What is used makes no room for what may be used once."""
    cache, alpha = make_cache(5), np.ones(N)
    assert compute_for_now(cache, [4, 7, 9], 1, alpha) == [4, 7, 9]
    assert compute_for_now(cache, [1, 20, 30], 2, alpha) == [1, 4, 7, 9, 20]
    assert compute_for_now(cache, [2, 3], 3, alpha) == [1, 4, 7, 9, 20]
    assert cache.evaluations == 8 * N


def test_row_cache_gives_up_what_is_not_used_any_more():
    cache, alpha = make_cache(4), np.ones(N)
    compute_for_now(cache, [1, 2, 3, 4], 1, alpha)
    cache.ensure(np.array([2, 4]), 8)
    assert compute_for_now(cache, [5], 11, alpha) == [1, 2, 3, 4]
    assert compute_for_now(cache, [5, 6, 7], 12, alpha) == [2, 4, 5, 6]
    alpha[[4, 6]] = 0.0
    assert compute_for_now(cache, [8, 9], 13, alpha) == [2, 5, 8, 9]
    alpha[8] = 0.0
    assert compute_for_now(cache, [10], 13, alpha) == [2, 5, 8, 9]  # used at this very step
    assert compute_for_now(cache, [10], 14, alpha) == [2, 5, 9, 10]


# --- tiles of draws ---

TASK = make_problem(Y, 0.05)


def make_rows(row_capacity=N, tile_draws=4):
    """The tile in work is one of four rows at the least, so that tiles of draws pay."""
    with mock.patch.multiple(tuning, TILE_DRAWS=tile_draws, TILE_ROWS=16):
        source = CachedRows(KernelMatrix(RBF(0.5), X))
        if row_capacity < N:
            source._cache = make_cache(row_capacity, 4)
            source._tiles = TiledSteps(VALUES, source._cache, tuning.MEBIBYTE)
    return source


def count_tiles(monkeypatch):
    tiles = []
    original = TiledSteps.advance

    def advance(self, steps, draws):
        tiles.append(draws.size)
        original(self, steps, draws)

    monkeypatch.setattr(TiledSteps, "advance", advance)
    return tiles


def run(source, **options):
    return pegasos(TASK, source, random_state=0, checkpoints=None, **options)


@pytest.mark.parametrize(("batch_size", "tile_draws"), [(1, 4), (3, 4), (3, 6), (5, 4), (2, 5)])
def test_tiles_hold_whole_batches_of_the_first_epoch(batch_size, tile_draws, monkeypatch):
    tiles = count_tiles(monkeypatch)
    result = run(make_rows(tile_draws=tile_draws), n_steps=2 * N, batch_size=batch_size)
    assert all(size % batch_size == 0 for size in tiles)
    assert max(tiles) <= max(batch_size, tile_draws)
    assert sum(tiles) >= N - batch_size
    expected = run(CachedRows(VALUES), n_steps=2 * N, batch_size=batch_size)
    assert_array_equal(result.alpha, expected.alpha)


def test_later_epochs_go_by_tiles_where_violators_are_many(monkeypatch):
    expected = run(CachedRows(VALUES), epochs=5)
    for additions, tiled in ((0, True), (10**9, False)):
        monkeypatch.setattr(tuning, "TILED_ABOVE_ADDITIONS", additions)
        tiles = count_tiles(monkeypatch)
        assert_array_equal(run(make_rows(), epochs=5).alpha, expected.alpha)
        assert (sum(tiles) > 2 * N) == tiled


@each_pair(algorithm=["pegasos", "sdca"], row_capacity=[4, 10, 30])
def test_rows_that_do_not_fit_cost_as_often_as_they_are_used(algorithm, row_capacity, monkeypatch):
    """No row that fits is computed twice while it is used, and the model is the same."""
    monkeypatch.setattr(tuning, "TILED_ABOVE_ADDITIONS", 10**9)
    tiles = count_tiles(monkeypatch)
    source = make_rows(row_capacity)

    def solve(rows):
        if algorithm == "pegasos":
            return run(rows, epochs=20)
        return sdca(TASK, rows, tol=1e-12, max_epochs=5, random_state=0)

    result, expected = solve(source), solve(CachedRows(VALUES))
    assert_allclose(result.alpha, expected.alpha, rtol=1e-9)
    assert_allclose(result.margins, expected.margins, rtol=1e-9, atol=1e-12)
    rows = (source.evaluations - sum(size**2 for size in tiles)) / N
    assert rows <= result.alpha.sum() - row_capacity if algorithm == "pegasos" else rows <= 5 * N
    assert_rows_are_right(source._cache)


def test_tiles_of_another_run_on_the_same_rows():
    """What is kept for one run is of use for another, whose model is that of fresh rows."""
    shared = make_rows(20)
    for random_state in (0, 1, 0, 2):
        options = {"n_steps": 40, "checkpoints": None, "random_state": random_state}
        expected = pegasos(TASK, make_rows(20), **options)
        assert_array_equal(pegasos(TASK, shared, **options).alpha, expected.alpha)


# --- rows of a source -----------------------------------------------------------------------------


def view_of(rows):
    """What the loops see, without a claim on any row."""
    return rows.ensure_rows(np.empty(0, dtype=np.int64), 1)


def test_cached_rows_cost_no_more_than_the_matrix():
    """While everything fits, no value is computed twice, in one run or in several."""
    rows = CachedRows(VALUES)
    for random_state in range(4):
        pegasos(TASK, rows, epochs=5, random_state=random_state)
    sdca(TASK, rows, max_epochs=20)
    assert N <= rows.evaluations <= N * N


def test_rows_that_were_closed_forget_what_they_kept():
    rows = CachedRows(VALUES)
    rows.ensure_rows(np.array([3, 1]), 0)
    assert n_kept(view_of(rows)) == 2
    rows.close()
    assert n_kept(view_of(rows)) == view_of(rows).values.size == 0


@needs_fork
def test_child_of_a_fork_believes_no_rows_that_another_thread_was_changing(monkeypatch):
    """The thread ends with the fork, where it has noted a slot and not yet whose it is."""
    rng = np.random.default_rng(0)
    values = KernelMatrix(RBF(1.0), rng.normal(size=(60, 2)))
    problem = make_problem(np.where(values.X[:, 0] > 0.3 * rng.normal(size=60), 1, -1), lam=0.01)
    expected = pegasos(problem, CachedRows(values), epochs=3, random_state=0)
    rows = CachedRows(values, cache_mb=0.012)
    inside, go, hold, calls = Event(), Event(), RowCache._hold, count(1)

    def stay(cache, members, slots, tick):
        if next(calls) == 10:
            cache.view.slots[members] = slots
            inside.set()
            go.wait(20.0)
        hold(cache, members, slots, tick)

    monkeypatch.setattr(RowCache, "_hold", stay)
    thread = Thread(target=lambda: pegasos(problem, rows, epochs=3, random_state=1))
    thread.start()
    assert inside.wait(20.0)
    found = of_child(
        lambda: np.array_equal(pegasos(problem, rows, epochs=3, random_state=0).coef, expected.coef)
    )
    go.set()
    thread.join(20.0)
    assert found
