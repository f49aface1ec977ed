"""The work that a kernel makes: folds of a binary problem, or pairs of classes with all folds."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from kpegasos.estimators._one_vs_one import Pair
from kpegasos.model_selection._pair_rows import PairRows
from kpegasos.model_selection._paths import BinaryPaths
from kpegasos.model_selection._schedule import Job, Work
from kpegasos.model_selection.outcome import KernelOutcome, PairCells
from kpegasos.rows.base import RowSource
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.patience import CutShort, heed, heeding


class Task(NamedTuple):
    """What all kernels of a search have in common; examples are in the order of the rows.

    Attributes
    ----------
    pairs : list of Pair
        With the members of both classes and their labels.
    weights : ndarray of shape (n_folds, n_samples)
    tests : list of ndarray of int
    Cs : ndarray of shape (n_Cs,)
        Increasing.
    tol : float
    alone : bool
        Whether a job has one thread for all it does.
    stopper : Stopper
    on_kernel, on_cells : callable
        See `search_surface`.
    lock : Lock
        For what is told.
    """

    pairs: list[Pair]
    weights: np.ndarray
    tests: list[np.ndarray]
    Cs: np.ndarray
    tol: float
    alone: bool
    stopper: Stopper
    on_kernel: Callable[[KernelOutcome], None]
    on_cells: Callable[[float], None]
    lock: Lock

    def n_good(self, relative_gaps: np.ndarray) -> int:
        """How many values of C, from the first on, are as good as they get.

        After a stop, a certificate that was cut short is none to keep.
        """
        if self.stopper.reason() is None:
            return relative_gaps.size
        return int(np.argmin(np.append(relative_gaps <= self.tol, False)))

    def paths(self, pair: Pair, rows: RowSource, *, from_first: bool = True) -> BinaryPaths:
        """The paths of a pair of classes; whether some begin at the first value of C."""
        return BinaryPaths(
            pair.problem.y,
            np.ascontiguousarray(self.weights[:, pair.members]),
            rows,
            self.Cs,
            tol=self.tol,
            stopper=self.stopper,
            alone=self.alone,
            from_first=from_first,
        )

    def tell(self, outcome: KernelOutcome) -> None:
        """Hand on what came of a kernel."""
        with self.lock:
            self.on_kernel(outcome)

    def tell_cells(self, n_cells: float) -> None:
        """Say how many cells have just been done."""
        with self.lock:
            self.on_cells(n_cells)


class BinaryWork(Work):
    """The folds of a binary problem with one kernel.

    Parameters
    ----------
    task : Task
    outcome : KernelOutcome
        Filled in.
    make_rows : callable
        Makes the rows of all examples.
    """

    def __init__(
        self, task: Task, outcome: KernelOutcome, make_rows: Callable[[], RowSource]
    ) -> None:
        self._task, self._outcome, self._make_rows = task, outcome, make_rows
        self._rows: RowSource | None = None
        self._shared, self._before = 0.0, outcome.done.copy()

    def open(self) -> list[Job]:
        """Make the rows, and solve the first value of C for all examples."""
        folds = np.flatnonzero(~self._before.all(axis=1)).tolist()
        if not folds or self._task.stopper.reason() is not None:
            return []
        begin = time.perf_counter()
        with suppress(CutShort), heeding(self._task.stopper.lasts):
            self._rows = self._make_rows()
        if self._rows is None:
            return []
        from_first = not self._before[folds, 0].all()
        paths = self._task.paths(self._task.pairs[0], self._rows, from_first=from_first)
        self._shared = time.perf_counter() - begin
        return [partial(self._solve, paths, fold) for fold in folds]

    def _solve(self, paths: BinaryPaths, fold: int) -> None:
        outcome, test = self._outcome, self._task.tests[fold]
        first = int(np.flatnonzero(~outcome.done[fold])[0])
        ((found, seconds),) = paths.folds(slice(fold, fold + 1), first)
        n_good = self._task.n_good(found.relative_gaps)
        solved = slice(first, first + n_good)
        outcome.decisions[fold][solved, :, 0] = found.margins[:n_good, test]
        outcome.relative_gaps[fold, solved] = found.relative_gaps[:n_good]
        outcome.n_support[fold, solved] = np.count_nonzero(found.coefs[:n_good], axis=1)
        outcome.seconds[fold, solved] = seconds[:n_good]
        outcome.done[fold, solved] = True
        self._task.tell_cells(n_good)

    def close(self) -> None:
        """Hand on the outcome, and give the rows up."""
        if self._rows is not None:
            self._outcome.evaluations += self._rows.evaluations
            self._rows.close()
            self._rows = None
        share_seconds(self._outcome, self._before, self._shared)
        self._task.tell(self._outcome)


def share_seconds(outcome: KernelOutcome, before: np.ndarray, seconds: float) -> None:
    """Divide seconds among the cells that have been done since."""
    new = outcome.done & ~before
    outcome.seconds[new] += seconds / max(1.0, float(new.sum()))


class PairsWork(Work):
    """All pairs of classes with one kernel, each with all folds.

    Parameters
    ----------
    task : Task
    outcome : KernelOutcome
        Filled in when all pairs are solved; until then it keeps those that are.
    open_rows : callable
        ``open_rows()`` returns `PairRows`.
    """

    def __init__(
        self, task: Task, outcome: KernelOutcome, open_rows: Callable[[], PairRows]
    ) -> None:
        self._task, self._outcome, self._open_rows = task, outcome, open_rows
        self._rows: PairRows | None = None
        self._shared, self._before = 0.0, outcome.done.copy()

    def open(self) -> list[Job]:
        """Make what the rows of pairs share."""
        if self._outcome.done.all() or self._task.stopper.reason() is not None:
            return []
        begin = time.perf_counter()
        with suppress(CutShort), heeding(self._task.stopper.lasts):
            self._rows = self._open_rows()
        rows = self._rows
        if rows is None:
            return []
        self._shared = time.perf_counter() - begin
        pairs = [pair for pair in self._task.pairs if pair.number not in self._outcome.pairs]
        return [partial(self._solve, rows, pair) for pair in pairs]

    def _solve(self, rows: PairRows, pair: Pair) -> None:
        task, outcome = self._task, self._outcome
        source = None
        with suppress(CutShort), heeding(task.stopper.lasts):
            heed()
            source = rows.of_pair(pair)
        if source is None:
            return
        found = task.paths(pair, source).folds(slice(None))
        evaluations = source.evaluations
        source.close()
        cells = [
            PairCells(part.coefs.copy(), part.intercepts, part.relative_gaps, seconds)
            for part, seconds in found
        ]
        is_whole = all(task.n_good(part.relative_gaps) == task.Cs.size for part in cells)
        with task.lock:
            outcome.evaluations += evaluations
            if is_whole:
                outcome.pairs[pair.number] = cells
        if is_whole:
            task.tell_cells(outcome.done.size / len(task.pairs))

    def close(self) -> None:
        """Hand on the outcome."""
        rows, outcome, pairs = self._rows, self._outcome, self._task.pairs
        if rows is not None:
            if len(outcome.pairs) == len(pairs):
                begin = time.perf_counter()
                for fold in range(len(self._task.tests)):
                    self._take(rows, fold, [outcome.pairs[k][fold] for k in range(len(pairs))])
                outcome.pairs = {}
                self._shared += time.perf_counter() - begin
                share_seconds(outcome, self._before, self._shared)
            outcome.evaluations += rows.evaluations
            rows.close()
            self._rows = None
        self._task.tell(outcome)

    def _take(self, rows: PairRows, fold: int, found: list[PairCells]) -> None:
        """Note what came of all pairs in a fold."""
        outcome, task = self._outcome, self._task
        used = np.zeros((task.Cs.size, task.weights.shape[1]), dtype=bool)
        for pair, cells in zip(task.pairs, found, strict=True):
            used[:, pair.members] |= cells.coefs != 0.0
        outcome.decisions[fold][:] = rows.decisions(task.pairs, fold, found)
        outcome.relative_gaps[fold] = np.max([cells.relative_gaps for cells in found], axis=0)
        outcome.n_support[fold] = used.sum(axis=1)
        outcome.seconds[fold] = np.sum([cells.seconds for cells in found], axis=0)
        outcome.done[fold] = True
