"""Draws by tiles: a loop runs over some draws at a time, and margins are brought up to date behind.

The kernel values of the draws of a tile among each other are all that decides which of them
violate, once their margins before the tile are known. What the violators add to the margins of all
examples is added for all of them together, when the tile is done. Their rows come in one thick
product where they are missing, and need not be kept for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kpegasos.core.additions import add_rows_together
from kpegasos.core.state import RESCALE, STEPS, Examples, LoopParameters, LoopState, fold_scale
from kpegasos.core.views import KernelView
from kpegasos.kernels.matrix import KernelValues
from kpegasos.rows.base import Algorithm
from kpegasos.rows.budget import scored_bytes
from kpegasos.rows.cache import RowCache
from kpegasos.utils import tuning
from kpegasos.utils.patience import finishing


class DrawTile:
    """Some draws, and the kernel values of their examples among each other.

    Parameters
    ----------
    values : KernelValues
    kernel_offset : float
    draws : ndarray of int64
    examples : Examples
    view : KernelView, default=None
        Rows that are held; a loop over the tile then counts those that it finds as hits.

    Attributes
    ----------
    members : ndarray of int64
        The examples that were drawn, each once, in this order.
    """

    def __init__(
        self,
        values: KernelValues,
        kernel_offset: float,
        draws: np.ndarray,
        examples: Examples,
        view: KernelView | None = None,
    ) -> None:
        members, turns = _in_turn(draws)
        self.members = members
        ticks = np.full(members.size, -1, dtype=np.int64)
        if view is not None:
            slots = view.slots[members]
            ticks = np.where(slots >= 0, view.ticks[slots], ticks)
        self._turns = turns
        self._view = KernelView(
            values_between(values, members, members),
            np.arange(members.size),
            ticks,
            values.diagonal[members] + kernel_offset,
            kernel_offset,
        )
        self._examples = Examples(examples.label[members], examples.signed[members], examples.loss)

    def run(
        self,
        algorithm: Algorithm,
        state: LoopState,
        image: np.ndarray,
        position: int,
        parameters: LoopParameters,
    ) -> tuple[int, int]:
        """Run a loop from a draw of the tile on; the image of the state is left alone.

        Parameters
        ----------
        algorithm : Algorithm
        state : LoopState
            Counts are brought up to date.
        image : ndarray of shape (n_members,)
            Image of the members, brought up to date.
        position : int
            First draw.
        parameters : LoopParameters

        Returns
        -------
        status, next : int
            Those of the loop.
        """
        members = self.members
        local = state._replace(
            alpha=state.alpha[members],
            stamps=state.stamps[members],
            image=image,
            stamped_image=np.empty(0),
        )
        status, position = algorithm.loop(
            local,
            self._view,
            self._turns,
            position,
            self._turns.size,
            self._examples,
            parameters,
        )
        state.alpha[members], state.stamps[members] = local.alpha, local.stamps
        return status, position

    def close(self) -> None:
        """Give up the kernel values."""
        self._view = self._view._replace(values=self._view.values[:0, :0].copy())


def _in_turn(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The examples that were drawn, in order, and which of them each draw is."""
    unique, first, turns = np.unique(draws, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return unique[order], rank[turns]


def values_between(values: KernelValues, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Kernel values of some examples against others, by packed products where that can be."""
    if not values.can_pack:
        return np.ascontiguousarray(values.block(left, right))
    out = np.empty((left.size, right.size), values.dtype)
    subset = values.pack_subset()
    subset.append(right)
    subset.write(left, out)
    return out


class TiledSteps:
    """Runs a loop by tiles of draws, and keeps the rows of violators while there is room.

    A row that is used makes room for no other, unless nobody has used it for two epochs: with
    permutations its example has been drawn in between, and did not violate.

    Parameters
    ----------
    values : KernelValues
    kernel_offset : float
    cache : RowCache
    work_bytes : int
        Memory for the kernel values of a tile's draws among each other.
    tile_draws : int
        Draws of a tile at the most.
    """

    def __init__(
        self,
        values: KernelValues,
        kernel_offset: float,
        cache: RowCache,
        work_bytes: int,
        tile_draws: int,
    ) -> None:
        self._values = values
        self._kernel_offset = kernel_offset
        self._cache = cache
        self.largest_batch = math.isqrt(work_bytes // scored_bytes(values))
        self.tile_draws = max(1, min(tile_draws, self.largest_batch))

    @staticmethod
    def pay(values: KernelValues, work_bytes: int, tile_draws: int) -> bool:
        """Whether the data are large enough, and the memory too."""
        fewest = tuning.FEWEST_ROWS**2 * scored_bytes(values)
        return values.n_samples >= 8 * tile_draws and work_bytes >= fewest

    def length(self, state: LoopState, batch_size: int) -> int:
        """Draws of the next tile: whole batches, that do not go beyond the end of the epoch.

        So no example is drawn twice by permutations, and sums do not depend on where tiles begin.
        """
        n_samples = self._values.n_samples
        left = n_samples - int(state.counters[STEPS]) * batch_size % n_samples
        return max(batch_size, min(self.tile_draws, left) // batch_size * batch_size)

    def are_better(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> bool:
        """Whether the next draws are better done by tiles than one by one, with all rows held.

        One by one, each violator is added on its own. In the first epoch its row is missing, and
        forecasts of other violators are mostly wrong.
        """
        k, n_samples = parameters.batch_size, self._values.n_samples
        if not draws.size or k > self.largest_batch:
            return False
        if algorithm.from_zero and int(state.counters[STEPS]) * k < n_samples:
            return True
        score = algorithm.priority(state, draws[: self.tile_draws], examples, parameters)
        violators = np.count_nonzero(score < 0.0)
        return bool(violators * n_samples > tuning.TILED_ABOVE_ADDITIONS * score.size)

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Run the loop over one tile of draws."""
        tile = DrawTile(self._values, self._kernel_offset, draws, examples, self._cache.view)
        members = tile.members
        self._cache.evaluations += members.size**2
        status, position = RESCALE, 0
        while status == RESCALE:
            alpha, stamps = state.alpha[members], state.stamps[members]
            image = state.image[members]
            status, position = tile.run(algorithm, state, image, position, parameters)
            if status != RESCALE:
                tile.close()  # memory for rows is wanted now
            with finishing():
                self._add(
                    state,
                    members,
                    state.alpha[members] - alpha,
                    state.stamps[members] - stamps,
                    examples,
                    parameters,
                )
            if status == RESCALE:
                fold_scale(state)

    def _add(
        self,
        state: LoopState,
        members: np.ndarray,
        counts: np.ndarray,
        stamps: np.ndarray,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """Add what counts and stamps of some examples have gained to the margins of all."""
        changed = (counts != 0.0) | (stamps != 0.0)
        members = members[changed]
        counts = counts[changed] * examples.signed[members]
        stamps = stamps[changed] * examples.signed[members]
        t = int(state.counters[STEPS])
        view = self._cache.view
        slots = view.slots[members]
        view.ticks[slots[slots >= 0]] = t
        two_epochs = 2 * -(-parameters.n_samples // parameters.batch_size)
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
                self._kernel_offset,
                state.image,
                state.stamped_image,
            )


def _parts(missing: np.ndarray, most: int) -> Iterator[slice]:
    """Cut a list so that no part has more than ``most`` missing rows."""
    number = np.maximum(np.cumsum(missing) - 1, 0) // most
    ends = np.flatnonzero(np.diff(number, append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        yield slice(begin, end)
        begin = end
