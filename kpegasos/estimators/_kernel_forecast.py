"""What a fit with kernel rows will take: parts of it are run, and their counts grow to the whole.

Counts come from the parts, since they depend on the problem; seconds of a unit come from rows of
full length, since they depend on the machine (`kpegasos.estimators._unit_costs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kpegasos.estimators._growth import Grown, Growth
from kpegasos.estimators._kernel_rows import dtype_of_rows
from kpegasos.estimators._ladder import (
    Ladder,
    is_soon_done,
    largest_cost,
    telling_pairs,
    typical_pairs,
)
from kpegasos.estimators._probe import CountedMatrix, Rows
from kpegasos.estimators._training import FitPlan, n_threads
from kpegasos.estimators._unit_costs import (
    row_costs,
    seconds_of_an_addition,
    seconds_of_fresh_memory,
)
from kpegasos.rows.budget import budget_mb, cache_capacity, gram_mb_needed
from kpegasos.rows.choose import suitable_cache
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

#: A value among a few draws costs as much as so many of a row.
_OF_A_TILE = 2.0
#: Factor by which seconds may be off, beside what counts may be.
_CLOCK_DOUBT = 1.4
#: Seconds of a fresh MiB where a hypervisor has to find it.
_SLOW_PAGES = 1.5e-3


class Estimate(NamedTuple):
    """What a fit will take.

    Attributes
    ----------
    seconds, kernel_values, rows_mb : Grown
        Seconds of training, kernel values, and MiB of those that are held at a time.
    support : float
        Support vectors of all pairs together.
    n_probed : int
    of_values : float, default=0.0
        Seconds of those that kernel values take.
    """

    seconds: Grown
    kernel_values: Grown
    rows_mb: Grown
    support: float
    n_probed: int
    of_values: float = 0.0


class _UnitCosts(NamedTuple):
    """Seconds of what is done once, of a value, of an addition, and of a fresh MiB."""

    once: float
    value: float
    addition: float
    fresh_mb: float


class _Shape(NamedTuple):
    """What budgets ask of kernel values, for a typical pair of the whole."""

    n_samples: int
    dtype: np.dtype
    can_pack: bool
    row_bytes: int


@dataclass
class KernelForecaster:
    """Runs parts of a fit with kernel rows.

    Attributes
    ----------
    plan : FitPlan
    estimator : estimator
        Whose parameters say how rows are kept.
    stopper : Stopper
    """

    plan: FitPlan
    estimator: Any
    stopper: Stopper

    def __post_init__(self) -> None:
        plan, own = self.plan, self.estimator
        kernel = plan.known["_kernel"]
        settings, going_on = plan.settings, bool(own.warm_start)
        self.given = kernel is None
        self.kernel = kernel
        self.width = round(float(np.mean([pair.members.size for pair in plan.pairs])))
        self.threads = (
            len(plan.pairs) if plan.in_step else n_threads(settings.n_jobs, len(plan.pairs))
        )
        self.dtype = None
        if not self.given:
            tol = None if going_on else settings.tol
            plain = settings.tol is None and not going_on
            self.dtype = dtype_of_rows(
                own.row_dtype, kernel, plan.X, tol, largest_cost(plan.pairs), plain=plain
            )
        self._shape = self._shape_of_rows()
        self.capacity_mb = self._share_mb()
        self.cache = self._cache()
        self._of_value = 0.0

    def _shape_of_rows(self) -> Any:
        X = self.plan.X
        if self.given:
            return _Shape(self.width, X.dtype, False, 0)
        few = CountedMatrix(self.kernel, X[:2], row_dtype=self.dtype)
        return _Shape(self.width, few.dtype, few.can_pack, few.row_bytes)

    def _share_mb(self) -> float:
        """MiB for the rows of a pair."""
        pairs = self.plan.pairs
        values = self.plan.X.shape[0] ** 2 + sum(pair.members.size**2 for pair in pairs)
        wanted = values * self.plan.X.dtype.itemsize / tuning.MEBIBYTE
        return budget_mb(self.estimator.cache_mb, wanted) / self.threads

    def _cache(self) -> str:
        """How rows of a pair will be kept."""
        if self.given:
            return "precomputed"
        chosen = str(self.estimator.cache)
        if chosen != "auto":
            return chosen
        shape = self._shape
        many = shape.n_samples > tuning.POLISHED_GRAM_SAMPLES
        if self.plan.settings.polish and many and gram_mb_needed(shape) <= self.capacity_mb:
            return "cached"
        return suitable_cache(shape, self.capacity_mb)

    @property
    def capacity(self) -> int:
        """Rows of a pair that will find room."""
        if self.cache != "cached":
            return self.width
        return cache_capacity(self._shape, self.capacity_mb).rows

    def estimate(self) -> Estimate:
        """Run parts, and say what the whole will take."""
        rows = Rows(self.kernel, self.given, self.cache, self.dtype)
        if self._shape.can_pack and is_soon_done(self.plan):
            return self._of_all(
                Ladder(self.plan, typical_pairs(self.plan.pairs), rows, self.stopper)
            )
        sample = telling_pairs(self.plan, rows, self.stopper)
        ladder = Ladder(self.plan, sample, rows, self.stopper)
        if ladder.climb():
            return self._of_all(ladder)
        growth = ladder.growth
        kept = growth.whole("rows_kept").times(ladder.most_share)
        misses = self._misses(ladder, growth, len(sample.pairs))
        count = {
            name: growth.whole(name).times(ladder.scale)
            for name in ("row_values", "other_values", "exact_values", "additions", "rows_kept")
        }
        more = count["additions"].times(misses)
        count["row_values"] = Grown(
            *(a + b for a, b in zip(count["row_values"], more, strict=True))
        )
        values = Grown(
            *(
                sum(count[name][j] for name in ("row_values", "other_values", "exact_values"))
                for j in range(3)
            )
        )
        held = self._held(kept.times(self.threads * self.width * self._item_mb))
        seconds = self._seconds(ladder, growth, count, held)
        if ladder.is_cut:
            seconds, values = seconds.unbounded(), values.unbounded()
        return Estimate(
            seconds,
            values,
            held,
            growth.whole("support").value * ladder.scale,
            ladder.n_probed,
            # Rows that find no room are computed all the time, the others at first.
            seconds.value if misses else min(seconds.value, self._of_value * values.value),
        )

    @property
    def _at_once(self) -> int:
        """Threads that pairs are trained on."""
        return 1 if self.plan.in_step else self.threads

    @property
    def packed(self) -> float:
        """Size of the packed examples, in sizes of X."""
        if self.given or self.cache == "streamed" or not self._shape.can_pack:
            return 0.0
        return float(self._shape.dtype.itemsize / self.plan.X.dtype.itemsize)

    @property
    def _item_mb(self) -> float:
        return float(self._shape.dtype.itemsize / tuning.MEBIBYTE)

    def _held(self, wanted: Grown) -> Grown:
        """MiB of rows that are held: what fits of what is wanted."""
        n, item = self.width, self._item_mb
        if self.given:
            whole = self.width == self.plan.X.shape[0]
            return Grown(*[0.0 if whole else self.threads * n * n * item] * 3)
        if self.cache == "precomputed":
            own = len(self.plan.pairs) > 1 and self.plan.X.shape[0] <= tuning.GRAM_SAMPLES
            beside = self.plan.X.shape[0] ** 2 if own else 0
            return Grown(*[(self.threads * n * n + beside) * item] * 3)
        if self.cache == "streamed":
            return Grown(*[2.0 * self.threads * tuning.SCORED_BYTES / tuning.MEBIBYTE] * 3)
        work = self.threads * tuning.TILE_ROWS * n * item
        most = self.threads * min(self.capacity_mb, n * n * item + work)
        return Grown(*(min(most, each + work) for each in wanted))

    def _misses(self, ladder: Ladder, growth: Growth, n_pairs: int) -> float:
        """Values of rows that are computed again, for each that is added to margins."""
        of_a_pair = growth.whole("rows_kept").value / n_pairs
        if self.cache != "cached" or of_a_pair <= self.capacity:
            return 0.0
        return ladder.misses(self.capacity / of_a_pair, self._item_mb)

    def _seconds(
        self, ladder: Ladder, growth: Growth, count: dict[str, Grown], held: Grown
    ) -> Grown:
        """Seconds of training, by what each unit of work costs."""
        if self.cache == "streamed":  # draws are scored in parts as they are in the whole
            work = ladder.works[-1]
            of_a_value = work.other_seconds / max(1.0, work.other_values) / self._at_once
            self._of_value = of_a_value
            return count["other_values"].times(of_a_value).widened(_CLOCK_DOUBT)
        costs, again = self._unit_costs(ladder, growth), ladder.works[-1].exact_cost
        sums = [
            costs.once
            + costs.value * (count["row_values"][j] + _OF_A_TILE * count["other_values"][j])
            + again * count["exact_values"][j]
            + costs.addition * count["additions"][j]
            + costs.fresh_mb * held[j]
            for j in range(3)
        ]
        # Pages that the system has to find are not those that it has at hand.
        sums[2] += max(0.0, _SLOW_PAGES - costs.fresh_mb) * held.high
        return Grown(*sums).widened(_CLOCK_DOUBT)

    def _unit_costs(self, ladder: Ladder, growth: Growth) -> _UnitCosts:
        """What units of work cost at full length, and what is left of the largest part."""
        work, share, dtype = ladder.works[-1], ladder.shares[-1], self._shape.dtype
        preparing = value = 0.0
        if not self.given:
            preparing, value = row_costs(self.kernel, self.plan.X, self.width, self.dtype)
        self._of_value = value
        part_width = max(1, round(share * self.width))
        kept = min(self.capacity, growth.whole("rows_kept").value)
        adding = seconds_of_an_addition(self.width, kept, dtype)
        before = seconds_of_an_addition(part_width, work.rows_kept, dtype)
        rest = work.other_seconds - before * work.additions - _OF_A_TILE * value * work.other_values
        rest = max(0.0, rest) / share * self._sets_growth(growth, part_width) * ladder.scale
        fresh = 0.0 if self.given else seconds_of_fresh_memory()
        return _UnitCosts(preparing + rest / self._at_once, value, adding, fresh)

    def _sets_growth(self, growth: Growth, part_width: int) -> float:
        """How many more passes over all examples the whole will make than the part."""
        if not self.plan.settings.polish:
            return 1.0
        before, after = (
            min(tuning.WORKING_SET, max(tuning.SMALL_WORKING_SET, n // tuning.EXAMPLES_OF_A_MEMBER))
            for n in (part_width, self.width)
        )
        part = growth.whole("steps").value
        return max(1.0, part / max(1.0, growth.last("steps")) * before / after)

    def _of_all(self, ladder: Ladder) -> Estimate:
        """What all examples took, since that is soon done."""
        seconds, results = ladder.train_all()
        values = float(sum(result.history[-1].kernel_evaluations for result in results))
        support = float(sum(result.history[-1].support_size for result in results))
        largest = max(pair.members.size for pair in self.plan.pairs)
        kept = values / sum(pair.members.size for pair in self.plan.pairs)
        rows_mb = self.threads * min(kept, largest) * largest * self._item_mb
        return Estimate(
            Grown(seconds, seconds, seconds).widened(_CLOCK_DOUBT),
            Grown(values, values, values),
            self._held(Grown(rows_mb, rows_mb, rows_mb)),
            support,
            self.plan.X.shape[0],
            seconds,
        )
