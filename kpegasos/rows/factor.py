"""Factors of kernel matrices, ``K = Z Zᵀ`` with few columns, that systems are made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from kpegasos.utils import tuning
from kpegasos.utils.patience import heed


class Factor(ABC):
    """A matrix Z of as many rows as there are examples, in float64.

    Attributes
    ----------
    size : int
        Its columns.
    """

    size: int

    @abstractmethod
    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``Zᵀ diag(weights) Z`` of shape (size, size).

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Non-negative.
        """

    @abstractmethod
    def margins(self, vector: np.ndarray) -> np.ndarray:
        """``Z @ vector``."""

    @abstractmethod
    def sums(self, coef: np.ndarray) -> np.ndarray:
        """``Zᵀ @ coef``."""


class Features(Protocol):
    """Rows of features, with a constant one at their end."""

    n_samples: int
    image_size: int

    def margins(self, vectors: np.ndarray) -> np.ndarray:
        """``Z @ vectors``."""

    def sums(self, columns: np.ndarray) -> np.ndarray:
        """``Zᵀ @ columns``."""


class HeldFactor(Factor):
    """Z as an array, without what is zero; of no more columns than rows.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns), float64
    """

    def __init__(self, Z: np.ndarray) -> None:
        self._Z = Z = Z[:, Z.any(axis=0)]
        if Z.shape[1] > Z.shape[0]:
            # Z = Rᵀ Qᵀ: products of its rows are those of the rows of Rᵀ.
            self._Z = np.ascontiguousarray(np.asarray(np.linalg.qr(Z.T, mode="r")).T)
        self.size = self._Z.shape[1]

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``Zᵀ diag(weights) Z``."""
        if weights.all():
            return _gram(self._Z, weights)
        used = np.flatnonzero(weights)
        return _gram(self._Z[used], weights[used])

    def margins(self, vector: np.ndarray) -> np.ndarray:
        """``Z @ vector``."""
        return np.asarray(self._Z @ vector)

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """``Zᵀ @ coef``."""
        return np.asarray(coef @ self._Z)


def _gram(rows: Any, weights: np.ndarray) -> np.ndarray:
    """``rowsᵀ diag(weights) rows``, by half the multiplications of a product of two matrices."""
    scaled = rows * np.sqrt(weights)[:, None]
    return np.asarray(scaled.T @ scaled)


def _scale(rows: Any, roots: np.ndarray, out: np.ndarray) -> None:
    """Put ``diag(roots) rows`` into an array."""
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    np.multiply(dense, roots[:, None], out=out)


class StreamedFactor(Factor):
    """Z a part at a time.

    Parameters
    ----------
    rows : Features
    parts : callable
        ``parts(copies)`` yields ranges of examples of which so many copies may be made.
    gather : callable
        ``gather(part)`` returns its features, an array or a CSR matrix of any real dtype.
    constant : float
        Last column of Z.
    """

    def __init__(
        self,
        rows: Features,
        parts: Callable[[int], Iterable[slice]],
        gather: Callable[[slice], Any],
        constant: float,
    ) -> None:
        self._rows, self._parts, self._gather = rows, parts, gather
        self.size, self._constant = rows.image_size, constant

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``Zᵀ diag(weights) Z``."""
        total = np.zeros((self.size, self.size))
        # Rows in float64, and once more where they come from a sparse matrix.
        height = max(1, tuning.GATHER_BYTES // (3 * 8 * self.size))
        scaled = np.empty((min(height, weights.size), self.size))
        for part in self._parts(3):
            heed()
            roots, rows = np.sqrt(weights[part]), self._gather(part)
            if np.count_nonzero(roots) < 0.5 * roots.size:
                used = np.flatnonzero(roots)
                roots, rows = roots[used], rows[used]
            for top in range(0, roots.size, height):
                heed()
                some = slice(top, top + height)
                filled = scaled[: roots[some].size]
                _scale(rows[some], roots[some], filled[:, :-1])
                filled[:, -1] = self._constant * roots[some]
                total += filled.T @ filled
        return total

    def margins(self, vector: np.ndarray) -> np.ndarray:
        """``Z @ vector``."""
        return self._rows.margins(vector[:, None])[:, 0]

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """``Zᵀ @ coef``."""
        return self._rows.sums(coef)


def factor_of(
    rows: Features,
    parts: Callable[[int], Iterable[slice]],
    gather: Callable[[slice], Any],
    constant: float,
) -> Factor | None:
    """Make the factor of rows of features, held if they are few; None if columns are many or none.

    Parameters are those of `StreamedFactor`.
    """
    height, width = rows.n_samples, rows.image_size
    if min(height, width) > tuning.MOST_COLUMNS:
        return None
    if 8 * height * width <= tuning.GATHER_BYTES:
        Z = np.empty((height, width))
        features = gather(slice(0, height))
        Z[:, :-1] = features if isinstance(features, np.ndarray) else features.toarray()
        Z[:, -1] = constant
        factor = HeldFactor(Z)
        return factor if factor.size else None
    return StreamedFactor(rows, parts, gather, constant) if width <= tuning.MOST_COLUMNS else None
