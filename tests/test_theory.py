"""The bounds of the papers: their values, and that runs obey them."""

import numpy as np
import pytest
from conftest import stream
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
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

# Those that are functions of (T, lam, R), and of (T, lam, R, delta).
BOUNDS = [convergence_bound, average_iterate_bound, weighted_average_bound]
WITH_DELTA = [
    random_iterate_bound,
    best_of_runs_bound,
    generalization_bound,
    mean_excess_bound,
    median_excess_bound,
]


# Values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (subgradient_norm_bound(0.04, 2.0), 4.0),
        (subgradient_norm_bound(0.04, 2.0, projection=True), 2.2),
        (regret_bound(1, 0.25, 3.0), 18.0),
        # T = 100, lam = 1/25, R = 2: lam T = 4, c = 4.84 with the projection and 16 without.
        (regret_bound(100, 0.04, 4.0), 11.2103404),  # 2 (1 + ln 100)
        (convergence_bound(100, 0.04, 2.0), 5.5722559),  # 1.21 ln 100
        (random_iterate_bound(100, 0.04, 2.0, 0.1), 55.722559),
        (best_of_runs_bound(100, 0.04, 2.0, 0.1), 45.4408861),  # 1.21 ln 100 · 3 e
        (average_iterate_bound(100, 0.04, 2.0), 11.2103404),
        (average_iterate_bound(100, 0.04, 2.0, projection=True), 3.3911280),
        (weighted_average_bound(7, 0.25, 2.0), 16.0),  # 2 · 16 / 2
        (weighted_average_bound(7, 0.25, 2.0, projection=True), 6.25),
        # 2 · 5.60517 + 8 √(5.60517 · 4.60517) + 32 · 4.60517
        (generalization_bound(100, 0.04, 2.0, 0.01), 199.2207960),
        # T = e³, lam = 20: 9 R² + 6 lam = 156 is the maximum. (8 · 4 + 32 · 4 + 156 · 4) / (20 e³)
        (generalization_bound(np.exp(3), 20.0, 2.0, np.exp(-4)), 39.2 / np.exp(3)),
        (mean_excess_bound(100, 0.04, 2.0, 0.04 * np.log(100)), 199.2207960),
        # 2 (1 − 1/4) / (1 − 2/4) = 3
        (median_excess_bound(99, 0.1, 2.0, 0.25), 3 * mean_excess_bound(99, 0.1, 2.0, 0.25)),
    ],
)
def test_values_by_hand(value, expected):
    assert_allclose(value, expected, rtol=1e-7)


def test_number_of_runs():
    assert_array_equal(n_runs([0.9, 0.37, 0.36, 0.05, 0.04, 1e-3]), [1, 1, 2, 3, 4, 7])


def test_best_of_runs_pays_below_an_eighth():
    delta = np.linspace(0.01, 0.12, 50)
    assert np.all(
        best_of_runs_bound(1000, 0.1, 1.0, delta) < random_iterate_bound(1000, 0.1, 1.0, delta)
    )
    assert best_of_runs_bound(1000, 0.1, 1.0, 0.13) > random_iterate_bound(1000, 0.1, 1.0, 0.13)


