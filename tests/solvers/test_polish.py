"""Polishing ends, whatever is asked for, and never returns a worse model than it began with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from solver_cases import Countdown, finished_run

from kpegasos import (
    RBF,
    CachedRows,
    GramRows,
    KernelMatrix,
    Polynomial,
    UncachedRows,
    linear_rows,
    make_problem,
    sdca,
)
from kpegasos.core.state import PegasosOptions
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

ROWS = {
    "precomputed": GramRows.from_values,
    "cached": CachedRows,
    "uncached": UncachedRows,
}


def moons(n_samples, C, *, noise, seed=0, source="cached", dtype=np.float64, **options):
    """A Pegasos run at its end."""
    X, classes = make_moons(n_samples, noise=noise, random_state=seed)
    task = make_problem(np.where(classes > 0, 1, -1), 1 / (C * n_samples))
    values = KernelMatrix(RBF(2.0), X.astype(dtype))
    return finished_run(task, ROWS[source](values), **options)


@pytest.mark.parametrize("source", ROWS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("C", "tol"), [(0.01, 1e-17), (100.0, 1e-15)])
def test_polish_ends_below_rounding(C, tol, dtype, source):
    """A tolerance that rounding does not allow used to be asked for forever."""
    run = moons(80, C, noise=0.3, seed=1, source=source, dtype=dtype, epochs=20)
    result = polish(run, tol=tol)
    assert len(result.history) < 1000
    assert result.status in ("completed", "tolerance")
    # Rounds that gain less than 1e-9 are idle, and where they end depends on the start.
    assert result.relative_gap < (1e-9 if dtype == np.float64 else 1e-5)
    if C == 0.01 and dtype == np.float64:
        assert result.status == "completed"  # the gap is a rounding error, and not 0


@pytest.mark.parametrize("questions", [0, 1, 5, 60, 180])
def test_polish_cut_short_returns_its_best_iterate(questions):
    """With large C the objective swings; the last iterate used to be returned."""
    run = moons(4000, 1e4, noise=0.25, epochs=5)
    before = run.result().objective
    result = polish(run, tol=1e-9, stopper=Countdown(questions))
    assert result.status == "max_time"
    objectives = np.array([before, *result.history["objective_last"][1:]])
    assert result.objective <= objectives.min() * (1 + 1e-11)
    if questions >= 60:  # so that the last is not the best by itself
        assert (objectives > 1.2 * np.minimum.accumulate(objectives)).any()


@pytest.mark.parametrize("source", ROWS)
@pytest.mark.parametrize("questions", [0, 1, 20])
def test_polish_cut_short_returns_no_worse_than_any_multiple_of_its_start(questions, source):
    """A few sets of examples are no model of all, and a short run is too large by far."""
    run = moons(1000, 1e4, noise=0.25, source=source, epochs=0.5)
    start, y, lam = run.result(), run.problem.y, run.problem.lam
    result = polish(run, tol=1e-9, stopper=Countdown(questions))
    assert result.status == "max_time"
    K = rbf_kernel(make_moons(1000, noise=0.25, random_state=0)[0], gamma=2.0)

    def objective(coef):
        return 0.5 * lam * coef @ K @ coef + np.maximum(0, 1 - y * (K @ coef)).mean()

    assert start.objective == pytest.approx(objective(start.coef))
    least = min(objective(factor * start.coef) for factor in np.geomspace(1e-6, 10, 400))
    assert least < 0.2 * start.objective
    assert result.objective <= least * (1 + 1e-3)
    assert result.objective == pytest.approx(objective(result.coef))
    assert_allclose(result.margins, K @ result.coef, rtol=1e-9, atol=1e-9)
    assert result.history["objective_average"][-1] == pytest.approx(result.objective)


@pytest.mark.parametrize("C", [1e2, 1e6, 1e8])
@pytest.mark.parametrize("linear", [False, True])
def test_polish_without_time_returns_the_best_multiple_of_its_start(C, linear):
    """Where the time is over while Pegasos still runs; its first models are larger the larger C."""
    X, classes = make_blobs(400, centers=2, cluster_std=0.5, random_state=0)
    task = make_problem(np.where(classes > 0, 1, -1), 1 / (C * 400))
    rows = linear_rows(X) if linear else CachedRows(KernelMatrix(RBF(0.5), X))
    run = make_run(
        task, rows, PegasosOptions(), n_steps=10**6, epochs=None, checkpoints=None, tol=None, seed=0
    )
    run.advance(Countdown(1))
    assert run.status == "max_time"
    start = run.result()
    result = polish(run, tol=1e-9, stopper=Countdown(0))
    assert result.status == "max_time"
    assert result.n_steps == start.n_steps

    def hinge(factor):
        return np.maximum(0, 1 - task.y * factor * start.margins).mean()

    penalty = start.objective - hinge(1.0)
    least = min(factor**2 * penalty + hinge(factor) for factor in np.geomspace(1e-12, 2, 20_000))
    assert result.objective <= least * (1 + 1e-3)
    assert result.dual_bound <= sdca(task, rows, tol=1e-6, max_epochs=20_000).objective
    assert len(result.history) == len(start.history)
    assert result.history["objective_average"][-1] == pytest.approx(result.objective)


@pytest.mark.parametrize("max_time", [1e-9, 0.05, 0.2])
def test_polish_with_a_deadline_is_never_worse_than_the_run(max_time):
    run = moons(4000, 1e4, noise=0.25, epochs=5)
    before = run.result().objective
    result = polish(run, tol=1e-9, stopper=Stopper(max_time))
    assert result.status == "max_time"
    assert result.objective <= before


@pytest.mark.parametrize("source", ROWS)
def test_polish_returns_the_run_itself_where_that_is_better(source, monkeypatch):
    """The first iterate of an ascent may be worse than an average of many Pegasos iterates."""
    monkeypatch.setattr(tuning, "WORKING_SET", 4)
    run = moons(300, 100.0, noise=0.25, source=source, epochs=3000)
    before = run.result()
    result = polish(run, tol=1e-12, max_epochs=1)
    assert result.status == "completed"
    assert result.history["objective_last"][-1] > before.objective
    assert result.objective == before.objective
    assert_array_equal(result.coef, before.coef)
    assert_array_equal(result.margins, before.margins)
    assert result.intercept == before.intercept


def test_polish_goes_on_while_the_dual_rises():
    """The gap stands still for long where a multiple of the iterate is better than it is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=2000) > 0, 1, -1)
    rows = GramRows.from_values(KernelMatrix(Polynomial(0.1, 3, 1.0), X), intercept_scaling=1.0)
    run = finished_run(make_problem(y, 1 / (1e4 * 2000)), rows, epochs=0.5)
    result = polish(run, tol=1e-2, max_epochs=200)
    assert result.history["iteration"][-1] > 200 * 2000


