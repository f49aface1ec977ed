"""Kernel rows computed in blocks when first needed, the least recently used given up."""

from __future__ import annotations

from threading import RLock
from weakref import finalize

import numpy as np

from kpegasos.core.loops import (
    BATCH_OFFSET,
    NEED_ROW,
    RESCALE,
    STEPS,
    Examples,
    KernelView,
    LoopParameters,
    LoopState,
    add_all,
)
from kpegasos.core.state import Algorithm, fold_scale
from kpegasos.kernels.decision import kernel_product
from kpegasos.kernels.matrix import KernelValues
from kpegasos.rows.base import KernelSource
from kpegasos.rows.uncached import UncachedRows, streamed_bytes
from kpegasos.utils import tuning


class BufferPool:
    """Memory for kernel rows, handed from one `CachedRows` to the next.

    Fresh pages of hundreds of MiB for each pair of classes would cost more than the loops do.
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []
        # A collected owner may give back in the middle of a take.
        self._lock = RLock()

    def take(self, owner: object, n_rows: int, n_columns: int, dtype: np.dtype) -> np.ndarray:
        """Array of shape (n_rows, n_columns) that is given back when its owner is gone."""
        size = n_rows * n_columns
        with self._lock:
            fitting = [b for b in self._free if b.size >= size and b.dtype == dtype]
            if fitting:
                buffer = min(fitting, key=len)
            else:
                # One that is too small would only sit beside the new one.
                self._free.clear()
                buffer = np.empty(size, dtype=dtype)
            self._free = [b for b in self._free if b is not buffer]
        finalize(owner, self._give_back, buffer)
        return buffer[:size].reshape(n_rows, n_columns)

    def _give_back(self, buffer: np.ndarray) -> None:
        with self._lock:
            self._free.append(buffer)


class CachedRows(KernelSource):
    """Rows computed in blocks when first needed and kept within a budget of bytes.

    In the first epoch margins still swing, and most forecasts of violators would be wrong. So its
    draws are scored against the support alone, as by `UncachedRows`; the rows of the violators found
    are computed when margins are asked for, at the latest when the epoch is over. Where the budget
    does not hold the support's rows it goes on like that.

    Parameters
    ----------
    blocks : KernelValues
    cache_mb : float, default=1024
        MiB for the rows kept and the block in work together.
    intercept_scaling : float, default=0.0
    tile_rows : int, default=256
        Rows of one block at the most.
    opening_rows : int, default=128
        Draws of one block in the first epoch. Data of less than eight such blocks have no opening.
    buffers : BufferPool, default=None
        Where the memory comes from.

    Raises
    ------
    ValueError
        If the budget has no room for one small block of rows.
    """

    def __init__(
        self,
        blocks: KernelValues,
        *,
        cache_mb: float = 1024.0,
        intercept_scaling: float = 0.0,
        tile_rows: int = tuning.TILE_ROWS,
        opening_rows: int = 128,
        buffers: BufferPool | None = None,
    ) -> None:
        super().__init__(blocks.n_samples, intercept_scaling**2, blocks.kernel.positive_definite)
        self.image_size = self.n_samples
        kept, block = cache_capacity(self.n_samples, blocks.dtype, cache_mb, not blocks.can_pack)
        if kept < min(tuning.FEWEST_ROWS, self.n_samples):
            needed = cache_mb_needed(self.n_samples, blocks.dtype, not blocks.can_pack)
            raise ValueError(
                f"cache_mb must be at least {needed:.3g} to hold one block of rows of "
                f"{self.n_samples} kernel values, got {cache_mb:g} instead; use cache='streamed' "
                f"to keep none"
            )
        self.row_capacity = kept
        self.tile_rows = max(1, min(block, tile_rows))
        self._blocks = blocks
        self._rows = KernelView(
            (buffers or BufferPool()).take(self, kept, self.n_samples, blocks.dtype),
            np.full(self.n_samples, -1, dtype=np.int64),
            np.zeros(kept, dtype=np.int64),
            self.squared_norms(),
            self.offset,
        )
        self._owner = np.full(kept, -1, dtype=np.int64)
        self._filled = 0
        self._opening: UncachedRows | None = None
        self._margins_stale = False
        work = self.tile_rows * self._rows.values.strides[0]
        if self.n_samples >= 8 * opening_rows and work >= tuning.FEWEST_ROWS**2 * streamed_bytes(
            blocks
        ):
            self._opening = UncachedRows(
                blocks,
                cache_mb=work / tuning.MEBIBYTE,
                intercept_scaling=intercept_scaling,
                tile_rows=opening_rows,
                pack=True,
            )

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """PegasosRun the loop over ``draws[:stop]``."""
        self._begin(int(state.counters[STEPS]))
        position = self._advance_opening(algorithm, state, draws, stop, examples, parameters)
        if position == stop:
            return
        if self._opening is not None:
            self._opening.forget()
        self.refresh_margins(state, examples)
        while True:
            status, position = algorithm.loop(
                state, self._rows, draws, position, stop, examples, parameters
            )
            if status == NEED_ROW:
                self._fetch(algorithm, state, draws[position:], examples, parameters)
            elif status == RESCALE:
                fold_scale(state)
            else:
                return

    def _begin(self, step: int) -> None:
        if step == 0:
            # Rows of an earlier run are welcome, but no younger than those of this one.
            np.clip(self._rows.ticks, -1, 0, out=self._rows.ticks)

    def _advance_opening(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> int:
        """PegasosRun the loop over the draws that rows are not kept for; returns how many."""
        k = parameters.batch_size
        opening = self._opening
        if opening is None or not algorithm.from_zero or k > opening.largest_batch:
            return 0
        part = self.n_samples // k * k - int(state.counters[STEPS]) * k
        if part <= 0:
            # Rows that would be given up before they are used again are better not kept at all.
            fits = np.count_nonzero(state.alpha) <= tuning.UNCACHED_ABOVE_FILL * self.row_capacity
            part = 0 if fits or self.row_capacity == self.n_samples else stop
        part = min(stop, part)
        if part == 0:
            return 0
        opening.advance(algorithm, state, draws, part, examples, parameters)
        self.evaluations += opening.evaluations
        opening.evaluations = 0
        self._margins_stale = True
        return part

    def refresh_margins(self, state: LoopState, examples: Examples) -> None:
        """Bring the margins up to date with the counts."""
        if not self._margins_stale:
            return
        state.base[:] = 0.0
        state.stamped_image[:] = 0.0
        support = np.flatnonzero(state.alpha)
        for begin in range(0, support.size, self.tile_rows):
            part = support[begin : begin + self.tile_rows]
            add_all(state, self.ensure_rows(part, state.counters[STEPS]), part, examples)
        self._margins_stale = False

    def ensure_rows(self, members: np.ndarray, step: int) -> KernelView:
        """Kernel rows among which are those of the members, computed if need be."""
        self._begin(step)
        slots = self._rows.slots[members]
        # None of the members may make room for another.
        self._rows.ticks[slots[slots >= 0]] = np.iinfo(np.int64).max
        missing = np.sort(members[slots < 0])
        for begin in range(0, missing.size, self.tile_rows):
            part = missing[begin : begin + self.tile_rows]
            self._compute(part, step)
            self._rows.ticks[self._rows.slots[part]] = np.iinfo(np.int64).max
        self._rows.ticks[self._rows.slots[members]] = step
        return self._rows

    def _fetch(
        self,
        algorithm: Algorithm,
        state: LoopState,
        upcoming: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Compute the missing row, and those that the violators ahead will miss."""
        offset = int(state.counters[BATCH_OFFSET])
        needed = upcoming[offset]
        done = int(state.counters[STEPS]) * parameters.batch_size
        # Early on the margins change quickly against t, and a far priority is mostly wrong.
        window = upcoming[
            offset + 1 : offset + parameters.batch_size + max(tuning.TILE_ROWS, done // 4)
        ]
        window = window[self._rows.slots[window] < 0]
        score = algorithm.priority(state, window, examples, parameters)
        # A few rows cost as much as one, so the likeliest of the doubtful fill up a small block.
        if score.size > tuning.SMALL_TILE_ROWS:
            wanted = window[
                score
                <= max(0.0, np.partition(score, tuning.SMALL_TILE_ROWS)[tuning.SMALL_TILE_ROWS])
            ]
        else:
            wanted = window[np.isfinite(score)]
        unique, first = np.unique(np.concatenate(([needed], wanted)), return_index=True)
        self._compute(np.sort(unique[np.argsort(first)][: self.tile_rows]), state.counters[STEPS])

    def _compute(self, block: np.ndarray, step: int) -> None:
        """Compute and keep the rows of some examples, in increasing order."""
        slots = self._room_for(block.size)
        values = self._rows.values
        if slots[-1] - slots[0] == slots.size - 1 and np.all(np.diff(slots) == 1):
            self.evaluations += self._blocks.write_rows(block, values[slots[0] : slots[-1] + 1])
        else:
            rows = np.empty((block.size, self.n_samples), dtype=values.dtype)
            self.evaluations += self._blocks.write_rows(block, rows)
            values[slots] = rows
        self._rows.slots[block] = slots
        self._owner[slots] = block
        self._rows.ticks[slots] = -1 - step

    def _room_for(self, n_rows: int) -> np.ndarray:
        """Slots for new rows: empty ones, then those of the least recently used rows."""
        empty = min(n_rows, self._owner.size - self._filled)
        slots = np.arange(self._filled, self._filled + empty)
        self._filled += empty
        if empty < n_rows:
            age = self._rows.ticks.copy()
            age[age < 0] = -1 - age[age < 0]
            age[slots] = np.iinfo(np.int64).max
            oldest = np.argpartition(age, n_rows - empty - 1)[: n_rows - empty]
            evicted = np.sort(oldest)
            self._rows.slots[self._owner[evicted]] = -1
            slots = np.concatenate((slots, evicted))
        return slots

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``."""
        return kernel_product(self._blocks, columns, self.offset, self.tile_rows)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        return self._blocks.diagonal + self.offset


def _row_bytes(n_samples: int, dtype: np.dtype, has_temporaries: bool) -> tuple[int, int]:
    """Bytes of a kept row, and of a row in work with its temporaries."""
    row = n_samples * np.dtype(dtype).itemsize
    return row, row + (n_samples * 24 if has_temporaries else 0)


def cache_capacity(
    n_samples: int, dtype: np.dtype, cache_mb: float, has_temporaries: bool = False
) -> tuple[int, int]:
    """Rows that a budget keeps, and rows of one block in work beside them."""
    kept_bytes, work_bytes = _row_bytes(n_samples, dtype, has_temporaries)
    budget = int(cache_mb * tuning.MEBIBYTE)
    if budget >= n_samples * kept_bytes + min(n_samples, tuning.TILE_ROWS) * work_bytes:
        return n_samples, min(n_samples, tuning.TILE_ROWS)
    # At most a fifth for the block in work.
    block = max(1, min(tuning.TILE_ROWS, budget // (5 * work_bytes)))
    return min(n_samples, (budget - block * work_bytes) // kept_bytes), block


def cache_mb_needed(n_samples: int, dtype: np.dtype, has_temporaries: bool = False) -> float:
    """A ``cache_mb`` that is enough for `CachedRows`, with a block of a few rows in work."""
    kept_bytes, work_bytes = _row_bytes(n_samples, dtype, has_temporaries)
    return (min(tuning.FEWEST_ROWS, n_samples) * kept_bytes + 4 * work_bytes) / tuning.MEBIBYTE
