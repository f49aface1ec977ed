"""Products of kernel values with coefficients: decisions on new rows, and margins of examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.kernels.base import Kernel, check_finite
from kpegasos.kernels.gemm import PackedMatrix
from kpegasos.kernels.matrix import KernelValues
from kpegasos.kernels.points import KernelPoints
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked, require_shape
from kpegasos.utils.compiled import compiled

#: Support vectors of one tile. It is fixed, as sums over a tile are rounded together.
_TILE_VECTORS = 1024
#: Outputs up to which sums by a plain loop are faster than packed products, which are padded.
_FEW_OUTPUTS = 8


def _check_products(values: np.ndarray, coefs: np.ndarray, result: np.ndarray) -> None:
    if not values.shape[1]:
        raise ValueError("values must have at least one column, got none")
    require_shape("coefs", coefs, (coefs.shape[0], values.shape[1]))
    require_shape("result", result, (values.shape[0], coefs.shape[0]))


@checked(_check_products)
@compiled()
def _add_products(values: np.ndarray, coefs: np.ndarray, result: np.ndarray) -> None:
    """``result += values @ coefs.T``: each sum in the same order, however many rows there are."""
    for i in range(values.shape[0]):
        for j in range(coefs.shape[0]):
            total = values[i, 0] * coefs[j, 0]
            for k in range(1, values.shape[1]):
                total += values[i, k] * coefs[j, k]
            result[i, j] += total


class _OutputSums:
    """Sums of kernel values times coefficients, in an order that does not depend on the rows.

    Parameters
    ----------
    coefs : ndarray of shape (n_outputs, n_support_vectors)
    width : int
        Support vectors of a tile.
    """

    def __init__(self, coefs: np.ndarray, width: int) -> None:
        self.n_outputs = coefs.shape[0]
        self._parts = [
            np.ascontiguousarray(coefs[:, first : first + width])
            for first in range(0, coefs.shape[1], width)
        ]
        self._packed = [self._pack(part) for part in self._parts if self.n_outputs > _FEW_OUTPUTS]

    @staticmethod
    def _pack(part: np.ndarray) -> PackedMatrix:
        packed = PackedMatrix(part.shape[1], part.dtype, capacity=part.shape[0])
        packed.append(part)
        return packed

    def add(self, number: int, values: np.ndarray, result: np.ndarray) -> None:
        """Add the sums of one tile of kernel values to the result."""
        if not self._packed:
            _add_products(values, self._parts[number], result)
            return
        sums = np.empty((values.shape[0], self.n_outputs), values.dtype)
        self._packed[number].products(values).write(0, self.n_outputs, sums)
        result += sums


def kernel_decision(
    kernel: Kernel, X: Any, support_vectors: Any, coefs: np.ndarray, *, block_mb: float = 64.0
) -> np.ndarray:
    """``K(X, support vectors) @ coefs.T``, in the support vectors' dtype and bounded memory.

    A kernel of inner products on dense rows decides to the same bits however many rows are given.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    support_vectors : ndarray or CSR matrix of shape (n_support_vectors, n_features)
    coefs : ndarray of shape (n_outputs, n_support_vectors)
    block_mb : float, default=64
        MiB of kernel values at a time.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs), float64

    Raises
    ------
    ValueError
        If X overflows the dtype, or a kernel value is NaN or infinite.
    """
    result = np.zeros((X.shape[0], coefs.shape[0]))
    n_support = support_vectors.shape[0]
    if n_support == 0 or X.shape[0] == 0:
        return result
    points = KernelPoints(kernel, support_vectors, diagonal=False)
    width = min(n_support, _TILE_VECTORS)
    # A power of two: nothing is rounded, and no coefficient leaves the range of float32.
    scale = 2.0 ** np.frexp(np.abs(coefs).max() or 1.0)[1]
    sums = _OutputSums((coefs / scale).astype(points.dtype, copy=False), width)
    height = int(block_mb * tuning.MEBIBYTE) // (width * points.dtype.itemsize)
    height = max(1, min(X.shape[0], height, tuning.FEATURE_ROWS))
    scratch = np.empty(height * width, points.dtype)
    for top in range(0, X.shape[0], height):
        rows = points.others(X[top : top + height])
        for first in range(0, n_support, width):
            last = min(n_support, first + width)
            n_rows = rows[0].shape[0]
            values = scratch[: n_rows * (last - first)].reshape(n_rows, last - first)
            points.write(rows, values, first, last)
            sums.add(first // width, values, result[top : top + height])
    result *= scale
    check_finite(result)
    return result


def kernel_product(
    values: KernelValues, columns: np.ndarray, offset: float, height: int, width: int | None = None
) -> np.ndarray:
    """``(K + offset) @ columns``, a tile of ``height × width`` kernel values at a time.

    Parameters
    ----------
    values : KernelValues
    columns : ndarray of shape (n_samples, n_columns), float64
        Examples whose row is zero cost nothing.
    offset : float
        Constant that is added to each kernel value.
    height, width : int
        Shape of a tile; all examples wide if ``width`` is None.

    Returns
    -------
    ndarray of shape (n_samples, n_columns), float64
    """
    n_samples = columns.shape[0]
    support = np.flatnonzero(columns.any(axis=1))
    result = np.tile(offset * columns.sum(axis=0), (n_samples, 1))
    width = width or max(1, support.size)
    for left in range(0, support.size, width):
        part = support[left : left + width]
        for top in range(0, n_samples, height):
            rows = slice(top, min(n_samples, top + height))
            result[rows] += values.block(rows, part) @ columns[part]
    return result
