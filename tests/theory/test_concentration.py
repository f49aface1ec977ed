"""Lemmas 3.1 and 3.2 and Theorem 3.3 of Zhou's report, and what follows from them."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from kpegasos import theory
from kpegasos.core.averaging import suffix_start

positive = st.floats(0.01, 100)
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


def test_lemma_without_its_factor_would_be_false():
    """The maximum as it is printed, without √ln(1/δ) behind it, is exceeded far too often."""
    delta, n_steps = 1e-6, 2000
    printed = theory.freedman_bound(np.sqrt(n_steps), 1.0, delta) / np.sqrt(-np.log(delta))
    above = binom.sf(np.floor((n_steps + printed) / 2), n_steps, 0.5)  # sums of ±1
    assert above > 4 * np.log(n_steps) * delta


@given(st.floats(0, 10), steps, positive, positive, small, st.booleans())
def test_more_excess_than_the_theorem_contradicts_the_lemmas(
    regret, n_steps, lam, radius, delta, projection
):
    """Above the bound, D less the regret exceeds what Lemma 3.2 leaves to chance."""
    where = (lam, radius)
    bound = theory.measured_regret_bound(regret, n_steps, *where, delta, projection=projection)
    excess = n_steps * bound * (1 + 1e-9)
    norm = theory.subgradient_norm_bound(*where, projection=projection)
    deviation = np.sqrt(theory.variance_bound(excess, lam, norm))
    largest = 2 * theory.objective_bound(*where, projection=projection)
    chance = theory.freedman_bound(deviation, largest, delta)
    assert excess - n_steps * regret > chance * (1 - 1e-9)


@given(steps, positive, positive, small)
def test_printed_theorem_is_the_measured_one_at_the_bound_of_the_regret(
    n_steps, lam, radius, delta
):
    """Zhou, Theorem 3.6 from Theorem 3.3."""
    regret = theory.regret_bound(n_steps, lam, 2 * radius)
    printed = theory.generalization_bound(n_steps, lam, radius, delta)
    measured = theory.measured_regret_bound(regret, n_steps, lam, radius, delta)
    assert_allclose(printed, measured, rtol=1e-12)


@given(steps, st.floats(1e-6, 1), st.floats(0.01, 100), st.floats(1e-9, 1, exclude_max=True))
def test_one_term_covers_the_theorem_it_is_derived_from(n_steps, share, radius, delta):
    lam = share * radius**2
    where, one = (n_steps, lam, radius), theory.high_probability_bound
    assert theory.mean_excess_bound(*where, delta) <= one(*where, delta)
    norm = theory.subgradient_norm_bound(lam, radius, projection=True)
    regret, part = theory.regret_bound(n_steps, lam, norm), delta / (4 * np.log(n_steps))
    whole = theory.measured_regret_bound(regret, *where, part, projection=True)
    assert whole <= one(*where, delta, projection=True)


@given(st.integers(2, 10**15))
def test_suffix_bound_begins_where_the_average_does(n_steps):
    start = suffix_start(n_steps)
    expected = 2 * (1 + np.log(n_steps / start)) / (n_steps - start)
    assert_allclose(theory.suffix_average_bound(n_steps, 1.0, 1.0), expected, rtol=1e-12)
