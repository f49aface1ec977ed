"""Runs obey the bounds of the papers: always, in expectation, with probability."""

from functools import cache, cached_property

import numpy as np
import pytest
from conftest import stream
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_cases import benches, overlapping_clouds, two_opposite_points

from kpegasos import pegasos
from kpegasos.theory import (
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    median_excess_bound,
    n_runs,
    random_iterate_bound,
    random_stop_bound,
    regret_bound,
    subgradient_norm_bound,
    suffix_average_bound,
    weighted_average_bound,
)


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
    st.integers(0, 2**31 - 1),
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
@given(benches(), st.booleans(), st.integers(0, 2**31 - 1))
def test_subgradients_are_bounded_always(bench, projection, seed):
    seen = bench.run(40, projection=projection, average=None, random_state=seed)
    norm = np.sqrt(max(last.squared_norm for last, _ in seen))
    largest = subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    assert bench.lam * norm + bench.radius <= largest * (1 + 1e-9)


# In expectation and with probability: many runs

N_RUNS, N_STEPS = 240, 100
N_REGRETS = 60
MOMENTS = [10, 30, 100]


class Excess:
    """Objectives of many runs above the optimum, of shape (runs, steps).

    ``iterates`` are w_1 … w_T, ``average`` is the uniform one after each step, ``weighted`` and
    ``suffix`` are the other two after each of `MOMENTS`.
    """

    def __init__(self, bench, projection):
        self.bench = bench
        self.lam, self.radius, self.projection = bench.lam, bench.radius, projection
        options = {"n_steps": N_STEPS, "sampling": "uniform", "projection": projection}

        def histories(average, checkpoints):
            options.update(average=average, checkpoints=checkpoints)
            for seed in range(N_RUNS):
                yield pegasos(bench.problem, bench.rows, random_state=seed, **options).history

        iterates, averages = [], []
        for history in histories("uniform", range(1, N_STEPS + 1)):
            iterates.append([1.0, *history["objective_last"][:-1]])
            averages.append(history["objective_average"])
        weighted = [history["objective_average"] for history in histories("weighted", MOMENTS)]
        suffix = [history["objective_average"] for history in histories("suffix", MOMENTS)]
        self.iterates, self.average, self.weighted, self.suffix = (
            np.array(values) - bench.optimum for values in (iterates, averages, weighted, suffix)
        )

    @cached_property
    def mean_regrets(self):
        """The mean regrets of the first runs against the optimum, after each step."""
        how = (N_STEPS, 1, "uniform", self.projection)
        w_star = [self.bench.w_star]
        regrets = [regrets_of_steps(self.bench, *how, seed, w_star)[0] for seed in range(N_REGRETS)]
        return np.cumsum(regrets, axis=1) / np.arange(1, N_STEPS + 1)

    def random_iterates(self, n_steps, runs=1):
        """The best of ``runs`` random iterates among the first ``n_steps``, again and again."""
        groups = self.iterates[: N_RUNS // runs * runs].reshape(-1, runs, N_STEPS)
        chosen = np.random.default_rng(n_steps).integers(n_steps, size=(*groups.shape[:2], 1))
        return np.take_along_axis(groups, chosen, axis=2).min(axis=(1, 2))


@cache
def excess_of(make_bench, projection):
    return Excess(make_bench(), projection)


@pytest.fixture(params=[two_opposite_points, overlapping_clouds])
def excesses(request):
    """Without and with projection."""
    return [excess_of(request.param, projection) for projection in (False, True)]


def assert_mean_at_most(values, bound):
    slack = 3 * values.std(axis=0) / np.sqrt(len(values))
    assert np.all(values.mean(axis=0) <= bound + slack)


def assert_rarely_above(values, bound, probability):
    slack = 3 * np.sqrt(probability * (1 - probability) / len(values))
    assert np.mean(values > bound) <= probability + slack


@pytest.mark.slow
def test_averages_obey_their_bounds_in_expectation(excesses):
    for excess in excesses:
        where = {"lam": excess.lam, "radius": excess.radius}
        n_steps = np.arange(3, N_STEPS + 1)
        bound = average_iterate_bound(n_steps, **where, projection=excess.projection)
        assert_mean_at_most(excess.average[:, 2:], bound)
        mean_iterates = (excess.iterates.cumsum(axis=1) / np.arange(1, N_STEPS + 1))[:, 2:]
        assert_mean_at_most(mean_iterates, bound)
        if excess.projection:
            assert_mean_at_most(mean_iterates, convergence_bound(n_steps, **where))
        weighted = weighted_average_bound(MOMENTS, **where, projection=excess.projection)
        assert_mean_at_most(excess.weighted, weighted)
        suffix = suffix_average_bound(MOMENTS, **where, projection=excess.projection)
        assert_mean_at_most(excess.suffix, suffix)


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", MOMENTS)
@pytest.mark.parametrize("delta", [0.6, 0.2, 0.05])
def test_random_iterates_obey_their_bounds_with_probability(excesses, n_steps, delta):
    _, excess = excesses
    where = (n_steps, excess.lam, excess.radius, delta)
    assert_rarely_above(excess.random_iterates(n_steps), random_iterate_bound(*where), delta)
    runs = int(n_runs(delta))
    best = excess.random_iterates(n_steps // runs, runs)
    if n_steps >= 3 * runs:
        assert_rarely_above(best, best_of_runs_bound(*where), delta)


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", MOMENTS)
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_mean_excess_obeys_its_bounds_with_probability(excesses, n_steps, delta):
    for excess in excesses:
        where, options = (n_steps, excess.lam, excess.radius), {"projection": excess.projection}
        mean, average = excess.iterates[:, :n_steps].mean(axis=1), excess.average[:, n_steps - 1]
        random = excess.random_iterates(n_steps)
        bound = high_probability_bound(*where, delta, **options)
        assert_rarely_above(mean, bound, delta)
        assert_rarely_above(average, bound, delta)
        assert_rarely_above(random, random_stop_bound(*where, delta, **options), 0.5)
        if not excess.projection:
            share = delta / (4 * np.log(n_steps))
            assert_rarely_above(mean, generalization_bound(*where, share), delta)
            assert_rarely_above(average, mean_excess_bound(*where, delta), delta)
            assert_rarely_above(random, median_excess_bound(*where, delta), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", MOMENTS)
def test_mean_excess_obeys_the_bound_by_its_own_regret(excesses, n_steps):
    delta = 0.1
    for excess in excesses:
        mean = excess.iterates[:N_REGRETS, :n_steps].mean(axis=1)
        where = (n_steps, excess.lam, excess.radius, delta / (4 * np.log(n_steps)))
        regrets = excess.mean_regrets[:, n_steps - 1]
        bounds = measured_regret_bound(regrets, *where, projection=excess.projection)
        assert_rarely_above(mean, bounds, delta)
        # By definition the two agree in expectation.
        assert abs((mean - regrets).mean()) <= 4 * (mean - regrets).std() / np.sqrt(N_REGRETS)


def test_bounds_are_not_out_of_reach():
    """On two opposite points runs come near enough that a constant lost would be seen above."""
    bench = two_opposite_points()
    where = (N_STEPS, bench.lam, bench.radius)
    how = (N_STEPS, 1, "permutation", False, 0)
    regret = np.mean(regrets_of_steps(bench, *how, [np.zeros(1)]))
    assert regret > regret_bound(N_STEPS, bench.lam, 2 * bench.radius) / 4
    excess = excess_of(two_opposite_points, True)
    assert excess.iterates.mean() > convergence_bound(*where) / 12
    assert excess.iterates.mean() > average_iterate_bound(*where, projection=True) / 8
    assert excess.average[:, -1].mean() > average_iterate_bound(*where, projection=True) / 20
    assert excess.weighted[:, -1].mean() > weighted_average_bound(*where, projection=True) / 20
    assert excess.suffix[:, -1].mean() > suffix_average_bound(*where, projection=True) / 20
    assert (
        np.quantile(excess.random_iterates(N_STEPS), 0.95)
        > random_iterate_bound(*where, 0.05) / 100
    )
