"""The squared hinge loss, ``max(0, 1 - y f)²``: that of LinearSVC."""

from __future__ import annotations

import math
from typing import NamedTuple


class SquaredHinge(NamedTuple):
    """``max(0, 1 - y f)²``, as in scikit-learn's LinearSVC.

    Its slope has no bound, so the bounds of Pegasos' analysis need one on the data.
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
        """``math.inf``."""
        return math.inf

    @property
    def lipschitz(self) -> float:
        """``math.inf``."""
        return math.inf

    def value(self, decision: float, target: float) -> float:
        """``max(0, 1 - y f)²``."""
        slack = max(0.0, 1.0 - target * decision)
        return slack * slack

    def pull(self, decision: float, target: float) -> float:
        """``2 max(0, 1 - y f)``."""
        return 2.0 * max(0.0, 1.0 - target * decision)

    def gain(self, beta: float, target: float) -> float:
        """``β - β²/4``."""
        return beta - 0.25 * beta * beta

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``β ≥ 0``, with a parabola."""
        return 0.0, math.inf, 1.0 - 0.5 * beta, 0.5

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Maximum of a parabola over β ≥ 0."""
        slope = 1.0 - target * decision - 0.5 * beta
        return max(0.0, beta + slope / (curvature + 0.5))
