"""Points that kernel values are computed against, for training and for prediction.

The numerics live here: points are centred where the kernel allows it, norms are computed once,
overflow is found before anything is fitted, and values that float32 would round too much are
computed in float64. Which values are wanted is decided by others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from kpegasos.kernels.base import (
    InnerProductKernel,
    Kernel,
    check_values,
    inner_products,
    uses_products,
)
from kpegasos.kernels.composable import bounds_rounding, parts_of
from kpegasos.kernels.exact import ExactValues
from kpegasos.kernels.gemm import roundings as gemm_roundings
from kpegasos.kernels.packed import PackedKernel
from kpegasos.utils import tuning
from kpegasos.utils.patience import Pace, heed
from kpegasos.utils.scan import largest_magnitude
from kpegasos.utils.validation import largest_value, too_large

#: Largest rounding error of a kernel value that is accepted.
MOST_ROUNDING = 1e-4
#: What the rounding of features to float32 counts in roundings of sums: ``2 eps ‖a‖ ‖b‖``.
_ROUNDINGS_OF_FEATURES = 4
#: Norms and kernel values of float64 rows between which float32 takes their place: its own range,
#: less room for sums, and for small rows among large ones.
_NARROWED = 1e-24, 1e30


def _squared_norms(rows: Any) -> np.ndarray:
    """``‖x‖²`` of each row, summed in float64, without a copy of the rows."""
    if sparse.issparse(rows) and rows.dtype == np.float32:
        squares = np.square(rows.data, dtype=np.float64)
        parts = squares, rows.indices, rows.indptr
        return np.asarray(sparse.csr_array(parts, shape=rows.shape, copy=False).sum(axis=1))
    if sparse.issparse(rows):
        return np.asarray(row_norms(rows, squared=True))
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def rounding_on_the_way_out(dtype: np.dtype, diagonal: np.ndarray) -> np.ndarray:
    """The part of `KernelPoints.rounding` that the dtype of the values handed out is to blame for.

    Parameters
    ----------
    dtype : dtype
    diagonal : ndarray of shape (n_points,)
    """
    return np.asarray(0.25 * float(np.finfo(dtype).eps) * np.abs(diagonal))


# long: one owner of the numerics, for training and for prediction
class KernelPoints:
    """A kernel and the points against which it is evaluated.

    Dense points of a kernel of inner products are packed when they are first needed; see
    `kpegasos.kernels.gemm`. Values then are the same bits however they are asked for.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int, default=None
        Rows of X that are the points, in this order; None for all.
    threads : int, default=None
        Threads for packed points; None for as many as OpenMP would use.
    diagonal : bool, default=True
        Whether `diagonal` is wanted; it is not for prediction.
    row_dtype : dtype, default=None
        float32 or float64: of the values handed out and, for kernels of inner products, of the
        arithmetic; None for that of X. float64 stays where float32 has not the range.
    work_dtype : dtype, default=None
        Of the arithmetic, if it is to be another for kernels of inner products.

    Attributes
    ----------
    dtype : dtype
        Of the values handed out.
    work_dtype : dtype
        Of the arithmetic: float64 where float32 would round too much.
    can_pack : bool
    squared_norms : ndarray of shape (n_points,)
        Of centred points; empty where the kernel does not use them.
    diagonal : ndarray of shape (n_points,), float64

    Raises
    ------
    ValueError
        If values overflow the dtype of X, or float64 rounds them too much.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        threads: int | None = None,
        diagonal: bool = True,
        row_dtype: Any = None,
        work_dtype: Any = None,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.members = members
        self.is_sparse = bool(sparse.issparse(X))
        self.can_pack = isinstance(kernel, InnerProductKernel) and not self.is_sparse
        self._threads = threads
        self._packed: PackedKernel | None = None
        self._lock = Lock()
        self._pace = Pace()
        self._choose_dtypes(np.dtype(row_dtype or X.dtype), work_dtype, diagonal)

    def _choose_dtypes(self, dtype: np.dtype, work_dtype: Any, diagonal: bool) -> None:
        """Find the dtypes of values and arithmetic, and prepare for them."""
        kernel, given = self.kernel, np.dtype(self.X.dtype)
        work = np.dtype(work_dtype or dtype)
        if not isinstance(kernel, InnerProductKernel):
            # Functions of a user's own are of the rows as they are given, differences no less.
            work = np.promote_types(work, given) if bounds_rounding(kernel) else given
        self._prepare(dtype, work, diagonal)
        if dtype == np.float32 and not self._has_range(given):
            dtype = np.dtype(np.float64)
            self._prepare(dtype, dtype if bounds_rounding(kernel) else given, diagonal)
        self._check_sizes()
        if isinstance(kernel, InnerProductKernel) and (
            self._rounding(kernel) > MOST_ROUNDING or not _fit(kernel, self)
        ):
            self._prepare(dtype, np.dtype(np.float64), diagonal)
            self._check_sizes()
            if self._rounding(kernel) > MOST_ROUNDING:
                radius = float(self.squared_norms.max()) ** 0.5
                middle = "the origin" if self._shift is None else "their centre"
                raise ValueError(
                    f"X and gamma must be small enough that float64 tells close points apart, got "
                    f"{kernel!r} and rows at distances up to {radius:.3g} from {middle}; "
                    f"scale the features or lower gamma"
                )

    def _has_range(self, given: np.dtype) -> bool:
        """Whether the largest norm and the largest value leave float32 room on either side.

        What is too large of float32 rows is refused, and not computed in float64.
        """
        sizes = [self._largest_norm] if self.squared_norms.size else []
        if bounds_rounding(self.kernel) and self._largest_norm < np.inf:
            sizes.append(self.kernel.value_bound(np.array([self._largest_norm])))
        elif self.diagonal.size:
            sizes.append(float(np.abs(self.diagonal).max()))
        least, most = _NARROWED
        if given == np.float32:  # where zero is no rounded number
            return all(size == 0.0 or not size < least for size in sizes)
        # Comparisons that are false for NaN.
        return all(least <= size <= most for size in sizes)

    def _rounding(self, kernel: InnerProductKernel) -> float:
        return kernel.rounding(self._spacing(), float(self.squared_norms.max(initial=0.0)))

    def _spacing(self) -> float:
        """Spacing at 1 of the numbers that the arithmetic uses."""
        largest = float(self.squared_norms.max(initial=0.0))
        limits = np.finfo(self.work_dtype)
        # Products below the smallest normal number lose digits that the spacing at 1 does not show.
        underflow = self.X.shape[1] * float(limits.tiny)
        return float(limits.eps) + (underflow / largest if largest > 0.0 else 0.0)

    @cached_property
    def rounding(self) -> np.ndarray:
        """How far off values are: that of points a and b by ``rounding[a] + rounding[b]``.

        float64 of shape (n_points,). Values of functions of a user's own are only rounded when
        they are handed out.
        """
        handed_out = rounding_on_the_way_out(self.dtype, self.diagonal)
        if not bounds_rounding(self.kernel):
            return handed_out if self.dtype == np.float32 else np.zeros(self.n_points)
        return self._bound(self._spacing(), self._roundings()) + handed_out

    @property
    def expected_rounding(self) -> np.ndarray:
        """Like `rounding`, the root of its mean square, before values are handed out.

        Independent roundings of half a spacing at the most: n of them come to ``sqrt(n / 12)``
        spacings (Higham & Mary 2019). For kernels that bound their rounding only.
        """
        return self._bound(self._spacing() / 12**0.5, math.isqrt(self._roundings()) + 1)

    def _bound(self, spacing: float, n_roundings: int) -> np.ndarray:
        kernel: Any = self.kernel
        norms = self.squared_norms if self.squared_norms.size else np.zeros(self.n_points)
        return np.asarray(kernel.value_rounding(spacing, norms, n_roundings))

    def _roundings(self) -> int:
        """How often sums are rounded: of products, and of norms unless they are of a wider type."""
        if self.is_sparse:
            terms = int(np.diff(self.X.indptr).max(initial=0))
        else:
            terms = int(self.X.shape[1])
        if self.work_dtype == np.float64:
            return 2 * terms
        # Features of float64 are rounded first, on either side of a product.
        features = _ROUNDINGS_OF_FEATURES if self.X.dtype == np.float64 else 0
        return features + (terms if self.is_sparse else gemm_roundings(terms))

    @cached_property
    def exact(self) -> ExactValues:
        """The same values in float64."""
        return ExactValues(self.kernel, self.X, self.members, threads=self._threads)

    def _prepare(self, dtype: np.dtype, work_dtype: np.dtype, diagonal: bool) -> None:
        """Find centre, norms and diagonal for the dtypes of values and arithmetic."""
        self.dtype, self.work_dtype = dtype, work_dtype
        self._shift = None
        if getattr(self.kernel, "translation_invariant", False) and not self.is_sparse:
            # ‖a‖² + ‖b‖² − 2<a, b> cancels less around the mean.
            with np.errstate(over="ignore", invalid="ignore"):
                self._shift = self.X.mean(axis=0, dtype=np.float64).astype(
                    np.promote_types(work_dtype, self.X.dtype)
                )
        diagonals, norms = [np.empty(0)], [np.empty(0)]
        with np.errstate(over="ignore", invalid="ignore"):
            for top in range(0, self.n_points, tuning.FEATURE_ROWS):
                heed()
                rows = self.features(slice(top, top + tuning.FEATURE_ROWS))
                if diagonal:
                    diagonals.append(self.kernel.diag(rows))
                if uses_products(self.kernel):
                    norms.append(_squared_norms(rows))
        self.diagonal = np.concatenate(diagonals)
        self._largest_norm = float(np.concatenate(norms).max(initial=0.0))
        with np.errstate(over="ignore"):
            self.squared_norms = np.concatenate(norms).astype(work_dtype)

    def _check_sizes(self) -> None:
        self._check_size(self.X, self.squared_norms)
        self._check_size(self.X, self.diagonal, largest_value(self.dtype))

    def _check_size(self, X: Any, values: np.ndarray, largest: float = np.finfo(float).max) -> None:
        # A comparison that is false for NaN.
        if not np.abs(values).max(initial=0.0) <= largest:
            what = f"{type(self.kernel).__name__} values"
            raise ValueError(too_large(what, self.dtype, largest_magnitude(X)))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.X.shape[0] if self.members is None else self.members.size)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of features, on average."""
        size = self.X.data.nbytes + self.X.indices.nbytes if self.is_sparse else self.X.nbytes
        return int(size // max(1, self.X.shape[0]))

    def features(self, which: Any) -> Any:
        """Features of some points (a slice or indices), ready for the kernel."""
        return self._ready(self.X[which] if self.members is None else self.X[self.members[which]])

    def _ready(self, rows: Any) -> Any:
        if self._shift is not None:
            # In the wider of both dtypes, so that only what is left of a float64 is rounded.
            rows = rows.astype(self._shift.dtype, copy=False) - self._shift
        return rows.astype(self.work_dtype, copy=False)

    def own(self, which: Any) -> tuple[Any, np.ndarray]:
        """Features and squared norms of some points (a slice or indices)."""
        norms = self.squared_norms
        return self.features(which), norms[which] if norms.size else norms

    def others(self, X: Any) -> tuple[Any, np.ndarray]:
        """Features and squared norms of other points, in the format and dtype of these.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_others, n_features)

        Raises
        ------
        ValueError
            If the squared norms overflow.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if self.is_sparse:
                rows = sparse.csr_matrix(X, dtype=self.X.dtype)
            else:
                dense = X.toarray() if sparse.issparse(X) else X
                rows = np.ascontiguousarray(dense, dtype=self.X.dtype)
            rows = self._ready(rows)
            norms = np.empty(0, self.work_dtype)
            if isinstance(self.kernel, InnerProductKernel):
                norms = _squared_norms(rows).astype(self.work_dtype, copy=False)
                self._check_size(X, norms)
        return rows, norms

    def write(
        self, left: tuple[Any, np.ndarray], out: np.ndarray, first: int = 0, last: int | None = None
    ) -> None:
        """Write the kernel values of some points, from `own` or `others`, against a range of these.

        Parameters
        ----------
        left : tuple of features and squared norms
        out : ndarray of shape (n_left, last - first)
        first, last : int
            The range, by default all points.
        """
        last = self.n_points if last is None else last
        if self.can_pack:
            self.packed().write(*left, out, first, last)
            return
        # Features are copied here, or by the kernel.
        for begin, end in _parts(first, last, self.row_bytes):
            part = None if (begin, end) != (first, last) else out
            values = self.block(left, self.own(slice(begin, end)), part)
            if part is None:
                out[:, begin - first : end - first] = values

    def block(
        self,
        left: tuple[Any, np.ndarray],
        right: tuple[Any, np.ndarray],
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Kernel values between any two sets, from `own` or `others`, that are not packed."""
        A, B = left[0], right[0]
        heed(A.shape[0] * B.shape[0])
        if not isinstance(self.kernel, InnerProductKernel):
            block = self.kernel.block
            values = self._pace.call(lambda A, B: check_values(block(A, B), A, B), A, B)
        else:
            direct = out is not None and out.dtype == self.work_dtype
            values = inner_products(A, B, out if direct else None)
            self.kernel.apply(values, left[1], right[1])
        if out is None:
            return values.astype(self.dtype, copy=False)
        if values is not out:
            out[...] = values
        return out

    def packed_kernel(self, capacity: int = 0) -> PackedKernel:
        """The kernel against points that are yet to be added; only where `can_pack`."""
        if not isinstance(self.kernel, InnerProductKernel) or self.is_sparse:
            raise TypeError(f"kernel {self.kernel!r} must be one of inner products, and X dense")
        return PackedKernel(
            self.kernel, self.X.shape[1], self.work_dtype, capacity=capacity, threads=self._threads
        )

    def packed(self) -> PackedKernel:
        """All points, packed when first asked for; only where `can_pack`."""
        with self._lock:
            if self._packed is None:
                packed = self.packed_kernel(self.n_points)
                packed.fill(self.n_points, self.own)
                self._packed = packed
        return self._packed


def _fit(kernel: InnerProductKernel, points: KernelPoints) -> bool:
    """Whether the arithmetic has all digits of a kernel's parameters, and the values of its parts.

    Infinity times zero is no kernel value, and denormal numbers have few digits.
    """
    limits, (_, *inside) = np.finfo(points.work_dtype), parts_of(kernel)
    names = ("gamma", "coef0", "factor")
    parameters = (getattr(part, name, None) for part in (kernel, *inside) for name in names)
    sizes = (abs(value) for value in parameters if isinstance(value, float) and value != 0.0)
    fit = all(float(limits.tiny) <= size <= float(limits.max) for size in sizes)
    bounds = (part.value_bound(points.squared_norms) for part in inside)
    return fit and all(bound <= float(limits.max) for bound in bounds)


def _parts(first: int, last: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """Cut a range where the features of its points, so many bytes each, are copied in one go."""
    height = max(1, tuning.GATHER_BYTES // max(1, row_bytes) if row_bytes else last - first)
    for begin in range(first, last, height):
        yield begin, min(last, begin + height)
