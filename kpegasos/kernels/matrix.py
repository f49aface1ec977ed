"""Kernel values of some examples, computed part by part and never held here.

The numerics live here: points are centred where the kernel allows it, norms are computed once,
overflow is found before anything is fitted, and values that float32 would round too much are
computed in float64. The matrix of some examples, such as those of two classes, shares all of this
with the whole. Which rows are computed, and which are kept, is decided by `kpegasos.rows`;
sums over values in float64 are in `kpegasos.kernels.exact`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
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
    parts_of,
    uses_products,
)
from kpegasos.kernels.functions import Laplacian, city_block
from kpegasos.kernels.gemm import PackedKernel, PackedMatrix
from kpegasos.kernels.gemm import roundings as gemm_roundings
from kpegasos.kernels.integers import Grid, PackedIntegers, find_grid
from kpegasos.kernels.pairwise import PlacedKernel
from kpegasos.utils import tuning
from kpegasos.utils.boundary import as_indices, require_range, require_shape
from kpegasos.utils.patience import Pace, heed
from kpegasos.utils.threads import cached_property, even_ranges, lock_of, parallel_for, threads_for
from kpegasos.utils.validation import (
    as_choice,
    as_flag,
    canonical_rows,
    largest_magnitude,
    largest_value,
    shown,
    too_large,
)

#: Largest rounding error of a kernel value that is accepted.
MOST_ROUNDING = 1e-4
#: Largest rounding error of an average value, where single ones may be off by more.
_MOST_ON_AVERAGE = 1e-5
#: What the rounding of features to float32 counts in roundings of sums: ``2 eps ‖a‖ ‖b‖``.
_ROUNDINGS_OF_FEATURES = 4
#: Range of norms and kernel values of float64 rows for which float32 may be used: its own range,
#: less room for sums, and for small rows among large ones.
_NARROWED = 1e-24, 1e30
#: Rows whose norms in float64 are computed together.
_NORMS_TOGETHER = 512


def squared_norms_of(rows: Any) -> np.ndarray:
    """``‖x‖²`` of each row, summed in float64, without a copy of the rows."""
    if sparse.issparse(rows) and rows.dtype == np.float32:
        squares = np.square(rows.data, dtype=np.float64)
        parts = squares, rows.indices, rows.indptr
        return np.asarray(sparse.csr_array(parts, shape=rows.shape, copy=False).sum(axis=1))
    if sparse.issparse(rows):
        return np.asarray(row_norms(rows, squared=True))
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


class KernelMatrix:
    """Kernel values between some examples, and of other rows with them.

    Dense examples of a kernel of inner products are packed when they are first needed; see
    `kpegasos.kernels.gemm`. Values then are the same bits however they are asked for.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int, default=None
        Rows of X that are the examples, in this order; None for all.
    row_dtype : {"float32", "float64"}, default=None
        Precision of the values handed out, and of the arithmetic where float32 does not round too
        much; None for that of X. float64 stays where the range of float32 is too small.
    work_dtype : {"float32", "float64"}, default=None
        Precision of the arithmetic, if it is to differ, for kernels of inner products.
    predicts : bool, default=False
        Whether only values with other rows are wanted. A function of a user's own is then not
        called in advance, and `diagonal` is empty.

    Attributes
    ----------
    n_samples : int
    dtype : dtype
        Of the values handed out.
    work_dtype : dtype
        Of the arithmetic: float64 where float32 would round too much.
    can_pack : bool
        Whether examples can be packed: dense ones, for a kernel of inner products.
    is_costly : bool
        Whether kernel values cost more than all else a solver does.
    squared_norms : ndarray of shape (n_samples,)
        Of points, centred where they are; empty where the kernel does not use them.
    diagonal : ndarray of shape (n_samples,), float64
    products : ndarray of shape (n_samples, n_samples), float64, or None
        Values of `of_products`, if they are held for several kernels, whose values they make.

    Raises
    ------
    ValueError
        If values overflow the dtype of X, or float64 rounds them too much; if a parameter is of
        another kind.
    """

    products: np.ndarray | None = None
    _grid: Grid | None = None
    _shift: np.ndarray | None = None
    #: For a part of another matrix: the whole, and the places of these examples in it.
    _whole: KernelMatrix | None = None
    _places: np.ndarray | None = None

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        row_dtype: Any = None,
        work_dtype: Any = None,
        predicts: bool = False,
    ) -> None:
        # To check against a protocol takes long.
        if isinstance(kernel, type) or not isinstance(kernel, InnerProductKernel | Kernel):
            raise ValueError(f"kernel must be a kernel object, got {shown(kernel)} instead")
        self.kernel, self.X = kernel, canonical_rows(X)
        if members is not None:
            members = as_indices("members", members, self.X.shape[0])
        dtypes = {"row_dtype": row_dtype, "work_dtype": work_dtype}
        for name, dtype in dtypes.items():
            if dtype is not None:
                dtypes[name] = as_choice(name, dtype, ("float32", "float64"))
        self.members = members
        self.n_samples = int(self.X.shape[0] if members is None else members.size)
        self.is_sparse = bool(sparse.issparse(X))
        self._predicts = as_flag("predicts", predicts)
        self.can_pack = isinstance(kernel, InnerProductKernel) and not self.is_sparse
        self.is_costly = isinstance(kernel, PlacedKernel)
        # A kernel that is not claimed to be definite has no certificate that could be false.
        foreign = is_foreign(kernel)
        self._is_checked = foreign and bool(kernel.positive_definite)
        self._packed: PackedKernel | None = None
        # Built-in kernels have a nominal pace, so that parts of values, and with them last bits, do
        # not depend on a clock.
        n_entries = self.X.nnz / max(1, self.X.shape[0]) if self.is_sparse else self.X.shape[1]
        self.pace = Pace() if foreign else Pace(1e-8 + 1e-10 * n_entries)
        self._choose_dtypes(np.dtype(dtypes["row_dtype"] or self.X.dtype), dtypes["work_dtype"])

    # --- dtypes and rounding ---

    def _choose_dtypes(self, dtype: np.dtype, work_dtype: Any) -> None:
        """Find the dtypes of values and arithmetic, and prepare for them."""
        kernel, given = self.kernel, np.dtype(self.X.dtype)
        work = np.dtype(work_dtype or dtype)
        if not isinstance(kernel, InnerProductKernel):
            # A user's own function gets the rows as given; differences take no narrower dtype.
            work = np.promote_types(work, given) if bounds_rounding(kernel) else given
        if work == np.float32 and self.can_pack and not self._predicts:
            self._grid = find_grid(self.X)
        self._prepare(dtype, work)
        if dtype == np.float32 and not self._has_range(given):
            dtype = np.dtype(np.float64)
            self._prepare(dtype, dtype if bounds_rounding(kernel) else given)
        self._check_sizes()
        if not isinstance(kernel, InnerProductKernel):
            return
        if self.work_dtype == np.float32 and (self._is_rough(kernel) or not _fit(kernel, self)):
            self._prepare(dtype, np.dtype(np.float64))
            self._check_sizes()
        # Support vectors lie at most twice as far from their centre as examples do from theirs.
        most = (5.0 if self._predicts else 1.0) * MOST_ROUNDING
        if self.work_dtype == np.float64 and self._rounding(kernel) > most:
            radius = self._largest_norm**0.5
            middle = "the origin" if self._shift is None else "their centre"
            raise ValueError(
                f"X and gamma must be small enough that float64 tells close points apart, got "
                f"{kernel!r} and rows at distances up to {radius:.3g} from {middle}; "
                f"scale the features or lower gamma"
            )

    def _prepare(self, dtype: np.dtype, work_dtype: np.dtype) -> None:
        """Find centre, norms and diagonal for the dtypes of values and arithmetic."""
        self.dtype, self.work_dtype = dtype, work_dtype
        self._shift = None
        if work_dtype != np.float32:
            self._grid = None
        if self._grid is None and self.centre is not None:
            # ‖a‖² + ‖b‖² − 2<a, b> cancels less around the mean.
            self._shift = self.centre.astype(np.promote_types(work_dtype, self.X.dtype))
        diagonals, norms = [np.empty(0)], [np.empty(0)]
        with np.errstate(over="ignore", invalid="ignore"):
            for top in range(0, self.n_samples, tuning.FEATURE_ROWS):
                heed()
                rows = self.features(slice(top, top + tuning.FEATURE_ROWS))
                if not self._predicts:
                    diagonals.append(self.kernel.diag(rows))
                if uses_products(self.kernel):
                    norms.append(squared_norms_of(rows))
            self.diagonal, squared_norms = np.concatenate(diagonals), np.concatenate(norms)
            self._largest_norm = float(squared_norms.max(initial=0.0))
            self.squared_norms = squared_norms.astype(work_dtype)

    @property
    def is_centred(self) -> bool:
        """Whether the kernel sees rows less their mean: dense ones, if it only sees differences."""
        return not self.is_sparse and getattr(self.kernel, "translation_invariant", False)

    @cached_property
    def centre(self) -> np.ndarray | None:
        """Mean of the rows of X, if they are centred."""
        if not self.is_centred:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.X.mean(axis=0, dtype=np.float64))

    def _has_range(self, given: np.dtype) -> bool:
        """Check whether the largest norm and the largest value leave float32 room on either side.

        float32 rows that are too large are refused, and not computed in float64.
        """
        sizes = [self._largest_norm] if self.squared_norms.size else []
        if bounds_rounding(self.kernel) and self._largest_norm < np.inf:
            sizes.append(self.kernel.value_bound(np.array([self._largest_norm])))
        elif self.diagonal.size:
            sizes.append(float(np.abs(self.diagonal).max()))
        least, most = _NARROWED
        if given == np.float32:  # whose zeros are exact
            return all(size == 0.0 or not size < least for size in sizes)
        # Comparisons that are false for NaN.
        return all(least <= size <= most for size in sizes)

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

    def _is_rough(self, kernel: InnerProductKernel) -> bool:
        """Check whether values in float32 of close points are off by too much.

        In training, those of a few points far from all others may be, as certificates count the
        error of each point. In prediction there may be more such points.
        """
        is_rough = self._rounding(kernel) > MOST_ROUNDING
        if is_rough and not self._predicts:
            average = float(self.squared_norms.mean(dtype=np.float64))
            return kernel.rounding(self._spacing(), average) > _MOST_ON_AVERAGE
        return is_rough

    def _rounding(self, kernel: InnerProductKernel) -> float:
        if self._grid is not None and kernel.translation_invariant:
            # These distances are exact; those of rows to be predicted are not.
            span = 255.0 * self._grid.scale
            return kernel.rounding(float(np.finfo(np.float64).eps), span * span * self.X.shape[1])
        return kernel.rounding(self._spacing(), self._largest_norm)

    def _spacing(self) -> float:
        """Spacing at 1 of the numbers that the arithmetic uses."""
        largest, limits = self._largest_norm, np.finfo(self.work_dtype)
        # Products below the smallest normal number lose digits that the spacing at 1 does not show.
        underflow = self.X.shape[1] * float(limits.tiny)
        return float(limits.eps) + (underflow / largest if largest > 0.0 else 0.0)

    def _roundings(self) -> int:
        """Count the roundings of a sum of products, and of a norm unless its type is wider."""
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

    def _bound(self, spacing: float, n_roundings: int) -> np.ndarray:
        kernel: Any = self.kernel
        norms = self.squared_norms if self.squared_norms.size else np.zeros(self.n_samples)
        return np.asarray(kernel.value_rounding(spacing, norms, n_roundings))

    @cached_property
    def work_rounding(self) -> np.ndarray:
        """`rounding` of values before they are handed out; none of functions of a user's own."""
        if not bounds_rounding(self.kernel):
            return np.zeros(self.n_samples)
        return self._bound(self._spacing(), self._roundings())

    @cached_property
    def rounding(self) -> np.ndarray:
        """Bound how far off values are: that of points a and b by ``rounding[a] + rounding[b]``.

        float64 of shape (n_samples,).
        """
        if self.dtype == np.float64 and not bounds_rounding(self.kernel):
            return self.work_rounding
        eps = float(np.finfo(self.dtype).eps)
        return np.asarray(self.work_rounding + 0.25 * eps * np.abs(self.diagonal))

    @property
    def factor_rounding(self) -> np.ndarray:
        """Like `rounding`, relative to the value; for a Gaussian, which distances multiply.

        The exponent is a distance that is rounded twice more.
        """
        exponent = self._bound(self._spacing(), self._roundings() + 4)
        return np.asarray(exponent + self.rounding - self.work_rounding)

    @property
    def expected_rounding(self) -> np.ndarray:
        """Root mean square of the errors that `work_rounding` bounds.

        Independent roundings of half a spacing at the most: n of them come to ``sqrt(n / 12)``
        spacings (Higham & Mary 2019). For kernels that bound their rounding only.
        """
        return self._bound(self._spacing() / 12**0.5, math.isqrt(self._roundings()) + 1)

    def roundings_with(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Bound how far off values with other points are, as `rounding` does: own, then others.

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
            norms = np.concatenate((self.squared_norms, squared_norms_of(rows)))
        n_roundings = self._roundings()
        if self.is_sparse:
            n_roundings = max(n_roundings, 2 * int(np.diff(rows.indptr).max(initial=0)))
        bounds = np.asarray(self.kernel.value_rounding(self._spacing(), norms, n_roundings))
        return bounds[: self.n_samples], bounds[self.n_samples :]

    # --- points ---

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of features, on average."""
        size = self.X.data.nbytes + self.X.indices.nbytes if self.is_sparse else self.X.nbytes
        return int(size // max(1, self.X.shape[0]))

    def given(self, which: Any) -> Any:
        """Return rows of X of some examples (a slice or indices)."""
        return self.X[which] if self.members is None else self.X[self.members[which]]

    def features(self, which: Any) -> Any:
        """Return features of some examples (a slice or indices), ready for the kernel."""
        return self._ready(self.given(which))

    def _ready(self, rows: Any) -> Any:
        if self._shift is not None:
            # In the wider of both dtypes, so that only the difference is rounded.
            rows = rows.astype(self._shift.dtype, copy=False) - self._shift
        return rows.astype(self.work_dtype, copy=False)

    def own(self, which: Any) -> tuple[Any, np.ndarray]:
        """Return features and squared norms of some examples (a slice or indices)."""
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
                norms = squared_norms_of(rows).astype(self.work_dtype, copy=False)
                self._check_size(X, norms)
        return rows, norms

    def subset(self, places: np.ndarray) -> KernelMatrix:
        """Return the matrix of some of these examples, which shares all that is known of them.

        Parameters
        ----------
        places : ndarray of int
            Examples of this matrix. Rows are written fast where these are a few ranges.
        """
        part = copy(self)
        part._whole = self._whole or self
        part._packed = None  # the whole has them
        part._places = places if self._places is None else self._places[places]
        part.members = places if self.members is None else self.members[places]
        part.n_samples, part.diagonal = places.size, self.diagonal[places]
        if self.squared_norms.size:
            part.squared_norms = self.squared_norms[places]
        part.work_rounding, part.rounding = self.work_rounding[places], self.rounding[places]
        return part

    # --- values ---

    def write(
        self,
        left: tuple[Any, np.ndarray],
        out: np.ndarray,
        first: int = 0,
        last: int | None = None,
        places: Any = ...,
    ) -> None:
        """Write the kernel values of some points, from `own` or `others`, against a range of these.

        Parameters
        ----------
        left : tuple of features and squared norms
        out : ndarray of shape (n_left, last - first)
        first, last : int
            The range, by default all points.
        places : ndarray of int, default=...
            Rows of ``out`` to write to, of which there may be more than ``n_left`` then.
        """
        last = self.n_samples if last is None else last
        if self._places is not None and self._whole is not None:
            for begin, start, size in self._ranges(first, last):
                columns = out[:, begin - first : begin - first + size]
                self._whole.write(left, columns, start, start + size, places)
            return
        if self.can_pack:
            self.packed().write(*left, out, first, last, places)
            return
        # Features are copied here, or by the kernel: a limited number in one go.
        height = max(1, tuning.GATHER_BYTES // self.row_bytes if self.row_bytes else last - first)
        for begin in range(first, last, height):
            end = min(last, begin + height)
            columns = out[:, begin - first : end - first]
            direct = (begin, end) == (first, last) and out.dtype == self.work_dtype
            direct &= places is ...
            values = self.between(left, self.own(slice(begin, end)), columns if direct else None)
            if values is not columns:
                columns[places] = values

    def write_rows(
        self,
        members: np.ndarray,
        out: np.ndarray,
        first: int = 0,
        last: int | None = None,
        places: Any = ...,
    ) -> int:
        """Write the kernel rows of some examples against a range of examples.

        Parameters
        ----------
        members : ndarray of int
        out : ndarray of shape (n_members, last - first)
        first, last : int
            The range, by default all examples.
        places : ndarray of int, default=...
            See `write`.

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
        height = members.size if places is ... else out.shape[0]
        require_shape("out", out, (height, last - first))
        if self.products is None:
            self.write(self.own(members), out, first, last, places)
            if self._is_checked:
                self._check(members, slice(first, last), out[places])
        else:
            self._write_from_products(members, out, slice(first, last), places)
        return int(members.size * (last - first))

    @property
    def can_pass(self) -> bool:
        """Whether `pass_rows` has the values of `write_rows`, and none is to be checked."""
        known = self.can_pack and self.products is None and not self._is_checked
        return known and self.work_dtype == self.dtype

    def pass_rows(self, members: np.ndarray, use: Callable[[int, np.ndarray], None]) -> int:
        """Pass the kernel rows of some examples to ``use`` tile by tile, without storing them.

        Parameters
        ----------
        members : ndarray of int
        use : callable
            ``use(begin, tile)`` with values of shape (n_members, n_columns) against the examples
            from ``begin`` on; on several threads.

        Returns
        -------
        int
            How many kernel values were computed.
        """
        packed, left = (self._whole or self).packed(), self.own(members)
        for begin, start, size in self._ranges(0, self.n_samples):
            move = begin - start

            def here(first: int, tile: np.ndarray, move: int = move) -> None:
                use(first + move, tile)

            packed.each_tile(*left, here, start, start + size)
        return int(members.size * self.n_samples)

    def _ranges(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Cut a range of the examples into ranges of the whole: place here, place there, and size.

        Those of two classes of sorted examples are two.
        """
        if self._places is None:
            yield first, first, last - first
            return
        chosen = self._places[first:last]
        ends = (np.flatnonzero(np.diff(chosen) != 1) + 1).tolist()
        for begin, end in zip([0, *ends], [*ends, chosen.size], strict=True):
            if begin < end:
                yield first + begin, int(chosen[begin]), end - begin

    def block(
        self, left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return kernel values of some examples against some others, in memory that may be given.

        Parameters
        ----------
        left, right : ndarray of int
        out : ndarray of shape (n_left, n_right), default=None
            Used where the examples are packed.
        """
        if self.can_pack:
            values = np.empty((left.size, right.size), self.dtype) if out is None else out
            packed = self._pack(right.size, lambda part: self.own(right[part]))
            packed.write(*self.own(left), values)
            return values
        values = self.between(self.own(left), self.own(right)).astype(self.dtype, copy=False)
        if self._is_checked:
            self._check(left, right, values)
        return np.ascontiguousarray(values)

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
        self.heed(A.shape[0] * B.shape[0])
        if isinstance(self.kernel, InnerProductKernel):
            values = inner_products(A, B, out)
            self.kernel.apply(values, left[1], right[1])
            return values
        return self.pace.call(self._function, A, B)

    def heed(self, n_values: int) -> None:
        """`heed` before so many values are computed; a costly kernel counts its own."""
        heed(0 if self.is_costly else n_values)

    def _function(self, A: Any, B: Any) -> np.ndarray:
        return check_values(self.kernel.block(A, B), A, B)

    def _check(self, left: np.ndarray, right: Any, values: np.ndarray) -> None:
        """Check values of a user's own kernel between examples that are on both sides."""
        column = np.full(self.n_samples, -1)
        column[right] = np.arange(values.shape[1])
        some = np.flatnonzero(column[left] >= 0)[:COMPARED]
        members = left[some]
        check_symmetric(values[np.ix_(some, column[members])], self.diagonal[members])

    @property
    def spent(self) -> int:
        """Values that a costly kernel has computed for these points so far; 0 of any other."""
        return self.kernel.evaluations if self.is_costly else 0  # type: ignore[attr-defined]

    def rows_at_once(self, most: int) -> int:
        """Return how many kernel rows take a moment: ``most``; fewer or none if it is slow."""
        if isinstance(self.kernel, InnerProductKernel):
            return most
        if self.is_costly:
            return 0
        some = self.features(slice(0, 64))
        return self.pace.rows(self._function, some, most, self.n_samples)

    # --- packed examples ---

    def _pack(
        self, n_rows: int, own: Callable[[slice], tuple[np.ndarray, np.ndarray]]
    ) -> PackedKernel:
        """Return the kernel against some points; only where `can_pack`."""
        assert isinstance(self.kernel, InnerProductKernel)
        shape, matrix = (n_rows, int(self.X.shape[1])), None
        if self._grid is not None:
            measures = self.kernel.translation_invariant
            matrix = PackedIntegers(*shape, self._grid, distances=measures)
        return PackedKernel(self.kernel, matrix or PackedMatrix(*shape, self.work_dtype), own)

    def packed(self) -> PackedKernel:
        """Return all points, packed when first asked for; only where `can_pack`."""
        with lock_of(self):
            if self._packed is None:
                self._packed = self._pack(self.n_samples, self.own)
        return self._packed

    def unpack(self) -> None:
        """Give up the packed examples until they are needed again."""
        self._packed = None

    # --- in float64, for sums ---

    def exact_features(self, which: Any, *, centred: bool = True) -> Any:
        """Return features in float64; a function of a user's own sees rows as they are.

        Parameters
        ----------
        which : slice or ndarray of int
        centred : bool, default=True
            Whether they are centred, for products; for differences, that would round the terms.
        """
        rows = self.given(which)
        if not (isinstance(self.kernel, InnerProductKernel) or bounds_rounding(self.kernel)):
            return rows
        centre = (self._whole or self).centre if centred else None
        return rows.astype(np.float64) if centre is None else rows - centre

    def exact_norms(self, members: np.ndarray) -> np.ndarray:
        """``‖x‖²`` of `exact_features` of some examples; zeros where they are not used."""
        norms = np.zeros(members.size)
        for top in range(0, members.size if uses_products(self.kernel) else 0, _NORMS_TOGETHER):
            heed()
            part = slice(top, top + _NORMS_TOGETHER)
            norms[part] = row_norms(self.exact_features(members[part]), squared=True)
        return norms

    def of_products(self) -> KernelMatrix:
        """Return the matrix, in float64, of products or distances that this kernel maps."""
        base: Any = copy(self)
        base.kernel = _Distances() if type(self.kernel) is Laplacian else _InnerProducts()
        base.dtype, base._packed = np.dtype(np.float64), None
        matrix: KernelMatrix = base
        return matrix

    def from_products(self, members: np.ndarray, columns: slice) -> np.ndarray:
        """Return values of some examples with a range of them, from `products`, in float64."""
        assert self.products is not None
        if self._places is None:
            values = np.ascontiguousarray(self.products[members, columns])
        else:
            values = self.products[self._places[members][:, None], self._places[columns]]
        if isinstance(self.kernel, InnerProductKernel):
            self.kernel.apply(values, self.squared_norms[members], self.squared_norms[columns])
            return values
        with np.errstate(over="ignore"):
            values *= -self.kernel.gamma  # type: ignore[attr-defined]
        return np.asarray(np.exp(values, out=values))

    def _write_from_products(
        self, members: np.ndarray, out: np.ndarray, columns: slice, places: Any
    ) -> None:
        rows = np.arange(out.shape[0])[places]
        height = max(1, tuning.MAP_BYTES // (8 * max(1, out.shape[1])))

        def some(first: int, last: int) -> None:
            for top in range(first, last, height):
                heed()
                part = slice(top, min(last, top + height))
                out[rows[part]] = self.from_products(members[part], columns)

        work = tuning.MEMORY_WORK * members.size * out.shape[1]
        parallel_for(some, even_ranges(members.size, threads_for(work)))


def _fit(kernel: InnerProductKernel, values: KernelMatrix) -> bool:
    """Check whether the arithmetic has the range of a kernel's parameters and of its parts' values.

    Infinity times zero is no kernel value, and denormal numbers have few digits.
    """
    limits, (_, *inside) = np.finfo(values.work_dtype), parts_of(kernel)
    names = ("gamma", "coef0", "factor")
    parameters = (getattr(part, name, None) for part in (kernel, *inside) for name in names)
    sizes = (abs(value) for value in parameters if isinstance(value, float) and value != 0.0)
    fit = all(float(limits.tiny) <= size <= float(limits.max) for size in sizes)
    bounds = (part.value_bound(values.squared_norms) for part in inside)
    return fit and all(bound <= float(limits.max) for bound in bounds)


class _InnerProducts(InnerProductKernel):
    """``<a, b>``, whatever its size."""

    positive_definite: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``<a, b>`` is the value."""


class _Distances:
    """``‖a − b‖₁``."""

    positive_definite = False
    block = staticmethod(city_block)


def products_of(kernel: Any) -> str | None:
    """Return which products a kernel maps; kernels with the same answer can share them."""
    if isinstance(kernel, InnerProductKernel):
        return "centred" if kernel.translation_invariant else "inner"
    return "distances" if type(kernel) is Laplacian else None
