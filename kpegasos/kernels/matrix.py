"""The kernel matrix of one data set, computed part by part and never held here.

Which rows are computed, and which are kept, is decided by `kpegasos.rows`. How a value is computed
is left to `kpegasos.kernels.points`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from kpegasos.kernels.base import COMPARED, Kernel, check_symmetric, is_foreign
from kpegasos.kernels.exact import ExactProducts
from kpegasos.kernels.packed import PackedKernel
from kpegasos.kernels.points import KernelPoints
from kpegasos.utils.boundary import as_indices, require_range, require_shape
from kpegasos.utils.validation import as_choice, as_integer, canonical_rows, optional, shown


class KernelValues(Protocol):
    """What kernel rows ask for: the kernel matrix of some examples, part by part."""

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        ...

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Type of the kernel values."""
        ...

    @property
    def diagonal(self) -> np.ndarray:
        """``k(x, x)`` of each example, float64 of shape (n_samples,)."""
        ...

    @property
    def can_pack(self) -> bool:
        """Whether rows are dense and the kernel is one of inner products."""
        ...

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of features, on average."""
        ...

    @property
    def rounding(self) -> np.ndarray:
        """How far off values are: that of examples i and j by ``rounding[i] + rounding[j]``."""
        ...

    @property
    def exact(self) -> ExactProducts:
        """The same values in float64."""
        ...

    def write_rows(self, members: np.ndarray, out: np.ndarray) -> int:
        """Write the kernel rows of some examples; returns how many values were computed."""
        ...

    def block(self, left: Any, right: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of the examples ``left`` against ``right`` (slices or indices)."""
        ...

    def pack_subset(self) -> PackedSubset:
        """An empty subset to compute values against; only where `can_pack`."""
        ...


def check_kernel_values(values: Any) -> None:
    """Check that an object is a source of kernel values.

    Raises
    ------
    ValueError
        If it lacks a method of `KernelValues`.
    """
    methods = ("kernel", "n_samples", "write_rows", "block")
    if isinstance(values, type) or not all(hasattr(values, name) for name in methods):
        raise ValueError(
            f"values must be kernel values, such as a KernelMatrix, got {shown(values)} instead"
        )


class PackedSubset:
    """Some examples, packed one after another, to compute kernel values against.

    Parameters
    ----------
    packed : PackedKernel
        Without examples.
    own : callable
        ``own(members)`` gives features and squared norms of some examples.

    Attributes
    ----------
    members : ndarray of int64
        The examples packed so far, in that order.
    """

    def __init__(
        self, packed: PackedKernel, own: Callable[[np.ndarray], tuple[Any, np.ndarray]]
    ) -> None:
        self.members = np.empty(0, dtype=np.int64)
        self._packed = packed
        self._own = own

    def append(self, members: np.ndarray) -> None:
        """Add examples behind the others."""
        self._packed.append(*self._own(members))
        self.members = np.concatenate((self.members, members))

    def write(
        self, members: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None
    ) -> None:
        """Write the kernel values of some examples against a range of the subset.

        Parameters
        ----------
        members : ndarray of int
            Any examples, packed or not.
        out : ndarray of shape (n_members, last - first)
        first, last : int
            Positions in `members` of this subset, by default all.
        """
        self._packed.write(*self._own(members), out, first, last)


class KernelMatrix:
    """The kernel matrix of one data set.

    Whole rows come from examples that are packed when the first is asked for, on several threads.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int, default=None
        Rows of X that are the examples, in this order; None for all.
    threads : int, default=None
        Threads for whole rows; None for as many as OpenMP would use.
    row_dtype : {"float32", "float64"}, default=None
        Precision of the values handed out, and of the arithmetic where float32 does not round too
        much; None for that of X.
    work_dtype : {"float32", "float64"}, default=None
        Precision of the arithmetic where it is to be another, for kernels of inner products.

    Raises
    ------
    ValueError
        If the values overflow the dtype of X, or float64 rounds them too much; if a parameter is of
        another kind.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        threads: int | None = None,
        row_dtype: Any = None,
        work_dtype: Any = None,
    ) -> None:
        if isinstance(kernel, type) or not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernel object, got {shown(kernel)} instead")
        X = canonical_rows(X)
        if members is not None:
            members = as_indices("members", members, X.shape[0])
        threads = optional(as_integer, "threads", threads, least=1)
        self.kernel = kernel
        # A kernel that claims no more has no certificate that could be false.
        self._is_checked = is_foreign(kernel) and bool(kernel.positive_definite)
        if row_dtype is not None:
            row_dtype = as_choice("row_dtype", row_dtype, ("float32", "float64"))
        if work_dtype is not None:
            work_dtype = as_choice("work_dtype", work_dtype, ("float32", "float64"))
        self.points = KernelPoints(
            kernel, X, members, threads=threads, row_dtype=row_dtype, work_dtype=work_dtype
        )

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return self.points.n_points

    @property
    def dtype(self) -> np.dtype:
        """Type of the kernel values."""
        return self.points.dtype

    @property
    def diagonal(self) -> np.ndarray:
        """``k(x, x)`` of each example, float64 of shape (n_samples,)."""
        return self.points.diagonal

    @property
    def rounding(self) -> np.ndarray:
        """How far off values are: that of examples i and j by ``rounding[i] + rounding[j]``."""
        return self.points.rounding

    @property
    def exact(self) -> ExactProducts:
        """The same values in float64."""
        return self.points.exact

    @property
    def can_pack(self) -> bool:
        """Whether X is dense and the kernel is one of inner products.

        Then a block of whole rows takes no memory but its own.
        """
        return self.points.can_pack

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of X, on average."""
        return self.points.row_bytes

    def write_rows(
        self, members: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None
    ) -> int:
        """Write the kernel rows of some examples against a range of examples.

        Parameters
        ----------
        members : ndarray of int
        out : ndarray of shape (n_members, last - first)
        first, last : int
            The range, by default all examples.

        Returns
        -------
        int
            How many kernel values were computed.

        Raises
        ------
        ValueError
            If shapes do not fit together.
        """
        last = self.n_samples if last is None else last
        require_range("first and last", first, last, self.n_samples)
        require_shape("out", out, (members.size, last - first))
        self.points.write(self.points.own(members), out, first, last)
        self._check(members, slice(first, last), out)
        return int(members.size * (last - first))

    def block(self, left: Any, right: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values of the examples ``left`` against ``right`` (slices or indices)."""
        values = self.points.block(self.points.own(left), self.points.own(right), out)
        self._check(left, right, values)
        return values

    def _check(self, left: Any, right: Any, values: np.ndarray) -> None:
        """Check values of a user's own kernel between examples that are on both sides."""
        if not self._is_checked:
            return
        examples, column = np.arange(self.n_samples), np.full(self.n_samples, -1)
        column[right] = np.arange(values.shape[1])
        members = examples[left]
        some = np.flatnonzero(column[members] >= 0)[:COMPARED]
        members = members[some]
        check_symmetric(values[np.ix_(some, column[members])], self.diagonal[members])

    def pack_subset(self) -> PackedSubset:
        """An empty subset to compute values against; only where `can_pack`."""
        return PackedSubset(self.points.packed_kernel(), self.points.own)
