"""The paths of one binary problem: over all examples at first, then fold by fold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpegasos.core.problem import Problem
from kpegasos.rows.base import RowSource
from kpegasos.solvers.path_run import PathRun
from kpegasos.solvers.stopping import Stopper

#: Passes over the examples that the working sets of one cell come to at the most.
_MOST_PASSES = 1000


class Cells(NamedTuple):
    """What came of the values of C of one fold, as far as they are solved.

    Attributes
    ----------
    margins : ndarray of shape (n_solved, n_members)
    coefs : ndarray of shape (n_solved, n_members)
        Signed.
    intercepts, relative_gaps, seconds : ndarray of shape (n_solved,)
    """

    margins: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    relative_gaps: np.ndarray
    seconds: np.ndarray


class BinaryPaths:
    """Paths along C over the same rows, for weights of several folds.

    Parameters
    ----------
    y : ndarray of shape (n_members,)
        Labels -1 and +1.
    weights : ndarray of shape (n_folds, n_members)
        Zero for what a fold is not trained on.
    rows : RowSource
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
        rows: RowSource,
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

    def fold(self, number: int, first: int = 0) -> Cells:
        """Solve a fold along C, from the value of some number on, until the stopper has a reason.

        Parameters
        ----------
        number : int
            Of the fold.
        first : int, default=0
            Of the first value of C.
        """
        run = self._run(self._weights[number], self._Cs[first:])
        if first == 0 and self._whole is not None:
            run.start_from(self._whole)
        run.advance(self._stopper)
        solutions = [run.solution(value, self._stopper) for value in range(run.n_solved)]
        shape = (len(solutions), self._y.size)
        shares = run.path.n_sets[: len(solutions)] + 1.0
        return Cells(
            np.array([s.margins for s in solutions]).reshape(shape),
            np.array([s.coef for s in solutions]).reshape(shape),
            np.array([s.intercept for s in solutions]),
            np.array([s.certificate.relative_gap for s in solutions]),
            run.seconds * shares / max(1.0, shares.sum()),
        )
