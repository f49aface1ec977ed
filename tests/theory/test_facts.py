"""What the proofs build on, seen in the package's steps: subgradients, projection, the optimum."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from theory_cases import Bench, benches

from kpegasos import make_problem, sdca
from kpegasos.reference import index_stream, linear_iterates, pegasos_linear
from kpegasos.theory import (
    objective_bound,
    optimum_norm_bound,
    regret_bound,
    subgradient_norm_bound,
    variance_bound,
)

seeds = st.integers(0, 2**31 - 1)


def in_the_ball(bench, seed, count=1):
    """Vectors of norms up to 1/√λ."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, bench.X.shape[1]))
    lengths = rng.uniform(size=(count, 1)) / np.sqrt(bench.lam)
    return vectors * lengths / np.linalg.norm(vectors, axis=1, keepdims=True)


def subgradient(bench, w, batch):
    """∇ at w on a batch, from the step that the package makes: w_2 = w_1 − ∇/λ."""
    after = pegasos_linear(bench.X, bench.y, bench.lam, batch, batch_size=len(batch), start=w)
    return bench.lam * (w - after.last)


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


# The projection


@settings(max_examples=30)
@given(benches(), seeds)
def test_projection_brings_every_step_closer_to_the_optimum(bench, seed):
    """To any vector of the ball, and so to the optimum; strictly where it moves the iterate."""
    draws = index_stream(len(bench.y), 30, "uniform", seed)
    ball = 1 / np.sqrt(bench.lam)
    inside = bench.w_star * min(1, ball / max(np.linalg.norm(bench.w_star), 1e-300))
    before = np.zeros(bench.X.shape[1])
    steps = linear_iterates(bench.X, bench.y, bench.lam, draws, projection=True)
    for (t, after, *_), i in zip(steps, draws, strict=True):
        violates = bench.y[i] * bench.X[i] @ before < 1 - 1e-10
        half = (1 - 1 / t) * before + violates * bench.y[i] * bench.X[i] / (bench.lam * t)
        for u in (inside, *in_the_ball(bench, seed, 3)):
            shorter, longer = np.linalg.norm(after - u), np.linalg.norm(half - u)
            assert shorter <= longer + 1e-12 * ball
            if np.linalg.norm(half) > 1.001 * ball:
                assert shorter < longer
        before = after


@settings(max_examples=25)
@given(benches(), seeds)
def test_regret_is_bounded_from_any_start_in_the_ball(bench, seed):
    """Lemma 1 asks for w_1 in the ball, not for w_1 = 0."""
    (start,) = in_the_ball(bench, seed)
    draws = index_stream(len(bench.y), 30, "uniform", seed)
    steps = linear_iterates(bench.X, bench.y, bench.lam, draws, projection=True, start=start)
    iterates = [start, *(step.last for step in steps)][:-1]
    own = np.mean([value(bench, w, [i]) for w, i in zip(iterates, draws, strict=True)])
    bound = regret_bound(
        30, bench.lam, subgradient_norm_bound(bench.lam, bench.radius, projection=True)
    )
    for u in in_the_ball(bench, seed + 1, 4):
        assert own - np.mean([value(bench, u, [i]) for i in draws]) <= bound * (1 + 1e-9)


# Subgradients


@settings(max_examples=30)
@given(benches(), seeds, st.integers(1, 4))
def test_step_follows_a_subgradient_of_its_batch(bench, seed, batch_size):
    """f(u; A) ≥ f(w; A) + ⟨∇, u − w⟩ + λ/2 ‖u − w‖², as f is λ-strongly convex."""
    batch = np.random.default_rng(seed).integers(len(bench.y), size=batch_size)
    w, *others = in_the_ball(bench, seed, 6)
    slope = subgradient(bench, w, batch)
    for u in others:
        below = value(bench, w, batch) + slope @ (u - w) + bench.lam / 2 * (u - w) @ (u - w)
        assert value(bench, u, batch) >= below - 1e-9 * max(1, abs(below))


@settings(max_examples=30)
@given(benches(), seeds)
def test_mean_of_the_single_subgradients_is_the_full_one(bench, seed):
    (w,) = in_the_ball(bench, seed)
    size = len(bench.y)
    single = np.mean([subgradient(bench, w, [i]) for i in range(size)], axis=0)
    full = subgradient(bench, w, np.arange(size))
    assert_allclose(single, full, atol=1e-9 * (1 + np.abs(full).max()))


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_variance_of_a_subgradient_is_inverse_to_the_batch(batch_size):
    """Exactly, over all batches; less by (m − k)/(m − 1) where no example is drawn twice."""
    rng = np.random.default_rng(1)
    bench = Bench(rng.normal(size=(5, 2)), [1, -1, 1, 1, -1], 0.1)
    (w,) = in_the_ball(bench, 0)

    def variance(batches):
        slopes = np.array([subgradient(bench, w, batch) for batch in batches])
        return np.mean(np.sum((slopes - subgradient(bench, w, range(5))) ** 2, axis=1))

    one = variance([[i] for i in range(5)])
    assert one > 0
    batches = list(product(range(5), repeat=batch_size))
    assert_allclose(variance(batches), one / batch_size)
    distinct = [batch for batch in batches if len(set(batch)) == batch_size]
    assert_allclose(variance(distinct), one / batch_size * (5 - batch_size) / (5 - 1))


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
