"""Runs over few examples each: thousands of them in a call, and results in columns.

`kpegasos.core.small_runs` trains them; here are time, Ctrl-C, and what comes of it. There is no
object of a run, and a `Result` or a `History` only where somebody asks for one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, SupportsIndex, overload

import numpy as np

from kpegasos.core import small_runs
from kpegasos.core.small_runs import CUT, LEFT, N_COLUMNS, N_NUMBERS, SmallPairs, SmallRuns
from kpegasos.solvers.polish import shape_of_sets
from kpegasos.solvers.result import History, Result, Results
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.threads import even_ranges, parallel_for

#: Pairs of the first call, and how many times as many the next may have.
_FIRST_CALL, _MOST_GROWTH = 4, 4
_STATUS = ("", "completed", "tolerance", "")
_MOST_STEPS = 2**62
#: Columns of numbers by their names in a result.
_COLUMNS = {
    "objective": small_runs.OBJECTIVE,
    "dual_bound": small_runs.DUAL_BOUND,
    "gap": small_runs.GAP,
    "relative_gap": small_runs.RELATIVE_GAP,
    "rounding": small_runs.ROUNDING,
    "n_steps": small_runs.N_STEPS,
}


class SmallResults(Results):
    """Results of runs over few examples, in columns.

    Parameters
    ----------
    pairs : SmallPairs
    seconds_before : float
        Seconds that the first pair has as its own.
    """

    def __init__(self, pairs: SmallPairs, seconds_before: float) -> None:
        self._seconds_before = seconds_before
        n_pairs, n_members = pairs.lam.size, pairs.members.size
        self._ends = pairs.ends
        self.runs = SmallRuns(
            np.zeros(n_members),
            np.zeros(n_members),
            np.zeros(n_members),
            np.zeros((n_pairs, N_NUMBERS)),
        )
        #: Lists of strings and histories, and views of `SmallRuns.numbers`.
        self._columns: dict[str, Any] = {
            "status": [""] * n_pairs,
            "history": [None] * n_pairs,
            "intercept": np.zeros(n_pairs),
            **{name: self.runs.numbers[:, place] for name, place in _COLUMNS.items()},
        }

    def __len__(self) -> int:
        return len(self.runs.numbers)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Result]: ...

    def __getitem__(self, key: SupportsIndex | slice) -> Result | Sequence[Result]:
        if isinstance(key, slice):
            return [self[number] for number in range(len(self))[key]]
        number = range(len(self))[key]
        part, columns = self._members(number), self._columns.items()
        values = {
            name: column.item(number) if isinstance(column, np.ndarray) else column[number]
            for name, column in columns
        }
        values["n_steps"] = int(values["n_steps"])
        return Result(
            alpha=self.runs.alpha[part],
            coef=self.runs.coef[part],
            w=None,
            margins=self.runs.margins[part],
            **values,
        )

    def put(self, number: int, result: Result) -> None:
        """Enter a result that was found in another way."""
        part = self._members(number)
        for name in ("alpha", "coef", "margins"):
            getattr(self.runs, name)[part] = getattr(result, name)
        for name, column in self._columns.items():
            column[number] = getattr(result, name)

    def column(self, name: str) -> list[Any]:
        """Return an attribute of all results."""
        found = self._columns.get(name)
        if found is None:
            return super().column(name)
        if name == "n_steps":
            found = found.astype(np.int64)
        return found.tolist() if isinstance(found, np.ndarray) else list(found)

    def of_members(self, name: str) -> np.ndarray:
        """Return an attribute of shape (n_samples,) of all results, one behind the other."""
        found: np.ndarray = getattr(self.runs, name)
        return found

    def _members(self, number: int) -> slice:
        return slice(self._ends[number], self._ends[number + 1])

    def take(
        self, first: int, last: int, records: np.ndarray, seconds: float, reason: str | None
    ) -> None:
        """Take over what a call has found of the pairs ``first .. last - 1``, and what it took."""
        numbers = self.runs.numbers[first:last]
        begins = numbers[:, small_runs.FIRST_RECORD].astype(np.int64)
        sizes = numbers[:, small_runs.N_RECORDS].astype(np.int64)
        ends = (begins + sizes).tolist()
        # Nobody has looked at a clock between them.
        own = 1 + np.arange(len(records)) - np.repeat(begins, sizes)
        records[:, 2] = own * (seconds / max(1, len(records)))
        if first == 0:
            records[begins[0] : begins[0] + sizes[0], 2] += self._seconds_before
        names = np.array([*_STATUS[:CUT], reason], dtype=object)
        status = names[numbers[:, small_runs.STATUS].astype(np.int64)].tolist()
        self._columns["status"][first:last] = status
        self._columns["history"][first:last] = map(
            History.of, map(records.__getitem__, map(slice, begins.tolist(), ends))
        )

    def set_intercepts(self, offset: float) -> None:
        """Set what the constant feature adds, whose size has this square, to each decision."""
        sizes, found = np.diff(self._ends), np.empty(len(self))
        for size in np.unique(sizes).tolist():  # as many columns are summed in the order of one
            of_size = np.flatnonzero(sizes == size)
            coefs = self.runs.coef[self._ends[of_size, None] + np.arange(size)]
            found[of_size] = coefs.sum(axis=1)
        self._columns["intercept"][:] = offset * found

    @property
    def left(self) -> list[int]:
        """Numbers of the pairs that are left to the drivers."""
        return np.flatnonzero(self.runs.numbers[:, small_runs.STATUS] == LEFT).tolist()


def train_small(
    pairs: SmallPairs,
    stopper: Stopper,
    threads: int,
    *,
    polished: bool,
    seconds_before: float,
) -> SmallResults:
    """Train all pairs but those that are left to the drivers.

    Parameters
    ----------
    pairs : SmallPairs
    stopper : Stopper
        Asked between calls of about 20 ms. If there is reason to stop, each run that is left does
        a few steps, so that every pair has a model.
    threads : int
        At the most.
    polished : bool
        Whether dual ascent follows.
    seconds_before : float
        Seconds that the first pair has as its own.
    """
    results = SmallResults(pairs, seconds_before)
    sets = None
    if polished:
        sizes = np.zeros(len(pairs.points), dtype=np.int64)
        sizes[pairs.kind] = np.diff(pairs.ends)
        sets = np.array([shape_of_sets(size, size) for size in sizes.tolist()])
    work = partial(_train_range, pairs, results, stopper, sets)
    parallel_for(work, even_ranges(len(results), threads))
    results.set_intercepts(pairs.offset)
    return results


def _train_range(
    pairs: SmallPairs,
    results: SmallResults,
    stopper: Stopper,
    sets: np.ndarray | None,
    first: int,
    last: int,
) -> None:
    n_together, least = _FIRST_CALL, pairs.points.shape[1] + small_runs.MOST_ROUNDS
    each = pairs.points.shape[1] + 2 * (sets is not None)
    while first < last:
        reason = stopper.reason()
        most = _MOST_STEPS if reason is None else tuning.FEWEST_DRAWS
        end = min(last, first + n_together)
        records = np.empty(((end - first) * each + least, N_COLUMNS))
        begin = time.perf_counter()
        with np.errstate(over="ignore"):  # without compilation, NumPy would warn of draws
            stop, n_records = small_runs.run_pairs(
                pairs, results.runs, records, first, end, most, sets
            )
        seconds = time.perf_counter() - begin
        results.take(first, stop, records[:n_records], seconds, reason)
        share = (stop - first) * tuning.SLICE_SECONDS / max(seconds, 1e-9)
        n_together = int(max(1, min(_MOST_GROWTH * n_together, share)))
        first = stop
