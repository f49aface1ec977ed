"""Draws for which no rows are kept, although there is a cache for them.

In the first epoch margins still swing, and most forecasts of violators would be wrong: look-ahead
fetched four rows for one that was needed. So its draws are scored against the support alone, with
the support's features packed for products. The same serves where the support has outgrown the
cache: rows that would be given up before they are used again are better not kept.
"""

from __future__ import annotations

import numpy as np

from kpegasos.core.state import STEPS, LoopParameters, LoopState
from kpegasos.kernels.matrix import KernelValues
from kpegasos.rows.base import Algorithm
from kpegasos.rows.budget import scored_bytes
from kpegasos.rows.uncached import BlockValues, DrawScorer, SupportValues
from kpegasos.utils import tuning


class PackedValues:
    """Support values from examples that are packed once, when they enter the support."""

    def __init__(self, values: KernelValues) -> None:
        self._values = values
        self._subset = values.pack_subset()
        self._is_new = True

    def order(self, alpha: np.ndarray) -> np.ndarray:
        """Examples of the support, in the order in which they entered it."""
        packed = self._subset.members
        if not alpha[packed].all():  # another run, or counts that the projection has brought to 0
            self.forget()
            packed = self._subset.members
        support = np.flatnonzero(alpha)
        self._is_new = False
        self._subset.append(support[np.isin(support, packed, invert=True, assume_unique=True)])
        return self._subset.members

    def against(self, members: np.ndarray, support: np.ndarray, part: slice) -> np.ndarray:
        """Values of some members against a part of the support."""
        out = np.empty((members.size, part.stop - part.start), self._values.dtype)
        self._subset.write(members, out, part.start, part.stop)
        return out

    def among(self, members: np.ndarray) -> np.ndarray:
        """Values of some members against each other."""
        out = np.empty((members.size, members.size), self._values.dtype)
        subset = self._values.pack_subset()
        subset.append(members)
        subset.write(members, out)
        return out

    def forget(self) -> None:
        """Give up what is packed."""
        if not self._is_new:
            self._subset = self._values.pack_subset()
            self._is_new = True


class WarmUp:
    """Decides which draws no rows are kept for, and scores them.

    Parameters
    ----------
    values : KernelValues
    kernel_offset : float
    work_bytes : int
        Memory for a tile of draws.
    row_capacity : int
        Rows that the cache holds.
    tile_draws : int
        Draws of a tile.
    """

    def __init__(
        self,
        values: KernelValues,
        kernel_offset: float,
        work_bytes: int,
        row_capacity: int,
        tile_draws: int,
    ) -> None:
        self._values = values
        self._row_capacity = row_capacity
        self._support: SupportValues
        self._support = PackedValues(values) if values.can_pack else BlockValues(values)
        self.scorer = DrawScorer(values, self._support, kernel_offset, work_bytes, tile_draws)

    @staticmethod
    def pays(values: KernelValues, work_bytes: int, tile_draws: int) -> bool:
        """Whether the data are large enough, and the memory too."""
        fewest = tuning.FEWEST_ROWS**2 * scored_bytes(values)
        return values.n_samples >= 8 * tile_draws and work_bytes >= fewest

    def forget(self) -> None:
        """Give up what is stored of the support."""
        self._support.forget()

    def draws_to_score(
        self, algorithm: Algorithm, state: LoopState, stop: int, parameters: LoopParameters
    ) -> int:
        """How many of the next ``stop`` draws are scored, and no rows kept for them."""
        k = parameters.batch_size
        if not algorithm.from_zero or k > self.scorer.largest_batch:
            return 0
        n_samples = self._values.n_samples
        first_epoch = n_samples // k * k - int(state.counters[STEPS]) * k
        if first_epoch > 0:
            return min(stop, first_epoch)
        if self._row_capacity == n_samples:
            return 0
        outgrown = np.count_nonzero(state.alpha) > tuning.UNCACHED_ABOVE_FILL * self._row_capacity
        return stop if outgrown else 0