def test_printed_best_of_runs_covers_whole_runs():
    """Runs of ⌊T/s⌋ steps, each within Theorem 3 for delta = 1/e, are within the printed bound."""
    n_steps = np.arange(9, 3000)
    for delta in (0.3, 0.1, 0.02, 1e-6):
        runs = n_runs(delta)
        usable = n_steps[n_steps >= 3 * runs]
        single = random_iterate_bound(usable // runs, 0.1, 1.0, np.exp(-1))
        assert np.all(single <= best_of_runs_bound(usable, 0.1, 1.0, delta))


@pytest.mark.parametrize("bound", [*BOUNDS, *WITH_DELTA])
def test_broadcasting(bound):
    n_steps, lam = np.array([[20], [300]]), np.array([0.01, 0.1, 10.0])
    others = (2.0, 0.1) if bound in WITH_DELTA else (2.0,)
    values = bound(n_steps, lam, *others)
    assert values.shape == (2, 3)
    assert_array_equal(values, [[bound(t, c, *others) for c in lam] for t in n_steps.ravel()])
    assert np.ndim(bound(20, 0.1, *others)) == 0
    assert bound([20, 300], 0.1, *others).tolist() == [bound(t, 0.1, *others) for t in (20, 300)]


positive = st.floats(0.01, 100)
steps = st.integers(40, 10**9)  # for the 12 runs of delta = 1e-5 too


@given(steps, positive, positive, st.floats(1.01, 10))
def test_more_steps_less_norm_less_bound(n_steps, lam, radius, factor):
    bounds = [regret_bound, *BOUNDS]
    bounds += [lambda *a, bound=bound: bound(*a, 0.01) for bound in WITH_DELTA]
    bounds += [
        lambda *a, bound=bound: bound(*a, projection=True)
        for bound in (average_iterate_bound, weighted_average_bound)
    ]
    for bound in bounds:
        value = bound(n_steps, lam, radius)
        assert bound(factor * n_steps, lam, radius) < value
        assert bound(n_steps, factor * lam, radius) < value
        assert bound(n_steps, lam, factor * radius) > value


@given(steps, positive, positive, st.floats(1e-4, 0.3), st.floats(0.1, 0.9))
def test_less_doubt_more_bound(n_steps, lam, radius, delta, factor):
    for bound in (random_iterate_bound, generalization_bound, mean_excess_bound):
        assert bound(n_steps, lam, radius, factor * delta) > bound(n_steps, lam, radius, delta)
    surer, usual = (best_of_runs_bound(n_steps, lam, radius, d) for d in (factor * delta, delta))
    assert surer >= usual  # two probabilities may have the same number of runs


@given(steps, positive, positive, st.floats(1e-6, 0.999))
def test_corollaries_follow_from_the_theorems(n_steps, lam, radius, delta):
    assert convergence_bound(n_steps, lam, radius) >= average_iterate_bound(
        n_steps, lam, radius, projection=True
    )
    share = delta / (4 * np.log(n_steps))
    assert mean_excess_bound(n_steps, lam, radius, delta) == generalization_bound(
        n_steps, lam, radius, share
    )
    # What is likely is no less than what is expected.
    assert mean_excess_bound(n_steps, lam, radius, delta) > average_iterate_bound(
        n_steps, lam, radius
    )


# Errors


STEPS = r"n_steps must be at least [13] and finite, got"
DELTA = "delta must be above 0 and below 1(/e|/2|), got"


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_steps", 0, f"{STEPS} 0 instead"),
        ("n_steps", [20, -3], f"{STEPS} -3 instead"),
        ("n_steps", np.nan, f"{STEPS} nan instead"),
        ("n_steps", np.inf, f"{STEPS} inf instead"),
        ("lam", 0.0, "lam must be a positive finite number, got 0 instead"),
        ("lam", [1.0, -2.0], "lam must be a positive finite number, got -2 instead"),
        ("radius", np.inf, "radius must be a positive finite number, got inf instead"),
        ("delta", 0.0, f"{DELTA} 0 instead"),
        ("delta", [0.1, 1.0], f"{DELTA} 1 instead"),
    ],
)
def test_errors_name_parameter_and_value(parameter, value, message):
    arguments = {"n_steps": 20, "lam": 0.1, "radius": 1.0}
    bounds = WITH_DELTA
    if parameter != "delta":
        bounds = [*BOUNDS, *WITH_DELTA]
    for bound in bounds:
        others = {"delta": 0.1} if bound in WITH_DELTA else {}
        with pytest.raises(ValueError, match=message):
            bound(**{**arguments, **others, parameter: value})


@pytest.mark.parametrize(
    "bound", [b for b in [*BOUNDS, *WITH_DELTA] if b is not weighted_average_bound]
)
def test_theorems_begin_at_three_steps(bound):
    others = (0.5, 1.0, 0.3) if bound in WITH_DELTA else (0.5, 1.0)
    with pytest.raises(ValueError, match=r"n_steps.* must be at least 3"):
        bound(2, *others)
    if bound is not best_of_runs_bound:
        assert bound(3, *others) > 0


def test_limits_of_single_bounds():
    assert weighted_average_bound(1, 1.0, 1.0) > 0
    assert regret_bound(1, 1.0, 1.0) == 0.5
    with pytest.raises(ValueError, match="gradient_norm must be a positive finite number"):
        regret_bound(10, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"delta must be above 0 and below 1/e, got 0\.37 instead"):
        generalization_bound(10, 1.0, 1.0, 0.37)
    with pytest.raises(ValueError, match=r"delta must be above 0 and below 1/2, got 0\.5 instead"):
        median_excess_bound(10, 1.0, 1.0, 0.5)
    # s = 3 runs of less than three steps
    with pytest.raises(ValueError, match=r"n_steps / n_runs\(delta\) must be at least 3, got 2.66"):
        best_of_runs_bound(8, 1.0, 1.0, 0.1)


# The radius


def test_radius_is_the_largest_norm():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert_allclose(data_radius(X), np.linalg.norm(X, axis=1).max())
    poly = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
    assert_allclose(data_radius(X, "poly", **poly), (0.5 * (X**2).sum(axis=1).max() + 1))
    assert data_radius(X, "rbf", gamma=3.0) == 1.0
    assert_allclose(data_radius(X, "rbf", intercept_scaling=2.0), np.sqrt(5))
    gram = make_rows(X, "poly", cache="precomputed", intercept_scaling=2.0, **poly)
    norms = gram.product(np.eye(30)).diagonal()
    assert_allclose(data_radius(X, "poly", intercept_scaling=2.0, **poly) ** 2, norms.max())


def test_radius_needs_a_feature_space():
    with pytest.raises(ValueError, match="kernel must be positive semi-definite, got Sigmoid"):
        data_radius(np.ones((2, 2)), "sigmoid")


# Runs obey them


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


def test_bounds_in_expectation(excesses):
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
def test_random_iterates_with_probability(excesses, n_steps, delta):
    _, excess = excesses
    where = (n_steps, excess.lam, excess.radius, delta)
    assert_rarely_above(excess.random_iterates(n_steps), random_iterate_bound(*where), delta)
    runs = int(n_runs(delta))
    best = excess.random_iterates(n_steps // runs, runs)
    if n_steps >= 3 * runs:
        assert_rarely_above(best, best_of_runs_bound(*where), delta)


@pytest.mark.parametrize("n_steps", MOMENTS)
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_mean_excess_with_probability(excesses, n_steps, delta):
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
