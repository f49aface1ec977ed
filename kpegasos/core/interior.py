"""Steps of an interior point method for the dual, whose Hessian is of low rank.

With the rows ``a_i = ω_i y_i z_i`` of a matrix A, ``κ = 1 / (λ m)`` and weights ω, the dual is

    min  f(β) = κ/2 ‖Aᵀβ‖² − ωᵀβ    over the box 0 ≤ β ≤ 1,

and its gradient ``A w − ω`` at ``w = κ Aᵀβ`` is the difference of the multipliers of both bounds.
A Newton step of the conditions ``β · low = (1 − β) · high = μ`` eliminates everything but w: with
``θ = low / β + high / (1 − β)`` it solves ``(I/κ + Aᵀ θ⁻¹ A) Δw = r`` of as many unknowns as there
are features. Predictor and corrector are Mehrotra's (SIAM J. Optim. 1992); Ferris and Munson (SIAM
J. Optim. 2002) have shown the same system to serve for SVMs.

The vector w need not be ``κ Aᵀβ`` on the way: that it becomes so is one of the conditions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpegasos.utils.boundary import checked
from kpegasos.utils.compiled import compiled

#: Share of the way to the nearest bound that a step goes at the most.
_SHARE = 0.99
#: No distance to a bound is less, so that its reciprocal is finite.
_NEAREST = 1e-14


class InteriorPoint(NamedTuple):
    """A point within the box, all float64 of shape (n_samples,).

    Attributes
    ----------
    beta, room : ndarray
        Distances to both bounds, ``room = 1 − beta``: both are kept, so that neither loses digits.
    low, high : ndarray
        Multipliers of the bounds, positive.
    gradient : ndarray
        ``A w − ω``.
    """

    beta: np.ndarray
    room: np.ndarray
    low: np.ndarray
    high: np.ndarray
    gradient: np.ndarray


def start(weight: np.ndarray, share: float, spread: float) -> InteriorPoint:
    """Return a point to begin at, with w = 0.

    Parameters
    ----------
    weight : ndarray of shape (n_samples,)
        ω.
    share : float
        β of all examples.
    spread : float
        What multipliers exceed their least values, 0 and ω, by, in units of ω.
    """
    beta = np.full(weight.size, share)
    return InteriorPoint(beta, 1.0 - beta, spread * weight, (1.0 + spread) * weight, -weight)


def _check(point: InteriorPoint, *vectors: np.ndarray | float) -> None:
    """Check that all vectors are as long as the point's.

    Raises
    ------
    ValueError
        If one is not.
    """
    shape = point.beta.shape
    for vector in (*point, *vectors):
        if isinstance(vector, np.ndarray) and vector.shape != shape:
            raise ValueError(f"vectors of a point must have shape {shape}, got {vector.shape}")


@checked(_check)
@compiled(error_model="python")  # or sums would be in another order
def inverse_barrier(point: InteriorPoint, out: np.ndarray) -> float:
    """Put ``θ⁻¹`` into ``out`` and return the complementarity ``Σ β · low + (1 − β) · high``."""
    total = 0.0
    for i in range(out.size):
        beta, room, low, high = point.beta[i], point.room[i], point.low[i], point.high[i]
        total += beta * low + room * high
        out[i] = 1.0 / (low / beta + high / room)
    return total


@checked(_check)
@compiled(error_model="python")  # or sums would be in another order
def correct(
    point: InteriorPoint, inverse: np.ndarray, slope: np.ndarray, total: float, out: np.ndarray
) -> float:
    """Compute the corrector's right-hand side from the predictor's step.

    Parameters
    ----------
    point : InteriorPoint
    inverse : ndarray of shape (n_samples,)
        ``θ⁻¹``.
    slope : ndarray of shape (n_samples,)
        ``A Δw`` of the predictor.
    total : float
        From `inverse_barrier`.
    out : ndarray of shape (n_samples,)
        For the right-hand side of Δβ.

    Returns
    -------
    target : float
        The ``μ`` that the corrector aims at.
    """
    most = 1.0
    for i in range(out.size):
        beta, room, low, high = point.beta[i], point.room[i], point.low[i], point.high[i]
        step = -inverse[i] * (point.gradient[i] + slope[i])
        # Relative steps of the multipliers are -1 - step / beta and -1 + step / room.
        most = max(most, -step / beta, step / room, 1.0 + step / beta, 1.0 - step / room)
    share = 1.0 / most
    after = 0.0
    for i in range(out.size):
        beta, room, low, high = point.beta[i], point.room[i], point.low[i], point.high[i]
        step = -inverse[i] * (point.gradient[i] + slope[i])
        out[i] = step
        after += (beta + share * step) * low * (1.0 - share * (1.0 + step / beta))
        after += (room - share * step) * high * (1.0 - share * (1.0 - step / room))
    target = (max(after, 0.0) / total) ** 3 * total / (2.0 * out.size)
    for i in range(out.size):
        beta, room, low, high = point.beta[i], point.room[i], point.low[i], point.high[i]
        step = out[i]
        below = target + step * low * (1.0 + step / beta)
        above = target - step * high * (1.0 - step / room)
        out[i] = below / beta - above / room - point.gradient[i]
    return target


@checked(_check)
@compiled(error_model="python")  # or sums would be in another order
def move(
    point: InteriorPoint,
    inverse: np.ndarray,
    predicted: np.ndarray,
    slope: np.ndarray,
    right: np.ndarray,
    target: float,
) -> float:
    """Take the corrector's step as far as the bounds allow; returns its share that is taken.

    Parameters
    ----------
    point : InteriorPoint
        Modified in place.
    inverse : ndarray of shape (n_samples,)
        ``θ⁻¹``.
    predicted, slope : ndarray of shape (n_samples,)
        ``A Δw`` of predictor and corrector.
    right : ndarray of shape (n_samples,)
        From `correct`; overwritten by Δβ.
    target : float
        From `correct`.
    """
    most = 0.0
    for i in range(right.size):
        beta, room, low, high = point.beta[i], point.room[i], point.low[i], point.high[i]
        first = -inverse[i] * (point.gradient[i] + predicted[i])
        step = inverse[i] * (right[i] - slope[i])
        lower, higher = _multiplier_steps(beta, room, low, high, first, step, target)
        right[i] = step
        most = max(most, -step / beta, step / room, -lower / low, -higher / high)
    share = min(1.0, _SHARE / most) if most > 0.0 else 1.0
    for i in range(right.size):
        beta, room, low, high = point.beta[i], point.room[i], point.low[i], point.high[i]
        first = -inverse[i] * (point.gradient[i] + predicted[i])
        lower, higher = _multiplier_steps(beta, room, low, high, first, right[i], target)
        point.beta[i] = max(beta + share * right[i], _NEAREST)
        point.room[i] = max(room - share * right[i], _NEAREST)
        gradient = point.gradient[i] + share * slope[i]
        low += share * lower
        high += share * higher
        # Their difference is the gradient, but for rounding and the part of a step not taken.
        excess = gradient - low + high
        point.gradient[i] = gradient
        point.low[i] = low + max(excess, 0.0)
        point.high[i] = high + max(-excess, 0.0)
    return share


@compiled(inner=True)
def _multiplier_steps(
    beta: float, room: float, low: float, high: float, first: float, step: float, target: float
) -> tuple[float, float]:
    """Compute the corrector's steps of both multipliers from both steps of β."""
    below = target + first * low * (1.0 + first / beta)
    above = target - first * high * (1.0 - first / room)
    return below / beta - low - low / beta * step, above / room - high + high / room * step


def replace_gradient(point: InteriorPoint, gradient: np.ndarray) -> InteriorPoint:
    """Return the same β with another w: multipliers grow where its gradient asks for it."""
    excess = gradient - point.low + point.high
    low = point.low + np.maximum(excess, 0.0)
    return point._replace(low=low, high=point.high + np.maximum(-excess, 0.0), gradient=gradient)
