"""Kernel values in blocks of bounded memory: of a data set against itself, and of new rows.

The numerics live here: rows are centred where the kernel allows it, norms are computed once, and
overflow is found before anything is fitted. Which blocks are wanted is decided by `kpegasos.gram`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from kpegasos.kernels import Kernel

MEBIBYTE = 1 << 20


class KernelBlocks:
    """Blocks of the kernel matrix of one data set, in the dtype of its rows.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Copied, to be centred, for a dense translation-invariant kernel.

    Raises
    ------
    ValueError
        If the values overflow the dtype of X.
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel = kernel
        self.shared_norms = hasattr(kernel, "_map")
        if getattr(kernel, "translation_invariant", False) and not sparse.issparse(X):
            # ‖a‖² + ‖b‖² − 2<a, b> cancels less around the mean.
            X = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.X = X
        with np.errstate(over="ignore", invalid="ignore"):
            self.diagonal = kernel.diag(X)
            finite = np.isfinite(self.diagonal).all()
            if self.shared_norms:
                self.squared_norms = row_norms(X, squared=True)
                finite &= bool(np.isfinite(self.squared_norms).all())
        largest = np.finfo(X.dtype).max
        if not finite or np.abs(self.diagonal).max() > largest:
            raise ValueError(
                f"X must be small enough that {type(kernel).__name__} values fit in {X.dtype}, "
                f"got values up to {abs(X).max():.3g}; scale the features"
            )

    def block(self, left: Any, right: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of the rows ``left`` against the rows ``right`` (slices or indices)."""
        A, B = self.X[left], self.X[right]
        if self.shared_norms:
            norms = (self.squared_norms[left], self.squared_norms[right])
            return self.kernel.block(  # type: ignore[call-arg]
                A, B, squared_norms=norms, out=out
            )
        values = self.kernel.block(A, B)
        if out is not None:
            out[...] = values
            return out
        return values


def streamed_product(
    blocks: KernelBlocks, columns: np.ndarray, offset: float, height: int, width: int | None = None
) -> np.ndarray:
    """``(K + offset) @ columns`` over blocks of ``height × width`` kernel values, float64."""
    n_samples = columns.shape[0]
    support = np.flatnonzero(columns.any(axis=1))
    result = np.tile(offset * columns.sum(axis=0), (n_samples, 1))
    width = width or max(1, support.size)
    for left in range(0, support.size, width):
        part = support[left : left + width]
        for top in range(0, n_samples, height):
            rows = slice(top, min(n_samples, top + height))
            result[rows] += blocks.block(rows, part) @ columns[part]
    return result


def kernel_decision(
    kernel: Kernel, X: Any, support_vectors: Any, coefs: np.ndarray, *, block_mb: float = 64.0
) -> np.ndarray:
    """``K(X, support vectors) @ coefs.T`` in blocks of bounded memory, one matrix product each.

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
    """
    result = np.zeros((X.shape[0], coefs.shape[0]))
    n_support = support_vectors.shape[0]
    if n_support == 0:
        return result
    shift = None
    if getattr(kernel, "translation_invariant", False) and not sparse.issparse(X):
        shift = support_vectors.mean(axis=0, dtype=np.float64).astype(support_vectors.dtype)
        support_vectors = support_vectors - shift
    columns = np.ascontiguousarray(coefs.T.astype(support_vectors.dtype, copy=False))
    height = max(1, int(block_mb * MEBIBYTE) // (n_support * support_vectors.dtype.itemsize))
    for top in range(0, X.shape[0], height):
        part = X[top : top + height]
        if shift is not None:
            part = part - shift
        result[top : top + height] = kernel.block(part, support_vectors) @ columns
    return result
