"""Parts of a fit, each twice as large as the one before, as long as they cost little.

What is little is counted in multiplications and not in seconds, so that a forecast of counts is the
same on any machine, however busy.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from kpegasos.estimators._growth import Growth
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._probe import NO_WORK, Rows, Work, enough_mb, part_of, quiet, run_part
from kpegasos.estimators._training import FitPlan, train_each
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

#: Examples of the first part of a pair: as many as are gone through by tiles of draws.
_FIRST = 9 * tuning.TILE_DRAWS
#: Multiplications that a part may take, and the share of those of the whole.
_MOST_WORK, _MOST_SHARE = 2e10, 0.05
#: What an addition, a draw and a move of an ascent are worth, in multiplications.
_ADDITION, _DRAW, _MOVE = 10.0, 2e3, 2e3
#: Seconds that a part may be expected to take: values of a user's function may be slow.
_MOST_SECONDS = 4.0
#: Pairs of classes that are run, at the most, where there are more.
_MOST_PAIRS = 12
_SEED = 0


def largest_cost(pairs: list[Pair]) -> float:
    """The largest C of an example."""
    return max(
        float(pair.problem.weight.max()) / (pair.problem.lam * pair.members.size) for pair in pairs
    )


def typical_pairs(pairs: list[Pair]) -> list[Pair]:
    """All pairs of a few classes; of many, a ring through the classes or a part of it."""
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    n_classes = pairs[-1].classes[1] + 1
    ring = [pair for pair in pairs if pair.classes[1] - pair.classes[0] in (1, n_classes - 1)]
    chosen = np.unique(np.linspace(0, len(ring) - 1, min(_MOST_PAIRS, len(ring))).round())
    return [ring[int(number)] for number in chosen]


class Ladder:
    """Parts of some pairs, each part twice as large as the one before.

    Parameters
    ----------
    plan : FitPlan
    pairs : list of Pair
        Those that are run.
    rows : Rows
    per_value : float
        Multiplications of a kernel value, or of a draw from features.

    Attributes
    ----------
    shares : list of float
    works : list of Work
    n_probed : int
        Examples of the largest part.
    """

    def __init__(self, plan: FitPlan, pairs: list[Pair], rows: Rows, per_value: float) -> None:
        self._plan, self._pairs, self._rows = plan, pairs, rows
        self._per_value = per_value
        self.shares: list[float] = []
        self.works: list[Work] = []
        self.n_probed = 0
        self._width = float(np.mean([pair.members.size for pair in pairs]))

    @property
    def scale(self) -> float:
        """Work of all pairs, where that of those that are run is 1."""
        every, some = (
            sum(float(pair.members.size) ** 2 for pair in pairs)
            for pairs in (self._plan.pairs, self._pairs)
        )
        return every / some

    @property
    def growth(self) -> Growth:
        """What the last two parts say of the whole."""
        sizes = [share * self._width for share in self.shares[-2:]]
        alike = not self._plan.settings.polish or (min(sizes) > tuning.GRAM_SAMPLES)
        return Growth((self.shares[-2], self.shares[-1]), (self.works[-2], self.works[-1]), alike)

    def climb(self) -> bool:
        """Run parts, two at least; returns whether the whole costs little too."""
        share = _FIRST / self._width
        if share >= 0.5:
            share = 0.25
        while True:
            begin = time.perf_counter()
            work = self.run(share)
            seconds = time.perf_counter() - begin
            self.shares.append(share)
            self.works.append(work)
            if len(self.works) < 2:
                share *= 2
                continue
            whole = self._multiplications(work) * self.scale / share**2
            if whole <= _MOST_WORK and seconds / share**2 <= _MOST_SECONDS:
                return True
            limit = max(_MOST_WORK, _MOST_SHARE * whole)
            next_one = 4.0 * self._multiplications(work)
            if 2 * share > 0.5 or next_one > limit or 4.0 * seconds > _MOST_SECONDS:
                return False
            share *= 2

    def _multiplications(self, work: Work) -> float:
        return (
            work.values * self._per_value
            + _ADDITION * work.additions
            + _DRAW * work.draws
            + _MOVE * work.steps
        )

    def run(self, share: float, rows_kept: float | None = None, item_mb: float = 0.0) -> Work:
        """Run a part of each pair.

        Parameters
        ----------
        share : float
        rows_kept : float, default=None
            Kernel rows that find room; all if None.
        item_mb : float, default=0.0
            MiB of a kernel value.
        """
        rng = np.random.default_rng(_SEED)
        total, members = NO_WORK, []
        for pair in self._pairs:
            part = part_of(pair, share, rng)
            size = part.pair.members.size
            members.append(part.pair.members)
            cache_mb, rows = enough_mb(size), self._rows
            if rows_kept is not None:
                # A tile in work takes a fifth of a small budget.
                room = min(1.25 * rows_kept, rows_kept + tuning.TILE_ROWS)
                cache_mb = max(tuning.FEWEST_ROWS + 4.0, room) * size * item_mb * 1.01
            total += run_part(self._plan, part, rows, cache_mb)
        self.n_probed = int(np.unique(np.concatenate(members)).size)
        return total

    def train_all(self) -> tuple[float, list[Result]]:
        """Run the fit itself, but for the estimator's attributes."""
        plan = replace(self._plan, states=[None] * len(self._plan.pairs), verbose=False)
        seconds = np.inf
        for _ in range(2):  # the first run may compile
            begin = time.perf_counter()
            with quiet():
                results = train_each(plan, Stopper(), lambda number, run: None)
            seconds = min(seconds, time.perf_counter() - begin)
        return seconds, results
