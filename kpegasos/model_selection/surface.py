"""All cells of a search: folds, values of C and kernels, over shared kernel values."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kpegasos.kernels.base import Kernel
from kpegasos.solvers.stopping import Stopper


class Folds(NamedTuple):
    """What each fold trains on, and what it is tested on.

    Attributes
    ----------
    weights : ndarray of shape (n_folds, n_samples), float64
        Weights of the examples, class weights included; zero for those that a fold is not trained
        on.
    tests : list of ndarray of int
        Examples that each fold is tested on; all have weight zero there.
    """

    weights: np.ndarray
    tests: list[np.ndarray]


@dataclass
class KernelOutcome:
    """What came of all folds and values of C with one kernel.

    Attributes
    ----------
    number : int
        Which of the kernels.
    decisions : list of ndarray of shape (n_Cs, n_test, n_pairs)
        For each fold, decisions of all pairs of classes; positive for the first class of a pair,
        or for the second of two classes in all. NaN where a cell is missing.
    relative_gaps : ndarray of shape (n_folds, n_Cs)
        Certified relative gap, that of the worst pair; NaN where there is none.
    n_support : ndarray of shape (n_folds, n_Cs), int64
        Support vectors, each counted once.
    seconds : ndarray of shape (n_folds, n_Cs)
        Of its solver; the kernel values that folds share are in the first that asked for them.
    done : ndarray of shape (n_folds, n_Cs), bool
        Which cells have a model. A cell that did not reach ``tol`` has one, and its gap says so.
    evaluations : int
        Kernel values computed.
    """

    number: int
    decisions: list[np.ndarray]
    relative_gaps: np.ndarray
    n_support: np.ndarray
    seconds: np.ndarray
    done: np.ndarray
    evaluations: int = 0

    @classmethod
    def empty(cls, number: int, folds: Folds, n_Cs: int, n_pairs: int) -> KernelOutcome:
        """Nothing done."""
        shape = (len(folds.tests), n_Cs)
        return cls(
            number,
            [np.full((n_Cs, test.size, n_pairs), np.nan) for test in folds.tests],
            np.full(shape, np.nan),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros(shape, dtype=bool),
        )


def search_surface(
    X: Any,
    labels: np.ndarray,
    folds: Folds,
    kernels: Sequence[Kernel | None],
    Cs: np.ndarray,
    *,
    tol: float,
    intercept_scaling: float,
    cache_mb: float | str,
    row_dtype: str,
    n_jobs: int | None,
    stopper: Stopper,
    on_kernel: Callable[[KernelOutcome], None],
    on_cells: Callable[[int], None] = lambda n_cells: None,
    known: dict[int, KernelOutcome] | None = None,
) -> None:
    """Solve all cells.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The kernel matrix of all examples where the kernel is None.
    labels : ndarray of shape (n_samples,), int
        Class numbers 0 to n_classes - 1.
    folds : Folds
    kernels : sequence of Kernel or None
    Cs : ndarray of shape (n_Cs,)
        Increasing.
    tol : float
        Certified relative gap of each pair of classes.
    intercept_scaling : float
        0 for no intercept.
    cache_mb : float or "auto"
    row_dtype : {"auto", "float32", "float64"}
    n_jobs : int or None
        Threads.
    stopper : Stopper
    on_kernel : callable
        Called with each outcome when all of its cells are done or the stopper says so, one at a
        time, from any thread.
    on_cells : callable
        Called with how many cells have just been done, from any thread.
    known : dict of int to KernelOutcome, default=None
        Outcomes to go on from, which are modified.
    """
    from kpegasos.estimators import PegasosSVC

    n_classes = int(labels.max()) + 1
    n_pairs = n_classes * (n_classes - 1) // 2
    for number, kernel in enumerate(kernels):
        outcome = (known or {}).get(number)
        if outcome is None:
            outcome = KernelOutcome.empty(number, folds, Cs.size, n_pairs)
        for fold, (weight, test) in enumerate(zip(folds.weights, folds.tests, strict=True)):
            for position, C in enumerate(Cs):
                if outcome.done[fold, position] or stopper.reason() is not None:
                    continue
                train, begin = np.flatnonzero(weight), time.perf_counter()
                model = PegasosSVC(
                    C=C,
                    kernel=kernel or "precomputed",
                    polish=True,
                    tol=tol,
                    fit_intercept=intercept_scaling > 0,
                    intercept_scaling=intercept_scaling or 1.0,
                    decision_function_shape="ovo",
                    random_state=0,
                )
                columns = slice(None) if kernel is not None else train
                model.fit(X[train][:, columns], labels[train], weight[train])
                decisions = model.decision_function(X[test][:, columns])
                outcome.decisions[fold][position] = decisions.reshape(test.size, n_pairs)
                outcome.relative_gaps[fold, position] = np.max(model.relative_gap_)
                outcome.n_support[fold, position] = model.support_.size
                outcome.seconds[fold, position] = time.perf_counter() - begin
                outcome.done[fold, position] = True
                on_cells(1)
        on_kernel(outcome)
