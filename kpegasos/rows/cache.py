"""Kernel rows in slots of a fixed memory; the least recently used make room for new ones."""

from __future__ import annotations

from threading import Lock

import numpy as np

from kpegasos.core.views import KernelView
from kpegasos.kernels.matrix import KernelValues
from kpegasos.utils import tuning

_PINNED = np.iinfo(np.int64).max


class BufferPool:
    """Memory for kernel rows that is used again, pair of classes after pair.

    Fresh pages of hundreds of MiB for each pair would cost more than the loops do.
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []
        self._lock = Lock()

    def acquire(self, size: int, dtype: np.dtype) -> np.ndarray:
        """A flat array of at least ``size`` numbers."""
        with self._lock:
            fitting = [b for b in self._free if b.size >= size and b.dtype == dtype]
            if fitting:
                buffer = min(fitting, key=len)
                self._free = [b for b in self._free if b is not buffer]
                return buffer
            # A smaller one would only take memory beside the new one.
            self._free.clear()
        return np.empty(size, dtype=dtype)

    def release(self, buffer: np.ndarray) -> None:
        """Let an array that was acquired be used again."""
        with self._lock:
            self._free.append(buffer)


class RowCache:
    """Kernel rows of some examples, in slots.

    Parameters
    ----------
    values : KernelValues
    squared_norms : ndarray of shape (n_samples,)
    kernel_offset : float
    row_capacity : int
        Slots; fewer where memory for so many cannot be had.
    tile_rows : int
        Rows that are computed together at the most.
    pool : BufferPool
        Where the memory comes from.

    Attributes
    ----------
    row_capacity : int
        Slots that there are.
    view : KernelView
        What loops see.
    evaluations : int
        Kernel values computed.
    """

    def __init__(
        self,
        values: KernelValues,
        squared_norms: np.ndarray,
        kernel_offset: float,
        row_capacity: int,
        tile_rows: int,
        pool: BufferPool,
    ) -> None:
        self.evaluations = 0
        self._values = values
        self._pool = pool
        n_samples = values.n_samples
        while True:
            size = row_capacity * n_samples
            try:
                self._buffer = pool.acquire(size, values.dtype)
                break
            except MemoryError:
                if row_capacity <= tuning.FEWEST_ROWS:
                    raise
                row_capacity = max(tuning.FEWEST_ROWS, row_capacity // 2)
        self.row_capacity = row_capacity
        self.tile_rows = min(tile_rows, row_capacity)
        self.view = KernelView(
            self._buffer[:size].reshape(row_capacity, n_samples),
            np.full(n_samples, -1, dtype=np.int64),
            np.zeros(row_capacity, dtype=np.int64),
            squared_norms,
            kernel_offset,
        )
        self._owner = np.full(row_capacity, -1, dtype=np.int64)
        self._filled = 0

    @property
    def n_kept(self) -> int:
        """Rows that are kept at present."""
        return int(np.count_nonzero(self.view.slots >= 0))

    def begin(self, t: int) -> None:
        """Start a run at step t: rows of an earlier one are no younger than those to come."""
        if t == 0:
            np.clip(self.view.ticks, -1, 0, out=self.view.ticks)

    def missing(self, members: np.ndarray) -> np.ndarray:
        """Whether the row of each member is missing."""
        return self.view.slots[members] < 0

    def ensure(self, members: np.ndarray, t: int) -> KernelView:
        """Have the rows of some examples, at most as many as there are slots."""
        self.begin(t)
        slots, ticks = self.view.slots[members], self.view.ticks
        # None of the members may make room for another.
        ticks[slots[slots >= 0]] = _PINNED
        missing = np.sort(members[slots < 0])
        for begin in range(0, missing.size, self.tile_rows):
            part = missing[begin : begin + self.tile_rows]
            self.compute(part, t)
            ticks[self.view.slots[part]] = _PINNED
        ticks[self.view.slots[members]] = t
        return self.view

    def compute(self, members: np.ndarray, t: int) -> None:
        """Compute and keep the rows of some examples, in increasing order."""
        slots = self._room_for(members.size)
        values = self.view.values
        if slots[-1] - slots[0] == slots.size - 1 and np.all(np.diff(slots) == 1):
            tile = values[slots[0] : slots[-1] + 1]
            self.evaluations += self._values.write_rows(members, tile)
        else:
            tile = np.empty((members.size, values.shape[1]), dtype=values.dtype)
            self.evaluations += self._values.write_rows(members, tile)
            values[slots] = tile
        self.view.slots[members] = slots
        self._owner[slots] = members
        self.view.ticks[slots] = -1 - t

    def _room_for(self, n_rows: int) -> np.ndarray:
        """Slots for new rows: empty ones, then those of the least recently used rows."""
        empty = min(n_rows, self._owner.size - self._filled)
        slots = np.arange(self._filled, self._filled + empty)
        self._filled += empty
        if empty < n_rows:
            age = self.view.ticks.copy()
            age[age < 0] = -1 - age[age < 0]
            age[slots] = _PINNED
            oldest = np.argpartition(age, n_rows - empty - 1)[: n_rows - empty]
            evicted = np.sort(oldest)
            self.view.slots[self._owner[evicted]] = -1
            slots = np.concatenate((slots, evicted))
        return slots

    def forget(self) -> None:
        """Keep no row."""
        self.view.slots[:] = -1
        self.view.ticks[:] = 0
        self._owner[:] = -1
        self._filled = 0

    def close(self) -> None:
        """Give the memory back to the pool; the view is not to be used any more."""
        self.view.slots[:] = -1
        self._pool.release(self._buffer)
        self._buffer = np.empty(0, self._buffer.dtype)
