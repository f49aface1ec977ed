"""The hinge loss, ``max(0, 1 - y f)``: that of the paper."""

from __future__ import annotations

from typing import NamedTuple

from kpegasos.losses.base import TIE


class Hinge(NamedTuple):
    """``max(0, 1 - y f)``.

    Counts of its steps are integers: a step adds 1 or nothing. Shalev-Shwartz, Singer, Srebro (ICML
    2007), eq. 2.
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
        """``max(0, 1 - y f)``."""
        return max(0.0, 1.0 - target * decision)

    def pull(self, decision: float, target: float) -> float:
        """1 where the margin is violated, else 0."""
        return 1.0 if target * decision < 1.0 - TIE else 0.0

    def gain(self, beta: float, target: float) -> float:
        """β."""
        return beta

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Maximum of a parabola in [0, 1], or of a line where there is no curvature."""
        slope = 1.0 - target * decision
        if curvature > 0.0:
            return min(1.0, max(0.0, beta + slope / curvature))
        return 1.0 if slope > 0.0 else 0.0 if slope < 0.0 else beta


HINGE = Hinge()
