"""Kernels of scikit-learn that are computed by its own functions, block by block.

With those of `kpegasos.kernels.functions`, which are computed here, they are all that
`sklearn.metrics.pairwise.pairwise_kernels` has by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel, cosine_similarity
from sklearn.utils.extmath import row_norms

from kpegasos.kernels.composable import Composable
from kpegasos.utils.validation import as_number


def _as_histograms(kernel: Any, rows: Any) -> np.ndarray:
    """Rows as scikit-learn takes them: dense, writable, and of no negative value.

    Raises
    ------
    ValueError
        If they are sparse or have a negative value.
    """
    if sparse.issparse(rows):
        raise ValueError(f"X must be dense for the kernel {kernel!r}, got a sparse matrix instead")
    least = rows.min(initial=0.0)
    if least < 0.0:
        raise ValueError(
            f"X must have no negative values for the kernel {kernel!r}, got {least:.3g}"
        )
    return rows if rows.flags.writeable else rows.copy()


@dataclass(frozen=True)
class Chi2(Composable):
    """``exp(-gamma Σ (a − b)² / (a + b))`` of dense features that are not negative, as counts are.

    Parameters
    ----------
    gamma : float, default=1.0
        Positive and finite.

    Raises
    ------
    ValueError
        If ``gamma`` is anything else.
    """

    gamma: float = 1.0
    positive_definite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", as_number("gamma", self.gamma, positive=True))

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b), in the dtype of the rows.

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        A, B = _as_histograms(self, A), _as_histograms(self, B)
        with np.errstate(over="ignore"):
            return np.asarray(chi2_kernel(A, B, gamma=self.gamma))

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        scikit-learn sums in float64 the quotients of what it adds and subtracts in the dtype of the
        rows, where the sum is then rounded, twice multiplied and mapped. The exponent has less than
        three of these roundings, of which a value has at most its e-th part.
        """
        in_sums = n_roundings * float(np.finfo(np.float64).eps)
        return np.full(squared_norms.size, 0.25 * (8.0 * eps + in_sums))

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Size that no value exceeds: 1."""
        return 1.0

    def diag(self, A: Any) -> np.ndarray:
        """Ones, float64 of shape (n_a,).

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        return np.ones(_as_histograms(self, A).shape[0])


@dataclass(frozen=True)
class AdditiveChi2(Composable):
    """``-Σ (a − b)² / (a + b)`` of dense features that are not negative, as counts are.

    It is positive definite on coefficients that sum to zero only, so no gap is certified.
    """

    positive_definite: ClassVar[bool] = False

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b), in the dtype of the rows.

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        A, B = _as_histograms(self, A), _as_histograms(self, B)
        return np.asarray(additive_chi2_kernel(A, B))

    def diag(self, A: Any) -> np.ndarray:
        """Zeros, float64 of shape (n_a,).

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        return np.zeros(_as_histograms(self, A).shape[0])


@dataclass(frozen=True)
class Cosine(Composable):
    """``<a, b> / (‖a‖ ‖b‖)``, and zero for rows of zeros."""

    positive_definite: ClassVar[bool] = True

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b), in the dtype of the rows."""
        values = cosine_similarity(self._scaled(A), self._scaled(B))
        return np.asarray(values).astype(A.dtype, copy=False)

    @staticmethod
    def _scaled(rows: Any) -> Any:
        """Rows in float64 whose largest entry is 1, so that no norm overflows or vanishes."""
        rows = rows.astype(np.float64)
        largest = abs(rows).max(axis=1)
        largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
        largest[largest == 0.0] = 1.0
        if sparse.issparse(rows):
            rows.data /= np.repeat(largest, np.diff(rows.indptr))
        else:
            rows /= largest[:, None]
        return rows

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        A product of rows of length 1, each of which was divided by its largest entry and its norm.
        """
        return np.full(squared_norms.size, (0.25 * n_roundings + 3.0) * eps)

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Size that no value exceeds: 1."""
        return 1.0

    def diag(self, A: Any) -> np.ndarray:
        """Ones, and zeros for rows of zeros, float64 of shape (n_a,)."""
        return (row_norms(self._scaled(A), squared=True) > 0.0).astype(np.float64)
