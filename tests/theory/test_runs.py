"""Runs obey the bounds that the papers have without an expectation."""

import numpy as np
import pytest
from conftest import stream
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_cases import Bench, benches

from kpegasos.theory import (
    average_iterate_bound,
    convergence_bound,
    regret_bound,
    subgradient_norm_bound,
    suffix_average_bound,
    weighted_average_bound,
)

seeds = st.integers(0, 2**31 - 1)


def regrets_of_steps(bench, n_steps, batch_size, sampling, projection, seed, rivals):
    """``f(w_t; A_t) − f(u; A_t)`` of each step for each rival u."""
    options = {"batch_size": batch_size, "sampling": sampling, "random_state": seed}
    seen = bench.run(n_steps, projection=projection, average=None, **options)
    draws = stream(len(bench.y), n_steps * batch_size, sampling=sampling, random_state=seed)
    batches = draws.reshape(n_steps, batch_size)
    iterates = [(np.zeros(len(bench.y)), 0.0)]
    iterates += [(last.margins, last.squared_norm) for last, _ in seen[:-1]]
    own = np.array([bench.objective(*w, a) for w, a in zip(iterates, batches, strict=True)])
    return [own - [bench.objective(bench.X @ u, u @ u, batch) for batch in batches] for u in rivals]


@settings(max_examples=40)
@given(
    benches(),
    st.integers(3, 40),
    st.integers(1, 3),
    st.sampled_from(["uniform", "permutation"]),
    st.booleans(),
    seeds,
)
def test_regret_is_bounded_always(bench, n_steps, batch_size, sampling, projection, seed):
    """Lemma 1 and Theorem 1, against the optimum, 0 and vectors on the surface of the ball."""
    batch_size = min(batch_size, len(bench.y))
    others = np.random.default_rng(seed).normal(size=(5, 2))
    others /= np.sqrt(bench.lam) * np.linalg.norm(others, axis=1, keepdims=True)
    rivals = [bench.w_star, np.zeros(2), *others]
    how = (n_steps, batch_size, sampling, projection, seed)
    regret = np.mean(regrets_of_steps(bench, *how, rivals), axis=1).max()
    largest = subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    assert regret <= regret_bound(n_steps, bench.lam, largest) * (1 + 1e-9)
    if projection:
        assert regret <= convergence_bound(n_steps, bench.lam, bench.radius) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("average", "bound", "first"),
    [
        ("uniform", average_iterate_bound, 3),
        ("suffix", suffix_average_bound, 2),
        ("weighted", weighted_average_bound, 1),
    ],
)
@settings(max_examples=25)
@given(benches(), st.booleans())
def test_averages_of_full_gradients_are_bounded_always(average, bound, first, bench, projection):
    """Corollary 1 of both papers; no proof has an expectation left where nothing is drawn."""
    size, steps = len(bench.y), np.arange(first, 61)
    seen = bench.run(60, batch_size=size, projection=projection, average=average, random_state=0)
    excess = np.array([model.objective for _, model in seen[first - 1 :]]) - bench.optimum
    where = (steps, bench.lam, bench.radius)
    assert np.all(excess <= bound(*where, projection=projection) * (1 + 1e-9))
    if average == "uniform":  # ours is of w_2 … w_{T+1}; in print it is of w_1 … w_T
        printed = [
            bench.objective(share * model.margins, share**2 * model.squared_norm)
            for share, (_, model) in zip(1 - 1 / steps, seen[first - 2 :], strict=False)
        ]
        excess = np.array(printed) - bench.optimum
        assert np.all(excess <= bound(*where, projection=projection) * (1 + 1e-9))
        if projection:
            assert np.all(excess <= convergence_bound(*where) * (1 + 1e-9))


@settings(max_examples=25)
@given(benches(), st.booleans(), seeds)
def test_subgradients_are_bounded_always(bench, projection, seed):
    seen = bench.run(40, projection=projection, average=None, random_state=seed)
    norm = np.sqrt(max(last.squared_norm for last, _ in seen))
    largest = subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    assert bench.lam * norm + bench.radius <= largest * (1 + 1e-9)


def test_regret_bound_is_not_out_of_reach():
    """On two opposite points a run comes near enough that a constant lost would be seen above."""
    bench = Bench([[1.0], [1.0]], [1, -1], 1.0)
    regret = np.mean(regrets_of_steps(bench, 100, 1, "permutation", False, 0, [np.zeros(1)]))
    assert regret > regret_bound(100, bench.lam, 2 * bench.radius) / 4
