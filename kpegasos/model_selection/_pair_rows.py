"""Kernel rows of pairs of classes, and decisions of a pair on examples of the other classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np

from kpegasos.estimators._kernel_rows import rows_of_gram
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.shared import ClassSortedMatrix
from kpegasos.rows.base import KernelSource
from kpegasos.rows.cache import BufferPool
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.path_run import Solutions


class PairRows(ABC):
    """The rows of all pairs of classes with one kernel.

    Attributes
    ----------
    evaluations : int
        Kernel values that were computed for no pair alone.
    """

    evaluations: int = 0

    @abstractmethod
    def of_pair(self, pair: Pair) -> KernelSource:
        """The rows of a pair."""

    @abstractmethod
    def decisions(
        self, pair: Pair, tests: list[np.ndarray], found: list[Solutions]
    ) -> list[np.ndarray]:
        """Decisions of a pair on the examples of each fold, of all classes.

        Parameters
        ----------
        pair : Pair
        tests : list of ndarray of int
            Examples of each fold.
        found : list of Solutions
            Of each fold.

        Returns
        -------
        list of ndarray of shape (n_solved, n_test)
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
    """

    def __init__(self, source: GramRows, intercept_scaling: float) -> None:
        self.evaluations = source.evaluations
        self._gram = source.gram
        self._parts = rows_of_gram(
            source.gram,
            intercept_scaling,
            positive_definite=source.positive_definite,
            rounding=source.rounding,
            exact=source.exact,
        )

    def of_pair(self, pair: Pair) -> KernelSource:
        """The rows of a pair."""
        return self._parts(pair, 1, False)

    def decisions(
        self, pair: Pair, tests: list[np.ndarray], found: list[Solutions]
    ) -> list[np.ndarray]:
        """Decisions of a pair on the examples of each fold, of all classes."""
        gram, members = self._gram, pair.members
        coefs = np.concatenate([solutions.coefs for solutions in found])
        coefs = coefs.astype(gram.dtype, copy=False)
        ends = np.flatnonzero(np.diff(members) != 1) + 1
        if ends.size > 1:
            values = gram[:, members] @ coefs.T
        else:  # classes are ranges: nothing is copied, though four in five values are not asked for
            parts = np.split(np.arange(members.size), ends)
            ranges = [slice(members[part[0]], members[part[-1]] + 1) for part in parts]
            values = sum(
                gram[:, which] @ coefs[:, part[0] : part[-1] + 1].T
                for part, which in zip(parts, ranges, strict=True)
            )
        columns = np.cumsum([0, *(len(solutions.coefs) for solutions in found)]).tolist()
        return [
            values[test, first:last].T + solutions.intercepts[:, None]
            for test, solutions, (first, last) in zip(tests, found, pairwise(columns), strict=True)
        ]


class ComputedPairs(PairRows):
    """Rows that are computed when they are first needed, pair by pair, within a budget.

    Parameters
    ----------
    shared : ClassSortedMatrix
    cache_mb : float or "auto"
    intercept_scaling : float
    """

    def __init__(
        self, shared: ClassSortedMatrix, cache_mb: float | str, intercept_scaling: float
    ) -> None:
        self._shared, self._cache_mb = shared, cache_mb
        self._intercept_scaling = intercept_scaling
        self._pool = BufferPool()

    def of_pair(self, pair: Pair) -> KernelSource:
        """The rows of a pair."""
        return choose_source(
            self._shared.pair(*pair.classes),
            cache="cached",
            cache_mb=self._cache_mb,
            intercept_scaling=self._intercept_scaling,
            pool=self._pool,
        )

    def decisions(
        self, pair: Pair, tests: list[np.ndarray], found: list[Solutions]
    ) -> list[np.ndarray]:
        """Decisions of a pair on the examples of each fold, of all classes."""
        points = self._shared.matrix.points
        X, members = points.X, points.members
        assert members is not None
        decisions = []
        for test, solutions in zip(tests, found, strict=True):
            support = np.flatnonzero(solutions.coefs.any(axis=0))
            vectors = X[members[pair.members[support]]]
            coefs = np.ascontiguousarray(solutions.coefs[:, support])
            self.evaluations += test.size * support.size
            decided = kernel_decision(points.kernel, X[members[test]], vectors, coefs)
            decisions.append(decided.T + solutions.intercepts[:, None])
        return decisions
