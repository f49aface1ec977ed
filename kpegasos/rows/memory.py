"""Memory for kernel values that is taken again: fresh pages cost more than what is written to them.

An array of `array_of` owns its memory for as long as anybody sees it, or a part of it. Then the
next may have it: of the next pair, whatever its size, or of the next fit, within a bound.
"""

from __future__ import annotations

import math

import numpy as np

from kpegasos.utils import tuning

#: Bytes that stay for the next fit at the most: those of all values of 2,048 examples in float64.
_MOST = 32 * tuning.MEBIBYTE
#: Arrays of fewer bytes are found quickly by everybody.
_FEW = 1 << 16
#: What nobody uses, and who wants all of it kept, by their ids. Each change is one operation of a
#: dictionary or set: memory is given up at any time, on any thread.
_spare: dict[int, np.ndarray] = {}
_keepers: set[int] = set()


def array_of(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array that is not filled, in memory that others have given up if there is some."""
    size = math.prod(shape) * dtype.itemsize
    if size < _FEW:
        return np.empty(shape, dtype)
    buffer = None
    for key, spare in sorted(_spare.copy().items(), key=lambda item: item[1].size):
        if spare.size >= size and (buffer := _spare.pop(key, None)) is not None:
            break
    if buffer is None:
        _spare.clear()  # what is too small would only take memory beside it
        buffer = np.empty(size, np.uint8)
    return np.asarray(_Lease(buffer))[:size].view(dtype).reshape(shape)


class _Lease:
    """Memory that is spare once no array sees it any more."""

    def __init__(self, buffer: np.ndarray) -> None:
        self._buffer, self.__array_interface__ = buffer, buffer.__array_interface__

    def __del__(self) -> None:
        _spare[id(self._buffer)] = self._buffer
        _trim()


class KeptMemory:
    """While this object lives, memory that arrays give up is kept for the next, however much."""

    def __init__(self) -> None:
        _keepers.add(id(self))

    def __del__(self) -> None:
        _keepers.discard(id(self))
        _trim()


def _trim() -> None:
    """Give memory back to the system, the largest part first, until the rest is within bounds."""
    if _keepers:
        return
    parts = sorted(_spare.copy().items(), key=lambda item: item[1].size)
    total = sum(spare.size for _, spare in parts)
    while total > _MOST:
        key, spare = parts.pop()
        _spare.pop(key, None)
        total -= spare.size
