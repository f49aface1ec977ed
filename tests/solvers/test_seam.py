"""The seam between solvers and rows: those written outside the package serve solvers, and share.

`DenseRows` and `OwnRows` are not known to the package. An example of the gallery adds a solver.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import X, Y
from solver_cases import (
    DATA,
    by_the_book,
    finished_run,
    make_kernel_rows,
    make_task,
    polish,
    run_pegasos,
    true_optimum,
)

from kpegasos import make_problem, make_rows, pegasos, regularization_path, sdca
from kpegasos.core.state import AVERAGES
from kpegasos.core.views import KernelView
from kpegasos.rows.base import Evaluated, KernelSource, RowSource, claim_construction, run_loop


class DenseRows(RowSource):
    """Rows of a Gram matrix that numpy has computed; ``holds_rows`` shows them to working sets."""

    def __init__(self, X, *, holds_rows):
        super().__init__(X.shape[0], positive_definite=True)
        self.K = X @ X.T
        self.row_capacity = X.shape[0] if holds_rows else 0
        everything = np.arange(X.shape[0])
        ticks = np.zeros(X.shape[0], dtype=np.int64)
        self.view = KernelView.of(self.K, everything, ticks, self.K.diagonal().copy(), 0.0)

    def advance(self, steps, draws, stop):
        run_loop(steps, self.view, draws, stop)

    def ensure_rows(self, members, t):
        return self.view

    def evaluate(self, iterates, state, examples):
        coefs = [iterate.coefficients(state) for iterate in iterates]
        margins = [self.K @ (coef * examples.signed) for coef in coefs]
        return [
            Evaluated(coef, margin, float(coef * examples.signed @ margin))
            for coef, margin in zip(coefs, margins, strict=True)
        ]


each_kind = pytest.mark.parametrize("holds_rows", [False, True])


# --- rows from outside ---


@pytest.mark.pure_python
@each_pair(
    holds_rows=[False, True], average=AVERAGES, batch_size=[1, 3, 16], projection=[False, True]
)
def test_rows_from_outside_serve_pegasos(holds_rows, average, batch_size, projection):
    options = {"average": average, "projection": projection, "checkpoints": "epoch"}
    result = run_pegasos(DenseRows(DATA.X, holds_rows=holds_rows), batch_size, **options)
    ours = run_pegasos(make_kernel_rows("precomputed"), batch_size, **options)
    if not projection:
        assert_array_equal(result.alpha, by_the_book(batch_size=batch_size).counts)
    assert_array_equal(result.alpha, ours.alpha)
    assert_array_equal(result.coef, ours.coef)
    for column in ("iteration", "support_size", "cache_hits"):
        assert_array_equal(result.history[column], ours.history[column])
    for column in ("objective_last", "objective_average", "dual_bound", "gap"):
        # A source that says nothing of its sums has no rounding in its certificate.
        assert_allclose(result.history[column], ours.history[column], rtol=1e-9, atol=1e-9)
    assert result.history["kernel_evaluations"][-1] == 0


@each_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_from_outside_serve_dual_ascent(holds_rows, weighted):
    """By single examples, and by working sets where they hold rows."""
    task, rows = make_task(weighted), DenseRows(DATA.X, holds_rows=holds_rows)
    best = true_optimum(weighted)
    result = sdca(task, rows, tol=1e-7, random_state=0)
    assert result.status == "tolerance"
    assert_allclose(result.objective, best, rtol=2e-7)
    assert result.dual_bound <= best + 1e-9
    polished = polish(finished_run(task, rows, n_steps=60), tol=1e-7)
    assert polished.status == "tolerance"
    assert_allclose(polished.objective, best, rtol=2e-7)
    assert polished.n_steps == 60


def test_rows_from_outside_are_asked_for_no_more_than_they_have():
    """What a source leaves out is refused in a sentence, or not needed."""

    class Featureless(DenseRows):
        ensure_rows = RowSource.ensure_rows

    rows = Featureless(DATA.X, holds_rows=False)
    assert_array_equal(run_pegasos(rows).alpha, by_the_book().counts)
    with pytest.raises(NotImplementedError, match="Featureless holds no kernel rows"):
        rows.ensure_rows(np.arange(2), 0)


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
        return KernelView.of(self.gram, np.arange(n), np.zeros(n, np.int64), np.ones(n), 0.0)

    def advance(self, steps, draws, stop):
        view = self.ensure_rows(draws[:stop], 0)
        run_loop(steps, view, draws, stop)

    def product(self, columns):
        self._meet()
        return self.gram @ columns

    def squared_norms(self):
        return np.ones(self.n_samples)


def own_rows():
    return OwnRows(make_rows(X, "rbf", gamma=0.5).gram, Barrier(2, timeout=0.05))


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


def test_run_within_a_slice_of_the_same_rows_is_refused():
    rows = own_rows()
    rows._meet = lambda: pegasos(PROBLEM, rows, epochs=1)
    with pytest.raises(ValueError, match="rows must be free for this call"):
        pegasos(PROBLEM, rows, epochs=1)


def test_one_run_of_many_counts_the_construction():
    for _ in range(20):
        rows = make_rows(X, "rbf", gamma=0.5)
        with ThreadPoolExecutor(4) as pool:
            claimed = [pool.submit(claim_construction, rows) for _ in range(4)]
        assert sum(each.result() for each in claimed) == rows.evaluations > 0
