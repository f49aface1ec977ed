"""Parts of a fit, each twice as large as the one before, as long as they cost little.

What is little is counted in multiplications and not in seconds, so that a forecast of counts is the
same on any machine, however busy.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from kpegasos.estimators._growth import Growth
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._probe import (
    NO_WORK,
    Rows,
    Work,
    enough_mb,
    entries_of,
    part_of,
    quiet,
    run_part,
)
from kpegasos.estimators._training import FitPlan, train_each
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

#: Examples of the first part of a pair: as many as are gone through by tiles of draws.
_FIRST = 9 * tuning.TILE_DRAWS
#: Multiplications that a part may take, and the share of those of the whole.
_MOST_WORK, _MOST_SHARE = 2e10, 0.05
#: Multiplications of a fit that is run as a whole.
_SOON_DONE = 4e9
#: What an addition, a draw and a move of an ascent are worth, in multiplications.
_ADDITION, _DRAW, _MOVE = 10.0, 2e3, 2e3
#: What a feature of a draw and of a move is worth: it comes from memory, and on one thread.
_FEATURE_OF_DRAW, _FEATURE_OF_MOVE = 500.0, 3000.0
#: Seconds that a part may be expected to take: values of a user's function may be slow.
_MOST_SECONDS = 10.0
#: Seconds after which a part is cut short.
_PATIENCE = 5.0
#: Pairs of classes that are run, at the most: of rows of features, and of kernel rows.
_MOST_PAIRS, _FEW_PAIRS = 12, 8
#: Pairs that are looked at to choose those few, and examples of one.
_MOST_LOOKED_AT, _LOOK = 60, 384
_SEED = 0


_Item = TypeVar("_Item")


class Sample(NamedTuple):
    """Pairs that stand for all.

    Attributes
    ----------
    pairs : list of Pair
    scale : float
        Work of all pairs, where that of these is 1.
    """

    pairs: list[Pair]
    scale: float


class Room(NamedTuple):
    """What kernel rows of a part find.

    Attributes
    ----------
    rows : float
        Rows that are kept.
    item_mb : float
        MiB of a kernel value.
    """

    rows: float
    item_mb: float

    def cache_mb(self, n_samples: int) -> float:
        """A budget for so many rows, of which a tile in work takes a fifth or 256 rows."""
        rows = min(1.25 * self.rows, self.rows + tuning.TILE_ROWS)
        return max(tuning.FEWEST_ROWS + 8.0, rows) * n_samples * self.item_mb * 1.01


def largest_cost(pairs: list[Pair]) -> float:
    """The largest C of an example."""
    return max(
        float(pair.problem.weight.max()) / (pair.problem.lam * pair.members.size) for pair in pairs
    )


def typical_pairs(pairs: list[Pair]) -> Sample:
    """All pairs of a few classes; of many, some that are spread evenly."""
    chosen = _evenly(pairs, _MOST_PAIRS)
    every, some = (sum(pair.members.size for pair in each) for each in (pairs, chosen))
    return Sample(chosen, every / max(1, some))


def telling_pairs(plan: FitPlan, rows: Rows, stopper: Stopper) -> Sample:
    """Pairs of classes that stand for all, by the support that a few examples of each have.

    Parameters
    ----------
    plan : FitPlan
    rows : Rows
    stopper : Stopper
    """
    if len(plan.pairs) <= _FEW_PAIRS:
        return Sample(plan.pairs, 1.0)
    looked_at = _evenly(plan.pairs, _MOST_LOOKED_AT)
    sizes = []
    for pair in looked_at:
        share = min(1.0, _LOOK / pair.members.size)
        (work,), _ = run_parts(plan, [pair], rows, share, stopper)
        sizes.append(work.support / share * pair.members.size)
    chosen = _evenly([int(k) for k in np.argsort(sizes, kind="stable")], _FEW_PAIRS)
    scale = len(plan.pairs) / len(looked_at) * sum(sizes) / sum(sizes[k] for k in chosen)
    return Sample([looked_at[k] for k in chosen], scale)


def _evenly(items: list[_Item], number: int) -> list[_Item]:
    """So many of a list, as far apart as can be."""
    if len(items) <= number:
        return items
    middles = (np.arange(number) + 0.5) * len(items) / number
    return [items[int(middle)] for middle in middles]


def run_parts(
    plan: FitPlan,
    pairs: list[Pair],
    rows: Rows,
    share: float,
    stopper: Stopper,
    room: Room | None = None,
) -> tuple[list[Work], np.ndarray]:
    """Run a part of each of some pairs.

    Parameters
    ----------
    plan : FitPlan
    pairs : list of Pair
    rows : Rows
    share : float
        Examples of a part, as a share of the pair.
    stopper : Stopper
        Of the fit, or of the forecast.
    room : Room, default=None
        What kernel rows find; all of it if None.

    Returns
    -------
    works : list of Work
    members : ndarray of int
        Examples that were trained on.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    """
    rng = np.random.default_rng(_SEED)
    works, members = [], []
    patience = copy.copy(stopper)
    patience.deadline = time.perf_counter() + _PATIENCE
    for number, pair in enumerate(pairs):
        part = part_of(pair, share, rng)
        size = part.pair.members.size
        members.append(part.pair.members)
        cache_mb = enough_mb(size) if room is None else room.cache_mb(size)
        own = patience.split(len(pairs) - number)
        works.append(run_part(plan, part, rows, cache_mb, own))
        if stopper.interrupted:
            raise KeyboardInterrupt
    return works, np.unique(np.concatenate(members))


def is_soon_done(plan: FitPlan) -> bool:
    """Whether a plain fit with kernel rows costs little even if each draw violates."""
    settings, per_value, most = plan.settings, 20.0 + entries_of(plan.X), 0.0
    for pair in plan.pairs:
        size = float(pair.members.size)
        draws = size * settings.epochs_of(pair.members.size)
        if settings.n_steps is not None:
            draws = float(settings.n_steps * settings.options.batch_size)
        most += size**2 * per_value + draws * (_DRAW + _ADDITION * size)
    return not settings.polish and most <= _SOON_DONE


class Ladder:
    """Parts of some pairs, each part twice as large as the one before.

    Parameters
    ----------
    plan : FitPlan
    sample : Sample
        Pairs that are run.
    rows : Rows
    stopper : Stopper

    Attributes
    ----------
    shares : list of float
    works : list of Work
    n_probed : int
        Examples of the largest part.
    is_cut : bool
        Whether a part took so long that it was not run to its end.
    most_share : float
        Rows of one of its pairs at the most, as a share of those of all.
    """

    def __init__(self, plan: FitPlan, sample: Sample, rows: Rows, stopper: Stopper) -> None:
        self._plan, self._pairs, self._rows = plan, sample.pairs, rows
        self._stopper = stopper
        self.scale = sample.scale
        self._per_value = 20.0 + entries_of(plan.X)
        self.shares: list[float] = []
        self.works: list[Work] = []
        self.n_probed, self.most_share, self.is_cut = 0, 0.0, False
        self._width = float(np.mean([pair.members.size for pair in sample.pairs]))

    @property
    def growth(self) -> Growth:
        """What the last two parts say of the whole."""
        sizes = [share * self._width for share in self.shares[-2:]]
        alike = not self._plan.settings.polish or (min(sizes) > tuning.GRAM_SAMPLES)
        return Growth((self.shares[-2], self.shares[-1]), (self.works[-2], self.works[-1]), alike)

    def climb(self) -> bool:
        """Run parts, two at least; returns whether the whole costs little too."""
        share = _FIRST / self._width
        if share >= 0.5:  # of many small pairs a few are run as a whole
            share = 0.5 if self.scale > 1.0 else 0.25
        while True:
            begin = time.perf_counter()
            work = self._run(share)
            if not self.works and time.perf_counter() - begin > _PATIENCE:
                begin = time.perf_counter()
                work = self._run(share)  # the time may have gone by in compiling
            seconds = time.perf_counter() - begin
            if seconds > _PATIENCE and len(self.works) >= 2:
                return False  # two smaller parts that ended say more
            self.is_cut |= seconds > _PATIENCE
            self.shares.append(share)
            self.works.append(work)
            if len(self.works) < 2:
                share *= 2
                continue
            whole = self._multiplications(work) * self.scale / share**2
            if not self.is_cut and whole <= _SOON_DONE and seconds / share**2 <= _MOST_SECONDS:
                return True
            limit = max(_MOST_WORK, _MOST_SHARE * whole)
            next_one = 4.0 * self._multiplications(work)
            if self.is_cut or 2 * share > 0.5 or next_one > limit or 4.0 * seconds > _MOST_SECONDS:
                return False
            share *= 2

    def _multiplications(self, work: Work) -> float:
        if self._rows.of_features:
            worth = _FEATURE_OF_DRAW * work.draws + _FEATURE_OF_MOVE * work.steps
            return worth * self._per_value
        return (
            work.values * self._per_value
            + _ADDITION * work.additions
            + _DRAW * work.draws
            + _MOVE * work.steps
        )

    def _run(self, share: float) -> Work:
        works, members = run_parts(self._plan, self._pairs, self._rows, share, self._stopper)
        most = max(work.rows_kept for work in works)
        self.most_share = most / max(1.0, sum(work.rows_kept for work in works))
        self.n_probed = members.size
        return sum(works, NO_WORK)

    def misses(self, kept: float, item_mb: float) -> float:
        """Values of rows that are computed again, for each that is added to margins.

        Parameters
        ----------
        kept : float
            Rows that find room, as a share of those that are of use.
        item_mb : float
            MiB of a kernel value.
        """
        # Where no row is kept, each addition takes a new one.
        costs = [self._per_value * work.additions for work in self.works]
        number = max([0, *(k for k, cost in enumerate(costs) if cost <= _MOST_WORK)])
        free = self.works[number]
        room = Room(kept * free.rows_kept / len(self._pairs), item_mb)
        works, _ = run_parts(
            self._plan, self._pairs, self._rows, self.shares[number], self._stopper, room
        )
        again = sum(work.row_values for work in works) - free.row_values
        return max(0.0, again) / max(1.0, free.additions)

    def train_all(self) -> tuple[float, list[Result]]:
        """Run the fit itself, but for the estimator's attributes."""
        plan = replace(self._plan, states=[None] * len(self._plan.pairs), verbose=False)
        seconds = np.inf
        for _ in range(2):  # the first run may compile
            begin = time.perf_counter()
            with quiet():
                # With a stopper of its own: an error here is not one of the fit.
                results = train_each(plan, Stopper(), lambda number, run: None)
            seconds = min(seconds, time.perf_counter() - begin)
            if self._stopper.interrupted:
                raise KeyboardInterrupt
        return seconds, results
