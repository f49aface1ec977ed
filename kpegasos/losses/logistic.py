"""The logistic loss, ``log(1 + exp(-y f))``, whose decisions are log-odds."""

from __future__ import annotations

import math
from typing import NamedTuple

#: Newton's steps of a coordinate, at the most, and the size of a step that is the last.
_MOST_STEPS, _LAST_STEP = 50, 1e-14
#: Coefficients this close to 0 or 1 bend too much to move with others.
_NEAR_END = 1e-9


class Logistic(NamedTuple):
    """``log(1 + exp(-y f))``.

    A sigmoid of the decision is a probability, which `predict_proba` gives.
    """

    @property
    def regression(self) -> bool:
        """Targets are labels ±1."""
        return False

    @property
    def lower(self) -> float:
        """``0.0``."""
        return 0.0

    @property
    def upper(self) -> float:
        """``1.0``."""
        return 1.0

    @property
    def lipschitz(self) -> float:
        """``1.0``."""
        return 1.0

    def value(self, decision: float, target: float) -> float:
        """``log(1 + exp(-y f))``, without overflow."""
        margin = target * decision
        return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))

    def pull(self, decision: float, target: float) -> float:
        """``1 / (1 + exp(y f))``."""
        margin = target * decision
        small = math.exp(-abs(margin))
        return small / (1.0 + small) if margin > 0.0 else 1.0 / (1.0 + small)

    def gain(self, beta: float, target: float) -> float:
        """``-β log β - (1 - β) log(1 - β)``."""
        total = 0.0
        if beta > 0.0:
            total -= beta * math.log(beta)
        if beta < 1.0:
            total -= (1.0 - beta) * math.log1p(-beta)
        return total

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``(0, 1)``, where the slope is the log-odds of ``1 - β``; none next to the ends."""
        if not _NEAR_END < beta < 1.0 - _NEAR_END:
            return beta, beta, 0.0, 0.0
        return 0.0, 1.0, math.log1p(-beta) - math.log(beta), 1.0 / (beta * (1.0 - beta))

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Newton's steps on the log-odds z of b, safeguarded by bisection.

        At the maximum ``z + m + curvature (b(z) - β) = 0``, which rises in z.
        """
        margin = target * decision
        low = -margin - curvature * (1.0 - beta)
        high = -margin + curvature * beta
        z = 0.5 * (low + high)
        before = high - low
        chosen = beta
        for _ in range(_MOST_STEPS):
            small = math.exp(-abs(z))
            larger = 1.0 / (1.0 + small)
            chosen = larger if z > 0.0 else small * larger
            slope = 1.0 + curvature * small * larger * larger
            error = z + margin + curvature * (chosen - beta)
            if error > 0.0:
                high = z
            else:
                low = z
            step = error / slope
            if abs(step) <= _LAST_STEP * (1.0 + abs(z)):
                break
            if abs(step) <= 0.5 * before and low < z - step < high:
                before = abs(step)
                z -= step
            else:
                before = 0.5 * (high - low)
                z = 0.5 * (low + high)
        return chosen
