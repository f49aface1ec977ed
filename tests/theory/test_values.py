"""Bounds have the values and the limits of the papers, and can be turned round."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from kpegasos import make_rows, theory

#: Bounds by their arguments: T, λ, R; and with δ.
PLAIN = ["convergence", "average_iterate", "weighted_average", "suffix_average"]
WITH_DELTA = ["random_iterate", "best_of_runs", "generalization", "mean_excess"]
WITH_DELTA += ["median_excess", "high_probability", "random_stop"]
BOUNDS = [*PLAIN, *WITH_DELTA]
FIRST = {"weighted_average": 1, "suffix_average": 2}


def applied(name, n_steps, lam, radius, delta=0.1):
    """A bound, whether or not it has δ."""
    bound = getattr(theory, f"{name}_bound")
    return bound(n_steps, lam, radius, *(() if name in PLAIN else (delta,)))


# Values

#: lam T = 4, and c = 4.84 with the projection and 16 without.
USUAL = (100, 0.04, 2.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (theory.subgradient_norm_bound(0.04, 2.0), 4.0),
        (theory.subgradient_norm_bound(0.04, 2.0, projection=True), 2.2),
        (theory.optimum_norm_bound(0.04, 3.0), 5.0),
        (theory.optimum_norm_bound(4.0, 1.0), 0.25),
        (theory.objective_bound(0.5, 2.0), 13.0),  # 3 · 4 / (2 · 0.5) + 1
        (theory.objective_bound(0.25, 2.0, projection=True), 5.5),  # 2 / 0.5 + 3/2
        (theory.regret_bound(1, 0.25, 3.0), 18.0),
        (theory.regret_bound(100, 0.04, 4.0), 11.2103404),  # 2 (1 + ln 100)
        (theory.convergence_bound(*USUAL), 5.5722559),  # 1.21 ln 100
        (theory.random_iterate_bound(*USUAL, 0.1), 55.722559),
        (theory.best_of_runs_bound(*USUAL, 0.1), 45.4408861),  # 1.21 ln 100 · 3 e
        (theory.average_iterate_bound(*USUAL), 11.2103404),
        (theory.average_iterate_bound(*USUAL, projection=True), 3.3911280),
        (theory.weighted_average_bound(7, 0.25, 2.0), 16.0),  # 2 · 16 / 2
        (theory.weighted_average_bound(7, 0.25, 2.0, projection=True), 6.25),
        # 16 (1 + ln 2) / (2 · 0.25 · 4)
        (theory.suffix_average_bound(8, 0.25, 2.0), 8 * (1 + np.log(2))),
        (theory.suffix_average_bound(6, 0.25, 2.0), 8 * (1 + np.log(3))),  # the last 4 of 6
        (theory.variance_bound(0.5, 0.1, 2.0), 40.0),
        (theory.freedman_bound(10.0, 0.5, np.exp(-4)), 40.0),  # 2 · 10 · 2
        (theory.freedman_bound(1.0, 0.5, np.exp(-4)), 6.0),  # 3 · 0.5 · 2 · 2
        # λ T = 4, G = 4, ln(1/δ) = 4: 1 + 2 √(2 · 16 · 4 / 4) + 8 · 16 · 4 / 4
        (theory.measured_regret_bound(1.0, 100, 0.04, 2.0, np.exp(-4)), 129 + 2 * np.sqrt(32)),
        (theory.measured_regret_bound(-1.0, 100, 0.04, 2.0, np.exp(-4)), 128.0),
        # 6 B = 9 · 4 / 20 + 6 outweighs 8 · 16 / 20
        (theory.measured_regret_bound(0.0, 4, 20.0, 2.0, np.exp(-4)), 7.8),
        # G = 2.2, B = 11.5: 8 · 4.84 / 0.04 = 968
        (theory.measured_regret_bound(0.0, 4, 0.04, 2.0, np.exp(-4), projection=True), 968.0),
        # 2 · 5.60517 + 8 √(5.60517 · 4.60517) + 32 · 4.60517
        (theory.generalization_bound(*USUAL, 0.01), 199.2207960),
        # T = e³, lam = 20: 9 R² + 6 lam = 156 is the maximum. (8 · 4 + 32 · 4 + 156 · 4) / (20 e³)
        (theory.generalization_bound(np.exp(3), 20.0, 2.0, np.exp(-4)), 39.2 / np.exp(3)),
        (theory.mean_excess_bound(*USUAL, 0.04 * np.log(100)), 199.2207960),
        # 2 (1 − 1/4) / (1 − 2/4) = 3
        (theory.median_excess_bound(*USUAL, 0.25), 3 * theory.mean_excess_bound(*USUAL, 0.25)),
        (theory.high_probability_bound(*USUAL, 100 * np.exp(-10)), 600.0),  # 15 · 16 · 10 / 4
        (theory.high_probability_bound(*USUAL, 100 * np.exp(-10), projection=True), 181.5),
        (theory.random_stop_bound(*USUAL, 0.25), 3 * theory.high_probability_bound(*USUAL, 0.25)),
    ],
)
def test_bounds_have_the_values_found_by_hand(value, expected):
    assert_allclose(value, expected, rtol=1e-7)


def test_n_runs_is_rounded_up():
    assert_array_equal(theory.n_runs([0.9, 0.37, 0.36, 0.05, 0.04, 1e-3]), [1, 1, 2, 3, 4, 7])


def test_bounds_are_broadcast():
    n_steps, lam = np.array([[20], [300]]), np.array([0.01, 0.1, 3.0])
    for bound in BOUNDS:
        values = applied(bound, n_steps, lam, 2.0)
        assert values.shape == (2, 3)
        assert_array_equal(values, [[applied(bound, t, c, 2.0) for c in lam] for t in (20, 300)])
        assert np.ndim(applied(bound, 20, 0.1, 2.0)) == 0


# Limits


@pytest.mark.parametrize("bound", BOUNDS)
def test_bounds_begin_at_the_step_of_their_theorem(bound):
    first = FIRST.get(bound, 3)
    with pytest.raises(ValueError, match=rf"n_steps.* must be (at least|a number from) {first}"):
        applied(bound, first - 1, 0.5, 1.0, 0.37 if bound == "best_of_runs" else 0.3)
    begins = 9 if bound == "best_of_runs" else first
    assert applied(bound, begins, 0.5, 1.0) > 0


# The radius


def test_radius_is_the_largest_norm():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert_allclose(theory.data_radius(X), np.linalg.norm(X, axis=1).max())
    poly = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
    assert_allclose(theory.data_radius(X, "poly", **poly), (0.5 * (X**2).sum(axis=1).max() + 1))
    assert theory.data_radius(X, "rbf", gamma=3.0) == 1.0
    assert_allclose(theory.data_radius(X, "rbf", intercept_scaling=2.0), np.sqrt(5))
    gram = make_rows(X, "poly", cache="precomputed", intercept_scaling=2.0, **poly)
    norms = gram.product(np.eye(30)).diagonal()
    assert_allclose(theory.data_radius(X, "poly", intercept_scaling=2.0, **poly) ** 2, norms.max())


# --- lemmas 3.1 and 3.2 and Theorem 3.3 of Zhou's report, and what follows from them --------------

steps = st.integers(3, 10**9)
small = st.floats(1e-6, 0.36)  # below 1/e


def test_sums_of_independent_differences_rarely_exceed_the_lemma():
    """Exactly: each is 1 − p with probability p, or else −p."""
    for n_steps, p, delta in product(
        [3, 10, 100, 2000], [0.5, 0.1, 0.01], [0.36, 0.05, 1e-3, 1e-6]
    ):
        deviation, largest = np.sqrt(n_steps * p * (1 - p)), max(p, 1 - p)
        bound = theory.freedman_bound(deviation, largest, delta)
        above = binom.sf(np.floor(bound + n_steps * p + 1e-9), n_steps, p)
        assert above <= 4 * np.log(n_steps) * delta, (n_steps, p, delta)


@given(steps, st.floats(1e-6, 1), st.floats(0.01, 100), st.floats(1e-9, 1, exclude_max=True))
def test_one_term_covers_the_theorem_it_is_derived_from(n_steps, share, radius, delta):
    lam = share * radius**2
    where, one = (n_steps, lam, radius), theory.high_probability_bound
    assert theory.mean_excess_bound(*where, delta) <= one(*where, delta)
    norm = theory.subgradient_norm_bound(lam, radius, projection=True)
    regret, part = theory.regret_bound(n_steps, lam, norm), delta / (4 * np.log(n_steps))
    whole = theory.measured_regret_bound(regret, *where, part, projection=True)
    assert whole <= one(*where, delta, projection=True)
