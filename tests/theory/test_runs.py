"""Runs obey the bounds that hold without an expectation, and what the proofs build on."""

import numpy as np
import pytest
from conftest import stream
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kpegasos import linear_rows, make_problem, pegasos, sdca, theory
from kpegasos.reference import index_stream, linear_iterates

seeds = st.integers(0, 2**31 - 1)
few = settings(max_examples=12)


class Bench:
    """A small linear problem, its optimum, and runs of it seen at every step."""

    def __init__(self, X, y, lam):
        self.X, self.y, self.lam = np.asarray(X, float), np.asarray(y, float), lam
        self.problem, self.rows = make_problem(self.y, lam), linear_rows(self.X)
        self.radius = theory.data_radius(self.X)
        best = sdca(self.problem, self.rows, tol=1e-9, max_epochs=2000, random_state=0)
        self.optimum, self.w_star = best.dual_bound, best.w  # no more than f*
        # f is lam-strongly convex.
        self.distance = np.sqrt(2 * max(0, best.gap) / lam)  # of w_star from the optimum, at most

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

    def value(self, w, batch=slice(None)):
        return self.objective(self.X @ w, w @ w, batch)

    def values(self, w):
        """f(w; z) of each example z."""
        return np.array([self.value(w, [i]) for i in range(len(self.y))])

    def iterates(self, n_steps, seed, **options):
        """Draws, and w_2 … of the package's reference on them."""
        draws = index_stream(len(self.y), n_steps, "uniform", seed)
        steps = linear_iterates(self.X, self.y, self.lam, draws, **options)
        return draws, [step.last for step in steps]

    def in_the_ball(self, seed, count=1):
        """Vectors of norms up to 1/√λ."""
        rng = np.random.default_rng(seed)
        vectors = rng.normal(size=(count, self.X.shape[1]))
        lengths = rng.uniform(size=(count, 1)) / np.sqrt(self.lam)
        return vectors * lengths / np.linalg.norm(vectors, axis=1, keepdims=True)


@st.composite
def benches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples = draw(st.integers(2, 12))
    X = rng.normal(size=(n_samples, 2)) * draw(st.sampled_from([0.3, 1.0, 5.0]))
    y = rng.choice([-1, 1], size=n_samples)
    return Bench(X, y, draw(st.sampled_from([0.01, 0.1, 1.0, 20.0])))


# --- bounds ---


def regrets_of_steps(bench, n_steps, batch_size, sampling, projection, seed, rivals):
    """``f(w_t; A_t) − f(u; A_t)`` of each step for each rival u."""
    options = {"batch_size": batch_size, "sampling": sampling, "random_state": seed}
    seen = bench.run(n_steps, projection=projection, average=None, **options)
    draws = stream(len(bench.y), n_steps * batch_size, sampling=sampling, random_state=seed)
    batches = draws.reshape(n_steps, batch_size)
    iterates = [(np.zeros(len(bench.y)), 0.0)]
    iterates += [(last.margins, last.squared_norm) for last, _ in seen[:-1]]
    own = np.array([bench.objective(*w, a) for w, a in zip(iterates, batches, strict=True)])
    return [own - [bench.value(u, batch) for batch in batches] for u in rivals]


@few
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
    largest = theory.subgradient_norm_bound(bench.lam, bench.radius, projection=projection)
    assert regret <= theory.regret_bound(n_steps, bench.lam, largest) * (1 + 1e-9)
    if projection:
        bound = theory.convergence_bound(n_steps, bench.lam, bench.radius)
        assert regret <= bound * (1 + 1e-9)


@few
@given(benches(), seeds)
def test_regret_is_bounded_from_any_start_in_the_ball(bench, seed):
    """Lemma 1 asks for w_1 in the ball, not for w_1 = 0."""
    (start,) = bench.in_the_ball(seed)
    draws, after = bench.iterates(30, seed, projection=True, start=start)
    iterates = [start, *after][:-1]
    own = np.mean([bench.value(w, [i]) for w, i in zip(iterates, draws, strict=True)])
    largest = theory.subgradient_norm_bound(bench.lam, bench.radius, projection=True)
    bound = theory.regret_bound(30, bench.lam, largest)
    for u in bench.in_the_ball(seed + 1, 4):
        assert own - bench.values(u)[draws].mean() <= bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("average", "bound", "first"),
    [
        ("uniform", theory.average_iterate_bound, 3),
        ("suffix", theory.suffix_average_bound, 2),
        ("weighted", theory.weighted_average_bound, 1),
    ],
)
@few
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
            assert np.all(excess <= theory.convergence_bound(*where) * (1 + 1e-9))


# --- what the proofs build on ---


@few
@given(benches(), st.booleans(), seeds)
def test_optimum_is_in_the_ball(bench, weighted, seed):
    w, distance = bench.w_star, bench.distance
    if weighted:
        weight = np.random.default_rng(seed).exponential(size=len(bench.y)) + 1e-3
        problem = make_problem(bench.y, bench.lam, weight)
        best = sdca(problem, bench.rows, tol=1e-9, max_epochs=2000, random_state=0)
        w, distance = best.w, np.sqrt(2 * max(0, best.gap) / bench.lam)
    bound = theory.optimum_norm_bound(bench.lam, bench.radius)
    assert np.linalg.norm(w) <= bound * (1 + 1e-9) + distance


@few
@given(benches(), st.booleans(), seeds)
def test_iterates_stay_within_the_constants_of_the_proofs(bench, projection, seed):
    """Norm of subgradients; f of each example; and Zhou, Lemma 3.1, over all examples."""
    assume(bench.distance < 1e-3 / np.sqrt(bench.lam))
    where = (bench.lam, bench.radius)
    norm = theory.subgradient_norm_bound(*where, projection=projection)
    seen = bench.run(40, projection=projection, average=None, random_state=seed)
    longest = np.sqrt(max(last.squared_norm for last, _ in seen))
    assert bench.lam * longest + bench.radius <= norm * (1 + 1e-9)
    largest = theory.objective_bound(*where, projection=projection) * (1 + 1e-6)
    optimum = bench.values(bench.w_star)
    assert optimum.max() <= largest
    # The variance is about w_star, not about the optimum itself.
    rounding = norm * bench.distance
    for w in bench.iterates(40, seed, projection=projection)[1]:
        losses = bench.values(w)
        assert losses.max() <= largest
        excess = max(0, bench.value(w) - bench.optimum)
        bound = np.sqrt(theory.variance_bound(excess, bench.lam, norm))
        assert np.std(losses - optimum) <= bound * (1 + 1e-9) + 2 * rounding
