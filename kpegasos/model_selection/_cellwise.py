"""Cells of kernels that are not positive semi-definite: a Pegasos fit each.

There is no dual to ascend, and so neither a warm start nor a certificate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kpegasos.estimators.kernel import PegasosSVC
from kpegasos.model_selection._schedule import Job, Work
from kpegasos.model_selection.outcome import Folds, KernelOutcome
from kpegasos.solvers.stopping import Stopper


class CellwiseWork(Work):
    """The folds of a kernel, each cell by a fit of its own.

    Parameters
    ----------
    model : PegasosSVC
        To be cloned with each C; its kernel is a kernel object, or "precomputed".
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,), int
    folds : Folds
    Cs : ndarray of shape (n_Cs,)
    outcome : KernelOutcome
        Filled in.
    stopper : Stopper
    tell : callable
        Is told the outcome.
    tell_cells : callable
        Is told how many cells have just been done.
    """

    def __init__(
        self,
        model: PegasosSVC,
        X: Any,
        labels: np.ndarray,
        folds: Folds,
        Cs: np.ndarray,
        *,
        outcome: KernelOutcome,
        stopper: Stopper,
        tell: Callable[[KernelOutcome], None],
        tell_cells: Callable[[float], None],
    ) -> None:
        self._model, self._X, self._labels = model, X, labels
        self._folds, self._Cs, self._outcome = folds, Cs, outcome
        self._stopper, self._tell, self._tell_cells = stopper, tell, tell_cells

    def open(self) -> list[Job]:
        """A job for each cell that is missing."""
        missing = np.argwhere(~self._outcome.done).tolist()
        return [partial(self._solve, fold, position) for fold, position in missing]

    def _solve(self, fold: int, position: int) -> None:
        if self._stopper.reason() is not None:
            return
        outcome, X, begin = self._outcome, self._X, time.perf_counter()
        weight, test = self._folds.weights[fold], self._folds.tests[fold]
        train = np.flatnonzero(weight)
        parameters = {**self._model.get_params(), "C": float(self._Cs[position])}
        model = PegasosSVC(**parameters)
        columns = train if parameters["kernel"] == "precomputed" else slice(None)
        try:
            model.fit(X[train][:, columns], self._labels[train], weight[train])
        except KeyboardInterrupt:  # the other cells are kept
            self._stopper.interrupt()
            return
        if self._stopper.interrupted:
            return
        decisions = model.decision_function(X[test][:, columns])
        outcome.decisions[fold][position] = decisions.reshape(test.size, -1)
        outcome.relative_gaps[fold, position] = np.max(model.relative_gap_)
        outcome.n_support[fold, position] = model.support_.size
        outcome.seconds[fold, position] = time.perf_counter() - begin
        histories = model.history_ if isinstance(model.history_, list) else [model.history_]
        outcome.evaluations += sum(int(h["kernel_evaluations"][-1]) for h in histories)
        outcome.done[fold, position] = True
        self._tell_cells(1)

    def close(self) -> None:
        """Hand on the outcome."""
        self._tell(self._outcome)
