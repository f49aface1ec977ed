"""One kernel matrix over several classes, shared by the pairs of classes.

In one-vs-one every class belongs to several pairs. Its examples are centred, checked and packed
once, and each pair sees its two classes only. Kernel values themselves are not shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.kernels.base import Kernel
from kpegasos.kernels.matrix import KernelMatrix, PackedSubset


class ClassSortedMatrix:
    """A kernel matrix whose examples are sorted by class.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : list of ndarray of int
        Rows of X that are the examples of each class, in this order.
    threads : int, default=None
        Threads for whole rows of one pair; None for as many as OpenMP would use.
    row_dtype, work_dtype : {"float32", "float64"}, default=None
        Precision of the values and of the arithmetic, as in `KernelMatrix`.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: list[np.ndarray],
        *,
        threads: int | None = None,
        row_dtype: Any = None,
        work_dtype: Any = None,
    ) -> None:
        self.matrix = KernelMatrix(
            kernel,
            X,
            np.concatenate(members),
            threads=threads,
            row_dtype=row_dtype,
            work_dtype=work_dtype,
        )
        self._ends = np.concatenate(([0], np.cumsum([part.size for part in members]))).tolist()

    def pair(self, one: int, other: int) -> PairMatrix:
        """The kernel matrix of two classes, given by their positions."""
        ranges = [(self._ends[k], self._ends[k + 1]) for k in (one, other)]
        return PairMatrix(self.matrix, ranges)


class PairMatrix:
    """The kernel matrix of two ranges of examples: those of the first come first.

    Parameters
    ----------
    matrix : KernelMatrix
    ranges : list of (first, last)
    """

    def __init__(self, matrix: KernelMatrix, ranges: list[tuple[int, int]]) -> None:
        self._matrix = matrix
        self._ranges = ranges
        self._order = np.concatenate([np.arange(first, last) for first, last in ranges])
        self.kernel = matrix.kernel
        self.n_samples = int(self._order.size)
        self.dtype = matrix.dtype
        self.diagonal = matrix.diagonal[self._order]
        self.can_pack = matrix.can_pack
        self.row_bytes = matrix.row_bytes
        self.rounding = matrix.rounding[self._order]
        self.exact = matrix.exact.subset(self._order)

    def write_rows(self, members: np.ndarray, out: np.ndarray) -> int:
        """Write the kernel rows of some examples; returns how many values were computed."""
        left, begin = self._order[members], 0
        for first, last in self._ranges:
            end = begin + last - first
            self._matrix.write_rows(left, out[:, begin:end], first, last)
            begin = end
        return int(members.size * self.n_samples)

    def block(self, left: Any, right: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of the examples ``left`` against ``right`` (slices or indices)."""
        return self._matrix.block(self._order[left], self._order[right], out)

    def pack_subset(self) -> PackedSubset:
        """An empty subset to compute values against; only where `can_pack`."""
        points = self._matrix.points
        return PackedSubset(
            points.packed_kernel(), lambda members: points.own(self._order[members])
        )
