"""Leave computations that nobody waits for, however deep, and count their kernel values.

A caller says when to stop, in a block around the call: `heeding`. What takes long asks between two
pieces of work: `heed`. Neither knows the other, and nothing is handed through the calls between
them. `kpegasos.utils.threads` carries blocks on to its threads.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np


class CutShort(BaseException):
    """A computation has been left, as nobody waits for it any more.

    Whoever opened the block of `heeding` catches it.
    """


class Counter:
    """Kernel values that computations have begun in a block of `counting`, whatever comes of them.

    Attributes
    ----------
    values : int
        Approximate: threads that count at the same moment may count once.
    most : float
        How many are allowed; see `room`.
    """

    values = 0
    most = math.inf


#: What to ask, and whether it is asked within `finishing`, too.
_Waiting = tuple[Callable[[], bool], bool]
_waiting: ContextVar[tuple[_Waiting, ...]] = ContextVar("kpegasos_waiting", default=())
_counters: ContextVar[tuple[Counter, ...]] = ContextVar("kpegasos_counters", default=())


def heed(n_values: int = 0) -> None:
    """Leave the computation if a block around says so; else count so many kernel values.

    Raises
    ------
    CutShort
        If a function of a block around says no.
    """
    for goes_on, _ in _waiting.get():
        if not goes_on():
            raise CutShort
    count(n_values)


def count(n_values: int) -> None:
    """Count so many kernel values, whoever waits for them."""
    for counter in _counters.get():
        counter.values += n_values


def room() -> int:
    """Return how many kernel values may still be counted."""
    left = min((counter.most - counter.values for counter in _counters.get()), default=math.inf)
    return int(min(left, sys.maxsize))


@contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def heeding(goes_on: Callable[[], bool], *, for_good: bool = False) -> Any:
    """Open a block whose computations are left as soon as ``goes_on()`` is false.

    Parameters
    ----------
    goes_on : callable
        Asked often, and from any thread.
    for_good : bool, default=False
        Whether it is asked within `finishing`, too.
    """
    return _set(_waiting, (*_waiting.get(), (goes_on, for_good)))


def finishing() -> Any:
    """Open a block that only functions ``for_good`` can end, as it would be left half done."""
    return _set(_waiting, tuple(each for each in _waiting.get() if each[1]))


def counting(counter: Counter) -> Any:
    """Count the kernel values of a block."""
    return _set(_counters, (*_counters.get(), counter))


class Pace:
    """Calls of a function, in pieces if it is slow.

    What a function makes of one piece or another may differ in the last bit, so what takes less
    than a moment as a whole is never cut, and how long it takes is measured on values that are not
    used. Of two calls in a row the faster one counts: a busy machine may hold up the other.

    Parameters
    ----------
    seconds_each : float, default=nan
        What a value takes, if it is known: then pieces are the same whatever the clock says.
    """

    def __init__(self, seconds_each: float = math.nan) -> None:
        self._seconds_each = seconds_each
        self._last = math.inf
        self._is_measured = math.isnan(seconds_each)

    @property
    def seconds_each(self) -> float:
        """What a value takes, as far as it is known."""
        return self._seconds_each

    def square(self, function: Callable[[Any, Any], Any], A: Any, most: int) -> int:
        """Choose how many rows are taken against themselves at a time: ``most``, or one."""
        return most if self.is_quick(function, A, A, A.shape[0] * most) else 1

    def rows(self, function: Callable[[Any, Any], Any], A: Any, most: int, width: int) -> int:
        """Return how many rows of so many values make one `call`: ``most``, fewer, or none.

        Parameters
        ----------
        function : callable
        A : ndarray or CSR matrix of shape (n_rows, n_features)
            A few rows, by which a value is timed.
        most, width : int
        """
        if self.is_quick(function, A, A, most * width):
            return most
        return min(most, int(0.1 / (self._seconds_each * width)))

    def call(self, function: Callable[[Any, Any], np.ndarray], A: Any, B: Any) -> np.ndarray:
        """``function(A, B)``, of shape (n_a, n_b)."""
        n_rows, n_columns = A.shape[0], B.shape[0]
        heed()
        size = n_rows * n_columns
        if self.is_quick(function, A, B, size):
            return self.timed(function, A, B)
        values: np.ndarray | None = None
        top = left = 0
        while top < n_rows:
            heed()
            piece = max(1, int(0.1 / max(self._seconds_each, 1e-9)))
            # Whole rows, or a part of one.
            height = 1 if left else max(1, min(piece // n_columns, n_rows - top))
            width = min(piece, n_columns - left) if height == 1 else n_columns
            rows, columns = slice(top, top + height), slice(left, left + width)
            part = self.timed(function, A[rows], B[columns])
            if values is None:
                values = np.empty((n_rows, n_columns), part.dtype)
            values[rows, columns] = part
            left += width
            if left == n_columns:
                top, left = top + height, 0
        assert values is not None
        return values

    def is_quick(self, function: Callable[[Any, Any], Any], A: Any, B: Any, size: int) -> bool:
        """Return whether so many values take less than a moment; times a few if none was timed."""
        if math.isnan(self._seconds_each):
            # Growing calls, until one takes long enough to tell.
            for k, shape in enumerate(((1, 1), (1, 1), (1, 8), (8, 8), (8, 64))):
                values = self.timed(function, A[: shape[0]], B[: shape[1]]).size
                # A first call may compile or import, and what a small one takes is not its values.
                tells = k > 0 and self._seconds_each * values > 0.02
                if tells or self._seconds_each * size <= 0.3:
                    break
        return bool(self._seconds_each * size <= 0.3)

    def timed(self, function: Callable[[Any, Any], np.ndarray], A: Any, B: Any) -> np.ndarray:
        """``function(A, B)`` as a whole, by which the next pieces are chosen."""
        begin = time.perf_counter()
        values = function(A, B)
        if self._is_measured:
            each = (time.perf_counter() - begin) / max(1, A.shape[0] * B.shape[0])
            self._seconds_each, self._last = min(each, self._last), each
        return values
