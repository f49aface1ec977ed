"""Kernel values computed for a block of draws at a time and not kept."""

from __future__ import annotations

import math

import numpy as np

from kpegasos.core.loops import (
    RESCALE,
    Examples,
    KernelView,
    LoopParameters,
    LoopState,
)
from kpegasos.core.state import Algorithm, fold_scale
from kpegasos.kernels.decision import kernel_product
from kpegasos.kernels.matrix import KernelValues
from kpegasos.rows.base import KernelSource
from kpegasos.utils import tuning


class UncachedRows(KernelSource):
    """Nothing kept: memory grows with (block × support), not with n_samples.

    A block of upcoming draws is scored against the support so far by one product, and corrected in
    order by the kernel values inside the block while its violators are applied.

    Parameters
    ----------
    blocks : KernelValues
    cache_mb : float, default=1024
        MiB for the block in work.
    intercept_scaling : float, default=0.0
    tile_rows : int, default=256
        Draws of one block.
    pack : bool, default=False
        Keep the features of the support, packed for products with the next block. Faster; the
        support then is that of one run from zero, which only grows.
    """

    def __init__(
        self,
        blocks: KernelValues,
        *,
        cache_mb: float = 1024.0,
        intercept_scaling: float = 0.0,
        tile_rows: int = tuning.TILE_ROWS,
        pack: bool = False,
    ) -> None:
        super().__init__(blocks.n_samples, intercept_scaling**2, blocks.kernel.positive_definite)
        self._blocks = blocks
        cost = streamed_bytes(blocks)
        side = math.isqrt(int(cache_mb * tuning.MEBIBYTE / cost))
        if side < min(tuning.FEWEST_ROWS, self.n_samples):
            raise ValueError(
                f"cache_mb must be at least {tuning.FEWEST_ROWS**2 * cost / tuning.MEBIBYTE:.3g} to hold one "
                f"block of kernel values, got {cache_mb:g} instead"
            )
        self.largest_batch = side
        self.tile_rows = max(1, min(tile_rows, side))
        self._budget = int(cache_mb * tuning.MEBIBYTE)
        self._packed = blocks.pack_subset() if pack and blocks.can_pack else None

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
        k = parameters.batch_size
        if k > self.largest_batch:
            needed = k * k * streamed_bytes(self._blocks) / tuning.MEBIBYTE
            raise ValueError(
                f"cache_mb must be at least {1.005 * needed:.3g} for batch_size={k} with "
                f"cache='streamed', got room for batches of {self.largest_batch} instead"
            )
        length = max(k, self.tile_rows // k * k)
        position = 0
        while position < stop:
            end = min(stop, position + length)
            position += self._advance_block(
                algorithm, state, draws[position:end], examples, parameters
            )

    def _width(self, height: int) -> int:
        """How many examples a block of so many rows is scored against at a time."""
        gathered = self._blocks.row_bytes
        per_column = height * streamed_bytes(self._blocks) + gathered
        return max(1, self._budget // per_column)

    def _advance_block(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> int:
        members, local_draws = np.unique(draws, return_inverse=True)
        support = self._support(state.alpha)
        coef = state.alpha[support] * examples.signed[support]
        margins = np.full(members.size, self.offset * coef.sum())
        width = self._width(members.size)
        for left in range(0, support.size, width):
            part = slice(left, min(support.size, left + width))
            margins += self._against(members, support, part) @ coef[part]
        values = self._among(members)
        self.evaluations += members.size * (support.size + members.size)
        rows = KernelView(
            values,
            np.arange(members.size),
            np.full(members.size, -1, dtype=np.int64),
            self._blocks.diagonal[members] + self.offset,
            self.offset,
        )
        local = state._replace(
            alpha=state.alpha[members],
            stamps=state.stamps[members],
            base=margins,
            stamped_image=np.empty(0),
        )
        local_examples = Examples(examples.label[members], examples.signed[members])
        status, done = algorithm.loop(
            local, rows, local_draws.astype(np.int64), 0, draws.size, local_examples, parameters
        )
        state.alpha[members] = local.alpha
        state.stamps[members] = local.stamps
        if status == RESCALE:
            fold_scale(state)
        return done

    def _support(self, alpha: np.ndarray) -> np.ndarray:
        """Examples that have been counted, in the order in which they are packed."""
        support = np.flatnonzero(alpha)
        if self._packed is not None:
            packed = self._packed.members
            new = support[np.isin(support, packed, invert=True, assume_unique=True)]
            self._packed.append(new)
            support = self._packed.members
        return support

    def _against(self, members: np.ndarray, support: np.ndarray, part: slice) -> np.ndarray:
        """Kernel values of some members against a part of the support."""
        if self._packed is None:
            return self._blocks.block(members, support[part])
        values = np.empty((members.size, part.stop - part.start), self._blocks.dtype)
        self._packed.write(members, values, part.start, part.stop)
        return values

    def _among(self, members: np.ndarray) -> np.ndarray:
        """Kernel values of some members against each other."""
        if self._packed is None:
            return np.ascontiguousarray(self._blocks.block(members, members))
        values = np.empty((members.size, members.size), self._blocks.dtype)
        packed = self._blocks.pack_subset()
        packed.append(members)
        packed.write(members, values)
        return values

    def forget(self) -> None:
        """Give up what is packed."""
        if self._packed is not None:
            self._packed = self._blocks.pack_subset()

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``."""
        width = self._width(self.tile_rows)
        return kernel_product(self._blocks, columns, self.offset, self.tile_rows, width)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        return self._blocks.diagonal + self.offset


def streamed_bytes(blocks: KernelValues) -> int:
    """Bytes that a value of a block in work takes: itself, its copy in float64, temporaries."""
    return 16 if blocks.can_pack else 32
