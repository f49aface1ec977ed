"""Lemmas 3.1 and 3.2 and Theorem 3.3 of Zhou's report, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from kpegasos.core.averaging import suffix_start
from kpegasos.theory import (
    freedman_bound,
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    objective_bound,
    regret_bound,
    subgradient_norm_bound,
    suffix_average_bound,
    variance_bound,
)

positive = st.floats(0.01, 100)
steps = st.integers(3, 10**9)
small = st.floats(1e-6, 0.36)  # below 1/e


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


# The suffix average


@given(st.integers(2, 10**15))
def test_suffix_bound_begins_where_the_average_does(n_steps):
    start = suffix_start(n_steps)
    expected = 2 * (1 + np.log(n_steps / start)) / (n_steps - start)
    assert_allclose(suffix_average_bound(n_steps, 1.0, 1.0), expected, rtol=1e-12)
