"""Runs with any loss: against steps by the book, optima by another road, and each other."""

import naive_losses
import numpy as np
import pytest
from conftest import stream
from covering import each_pair, each_value
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from solver_cases import EACH_LOSS, LOSSES, finished_run, make_any_rows, polish

from kpegasos import (
    Constant,
    DelayedInverse,
    InverseSquareRoot,
    linear_rows,
    losses,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.core.state import AVERAGES

STEPS = [None, InverseSquareRoot(0.3), Constant(0.2), DelayedInverse()]


def name_of(loss):
    return type(loss).__name__


def data(loss, n_samples=30, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    number = X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.normal(size=n_samples)
    y = number if loss.regression else np.where(number > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.0, n_samples)


@pytest.mark.pure_python
@each_pair(
    loss=LOSSES,
    step=STEPS,
    k=[1, 3],
    projection=[False, True],
    average=AVERAGES,
    source=["precomputed", "evicting", "dense"],
)
def test_steps_are_those_of_the_book(loss, step, k, projection, average, source):
    X, y, weight = data(loss)
    lam, n_steps = 0.05, 60
    problem = make_problem(y, lam, weight, loss=loss)
    # What has no largest slope is always projected.
    projected = projection or not np.isfinite(loss.lipschitz)
    radius, draws = problem.radius if projected else None, stream(30, n_steps * k)
    by_steps = {"weight": weight, "k": k, "radius": radius, "step": step}
    expected = naive_losses.run(name_of(loss), X, y, lam, draws, average, **by_steps)
    rows = make_any_rows(source, X=X)
    options = {"n_steps": n_steps, "batch_size": k, "projection": projection, "step": step}
    result = pegasos(problem, rows, average=average, random_state=0, **options)
    assert_allclose(X.T @ result.coef, expected, rtol=1e-8, atol=1e-10)
    if result.w is not None:
        assert_allclose(result.w, expected, rtol=1e-8, atol=1e-10)


@EACH_LOSS
@settings(max_examples=20)
@given(
    way=st.sampled_from(["pegasos", "pegasos", "sdca", "polish"]),
    shape=st.floats(0.05, 1.5),
    seed=st.integers(0, 10**6),
    lam=st.sampled_from([1.0, 0.1, 0.01, 1e-3]),
    scale=st.sampled_from([0.1, 1.0, 5.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
    step=st.sampled_from(STEPS),
    average=st.sampled_from(AVERAGES),
    epochs=st.sampled_from([0.2, 1, 7]),
    batch_size=st.integers(1, 16),
    tol=st.sampled_from([1e-2, 1e-5]),
)
def test_certificates_hold(
    loss, way, shape, seed, lam, scale, dtype, step, average, epochs, batch_size, tol
):
    loss = type(loss)(*[shape] * len(loss))
    X, y, weight = data(loss, n_samples=16, seed=seed)
    X = (scale * X).astype(dtype)
    y = scale * y if loss.regression else y
    problem = make_problem(y, lam, weight, loss=loss)
    rows = make_rows(X, "rbf", gamma=0.5)
    if way == "pegasos":
        options = {"step": step, "average": average, "batch_size": batch_size}
        result = pegasos(problem, rows, epochs=epochs, random_state=seed, **options)
    elif way == "sdca":
        result = sdca(problem, rows, tol=tol, max_epochs=300, random_state=seed)
    else:
        run = finished_run(problem, rows, epochs=epochs, seed=seed)
        result = polish(run, tol=tol, max_epochs=300)
    K = make_rows(X.astype(np.float64), "rbf", gamma=0.5).gram
    task, parameters = (name_of(loss), K, y, lam), {"weight": weight, **loss._asdict()}
    least = naive_losses.optimum(*task, **parameters)
    exact = naive_losses.objective(*task, result.coef, **parameters)
    slack = 1e-9 * (1.0 + abs(least))
    assert result.dual_bound <= least + slack
    assert exact - least <= result.gap + slack
    assert result.status != "tolerance" or result.relative_gap <= tol
    assert_allclose(result.objective, exact, rtol=1e-4 if dtype == np.float32 else 1e-9, atol=1e-9)


@pytest.mark.pure_python
@pytest.mark.parametrize("step", STEPS[1:], ids=str)
def test_a_run_goes_on_with_its_step_rule(step):
    X, y, _ = data(losses.Logistic(), n_samples=50)
    problem, rows = make_problem(y, 0.02, loss=losses.Logistic()), make_rows(X, "rbf", gamma=0.3)
    whole = pegasos(problem, rows, n_steps=100, step=step, random_state=1)
    half = pegasos(problem, rows, n_steps=37, step=step, random_state=1)
    both = pegasos(problem, rows, n_steps=63, step=step, random_state=1, state=half.state)
    assert_allclose(both.coef, whole.coef, rtol=1e-9)


@each_value(loss=LOSSES, lam=[0.3, 1e-2, 1e-3])
def test_ascents_reach_the_optimum(loss, lam):
    X, y, weight = data(loss)
    problem, rows = make_problem(y, lam, weight, loss=loss), make_rows(X, "rbf")
    least = naive_losses.optimum(name_of(loss), rows.gram.astype(float), y, lam, weight=weight)
    result = sdca(problem, rows, tol=1e-5, max_epochs=20000, random_state=0)
    polished = polish(finished_run(problem, rows, n_steps=40), tol=1e-5, max_epochs=20000)
    assert result.status == polished.status == "tolerance"
    assert_allclose([result.objective, polished.objective], least, rtol=2e-5, atol=1e-9)
    # Examples of length zero move nothing.
    X[:3] = 0.0
    problem = make_problem(y, 0.05, loss=loss)
    least = naive_losses.optimum(name_of(loss), X @ X.T, y, 0.05)
    for rows in (linear_rows(X), make_rows(X, "linear")):
        result = sdca(problem, rows, tol=1e-4, max_epochs=5000, random_state=0)
        assert result.status == "tolerance"
        assert_allclose(result.objective, least, rtol=2e-4, atol=1e-9)


def test_large_margins_leave_the_logistic_loss_finite():
    """Features far from unit size, where coefficients are next to the ends of their box."""
    X, y, _ = data(losses.Logistic(), n_samples=60)
    problem = make_problem(y, 1e-4, loss=losses.Logistic())
    result = sdca(problem, make_rows(1e3 * X, "linear"), max_epochs=50, random_state=0)
    assert np.isfinite([result.objective, result.gap]).all()
    run = finished_run(problem, make_rows(1e3 * X, "linear"), n_steps=40)
    polished = polish(run, tol=1e-2, max_epochs=300)
    assert np.isfinite(polished.coef).all()
    assert np.isfinite(polished.objective)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_values_that_are_no_numbers_never_reach_a_tolerance():
    X, y, _ = data(losses.Huber())
    problem = make_problem(1e99 * y, 1e-90, loss=losses.Huber(1e99))
    result = pegasos(problem, linear_rows(X), tol=0.5, epochs=3, random_state=0)
    assert result.status != "tolerance" or result.relative_gap <= 0.5
    assert not (result.status == "tolerance" and np.isnan(result.objective))
