"""Values to search, as words of a command line: numbers, lists, powers from one to another.

``0.1,1,10`` is a list, ``2^-5:15:2`` are the powers of 2 with the exponents -5, -3 up to 15, and
``scale`` and ``auto`` are left for the search to resolve. ``-5,15,2`` after ``-log2c`` is what
LIBSVM's grid.py takes.
"""

from __future__ import annotations

import argparse
import math

#: Most values of one parameter, as in `PegasosSVCCV`.
MOST_VALUES = 1000
#: What the last step may miss the end by, as a part of a step.
_ROUNDING = 1e-9

Value = float | str


def numbers(text: str) -> list[Value]:
    """Numbers of a list, whose members may be ranges of powers."""
    return _different(text, [value for part in text.split(",") for value in _members(part)])


def positive_numbers(text: str) -> list[Value]:
    """Numbers above zero, as values of C are."""
    values = numbers(text)
    for value in values:
        if not float(value) > 0.0:
            raise argparse.ArgumentTypeError(f"must be positive, got {value:g} in {text!r}")
    return values


def gammas(text: str) -> list[Value]:
    """Numbers above zero, ``scale`` and ``auto``."""
    found: list[Value] = []
    for part in text.split(","):
        word = part.strip()
        found += [word] if word in ("scale", "auto") else positive_numbers(part)
    return _different(text, found)


def degrees(text: str) -> list[int]:
    """Integers that are not negative."""
    values = [float(value) for value in numbers(text)]
    for value in values:
        if value < 0 or not value.is_integer():
            raise argparse.ArgumentTypeError(
                f"must be integers that are not negative, got {value:g} in {text!r}"
            )
    return [int(value) for value in values]


def log2_of_C(text: str) -> list[Value]:
    """Values of C as grid.py has them; LIBSVM's default, 1, if they are ``null``."""
    return [1.0] if text == "null" else _powers_of_two(text)


def log2_of_gamma(text: str) -> list[Value]:
    """Values of gamma as grid.py has them; LIBSVM's default, ``auto``, if they are ``null``."""
    return ["auto"] if text == "null" else _powers_of_two(text)


def _powers_of_two(text: str) -> list[Value]:
    """What ``begin,end,step`` means to grid.py."""
    parts = text.split(",")
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(f"must be begin,end,step or null, got {text!r}")
    return _different(text, _powers(text, "2", parts))


def _members(text: str) -> list[Value]:
    """A number, a power, or a range of powers."""
    base, hat, exponents = text.strip().partition("^")
    if hat:
        return _powers(text, base, exponents.split(":"))
    return [_number(text, base)]


def _powers(text: str, base: str, exponents: list[str]) -> list[Value]:
    """Powers of 2 or 10 with the exponents from one to another."""
    if base not in ("2", "10"):
        raise argparse.ArgumentTypeError(f"must have powers of 2 or 10, got {text!r}")
    if len(exponents) > 3:
        raise argparse.ArgumentTypeError(f"must be base^begin:end:step, got {text!r}")
    begin, *others = (_number(text, exponent) for exponent in exponents)
    end = others[0] if others else begin
    step = others[1] if len(others) > 1 else math.copysign(1.0, end - begin)
    if step == 0.0 or (end - begin) / step < 0.0:
        raise argparse.ArgumentTypeError(
            f"must have a step that leads from {begin:g} to {end:g}, got {step:g} in {text!r}"
        )
    n_steps = (end - begin) / step + _ROUNDING
    if n_steps >= MOST_VALUES:
        raise argparse.ArgumentTypeError(f"must have at most {MOST_VALUES} values, got {text!r}")
    return [_power(text, int(base), begin + k * step) for k in range(int(n_steps) + 1)]


def _power(text: str, base: int, exponent: float) -> float:
    try:
        # 10.0**-1 is 0.1 to the last bit, where other exponents may differ from what is written.
        power = float(f"1e{exponent:g}") if _is_decimal(base, exponent) else base**exponent
    except OverflowError:
        power = math.inf
    if not 0.0 < power < math.inf:
        raise argparse.ArgumentTypeError(f"must have finite powers, got {base}^{exponent:g}")
    return float(power)


def _is_decimal(base: int, exponent: float) -> bool:
    return base == 10 and exponent.is_integer()


def _number(text: str, word: str) -> float:
    """A finite number; ``1_000`` is none outside of Python."""
    try:
        number = math.nan if "_" in word else float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(
            f"must be numbers, a list of them or powers as 2^-5:15:2, got {text!r}"
        )
    return number


def _different(text: str, values: list[Value]) -> list[Value]:
    if len(values) > MOST_VALUES:
        raise argparse.ArgumentTypeError(f"must have at most {MOST_VALUES} values, got {text!r}")
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"must have different values, got one twice in {text!r}")
    return values
