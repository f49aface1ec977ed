"""From counts on two parts of the examples to the counts of all: powers of the number of examples.

Kernel rows grow in number and in length. How fast their number grows lies between the data (more
noise, more support vectors: as fast as the examples) and the regime (fewer examples than a working
set wants), so an exponent that no run can have is not believed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kpegasos.estimators._probe import Work

#: Exponents between which the number of examples may let a count grow.
_LIMITS: dict[str, tuple[float, float]] = {
    "row_values": (1.3, 2.0),
    "other_values": (1.0, 2.0),
    "exact_values": (1.0, 2.0),
    "additions": (1.3, 2.4),
    "rows_kept": (0.3, 1.0),
    "support": (0.3, 1.0),
    "steps": (0.4, 1.5),
    "draws": (0.0, 1.0),
}
#: Exponents of rows where the two parts are not of one regime: the support's, and one for a side.
_OF_ROWS = {"row_values": 1.0, "rows_kept": 0.0}
#: How far off an exponent may be.
_DOUBT = 0.15


class Grown(NamedTuple):
    """What a count is expected to be.

    Attributes
    ----------
    value, low, high : float
    """

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Grown:
        """The same in other units."""
        return Grown(*(each * factor for each in self))

    def widened(self, factor: float) -> Grown:
        """The same, and a range that is so much wider on both sides."""
        return Grown(self.value, self.low / factor, self.high * factor)

    def unbounded(self) -> Grown:
        """The same without an upper end: what is known is too little."""
        return Grown(self.value, self.low, math.inf)


class Growth:
    """Work on two parts, and what it says about the whole.

    Parameters
    ----------
    shares : tuple of float
        Of the smaller part and of the larger, as shares of all examples.
    works : tuple of Work
        What they took.
    alike : bool
        Whether rows are chosen in the same way in both; else those of the larger part grow as its
        support does.
    """

    def __init__(
        self, shares: tuple[float, float], works: tuple[Work, Work], alike: bool = True
    ) -> None:
        self._share = shares[1]
        self._ratio = math.log(shares[1] / shares[0])
        self._works = works
        self._alike = alike

    def last(self, name: str) -> float:
        """A count of the larger part."""
        return float(getattr(self._works[1], name))

    def exponent(self, name: str) -> float:
        """Power of the number of examples that a count grows with."""
        if name in _OF_ROWS and not self._alike:
            return _OF_ROWS[name] + self.exponent("support")
        small, large = (float(getattr(work, name)) for work in self._works)
        least, most = _LIMITS[name]
        if not (small > 0.0 and large > 0.0):
            return most
        return min(most, max(least, math.log(large / small) / self._ratio))

    def whole(self, name: str) -> Grown:
        """What a count is for all examples."""
        count, exponent = getattr(self._works[1], name), self.exponent(name)
        least, most = _LIMITS[name]
        exponents = exponent, max(least, exponent - _DOUBT), min(most, exponent + _DOUBT)
        return Grown(*(count * (1.0 / self._share) ** power for power in exponents))
