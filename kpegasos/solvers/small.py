"""Runs over few examples each: thousands of them in a call, and results in columns.

`kpegasos.core.small_runs` trains them; this module handles time, Ctrl-C and results. There is no
object of a run; a `Result` and the records of a `History` are made only when asked for.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from kpegasos.core import small_runs
from kpegasos.core.small_runs import LEFT, N_COLUMNS, N_NUMBERS, RUNNING, SmallPairs, SmallRuns
from kpegasos.core.state import BATCH_OFFSET, SCALE, UNTESTED, LoopState, PegasosOptions, State
from kpegasos.solvers.polish import shape_of_sets
from kpegasos.solvers.result import History, Result, Results
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.boundary import require_shape
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for

#: Pairs of the first call, and the largest growth from one call to the next.
_FIRST_CALL, _MOST_GROWTH = 4, 4
_STATUS = ("", "completed", "tolerance")
_MOST_STEPS = 2**62
#: Epochs that dual ascent takes, about.
_ASCENT_EPOCHS = 20
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
    """Results of runs over few examples, in columns, and what the runs go on from.

    Parameters
    ----------
    pairs : SmallPairs
    options : PegasosOptions
    seconds_before : float
        Seconds that count for the first pair.
    states : list of State or None
        States that the runs go on from; None for a new run.
    """

    def __init__(
        self,
        pairs: SmallPairs,
        options: PegasosOptions,
        seconds_before: float,
        states: list[State | None] | None,
    ) -> None:
        self.pairs, self._options, self._ends = pairs, options, pairs.ends
        n_pairs, n_members = pairs.lam.size, pairs.members.size
        coef, margins, alpha, stamps, image = np.zeros((5, n_members))
        stamped = np.zeros(0 if options.average is None else n_members)
        scalars, counters = np.zeros((n_pairs, 5)), np.zeros((n_pairs, 4), dtype=np.int64)
        scalars[:, SCALE], counters[:, BATCH_OFFSET] = 1.0, UNTESTED
        loops = LoopState(alpha, stamps, image, stamped, scalars, counters, np.zeros(1))
        bounds = np.zeros((n_pairs, 2))
        numbers, self._seconds = np.zeros((n_pairs, N_NUMBERS)), np.zeros(n_pairs)
        numbers[:, small_runs.STATUS] = RUNNING
        self.points, self._n_done = pairs.points.T, 0
        self.runs = SmallRuns(loops, bounds, coef, margins, numbers)
        for number, state in enumerate(states or ()):
            if state is not None:
                own = self._loop(number)
                for name, array in state.loop._asdict().items():
                    require_shape(name, array, getattr(own, name).shape)
                    getattr(own, name)[:] = array
                bounds[number] = state.best_dual, state.proven_bound
                self._seconds[number] = state.seconds
                pairs.evaluations[number] += state.evaluations
        self._seconds[0] += seconds_before
        #: Lists of strings and histories, and views of `SmallRuns.numbers`.
        self._columns: dict[str, Any] = {
            "status": ["running"] * n_pairs,
            "history": [None] * n_pairs,
            "intercept": np.zeros(n_pairs),
            **{name: numbers[:, place] for name, place in _COLUMNS.items()},
        }

    def hold_states(self, seed: int, keys: Any) -> None:
        """Have the results hold states that other runs can go on from."""
        states = self._columns["state"] = []
        for number, key in enumerate(keys):
            loop, lam = self._loop(number), self.pairs.lam.item(number)
            best, proven = self.runs.bounds[number].tolist()
            account = self.pairs.evaluations.item(number), self._seconds.item(number)
            own = loop, seed, key, self._options, lam, self.pairs.loss
            states.append(State(*own, best, proven, *account))

    def _loop(self, number: int) -> LoopState:
        """Return the state of a run."""
        return small_runs.state_of(self.runs.states, number, *self._ends[number : number + 2])

    def __len__(self) -> int:
        return len(self.runs.numbers)

    def _result(self, number: int) -> Result:
        part, columns = self._members(number), self._columns.items()
        values = {
            name: column.item(number) if isinstance(column, np.ndarray) else column[number]
            for name, column in columns
        }
        values["n_steps"] = int(values["n_steps"])
        return Result(
            alpha=self.runs.states.alpha[part],
            coef=self.runs.coef[part],
            w=None,
            margins=self.runs.margins[part],
            **values,
        )

    def put(self, number: int, result: Result) -> None:
        """Store a result that was found in another way."""
        part = self._members(number)
        for name in ("alpha", "coef", "margins"):
            self.of_members(name)[part] = getattr(result, name)
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
        """Return an attribute of shape (n_samples,) of all results, concatenated."""
        found: np.ndarray = getattr(self.runs.states if name == "alpha" else self.runs, name)
        return found

    def _members(self, number: int) -> slice:
        return slice(self._ends[number], self._ends[number + 1])

    def stop(self) -> None:
        """End the runs that have not ended, where they stand."""
        numbers = self.runs.numbers
        for number in np.flatnonzero(numbers[:, small_runs.STATUS] == RUNNING).tolist():
            self._columns["status"][number] = "stopped"
            numbers[number, small_runs.STATUS] = small_runs.COMPLETED
            gap, share = numbers[number, [small_runs.GAP, small_runs.RELATIVE_GAP]].tolist()
            records = self._columns["history"][number].records
            records[-1] = records[-1]._replace(gap=gap, relative_gap=share, rounding=0.0)

    @property
    def left(self) -> list[int]:
        """Numbers of the pairs that are left to the drivers."""
        return np.flatnonzero(self.runs.numbers[:, small_runs.STATUS] == LEFT).tolist()

    @property
    def finished(self) -> bool:
        """Whether all runs have ended."""
        return not (self.runs.numbers[:, small_runs.STATUS] == RUNNING).any()

    def advance(
        self,
        stopper: Stopper,
        threads: int,
        n_points: int = 1,
        *,
        polished: bool = False,
    ) -> None:
        """Train all pairs that are running, or leave them to the drivers.

        Parameters
        ----------
        stopper : Stopper
            Asked between calls of about 20 ms. If there is reason to stop, each run that is left
            does a few steps, so that every pair has a model.
        threads : int
            At the most.
        n_points : int, default=1
            How many checkpoints to go to.
        polished : bool, default=False
            Whether dual ascent follows.
        """
        pairs, sizes, sets = self.pairs, np.diff(self._ends), None
        steps = pairs.points[pairs.kind, -1]
        if polished:
            steps = steps + _ASCENT_EPOCHS * sizes
            of_kinds = np.zeros(len(pairs.points), dtype=np.int64)
            of_kinds[pairs.kind] = sizes
            sets = np.array([shape_of_sets(size, size) for size in of_kinds.tolist()])
        part = self._n_done, self._n_done + n_points
        work = partial(self._advance_range, stopper, part, sets)
        threads = min(threads, threads_for(tuning.MEMORY_WORK * float(sizes @ steps)))
        parallel_for(work, even_ranges(len(self), threads))
        self._n_done += n_points
        # What the constant feature adds to each decision; its squared size is the offset.
        found = self._columns["intercept"]
        for size in set(sizes.tolist()):  # each is summed as in a run alone
            of_size = np.flatnonzero(sizes == size)
            coefs = self.runs.coef[self._ends[of_size, None] + np.arange(size)]
            found[of_size] = pairs.offset * coefs.sum(axis=1)

    def _advance_range(
        self,
        stopper: Stopper,
        part: tuple[int, int],
        sets: np.ndarray | None,
        first: int,
        last: int,
    ) -> None:
        n_together, n_points = _FIRST_CALL, part[1] - part[0]
        least, each = n_points + small_runs.MOST_ROUNDS, n_points + 2 * (sets is not None)
        while first < last:
            reason = stopper.reason()
            most = _MOST_STEPS if reason is None else tuning.FEWEST_DRAWS
            end = min(last, first + n_together)
            records = np.empty(((end - first) * each + least, N_COLUMNS))
            begin = time.perf_counter()
            with np.errstate(over="ignore"):  # without compilation, NumPy would warn of draws
                end, n_records = small_runs.run_pairs(
                    self.pairs, self.runs, records, first, end, part, most, sets
                )
            seconds = time.perf_counter() - begin
            self._take(first, end, records[:n_records], seconds, reason)
            share = (end - first) * tuning.SLICE_SECONDS / max(seconds, 1e-9)
            n_together = int(max(1, min(_MOST_GROWTH * n_together, share)))
            first = end

    def _take(
        self, first: int, last: int, records: np.ndarray, seconds: float, reason: str | None
    ) -> None:
        """Store the records of a call for the pairs ``first .. last - 1``, and share its time."""
        numbers = self.runs.numbers[first:last]
        begins = numbers[:, small_runs.FIRST_RECORD].astype(np.int64)
        sizes = numbers[:, small_runs.N_RECORDS].astype(np.int64)
        # No clock was read between them.
        each = seconds / max(1, len(records))
        own = 1 + np.arange(len(records)) - np.repeat(begins, sizes)
        records[:, 2] = own * each + np.repeat(self._seconds[first:last], sizes)
        self._seconds[first:last] += sizes * each
        names = (*_STATUS, reason, "running")
        histories, statuses = self._columns["history"], self._columns["status"]
        for number, (begin, size) in enumerate(zip(begins.tolist(), sizes.tolist(), strict=True)):
            if size:  # else it has ended before
                statuses[first + number] = names[int(numbers[number, small_runs.STATUS])]
                rows = records[begin : begin + size]
                histories[first + number] = History.of(rows, histories[first + number])
