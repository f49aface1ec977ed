"""Kernel rows computed in tiles when first needed, and kept within a budget of bytes.

The index stream is known ahead, so a tile holds the row that is missing together with those that
upcoming violators will need. That changes the cost, never the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np

from kpegasos.core.state import (
    BATCH_OFFSET,
    NEED_ROW,
    RESCALE,
    STEPS,
    Examples,
    LoopParameters,
    LoopState,
    fold_scale,
)
from kpegasos.core.views import KernelView
from kpegasos.kernels.decision import kernel_product
from kpegasos.kernels.matrix import KernelValues, check_kernel_values
from kpegasos.rows.base import Algorithm, KernelSource
from kpegasos.rows.budget import (
    budget_mb,
    cache_capacity,
    cached_mb_needed,
    check_budget,
    most_mb_used,
)
from kpegasos.rows.cache import BufferPool, RowCache
from kpegasos.rows.decisions import points_of
from kpegasos.rows.tiles import TiledSteps
from kpegasos.utils import tuning
from kpegasos.utils.patience import finishing
from kpegasos.utils.validation import as_integer, optional, shown


class CachedRows(KernelSource):
    """Look-ahead over a `RowCache`, or `TiledSteps` where rows are missing or violators are many.

    Rows that fit are kept. The others are computed whenever their examples violate, those of a tile
    of draws together, so the cost grows in proportion to what does not fit.

    Parameters
    ----------
    values : KernelValues
    cache_mb : float or "auto", default="auto"
        MiB for the rows kept and the tile in work together; see `make_rows`.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    tile_rows : int, default=256
        Rows of one tile at the most.
    tile_draws : int, default=128
        Draws of a tile. Data of less than eight such tiles go through their draws one by one.
    pool : BufferPool, default=None
        Where the memory comes from.

    Raises
    ------
    ValueError
        If the budget has no room for a few rows.
    """

    computes_as_asked = True

    def __init__(
        self,
        values: KernelValues,
        *,
        cache_mb: float | str = "auto",
        intercept_scaling: float = 0.0,
        tile_rows: int | None = None,
        tile_draws: int | None = None,
        pool: BufferPool | None = None,
    ) -> None:
        check_kernel_values(values)
        if pool is not None and not isinstance(pool, BufferPool):
            raise ValueError(f"pool must be a BufferPool, got {shown(pool)} instead")
        super().__init__(values.n_samples, intercept_scaling, values.kernel.positive_definite)
        cache_mb = budget_mb(cache_mb, most_mb_used(values))
        check_budget("cached", cached_mb_needed(values), cache_mb, values)
        tile_rows = optional(as_integer, "tile_rows", tile_rows, least=1) or tuning.TILE_ROWS
        tile_draws = optional(as_integer, "tile_draws", tile_draws, least=1) or tuning.TILE_DRAWS
        capacity = cache_capacity(values, cache_mb)
        self.image_size = self.n_samples
        self._values = values
        self._take_accuracy(values)
        self.points = points_of(values)
        self._cache = RowCache(
            values,
            self.squared_norms(),
            self.kernel_offset,
            capacity.rows,
            max(1, min(capacity.tile_rows, tile_rows)),
            pool or BufferPool(),
        )
        self.row_capacity = self._cache.row_capacity
        self._tiles: TiledSteps | None = None
        work = capacity.tile_rows * self.n_samples * values.dtype.itemsize
        if TiledSteps.pay(values, work, tile_draws):
            self._tiles = TiledSteps(values, self.kernel_offset, self._cache, work, tile_draws)

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Run the loop over ``draws[:stop]``."""
        with self._counted():
            self._cache.begin(int(state.counters[STEPS]))
            tiles, position = self._tiles, 0
            while tiles and tiles.are_better(
                algorithm, state, draws[position:stop], examples, parameters
            ):
                end = min(stop, position + tiles.length(state, parameters.batch_size))
                tiles.advance(algorithm, state, draws[position:end], examples, parameters)
                position = end
            if position < stop:
                self._advance_singly(algorithm, state, draws, position, stop, examples, parameters)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count what the cache computes, even if it is left."""
        before = self._cache.evaluations
        try:
            yield
        finally:
            self.evaluations += self._cache.evaluations - before

    def _advance_singly(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        position: int,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Run the loop on the rows that are held; the missing ones are fetched."""
        k = parameters.batch_size
        tiles = self._tiles if self._tiles and k <= self._tiles.largest_batch else None
        while True:
            status, position = algorithm.loop(
                state, self._cache.view, draws, position, stop, examples, parameters
            )
            if status == RESCALE:
                fold_scale(state)
                continue
            if status != NEED_ROW:
                return
            # Within a batch there is no step to end at.
            with finishing() if state.counters[BATCH_OFFSET] else nullcontext():
                if tiles and self._cache.is_full:
                    end = min(stop, position + tiles.length(state, k))
                    tiles.advance(algorithm, state, draws[position:end], examples, parameters)
                    position = end
                else:
                    self._fetch(algorithm, state, draws[position:], examples, parameters)

    @property
    def n_kept(self) -> int:
        """Rows that are kept at present."""
        return self._cache.n_kept

    def ensure_rows(self, members: np.ndarray, t: int) -> KernelView:
        """A view that holds the rows of some examples, computed if need be."""
        with self._counted():
            return self._cache.ensure(members, t)

    def look_ahead(self, done: int, batch_size: int) -> int:
        """How many draws beyond ``stop`` are of use when ``done`` draws have been made."""
        return min(self._window(done) + batch_size, 2 * self.n_samples)

    @staticmethod
    def _window(done: int) -> int:
        # Early on margins change quickly against t, and a far forecast is mostly wrong.
        return max(tuning.TILE_ROWS, done // 4)

    def _fetch(
        self,
        algorithm: Algorithm,
        state: LoopState,
        upcoming: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Compute the missing row, and those that the violators ahead will miss."""
        offset, t = int(state.counters[BATCH_OFFSET]), int(state.counters[STEPS])
        k = parameters.batch_size
        window = upcoming[offset + 1 : offset + k + self._window(t * k)]
        window = window[self._cache.missing(window)]
        score = algorithm.priority(state, window, examples, parameters)
        # A few rows cost as much as one, so the likeliest of the doubtful fill up a small tile.
        small = tuning.SMALL_TILE_ROWS
        if score.size > small:
            wanted = window[score <= max(0.0, np.partition(score, small)[small])]
        else:
            wanted = window[np.isfinite(score)]
        unique, first = np.unique(np.concatenate(([upcoming[offset]], wanted)), return_index=True)
        chosen = np.sort(unique[np.argsort(first)][: self._cache.tile_rows])
        self._cache.compute(chosen, t)

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + B²) @ columns``."""
        return kernel_product(self._values, columns, self.kernel_offset, self._cache.tile_rows)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + B²`` of each example."""
        return self._values.diagonal + self.kernel_offset

    def forget(self) -> None:
        """Give up all rows that are kept."""
        self._cache.forget()

    def close(self) -> None:
        """Give the memory of the rows back to the pool."""
        self._cache.close()
