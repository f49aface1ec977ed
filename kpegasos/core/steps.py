"""Step rules: the sizes ``η_t`` of the steps.

Pegasos' own, ``1 / (lam t)``, needs no rule: `primal_steps` has it in closed form, as counts. Any
other is a function of the step's number; ``w ← (1 - η_t lam) w + η_t · (pull of the batch)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kpegasos.utils.validation import as_number, shown

#: By how much ``η_t lam`` may exceed 1, since it is rounded.
_ROUNDING = 1e-12


@runtime_checkable
class StepRule(Protocol):
    """A function of the numbers of the steps."""

    def __call__(self, t: np.ndarray, lam: float) -> np.ndarray:
        """Return sizes ``η_t``.

        Parameters
        ----------
        t : ndarray of shape (n_steps,), int64
            Numbers of the steps; the first is 1.
        lam : float

        Returns
        -------
        ndarray of shape (n_steps,)
        """
        ...


@dataclass(frozen=True)
class InverseSquareRoot:
    """``min(c / √t, 1 / lam)``: the rule for convex losses without strong convexity.

    Parameters
    ----------
    c : float, default=1.0
        Positive.
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", as_number("c", self.c, positive=True))

    def __call__(self, t: np.ndarray, lam: float) -> np.ndarray:
        """Return sizes ``η_t``."""
        return np.minimum(self.c / np.sqrt(t), 1.0 / lam)


@dataclass(frozen=True)
class Constant:
    """``min(eta, 1 / lam)``.

    Parameters
    ----------
    eta : float, default=1.0
        Positive.
    """

    eta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", as_number("eta", self.eta, positive=True))

    def __call__(self, t: np.ndarray, lam: float) -> np.ndarray:
        """Return sizes ``η_t``."""
        return np.full(t.shape, min(self.eta, 1.0 / lam))


@dataclass(frozen=True)
class DelayedInverse:
    """``2 / (lam (t + 1))``, which the weighted average is made for.

    Lacoste-Julien, Schmidt, Bach (2012), Sec. 3.
    """

    def __call__(self, t: np.ndarray, lam: float) -> np.ndarray:
        """Return sizes ``η_t``; the first is ``1 / lam``."""
        return 2.0 / (lam * (t + 1.0))


def check_step(step: Any) -> Any:
    """Return a step rule, or None for Pegasos' own.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if step is None or callable(step):
        return step
    raise ValueError(
        f"step must be None for 1/(lam t), or a function of the steps' numbers and lam, "
        f"got {shown(step)} instead"
    )


def rates_of(step: Callable[..., Any], first: int, n_steps: int, lam: float) -> np.ndarray:
    """Compute ``η_t lam`` of some steps.

    Parameters
    ----------
    step : StepRule
    first : int
        Number of the first step.
    n_steps : int
    lam : float

    Returns
    -------
    ndarray of shape (n_steps,), float64

    Raises
    ------
    ValueError
        If the rule fails for an array, or returns a wrong shape or a size that is not positive or
        above ``1 / lam``.
    """
    numbers = np.arange(first, first + n_steps)
    try:
        sizes = np.asarray(step(numbers, lam), dtype=np.float64)
    except (TypeError, ValueError) as error:
        hint = " (np.minimum takes one, min does not)" if "truth value" in str(error) else ""
        raise ValueError(
            f"step must return sizes for an array of the steps' numbers{hint} and lam, "
            f"got {type(error).__name__}: {error}"
        ) from error
    if sizes.shape not in ((), numbers.shape):
        raise ValueError(
            f"step must return a size for each of {n_steps} steps, got shape {sizes.shape} instead"
        )
    # A copy: a read-only array is another type, for which loops would be compiled again.
    rates = np.array(np.broadcast_to(sizes * lam, numbers.shape))
    wrong = ~((rates > 0.0) & (rates <= 1.0 + _ROUNDING))
    if wrong.any():
        t = int(wrong.argmax())
        raise ValueError(
            f"step must return sizes above 0 and at most 1/lam = {1.0 / lam:.6g}, "
            f"got {rates[t] / lam:g} at step {first + t} instead"
        )
    return rates
