"""Dual ascent: to the optimum from nothing, and from where a Pegasos run ended."""

import naive
import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC, LinearSVC
from solver_cases import (
    ALL_SOURCES,
    DATA,
    SOURCES,
    M,
    assert_same_result,
    each_source,
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
    KernelMatrix,
    Linear,
    Sigmoid,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.core.averaging import AVERAGES
from kpegasos.core.draws import IndexStream
from kpegasos.core.state import PegasosOptions
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper


@pytest.mark.pure_python
@each_pair(source=ALL_SOURCES, weighted=[False, True], B=[0.0, 2.0])
def test_sdca_reaches_the_optimum(source, weighted, B):
    rows = make_any_rows(source, intercept_scaling=B)
    result = sdca(make_task(weighted), rows, tol=1e-7, max_epochs=300, random_state=0)
    weight = DATA.omega if weighted else None
    best = true_optimum(weighted, B**2)
    assert result.status == "tolerance"
    assert result.relative_gap <= 1e-7
    assert result.dual_bound <= best + 1e-9
    assert best <= result.objective + 1e-9
    assert_allclose(result.objective, best, rtol=2e-7)
    assert (result.alpha >= 0).all()
    assert (result.alpha <= 1).all()
    problem = exact_gram("linear"), DATA.y, DATA.lam, weight
    objective = naive.primal(result.coef, *problem, offset=B**2)
    assert_allclose(result.objective, objective, rtol=1e-9)
    assert_allclose(result.dual_bound, naive.dual(result.alpha, *problem, offset=B**2), rtol=1e-6)
    if result.w is not None:
        assert_allclose(result.w, DATA.X.T @ result.coef, rtol=1e-9, atol=1e-12)
    margins = exact_gram("linear") @ result.coef + result.intercept
    assert_allclose(result.margins, margins, rtol=1e-9, atol=1e-9)
    assert_allclose(result.intercept, B**2 * result.coef.sum(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.1), ("rbf", 2.0), ("poly", 0.1)])
def test_kernel_optimum_is_that_of_svc(kernel, C):
    """SVC has a bias that costs nothing, and we none.

    On a set with -x labelled -y for every x labelled y, and an odd kernel expansion, f and -f(-·)
    have the same objective. So by convexity an optimum with bias is odd, hence has bias 0, and is
    the optimum without.
    """
    X, y = noisy(60)
    X, y = np.concatenate([X, -X]), np.concatenate([y, -y])
    parameters = {"linear": {}, "rbf": {"gamma": 0.5}, "poly": {"gamma": 1.0, "degree": 3}}[kernel]
    K = naive.gram(X, X, kernel, **parameters)
    svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    coef = np.zeros(y.size)
    coef[svc.support_] = svc.dual_coef_[0]
    task = make_problem(y, 1 / (C * y.size))
    theirs = naive.primal(coef, K, y, task.lam)
    rows = make_rows(X, kernel, **parameters)
    best = sdca(task, rows, tol=1e-6, max_epochs=20_000, random_state=0)
    assert best.status == "tolerance"
    assert_allclose(best.objective, theirs, rtol=1e-5)


@each_source
def test_sdca_steps_are_exact(source):
    """Orthogonal points do not touch each other: one epoch of exact steps ends at the optimum."""
    X, lam = np.diag(np.arange(1.0, M + 1) / 9), 0.3
    rows = SOURCES[source](KernelMatrix(Linear(), X))
    # Of the gap that is certified some 1e-10 is the bound of its rounding.
    task = make_problem(DATA.y, lam, DATA.weight)
    result = sdca(task, rows, tol=1e-9, max_epochs=1, random_state=0)
    # dD/dβ_i = ω_i/m (1 - ω_i β_i K_ii / (λm))
    beta = np.minimum(1, lam * M / (DATA.omega * X.diagonal() ** 2))
    assert 5 < (beta < 1).sum() < M - 5
    assert_allclose(result.alpha, beta, rtol=1e-12)
    assert result.status == "tolerance"


