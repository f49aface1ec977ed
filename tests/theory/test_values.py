"""The bounds of the papers have the values, the shapes and the limits of the papers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import make_rows
from kpegasos.theory import (
    alpha_suffix_bound,
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    data_radius,
    freedman_bound,
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    median_excess_bound,
    n_runs,
    objective_bound,
    optimum_norm_bound,
    random_iterate_bound,
    random_stop_bound,
    regret_bound,
    subgradient_norm_bound,
    suffix_average_bound,
    variance_bound,
    weighted_average_bound,
)

#: Bounds by their arguments: T, λ, R; and with the share of a suffix, with δ, with regret and δ.
PLAIN = [convergence_bound, average_iterate_bound, weighted_average_bound, suffix_average_bound]
ONE_TERM = [high_probability_bound, random_stop_bound]
WITH_DELTA = [
    *(random_iterate_bound, best_of_runs_bound, generalization_bound, mean_excess_bound),
    *(median_excess_bound, *ONE_TERM),
]
PROJECTED = [*PLAIN[1:], *ONE_TERM, alpha_suffix_bound, measured_regret_bound]
FIRST = {weighted_average_bound: 1, suffix_average_bound: 2}


def applied(bound, n_steps, lam, radius, delta=0.1, **options):
    """A bound, whatever its arguments beside T, λ and R are."""
    if bound is measured_regret_bound:
        return bound(0.5, n_steps, lam, radius, delta, **options)
    others = () if bound in (regret_bound, *PLAIN) else (delta,)
    return bound(n_steps, lam, radius, *others, **options)


# Values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (subgradient_norm_bound(0.04, 2.0), 4.0),
        (subgradient_norm_bound(0.04, 2.0, projection=True), 2.2),
        (optimum_norm_bound(0.04, 3.0), 5.0),
        (optimum_norm_bound(4.0, 1.0), 0.25),
        (objective_bound(0.5, 2.0), 13.0),  # 3 · 4 / (2 · 0.5) + 1
        (objective_bound(0.25, 2.0, projection=True), 5.5),  # 2 / 0.5 + 3/2
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
        (suffix_average_bound(8, 0.25, 2.0), 8 * (1 + np.log(2))),  # 16 (1 + ln 2) / (2 · 0.25 · 4)
        (suffix_average_bound(6, 0.25, 2.0), 8 * (1 + np.log(3))),  # the last 4 of 6
        (alpha_suffix_bound(10, 0.1, 1.0, 0.5), 8 * (2 + 2.5 * np.log(2))),
        (variance_bound(0.5, 0.1, 2.0), 40.0),
        (freedman_bound(10.0, 0.5, np.exp(-4)), 40.0),  # 2 · 10 · 2
        (freedman_bound(1.0, 0.5, np.exp(-4)), 6.0),  # 3 · 0.5 · 2 · 2
        # λ T = 4, G = 4, ln(1/δ) = 4: 1 + 2 √(2 · 16 · 4 / 4) + 8 · 16 · 4 / 4
        (measured_regret_bound(1.0, 100, 0.04, 2.0, np.exp(-4)), 129 + 2 * np.sqrt(32)),
        (measured_regret_bound(-1.0, 100, 0.04, 2.0, np.exp(-4)), 128.0),
        # 6 B = 9 · 4 / 20 + 6 outweighs 8 · 16 / 20
        (measured_regret_bound(0.0, 4, 20.0, 2.0, np.exp(-4)), 7.8),
        # G = 2.2, B = 11.5: 8 · 4.84 / 0.04 = 968
        (measured_regret_bound(0.0, 4, 0.04, 2.0, np.exp(-4), projection=True), 968.0),
        # 2 · 5.60517 + 8 √(5.60517 · 4.60517) + 32 · 4.60517
        (generalization_bound(100, 0.04, 2.0, 0.01), 199.2207960),
        # T = e³, lam = 20: 9 R² + 6 lam = 156 is the maximum. (8 · 4 + 32 · 4 + 156 · 4) / (20 e³)
        (generalization_bound(np.exp(3), 20.0, 2.0, np.exp(-4)), 39.2 / np.exp(3)),
        (mean_excess_bound(100, 0.04, 2.0, 0.04 * np.log(100)), 199.2207960),
        # 2 (1 − 1/4) / (1 − 2/4) = 3
        (median_excess_bound(99, 0.1, 2.0, 0.25), 3 * mean_excess_bound(99, 0.1, 2.0, 0.25)),
        (high_probability_bound(100, 0.04, 2.0, 100 * np.exp(-10)), 600.0),  # 15 · 16 · 10 / 4
        (high_probability_bound(100, 0.04, 2.0, 100 * np.exp(-10), projection=True), 181.5),
        (random_stop_bound(100, 0.04, 2.0, 0.25), 3 * high_probability_bound(100, 0.04, 2.0, 0.25)),
    ],
)
def test_bounds_have_the_values_found_by_hand(value, expected):
    assert_allclose(value, expected, rtol=1e-7)


def test_n_runs_is_rounded_up():
    assert_array_equal(n_runs([0.9, 0.37, 0.36, 0.05, 0.04, 1e-3]), [1, 1, 2, 3, 4, 7])


@pytest.mark.parametrize("bound", [*PLAIN, *WITH_DELTA])
def test_bounds_are_broadcast(bound):
    n_steps, lam = np.array([[20], [300]]), np.array([0.01, 0.1, 3.0])
    values = applied(bound, n_steps, lam, 2.0)
    assert values.shape == (2, 3)
    assert_array_equal(values, [[applied(bound, t, c, 2.0) for c in lam] for t in (20, 300)])
    assert np.ndim(applied(bound, 20, 0.1, 2.0)) == 0


positive = st.floats(0.01, 100)
steps = st.integers(40, 10**9)  # for the 12 runs of delta = 1e-5 too


@given(steps, st.floats(1e-6, 100), positive, st.floats(1.01, 10))
def test_bounds_fall_with_steps_and_lam_and_grow_with_radius(n_steps, share, radius, factor):
    for bound in (regret_bound, *PLAIN, *WITH_DELTA, alpha_suffix_bound, measured_regret_bound):
        lam = (min(share, 0.09) if bound in ONE_TERM else share) * radius**2
        for options in [{}, {"projection": True}][: 1 + (bound in PROJECTED)]:
            value = applied(bound, n_steps, lam, radius, **options)
            more = 2 if bound is suffix_average_bound else factor  # it halves; between it rises
            assert applied(bound, more * n_steps, lam, radius, **options) < value
            assert applied(bound, n_steps, factor * lam, radius, **options) < value
            assert applied(bound, n_steps, lam, factor * radius, **options) > value


# Errors


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_steps", 0, r"n_steps must be at least [123] and finite, got 0 instead"),
        ("n_steps", [20, -3], "and finite, got -3 instead"),
        ("n_steps", np.nan, "and finite, got nan instead"),
        ("n_steps", np.inf, "and finite, got inf instead"),
        ("lam", 0.0, "lam must be a positive finite number, got 0 instead"),
        ("lam", [1.0, -2.0], "lam must be a positive finite number, got -2 instead"),
        ("radius", np.inf, "radius must be a positive finite number, got inf instead"),
        ("delta", 0.0, "delta must be above 0 and below 1(/e|/2|), got 0 instead"),
        ("delta", [0.1, 1.0], "delta must be above 0 and below 1(/e|/2|), got 1 instead"),
    ],
)
def test_bounds_errors_name_parameter_and_value(parameter, value, message):
    arguments = {"n_steps": 20, "lam": 0.1, "radius": 1.0, parameter: value}
    for bound in WITH_DELTA if parameter == "delta" else [*PLAIN, *WITH_DELTA]:
        with pytest.raises(ValueError, match=message):
            applied(bound, **arguments)


@pytest.mark.parametrize("bound", [*PLAIN, *WITH_DELTA])
def test_bounds_begin_at_the_step_of_their_theorem(bound):
    first = FIRST.get(bound, 3)
    with pytest.raises(ValueError, match=rf"n_steps.* must be at least {first}"):
        applied(bound, first - 1, 0.5, 1.0, 0.37 if bound is best_of_runs_bound else 0.3)
    assert applied(bound, 9, 0.5, 1.0) > 0
    if bound is not best_of_runs_bound:
        assert applied(bound, first, 0.5, 1.0) > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: regret_bound(10, 1, 0), "gradient_norm must be a positive finite number, got 0"),
        (lambda: variance_bound(-1, 1, 1), "excess must be 0 or a positive finite number, got -1"),
        (lambda: variance_bound(1, 1, 0), "gradient_norm must be a positive finite number, got 0"),
        (lambda: freedman_bound(np.nan, 1, 0.1), "deviation must be 0 or a positive .*, got nan"),
        (lambda: freedman_bound(1, 0, 0.1), "largest must be a positive finite number, got 0"),
        (lambda: freedman_bound(1, 1, 0.37), "delta must be above 0 and below 1/e, got 0.37"),
        (lambda: generalization_bound(9, 1, 1, 0.37), "above 0 and below 1/e, got 0.37"),
        (lambda: measured_regret_bound(np.inf, 9, 1, 1, 0.1), "regret must be finite, got inf"),
        (lambda: measured_regret_bound(1, 2, 1, 1, 0.1), "n_steps must be at least 3 .*, got 2"),
        (lambda: alpha_suffix_bound(9, 1, 1, 1), "share must be above 0 and below 1, got 1"),
        (lambda: random_stop_bound(9, 1, 1, 0.5), "delta must be above 0 and below 1/2, got 0.5"),
        (lambda: median_excess_bound(9, 1, 1, 0.5), "delta must be above 0 and below 1/2, got 0.5"),
        (lambda: optimum_norm_bound([1, 1], [1, 1, 1]), r"lam, radius must .*, got \(2,\), \(3,\)"),
        (lambda: optimum_norm_bound(0, 1), "lam must be a positive finite number, got 0"),
        (lambda: objective_bound(1, -1), "radius must be a positive finite number, got -1"),
        # s = 3 runs of less than three steps
        (lambda: best_of_runs_bound(8, 1, 1, 0.1), r"n_runs\(delta\) must be at least 3, got 2.66"),
        (lambda: high_probability_bound(10, [1.0, 1.21], 1, 0.1), "must be 1 at most, got 1.21"),
        (lambda: random_stop_bound(10, 1.21, 1, 0.1), r"lam / radius\*\*2 must be 1 at most"),
        (lambda: data_radius(np.ones((2, 2)), "sigmoid"), "positive semi-definite, got Sigmoid"),
    ],
)
def test_limits_of_single_bounds(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
