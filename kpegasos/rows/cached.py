"""Kernel rows that are computed when they are needed, and kept within a budget of bytes.

The index stream is known ahead, so a tile holds the row that is missing together with those that
upcoming violators will need. That changes the cost, never the algorithm. Where rows are missing or
violators are many, a loop runs over a tile of draws at a time. The kernel values between its draws
decide which of them violate; the margins of all examples are updated after the tile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np

from kpegasos.core.state import (
    BATCH_OFFSET,
    DONE,
    RESCALE,
    Examples,
    absorb_scale,
)
from kpegasos.core.views import KernelView, add_range, add_rows_together
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.rows.base import (
    KernelSource,
    Steps,
    block_size,
    block_view,
    may_be_definite,
    window_ahead,
)
from kpegasos.rows.budget import (
    array_of,
    budget_mb,
    cache_capacity,
    cached_mb_needed,
    check_budget,
    most_mb_used,
    scored_bytes,
)
from kpegasos.utils import tuning
from kpegasos.utils.patience import finishing
from kpegasos.utils.validation import shown

_PINNED = np.iinfo(np.int64).max


class RowCache:
    """Kernel rows of some examples, in slots.

    Parameters
    ----------
    values : KernelMatrix
    kernel_offset : float
    row_capacity : int
        Slots; fewer where memory for so many cannot be allocated.
    tile_rows : int
        Rows that are computed together at the most.

    Attributes
    ----------
    row_capacity : int
        Slots that were allocated.
    view : KernelView
        What loops see.
    evaluations : int
        Kernel values computed.
    """

    def __init__(
        self, values: KernelMatrix, kernel_offset: float, row_capacity: int, tile_rows: int
    ) -> None:
        self.evaluations = 0
        self._values = values
        n_samples = values.n_samples
        while True:
            try:
                kept = array_of((row_capacity, n_samples), values.dtype)
                break
            except MemoryError:
                if row_capacity <= tuning.FEWEST_ROWS:
                    raise
                row_capacity = max(tuning.FEWEST_ROWS, row_capacity // 2)
        self.row_capacity = row_capacity
        self.tile_rows = min(tile_rows, row_capacity)
        self.view = KernelView.of(
            kept,
            np.full(n_samples, -1, dtype=np.int64),
            np.zeros(row_capacity, dtype=np.int64),
            values.diagonal + kernel_offset,
            kernel_offset,
        )
        self._owner = np.full(row_capacity, -1, dtype=np.int64)
        self._filled = 0
        # Rows that working sets have computed, and how many were computed again; least seconds of
        # a row, and seconds of one in fresh memory.
        self._computed, self._again = np.full(n_samples, False), 0
        self._seconds, self._fresh_seconds = math.inf, 0.0
        self._work = np.empty((0, n_samples), values.dtype)

    def begin(self, t: int) -> None:
        """At step 0 of a run, reset ages: rows of an earlier run are no younger than its own."""
        if t == 0:
            np.clip(self.view.ticks, -1, 0, out=self.view.ticks)
            self._forget_counts()

    @property
    def is_full(self) -> bool:
        """Whether every slot has a row."""
        return self._filled == self._owner.size

    def ensure(self, members: np.ndarray, t: int) -> KernelView:
        """Return a view that holds the rows of some examples, at most as many as slots."""
        self.begin(t)
        slots, ticks = self.view.slots[members], self.view.ticks
        # None of the members may make room for another.
        ticks[slots[slots >= 0]] = _PINNED
        missing = np.sort(members[slots < 0])
        self._again += int(np.count_nonzero(self._computed[missing]))
        self._computed[missing] = True
        self.compute(missing, t, extends=self._memory_pays())
        ticks[self.view.slots[members]] = t
        return self.view

    def _memory_pays(self) -> bool:
        """Check whether rows computed again have cost more than fresh memory has so far.

        Under a hypervisor, a fresh page may cost ten times as much as the kernel values in it. So a
        large budget never costs much more than it saves. For working sets alone: draws come back to
        an example once an epoch.
        """
        beyond = self._filled - tuning.FRESH_BYTES // max(1, self.view.values.strides[0])
        touched = beyond * max(0.0, self._fresh_seconds - self._seconds)
        return beyond <= 0 or touched < self._again * self._seconds < math.inf

    def compute(self, members: np.ndarray, t: int, *, extends: bool = True) -> None:
        """Compute and keep the rows of some examples, in increasing order.

        Parameters
        ----------
        members : ndarray of int64
        t : int
            This step.
        extends : bool, default=True
            Whether empty slots are filled before rows are given up.
        """
        if not members.size:
            return
        filled, begin = self._filled, time.perf_counter()
        slots = self._room_for(members.size, extends)
        for top in range(0, members.size, self.tile_rows):
            part = slice(top, top + self.tile_rows)
            self._write(members[part], slots[part])
        seconds = (time.perf_counter() - begin) / members.size
        if filled == self._filled:
            self._seconds = min(self._seconds, seconds)
        elif members.size == self._filled - filled:
            self._fresh_seconds = 0.5 * (self._fresh_seconds + seconds)
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
            The rows of the last members, which are not kept; valid until others are asked for.
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
        self.evaluations += self._values.write_rows(members, self.view.values, places=slots)

    def _work_rows(self, n_rows: int) -> np.ndarray:
        """Return reused memory for a tile whose rows are not all kept: fresh pages cost more."""
        if not self._work.size:
            self._work = np.empty((self.tile_rows, self._work.shape[1]), self._work.dtype)
        return self._work[:n_rows]

    def _hold(self, members: np.ndarray, slots: np.ndarray, tick: int) -> None:
        self.view.slots[members] = slots
        self._owner[slots] = members
        self.view.ticks[slots] = tick

    def _free_slots(self, n_rows: int) -> np.ndarray:
        """Take empty slots, at most `n_rows` of them."""
        empty = min(n_rows, self._owner.size - self._filled)
        slots = np.arange(self._filled, self._filled + empty)
        self._filled += empty
        return slots

    def _ages(self) -> np.ndarray:
        """Return the step at which each row was last used, or computed."""
        ticks = self.view.ticks
        return np.where(ticks < 0, -1 - ticks, ticks)

    def _evict(self, slots: np.ndarray) -> None:
        self.view.slots[self._owner[slots]] = -1

    def _room_for(self, n_rows: int, extends: bool) -> np.ndarray:
        """Return slots for new rows: empty ones, if wanted, and the least recently used."""
        age = self._ages()[: self._filled]
        least = max(0, n_rows - int(np.count_nonzero(age < _PINNED)))
        slots = self._free_slots(n_rows if extends else least)
        missing = n_rows - slots.size
        if missing:
            oldest = np.sort(np.argpartition(age, missing - 1)[:missing])
            self._evict(oldest)
            slots = np.concatenate((slots, oldest))
        return slots

    def forget(self) -> None:
        """Give up all rows."""
        self.view.slots[:] = -1
        self.view.ticks[:] = 0
        self._owner[:] = -1
        self._filled = 0
        self._forget_counts()

    def _forget_counts(self) -> None:
        """Restart the count of rows that are computed again."""
        self._computed[:] = False
        self._again = 0

    def matrix(self, members: np.ndarray) -> np.ndarray:
        """Compute the kernel matrix of some examples, in the memory of the rows, which are lost."""
        self.forget()
        size = members.size
        memory = self.view.values.reshape(-1)[: size * size].reshape(size, size)
        self.evaluations += memory.size
        return self._values.block(members, members, memory)

    def close(self) -> None:
        """Give the memory up; the view is not to be used any more."""
        self.view.slots[:] = -1
        self.view = KernelView.of(self.view.values[:0].copy(), *self.view[2:])
        self._work = np.empty((0, self._work.shape[1]), self._work.dtype)


# --- draws by tiles -------------------------------------------------------------------------------


class TiledSteps:
    """Runs a loop by tiles of draws, and keeps the rows of violators while there is room.

    Once the margins before a tile are known, the kernel values between its draws decide which of
    them violate. When the tile is done, the rows of all violators together are added to the margins
    of all examples. Missing rows are computed in one thick product, and need not be kept for that.

    A row makes room if its example has no coefficient, or if it was not used for two epochs: with
    permutations its example has been drawn in between, and did not violate.

    Parameters
    ----------
    values : KernelMatrix
    cache : RowCache
        Of these values.
    work_bytes : int
        Memory for the kernel values between a tile's draws.
    """

    def __init__(self, values: KernelMatrix, cache: RowCache, work_bytes: int) -> None:
        self._values, self._cache = values, cache
        self.largest_batch = math.isqrt(work_bytes // scored_bytes(values))
        self.tile_draws = max(1, min(tuning.TILE_DRAWS, self.largest_batch))

    def length(self, steps: Steps, most: int) -> int:
        """Return the draws of the next tile: whole batches, up to the end of the epoch.

        So no example is drawn twice by permutations, and sums do not depend on where tiles begin.
        Where rows take long a tile has ``most`` draws, as it cannot stop before all are added.
        """
        n_samples, k = self._values.n_samples, steps.parameters.batch_size
        left = n_samples - steps.done * k % n_samples
        return max(k, min(self.tile_draws, left, most) // k * k)

    def are_better(self, steps: Steps, draws: np.ndarray) -> bool:
        """Check whether tiles suit the next draws better than going one by one, from rows held.

        One by one, each violator is added on its own. In the first epoch its row is missing, and
        forecasts of other violators are mostly wrong.
        """
        n_samples = self._values.n_samples
        if steps.algorithm.from_zero and steps.done * steps.parameters.batch_size < n_samples:
            return True
        score = steps.priority(draws[: self.tile_draws])
        violators = np.count_nonzero(score < 0.0)
        return bool(violators * n_samples > tuning.TILED_ABOVE_ADDITIONS * score.size)

    def advance(self, steps: Steps, draws: np.ndarray) -> None:
        """Run the loop over one tile of draws."""
        members, turns = _in_order(draws)
        view, state = self._view(members), steps.state
        label, signed, loss = steps.examples
        examples = Examples(label[members], signed[members], loss)
        status, position = RESCALE, 0
        while status == RESCALE:
            alpha, stamps = state.alpha[members], state.stamps[members]
            local = state._replace(
                alpha=alpha.copy(),
                stamps=stamps.copy(),
                image=state.image[members],
                stamped_image=np.empty(0),
            )
            status, position = steps.algorithm.loop(
                local, view, turns, position, turns.size, examples, steps.parameters
            )
            if status != RESCALE:
                del view  # rows need its memory now
            with finishing():
                state.alpha[members], state.stamps[members] = local.alpha, local.stamps
                self._add(steps, members, local.alpha - alpha, local.stamps - stamps)
            if status == RESCALE:
                absorb_scale(state)

    def _view(self, members: np.ndarray) -> KernelView:
        """Compute the kernel values between some examples.

        A loop over them counts those whose rows are held as hits.
        """
        cache, size = self._cache, members.size
        matrix = self._values.block(members, members)
        cache.evaluations += size**2
        slots, norms = cache.view.slots[members], cache.view.squared_norms[members]
        ticks = np.where(slots >= 0, cache.view.ticks[slots], -1)
        return KernelView.of(matrix, np.arange(size), ticks, norms, cache.view.kernel_offset)

    def _add(
        self, steps: Steps, members: np.ndarray, counts: np.ndarray, stamps: np.ndarray
    ) -> None:
        """Add increments of counts and stamps of some examples to the margins of all."""
        changed = (counts != 0.0) | (stamps != 0.0)
        members = members[changed]
        signed, state, t = steps.examples.signed[members], steps.state, steps.done
        counts, stamps = counts[changed] * signed, stamps[changed] * signed
        view = self._cache.view
        slots = view.slots[members]
        view.ticks[slots[slots >= 0]] = t
        two_epochs = 2 * -(-steps.parameters.n_samples // steps.parameters.batch_size)
        for part in _parts(slots < 0, self._cache.tile_rows):
            missing = members[part][slots[part] < 0]
            rows = view.values[:0]
            if missing.size:
                rows = self._cache.compute_for_now(missing, t, two_epochs, state.alpha)
            kept = view.slots[members[part]]
            # The order of the sums does not depend on which rows are kept.
            others = -np.cumsum(kept < 0)
            add_rows_together(
                view.values,
                rows,
                np.where(kept >= 0, kept, others),
                counts[part],
                stamps[part],
                view.kernel_offset,
                state.image,
                state.stamped_image,
            )


def _in_order(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return examples that are drawn, in this order, and the place of each draw among them."""
    members, first, places = np.unique(draws, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return members[order], rank[places]


def _parts(missing: np.ndarray, most: int) -> Iterator[slice]:
    """Cut a list so that no part has more than ``most`` missing rows."""
    number = np.maximum(np.cumsum(missing) - 1, 0) // most
    ends = np.flatnonzero(np.diff(number, append=-1)) + 1
    yield from map(slice, [0, *ends[:-1].tolist()], ends.tolist())


# --- rows that are kept ---------------------------------------------------------------------------


class CachedRows(KernelSource):
    """Look-ahead over a `RowCache`, or `TiledSteps` where rows are missing or violators are many.

    Rows that fit are kept. The others are computed whenever their examples violate, those of a tile
    of draws together, so the cost grows in proportion to what does not fit.

    Parameters
    ----------
    values : KernelMatrix
    cache_mb : float or "auto", default="auto"
        MiB for the rows kept and the tile in work together; see `make_rows`.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.

    Raises
    ------
    ValueError
        If the budget has no room for a few rows.
    """

    computes_as_asked = True

    def __init__(
        self,
        values: KernelMatrix,
        *,
        cache_mb: float | str = "auto",
        intercept_scaling: float = 0.0,
    ) -> None:
        if not isinstance(values, KernelMatrix):
            raise ValueError(
                f"values must be kernel values, such as a KernelMatrix, got {shown(values)} instead"
            )
        super().__init__(values.n_samples, intercept_scaling, values.kernel.positive_definite)
        mb = budget_mb(cache_mb, most_mb_used(values))
        check_budget("cached", cached_mb_needed(values), mb, values)
        self._values = values
        self._know(values)
        self.positive_definite &= may_be_definite(values.diagonal)
        capacity, work_rows = cache_capacity(values, mb)
        self._cache = RowCache(values, self.kernel_offset, capacity, max(1, work_rows))
        self.row_capacity = self._cache.row_capacity
        size = block_size(values)
        self.block_size = size if size**2 <= self.row_capacity * self.n_samples else 0
        self._tiles: TiledSteps | None = None
        work = work_rows * self.n_samples * values.dtype.itemsize
        pays = work >= tuning.FEWEST_ROWS**2 * scored_bytes(values)
        if pays and self.n_samples >= 8 * tuning.TILE_DRAWS:
            self._tiles = TiledSteps(values, self._cache, work)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + B²`` of each example."""
        return self._values.diagonal + self.kernel_offset

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far; of a costly kernel, also those of rows cut short."""
        return self._values.spent if self.is_costly else self._cache.evaluations

    @evaluations.setter
    def evaluations(self, number: int) -> None:
        self._cache.evaluations = number

    def advance(self, steps: Steps, draws: np.ndarray, stop: int) -> None:
        """Run the loop over ``draws[:stop]``."""
        self._cache.begin(steps.done)
        at_once = self._values.rows_at_once(self._cache.tile_rows)
        tiles, position = self._tiles, 0
        if tiles and (not at_once or steps.parameters.batch_size > tiles.largest_batch):
            tiles = None  # rows that take long may be cut short, tiles may not
        while tiles and position < stop and tiles.are_better(steps, draws[position:stop]):
            end = min(stop, position + tiles.length(steps, at_once))
            tiles.advance(steps, draws[position:end])
            position = end
        while position < stop:
            status, position = steps.take(self._cache.view, draws, position, stop)
            if status == DONE:  # what is left is less than a batch
                return
            if status == RESCALE:
                continue
            # Within a batch there is no step to end at.
            with finishing() if steps.state.counters[BATCH_OFFSET] else nullcontext():
                if tiles and self._cache.is_full:
                    end = min(stop, position + tiles.length(steps, at_once))
                    tiles.advance(steps, draws[position:end])
                    position = end
                else:
                    self._fetch(steps, draws[position:], max(1, at_once))

    def ensure_rows(self, members: np.ndarray, t: int) -> KernelView:
        """Return a view that holds the rows of some examples, computed if need be."""
        return self._cache.ensure(members, t)

    def block(self, members: np.ndarray) -> KernelView:
        """Compute the kernel matrix of some examples in the memory of the rows, which are lost."""
        return block_view(self, members, self._cache.matrix(members))

    def add_rows(self, members: np.ndarray, increments: np.ndarray, image: np.ndarray) -> None:
        """Add multiples of kernel rows, computed and not kept, to an image."""
        rows, offset, no_stamps = np.arange(members.size), self.kernel_offset, increments[:0]

        def use(begin: int, tile: np.ndarray) -> None:
            part = image[begin : begin + tile.shape[1]]
            kept = tile, tile[:0], rows
            add_range(*kept, increments, increments, offset, 0, part.size, part, no_stamps)

        self._cache.evaluations += self._values.pass_rows(members, use)

    def _fetch(self, steps: Steps, upcoming: np.ndarray, most: int) -> None:
        """Compute the missing row, and those that the violators ahead will miss."""
        offset, k = int(steps.state.counters[BATCH_OFFSET]), steps.parameters.batch_size
        window = upcoming[offset + 1 : offset + k + window_ahead(steps.done * k)]
        window = window[self._cache.view.slots[window] < 0]
        score = steps.priority(window)
        # A few rows cost as much as one, so the likeliest of the doubtful fill up a small tile.
        small = tuning.SMALL_TILE_ROWS
        if score.size > small:
            wanted = window[score <= max(0.0, np.partition(score, small)[small])]
        else:
            wanted = window[np.isfinite(score)]
        unique, first = np.unique(np.concatenate(([upcoming[offset]], wanted)), return_index=True)
        self._cache.compute(np.sort(unique[np.argsort(first)][:most]), steps.done)

    def forget(self) -> None:
        """Give up all rows that are kept."""
        self._cache.forget()

    def close(self) -> None:
        """Give up the memory of the rows."""
        self._cache.close()
        super().close()
