"""An intercept that is not regularised: the best one, the certificate, and how runs reach it."""

import math

import naive_losses
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from solver_cases import EACH_LOSS, TWO_LOSSES, finished_run, polish

from kpegasos import linear_rows, losses, make_problem, make_rows, pegasos, sdca
from kpegasos.core.free_intercept import balance, best_intercept, middle_of
from kpegasos.core.problem import mean_loss
from kpegasos.rows.gram import GramRows

CORNERS = [losses.Hinge(), losses.EpsilonInsensitive()]


def some_points(loss, seed, n_samples=None, lam=None):
    """A small problem, extreme in one way or another, and its examples."""
    rng = np.random.default_rng(seed)
    m = n_samples or int(rng.integers(2, 26))
    X = rng.normal(size=(m, int(rng.integers(1, 4)))) * 10.0 ** rng.uniform(-1, 1) + rng.normal()
    if loss.regression:
        y = X[:, 0] + rng.normal(size=m) + 10.0 * rng.normal()
    else:
        n_positive = [1, m - 1, max(1, m // 2)][seed % 3]
        y = np.where(np.argsort(np.argsort(-X[:, 0] - rng.normal(size=m))) < n_positive, 1.0, -1.0)
    weight = None if seed % 2 else 10.0 ** rng.uniform(-2, 2, m)
    lam = lam or 10.0 ** rng.uniform(-4, 4)
    return make_problem(y, lam, weight, loss=loss, free_intercept=True), X


def some_task(loss, seed, **options):
    """The same with its Gram matrix."""
    problem, X = some_points(loss, seed, **options)
    K = X @ X.T if seed % 5 == 0 else np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return problem, K


def scaling_of(problem, K):
    """Size of a constant feature that does not slow the intercept down."""
    least = 10.0 * problem.lam * (1.0 + np.abs(problem.y).mean())
    return math.sqrt(max(np.trace(K) / len(K), least))


def objective(problem, K, result):
    """P of a result by its coefficients and intercept alone."""
    f = K @ result.coef
    loss = naive_losses.LOSSES[type(problem.loss).__name__](f + result.intercept, problem.y)
    return 0.5 * problem.lam * float(result.coef @ f) + float(problem.weight @ loss) / f.size


# --- one variable ---------------------------------------------------------------------------------


@pytest.mark.pure_python
@EACH_LOSS
@given(seed=st.integers(0, 10_000))
def test_best_intercept_is_no_worse_than_any_other(loss, seed):
    problem, K = some_task(loss, seed)
    decisions = K @ np.random.default_rng(seed).normal(size=len(K))
    low, high = best_intercept(decisions, problem.examples)
    assert low <= high
    least = mean_loss(decisions + middle_of(low, high), problem)
    scale = 1e-12 * (1.0 + least + np.abs(decisions).max())
    for end in (low, high):
        assert mean_loss(decisions + end, problem) <= least + scale
    for step in 10.0 ** np.arange(-6.0, 3.0):
        for other in (low - step, high + step):
            assert least <= mean_loss(decisions + other, problem) + scale


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", CORNERS, ids=lambda loss: type(loss).__name__)
@given(seed=st.integers(0, 10_000))
def test_best_intercepts_are_all_there_are(loss, seed):
    problem, K = some_task(loss, seed)
    decisions = K @ np.random.default_rng(seed).normal(size=len(K))
    low, high = best_intercept(decisions, problem.examples)
    least = mean_loss(decisions + low, problem)
    beyond = 1.0 + abs(low) + abs(high)
    lightest = problem.weight.min() / len(K)
    for outside in (low - beyond, high + beyond):
        assert mean_loss(decisions + outside, problem) > least + 0.1 * lightest * beyond * 1e-3


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", [losses.SquaredHinge(), losses.Huber()], ids=str)
def test_best_intercept_is_found_wherever_decisions_are(loss):
    problem, K = some_task(loss, 1)
    decisions = K @ np.ones(len(K))
    expected = middle_of(*best_intercept(decisions, problem.examples))
    for far in (1e9, -1e40):
        found = middle_of(*best_intercept(decisions + far, problem.examples))
        assert_allclose(found, expected - far, rtol=1e-15)
    assert np.isnan(best_intercept(np.full(len(K), np.nan), problem.examples)).all()


@pytest.mark.pure_python
@EACH_LOSS
@given(seed=st.integers(0, 10_000))
def test_balanced_coefficients_meet_the_constraint_inside_the_box(loss, seed):
    problem, K = some_task(loss, seed)
    rng = np.random.default_rng(seed)
    decisions, signed = rng.normal(size=len(K)), problem.examples.signed
    beta = np.clip(rng.normal(size=len(K)), loss.lower, loss.upper)
    found, left = balance(problem.examples, beta, decisions, 0.0)
    assert loss.lower <= found.min()
    assert found.max() <= loss.upper
    assert abs(math.fsum(found * signed)) <= left
    assert left <= 1e-14 * float((np.abs(beta) + 1.0) @ problem.weight)
    moves = (found - beta) * signed
    assert moves.max() <= 0.0 or moves.min() >= 0.0


@pytest.mark.pure_python
def test_balance_takes_from_those_that_lose_least():
    problem = make_problem([1, 1, 1, -1], 0.1, free_intercept=True)
    decisions = np.array([0.5, 1.0, 1.5, -1.0])  # slacks 0.5, 0, -0.5
    found, _ = balance(problem.examples, np.ones(4), decisions, 0.0)
    assert_allclose(found, [1.0, 0.0, 0.0, 1.0], atol=1e-12)


# --- certificates ---------------------------------------------------------------------------------


def assert_certified(problem, K, *results):
    lower, upper = naive_losses.free_bracket(
        type(problem.loss).__name__, K, problem.y, problem.lam, problem.weight
    )
    for result in results:
        assert result.dual_bound <= upper + 1e-12 * (1.0 + upper)
        assert result.objective >= lower - 1e-10 * (1.0 + upper)
        margins = K @ result.coef + result.intercept
        assert_allclose(result.margins, margins, rtol=1e-9, atol=1e-11 * (1.0 + abs(margins).max()))
        truth = objective(problem, K, result)
        assert abs(truth - result.objective) <= 1e-9 * truth + 1e-12
        assert truth - result.dual_bound <= result.gap + 1e-11 * truth


@TWO_LOSSES
def test_certificate_holds_against_an_independent_optimum(loss):
    for seed in range(40):
        problem, K = some_task(loss, seed)
        rows = GramRows(K, intercept_scaling=scaling_of(problem, K))
        run = finished_run(problem, rows, epochs=5)
        polished = polish(run, tol=1e-9)
        assert_certified(problem, K, run.result(), polished)
        assert polished.gap <= 1e-5 * polished.objective + 2.0 * polished.rounding, seed


@pytest.mark.pure_python
@TWO_LOSSES
def test_certificate_of_features_holds_against_an_independent_optimum(loss):
    for seed in range(8):
        problem, X = some_points(loss, seed)
        if seed % 4 == 0:  # more columns than rows
            X = np.hstack((X, np.random.default_rng(seed).normal(size=(len(X), 30))))
        K = X @ X.T
        layout = np.asarray if loss.regression or seed % 2 else csr_array
        run = finished_run(
            problem, linear_rows(layout(X), intercept_scaling=scaling_of(problem, K)), epochs=5
        )
        polished = polish(run, tol=1e-5, max_epochs=50)
        assert_certified(problem, K, run.result(), polished)
        for result in (run.result(), polished):
            assert_allclose(X @ result.w, K @ result.coef, rtol=1e-9, atol=1e-9)
        if not loss.regression:  # whose steps are slow, as with the constant feature
            assert polished.gap <= 1e-3 * polished.objective + 2.0 * polished.rounding, seed


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.pure_python
def test_steps_are_those_of_the_constant_feature():
    X, y = make_moons(80, noise=0.3, random_state=0)
    rows = make_rows(X, "rbf", gamma=2.0, intercept_scaling=1.0)
    plain, free = (
        pegasos(make_problem(y, C=1.0, free_intercept=free), rows, epochs=5, random_state=0)
        for free in (False, True)
    )
    assert_array_equal(plain.alpha, free.alpha)
    assert_array_equal(plain.coef, free.coef)
    assert free.objective < plain.objective
    assert plain.intercept_interval is None
    low, high = free.intercept_interval
    assert low <= free.intercept <= high


def test_pegasos_ends_within_the_penalty_of_the_intercept():
    """λ b*² / (2 B²) is all that the steps of the constant feature leave, in the end."""
    X, y = make_moons(60, noise=0.3, random_state=0)
    X = np.vstack((X, X[y == 1]))
    y = np.concatenate((y, np.ones(30)))
    problem = make_problem(y, lam=0.05, free_intercept=True)
    rows = make_rows(X, "rbf", gamma=2.0, intercept_scaling=0.5)
    best = polish(finished_run(problem, rows, epochs=5), tol=1e-9)
    result = pegasos(problem, rows, epochs=4000, random_state=0, checkpoints=None)
    most = 0.05 * best.intercept**2 / (2 * 0.5**2)
    assert best.objective <= result.objective <= best.objective + most + 1e-3


def test_dual_ascent_of_single_coordinates_meets_the_constraint_too():
    problem, K = some_task(losses.Hinge(), 5, n_samples=20, lam=0.01)
    result = sdca(problem, GramRows(K, intercept_scaling=1.0), tol=1e-6, max_epochs=20_000)
    assert result.status == "tolerance"
    assert abs(result.coef.sum()) <= 1e-3 * np.abs(result.coef).sum()
