"""Kernel rows of pairs of classes, and decisions of a pair on examples of the other classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kpegasos.estimators._kernel_rows import rows_of_gram
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.shared import ClassSortedMatrix
from kpegasos.model_selection._paths import Cells
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
    def decisions(self, pair: Pair, others: np.ndarray, cells: Cells) -> np.ndarray:
        """Decisions of a pair on examples of other classes, of shape (n_solved, n_others)."""

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

    def of_pair(self, pair: Pair) -> RowSource:
        """The rows of a pair."""
        return self._parts(pair, 1, False)

    def decisions(self, pair: Pair, others: np.ndarray, cells: Cells) -> np.ndarray:
        """Decisions of a pair on examples of other classes, of shape (n_solved, n_others)."""
        total = np.zeros((others.size, len(cells.coefs)))
        coefs = cells.coefs.astype(self._gram.dtype, copy=False)
        ends = np.flatnonzero(np.diff(pair.members) != 1) + 1
        if ends.size > 1:
            total += self._gram[others[:, None], pair.members] @ coefs.T
        else:  # both classes are ranges
            for part in np.split(np.arange(pair.members.size), ends):
                members = pair.members[part]
                values = self._gram[others, members[0] : members[-1] + 1]
                total += values @ coefs[:, part[0] : part[-1] + 1].T
        return np.asarray(total.T + cells.intercepts[:, None])


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

    def of_pair(self, pair: Pair) -> RowSource:
        """The rows of a pair."""
        return choose_source(
            self._shared.pair(*pair.classes),
            cache="cached",
            cache_mb=self._cache_mb,
            intercept_scaling=self._intercept_scaling,
            pool=self._pool,
        )

    def decisions(self, pair: Pair, others: np.ndarray, cells: Cells) -> np.ndarray:
        """Decisions of a pair on examples of other classes, of shape (n_solved, n_others)."""
        points = self._shared.matrix.points
        X: Any = points.X
        members = points.members
        assert members is not None
        support = np.flatnonzero(cells.coefs.any(axis=0))
        vectors = X[members[pair.members[support]]]
        rows = X[members[others]]
        self.evaluations += others.size * support.size
        decided = kernel_decision(points.kernel, rows, vectors, cells.coefs[:, support])
        return np.asarray(decided.T + cells.intercepts[:, None])
