"""How those who wait for a computation end it, and hear of it, however deep it is.

Who waits says until when, in a block around the call: `heeding`. What takes long asks between two
pieces of work: `heed`. Neither knows the other, and nothing is handed through the calls between
them. `kpegasos.utils.threads` carries blocks on to its threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

#: Seconds that a piece of work in Python should take, and that a call may take as a whole.
_PIECE_SECONDS, _WHOLE_SECONDS = 0.1, 0.3
#: Seconds of a call that tell what a value takes, whatever the call does beside.
_PROBE_SECONDS = 0.02
#: Rows and columns of calls that find out, until one tells.
_PROBES = (1, 1), (1, 1), (1, 8), (8, 8), (8, 64)


class CutShort(BaseException):
    """A computation has been left, as nobody waits for it any more.

    Who says no in a block of `heeding` catches it.
    """


class Counter:
    """Kernel values that computations have begun in a block of `counting`, whatever comes of them.

    Attributes
    ----------
    values : int
        Near enough to be shown: threads that count at the same moment count once.
    """

    values = 0


class _Waiting(NamedTuple):
    goes_on: Callable[[], bool]
    for_good: bool


_waiting: ContextVar[tuple[_Waiting, ...]] = ContextVar("kpegasos_waiting", default=())
_counter: ContextVar[Counter | None] = ContextVar("kpegasos_counter", default=None)


def heed(n_values: int = 0) -> None:
    """Leave the computation if somebody says so; else go on, with so many kernel values.

    Raises
    ------
    CutShort
        If a function of a block around says no.
    """
    for waiting in _waiting.get():
        if not waiting.goes_on():
            raise CutShort
    counter = _counter.get()
    if counter is not None:
        counter.values += n_values


@contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def heeding(goes_on: Callable[[], bool], *, for_good: bool = False) -> Any:
    """A block whose computations are left as soon as ``goes_on()`` is false.

    Parameters
    ----------
    goes_on : callable
        Asked often, and from any thread.
    for_good : bool, default=False
        Whether it is asked within `finishing`, too.
    """
    return _set(_waiting, (*_waiting.get(), _Waiting(goes_on, for_good)))


def finishing() -> Any:
    """A block that is left only by those who leave for good, as it would be left half done."""
    return _set(_waiting, tuple(each for each in _waiting.get() if each.for_good))


def counting(counter: Counter) -> Any:
    """A block whose kernel values are counted."""
    return _set(_counter, counter)


class Pace:
    """Calls of a function of a user's own, in pieces if it is slow.

    What a function makes of one piece or another may differ in the last bit, so what takes less
    than a moment as a whole is never cut, and how long it takes is found by values that are not
    used.
    """

    def __init__(self) -> None:
        self._seconds_each = math.nan

    def square(self, function: Callable[[Any, Any], Any], A: Any, most: int) -> int:
        """How many rows at a time are for `timed` against themselves: at most ``most``, or one."""
        return most if self._is_quick(function, A, A, A.shape[0] * most) else 1

    def call(self, function: Callable[[Any, Any], np.ndarray], A: Any, B: Any) -> np.ndarray:
        """``function(A, B)``, of shape (n_a, n_b)."""
        n_rows, n_columns = A.shape[0], B.shape[0]
        heed()
        size = n_rows * n_columns
        if self._is_quick(function, A, B, size):
            return self.timed(function, A, B)
        values: np.ndarray | None = None
        top = left = 0
        while top < n_rows:
            heed()
            piece = max(1, int(_PIECE_SECONDS / max(self._seconds_each, 1e-9)))
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

    def _is_quick(self, function: Callable[[Any, Any], Any], A: Any, B: Any, size: int) -> bool:
        """Whether so many values take less than a moment; by a few of them, if by none before."""
        if math.isnan(self._seconds_each):
            for number, shape in enumerate(_PROBES):
                values = self.timed(function, A[: shape[0]], B[: shape[1]]).size
                # A first call may compile or import, and what a small one takes is not its values.
                tells = number > 0 and self._seconds_each * values > _PROBE_SECONDS
                if tells or self._seconds_each * size <= _WHOLE_SECONDS:
                    break
        return bool(self._seconds_each * size <= _WHOLE_SECONDS)

    def timed(self, function: Callable[[Any, Any], np.ndarray], A: Any, B: Any) -> np.ndarray:
        """``function(A, B)`` as a whole, by which the next pieces are chosen."""
        begin = time.perf_counter()
        values = function(A, B)
        self._seconds_each = (time.perf_counter() - begin) / max(1, A.shape[0] * B.shape[0])
        return values
