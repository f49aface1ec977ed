"""Huber's loss: squares of small errors, absolute values of large ones."""

from __future__ import annotations

from typing import NamedTuple

from kpegasos.utils.validation import as_number


class Huber(NamedTuple):
    """``r²/2`` for an error ``|r| ≤ delta``, ``delta |r| - delta²/2`` beyond (Huber 1964).

    Parameters
    ----------
    delta : float, default=1.0
        Where squares end; positive.
    """

    delta: float = 1.0

    @property
    def regression(self) -> bool:
        """Targets are numbers."""
        return True

    @property
    def lower(self) -> float:
        """``-delta``."""
        return -self.delta

    @property
    def upper(self) -> float:
        """``delta``."""
        return self.delta

    @property
    def lipschitz(self) -> float:
        """``delta``."""
        return self.delta

    def check(self) -> None:
        """Raise a ValueError unless ``delta`` is positive."""
        as_number("delta", self.delta, positive=True)

    def value(self, decision: float, target: float) -> float:
        """The loss."""
        error = abs(decision - target)
        if error <= self.delta:
            return 0.5 * error * error
        return self.delta * (error - 0.5 * self.delta)

    def pull(self, decision: float, target: float) -> float:
        """The error, cut to ``[-delta, delta]``."""
        return min(self.delta, max(-self.delta, target - decision))

    def gain(self, beta: float, target: float) -> float:
        """``β y - β²/2``."""
        return beta * target - 0.5 * beta * beta

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``[-delta, delta]``, with a parabola."""
        return -self.delta, self.delta, target - beta, 1.0

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Maximum of a parabola in ``[-delta, delta]``."""
        slope = target - decision - beta
        return min(self.delta, max(-self.delta, beta + slope / (curvature + 1.0)))
