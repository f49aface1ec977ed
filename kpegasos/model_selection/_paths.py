"""The paths of one binary problem: over all examples at first, then fold by fold."""

from __future__ import annotations

import numpy as np

from kpegasos.core.problem import Problem
from kpegasos.rows.base import KernelSource
from kpegasos.solvers.path_run import PathRun, Solutions
from kpegasos.solvers.stopping import Stopper

#: Passes over the examples that the working sets of one cell come to at the most.
_MOST_PASSES = 1000


class BinaryPaths:
    """Paths along C over the same rows, for weights of several folds.

    Parameters
    ----------
    y : ndarray of shape (n_members,)
        Labels -1 and +1.
    weights : ndarray of shape (n_folds, n_members)
        Zero for what a fold is not trained on.
    rows : KernelSource
        With room for a few rows.
    Cs : ndarray of shape (n_Cs,)
        Increasing.
    tol : float
    stopper : Stopper
    alone : bool
        Whether each path has one thread for all it does.
    """

    def __init__(
        self,
        y: np.ndarray,
        weights: np.ndarray,
        rows: KernelSource,
        Cs: np.ndarray,
        *,
        tol: float,
        stopper: Stopper,
        alone: bool,
    ) -> None:
        self._y, self._weights, self._rows, self._Cs = y, weights, rows, Cs
        self._tol, self._stopper, self._alone = tol, stopper, alone
        # Neighbours of the first value of C have no neighbour of their own to start from. Later
        # values gain nothing by a start from all examples over that from the value before.
        whole = self._run(weights.max(axis=0), Cs[:1])
        whole.advance(stopper)
        self._whole = whole if whole.finished else None
        self.evaluations = whole.evaluations

    def _run(self, weight: np.ndarray, Cs: np.ndarray) -> PathRun:
        total = float(weight.sum())
        problem = Problem(self._y, weight * (weight.size / total), 1.0)
        return PathRun(
            problem,
            self._rows,
            1.0 / (Cs * total),
            tol=self._tol,
            most_sets=_MOST_PASSES,
            alone=self._alone,
        )

    def fold(self, number: int, first: int = 0) -> tuple[Solutions, np.ndarray]:
        """Solve a fold along C, from the value of some number on, until the stopper has a reason.

        Parameters
        ----------
        number : int
            Of the fold.
        first : int, default=0
            Of the first value of C.

        Returns
        -------
        solutions : Solutions
            Of the values of C that are solved.
        seconds : ndarray of shape (n_solved,)
            What each took: values of a path share its time by their working sets.
        """
        run = self._run(self._weights[number], self._Cs[first:])
        if first == 0 and self._whole is not None:
            run.start_from(self._whole)
        run.advance(self._stopper)
        solutions = run.solutions(self._stopper)
        shares = solutions.n_sets + 1.0
        return solutions, run.seconds * shares / max(1.0, shares.sum())
