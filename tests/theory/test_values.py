"""The bounds of the papers have the values, the shapes and the limits of the papers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import make_rows
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
def test_bounds_have_the_values_found_by_hand(value, expected):
    assert_allclose(value, expected, rtol=1e-7)


def test_n_runs_is_rounded_up():
    assert_array_equal(n_runs([0.9, 0.37, 0.36, 0.05, 0.04, 1e-3]), [1, 1, 2, 3, 4, 7])


def test_best_of_runs_covers_whole_runs():
    """Runs of ⌊T/s⌋ steps, each within Theorem 3 for delta = 1/e, are within the printed bound."""
    n_steps = np.arange(9, 3000)
    for delta in (0.3, 0.1, 0.02, 1e-6):
        runs = n_runs(delta)
        usable = n_steps[n_steps >= 3 * runs]
        single = random_iterate_bound(usable // runs, 0.1, 1.0, np.exp(-1))
        assert np.all(single <= best_of_runs_bound(usable, 0.1, 1.0, delta))


@pytest.mark.parametrize("bound", [*BOUNDS, *WITH_DELTA])
def test_bounds_are_broadcast(bound):
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
def test_bounds_fall_with_steps_and_lam_and_grow_with_radius(n_steps, lam, radius, factor):
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
def test_bounds_grow_as_doubt_falls(n_steps, lam, radius, delta, factor):
    for bound in (random_iterate_bound, generalization_bound, mean_excess_bound):
        assert bound(n_steps, lam, radius, factor * delta) > bound(n_steps, lam, radius, delta)
    surer, usual = (best_of_runs_bound(n_steps, lam, radius, d) for d in (factor * delta, delta))
    assert surer >= usual  # two probabilities may have the same number of runs


@given(steps, positive, positive, st.floats(1e-6, 0.999))
def test_bounds_of_corollaries_follow_from_the_theorems(n_steps, lam, radius, delta):
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
def test_bounds_errors_name_parameter_and_value(parameter, value, message):
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
def test_bounds_of_theorems_begin_at_three_steps(bound):
    others = (0.5, 1.0, 0.3) if bound in WITH_DELTA else (0.5, 1.0)
    with pytest.raises(ValueError, match=r"n_steps.* must be at least 3"):
        bound(2, *others)
    if bound is not best_of_runs_bound:
        assert bound(3, *others) > 0


def test_bounds_have_limits_of_their_own():
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
