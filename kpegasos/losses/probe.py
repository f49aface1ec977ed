"""Test whether the methods of a user's loss fit together, at some decisions and targets.

Loops and certificates believe a loss: a wrong ``gain`` makes a dual bound that is none, for which
the kernel would be blamed. By Fenchel and Young ``gain(beta) <= value + beta · s · f``, and both
are the same at ``beta = pull``; where that holds at all pairs of decisions, the loss is convex too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

_DECISIONS = (-30.0, -3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 2.0, 30.0)
#: Decisions on both sides of a number that is to be predicted.
_AROUND = (-3.0, -0.5, 0.0, 1.0)
#: Decisions up to this size are met in every fit, so that losses have to be finite there.
_USUAL = 1.0
_CURVATURES = (0.5, 20.0)
#: Relative errors: of formulas, and of a maximum that may be found by iterations.
_ROUNDING, _LOOSE = 1e-8, 1e-6
_SHARES = (0.1, 0.5, 0.9)


def probe(loss: Any, targets: tuple[float, ...]) -> None:
    """Check a loss, once; plain Python calls its methods, so that nothing is compiled.

    Parameters
    ----------
    loss : Loss
    targets : tuple of float

    Raises
    ------
    ValueError
        Naming the method, where it was asked, what was expected and what came.
    """
    kind: Any = type(loss)
    _probe(kind, loss, targets)


@lru_cache(maxsize=64)
def _probe(kind: Any, loss: Any, targets: tuple[float, ...]) -> None:
    # Losses of two types without parameters are equal, so the type is an argument.
    for target in targets:
        _Probe(loss, target).run()


class _Probe:
    """The methods of a loss at one target."""

    def __init__(self, loss: Any, target: float) -> None:
        self._loss, self._target = loss, target
        self._direction = 1.0 if loss.regression else target
        self._low, self._high = float(loss.lower), float(loss.upper)
        around = [target + step for step in _AROUND] if loss.regression else []
        # Where a loss overflows no fit ends.
        self._values = {
            decision: value
            for decision in (*_DECISIONS, *around)
            if (value := self._of(loss.value, decision)) != math.inf or abs(decision) <= _USUAL
        }

    def run(self) -> None:
        """Check all methods."""
        for decision, value in self._values.items():
            if not 0.0 <= value < math.inf:
                self._refuse("value", decision, "finite and not negative", value)
        pulls = {decision: self._of(self._loss.pull, decision) for decision in self._values}
        for decision, pull in pulls.items():
            self._check_bounds("pull", decision, pull)
        betas = sorted({0.0, *pulls.values(), *self._inner()})
        gains = {beta: self._of(self._loss.gain, beta) for beta in betas}
        for decision, value in self._values.items():
            self._check_gains(decision, value, pulls[decision], gains)
        for decision in self._values:
            for beta in betas[:: max(1, len(betas) // 4)]:
                for curvature in _CURVATURES:
                    self._check_best(decision, beta, curvature, gains)

    def _of(self, method: Callable[..., Any], *numbers: float) -> float:
        """Call a method; compiled it would return NaN or infinity where Python raises."""
        first, *others = numbers
        try:
            return float(method(first, *others[:1], self._target, *others[1:]))
        except OverflowError:
            return math.inf
        except (ArithmeticError, ValueError):
            return math.nan

    def _inner(self) -> list[float]:
        """Return coefficients between the bounds."""
        if not math.isfinite(self._high - self._low):
            return []
        return [self._low + share * (self._high - self._low) for share in _SHARES]

    def _check_bounds(self, name: str, where: Any, found: float) -> None:
        slack = _ROUNDING * (1.0 + abs(found))
        if not self._low - slack <= found <= self._high + slack:
            expected = f"from lower to upper, {self._low:g} to {self._high:g}"
            self._refuse(name, where, expected, found)

    def _check_gains(
        self, decision: float, value: float, pull: float, gains: dict[float, float]
    ) -> None:
        """Return the inequality at all coefficients, and the equality at that of the decision."""
        for beta, gain in gains.items():
            most = value + beta * self._direction * decision
            slack = _ROUNDING * (1.0 + value + abs(beta * decision) + abs(most))
            if beta == pull and not abs(gain - most) <= slack:
                expected = f"value + beta * direction * decision = {most:g} at beta = pull"
            elif not gain <= most + slack:
                expected = f"value + beta * direction * decision = {most:g} at the most"
            else:
                continue
            self._refuse("gain", decision, expected, gain, f", beta {beta:g}")

    def _check_best(
        self, decision: float, beta: float, curvature: float, gains: dict[float, float]
    ) -> None:
        """That no coefficient is better than the best."""
        found = self._of(self._loss.best, beta, decision, curvature)
        more = f", beta {beta:g}, curvature {curvature:g}"
        self._check_bounds("best", decision, found)

        def dual(other: float, gain: float) -> float:
            move = other - beta
            return gain - move * self._direction * decision - 0.5 * curvature * move**2

        found_dual = dual(found, self._of(self._loss.gain, found))
        for other, gain in gains.items():
            better = dual(other, gain)
            if better > found_dual + _LOOSE * (1.0 + abs(better) + abs(found_dual)):
                self._refuse("best", decision, f"the maximiser ({other:g} is better)", found, more)

    def _refuse(
        self, name: str, decision: float, expected: str, found: float, more: str = ""
    ) -> None:
        raise ValueError(
            f"loss must have a {name} that is {expected}, got {found:g} from "
            f"{type(self._loss).__name__} at decision {decision:g}, target {self._target:g}{more}"
        )


def some_of(targets: Sequence[float]) -> tuple[float, ...]:
    """Return the least and the largest of some targets, and some between."""
    ordered = sorted(targets)
    last = len(ordered) - 1
    return tuple({float(ordered[last * part // 4]): None for part in range(5)})
