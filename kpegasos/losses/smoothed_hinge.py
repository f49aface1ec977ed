"""The smoothed hinge loss: the hinge with a parabola in place of its corner."""

from __future__ import annotations

from typing import NamedTuple

from kpegasos.utils.validation import as_number


class SmoothedHinge(NamedTuple):
    """The hinge loss whose corner is rounded over a width (Shalev-Shwartz, Zhang, JMLR 2013).

    With the margin ``m = y f``: 0 for ``m ≥ 1``, ``1 - m - width/2`` for ``m ≤ 1 - width``, and
    ``(1 - m)² / (2 width)`` between.

    Parameters
    ----------
    width : float, default=0.5
        Positive.
    """

    width: float = 0.5

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

    def check(self) -> None:
        """Raise a ValueError unless ``width`` is positive."""
        as_number("width", self.width, positive=True)

    def value(self, decision: float, target: float) -> float:
        """The loss."""
        slack = max(0.0, 1.0 - target * decision)
        if slack >= self.width:
            return slack - 0.5 * self.width
        return 0.5 * slack * slack / self.width

    def pull(self, decision: float, target: float) -> float:
        """From 0 at margin 1 to 1 at margin ``1 - width``."""
        return min(1.0, max(0.0, (1.0 - target * decision) / self.width))

    def gain(self, beta: float, target: float) -> float:
        """``β - width β²/2``."""
        return beta - 0.5 * self.width * beta * beta

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``[0, 1]``, with a parabola."""
        return 0.0, 1.0, 1.0 - self.width * beta, self.width

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Maximum of a parabola in [0, 1]."""
        slope = 1.0 - target * decision - self.width * beta
        return min(1.0, max(0.0, beta + slope / (curvature + self.width)))
