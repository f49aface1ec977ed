"""Dual ascent: to the optimum from nothing, and from where a Pegasos run ended."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import (
    DATA,
    SOURCES,
    M,
    assert_same_result,
    each_average,
    every_rows,
    exact_gram,
    finished_run,
    make_any_rows,
    make_task,
    noisy,
    run_pegasos,
    true_optimum,
)

from kpegasos import (
    RBF,
    GramRows,
    KernelMatrix,
    Linear,
    Sigmoid,
    UncachedRows,
    linear_rows,
    make_problem,
    make_rows,
    sdca,
)
from kpegasos.core.draws import IndexStream
from kpegasos.core.state import PegasosOptions
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper


@pytest.mark.pure_python
@every_rows
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("B", [0.0, 2.0])
def test_sdca_reaches_the_optimum(source, weighted, B):
    result = sdca(
        make_task(weighted),
        make_any_rows(source, intercept_scaling=B),
        tol=1e-7,
        max_epochs=300,
        random_state=0,
    )
    weight = DATA.omega if weighted else None
    best = true_optimum(weighted, B**2)
    assert result.status == "tolerance"
    assert result.relative_gap <= 1e-7
    assert result.dual_bound <= best + 1e-9
    assert best <= result.objective + 1e-9
    assert_allclose(result.objective, best, rtol=2e-7)
    assert (result.alpha >= 0).all()
    assert (result.alpha <= 1).all()
    assert_allclose(
        result.objective,
        naive.primal(result.coef, exact_gram("linear"), DATA.y, DATA.lam, weight, offset=B**2),
        rtol=1e-9,
    )
    assert_allclose(
        result.dual_bound,
        naive.dual(result.alpha, exact_gram("linear"), DATA.y, DATA.lam, weight, offset=B**2),
        rtol=1e-6,
    )
    if result.w is not None:
        assert_allclose(result.w, DATA.X.T @ result.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(
        result.margins, exact_gram("linear") @ result.coef + result.intercept, rtol=1e-9, atol=1e-9
    )
    assert_allclose(result.intercept, B**2 * result.coef.sum(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("lam", [0.01, 0.3, 3.0])
def test_sdca_steps_are_exact(source, lam):
    """Orthogonal points do not touch each other: one epoch of exact steps ends at the optimum."""
    X = np.diag(np.arange(1.0, M + 1) / 9)
    task = make_problem(DATA.y, lam, DATA.weight)
    rows = SOURCES[source](KernelMatrix(Linear(), X))
    # Of the gap that is certified some 1e-10 is the bound of its rounding.
    result = sdca(task, rows, tol=1e-9, max_epochs=1, random_state=0)
    # dD/dβ_i = ω_i/m (1 - ω_i β_i K_ii / (λm))
    beta = np.minimum(1, lam * M / (DATA.omega * X.diagonal() ** 2))
    assert_allclose(result.alpha, beta, rtol=1e-12)
    assert result.status == "tolerance"


def test_sdca_uncached_beyond_one_tile():
    """Rows that are not kept are seen a tile at a time; the dual steps are those of them all."""
    X, y = noisy()
    values, task = KernelMatrix(RBF(0.5), X), make_problem(y, 0.02)
    options = {"tol": 1e-5, "max_epochs": 500, "random_state": 0}
    whole = sdca(task, GramRows.from_values(values), **options)
    for tile_rows in (16, 64, 120):
        result = sdca(task, UncachedRows(values, tile_rows=tile_rows), **options)
        assert result.status == "tolerance"
        assert_allclose(result.objective, whole.objective, rtol=1e-5)


def test_sdca_history_and_limits():
    X, y = noisy()
    task, rows = make_problem(y, 1e-3), make_rows(X, "rbf")
    result = sdca(task, rows, tol=1e-12, max_epochs=7, random_state=0)
    assert result.status == "completed"
    assert_array_equal(result.history["iteration"], y.size * np.arange(1, 8))
    assert (np.diff(result.history["dual_bound"]) >= 0).all()
    assert result.n_steps == 7 * y.size
    result = sdca(task, rows, tol=1e-12, max_epochs=10**6, max_time=1e-9)
    assert result.status == "max_time"
    assert result.n_steps >= 1
    with pytest.raises(ValueError, match="positive semi-definite"):
        sdca(task, make_rows(X, Sigmoid()))


@pytest.mark.parametrize("kernel", [False, True])
def test_sdca_of_tolerance_zero_makes_all_its_epochs(kernel):
    X, y = noisy()
    rows = make_rows(X, "rbf") if kernel else linear_rows(X)
    result = sdca(make_problem(y, 1e-3), rows, tol=0.0, max_epochs=7, random_state=0)
    assert result.status == "completed"
    assert result.n_steps == 7 * y.size


@pytest.mark.pure_python
@every_rows
@each_average
@pytest.mark.parametrize("weighted", [False, True])
def test_polish_finishes_a_run(source, average, weighted):
    """Dual ascent goes on from a run to the optimum; counts and state stay those of the run."""
    task, options = make_task(weighted), {"batch_size": 3, "average": average}
    running = finished_run(task, make_any_rows(source), n_steps=30, **options)
    before = running.result()
    result = polish(running, tol=1e-8, max_epochs=200)
    best = true_optimum(weighted)
    assert result.status == "tolerance"
    assert result.dual_bound <= best + 1e-10
    assert_allclose(result.objective, best, rtol=2e-8)
    assert_allclose(
        result.objective,
        naive.primal(
            result.coef, exact_gram("linear"), DATA.y, DATA.lam, DATA.omega if weighted else None
        ),
        rtol=1e-9,
    )
    assert_array_equal(result.alpha, before.alpha)
    assert result.n_steps == 30
    assert (np.diff(result.history["dual_bound"]) >= 0).all()
    objectives = result.history["objective_average"]
    assert objectives[0] == before.objective
    assert (np.diff(objectives) <= 0).all()
    # Going on from the state is as if nothing had been polished.
    whole = finished_run(task, make_any_rows(source), n_steps=50, **options)
    further = run_pegasos(
        make_any_rows(source), n_steps=20, weighted=weighted, state=result.state, **options
    )
    assert_same_result(further, whole.result())


def test_polish_leaves_a_good_run_alone():
    running = finished_run(make_task(), make_any_rows("cached"), n_steps=100)
    before = running.result()
    assert_same_result(polish(running, tol=before.relative_gap), before)


@every_rows
def test_sdca_returns_the_best_iterate(source):
    """The returned objective never rises, where that of the last iterate swings."""
    X, y = noisy()
    if source in SOURCES:
        rows = SOURCES[source](KernelMatrix(Linear(), X))
    else:
        rows = linear_rows(X if source == "dense" else sparse.csr_matrix(X))
    result = sdca(make_problem(y, 1e-4), rows, tol=1e-12, max_epochs=60, random_state=0)
    last, returned = (result.history[f"objective_{name}"] for name in ("last", "average"))
    assert (np.diff(last) > 0).any()
    assert_array_equal(returned[:-1], np.minimum.accumulate(last)[:-1])
    assert result.objective == returned[-1] == pytest.approx(last.min(), rel=1e-12)
    coef, K = result.coef, naive.gram(X, X)
    assert_allclose(result.objective, naive.primal(coef, K, y, 1e-4), rtol=1e-9)


def test_ascent_after_a_run_draws_what_no_run_draws():
    """Neither what its own run has drawn, nor what the runs of other pairs draw."""
    y = np.where(np.arange(40) % 2, 1, -1)
    problem, rows = make_problem(y, lam=0.1), linear_rows(np.eye(40))
    options = {"n_steps": 10, "epochs": None, "checkpoints": None, "tol": None, "seed": 0}
    run = make_run(problem, rows, PegasosOptions(), spawn_key=(1,), **options)
    run.advance(Stopper())
    draws = DualAscent.after(run, max_epochs=3)._stream.take(0, 3 * y.size)
    for key in ((), (0,), (1,), (2,), (1, 0)):
        other = IndexStream(y.size, "permutation", 0, key).take(0, 3 * y.size)
        same = draws.reshape(3, -1)[:, None] == other.reshape(3, -1)
        assert not same.all(axis=2).any()
