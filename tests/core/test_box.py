"""The quadratic problem in a box against a slow reference."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kpegasos.core.ascents import alternate
from kpegasos.losses import HINGE

pytestmark = pytest.mark.pure_python


@numba.njit
def maximise_in_box(hessian, gradient, values, reduction):
    """Maximise ``gradientᵀ (x − values) − ½ (x − values)ᵀ hessian (x − values)`` over [0, 1]ⁿ."""
    ones, sums = np.ones(values.size), -gradient
    alternate(HINGE, hessian, sums, ones, ones, values, reduction)
    gradient[:] = -sums


def problem(seed, n, rank, condition):
    """Hessian, gradient and values of a random problem."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, rank)) * np.geomspace(1.0, condition**-0.5, rank)
    return factor @ factor.T, rng.normal(size=n), rng.uniform(size=n)


def violation(hessian, gradient, values):
    """How far a projected gradient step of unit length moves."""
    return np.abs(np.clip(values + gradient, 0.0, 1.0) - values).max(initial=0.0)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
@pytest.mark.parametrize(("n", "rank"), [(1, 1), (7, 7), (30, 30), (30, 5)])
def test_maximise_in_box_meets_the_optimality_conditions(n, rank, condition):
    hessian, gradient, values = problem(n + rank, n, rank, condition)
    for _ in range(3):
        maximise_in_box(hessian, gradient, values, 1e-6)
    assert violation(hessian, gradient, values) < 1e-4


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.floats(0.0, 8.0))
def test_maximise_in_box_never_falls_and_stays_within(seed, n, decades):
    hessian, gradient, values = problem(seed, n, n, 10.0**decades)
    start, slope = values.copy(), gradient.copy()
    maximise_in_box(hessian, gradient, values, 1e-3)
    moved = values - start
    assert values.min() >= 0.0
    assert values.max() <= 1.0
    assert slope @ moved - 0.5 * moved @ hessian @ moved >= -1e-10
    assert_allclose(gradient, slope - hessian @ moved, rtol=1e-8, atol=1e-8)


def test_maximise_in_box_follows_a_line_to_its_end():
    """Without curvature the slope alone decides."""
    values = np.array([0.5, 0.5, 0.5])
    maximise_in_box(np.zeros((3, 3)), np.array([1.0, 0.0, -1.0]), values, 1e-3)
    assert values.tolist() == [1.0, 0.5, 0.0]


def test_maximise_in_box_does_not_know_the_scale_of_the_hessian():
    """A maximum a millionth from its bound, where steps are smaller still."""
    hessian, _, _ = problem(5, 30, 30, 10.0)
    optimum, values = np.linspace(1e-6, 2e-6, 30), np.zeros(30)
    maximise_in_box(1e12 * hessian, 1e12 * hessian @ optimum, values, 1e-6)
    assert_allclose(values, optimum, rtol=1e-2)
