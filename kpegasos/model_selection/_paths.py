"""The paths of one binary problem: over all examples at first, then fold by fold."""

from __future__ import annotations

import numpy as np

from kpegasos.rows.base import RowSource
from kpegasos.solvers.path_run import PathRun, Solutions
from kpegasos.solvers.stopping import Stopper

#: Passes over the examples that the working sets of one cell come to at the most.
_MAX_EPOCHS = 1000


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
    from_first : bool, default=True
        Whether some fold begins at the first value of C.
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
        from_first: bool = True,
    ) -> None:
        self._y, self._weights, self._rows, self._Cs = y, weights, rows, Cs
        self._tol, self._stopper, self._alone = tol, stopper, alone
        # The first value of C has no neighbour to start from. Later ones gain nothing by a start
        # from all examples over that from the value before.
        self._whole: PathRun | None = None
        if from_first:
            whole = self._run(weights.max(axis=0)[None], Cs[:1])
            whole.advance(stopper)
            self._whole = whole if whole.finished else None

    def _run(self, weights: np.ndarray, Cs: np.ndarray) -> PathRun:
        return PathRun(
            self._y,
            weights,
            self._rows,
            Cs,
            tol=self._tol,
            max_epochs=_MAX_EPOCHS,
            alone=self._alone,
        )

    def folds(self, numbers: slice, first: int = 0) -> list[tuple[Solutions, np.ndarray]]:
        """Solve folds along C, from the value of some number on, until the stopper has a reason.

        Parameters
        ----------
        numbers : slice
            Of the folds.
        first : int, default=0
            Of the first value of C.

        Returns
        -------
        list of (Solutions, ndarray)
            For each fold the values of C that are solved, and the seconds that each took: cells
            share those of their run by their working sets.
        """
        weights, Cs = self._weights[numbers], self._Cs[first:]
        run = self._run(weights, Cs)
        if first == 0 and self._whole is not None:
            run.start_from(self._whole)
        run.advance(self._stopper)
        solutions = run.solutions(self._stopper)
        shares = solutions.n_sets + 1.0
        seconds = run.seconds * shares / max(1.0, shares.sum())
        return [
            (solutions.part(begin, begin + Cs.size), seconds[begin : begin + Cs.size])
            for begin in range(0, Cs.size * len(weights), Cs.size)
        ]
