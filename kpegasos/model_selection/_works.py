"""The work that a kernel makes: folds of a binary problem, or pairs of classes with all folds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from kpegasos.estimators._one_vs_one import Pair
from kpegasos.model_selection._pair_rows import PairCells, PairRows
from kpegasos.model_selection._paths import BinaryPaths
from kpegasos.model_selection._schedule import Job, Work
from kpegasos.model_selection.outcome import KernelOutcome
from kpegasos.rows.base import KernelSource
from kpegasos.solvers.stopping import Stopper


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

    def paths(self, pair: Pair, rows: KernelSource) -> BinaryPaths:
        """The paths of a pair of classes."""
        return BinaryPaths(
            pair.problem.y,
            np.ascontiguousarray(self.weights[:, pair.members]),
            rows,
            self.Cs,
            tol=self.tol,
            stopper=self.stopper,
            alone=self.alone,
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
        self, task: Task, outcome: KernelOutcome, make_rows: Callable[[], KernelSource]
    ) -> None:
        self._task, self._outcome, self._make_rows = task, outcome, make_rows
        self._rows: KernelSource | None = None

    def open(self) -> list[Job]:
        """Make the rows, and solve the first value of C for all examples."""
        folds = np.flatnonzero(~self._outcome.done.all(axis=1)).tolist()
        if not folds or self._task.stopper.reason() is not None:
            return []
        self._rows = self._make_rows()
        paths = self._task.paths(self._task.pairs[0], self._rows)
        return [partial(self._solve, paths, fold) for fold in folds]

    def _solve(self, paths: BinaryPaths, fold: int) -> None:
        outcome, test = self._outcome, self._task.tests[fold]
        first = int(np.flatnonzero(~outcome.done[fold])[0])
        ((found, seconds),) = paths.folds(slice(fold, fold + 1), first)
        solved = slice(first, first + seconds.size)
        outcome.decisions[fold][solved, :, 0] = found.margins[:, test]
        outcome.relative_gaps[fold, solved] = found.relative_gaps
        outcome.n_support[fold, solved] = np.count_nonzero(found.coefs, axis=1)
        outcome.seconds[fold, solved] = seconds
        outcome.done[fold, solved] = True
        self._task.tell_cells(seconds.size)

    def close(self) -> None:
        """Hand on the outcome, and give the rows up."""
        if self._rows is not None:
            self._outcome.evaluations += self._rows.evaluations
            self._rows.close()
            self._rows = None
        self._task.tell(self._outcome)


class PairsWork(Work):
    """All pairs of classes with one kernel, each with all folds.

    Parameters
    ----------
    task : Task
    outcome : KernelOutcome
        Filled in, if all pairs come to their end.
    open_rows : callable
        ``open_rows()`` returns `PairRows`.
    """

    def __init__(
        self, task: Task, outcome: KernelOutcome, open_rows: Callable[[], PairRows]
    ) -> None:
        self._task, self._outcome, self._open_rows = task, outcome, open_rows
        self._found: dict[int, list[PairCells]] = {}
        self._rows: PairRows | None = None

    def open(self) -> list[Job]:
        """Make what the rows of pairs share."""
        if self._outcome.done.all() or self._task.stopper.reason() is not None:
            return []
        self._rows = rows = self._open_rows()
        return [partial(self._solve, rows, pair) for pair in self._task.pairs]

    def _solve(self, rows: PairRows, pair: Pair) -> None:
        task = self._task
        if task.stopper.reason() is not None:
            return
        source = rows.of_pair(pair)
        found = self._task.paths(pair, source).folds(slice(None))
        self._found[pair.number] = [
            PairCells(
                solutions.coefs.copy(), solutions.intercepts, solutions.relative_gaps, seconds
            )
            for solutions, seconds in found
        ]
        self._outcome.evaluations += source.evaluations
        source.close()
        task.tell_cells(self._outcome.done.size / len(task.pairs))

    def close(self) -> None:
        """Hand on the outcome; cells of which a pair is missing are not done."""
        rows, outcome, pairs = self._rows, self._outcome, self._task.pairs
        if rows is not None:
            if len(self._found) == len(pairs):
                found = [self._found[number] for number in range(len(pairs))]
                for fold in range(len(self._task.tests)):
                    self._take(rows, fold, [of_pair[fold] for of_pair in found])
            outcome.evaluations += rows.evaluations
            rows.close()
            self._rows, self._found = None, {}
        self._task.tell(outcome)

    def _take(self, rows: PairRows, fold: int, found: list[PairCells]) -> None:
        """Note what came of all pairs in a fold, as far as all of them are solved."""
        outcome, task = self._outcome, self._task
        n_solved = min(cells.seconds.size for cells in found)
        if n_solved == 0:
            return
        found = [PairCells(*(array[:n_solved] for array in cells)) for cells in found]
        used = np.zeros((n_solved, task.weights.shape[1]), dtype=bool)
        for pair, cells in zip(task.pairs, found, strict=True):
            used[:, pair.members] |= cells.coefs != 0.0
        solved = slice(0, n_solved)
        outcome.decisions[fold][solved] = rows.decisions(task.pairs, fold, found)
        outcome.relative_gaps[fold, solved] = np.max([c.relative_gaps for c in found], axis=0)
        outcome.n_support[fold, solved] = used.sum(axis=1)
        outcome.seconds[fold, solved] += np.sum([c.seconds for c in found], axis=0)
        outcome.done[fold, solved] = True
