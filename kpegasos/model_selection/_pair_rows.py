"""Kernel rows of pairs of classes, and decisions of a pair on examples of the other classes."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kpegasos.estimators._kernel_rows import GramParts
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.shared import ClassSortedMatrix
from kpegasos.model_selection.outcome import PairCells
from kpegasos.rows.base import RowSource
from kpegasos.rows.cache import BufferPool
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows


class PairRows(ABC):
    """The rows of all pairs of classes with one kernel.

    Attributes
    ----------
    evaluations : int
        Kernel values that were computed for no pair alone.
    """

    evaluations: int = 0

    @abstractmethod
    def of_pair(self, pair: Pair) -> RowSource:
        """The rows of a pair."""

    @abstractmethod
    def decisions(self, pairs: list[Pair], fold: int, found: list[PairCells]) -> np.ndarray:
        """Decisions of all pairs on the examples that a fold is tested on.

        Parameters
        ----------
        pairs : list of Pair
        fold : int
        found : list of PairCells
            Of each pair, all of as many values of C.

        Returns
        -------
        ndarray of shape (n_solved, n_test, n_pairs)
        """

    def close(self) -> None:  # noqa: B027
        """Give up what the pairs share."""


class GramPairs(PairRows):
    """Parts of one kernel matrix of all examples.

    Parameters
    ----------
    source : GramRows
        Of all examples.
    intercept_scaling : float
    tests : list of ndarray of int
        Examples of each fold.
    """

    def __init__(self, source: GramRows, intercept_scaling: float, tests: list[np.ndarray]) -> None:
        self.evaluations = source.evaluations
        self._gram, self._tests = source.gram, tests
        self._parts = GramParts(
            source.gram,
            None,
            intercept_scaling,
            positive_definite=source.positive_definite,
            rounding=source.rounding,
            exact=source.exact,
        )

    def of_pair(self, pair: Pair) -> RowSource:
        """The rows of a pair."""
        return self._parts(pair, 1, False)

    def decisions(self, pairs: list[Pair], fold: int, found: list[PairCells]) -> np.ndarray:
        """Decisions of all pairs on the examples that a fold is tested on."""
        test, n_solved = self._tests[fold], len(found[0].intercepts)
        result = np.empty((n_solved, test.size, len(pairs)))
        result[:] = np.stack([cells.intercepts for cells in found], axis=1)[:, None]
        gram, n_classes = self._gram, 1 + pairs[-1].classes[1]
        for number in range(n_classes):
            # All pairs of a class read its kernel values once.
            own = [k for k, pair in enumerate(pairs) if number in pair.classes]
            members = pairs[own[0]].members[_of_class(pairs[own[0]], number)]
            coefs = np.concatenate([found[k].coefs[:, _of_class(pairs[k], number)] for k in own])
            products = _columns(gram, test, members).astype(np.float64, copy=False) @ coefs.T
            result[:, :, own] += products.T.reshape(len(own), n_solved, test.size).transpose(
                1, 2, 0
            )
        return result


def _of_class(pair: Pair, number: int) -> np.ndarray:
    """Which members are of a class; the first of a pair of several classes is the positive one."""
    return np.asarray((pair.problem.y > 0) == (pair.classes[0] == number))


def _columns(gram: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Values of a matrix; where columns are side by side, as they are in class order, faster."""
    first, last = columns[0], columns[-1] + 1
    if last - first == columns.size:
        return gram[rows, first:last]
    return gram[rows[:, None], columns]


class ComputedPairs(PairRows):
    """Rows that are computed when they are first needed, pair by pair, within a budget.

    Parameters
    ----------
    shared : ClassSortedMatrix
    cache_mb : float or "auto"
    intercept_scaling : float
    tests : list of ndarray of int
        Examples of each fold.
    """

    def __init__(
        self,
        shared: ClassSortedMatrix,
        cache_mb: float | str,
        intercept_scaling: float,
        tests: list[np.ndarray],
    ) -> None:
        self._shared, self._cache_mb, self._tests = shared, cache_mb, tests
        self._intercept_scaling = intercept_scaling
        self._pool = BufferPool()

    def of_pair(self, pair: Pair) -> RowSource:
        """The rows of a pair."""
        return choose_source(
            self._shared.pair(*pair.classes),
            cache="cached",
            cache_mb=self._cache_mb,
            intercept_scaling=self._intercept_scaling,
            pool=self._pool,
        )

    def decisions(self, pairs: list[Pair], fold: int, found: list[PairCells]) -> np.ndarray:
        """Decisions of all pairs on the examples that a fold is tested on."""
        points, test = self._shared.matrix.points, self._tests[fold]
        X, members = points.X, points.members
        assert members is not None
        rows = X[members[test]]
        result = np.empty((len(found[0].intercepts), test.size, len(pairs)))
        for k, (pair, cells) in enumerate(zip(pairs, found, strict=True)):
            support = np.flatnonzero(cells.coefs.any(axis=0))
            vectors = X[members[pair.members[support]]]
            coefs = np.ascontiguousarray(cells.coefs[:, support])
            self.evaluations += test.size * support.size
            decided = kernel_decision(points.kernel, rows, vectors, coefs)
            result[:, :, k] = decided.T + cells.intercepts[:, None]
        return result
