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
#: Moves up to this size, relative to the largest variable, are rounding: however small a variable
#: is, what its moves are worth depends on the Hessian.
SMALLEST_MOVE = 1e-14


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
    n = values.size
    residual, low, high, targets = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    no_bends = np.zeros(n)
    first = 0.0
    for _ in range(_MOST_ROUNDS):
        largest, scale = _coordinate_pass(hessian, gradient, values)
        first = max(first, largest)
        if largest <= max(SMALLEST_MOVE * scale, reduction * first):
            break
        _coordinate_pass(hessian, gradient, values)
        for a in range(n):
            inside = 0.0 < values[a] < 1.0
            residual[a] = gradient[a] if inside else 0.0
            low[a], high[a] = (0.0, 1.0) if inside else (values[a], values[a])
        conjugate_gradients(hessian, no_bends, residual, low, high, values, targets)
        for a in range(n):
            move = targets[a] - values[a]
            if move != 0.0:
                values[a] = targets[a]
                for b in range(n):
                    gradient[b] -= move * hessian[a, b]


@compiled(inner=True)
def best_in_box(value: float, slope: float, curvature: float) -> float:
    """The point of [0, 1] that maximises a parabola, or a line where there is no curvature."""
    if curvature > 0.0:
        return min(1.0, max(0.0, value + slope / curvature))
    return 1.0 if slope > 0.0 else 0.0 if slope < 0.0 else value


@compiled(inner=True)
def _coordinate_pass(
    hessian: np.ndarray, gradient: np.ndarray, values: np.ndarray
) -> tuple[float, float]:
    """Maximise in one variable after the other; returns the largest move, and variable."""
    largest = scale = 0.0
    for a in range(values.size):
        target = best_in_box(values[a], gradient[a], abs(hessian[a, a]))
        move = target - values[a]
        scale = max(scale, target)
        if move != 0.0:
            values[a] = target
            largest = max(largest, abs(move))
            for b in range(values.size):
                gradient[b] -= move * hessian[a, b]
    return largest, scale


@compiled(inner=True)
def conjugate_gradients(
    hessian: np.ndarray,
    bends: np.ndarray,
    residual: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    values: np.ndarray,
    targets: np.ndarray,
) -> None:
    """Find where the variables between two bounds go together; those that meet one stay there.

    A bound that ended the search would cost a round for each variable that meets one, and in flat
    directions of the Hessian nearly all do.

    Parameters
    ----------
    hessian : ndarray of shape (n, n), float64
        In its first rows and columns.
    bends : ndarray of shape (n,)
        Added to the diagonal of the Hessian.
    residual : ndarray of shape (n,)
        Gradient at ``values``, zero for variables that are held; modified.
    low, high : ndarray of shape (n,)
        Bounds, which are equal for variables that are held; modified.
    values, targets : ndarray of shape (n,)
        Where the variables are; on return where they go.
    """
    n = values.size
    direction, image = residual.copy(), np.empty(n)
    for a in range(n):
        targets[a] = values[a]
    squared = inner_product(residual, residual)
    enough = _SMALL_RESIDUAL * squared
    for _ in range(_MOST_STEPS):
        if squared <= enough:
            break
        for b in range(n):
            image[b] = bends[b] * direction[b]
        for a in range(n):
            if direction[a] != 0.0:
                for b in range(n):
                    image[b] += direction[a] * hessian[a, b]
        curvature = inner_product(direction, image)
        step, met = squared / curvature if curvature > 0.0 else np.inf, n
        for a in range(n):
            if direction[a] != 0.0:
                room = ((high[a] if direction[a] > 0.0 else low[a]) - targets[a]) / direction[a]
                if room < step:
                    step, met = room, a
        if not step < np.inf:
            break
        for a in range(n):
            targets[a] += step * direction[a]
            if low[a] < high[a]:
                residual[a] -= step * image[a]
        if met < n:
            end = high[met] if direction[met] > 0.0 else low[met]
            targets[met] = low[met] = high[met] = end
            residual[met] = 0.0
        before, squared = squared, inner_product(residual, residual)
        again = 0.0 if met < n else squared / before
        for a in range(n):
            direction[a] = residual[a] + again * direction[a]


@compiled(inner=True)
def inner_product(one: np.ndarray, other: np.ndarray) -> float:
    """``<one, other>``, for compiled callers."""
    total = 0.0
    for a in range(one.size):
        total += one[a] * other[a]
    return total
