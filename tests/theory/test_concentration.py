"""Lemmas 3.1 and 3.2 and Theorem 3.3 of Zhou's report, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from kpegasos.core.averaging import suffix_start
from kpegasos.theory import (
    alpha_suffix_bound,
    freedman_bound,
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    objective_bound,
    optimum_norm_bound,
    random_stop_bound,
    regret_bound,
    subgradient_norm_bound,
    suffix_average_bound,
    variance_bound,
)

positive = st.floats(0.01, 100)
steps = st.integers(3, 10**9)
small = st.floats(1e-6, 0.36)  # below 1/e


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (optimum_norm_bound(0.04, 3.0), 5.0),
        (optimum_norm_bound(4.0, 1.0), 0.25),
        (objective_bound(0.5, 2.0), 13.0),  # 3 · 4 / (2 · 0.5) + 1
        (objective_bound(0.25, 2.0, projection=True), 5.5),  # 2 / 0.5 + 3/2
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
        (high_probability_bound(100, 0.04, 2.0, 100 * np.exp(-10)), 600.0),  # 15 · 16 · 10 / 4
        (high_probability_bound(100, 0.04, 2.0, 100 * np.exp(-10), projection=True), 181.5),
        (random_stop_bound(100, 0.04, 2.0, 0.25), 3 * high_probability_bound(100, 0.04, 2.0, 0.25)),
        (suffix_average_bound(8, 0.25, 2.0), 8 * (1 + np.log(2))),  # 16 (1 + ln 2) / (2 · 0.25 · 4)
        (suffix_average_bound(6, 0.25, 2.0), 8 * (1 + np.log(3))),  # the last 4 of 6
        (alpha_suffix_bound(10, 0.1, 1.0, 0.5), 8 * (2 + 2.5 * np.log(2))),
    ],
)
def test_bounds_have_the_values_found_by_hand(value, expected):
    assert_allclose(value, expected, rtol=1e-12)


# From the lemmas to the theorem


@pytest.mark.parametrize("n_steps", [3, 10, 100, 2000])
@pytest.mark.parametrize("p", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("delta", [0.36, 0.05, 1e-3, 1e-6])
def test_sums_of_independent_differences_rarely_exceed_the_lemma(n_steps, p, delta):
    """Exactly: each is 1 − p with probability p, or else −p."""
    deviation, largest = np.sqrt(n_steps * p * (1 - p)), max(p, 1 - p)
    bound = freedman_bound(deviation, largest, delta)
    above = binom.sf(np.floor(bound + n_steps * p + 1e-9), n_steps, p)
    assert above <= 4 * np.log(n_steps) * delta


def test_lemma_without_its_factor_would_be_false():
    """The maximum as it is printed, without √ln(1/δ) behind it, is exceeded far too often."""
    delta, n_steps = 1e-6, 2000
    printed = freedman_bound(np.sqrt(n_steps), 1.0, delta) / np.sqrt(-np.log(delta))
    above = binom.sf(np.floor((n_steps + printed) / 2), n_steps, 0.5)  # sums of ±1
    assert above > 4 * np.log(n_steps) * delta


@given(st.floats(0, 10), steps, positive, positive, small, st.booleans())
def test_more_excess_than_the_theorem_contradicts_the_lemmas(
    regret, n_steps, lam, radius, delta, projection
):
    """Above the bound, D less the regret exceeds what Lemma 3.2 leaves to chance."""
    where = (lam, radius)
    bound = measured_regret_bound(regret, n_steps, *where, delta, projection=projection)
    excess = n_steps * bound * (1 + 1e-9)
    norm = subgradient_norm_bound(*where, projection=projection)
    deviation = np.sqrt(variance_bound(excess, lam, norm))
    largest = 2 * objective_bound(*where, projection=projection)
    assert excess - n_steps * regret > freedman_bound(deviation, largest, delta) * (1 - 1e-9)


@given(steps, positive, positive, small)
def test_printed_theorem_is_the_measured_one_at_the_bound_of_the_regret(
    n_steps, lam, radius, delta
):
    """Zhou, Theorem 3.6 from Theorem 3.3."""
    regret = regret_bound(n_steps, lam, 2 * radius)
    assert_allclose(
        generalization_bound(n_steps, lam, radius, delta),
        measured_regret_bound(regret, n_steps, lam, radius, delta),
        rtol=1e-12,
    )


@given(st.floats(0, 10), steps, positive, positive, small, st.floats(1.01, 10))
def test_measured_regret_bound_is_monotone(regret, n_steps, lam, radius, delta, factor):
    value = measured_regret_bound(regret, n_steps, lam, radius, delta)
    assert measured_regret_bound(regret + factor, n_steps, lam, radius, delta) > value
    assert measured_regret_bound(regret, factor * n_steps, lam, radius, delta) < value
    assert measured_regret_bound(regret, n_steps, lam, factor * radius, delta) > value
    assert measured_regret_bound(regret, n_steps, lam, radius, delta / factor) > value
    assert value > regret


# One term


@given(steps, st.floats(1e-6, 1), st.floats(0.01, 100), st.floats(1e-9, 1, exclude_max=True))
def test_one_term_covers_the_theorem_it_is_derived_from(n_steps, share, radius, delta):
    lam = share * radius**2
    assert mean_excess_bound(n_steps, lam, radius, delta) <= high_probability_bound(
        n_steps, lam, radius, delta
    )
    norm = subgradient_norm_bound(lam, radius, projection=True)
    whole = measured_regret_bound(
        regret_bound(n_steps, lam, norm),
        n_steps,
        lam,
        radius,
        delta / (4 * np.log(n_steps)),
        projection=True,
    )
    assert whole <= high_probability_bound(n_steps, lam, radius, delta, projection=True)


def test_one_term_asks_for_a_small_lam():
    message = r"lam / radius\*\*2 must be 1 at most, got 1\.21 instead"
    for bound in (high_probability_bound, random_stop_bound):
        assert bound(10, 4.0, 2.0, 0.1) > 0
        with pytest.raises(ValueError, match=message):
            bound(10, [1.0, 1.21], 1.0, 0.1)


@given(steps, st.floats(1e-6, 0.09), positive, st.floats(1e-9, 0.4), st.floats(1.01, 10))
def test_one_term_is_monotone(n_steps, share, radius, delta, factor):
    lam = share * radius**2  # ten times as much is less than R² still
    for bound in (high_probability_bound, random_stop_bound):
        for projection in (False, True):
            value = bound(n_steps, lam, radius, delta, projection=projection)
            assert bound(factor * n_steps, lam, radius, delta, projection=projection) < value
            assert bound(n_steps, factor * lam, radius, delta, projection=projection) < value
            assert bound(n_steps, lam, factor * radius, delta, projection=projection) > value
    surer = high_probability_bound(n_steps, lam, radius, delta / factor)
    assert surer > high_probability_bound(n_steps, lam, radius, delta)


@given(st.integers(2, 10**9), positive, positive, st.floats(1.01, 10), st.booleans())
def test_constants_and_suffix_bounds_are_monotone(n_steps, lam, radius, factor, projection):
    options = {"projection": projection}
    for bound in (
        lambda lam, radius: suffix_average_bound(n_steps, lam, radius, **options),
        lambda lam, radius: alpha_suffix_bound(n_steps, lam, radius, 0.3, **options),
        lambda lam, radius: objective_bound(lam, radius, **options),
    ):
        value = bound(lam, radius)
        assert bound(factor * lam, radius) < value < bound(lam, factor * radius)
    value = optimum_norm_bound(lam, radius)
    assert optimum_norm_bound(factor * lam, radius) < value
    assert optimum_norm_bound(lam, factor * radius) >= value
    doubled = suffix_average_bound(2 * n_steps, lam, radius, **options)
    assert_allclose(doubled, suffix_average_bound(n_steps, lam, radius, **options) / 2)


# The suffix average


@given(st.integers(2, 10**15))
def test_suffix_bound_begins_where_the_average_does(n_steps):
    start = suffix_start(n_steps)
    expected = 2 * (1 + np.log(n_steps / start)) / (n_steps - start)
    assert_allclose(suffix_average_bound(n_steps, 1.0, 1.0), expected, rtol=1e-12)


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variance_bound(-1, 1, 1), "excess must be 0 or a positive finite number, got -1"),
        (lambda: variance_bound(1, 1, 0), "gradient_norm must be a positive finite number, got 0"),
        (lambda: freedman_bound(np.nan, 1, 0.1), "deviation must be 0 or a positive .*, got nan"),
        (lambda: freedman_bound(1, 0, 0.1), "largest must be a positive finite number, got 0"),
        (lambda: freedman_bound(1, 1, 0.37), "delta must be above 0 and below 1/e, got 0.37"),
        (lambda: measured_regret_bound(np.inf, 9, 1, 1, 0.1), "regret must be finite, got inf"),
        (lambda: measured_regret_bound(1, 2, 1, 1, 0.1), "n_steps must be at least 3 .*, got 2"),
        (lambda: suffix_average_bound(1, 1, 1), "n_steps must be at least 2 .*, got 1"),
        (lambda: alpha_suffix_bound(9, 1, 1, 1), "share must be above 0 and below 1, got 1"),
        (lambda: random_stop_bound(9, 1, 1, 0.5), "delta must be above 0 and below 1/2, got 0.5"),
        (lambda: optimum_norm_bound(0, 1), "lam must be a positive finite number, got 0"),
        (lambda: objective_bound(1, -1), "radius must be a positive finite number, got -1"),
    ],
)
def test_errors_name_parameter_and_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
