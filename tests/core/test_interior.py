"""Newton steps stay within the box and solve what they are said to solve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kpegasos.core import interior
from kpegasos.utils.compiled import compiled

pytestmark = pytest.mark.pure_python


def newton(point, A, curvature):
    """One predictor and corrector step at w = κ Aᵀβ; returns the share of it that was taken."""
    n, d = A.shape
    inverse, right = np.empty((2, n))
    total = interior.inverse_barrier(point, inverse)
    matrix = np.eye(d) / curvature + A.T @ (inverse[:, None] * A)
    predicted = A @ np.linalg.solve(matrix, -A.T @ (inverse * point.gradient))
    target = interior.correct(point, inverse, predicted, total, right)
    slope = A @ np.linalg.solve(matrix, A.T @ (inverse * right))
    return interior.move(point, inverse, predicted, slope, right, target)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    A, weight, curvature = rng.normal(size=(60, 4)), rng.uniform(0.2, 2.0, 60), 0.05
    point = interior.start(weight, 0.1, 0.5)
    return interior.replace_gradient(point, curvature * A @ (A.T @ point.beta) - weight), A, weight


def test_steps_stay_inside_and_close_the_gap():
    point, A, weight = problem()
    for _ in range(10):
        newton(point, A, 0.05)
        for part in point[:4]:
            assert (part > 0).all()
        assert_allclose(point.beta + point.room, 1.0)
        assert_allclose(point.low - point.high, point.gradient, atol=1e-12)
        w = 0.05 * A.T @ point.beta
        assert_allclose(point.gradient, A @ w - weight, atol=1e-10)
    loss = np.maximum(-point.gradient, 0.0).sum()
    primal, dual = 10.0 * w @ w + loss, weight @ point.beta - 10.0 * w @ w
    assert primal - dual == pytest.approx(0.0, abs=1e-8 * primal)


def test_complementarity_is_summed():
    point, _, _ = problem()
    out = np.empty(60)
    total = interior.inverse_barrier(point, out)
    assert total == pytest.approx(point.beta @ point.low + point.room @ point.high)
    assert_allclose(out, 1.0 / (point.low / point.beta + point.high / point.room))


@compiled()
def multiplier_steps(beta, room, low, high, first, step, target):
    return interior._multiplier_steps(beta, room, low, high, first, step, target)


def test_multipliers_meet_their_complementarity_to_second_order():
    """β · low and (1 − β) · high become μ less the product of the predictor's steps (Mehrotra)."""
    beta, low, high, first, step, target = 0.3, 0.7, 0.2, -0.05, 0.04, 0.01
    room = 1.0 - beta
    lower, higher = multiplier_steps(beta, room, low, high, first, step, target)
    of_low, of_high = -low * (1.0 + first / beta), -high * (1.0 - first / room)
    assert low * step + beta * lower == pytest.approx(target - beta * low - first * of_low)
    assert -high * step + room * higher == pytest.approx(target - room * high + first * of_high)


def test_vectors_of_another_length_are_refused():
    point, _, _ = problem()
    with pytest.raises(ValueError, match="vectors of a point must have shape"):
        interior.inverse_barrier(point, np.empty(59))
    with pytest.raises(ValueError, match="vectors of a point must have shape"):
        interior.correct(point, np.empty(60), np.empty(61), 1.0, np.empty(60))
