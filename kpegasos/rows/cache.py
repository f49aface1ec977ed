"""Kernel rows in slots of a fixed memory, and which of them make room for new ones."""

from __future__ import annotations

from threading import Lock

import numpy as np

from kpegasos.core.views import KernelView
from kpegasos.kernels.matrix import KernelValues
from kpegasos.utils import tuning

_PINNED = np.iinfo(np.int64).max
_NO_SLOTS = np.empty(0, dtype=np.int64)


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
        self._computed, self._again = np.full(n_samples, False), 0
        self._work = np.empty((0, n_samples), values.dtype)

    @property
    def n_kept(self) -> int:
        """Rows that are kept at present."""
        return int(np.count_nonzero(self.view.slots >= 0))

    def begin(self, t: int) -> None:
        """Start a run at step t: rows of an earlier one are no younger than those to come."""
        if t == 0:
            np.clip(self.view.ticks, -1, 0, out=self.view.ticks)
            self._forget_counts()

    def missing(self, members: np.ndarray) -> np.ndarray:
        """Whether the row of each member is missing."""
        return self.view.slots[members] < 0

    @property
    def is_full(self) -> bool:
        """Whether every slot has a row."""
        return self._filled == self._owner.size

    def ensure(self, members: np.ndarray, t: int) -> KernelView:
        """Have the rows of some examples, at most as many as there are slots."""
        self.begin(t)
        slots, ticks = self.view.slots[members], self.view.ticks
        # None of the members may make room for another.
        ticks[slots[slots >= 0]] = _PINNED
        missing = np.sort(members[slots < 0])
        idle = self._idle_slots(missing.size, t)
        self._count(missing)
        self.compute(missing, t, idle)
        ticks[self.view.slots[members]] = t
        return self.view

    def compute(self, members: np.ndarray, t: int, slots: np.ndarray = _NO_SLOTS) -> None:
        """Compute and keep the rows of some examples, in increasing order.

        Parameters
        ----------
        members : ndarray of int64
        t : int
            This step.
        slots : ndarray of int64, default=()
            Free slots, filled first.
        """
        if not members.size:
            return
        slots = self._room_for(members.size, slots)
        for begin in range(0, members.size, self.tile_rows):
            part = slice(begin, begin + self.tile_rows)
            self._write(members[part], slots[part])
        self._hold(members, slots, -1 - t)

    def compute_for_now(
        self, members: np.ndarray, t: int, idle: int, alpha: np.ndarray
    ) -> np.ndarray:
        """Compute rows that are used at once, and keep as many as there is room for.

        Parameters
        ----------
        members : ndarray of int64
            Examples without a row, at most ``tile_rows``.
        t : int
            This step.
        idle : int
            A row that was not used for so many steps makes room.
        alpha : ndarray of shape (n_samples,)
            A row makes room, too, if its example has the coefficient zero, and it was not used at
            this very step.

        Returns
        -------
        ndarray of shape (n_left, n_samples)
            The rows of the last of the members, which are not kept, until others are asked for.
        """
        slots = self._free_slots(members.size)
        if slots.size < members.size:
            age = self._ages()
            useless = (age < t - idle) | ((age < t) & (alpha[self._owner] == 0.0))
            useless[slots] = False
            given_up = np.flatnonzero(useless)[: members.size - slots.size]
            self._evict(given_up)
            slots = np.concatenate((slots, given_up))
        kept = slots.size
        if kept == members.size:
            self._write(members, slots)
            rows = self._work_rows(0)
        else:
            rows = self._work_rows(members.size)
            self.evaluations += self._values.write_rows(members, rows)
            self.view.values[slots] = rows[:kept]
        self._hold(members[:kept], slots, t)
        return rows[kept:]

    def _write(self, members: np.ndarray, slots: np.ndarray) -> None:
        """Compute the rows of some examples, at most ``tile_rows``, into their slots."""
        if _are_adjacent(slots):
            rows = self.view.values[slots[0] : slots[-1] + 1]
            self.evaluations += self._values.write_rows(members, rows)
        else:
            rows = self._work_rows(members.size)
            self.evaluations += self._values.write_rows(members, rows)
            self.view.values[slots] = rows

    def _work_rows(self, n_rows: int) -> np.ndarray:
        """Memory for a tile whose rows are not kept side by side; fresh pages would cost more."""
        if not self._work.size:
            self._work = np.empty((self.tile_rows, self._work.shape[1]), self._work.dtype)
        return self._work[:n_rows]

    def _hold(self, members: np.ndarray, slots: np.ndarray, tick: int) -> None:
        self.view.slots[members] = slots
        self._owner[slots] = members
        self.view.ticks[slots] = tick

    def _free_slots(self, n_rows: int) -> np.ndarray:
        """Empty slots, at most `n_rows` of them."""
        empty = min(n_rows, self._owner.size - self._filled)
        slots = np.arange(self._filled, self._filled + empty)
        self._filled += empty
        return slots

    def _ages(self) -> np.ndarray:
        """Step at which each row was last used, or came."""
        ticks = self.view.ticks
        return np.where(ticks < 0, -1 - ticks, ticks)

    def _evict(self, slots: np.ndarray) -> None:
        self.view.slots[self._owner[slots]] = -1

    def _count(self, members: np.ndarray) -> None:
        """Note which rows working sets have computed, and how many not for the first time."""
        self._again += int(np.count_nonzero(self._computed[members]))
        self._computed[members] = True

    def _idle_slots(self, n_rows: int, t: int) -> np.ndarray:
        """Free slots of rows that have long been idle: their memory costs less than fresh pages.

        At most `n_rows` of them; none where little memory is in use, or many rows were computed
        again. For working sets alone: draws come back to an example once an epoch.
        """
        if not n_rows:
            return _NO_SLOTS
        in_use = self._filled * self.view.values.strides[0]
        most = tuning.MOST_AGAIN * np.count_nonzero(self._computed)
        if in_use < tuning.FRESH_BYTES or self._again > most:
            return _NO_SLOTS
        age = self._ages()[: self._filled]
        slots = np.flatnonzero(age < t - tuning.IDLE_EPOCHS * self.view.slots.size)
        if slots.size > n_rows:
            slots = np.sort(slots[np.argpartition(age[slots], n_rows)[:n_rows]])
        self._evict(slots)
        return slots

    def _room_for(self, n_rows: int, slots: np.ndarray) -> np.ndarray:
        """Slots for new rows: the given ones, then empty ones, then the least recently used."""
        slots = np.concatenate((slots, self._free_slots(n_rows - slots.size)))
        missing = n_rows - slots.size
        if missing:
            age = self._ages()
            age[slots] = _PINNED
            oldest = np.sort(np.argpartition(age, missing - 1)[:missing])
            self._evict(oldest)
            slots = np.concatenate((slots, oldest))
        return slots

    def forget(self) -> None:
        """Keep no row."""
        self.view.slots[:] = -1
        self.view.ticks[:] = 0
        self._owner[:] = -1
        self._filled = 0
        self._forget_counts()

    def _forget_counts(self) -> None:
        """Count anew what is computed again."""
        self._computed[:] = False
        self._again = 0

    def close(self) -> None:
        """Give the memory back to the pool; the view is not to be used any more."""
        self.view.slots[:] = -1
        self._pool.release(self._buffer)
        self._buffer = np.empty(0, self._buffer.dtype)
        self._work = np.empty((0, self._work.shape[1]), self._work.dtype)


def _are_adjacent(slots: np.ndarray) -> bool:
    return bool(slots[-1] - slots[0] == slots.size - 1 and np.all(np.diff(slots) == 1))
