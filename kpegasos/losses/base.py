"""Losses, and how compiled loops and numpy code call them.

A loss is a NamedTuple of its parameters with four methods on plain floats, each about one example
with decision ``f`` and target ``y``. Of a classification loss y is ±1 and the *direction* of the
example is y; of a regression loss y is any number and the direction is 1. With the direction s:

- ``value(decision, target)``: the loss ``ℓ(f)``, convex in f and not negative;
- ``pull(decision, target)``: ``-s · ∂ℓ/∂f``, what a step adds to the coefficient of the example;
- ``gain(beta, target)``: what the example gives to the dual, ``-ℓ*(-s β)``;
- ``best(beta, decision, target, curvature)``: the b that maximises
  ``gain(b) - (b - β) s f - curvature / 2 · (b - β)²``, dual ascent in one coordinate, with a
  positive curvature;

and three numbers, which may depend on the parameters: ``lower`` and ``upper``, between which
coefficients β lie, and ``lipschitz``, the largest slope of the loss, infinite if there is none.

Two more methods may come on top. ``piece(beta, target)`` makes ascents faster: the ends of the
piece around β on which ``gain`` is smooth, and slope and bend (minus the second derivative) of
``gain`` at β. ``check()`` raises a ValueError for parameters that will not do.

Loops take a loss by its type, as they take rows: numba compiles its methods into them, so they
cost no call. It knows compiled code by names, so a class of the same name that is defined anew, as
in a notebook, would meet the old loop: `for_loops` gives classes from outside the package names of
their own, which are new in each process. Without numba's compiler the same methods run as they are.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np
from numba.extending import overload

from kpegasos.utils.compiled import OVERLOADS, compiled
from kpegasos.utils.validation import shown

#: A decision this close to a corner of a loss, relative to the corner, is at the corner: sums of
#: the same numbers in another order differ by less, and must decide alike.
TIE = 1e-10


#: No curvature that ``best`` is asked for is less, so that it may divide by it.
FLATTEST = 1e-300


def described(
    *, regression: bool, lower: float, upper: float, lipschitz: float
) -> Callable[[Any], Any]:
    """Set the numbers of a loss that do not depend on its parameters; see the module."""

    def decorate(kind: Any) -> Any:
        kind.regression, kind.lower, kind.upper = regression, lower, upper
        kind.lipschitz = lipschitz
        return kind

    return decorate


def _bare(method: Any) -> Any:
    """Strip a method of annotations, which numba would compare with those of an overload."""
    parts = method.__code__, method.__globals__, method.__name__, method.__defaults__
    return FunctionType(*parts, method.__closure__)


def _by_method(name: str, otherwise: Any = None) -> Any:
    """Make a function that calls a method of a loss, for compiled callers as well."""

    def function(loss: Any, *numbers: Any) -> Any:
        return getattr(type(loss), name, otherwise)(loss, *numbers)

    def method(loss: Any, *numbers: Any) -> Any:
        return _bare(getattr(loss.instance_class, name, otherwise))

    overload(function, jit_options=OVERLOADS, strict=False)(method)
    return function


def _no_piece(loss: Any, beta: float, target: float) -> tuple[float, float, float, float]:
    """Return a piece of no length."""
    return beta, beta, 0.0, 0.0


value, pull, gain, best = map(_by_method, ("value", "pull", "gain", "best"))
piece = _by_method("piece", _no_piece)

#: Arguments of the methods, in order.
_METHODS: dict[str, list[str]] = {
    "value": ["self", "decision", "target"],
    "pull": ["self", "decision", "target"],
    "gain": ["self", "beta", "target"],
    "best": ["self", "beta", "decision", "target", "curvature"],
}


def check_loss(loss: Any) -> Any:
    """Return a loss that can be compiled into loops.

    The methods of a class from outside the package are tried at some decisions: of a classification
    loss here, for both labels; of a regression loss by `make_problem`, which has the targets.

    Parameters
    ----------
    loss : Loss

    Returns
    -------
    Loss
        With its parameters as floats.

    Raises
    ------
    TypeError
        Naming what it lacks.
    ValueError
        If its methods do not belong together, or a parameter will not do.
    """
    kind: Any = type(loss)
    if not (isinstance(loss, tuple) and hasattr(kind, "_fields")):
        raise TypeError(
            f"loss must be a loss, such as Hinge() or a NamedTuple of your own with its methods, "
            f"got {shown(loss)} instead"
        )
    _check_methods(kind)
    for name in ("regression", "lower", "upper", "lipschitz"):
        if not hasattr(loss, name):
            raise TypeError(f"loss must have {name}, got a {kind.__name__} without it instead")
    numbers = [float(number) for number in loss]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"loss must have finite parameters, got {loss!r} instead")
    if hasattr(loss, "check"):
        loss.check()
    loss = kind(*numbers)  # floats, so that no loop is compiled twice
    if not loss.lower <= 0.0 <= loss.upper:
        raise ValueError(
            f"loss must have lower <= 0 <= upper, got {loss.lower:g} and {loss.upper:g} instead"
        )
    if is_foreign(loss) and not loss.regression:
        probe(loss, (-1.0, 1.0))
    return loss


def is_foreign(loss: Any) -> bool:
    """Return whether a loss is of a class from outside the package."""
    return not type(loss).__module__.startswith("kpegasos.")


@cache
def _check_methods(kind: type) -> None:
    optional = {"piece": ["self", "beta", "target"]} if hasattr(kind, "piece") else {}
    for name, wanted in {**_METHODS, **optional}.items():
        method = getattr(kind, name, None)
        names = list(inspect.signature(method).parameters) if callable(method) else None
        if names != wanted:
            got = "none" if names is None else f"{name}({', '.join(names)})"
            raise TypeError(
                f"loss must have a method {name}({', '.join(wanted)}), "
                f"got {got} in {kind.__name__} instead"
            )


_NUMBERS = count()


def for_loops(loss: Any) -> Any:
    """Return a loss as compiled code may get it."""
    kind: Any = type(loss)
    if not is_foreign(loss) or hasattr(kind, "_is_renamed"):
        return loss
    names = (*_METHODS, "piece", "lower", "upper", "lipschitz")
    members = tuple(inspect.getattr_static(kind, name, None) for name in names)
    return _renamed(kind, members, tuple(map(_constants, members)))(*loss)


def _constants(member: Any) -> tuple[Any, ...]:
    """Return the global numbers and compiled functions that a method uses: constants in a loop."""
    function = member.fget if isinstance(member, property) else member
    if not isinstance(function, FunctionType):
        return ()
    outside = function.__globals__
    used = {name: outside.get(name) for name in function.__code__.co_names}
    constants = (bool, int, float, np.generic, FunctionType)
    return tuple(
        (name, type(each), each)
        for name, each in used.items()
        if isinstance(each, constants) or hasattr(each, "py_func")
    )


@cache
def _renamed(kind: type, members: tuple[Any, ...], constants: tuple[Any, ...]) -> type:
    """Return a class like another, of a name that no other has."""
    name = f"{kind.__name__}_{next(_NUMBERS)}"
    own = {"__slots__": (), "__module__": kind.__module__, "_is_renamed": True}
    return type(name, (kind,), own)


@compiled()
def _values(loss: Any, decisions: np.ndarray, targets: np.ndarray, out: np.ndarray) -> None:
    for i in range(decisions.size):
        out[i] = value(loss, decisions[i], targets[i])


@compiled()
def _pulls(loss: Any, decisions: np.ndarray, targets: np.ndarray, out: np.ndarray) -> None:
    for i in range(decisions.size):
        out[i] = pull(loss, decisions[i], targets[i])


@compiled()
def _bests(
    loss: Any,
    betas: np.ndarray,
    decisions: np.ndarray,
    targets: np.ndarray,
    curvatures: np.ndarray,
    out: np.ndarray,
) -> None:
    for i in range(betas.size):
        out[i] = best(loss, betas[i], decisions[i], targets[i], curvatures[i])


def _of_each(function: Any, loss: Any, *columns: Any) -> np.ndarray:
    """Return what a function makes of each example, from vectors of one length."""
    vectors = [np.ascontiguousarray(column, dtype=np.float64) for column in columns]
    shapes = [vector.shape for vector in vectors]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1:
        raise ValueError(
            f"targets must be a vector as long as the numbers, got shapes {shapes[-1]} and "
            f"{shapes[0]} instead"
        )
    out = np.empty(shapes[0])
    function(for_loops(loss), *vectors, out)
    return out


def bests(loss: Any, betas: Any, decisions: Any, targets: Any, curvatures: Any) -> np.ndarray:
    """Return the maximisers of the dual in each coordinate separately.

    Parameters
    ----------
    loss : Loss
    betas, decisions, targets, curvatures : ndarray of shape (n_samples,), float64

    Returns
    -------
    ndarray of shape (n_samples,), float64
    """
    return _of_each(_bests, loss, betas, decisions, targets, curvatures)


def values(loss: Any, decisions: Any, targets: Any) -> np.ndarray:
    """Return losses of some examples.

    Parameters
    ----------
    loss : Loss
    decisions, targets : ndarray of shape (n_samples,), float64

    Returns
    -------
    ndarray of shape (n_samples,), float64
    """
    return _of_each(_values, loss, decisions, targets)


def pulls(loss: Any, decisions: Any, targets: Any) -> np.ndarray:
    """Return what a step would add to the coefficients; parameters are those of `values`."""
    return _of_each(_pulls, loss, decisions, targets)


# --- whether a user's methods fit together --------------------------------------------------------
#
# Loops and certificates believe a loss: a wrong ``gain`` makes a dual bound that is none, for which
# the kernel would be blamed. By Fenchel and Young ``gain(beta) <= value + beta · s · f``, and both
# are the same at ``beta = pull``; where that holds at all pairs of decisions, the loss is convex.

_DECISIONS = (-30.0, -3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 2.0, 30.0)
#: Decisions around the target of a regression, relative to it.
_AROUND = (-3.0, -0.5, 0.0, 1.0)
#: Decisions up to this size are met in every fit, so that losses have to be finite there.
_USUAL = 1.0
_CURVATURES = (0.5, 20.0)
#: Relative errors: of formulas, and of a maximum that may be found by iterations.
_ROUNDING, _LOOSE = 1e-8, 1e-6
_SHARES = (0.1, 0.5, 0.9)


def probe(loss: Any, targets: tuple[float, ...]) -> None:
    """Check a loss, once; plain Python calls its methods, so that nothing is compiled.

    It is checked again when what its methods use has another value, as it is compiled again.

    Parameters
    ----------
    loss : Loss
    targets : tuple of float

    Raises
    ------
    ValueError
        Naming the method, where it was asked, what was expected and what came.
    """
    kind: Any = type(for_loops(loss))
    _probe_once(loss, targets, kind)


@lru_cache(maxsize=64, typed=True)  # losses of two types without parameters are equal
def _probe_once(loss: Any, targets: tuple[float, ...], _kind: Any) -> None:
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
        """Check the inequality at all coefficients, and the equality at that of the decision."""
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
        """Check that no coefficient is better than the best."""
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
