"""Ticks of logarithmic axes: 1, 2 and 5 of each decade where there is room, never on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, LogLocator, NullLocator

#: Up to so many ticks have labels other than those of decades.
_MOST_TICKS = 10
#: Width of a power of ten, in digits.
_POWER = 3
#: Numbers in this range are written out; an axis with others has powers of ten.
_SMALLEST, _LARGEST = 0.001, 500_000.0


class OneTwoFiveLocator(LogLocator):
    """Ticks at 1, 2 and 5 of each decade, at decades alone, or at some decades, as there is room.

    Parameters
    ----------
    most : int, default=None
        Largest number of ticks; as many as there is room for if None.
    """

    def __init__(self, most: int | None = None) -> None:
        super().__init__(subs=(1.0, 2.0, 5.0))
        self.most = most

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the positions of the ticks between two values."""
        low, high = sorted((vmin, vmax))
        if not 0 < low < high or not math.isfinite(high):
            return super().tick_values(vmin, vmax)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        exponents = np.arange(first, last + 1)
        fine = ticks = _within(np.outer(10.0**exponents, (1.0, 2.0, 5.0)).ravel(), low, high)
        decades = _within(10.0**exponents, low, high)
        plain = low >= _SMALLEST and high <= _LARGEST
        room = self.most or self._room(fine if plain else fine[:0])
        if len(ticks) > min(room, _MOST_TICKS) or (len(decades) > 1 and not plain):
            ticks = decades
        stride = 1
        while len(ticks) > max(room, 2):
            stride += 1
            ticks = _within(10.0 ** exponents[exponents % stride == 0], low, high)
        found = ticks
        if len(ticks) < 2 <= len(fine):
            found = fine[np.linspace(0, len(fine) - 1, min(len(fine), max(room, 2))).astype(int)]
        elif len(ticks) < 2:
            found = _inside_a_decade(low, high, max(room, 2))
        return [float(tick) for tick in found]

    def _room(self, plain: np.ndarray) -> int:
        """Return how many labels there is room for, some of them numbers that are written out."""
        if self.axis is None:
            return _MOST_TICKS
        space = int(self.axis.get_tick_space())
        if not isinstance(self.axis, XAxis):
            return space
        # The space is meant for labels three times as wide as high.
        longest = max([_POWER, *(len(_plain(value)) for value in plain)])
        return max(2, int(space * 3 / (0.65 * longest + 1)))


class LogNumberFormatter(Formatter):
    """Plain numbers on an axis from 0.001 to 500,000, powers of ten on others."""

    def format_ticks(self, values: list[float]) -> list[str]:
        """Return the labels of all ticks of an axis, in one notation."""
        sizes = [abs(value) for value in values if value]
        plain = all(_SMALLEST * 0.999 <= size <= _LARGEST * 1.001 for size in sizes)
        return [_plain(value) if plain else power_of_ten(value) for value in values]

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return self.format_ticks([x])[0]


def log_ticks(ax: Axes, which: str = "both", *, most: int | None = None) -> None:
    """Give logarithmic axes ticks that can be read.

    Parameters
    ----------
    ax : Axes
        The axes; those of its two axes that are not logarithmic are left as they are.
    which : {"x", "y", "both"}, default="both"
        Which axis.
    most : int, default=None
        Largest number of ticks; as many as there is room for if None.
    """
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if which in (name, "both") and axis.get_scale() == "log":
            axis.set_major_locator(OneTwoFiveLocator(most))
            axis.set_major_formatter(LogNumberFormatter())
            axis.set_minor_locator(NullLocator())


def ticks_at(axis: Axis, values: np.ndarray) -> None:
    """Put a tick at each of a few values of a logarithmic axis; leave the ticks of many as is."""
    if values.size <= _MOST_TICKS:
        axis.set_ticks(values.tolist(), [_short(value) for value in values])
        axis.set_minor_locator(NullLocator())


def power_of_ten(value: float) -> str:
    """Return a number as mathtext: a power of ten, times a factor if it has one."""
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = mantissa.rstrip("0").rstrip(".")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if digits == "1" else rf"${digits}\times{power}$"


def _within(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the values between two others, which rounding must not exclude."""
    return values[(values >= low * (1 - 1e-9)) & (values <= high * (1 + 1e-9))]


def _inside_a_decade(low: float, high: float, most: int) -> np.ndarray:
    """Return round values where an axis is too short for 1, 2 and 5."""
    first = math.floor(math.log10(high - low)) - 1
    for step in 10.0 ** np.arange(first, first + 3.0):
        for factor in (1.0, 2.0, 5.0):
            width = factor * step
            ticks = np.arange(math.ceil(low / width - 1e-9), high / width + 1e-9) * width
            if len(ticks) <= min(most, 5):
                return ticks
    raise AssertionError("a step beyond the range leaves one tick at most")


def _plain(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
    return np.format_float_positional(value, precision=4, fractional=False, trim="-")


def _short(value: float) -> str:
    """Return a label: three digits, or a power of ten for what is far from 1."""
    if 1e-4 <= abs(value) < 1e5:
        return np.format_float_positional(value, precision=3, fractional=False, trim="-")
    return power_of_ten(value)
