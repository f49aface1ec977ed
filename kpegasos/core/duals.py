"""Dual values of any loss: the bounds below the optimum that coefficients give.

With the conjugate ℓ* of the loss, weak duality says for coefficients β in the box of the loss

    D(β) = (1/m) Σ ω_i (-ℓ*(-s_i β_i; y_i)) - lam/2 ‖w_β‖²  ≤  min P,
    w_β = (1/(lam m)) Σ β_i ω_i s_i φ(x_i).

An iterate ``w = Σ c_j ω_j s_j φ(x_j)`` has ``β = lam m c``; every multiple of it within the box is
a bound, and the best is found by a search along the line, on which D is concave. The hinge has it
in closed form, in `kpegasos.core.problem`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kpegasos.losses.base import for_loops, gain, pull, value
from kpegasos.utils.compiled import compiled

_EPS = float(np.finfo(np.float64).eps)
#: Steps of the search along the line; each takes off more than a third of the range.
_STEPS = 60
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: Range, relative to its end, at which the search is over: D is flat there.
_NARROW = 1e-9
#: Roundings of a gain, relative to the terms that it is made of, at the most.
_ROUNDINGS = 16.0


@compiled()
def _gain_sums(
    loss: Any, factor: float, coef: np.ndarray, label: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """``Σ ω gain(factor · c)``, and what the sum's terms are made of."""
    total = size = 0.0
    for i in range(coef.size):
        beta = factor * coef[i]
        each = gain(loss, beta, label[i])
        total += weight[i] * each
        size += weight[i] * (abs(each) + 2.0 * abs(beta * label[i]))
    return total, size


def largest_multiple(loss: Any, beta: np.ndarray) -> float:
    """The largest θ with ``θ β`` in the box of a loss; infinite if none is too large."""
    least, most = float(beta.min(initial=0.0)), float(beta.max(initial=0.0))
    theta = math.inf
    if most > 0.0:
        theta = loss.upper / most
    if least < 0.0:
        theta = min(theta, loss.lower / least)
    # The product may be rounded up beyond the box.
    return theta * (1.0 - 4.0 * _EPS)


class DualLine:
    """``D(θβ)`` along the multiples of ``β = lam m c``.

    Parameters
    ----------
    loss : Loss
    coef : ndarray of shape (n_samples,)
        ``c``.
    label, weight : ndarray of shape (n_samples,)
    quadratic : float
        ``lam ‖w‖²``.
    lam : float
    """

    def __init__(
        self,
        loss: Any,
        coef: np.ndarray,
        label: np.ndarray,
        weight: np.ndarray,
        quadratic: float,
        lam: float,
    ) -> None:
        self._data = np.ascontiguousarray(coef), label, weight
        self._loss, self._unit = for_loops(loss), lam * coef.size
        self._quadratic = max(0.0, quadratic)

    def value(self, theta: float) -> float:
        """``D(θβ)``, as computed."""
        total, _ = _gain_sums(self._loss, theta * self._unit, *self._data)
        return total / self._data[0].size - 0.5 * theta * theta * self._quadratic

    def bound(self, theta: float, quadratic_rounding: float) -> float:
        """``D(θβ)`` in the worst case of what rounding did.

        Parameters
        ----------
        theta : float
        quadratic_rounding : float
            Largest error of ``lam ‖w‖²``.
        """
        n_samples = self._data[0].size
        total, size = _gain_sums(self._loss, theta * self._unit, *self._data)
        error = (n_samples + _ROUNDINGS) * _EPS * size
        quadratic = 0.5 * theta * theta * (self._quadratic + quadratic_rounding)
        found = (total - error) / n_samples - quadratic
        return found - _ROUNDINGS * _EPS * (abs(total) / n_samples + quadratic)

    def best(self) -> float:
        """The θ that maximises ``D(θβ)``, nearly."""
        coef = self._data[0]
        most = largest_multiple(self._loss, self._unit * coef)
        if most <= 0.0 or not coef.any():
            return 0.0
        high = min(1.0, most)
        before, now = self.value(0.5 * high), self.value(high)
        while now > before and high < most:  # towards the far end, if it is far
            high = min(most, 2.0 * high)
            before, now = now, self.value(high)
        low = 0.0
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        of_left, of_right = self.value(left), self.value(right)
        best, of_best = high, now
        for _ in range(_STEPS):
            if high - low <= _NARROW * high:
                break
            if of_left < of_right:
                low, left, of_left = left, right, of_right
                right = low + _GOLDEN * (high - low)
                of_right = self.value(right)
            else:
                high, right, of_right = right, left, of_left
                left = high - _GOLDEN * (high - low)
                of_left = self.value(left)
            for theta, found in ((left, of_left), (right, of_right)):
                if found > of_best:
                    best, of_best = theta, found
        return best


@compiled()
def _error_bounds(
    loss: Any,
    decisions: np.ndarray,
    label: np.ndarray,
    errors: np.ndarray,
    lipschitz: float,
    out: np.ndarray,
) -> None:
    for i in range(decisions.size):
        low, high = decisions[i] - errors[i], decisions[i] + errors[i]
        # A convex loss that is zero at both ends is zero between them, and steepest at an end.
        out[i] = 0.0
        if value(loss, low, label[i]) > 0.0 or value(loss, high, label[i]) > 0.0:
            slope = lipschitz
            if slope == np.inf:
                slope = max(abs(pull(loss, low, label[i])), abs(pull(loss, high, label[i])))
            out[i] = slope * errors[i]


def loss_errors(loss: Any, decisions: np.ndarray, label: np.ndarray, errors: Any) -> np.ndarray:
    """How far off losses are at the most, if their decisions may be off.

    Parameters
    ----------
    loss : Loss
    decisions, label : ndarray of shape (n_samples,)
    errors : float or ndarray of shape (n_samples,)
        Largest errors of the decisions.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    out = np.empty(decisions.size)
    each = np.full(decisions.size, errors, dtype=np.float64)
    decisions = np.ascontiguousarray(decisions)
    _error_bounds(for_loops(loss), decisions, label, each, float(loss.lipschitz), out)
    return out


def steepness(loss: Any, decisions: np.ndarray, label: np.ndarray, error: float) -> float:
    """No loss is steeper, wherever the decisions are within an error.

    Parameters
    ----------
    loss : Loss
    decisions, label : ndarray of shape (n_samples,)
    error : float
        Largest error of a decision.
    """
    if math.isfinite(loss.lipschitz):
        return float(loss.lipschitz)
    if not 0.0 < error < math.inf:
        return 0.0 if error <= 0.0 else math.inf
    return float(loss_errors(loss, decisions, label, error).max(initial=0.0)) / error
