"""The kernel matrix of one data set, computed part by part and never held here.

The numerics live here: points are centred where the kernel allows it, norms are computed once,
overflow is found before anything is fitted, and values that float32 would round too much are
computed in float64. Pairs of classes are parts of one matrix; all RBF kernels of some examples come
from the same inner products, and so do all polynomials. Which rows are computed, and which are
kept, is decided by `kpegasos.rows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from kpegasos.kernels.base import (
    COMPARED,
    InnerProductKernel,
    Kernel,
    bounds_rounding,
    check_symmetric,
    check_values,
    inner_products,
    is_foreign,
    pace_of,
    parts_of,
    uses_products,
)
from kpegasos.kernels.exact import ExactValues, HeldValues
from kpegasos.kernels.functions import Laplacian, city_block
from kpegasos.kernels.gemm import PackedKernel
from kpegasos.kernels.gemm import roundings as gemm_roundings
from kpegasos.kernels.integers import Grid, PackedIntegers, find_grid
from kpegasos.kernels.pairwise import heed_values, is_costly
from kpegasos.utils import tuning
from kpegasos.utils.boundary import as_indices, require_range, require_shape
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for
from kpegasos.utils.validation import (
    as_choice,
    canonical_rows,
    largest_magnitude,
    largest_value,
    shown,
    too_large,
)

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
    """Return the part of `KernelPoints.rounding` that comes of the dtype of the values.

    Parameters
    ----------
    dtype : dtype
    diagonal : ndarray of shape (n_samples,)
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
    is_costly : bool
        Whether kernel values cost more than whatever else a solver does.
    squared_norms : ndarray of shape (n_samples,)
        Of centred points; empty where the kernel does not use them.
    diagonal : ndarray of shape (n_samples,), float64

    Raises
    ------
    ValueError
        If values overflow the dtype of X, or float64 rounds them too much.
    """

    _grid: Grid | None = None
    _seeks_grid = False
    #: Support vectors lie at most twice as far from their centre as examples do from theirs.
    _most_rounding = 5 * MOST_ROUNDING

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        diagonal: bool = True,
        row_dtype: Any = None,
        work_dtype: Any = None,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.members = members
        self.n_samples = int(X.shape[0] if members is None else members.size)
        self.is_sparse = bool(sparse.issparse(X))
        self.can_pack = isinstance(kernel, InnerProductKernel) and not self.is_sparse
        self.is_costly = is_costly(kernel)
        self._packed: PackedKernel | None = None
        self._lock = Lock()
        self._pace = pace_of(kernel, X)
        self._choose_dtypes(np.dtype(row_dtype or X.dtype), work_dtype, diagonal)

    def _choose_dtypes(self, dtype: np.dtype, work_dtype: Any, diagonal: bool) -> None:
        """Find the dtypes of values and arithmetic, and prepare for them."""
        kernel, given = self.kernel, np.dtype(self.X.dtype)
        work = np.dtype(work_dtype or dtype)
        if not isinstance(kernel, InnerProductKernel):
            # Functions of a user's own are of the rows as they are given, differences no less.
            work = np.promote_types(work, given) if bounds_rounding(kernel) else given
        if work == np.float32 and self.can_pack and self._seeks_grid:
            self._grid = find_grid(self.X)
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
            if self._rounding(kernel) > self._most_rounding:
                radius = float(self.squared_norms.max()) ** 0.5
                middle = "the origin" if self._shift is None else "their centre"
                raise ValueError(
                    f"X and gamma must be small enough that float64 tells close points apart, got "
                    f"{kernel!r} and rows at distances up to {radius:.3g} from {middle}; "
                    f"scale the features or lower gamma"
                )

    def _has_range(self, given: np.dtype) -> bool:
        """Tell whether the largest norm and the largest value leave float32 room on either side.

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
        if self._grid is not None and kernel.translation_invariant:
            # These distances are exact; those of rows to be predicted are not.
            span = 255.0 * self._grid.scale
            return kernel.rounding(float(np.finfo(np.float64).eps), span * span * self.X.shape[1])
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
        """Bound how far off values are: that of points a and b by ``rounding[a] + rounding[b]``.

        float64 of shape (n_samples,). Values of functions of a user's own are only rounded when
        they are handed out.
        """
        handed_out = rounding_on_the_way_out(self.dtype, self.diagonal)
        if not bounds_rounding(self.kernel):
            return handed_out if self.dtype == np.float32 else np.zeros(self.n_samples)
        return self._bound(self._spacing(), self._roundings()) + handed_out

    @property
    def expected_rounding(self) -> np.ndarray:
        """Like `rounding`, the root of its mean square, before values are handed out.

        Independent roundings of half a spacing at the most: n of them come to ``sqrt(n / 12)``
        spacings (Higham & Mary 2019). For kernels that bound their rounding only.
        """
        return self._bound(self._spacing() / 12**0.5, math.isqrt(self._roundings()) + 1)

    def roundings_with(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Bound how far off values with other points are, as `rounding` does: these, then those.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_others, n_features)

        Returns
        -------
        own, others : ndarray of shape (n_samples,), (n_others,), float64
        """
        rows = self.others(X)[0]
        if not bounds_rounding(self.kernel):
            return np.zeros(self.n_samples), np.zeros(rows.shape[0])
        norms = np.zeros(self.n_samples + rows.shape[0])
        if self.squared_norms.size:
            norms = np.concatenate((self.squared_norms, _squared_norms(rows)))
        n_roundings = self._roundings()
        if self.is_sparse:
            n_roundings = max(n_roundings, 2 * int(np.diff(rows.indptr).max(initial=0)))
        bounds = np.asarray(self.kernel.value_rounding(self._spacing(), norms, n_roundings))
        return bounds[: self.n_samples], bounds[self.n_samples :]

    def _bound(self, spacing: float, n_roundings: int) -> np.ndarray:
        kernel: Any = self.kernel
        norms = self.squared_norms if self.squared_norms.size else np.zeros(self.n_samples)
        return np.asarray(kernel.value_rounding(spacing, norms, n_roundings))

    def _roundings(self) -> int:
        """Count how often sums of products are rounded, and those of norms of no wider type."""
        if self.is_sparse:
            terms = int(np.diff(self.X.indptr).max(initial=0))
        else:
            terms = int(self.X.shape[1])
        if self.work_dtype == np.float64:
            return 2 * terms
        if self._grid is not None:  # the sum is exact: it becomes a float, times a float
            as_given = self._grid.exact or self.X.dtype == np.float64
            return 3 + (0 if as_given else _ROUNDINGS_OF_FEATURES)
        # Features of float64 are rounded first, on either side of a product.
        features = _ROUNDINGS_OF_FEATURES if self.X.dtype == np.float64 else 0
        return features + (terms if self.is_sparse else gemm_roundings(terms))

    @cached_property
    def exact(self) -> ExactValues:
        """Make the same values in float64."""
        return ExactValues(self.kernel, self.X, self.members)

    def _prepare(self, dtype: np.dtype, work_dtype: np.dtype, diagonal: bool) -> None:
        """Find centre, norms and diagonal for the dtypes of values and arithmetic."""
        self.dtype, self.work_dtype = dtype, work_dtype
        self._shift = None
        if work_dtype != np.float32:
            self._grid = None
        is_centred = getattr(self.kernel, "translation_invariant", False) and not self.is_sparse
        if is_centred and self._grid is None:
            # ‖a‖² + ‖b‖² − 2<a, b> cancels less around the mean.
            with np.errstate(over="ignore", invalid="ignore"):
                self._shift = self.X.mean(axis=0, dtype=np.float64).astype(
                    np.promote_types(work_dtype, self.X.dtype)
                )
        diagonals, norms = [np.empty(0)], [np.empty(0)]
        with np.errstate(over="ignore", invalid="ignore"):
            for top in range(0, self.n_samples, tuning.FEATURE_ROWS):
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
        size = np.abs(values).max(initial=0.0)
        if not size <= largest:  # which is false for NaN
            if not bounds_rounding(self.kernel):  # it may have nothing to do with features
                raise ValueError(
                    f"kernel must return values of at most {largest:.3g}, got {size:.3g} instead"
                )
            what = f"{type(self.kernel).__name__} values"
            raise ValueError(too_large(what, self.dtype, largest_magnitude(X)))

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of features, on average."""
        size = self.X.data.nbytes + self.X.indices.nbytes if self.is_sparse else self.X.nbytes
        return int(size // max(1, self.X.shape[0]))

    def features(self, which: Any) -> Any:
        """Return features of some points (a slice or indices), ready for the kernel."""
        return self._ready(self.X[which] if self.members is None else self.X[self.members[which]])

    def _ready(self, rows: Any) -> Any:
        if self._shift is not None:
            # In the wider of both dtypes, so that only what is left of a float64 is rounded.
            rows = rows.astype(self._shift.dtype, copy=False) - self._shift
        return rows.astype(self.work_dtype, copy=False)

    def own(self, which: Any) -> tuple[Any, np.ndarray]:
        """Return features and squared norms of some points (a slice or indices)."""
        norms = self.squared_norms
        return self.features(which), norms[which] if norms.size else norms

    def others(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return features and squared norms of other points, in the format and dtype of these.

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
        last = self.n_samples if last is None else last
        if self.can_pack:
            self.packed().write(*left, out, first, last)
            return
        # Features are copied here, or by the kernel: no more of them than that in one go.
        height = max(1, tuning.GATHER_BYTES // self.row_bytes if self.row_bytes else last - first)
        for begin in range(first, last, height):
            end = min(last, begin + height)
            columns = out[:, begin - first : end - first]
            direct = (begin, end) == (first, last) and out.dtype == self.work_dtype
            values = self.between(left, self.own(slice(begin, end)), columns if direct else None)
            if values is not columns:
                columns[...] = values

    def between(
        self,
        left: tuple[Any, np.ndarray],
        right: tuple[Any, np.ndarray],
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return kernel values between any two sets, from `own` or `others`, that are not packed.

        Parameters
        ----------
        left, right : tuple of features and squared norms
        out : ndarray of shape (n_left, n_right), default=None
            Memory that inner products may be written to, of the dtype of the arithmetic.

        Returns
        -------
        ndarray of shape (n_left, n_right), in the dtype of the arithmetic or of the kernel
        """
        A, B = left[0], right[0]
        if self._grid is not None:
            packed, values = self.packed_kernel(), np.empty((A.shape[0], B.shape[0]), A.dtype)
            packed.append(*right)
            packed.write(*left, values)
            return values
        heed_values(self.kernel, A.shape[0] * B.shape[0])
        if isinstance(self.kernel, InnerProductKernel):
            values = inner_products(A, B, out)
            self.kernel.apply(values, left[1], right[1])
            return values
        return self._pace.call(self._function, A, B)

    def _function(self, A: Any, B: Any) -> np.ndarray:
        return check_values(self.kernel.block(A, B), A, B)

    def packed_kernel(self, capacity: int = 0) -> PackedKernel:
        """Return the kernel against points that are yet to be added; only where `can_pack`."""
        if not isinstance(self.kernel, InnerProductKernel) or self.is_sparse:
            raise TypeError(f"kernel {self.kernel!r} must be one of inner products, and X dense")
        size, matrix = self.X.shape[1], None
        if self._grid is not None:
            measures = self.kernel.translation_invariant
            matrix = PackedIntegers(size, self._grid, distances=measures, capacity=capacity)
        return PackedKernel(self.kernel, size, self.work_dtype, capacity=capacity, matrix=matrix)

    def packed(self) -> PackedKernel:
        """Return all points, packed when first asked for; only where `can_pack`."""
        with self._lock:
            if self._packed is None:
                packed = self.packed_kernel(self.n_samples)
                packed.fill(self.n_samples, self.own)
                self._packed = packed
        return self._packed


def _fit(kernel: InnerProductKernel, points: KernelPoints) -> bool:
    """Tell whether the arithmetic has all digits of a kernel's parameters and of its parts.

    Infinity times zero is no kernel value, and denormal numbers have few digits.
    """
    limits, (_, *inside) = np.finfo(points.work_dtype), parts_of(kernel)
    names = ("gamma", "coef0", "factor")
    parameters = (getattr(part, name, None) for part in (kernel, *inside) for name in names)
    sizes = (abs(value) for value in parameters if isinstance(value, float) and value != 0.0)
    fit = all(float(limits.tiny) <= size <= float(limits.max) for size in sizes)
    bounds = (part.value_bound(points.squared_norms) for part in inside)
    return fit and all(bound <= float(limits.max) for bound in bounds)


# --- the matrix of one data set -------------------------------------------------------------------


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


class KernelMatrix(KernelPoints):
    """The kernel matrix of one data set, computed part by part and never held.

    Whole rows come from examples that are packed when the first is asked for, on several threads.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int, default=None
        Rows of X that are the examples, in this order; None for all.
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

    _seeks_grid = True
    _most_rounding = MOST_ROUNDING

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        row_dtype: Any = None,
        work_dtype: Any = None,
    ) -> None:
        if isinstance(kernel, type) or not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernel object, got {shown(kernel)} instead")
        X = canonical_rows(X)
        if members is not None:
            members = as_indices("members", members, X.shape[0])
        dtypes = {"row_dtype": row_dtype, "work_dtype": work_dtype}
        for name, dtype in dtypes.items():
            if dtype is not None:
                dtypes[name] = as_choice(name, dtype, ("float32", "float64"))
        # A kernel that claims no more has no certificate that could be false.
        self._is_checked = is_foreign(kernel) and bool(kernel.positive_definite)
        super().__init__(kernel, X, members, **dtypes)
        self._whole: KernelMatrix | None = None
        self._ranges = [(0, self.n_samples)]

    def part(self, ranges: list[tuple[int, int]]) -> KernelMatrix:
        """Return the matrix of some ranges of these examples: those of the first come first.

        Nothing is computed again: it has the centre, the norms and the packed examples of this one.

        Parameters
        ----------
        ranges : list of (first, last)
            Of a matrix that is no part itself.
        """
        order = np.concatenate([np.arange(first, last) for first, last in ranges])
        part = copy(self)
        part._whole, part._ranges, part.n_samples = self, ranges, order.size
        part.members = order if self.members is None else self.members[order]
        part.diagonal = self.diagonal[order]
        part.squared_norms = (
            self.squared_norms[order] if self.squared_norms.size else self.squared_norms
        )
        part.rounding, part.exact = self.rounding[order], self.exact.subset(order)
        return part

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
        left, whole, place = self.own(members), self._whole or self, 0
        for start, stop in self._ranges:
            begin, end = max(first, place), min(last, place + stop - start)
            if begin < end:
                columns = out[:, begin - first : end - first]
                whole.write(left, columns, begin - place + start, end - place + start)
            place += stop - start
        self._check(members, slice(first, last), out)
        return int(members.size * (last - first))

    @property
    def spent(self) -> int:
        """Values that a costly kernel has computed for these points so far; 0 of any other."""
        return self.kernel.evaluations if self.is_costly else 0  # type: ignore[attr-defined]

    def rows_at_once(self, most: int) -> int:
        """Return how many kernel rows take a moment: ``most``; fewer or none of a slow kernel."""
        if isinstance(self.kernel, InnerProductKernel):
            return most
        if self.is_costly:
            return 0
        some = self.features(slice(0, 64))
        return self._pace.rows(self._function, some, most, self.n_samples)

    def block(self, left: Any, right: Any) -> np.ndarray:
        """Return kernel values of the examples ``left`` against ``right`` (slices or indices)."""
        values = self.between(self.own(left), self.own(right)).astype(self.dtype, copy=False)
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
        """Return an empty subset to compute values against; only where `can_pack`."""
        return PackedSubset(self.packed_kernel(), self.own)


class ClassSortedMatrix(KernelMatrix):
    """A kernel matrix whose examples are sorted by class, of which pairs of classes are parts.

    In one-vs-one every class belongs to several pairs. Its examples are centred, checked and packed
    once. Kernel values themselves are not shared.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : list of ndarray of int
        Rows of X that are the examples of each class, in this order.
    **options
        ``row_dtype`` and ``work_dtype``, as in `KernelMatrix`.
    """

    def __init__(self, kernel: Kernel, X: Any, members: list[np.ndarray], **options: Any) -> None:
        super().__init__(kernel, X, np.concatenate(members), **options)
        self._ends = np.concatenate(([0], np.cumsum([part.size for part in members]))).tolist()

    def pair(self, one: int, other: int) -> KernelMatrix:
        """Return the kernel matrix of two classes, given by their positions."""
        return self.part([(self._ends[k], self._ends[k + 1]) for k in (one, other)])


# --- kernels of one kind --------------------------------------------------------------------------


class _InnerProducts(InnerProductKernel):
    """``<a, b>`` as it is computed for other kernels, whatever its size and rounding."""

    positive_definite: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``<a, b>`` is the value."""

    def rounding(self, eps: float, largest_squared_norm: float) -> float:
        """None: that of the kernels is their own."""
        return 0.0

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """None: that of the kernels is their own."""
        return np.zeros(squared_norms.size)

    def diag(self, A: Any) -> np.ndarray:
        """Nothing that anybody asks for."""
        return np.zeros(A.shape[0])


class _CentredProducts(_InnerProducts):
    """Inner products of rows less their mean."""

    translation_invariant: ClassVar[bool] = True


class _Distances:
    """``‖a − b‖₁``, in float64."""

    positive_definite: ClassVar[bool] = False

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Distances of shape (n_a, n_b)."""
        return city_block(A, B)

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """None: that of the kernels is their own."""
        return np.zeros(squared_norms.size)

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Nothing that anybody asks for."""
        return 0.0

    def diag(self, A: Any) -> np.ndarray:
        """Zeros."""
        return np.zeros(A.shape[0])


def _base(kernel: Kernel) -> Kernel | None:
    """Return what values of this kind of kernel are made from, if they share it."""
    if isinstance(kernel, InnerProductKernel):
        return _CentredProducts() if kernel.translation_invariant else _InnerProducts()
    return _Distances() if type(kernel) is Laplacian else None


class SharedProducts:
    """Kernel matrices over the same examples, from products or distances that are held.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int
        Rows of X that are the examples, in this order.
    whole : callable
        ``whole(values)`` computes the matrix of a `KernelMatrix`.
    """

    def __init__(
        self, X: Any, members: np.ndarray, whole: Callable[[KernelMatrix], np.ndarray]
    ) -> None:
        self._X, self._members, self._whole = X, members, whole
        self._held: tuple[type, np.ndarray] | None = None
        self._lock = Lock()

    @staticmethod
    def can_make(kernel: Kernel) -> bool:
        """Tell whether a kernel's values are made from what others of its kind share."""
        return _base(kernel) is not None

    def gram(self, matrix: KernelMatrix) -> np.ndarray:
        """Return the whole matrix of a kernel over the examples, of shape (n_members, n_members).

        Parameters
        ----------
        matrix : KernelMatrix
            Of the same examples, with arithmetic in float64.
        """
        values = self.exact(matrix)
        gram = np.empty((values.n_samples, values.n_samples), matrix.dtype)

        def rows(first: int, last: int) -> None:
            for top in range(first, last, values.height):
                heed()
                part = slice(top, min(last, top + values.height))
                gram[part] = values.rows(np.arange(part.start, part.stop))

        threads = threads_for(tuning.MEMORY_WORK * gram.size)
        parallel_for(rows, even_ranges(len(gram), threads))
        return gram

    def exact(self, matrix: KernelMatrix) -> HeldValues:
        """Make the same values in float64, where none is asked for until it is needed."""
        base = _base(matrix.kernel)
        assert base is not None
        bounds = matrix.rounding - rounding_on_the_way_out(matrix.dtype, matrix.diagonal)
        norms = matrix.squared_norms
        return HeldValues(matrix.kernel, self._products(base), norms, np.maximum(bounds, 0.0))

    def _products(self, base: Kernel) -> np.ndarray:
        """Keep products of a kind, computed when first asked for, until another kind is."""
        with self._lock:
            if self._held is None or self._held[0] is not type(base):
                self._held = None  # its memory is wanted
                matrix = KernelMatrix(base, self._X, self._members, row_dtype="float64")
                self._held = type(base), self._whole(matrix)
            return self._held[1]
