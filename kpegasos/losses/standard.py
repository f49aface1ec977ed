"""Losses by name.

For labels the hinge of the paper and its smoother relatives; for numbers those of support vector
regression, and Huber's.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba.extending import overload

from kpegasos.losses.base import TIE, check_loss, described
from kpegasos.utils.compiled import OVERLOADS
from kpegasos.utils.validation import as_choice, as_number

# --- of labels ---


@described(regression=False, lower=0.0, upper=1.0, lipschitz=1.0)
class Hinge(NamedTuple):
    """``max(0, 1 - y f)``.

    Counts of its steps are integers: a step adds 1 or nothing. Shalev-Shwartz, Singer, Srebro (ICML
    2007), eq. 2.
    """

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
        """Return the maximiser of a parabola in [0, 1], or of a line if there is no curvature."""
        slope = 1.0 - target * decision
        if curvature > 0.0:
            return min(1.0, max(0.0, beta + slope / curvature))
        return 1.0 if slope > 0.0 else 0.0 if slope < 0.0 else beta


HINGE = Hinge()


def is_hinge(loss: Any) -> bool:
    """Return whether a loss, or numba's type of one, is the hinge, which has closed forms."""
    return getattr(loss, "instance_class", type(loss)) is Hinge


@overload(is_hinge)
def _is_hinge(loss):  # type: ignore[no-untyped-def]
    found = is_hinge(loss)
    return lambda loss: found


def by_loss(of_hinge: Any, of_any: Any) -> Any:
    """Make a function with a form for the hinge and one for other losses, for compiled callers."""

    def function(loss: Any, *others: Any) -> Any:
        return (of_hinge if is_hinge(loss) else of_any)(loss, *others)

    def chosen(loss: Any, *others: Any) -> Any:
        return of_hinge if is_hinge(loss) else of_any

    overload(function, jit_options=OVERLOADS, strict=False)(chosen)
    return function


@described(regression=False, lower=0.0, upper=math.inf, lipschitz=math.inf)
class SquaredHinge(NamedTuple):
    """``max(0, 1 - y f)²``, as in scikit-learn's LinearSVC.

    Its slope has no bound, so the bounds of Pegasos' analysis need one on the data.
    """

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
        """Return the maximiser of a parabola over β ≥ 0."""
        slope = 1.0 - target * decision - 0.5 * beta
        return max(0.0, beta + slope / (curvature + 0.5))


@described(regression=False, lower=0.0, upper=1.0, lipschitz=1.0)
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

    def check(self) -> None:
        """Raise a ValueError unless ``width`` is positive."""
        as_number("width", self.width, positive=True)

    def value(self, decision: float, target: float) -> float:
        """Return the loss."""
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
        """Return the maximiser of a parabola in [0, 1]."""
        slope = 1.0 - target * decision - self.width * beta
        return min(1.0, max(0.0, beta + slope / (curvature + self.width)))


#: Newton's steps of a coordinate, at the most, and the size of a step that is the last.
_MOST_STEPS, _LAST_STEP = 50, 1e-14
#: Coefficients this close to 0 or 1 bend too much to move with others.
_NEAR_END = 1e-9


@described(regression=False, lower=0.0, upper=1.0, lipschitz=1.0)
class Logistic(NamedTuple):
    """``log(1 + exp(-y f))``.

    A sigmoid of the decision is a probability, which `predict_proba` gives.
    """

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


# --- of numbers ---


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
        """Return the maximiser of two parabolas that meet at 0, in [-1, 1]."""
        # The slopes at b = 0 are this less epsilon to the right, and plus epsilon to the left.
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
        """Return the maximiser of two parabolas that meet at 0."""
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
        """Return the maximiser of a parabola in ``[-delta, delta]``."""
        slope = target - decision - beta
        return min(self.delta, max(-self.delta, beta + slope / (curvature + 1.0)))


# --- by name ---

#: Losses of classifiers by the names that scikit-learn has for them.
CLASSIFICATION: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "log_loss": Logistic,
}
#: Losses of regressors.
REGRESSION: dict[str, Any] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "huber": Huber,
}


def make_loss(loss: Any, *, regression: bool, epsilon: float | None = None) -> Any:
    """Return a loss by its name, or one that is given, checked.

    Parameters
    ----------
    loss : str or Loss
    regression : bool
        Which kind it has to be.
    epsilon : float, default=None
        Parameter of a loss that is given by name: the width of a tube, Huber's ``delta``; the
        default of the loss if None.

    Raises
    ------
    TypeError, ValueError
        If it is none, or of the other kind.
    """
    if isinstance(loss, str):
        named = REGRESSION if regression else CLASSIFICATION
        kind = named[as_choice("loss", loss, tuple(named))]
        return check_loss(kind() if epsilon is None else kind(float(epsilon)))
    loss = check_loss(loss)
    if bool(loss.regression) != regression:
        wanted, other = ("numbers", "labels") if regression else ("labels", "numbers")
        raise ValueError(
            f"loss must be one of {wanted}, got {type(loss).__name__}, one of {other}, instead"
        )
    return loss
