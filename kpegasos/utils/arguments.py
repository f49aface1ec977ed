"""Arguments of formulas: arrays of numbers within a range, which broadcast against each other."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kpegasos.utils.validation import LARGEST, SMALLEST, as_array, as_flag

Values = NDArray[np.float64] | np.float64
Bound = TypeVar("Bound", bound=Callable[..., Any])


def numbers(name: str, values: Any) -> Values:
    """Arguments as float64.

    Raises
    ------
    ValueError
        If they are no real numbers.
    """
    return as_array(name, values, expected="be a number or an array of them", kinds="iufO")


def require(name: str, values: Values, holds: Any, expected: str) -> Values:
    """Return values that hold, and raise a ValueError that shows one that does not."""
    if not np.all(holds):
        wrong = np.asarray(values)[~np.asarray(holds)].flat[0]
        raise ValueError(f"{name} must be {expected}, got {wrong:.10g} instead")
    return values


def steps(n_steps: ArrayLike, least: int = 3) -> Values:
    """Return numbers of steps."""
    values = numbers("n_steps", n_steps)
    holds = (values >= least) & (values < np.inf)
    require("n_steps", values, holds, f"at least {least} and finite")
    return require("n_steps", values, values <= LARGEST, f"at most {LARGEST:g}")


def positive(name: str, value: ArrayLike, most: float = LARGEST) -> Values:
    """Return positive numbers, within what formulas can square and divide by."""
    values = numbers(name, value)
    require(name, values, (values > 0) & (values < np.inf), "a positive finite number")
    holds = (values >= SMALLEST) & (values <= most)
    return require(name, values, holds, f"between {SMALLEST:g} and {most:g}")


def real(name: str, value: ArrayLike) -> Values:
    """Return finite numbers, within what formulas can square."""
    values = numbers(name, value)
    require(name, values, np.isfinite(values), "finite")
    return require(name, values, np.abs(values) <= LARGEST, f"between ±{LARGEST:g}")


def non_negative(name: str, value: ArrayLike) -> Values:
    """Return numbers that are not negative, within what formulas can square."""
    values = numbers(name, value)
    require(name, values, (values >= 0) & (values < np.inf), "0 or a positive finite number")
    return require(name, values, values <= LARGEST, f"at most {LARGEST:g}")


def probability(
    value: ArrayLike, below: float = 1.0, limit: str = "1", *, name: str = "delta"
) -> Values:
    """Return probabilities above 0 and below a limit."""
    values = numbers(name, value)
    return require(name, values, (values > 0) & (values < below), f"above 0 and below {limit}")


def broadcasting(bound: Bound) -> Bound:
    """Have the arguments of a bound checked to be numbers that broadcast against each other."""
    signature = inspect.signature(bound)

    @wraps(bound)
    def checked(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options).arguments
        as_flag("projection", given.pop("projection", False))
        shapes = [np.shape(numbers(name, values)) for name, values in given.items()]
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            raise ValueError(
                f"{', '.join(given)} must have shapes that fit together, "
                f"got {', '.join(map(str, shapes))} instead"
            ) from None
        with np.errstate(over="ignore"):  # where a bound is beyond all numbers
            return bound(*args, **options)

    return cast(Bound, checked)
