"""Kernel values that are computed for a tile of draws at a time and not kept."""

from __future__ import annotations

import math

import numpy as np

from kpegasos.core.state import RESCALE, SCALE, Examples, LoopParameters, LoopState, fold_scale
from kpegasos.kernels.decision import kernel_product
from kpegasos.kernels.matrix import KernelValues, check_kernel_values
from kpegasos.rows.base import Algorithm, KernelSource
from kpegasos.rows.budget import (
    budget_bytes,
    budget_mb,
    check_budget,
    most_mb_used,
    scored_bytes,
    uncached_mb_needed,
)
from kpegasos.rows.decisions import points_of
from kpegasos.rows.tiles import DrawTile, values_between
from kpegasos.utils import tuning
from kpegasos.utils.validation import as_integer, optional


class DrawScorer:
    """Runs a loop over draws that are scored against the support, a tile at a time.

    One product scores a tile of upcoming draws against the support so far. The kernel values inside
    the tile correct the scores while its violators are applied, in order. Memory grows with
    (tile × support), not with n_samples.

    Parameters
    ----------
    values : KernelValues
    kernel_offset : float
    budget : int
        Bytes of the tile in work.
    tile_draws : int
        Draws of a tile at the most.

    Attributes
    ----------
    largest_batch : int
        Draws whose values against each other the budget holds.
    """

    def __init__(
        self,
        values: KernelValues,
        kernel_offset: float,
        budget: int,
        tile_draws: int,
    ) -> None:
        self._values = values
        self._kernel_offset = kernel_offset
        self._budget = budget
        self.largest_batch = math.isqrt(budget // scored_bytes(values))
        self.tile_draws = max(1, min(tile_draws, self.largest_batch))

    def width(self, height: int) -> int:
        """How many examples a tile of so many draws is scored against at a time."""
        per_column = height * scored_bytes(self._values) + self._values.row_bytes
        return max(1, min(self._budget, tuning.SCORED_BYTES) // per_column)

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> int:
        """Run the loop over the draws; returns how many kernel values that took."""
        k = parameters.batch_size
        length = max(k, self.tile_draws // k * k)
        position = evaluations = 0
        while position < draws.size:
            tile = draws[position : position + length]
            done, computed = self._advance_tile(algorithm, state, tile, examples, parameters)
            position += done
            evaluations += computed
        return evaluations

    def _advance_tile(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> tuple[int, int]:
        """Run the loop over one tile; returns draws done and kernel values computed."""
        tile = DrawTile(self._values, self._kernel_offset, draws, examples)
        margins, n_support = self._score(tile.members, state, examples)
        status, done = RESCALE, 0
        while status == RESCALE:
            status, done = tile.run(algorithm, state, margins, done, parameters)
            if status == RESCALE:
                margins *= state.scalars[SCALE]
                fold_scale(state)
        return done, tile.members.size * (n_support + tile.members.size)

    def _score(
        self, members: np.ndarray, state: LoopState, examples: Examples
    ) -> tuple[np.ndarray, int]:
        """``<q, φ(x_i)>`` of some members, and the size of the support."""
        support = np.flatnonzero(state.alpha)
        coef = state.alpha[support] * examples.signed[support]
        margins = np.full(members.size, self._kernel_offset * coef.sum())
        width = self.width(members.size)
        for left in range(0, support.size, width):
            part = slice(left, min(support.size, left + width))
            margins += values_between(self._values, members, support[part]) @ coef[part]
        return margins, support.size


class UncachedRows(KernelSource):
    """Kernel rows that are not kept: a tile of draws is scored against the support.

    Parameters
    ----------
    values : KernelValues
    cache_mb : float or "auto", default="auto"
        MiB for the tile in work; see `make_rows`.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    tile_rows : int, default=256
        Draws of a tile at the most.

    Raises
    ------
    ValueError
        If the budget is too small.
    """

    image_kind = "none"
    computes_as_asked = True

    def __init__(
        self,
        values: KernelValues,
        *,
        cache_mb: float | str = "auto",
        intercept_scaling: float = 0.0,
        tile_rows: int | None = None,
    ) -> None:
        check_kernel_values(values)
        super().__init__(values.n_samples, intercept_scaling, values.kernel.positive_definite)
        cache_mb = budget_mb(cache_mb, most_mb_used(values))
        check_budget("streamed", uncached_mb_needed(values), cache_mb, values)
        self._values = values
        self._take_accuracy(values)
        self.points = points_of(values)
        self._scorer = DrawScorer(
            values,
            self.kernel_offset,
            budget_bytes(cache_mb),
            optional(as_integer, "tile_rows", tile_rows, least=1) or tuning.TILE_ROWS,
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
        """Run the loop over ``draws[:stop]``."""
        k = parameters.batch_size
        if k > self._scorer.largest_batch:
            needed = k * k * scored_bytes(self._values) / tuning.MEBIBYTE
            raise ValueError(
                f"cache_mb must be at least {1.005 * needed:.3g} for batch_size={k} with "
                f"cache='streamed', got room for batches of {self._scorer.largest_batch} instead"
            )
        self.evaluations += self._scorer.advance(
            algorithm, state, draws[:stop], examples, parameters
        )

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + B²) @ columns``."""
        height = self._scorer.tile_draws
        width = self._scorer.width(height)
        return kernel_product(self._values, columns, self.kernel_offset, height, width)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + B²`` of each example."""
        return self._values.diagonal + self.kernel_offset
