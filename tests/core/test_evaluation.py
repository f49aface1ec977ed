"""Iterates and their sums in one pass: what numpy finds in many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.evaluation import combine_margins
from kpegasos.core.state import Examples, PegasosOptions, new_state


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


@settings(deadline=None)  # compiles
@given(st.integers(1, 70), st.integers(0, 99))
def test_sums_are_those_of_numpy(n_samples, seed):
    state, examples, rounding = some_state(n_samples, seed)
    combinations = [LinearCombination(0.5, 0.0), LinearCombination(2.0, 0.7)]
    coefs, margins, sums = combine_margins(combinations, state, examples, rounding)
    weight = np.abs(examples.signed)
    for combination, coef, margin, of in zip(combinations, coefs, margins, sums, strict=True):
        assert_array_equal(coef, combination.apply(state.alpha, state.stamps))
        assert_array_equal(margin, combination.apply(state.image, state.stamped_image))
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


def test_last_iterate_needs_no_stamped_image():
    state, examples, rounding = some_state(9, 0, average=None)
    coefs, margins, _ = combine_margins([LinearCombination(0.5, 0.0)], state, examples, rounding)
    assert_array_equal(coefs[0], 0.5 * state.alpha)
    assert_array_equal(margins[0], 0.5 * state.image)
    with pytest.raises(ValueError, match=r"^stamped_image must have shape \(9,\), got \(0,\)"):
        combine_margins([LinearCombination(0.5, 1.0)], state, examples, rounding)


def test_rejects_arrays_of_other_sizes():
    state, examples, rounding = some_state(9, 0)
    combinations = [LinearCombination(0.5, 0.0)]
    with pytest.raises(ValueError, match=r"^rounding must have shape \(9,\), got \(8,\)"):
        combine_margins(combinations, state, examples, rounding[1:])
    with pytest.raises(ValueError, match=r"^image must have shape \(9,\), got \(8,\)"):
        combine_margins(combinations, state._replace(image=state.image[1:]), examples, rounding)
