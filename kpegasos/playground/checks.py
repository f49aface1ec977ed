"""What may cross the wire, by its limits, and how it is told that something may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kpegasos.utils.validation import as_choice, as_flag, as_integer, as_number, shown

#: Characters of a message, and of a table in it.
MOST_TEXT = 1 << 20
MOST_POINTS = 2000
MOST_CLASSES = 4
MOST_STEPS = 10_000_000
#: Of a coordinate.
FARTHEST = 1e6
KERNELS = ("linear", "rbf", "poly", "laplacian", "sigmoid")
SAMPLINGS = ("permutation", "uniform")
STEP_RULES = ("inverse_sqrt", "constant", "delayed")
PRESETS = ("moons", "circles", "xor", "spirals", "blobs", "imbalanced", "label_noise")
#: Others than Pegasos.
ALGORITHMS = ("polish", "SVC")
EXPORTS = ("code", "csv", "png", "svg", "gif")
#: Of C, lam, gamma and step sizes.
SMALLEST, LARGEST = 1e-9, 1e9
#: Beyond this JavaScript does not count.
MOST_NUMBER = 2**53
LARGEST_SEED = 2**32 - 1


#: Checks a value, and returns it as a plain one.
Check = Callable[[Any], Any]


class MessageError(ValueError):
    """A message will not do.

    Attributes
    ----------
    parameter : str
        What is wrong, by its name in the message.
    """

    def __init__(self, parameter: str, sentence: str) -> None:
        super().__init__(sentence)
        self.parameter = parameter


def checked(parameter: str, check: Callable[..., Any], value: Any, **limits: Any) -> Any:
    """Apply a check of `kpegasos.utils.validation`.

    Raises
    ------
    MessageError
        With its sentence.
    """
    try:
        return check(parameter, value, **limits)
    except (ValueError, TypeError) as error:
        raise MessageError(parameter, str(error)) from None


def checked_object(parameter: str, value: Any, known: Mapping[str, Any] | set[str]) -> dict:
    """An object whose keys are all known.

    Raises
    ------
    MessageError
        If it is something else.
    """
    if not isinstance(value, dict):
        raise MessageError(parameter, f"{parameter} must be an object, got {shown(value)} instead")
    for key in value:
        if key not in known:
            raise MessageError(
                key if len(key) <= 40 else parameter,
                f"{parameter} must have no other keys than {', '.join(sorted(known))}, "
                f"got {shown(key)}",
            )
    return value


def integer(name: str, *, least: int = 0, most: int = MOST_NUMBER) -> Check:
    """A check for whole numbers."""
    return lambda value: checked(name, as_integer, value, least=least, most=most)


def number(name: str, least: float, most: float) -> Check:
    """A check for numbers."""
    return lambda value: checked(name, as_number, value, least=least, most=most)


def choice(name: str, choices: tuple[str, ...]) -> Check:
    """A check for names."""
    return lambda value: checked(name, as_choice, value, choices=choices)


def flag(name: str) -> Check:
    """A check for true and false."""
    return lambda value: checked(name, as_flag, value)