@pytest.mark.parametrize("seed", [0, 1, 297])
def test_polish_ends_at_the_optimum_of_large_polynomials(seed):
    """The Hessian has one direction of 1e8 and many of none; judged in longer numbers."""
    X, labels = make_blobs(52, n_features=5, centers=2, cluster_std=9.0, random_state=seed)
    task = make_problem(np.where(labels > 0, 1, -1), C=74.0)
    values = KernelMatrix(Polynomial(1.0, 2, 1.0), X)
    run = finished_run(task, GramRows.from_values(values, intercept_scaling=1.0), epochs=0.5)
    result = polish(run, tol=1e-3)
    assert result.status == "tolerance"
    X, y = X.astype(np.longdouble), task.y.astype(np.longdouble)
    coef = result.coef.astype(np.longdouble)
    decisions = ((X @ X.T + 1) ** 2 + 1) @ coef
    norm = task.lam * (coef @ decisions)
    objective = 0.5 * norm + np.maximum(0, 1 - y * decisions).mean()
    dual = task.lam * np.abs(coef).sum() - 0.5 * norm
    assert_allclose(float(objective), result.objective, rtol=1e-6)
    assert float(dual) <= result.objective
    assert result.dual_bound <= float(objective)
    assert result.objective - result.dual_bound <= 1e-3 * float(objective)
