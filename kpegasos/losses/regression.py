"""Losses of numbers: those of support vector regression, and Huber's."""

from __future__ import annotations

import math
from typing import NamedTuple

from kpegasos.losses.base import TIE, described
from kpegasos.utils.validation import as_number


@described(regression=True, lower=-1.0, upper=1.0, lipschitz=1.0)
class EpsilonInsensitive(NamedTuple):
    """``max(0, |f - y| - epsilon)``, the loss of SVR.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this cost nothing; not negative.
    """

    epsilon: float = 0.1

    def check(self) -> None:
        """Raise a ValueError unless ``epsilon`` is 0 or more."""
        as_number("epsilon", self.epsilon, least=0.0)

    def value(self, decision: float, target: float) -> float:
        """``max(0, |f - y| - epsilon)``."""
        return max(0.0, abs(decision - target) - self.epsilon)

    def pull(self, decision: float, target: float) -> float:
        """1 below the tube, -1 above it, else 0."""
        room = self.epsilon + TIE * (self.epsilon + abs(target))
        if target - decision > room:
            return 1.0
        return -1.0 if decision - target > room else 0.0

    def gain(self, beta: float, target: float) -> float:
        """``β y - epsilon |β|``."""
        return beta * target - self.epsilon * abs(beta)

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``[0, 1]`` or ``[-1, 0]``, with a line; none at 0."""
        if beta > 0.0:
            return 0.0, 1.0, target - self.epsilon, 0.0
        if beta < 0.0:
            return -1.0, 0.0, target + self.epsilon, 0.0
        return 0.0, 0.0, 0.0, 0.0

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Return the maximum of two parabolas that meet at 0, in [-1, 1]."""
        # The same from b = 0 on: slopes there to either side, for the other coordinates' sake.
        slope = target - decision + curvature * beta
        if slope > self.epsilon:
            rise = slope - self.epsilon
            return 1.0 if rise >= curvature else rise / curvature
        if slope < -self.epsilon:
            fall = slope + self.epsilon
            return -1.0 if -fall >= curvature else fall / curvature
        return 0.0


@described(regression=True, lower=-math.inf, upper=math.inf, lipschitz=math.inf)
class SquaredEpsilonInsensitive(NamedTuple):
    """``max(0, |f - y| - epsilon)²``, as in scikit-learn's LinearSVR.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this cost nothing; 0 makes it the squared error.
    """

    epsilon: float = 0.1

    def check(self) -> None:
        """Raise a ValueError unless ``epsilon`` is 0 or more."""
        as_number("epsilon", self.epsilon, least=0.0)

    def value(self, decision: float, target: float) -> float:
        """``max(0, |f - y| - epsilon)²``."""
        error = max(0.0, abs(decision - target) - self.epsilon)
        return error * error

    def pull(self, decision: float, target: float) -> float:
        """Twice the error beyond the tube."""
        if target - decision > self.epsilon:
            return 2.0 * (target - decision - self.epsilon)
        if decision - target > self.epsilon:
            return 2.0 * (target - decision + self.epsilon)
        return 0.0

    def gain(self, beta: float, target: float) -> float:
        """``β y - epsilon |β| - β²/4``."""
        return beta * target - self.epsilon * abs(beta) - 0.25 * beta * beta

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``β ≥ 0`` or ``β ≤ 0``, with a parabola; none at 0 unless there is no tube."""
        if self.epsilon == 0.0:
            return -math.inf, math.inf, target - 0.5 * beta, 0.5
        if beta > 0.0:
            return 0.0, math.inf, target - self.epsilon - 0.5 * beta, 0.5
        if beta < 0.0:
            return -math.inf, 0.0, target + self.epsilon - 0.5 * beta, 0.5
        return 0.0, 0.0, 0.0, 0.0

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Return the maximum of two parabolas that meet at 0."""
        slope = target - decision + curvature * beta
        if slope > self.epsilon:
            return (slope - self.epsilon) / (curvature + 0.5)
        if slope < -self.epsilon:
            return (slope + self.epsilon) / (curvature + 0.5)
        return 0.0


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
        """Return the loss."""
        error = abs(decision - target)
        if error <= self.delta:
            return 0.5 * error * error
        return self.delta * (error - 0.5 * self.delta)

    def pull(self, decision: float, target: float) -> float:
        """Return the error, cut to ``[-delta, delta]``."""
        return min(self.delta, max(-self.delta, target - decision))

    def gain(self, beta: float, target: float) -> float:
        """``β y - β²/2``."""
        return beta * target - 0.5 * beta * beta

    def piece(self, beta: float, target: float) -> tuple[float, float, float, float]:
        """``[-delta, delta]``, with a parabola."""
        return -self.delta, self.delta, target - beta, 1.0

    def best(self, beta: float, decision: float, target: float, curvature: float) -> float:
        """Return the maximum of a parabola in ``[-delta, delta]``."""
        slope = target - decision - beta
        return min(self.delta, max(-self.delta, beta + slope / (curvature + 1.0)))
