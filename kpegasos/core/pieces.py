"""Newton steps of a working set for any loss that says where it is smooth.

On a piece of a loss the dual is a parabola in each coefficient, or nearly. Coefficients inside
their pieces move together, by conjugate gradients on the parabolas, and stay where they meet the
end of its piece: coordinate steps alone need passes in proportion to the condition number. Of the
logistic loss, whose dual is none, a step is halved until the dual rises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.core.box import conjugate_gradients
from kpegasos.losses.base import gain, piece
from kpegasos.utils.compiled import compiled

#: Halvings of a step, at the most.
_HALVINGS = 8


@compiled(inner=True)
def move_together(
    loss: Any,
    hessian: np.ndarray,
    sums: np.ndarray,
    label: np.ndarray,
    inverse: np.ndarray,
    beta: np.ndarray,
) -> None:
    """Move the coefficients that are inside a piece; those at an end stay.

    Parameters
    ----------
    loss : Loss
        With ``piece(beta, target)``: the ends of the piece around β, and slope and bend of the gain
        there. A loss without has no such coefficients.
    hessian : ndarray of shape (n, n), float64
        In its first rows and columns kernel values, times the signed weights of both.
    sums : ndarray of shape (n_members,)
        Decisions divided by ``inverse``; brought up to date.
    label : ndarray of shape (n_members,)
    inverse : ndarray of shape (n_members,)
        What sums become decisions by; 0 for what is held out.
    beta : ndarray of shape (n_members,)
        Modified in place.
    """
    n = beta.size
    low, high, bends, residual = np.empty(n), np.empty(n), np.zeros(n), np.zeros(n)
    n_free = 0
    for a in range(n):
        low[a], high[a], slope, bend = piece(loss, beta[a], label[a])
        if low[a] < beta[a] < high[a] and inverse[a] != 0.0:
            # In units of the Hessian; the label's sign is in the sums.
            unit = 1.0 / abs(inverse[a])
            residual[a] = unit * slope - sums[a]
            bends[a] = unit * bend
            n_free += 1
        else:
            low[a] = high[a] = beta[a]
    if n_free == 0:
        return
    targets, moves, products = np.empty(n), np.empty(n), np.zeros(n)
    conjugate_gradients(hessian, bends, residual, low, high, beta, targets)
    for a in range(n):
        moves[a] = targets[a] - beta[a]
        if moves[a] != 0.0:
            for b in range(n):
                products[b] += moves[a] * hessian[a, b]
    share = _rising_share(loss, beta, moves, products, sums, label, inverse)
    if not share > 0.0:  # nor where a product was no number
        return
    for a in range(n):
        sums[a] += share * products[a]
        beta[a] = targets[a] if share == 1.0 else beta[a] + share * moves[a]


@compiled(inner=True)
def _rising_share(
    loss: Any,
    beta: np.ndarray,
    moves: np.ndarray,
    products: np.ndarray,
    sums: np.ndarray,
    label: np.ndarray,
    inverse: np.ndarray,
) -> float:
    """The largest share of a move, by halves, for which the dual rises."""
    linear = quadratic = before = 0.0
    for a in range(beta.size):
        if moves[a] != 0.0:
            linear += sums[a] * moves[a]
            quadratic += moves[a] * products[a]
            before += gain(loss, beta[a], label[a]) / abs(inverse[a])
    share = 1.0
    for _ in range(_HALVINGS):
        after = 0.0
        for a in range(beta.size):
            if moves[a] != 0.0:
                target = beta[a] + share * moves[a]
                after += gain(loss, target, label[a]) / abs(inverse[a])
        if after - before - share * linear - 0.5 * share * share * quadratic >= 0.0:
            return share
        share *= 0.5
    return 0.0