@pytest.mark.parametrize("make", [lambda X: make_rows(X, "rbf"), linear_rows])
@pytest.mark.parametrize("tol", [0.0, 1e-12])
def test_sdca_makes_all_its_epochs(make, tol):
    X, y = noisy()
    result = sdca(make_problem(y, 1e-3), make(X), tol=tol, max_epochs=7, random_state=0)
    assert result.status == "completed"
    assert result.n_steps == 7 * y.size
    assert_array_equal(result.history["iteration"], y.size * np.arange(1, 8))
    assert (np.diff(result.history["dual_bound"]) >= 0).all()


@every_rows
def test_sdca_returns_the_best_iterate(source):
    """The returned objective never rises, where that of the last iterate swings."""
    X, y = noisy()
    rows, options = make_any_rows(source, X=X), {"max_epochs": 60, "random_state": 0}
    result = sdca(make_problem(y, 1e-4), rows, tol=1e-12, **options)
    last, returned = (result.history[f"objective_{name}"] for name in ("last", "average"))
    assert (np.diff(last) > 0).any()
    assert_array_equal(returned[:-1], np.minimum.accumulate(last)[:-1])
    assert result.objective == returned[-1] == pytest.approx(last.min(), rel=1e-12)
    assert_allclose(
        result.objective, naive.primal(result.coef, naive.gram(X, X), y, 1e-4), rtol=1e-9
    )


# --- from where a run ended ---


@pytest.mark.pure_python
@each_pair(source=ALL_SOURCES, average=AVERAGES, weighted=[False, True])
def test_polish_finishes_a_run(source, average, weighted):
    """Dual ascent goes on from a run to the optimum; counts and state stay those of the run."""
    task, options = make_task(weighted), {"batch_size": 3, "average": average}
    running = finished_run(task, make_any_rows(source), n_steps=30, **options)
    before, n_records = running.result(), len(running.history)
    result = polish(running, tol=1e-8, max_epochs=200)
    best = true_optimum(weighted)
    assert result.status == "tolerance"
    assert result.dual_bound <= best + 1e-10
    assert_allclose(result.objective, best, rtol=2e-8)
    K, weight = exact_gram("linear"), DATA.omega if weighted else None
    objective = naive.primal(result.coef, K, DATA.y, DATA.lam, weight)
    assert_allclose(result.objective, objective, rtol=1e-9)
    assert_array_equal(result.alpha, before.alpha)
    assert result.n_steps == 30
    history = result.history
    assert len(history) > n_records
    for column in ("dual_bound", "epoch", "iteration", "seconds"):
        assert (np.diff(history[column]) >= 0).all()
    assert history["objective_average"][0] == before.objective
    assert (np.diff(history["objective_average"]) <= 0).all()
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


# --- kernels that are none ---


def indefinite_rows():
    """A symmetric matrix that a few epochs show not to be a kernel matrix."""
    values = np.random.default_rng(0).normal(size=(M, M))
    return make_rows(values + values.T, "precomputed")


def test_indefinite_kernel_that_is_known_is_refused():
    with pytest.raises(ValueError, match="positive semi-definite"):
        sdca(make_task(), make_rows(DATA.X, Sigmoid()))


def test_indefinite_kernel_that_a_run_has_found_stays_found():
    """By a polish, and by a run that goes on from its state."""
    problem = make_problem(DATA.y, 1e-3)
    run = finished_run(problem, indefinite_rows(), epochs=5)
    assert np.isnan(run.result().gap)
    with pytest.raises(ValueError, match="positive semi-definite"):
        polish(run, tol=0.5)
    again = pegasos(problem, indefinite_rows(), epochs=1, state=run.state, random_state=0)
    assert np.isnan(again.gap)
    assert np.isnan(again.history["dual_bound"]).all()
