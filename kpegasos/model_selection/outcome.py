"""What a search is asked, and what comes of all of its cells with one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


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


class PairCells(NamedTuple):
    """What came of a pair of classes in a fold, one value of C after the other.

    Attributes
    ----------
    coefs : ndarray of shape (n_solved, n_members)
        Signed.
    intercepts, relative_gaps, seconds : ndarray of shape (n_solved,)
    """

    coefs: np.ndarray
    intercepts: np.ndarray
    relative_gaps: np.ndarray
    seconds: np.ndarray


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
        Of all threads together. Values of C share what their path took by their working sets. What
        all cells of a kernel share, such as its matrix, is divided evenly.
    done : ndarray of shape (n_folds, n_Cs), bool
        Which cells have a model. A cell that did not reach ``tol`` has one, and its gap says so.
    evaluations : int
        Kernel values computed.
    pairs : dict of int to list of PairCells
        Pairs of several classes that are solved in all folds, as long as others are not.
    """

    number: int
    decisions: list[np.ndarray]
    relative_gaps: np.ndarray
    n_support: np.ndarray
    seconds: np.ndarray
    done: np.ndarray
    evaluations: int = 0
    pairs: dict[int, list[PairCells]] = field(default_factory=dict)

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
