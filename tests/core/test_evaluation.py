"""Iterates and their sums in one pass: what numpy finds in many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.core.evaluation import Sums, dual_bounds_of, evaluate_held, roundings
from kpegasos.core.state import Examples, Iterate, PegasosOptions, new_state


def some_state(n_samples, seed, average="weighted"):
    """State, examples and rounding, all different from each other."""
    rng = np.random.default_rng(seed)
    state = new_state(n_samples, n_samples, PegasosOptions(average=average), 0.1, 0).loop
    state.alpha[:] = rng.integers(0, 4, n_samples)
    state.stamps[:] = state.alpha * rng.random(n_samples)
    state.image[:] = rng.normal(size=n_samples)
    state.stamped_image[:] = rng.normal(size=state.stamped_image.size)
    label = rng.choice([-1.0, 1.0], n_samples)
    return state, Examples(label, label * rng.random(n_samples)), rng.random(n_samples)


def evaluated(iterate, state, examples, rounding):
    """Coefficients and margins of an iterate, and what `evaluate_held` returns of it."""
    coef, margin = np.empty((2, examples.label.size))
    numbers = iterate.plain, iterate.stamped, iterate.largest_clock
    of, *others = evaluate_held(state, examples, rounding, 1.0, *numbers, coef, margin)
    return coef, margin, Sums(*of), *others


@given(st.integers(1, 70), st.integers(0, 99))
def test_sums_are_those_of_numpy(n_samples, seed):
    state, examples, rounding = some_state(n_samples, seed)
    weight = np.abs(examples.signed)
    for iterate in (Iterate(0.5), Iterate(2.0, 0.7, None, 3.0)):
        coef, margin, of, additions, *errors = evaluated(iterate, state, examples, rounding)
        assert_array_equal(coef, iterate.coefficients(state))
        assert_array_equal(margin, iterate.image(state))
        expected = [
            weight @ np.maximum(0.0, 1.0 - examples.label * margin),
            (coef * examples.signed) @ margin,
            coef @ weight,
            coef.max(),
            (coef * weight) @ rounding,
            weight @ rounding,
            state.alpha @ weight,
        ]
        assert_allclose(of, expected, rtol=1e-12, atol=1e-12)
        assert additions == iterate.additions(state, examples, of.counts)
        assert tuple(errors) == roundings(of, additions, n_samples, 1.0)


def test_last_iterate_needs_no_stamped_image():
    state, examples, rounding = some_state(9, 0, average=None)
    coef, margin, *_ = evaluated(Iterate(0.5), state, examples, rounding)
    assert_array_equal(coef, 0.5 * state.alpha)
    assert_array_equal(margin, 0.5 * state.image)
    with pytest.raises(ValueError, match=r"^stamped_image must have shape \(9,\), got \(0,\)"):
        evaluated(Iterate(0.5, 1.0), state, examples, rounding)


def test_rejects_arrays_of_other_sizes():
    state, examples, rounding = some_state(9, 0)
    with pytest.raises(ValueError, match=r"^rounding must have shape \(9,\), got \(8,\)"):
        evaluated(Iterate(0.5), state, examples, rounding[1:])
    with pytest.raises(ValueError, match=r"^image must have shape \(9,\), got \(8,\)"):
        evaluated(Iterate(0.5), state._replace(image=state.image[1:]), examples, rounding)


@pytest.mark.pure_python
def test_dual_bound_loses_what_its_sum_may_be_rounded_by():
    """``θ ≤ 5`` times a sum of 2, which 4 terms and a few numbers beside them have rounded."""
    dual, proven = dual_bounds_of(0.5, 20.0, 0.0, 0.0, 0.1, 4)
    assert dual == pytest.approx(10.0)
    assert dual - proven == pytest.approx(10.0 * 18.0 * np.finfo(float).eps, rel=0.1)


@pytest.mark.pure_python
def test_dual_bound_of_sums_beyond_all_numbers_is_zero():
    assert dual_bounds_of(1.0, np.inf, np.inf, 0.0, 0.1, 4) == (0.0, 0.0)
