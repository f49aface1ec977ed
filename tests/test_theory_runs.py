"""Runs obey the bounds of the papers: always, in expectation, with probability."""

import numpy as np
import pytest
from conftest import stream
from hypothesis import given, settings
from hypothesis import strategies as st

from kpegasos import linear_rows, make_problem, pegasos, sdca
from kpegasos.theory import (
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    data_radius,
    generalization_bound,
    mean_excess_bound,
    median_excess_bound,
    n_runs,
    random_iterate_bound,
    regret_bound,
    subgradient_norm_bound,
    weighted_average_bound,
)


class Bench:
    """A small linear problem, its optimum, and runs of it seen at every step."""

    def __init__(self, X, y, lam):
        self.X, self.y, self.lam = np.asarray(X, float), np.asarray(y, float), lam
        self.problem, self.rows = make_problem(self.y, lam), linear_rows(self.X)
        self.radius = data_radius(self.X)
        best = sdca(self.problem, self.rows, tol=1e-9, max_epochs=2000, random_state=0)
        self.optimum, self.w_star = best.dual_bound, best.w  # no more than f*

    def run(self, n_steps, **options):
        """The last iterate and the average after each step."""
        seen = []
        pegasos(
            self.problem,
            self.rows,
            n_steps=n_steps,
            checkpoints=range(1, n_steps + 1),
            monitor=lambda run: seen.append(run.evaluate()),
            **options,
        )
        return seen

    def objective(self, margins, squared_norm, batch=slice(None)):
        slack = np.maximum(0, 1 - self.y[batch] * margins[batch])
        return self.lam / 2 * squared_norm + slack.mean()


@st.composite
def benches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples = draw(st.integers(2, 12))
    X = rng.normal(size=(n_samples, 2)) * draw(st.sampled_from([0.3, 1.0, 5.0]))
    y = rng.choice([-1, 1], size=n_samples)
    return Bench(X, y, draw(st.sampled_from([0.01, 0.1, 1.0, 20.0])))


def mean_regret(bench, n_steps, batch_size, sampling, projection, seed, rivals):
    """``mean f(w_t; A_t) − mean f(u; A_t)`` for each rival u."""
    options = {"batch_size": batch_size, "sampling": sampling, "random_state": seed}
    seen = bench.run(n_steps, projection=projection, average=None, **options)
    draws = stream(len(bench.y), n_steps * batch_size, sampling=sampling, random_state=seed)
    batches = draws.reshape(n_steps, batch_size)
    iterates = [(np.zeros(len(bench.y)), 0.0)]
    iterates += [(last.margins, last.squared_norm) for last, _ in seen[:-1]]
    own = np.mean([bench.objective(*w, a) for w, a in zip(iterates, batches, strict=True)])
    return [
        own - np.mean([bench.objective(bench.X @ u, u @ u, batch) for batch in batches])
        for u in rivals
    ]


@settings(max_examples=40, deadline=None)
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
    regrets = mean_regret(bench, n_steps, batch_size, sampling, projection, seed, rivals)
    largest = subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    assert max(regrets) <= regret_bound(n_steps, bench.lam, largest) * (1 + 1e-9)
    if projection:
        assert max(regrets) <= convergence_bound(n_steps, bench.lam, bench.radius) * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(benches(), st.booleans())
def test_average_of_full_gradients_is_bounded_always(bench, projection):
    """Corollary 1 of both papers; the average as in print, of w_1 … w_T, and ours."""
    size = len(bench.y)
    seen = bench.run(60, batch_size=size, projection=projection, average="uniform", random_state=0)
    for n_steps in range(3, 61):
        _, ours = seen[n_steps - 1]
        _, shorter = seen[n_steps - 2]  # of w_2 … w_T
        share = (n_steps - 1) / n_steps
        printed = bench.objective(share * shorter.margins, share**2 * shorter.squared_norm)
        arguments = (n_steps, bench.lam, bench.radius)
        bound = average_iterate_bound(*arguments, projection=projection)
        assert max(ours.objective, printed) - bench.optimum <= bound * (1 + 1e-9)
        if projection:
            assert printed - bench.optimum <= convergence_bound(*arguments) * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(benches(), st.booleans())
