"""A small quadratic problem in a box, solved nearly exactly: the inside of a working set.

Coordinate steps find which variables stay at a bound; between them conjugate gradients move all
others at once (Moré and Toraldo 1991). Coordinate steps alone need passes in proportion to the
condition number of the Hessian, which large C and smooth kernels make large; conjugate gradients
need its square root. Where the variables come from is for others to know.
"""

from __future__ import annotations

import numpy as np

from kpegasos.utils.boundary import checked, require_shape
from kpegasos.utils.compiled import compiled

#: Rounds of coordinate steps and conjugate gradients, at the most.
_MOST_ROUNDS = 20
#: Steps of conjugate gradients within a round, and the share of the squared residual that is left.
_MOST_STEPS, _SMALL_RESIDUAL = 50, 1e-2
#: Moves of a variable up to this size do not keep the problem in work.
SMALLEST_MOVE = 1e-9
#: A variable that conjugate gradients leave this close to a bound is put there.
_AT_BOUND = 1e-12


def _check_box(
    hessian: np.ndarray, gradient: np.ndarray, values: np.ndarray, reduction: float
) -> None:
    require_shape("hessian", hessian, (values.size, values.size))
    require_shape("gradient", gradient, values.shape)


@checked(_check_box)
@compiled()
def maximise_in_box(
    hessian: np.ndarray, gradient: np.ndarray, values: np.ndarray, reduction: float
) -> None:
    """Maximise ``gradientᵀ (x − values) − ½ (x − values)ᵀ hessian (x − values)`` over [0, 1]ⁿ.

    Parameters
    ----------
    hessian : ndarray of shape (n, n), float64
        Symmetric and positive semi-definite.
    gradient : ndarray of shape (n,), float64
        At ``values``; on return at the solution.
    values : ndarray of shape (n,), float64
        Within [0, 1]; on return the solution.
    reduction : float
        The end is where no coordinate step moves a variable by more than this share of the largest
        first move.
    """
    solve_box(hessian, gradient, values, reduction)


@compiled(inner=True)
def solve_box(
    hessian: np.ndarray, gradient: np.ndarray, values: np.ndarray, reduction: float
) -> None:
    """`maximise_in_box` for compiled callers; the Hessian may have more rows and columns behind."""
    moves = np.empty(values.size)
    first = 0.0
    for _ in range(_MOST_ROUNDS):
        largest = _coordinate_pass(hessian, gradient, values)
        first = max(first, largest)
        if largest <= max(SMALLEST_MOVE, reduction * first):
            break
        _coordinate_pass(hessian, gradient, values)
        _conjugate_gradients(hessian, gradient, values, moves)
        for a in range(values.size):
            if moves[a] != 0.0:
                target = min(1.0, max(0.0, values[a] + moves[a]))
                if target < _AT_BOUND:
                    target = 0.0
                elif target > 1.0 - _AT_BOUND:
                    target = 1.0
                move = target - values[a]
                values[a] = target
                for b in range(values.size):
                    gradient[b] -= move * hessian[a, b]


@compiled(inner=True)
def best_in_box(value: float, slope: float, curvature: float) -> float:
    """The point of [0, 1] that maximises a parabola, or a line where there is no curvature."""
    if curvature > 0.0:
        return min(1.0, max(0.0, value + slope / curvature))
    return 1.0 if slope > 0.0 else 0.0 if slope < 0.0 else value


@compiled(inner=True)
def _coordinate_pass(hessian: np.ndarray, gradient: np.ndarray, values: np.ndarray) -> float:
    """Maximise in one variable after the other; returns the largest move."""
    largest = 0.0
    for a in range(values.size):
        target = best_in_box(values[a], gradient[a], abs(hessian[a, a]))
        move = target - values[a]
        if move != 0.0:
            values[a] = target
            largest = max(largest, abs(move))
            for b in range(values.size):
                gradient[b] -= move * hessian[a, b]
    return largest


@compiled(inner=True)
def _conjugate_gradients(
    hessian: np.ndarray, gradient: np.ndarray, values: np.ndarray, moves: np.ndarray
) -> None:
    """Moves of the variables inside the box towards the maximum over them, up to a bound."""
    n = values.size
    residual, direction, image = np.zeros(n), np.zeros(n), np.empty(n)
    for a in range(n):
        moves[a] = 0.0
        if 0.0 < values[a] < 1.0:
            residual[a] = direction[a] = gradient[a]
    squared = inner_product(residual, residual)
    enough = _SMALL_RESIDUAL * squared
    for _ in range(_MOST_STEPS):
        if squared <= enough:
            break
        for b in range(n):
            image[b] = 0.0
        for a in range(n):
            if direction[a] != 0.0:
                for b in range(n):
                    image[b] += direction[a] * hessian[a, b]
        curvature = inner_product(direction, image)
        if curvature <= 0.0:
            break
        step = squared / curvature
        room = _room(values, moves, direction)
        for a in range(n):
            moves[a] += min(step, room) * direction[a]
        if room <= step:
            break
        for a in range(n):
            if 0.0 < values[a] < 1.0:
                residual[a] -= step * image[a]
        before, squared = squared, inner_product(residual, residual)
        for a in range(n):
            direction[a] = residual[a] + squared / before * direction[a]


@compiled(inner=True)
def inner_product(one: np.ndarray, other: np.ndarray) -> float:
    """``<one, other>``, for compiled callers."""
    total = 0.0
    for a in range(one.size):
        total += one[a] * other[a]
    return total


@compiled(inner=True)
def _room(values: np.ndarray, moves: np.ndarray, direction: np.ndarray) -> float:
    """Length of the step along a direction that first meets a bound."""
    room = np.inf
    for a in range(values.size):
        if direction[a] > 0.0:
            room = min(room, (1.0 - values[a] - moves[a]) / direction[a])
        elif direction[a] < 0.0:
            room = min(room, -(values[a] + moves[a]) / direction[a])
    return room
