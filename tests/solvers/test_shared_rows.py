"""Runs that share rows: on several threads, within each other, after errors."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

import numpy as np
import pytest
from row_cases import X, Y
from solver_cases import finished_run

from kpegasos import make_problem, make_rows, pegasos, regularization_path, sdca
from kpegasos.core.views import KernelView
from kpegasos.rows.base import KernelSource, run_loop
from kpegasos.solvers.polish import WorkingSetAscent, polish
from kpegasos.solvers.stopping import Stopper

PROBLEM = make_problem(Y, lam=1e-2)


class OwnRows(KernelSource):
    """Rows that a user wrote, without a call of the base class; they note who is there at once."""

    def __init__(self, gram, together):
        self.n_samples, self.positive_definite, self.kernel_offset = len(gram), True, 0.0
        self.image_size = self.row_capacity = self.n_samples
        self.gram, self.together, self.overlaps = gram, together, 0

    def _meet(self):
        try:
            self.together.wait()
            self.overlaps += 1
        except BrokenBarrierError:
            pass

    def ensure_rows(self, members, t):
        self._meet()
        self.evaluations += members.size
        n = self.n_samples
        return KernelView(self.gram, np.arange(n), np.zeros(n, np.int64), np.ones(n), 0.0)

    def advance(self, steps, draws, stop):
        view = self.ensure_rows(draws[:stop], 0)
        run_loop(steps, view, draws, stop)

    def product(self, columns):
        self._meet()
        return self.gram @ columns

    def squared_norms(self):
        return np.ones(self.n_samples)


def own_rows(parties=2):
    rows = make_rows(X, "rbf", gamma=0.5)
    return OwnRows(rows.gram, Barrier(parties, timeout=0.05))


def small_cache(n_rows=8):
    return make_rows(
        X, "rbf", gamma=0.5, cache="cached", cache_mb=(n_rows + 16) * X.shape[0] * 8 / 2**20
    )


SOLVERS = {
    "pegasos": lambda rows, seed: pegasos(PROBLEM, rows, epochs=5, random_state=seed),
    "sdca": lambda rows, seed: sdca(PROBLEM, rows, tol=1e-3, random_state=seed),
    "polish": lambda rows, seed: polish(finished_run(PROBLEM, rows, epochs=2, seed=seed), tol=1e-4),
    "path": lambda rows, seed: regularization_path(PROBLEM, rows, [0.1 + seed, 10.0], tol=1e-3),
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_runs_on_two_threads_never_use_rows_at_the_same_time(solver):
    rows = own_rows()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda seed: SOLVERS[solver](rows, seed), range(2)))
    assert rows.overlaps == 0


def test_runs_that_alternate_on_one_thread_find_what_they_find_alone():
    def ascents(rows):
        runs = [finished_run(make_problem(Y, lam=lam), rows, n_steps=50) for lam in (1e-3, 1e-2)]
        return [WorkingSetAscent.after(run, max_epochs=100) for run in runs]

    rows = small_cache()
    both = ascents(rows)
    while not all(ascent.finished for ascent in both):
        for ascent in both:
            if not ascent.finished:
                ascent.advance(Stopper(), 1e-3)
    for number, ascent in enumerate(both):
        alone = ascents(small_cache())[number]
        while not alone.finished:
            alone.advance(Stopper(), 1e-3)
        np.testing.assert_array_equal(alone.result().coef, ascent.result().coef)


def test_run_within_a_slice_of_the_same_rows_is_refused():
    rows = own_rows()
    rows._meet = lambda: pegasos(PROBLEM, rows, epochs=1)
    with pytest.raises(ValueError, match="rows must be free for this call"):
        pegasos(PROBLEM, rows, epochs=1)


def test_error_in_a_slice_gives_the_rows_back():
    rows = own_rows(parties=1)
    rows.together = None
    with pytest.raises(AttributeError):
        pegasos(PROBLEM, rows, epochs=1)
    rows.together = Barrier(1)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(pegasos, PROBLEM, rows, epochs=1).result(10.0).n_steps == Y.size


def test_one_run_of_many_counts_the_construction():
    for _ in range(20):
        rows = make_rows(X, "rbf", gamma=0.5)
        with ThreadPoolExecutor(4) as pool:
            claimed = [pool.submit(rows.claim_construction) for _ in range(4)]
        assert sum(each.result() for each in claimed) == rows.evaluations > 0


def test_rows_can_be_pickled_after_a_run():
    rows = make_rows(X, "rbf", gamma=0.5, cache="precomputed")
    first = pegasos(PROBLEM, rows, epochs=1, random_state=0)
    again = pegasos(PROBLEM, pickle.loads(pickle.dumps(rows)), epochs=1, random_state=0)
    np.testing.assert_array_equal(first.coef, again.coef)