def test_weighted_average_of_full_gradients_is_bounded_always(bench, projection):
    """Its proof has no expectation left where nothing is drawn."""
    size = len(bench.y)
    seen = bench.run(60, batch_size=size, projection=projection, average="weighted", random_state=0)
    excess = np.array([average.objective for _, average in seen]) - bench.optimum
    arguments = (np.arange(1, 61), bench.lam, bench.radius)
    assert np.all(excess <= weighted_average_bound(*arguments, projection=projection) * (1 + 1e-9))


@settings(max_examples=25, deadline=None)
@given(benches(), st.booleans(), st.integers(0, 2**31 - 1))
def test_subgradients_are_bounded_always(bench, projection, seed):
    seen = bench.run(40, projection=projection, average=None, random_state=seed)
    norm = np.sqrt(max(last.squared_norm for last, _ in seen))
    largest = subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    assert bench.lam * norm + bench.radius <= largest * (1 + 1e-9)


# In expectation and with probability: many runs

N_RUNS, N_STEPS = 240, 100
MOMENTS = [10, 30, 100]


class Excess:
    """Objectives of many runs above the optimum, of shape (runs, steps).

    ``iterates`` are w_1 … w_T, ``average`` is the uniform one after each step, ``weighted`` the
    weighted one after each of `MOMENTS`.
    """

    def __init__(self, bench, projection):
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
        self.iterates, self.average, self.weighted = (
            np.array(values) - bench.optimum for values in (iterates, averages, weighted)
        )

    def random_iterates(self, n_steps, runs=1):
        """The best of ``runs`` random iterates among the first ``n_steps``, again and again."""
        groups = self.iterates[: N_RUNS // runs * runs].reshape(-1, runs, N_STEPS)
        chosen = np.random.default_rng(n_steps).integers(n_steps, size=(*groups.shape[:2], 1))
        return np.take_along_axis(groups, chosen, axis=2).min(axis=(1, 2))


def two_opposite_points():
    """One example with both labels: w wanders about the optimum 0, and no rate is faster."""
    return Bench([[1.0], [1.0]], [1, -1], 1.0)


def overlapping_clouds():
    rng = np.random.default_rng(5)
    y = np.resize([-1, 1], 30)
    return Bench(rng.normal(size=(30, 2)) + y[:, None], y, 0.05)


@pytest.fixture(scope="module", params=["two_opposite_points", "overlapping_clouds"])
def excesses(request):
    """Without and with projection."""
    bench = globals()[request.param]()
    return [Excess(bench, projection) for projection in (False, True)]


def assert_mean_at_most(values, bound):
    slack = 3 * values.std(axis=0) / np.sqrt(len(values))
    assert np.all(values.mean(axis=0) <= bound + slack)


def assert_rarely_above(values, bound, probability):
    slack = 3 * np.sqrt(probability * (1 - probability) / len(values))
    assert np.mean(values > bound) <= probability + slack


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


@pytest.mark.parametrize("n_steps", MOMENTS)
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_mean_excess_obeys_its_bounds_with_probability(excesses, n_steps, delta):
    excess, _ = excesses
    where = (n_steps, excess.lam, excess.radius)
    mean = excess.iterates[:, :n_steps].mean(axis=1)
    share = delta / (4 * np.log(n_steps))
    assert_rarely_above(mean, generalization_bound(*where, share), delta)
    assert_rarely_above(excess.average[:, n_steps - 1], mean_excess_bound(*where, delta), delta)
    bound = median_excess_bound(*where, delta)
    assert_rarely_above(excess.random_iterates(n_steps), bound, 0.5)


def test_bounds_are_not_out_of_reach():
    """On two opposite points runs come near enough that a constant lost would be seen above."""
    bench = two_opposite_points()
    where = (N_STEPS, bench.lam, bench.radius)
    regret = max(mean_regret(bench, N_STEPS, 1, "permutation", False, 0, [np.zeros(1)]))
    assert regret > regret_bound(N_STEPS, bench.lam, 2 * bench.radius) / 4
    excess = Excess(bench, projection=True)
    assert excess.iterates.mean() > convergence_bound(*where) / 12
    assert excess.iterates.mean() > average_iterate_bound(*where, projection=True) / 8
    assert excess.average[:, -1].mean() > average_iterate_bound(*where, projection=True) / 20
    assert excess.weighted[:, -1].mean() > weighted_average_bound(*where, projection=True) / 20
    assert (
        np.quantile(excess.random_iterates(N_STEPS), 0.95)
        > random_iterate_bound(*where, 0.05) / 100
    )
