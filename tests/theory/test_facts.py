"""What the proofs build on, seen in the package's steps: subgradients, projection, the optimum."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from theory_cases import benches

from kpegasos import linear_rows, make_problem, sdca
from kpegasos.reference import index_stream, linear_iterates
from kpegasos.theory import (
    objective_bound,
    optimum_norm_bound,
    subgradient_norm_bound,
    variance_bound,
)

seeds = st.integers(0, 2**31 - 1)


def value(bench, w, batch=slice(None)):
    return bench.objective(bench.X @ w, w @ w, batch)


# The optimum


@settings(max_examples=30)
@given(benches(), st.booleans(), seeds)
def test_optimum_is_in_the_ball(bench, weighted, seed):
    w, distance = bench.w_star, bench.distance
    if weighted:
        weight = np.random.default_rng(seed).exponential(size=len(bench.y)) + 1e-3
        problem = make_problem(bench.y, bench.lam, weight)
        best = sdca(problem, bench.rows, tol=1e-9, max_epochs=2000, random_state=0)
        w, distance = best.w, np.sqrt(2 * max(0, best.gap) / bench.lam)
    bound = optimum_norm_bound(bench.lam, bench.radius)
    assert np.linalg.norm(w) <= bound * (1 + 1e-9) + distance


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_optimum_can_be_on_the_sphere(lam):
    """One example of norm √λ: its margin is 1 at w = x/λ, whose norm is both bounds."""
    X = np.array([[np.sqrt(lam)]])
    best = sdca(make_problem([1.0], lam), linear_rows(X), tol=1e-9, random_state=0)
    assert_allclose(np.linalg.norm(best.w), 1 / np.sqrt(lam), rtol=1e-6)
    assert_allclose(optimum_norm_bound(lam, np.sqrt(lam)), 1 / np.sqrt(lam))


# Constants of the concentration


@settings(max_examples=25)
@given(benches(), st.booleans(), seeds)
def test_objective_stays_below_its_bound(bench, projection, seed):
    """Of every iterate, and of the optimum, on every example."""
    draws = index_stream(len(bench.y), 40, "uniform", seed)
    steps = linear_iterates(bench.X, bench.y, bench.lam, draws, projection=projection)
    bound = objective_bound(bench.lam, bench.radius, projection=projection)
    for w in (bench.w_star, *(step.last for step in steps)):
        assert max(value(bench, w, [i]) for i in range(len(bench.y))) <= bound * (1 + 1e-6)


@settings(max_examples=25)
@given(benches(), st.booleans(), seeds)
def test_variance_of_a_step_vanishes_with_the_excess(bench, projection, seed):
    """Zhou, Lemma 3.1, over all examples at every iterate."""
    assume(bench.distance < 1e-3 / np.sqrt(bench.lam))
    draws = index_stream(len(bench.y), 40, "uniform", seed)
    steps = linear_iterates(bench.X, bench.y, bench.lam, draws, projection=projection)
    norm = subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    optimum = [value(bench, bench.w_star, [i]) for i in range(len(bench.y))]
    # The variance is about w_star, not about the optimum itself.
    rounding = norm * bench.distance
    for step in steps:
        losses = [value(bench, step.last, [i]) for i in range(len(bench.y))]
        deviation = np.std(np.subtract(losses, optimum))
        excess = max(0, value(bench, step.last) - bench.optimum)
        bound = np.sqrt(variance_bound(excess, bench.lam, norm))
        assert deviation <= bound * (1 + 1e-9) + 2 * rounding
