"""The rows that a kernel estimator trains on, one source for each pair of classes.

Pairs share what they have in common: packed examples and the memory of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from threading import Lock
from typing import Any

import numpy as np

from kpegasos.estimators._one_vs_one import Pair, Pairs
from kpegasos.kernels.composable import bounds_rounding
from kpegasos.kernels.exact import ExactProducts
from kpegasos.kernels.functions import Kernel
from kpegasos.kernels.matrix import KernelMatrix, KernelValues
from kpegasos.kernels.shared import ClassSortedMatrix
from kpegasos.rows.base import RowSource
from kpegasos.rows.budget import budget_mb, gram_mb_needed
from kpegasos.rows.cache import BufferPool
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning
from kpegasos.utils.threads import available_threads, n_threads

#: Smallest ``tol`` that kernel rows of float32 are kept for, and largest C.
_SMALLEST_TOL, _LARGEST_COST = 1e-5, 1e3
#: Up to so many members, taking values one by one is faster than looking for blocks.
_FEW_MEMBERS = 100


class GramParts:
    """Makes the rows of any pair from the kernel matrix of all examples.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    pairs : Pairs or None
        Pairs whose examples are numbered as in the matrix, if those that come are not.
    intercept_scaling : float
    positive_definite : bool, default=True
    evaluations : int, default=0
        Kernel values that were computed for the matrix; the first pair counts them.
    rounding, exact
        Of the matrix, as in `GramRows`.
    """

    def __init__(
        self,
        gram: np.ndarray,
        pairs: Pairs | None,
        intercept_scaling: float,
        *,
        positive_definite: bool = True,
        evaluations: int = 0,
        rounding: np.ndarray | float = 0.0,
        exact: ExactProducts | None = None,
    ) -> None:
        self.gram, self.pairs = gram, pairs
        self.intercept_scaling, self.positive_definite = intercept_scaling, positive_definite
        self.evaluations, self.exact = evaluations, exact
        self.rounding = np.broadcast_to(rounding, gram.shape[:1])
        self._pool = BufferPool()

    def __call__(self, pair: Pair, n_at_once: int, brief: bool) -> GramRows:
        """Rows of a pair; as `rows_of_kernel` says."""
        gram, exact = self.gram, self.exact
        members = pair.members if self.pairs is None else self.pairs[pair.number].members
        whole = members.size == gram.shape[0]
        memory = None if whole else self._pool.acquire(members.size**2, gram.dtype)
        return _PairRows(
            gram if memory is None else _values_of(gram, members, memory),
            intercept_scaling=self.intercept_scaling,
            positive_definite=self.positive_definite,
            evaluations=self.evaluations if pair.number == 0 else 0,
            rounding=self.rounding if whole else self.rounding[members],
            exact=exact if whole or exact is None else exact.subset(members),
            give_back=None if memory is None else partial(self._pool.release, memory),
        )


class _PairRows(GramRows, unchanging=True):
    """Rows of a kernel matrix whose memory is used again.

    Fresh pages cost more than the values that are copied into them: for the 45 pairs of ten classes
    of 180 examples 46 ms, where the copies take 5.
    """

    def __init__(
        self, gram: np.ndarray, *, give_back: Callable[[], None] | None, **options: Any
    ) -> None:
        super().__init__(gram, **options)
        self._give_back = give_back

    def close(self) -> None:
        """Give the memory back."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()


def _values_of(gram: np.ndarray, members: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """The kernel values between some examples, in the memory given."""
    size = members.size
    out = memory[: size * size].reshape(size, size)
    if size <= _FEW_MEMBERS or (ends := np.flatnonzero(np.diff(members) != 1) + 1).size > 1:
        np.take(gram[members], members, axis=1, out=out, mode="clip")
        return out
    # Two classes of examples that are sorted by class: four blocks.
    parts = [slice(0, size)] if ends.size == 0 else [slice(0, ends[0]), slice(ends[0], size)]
    ranges = [slice(members[part.start], members[part.stop - 1] + 1) for part in parts]
    for rows, of_rows in zip(parts, ranges, strict=True):
        for columns, of_columns in zip(parts, ranges, strict=True):
            out[rows, columns] = gram[of_rows, of_columns]
    return out


def rows_of_kernel(
    kernel: Kernel,
    X: Any,
    pairs: Pairs,
    *,
    cache: str,
    cache_mb: float | str,
    batch_size: int,
    intercept_scaling: float,
    n_jobs: int | None,
    polish: bool = False,
    row_dtype: str = "auto",
    tol: float | None = None,
    plain: bool = False,
) -> Callable[[Pair, int, bool], RowSource]:
    """Make the rows of any pair from a kernel.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : Pairs
    cache : {"auto", "precomputed", "cached", "streamed"}
    cache_mb : float or "auto"
        MiB that kernel values may take, all pairs that are trained at once together.
    batch_size : int
    intercept_scaling : float
    n_jobs : int or None
        Threads that pairs are trained on.
    polish : bool, default=False
        Whether dual ascent will take over soon.
    row_dtype : {"auto", "float32", "float64"}, default="auto"
        See `dtype_of_rows`.
    tol : float, default=None
    plain : bool, default=False
        Whether no gap is asked for, here or by a fit that goes on from this one.

    Returns
    -------
    make_rows : callable
        ``make_rows(pair, n_at_once, brief)``; so many pairs share the budget, and a
        brief run will make few draws.
    """
    X, pairs = _without_unused(X, pairs)
    small = len(pairs) > 1 and int(pairs.sizes.max()) <= tuning.SMALL_PAIR
    if small and row_dtype == "auto" and bounds_rounding(kernel):
        row_dtype = "float64"  # margins of few examples in float32 would all be computed again
    dtype = dtype_of_rows(row_dtype, kernel, X, tol, _largest_cost(pairs), plain=plain)
    # Asked once, as rows of the first pair are not free for the second.
    budget = budget_mb(cache_mb, _values_at_once(X, pairs) * X.dtype.itemsize / tuning.MEBIBYTE)
    pool, lock = BufferPool(), Lock()
    single: KernelMatrix | None = None
    shared: ClassSortedMatrix | None = None

    def make_rows(pair: Pair, n_at_once: int, brief: bool) -> RowSource:
        nonlocal single, shared
        values: KernelValues
        if len(pairs) == 1:
            values = single = single or KernelMatrix(kernel, X, row_dtype=dtype)
        else:
            with lock:
                shared = shared or share_classes(kernel, X, pairs, n_jobs, dtype)
            values = shared.pair(*pair.classes)
        # A run of a few draws asks for fewer rows than would be computed ahead for a whole one.
        wanted = "streamed" if brief and cache in ("auto", "precomputed") else cache
        if polish and wanted == "auto" and _keeps_fewer(values, budget / n_at_once):
            wanted = "cached"
        return choose_source(
            values,
            cache=wanted,
            cache_mb=budget,
            unasked=cache_mb == "auto",
            shares=n_at_once,
            batch_size=batch_size,
            intercept_scaling=intercept_scaling,
            pool=pool,
        )

    if cache in ("auto", "precomputed") and _fits_at_once(X, pairs, budget, small):
        # A few thousand values a pair are copied sooner than they are computed.
        return WholeMatrix(kernel, X, pairs, dtype, intercept_scaling, make_rows)
    return make_rows


class WholeMatrix:
    """Makes the rows of pairs of a kernel matrix that is not waited for; `prepare` computes it.

    Parameters
    ----------
    kernel, X, pairs
        Of `rows_of_kernel`.
    dtype : str or None
        Of the rows.
    intercept_scaling : float
    otherwise : callable
        Makes the rows of pairs that do not wait for it.

    Attributes
    ----------
    is_quick : bool
        Whether the matrix takes no longer than the pairs one by one: of a kernel of our own.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        pairs: Pairs,
        dtype: str | None,
        intercept_scaling: float,
        otherwise: Callable[[Pair, int, bool], RowSource],
    ) -> None:
        self._order, self._pairs = _sorted_by_class(pairs)
        self._values = kernel, X, dtype
        self.is_quick = bounds_rounding(kernel)
        self._scaling, self._otherwise = intercept_scaling, otherwise

    def prepare(self) -> GramParts:
        """Compute the matrix, of which the rows of all pairs are parts."""
        kernel, X, dtype = self._values
        source = GramRows.from_values(KernelMatrix(kernel, X, self._order, row_dtype=dtype))
        return GramParts(
            source.gram,
            self._pairs,
            self._scaling,
            positive_definite=source.positive_definite,
            evaluations=source.evaluations,
            rounding=source.rounding,
            exact=source.exact,
        )

    def __call__(self, pair: Pair, n_at_once: int, brief: bool) -> RowSource:
        """The rows of a pair."""
        return self._otherwise(pair, n_at_once, brief)


def _largest_cost(pairs: Pairs) -> float:
    """The largest C of an example."""
    if not pairs.weight.size:
        return 0.0
    largest = np.maximum.reduceat(pairs.weight, pairs.ends[:-1])
    return float((largest / (pairs.lam * pairs.sizes)).max())


def _without_unused(X: Any, pairs: Pairs) -> tuple[Any, Pairs]:
    """Rows of X that belong to a pair, and the pairs with their new places.

    Examples of weight zero are as good as absent: they move no centre and are shown to no kernel.
    """
    used = np.zeros(X.shape[0], dtype=bool)
    used[pairs.members] = True
    if used.all():
        return X, pairs
    return X[used], pairs.renamed(np.cumsum(used) - 1)


def _keeps_fewer(values: KernelValues, share_mb: float) -> bool:
    """Whether a matrix would be computed as a whole of which dual ascent needs some rows."""
    few = tuning.POLISHED_GRAM_SAMPLES < values.n_samples <= tuning.GRAM_SAMPLES
    return few and gram_mb_needed(values) <= share_mb


def dtype_of_rows(
    row_dtype: str,
    kernel: Kernel,
    X: Any,
    tol: float | None = None,
    largest_cost: float = 1.0,
    *,
    plain: bool = False,
) -> str | None:
    """Precision of kernel rows, by the data and the parameters alone.

    ``"auto"`` is float32 for more than ``FLOAT32_SAMPLES`` examples, as LIBSVM keeps them, and for
    more than ``PLAIN_FLOAT32_SAMPLES`` examples where neither ``tol`` nor ``polish`` nor
    ``warm_start`` asks for a gap. The kernel has to say what rounding does to its values, and
    neither ``tol`` nor the largest C of an example may ask for more digits: margins are sums of
    that many times a kernel value.

    Returns
    -------
    "float32", "float64" or None, for the dtype of X
    """
    if row_dtype != "auto":
        return row_dtype
    many = X.shape[0] > (tuning.PLAIN_FLOAT32_SAMPLES if plain else tuning.FLOAT32_SAMPLES)
    accurate = largest_cost > _LARGEST_COST or (tol is not None and tol < _SMALLEST_TOL)
    narrow = many and not accurate and bounds_rounding(kernel)
    return "float32" if narrow else None


def _fits_at_once(X: Any, pairs: Pairs, cache_mb: float, small: bool) -> bool:
    """Whether the kernel matrix of several pairs is small, and fits beside those of all pairs."""
    most = tuning.SMALL_PAIRS_GRAM if small else tuning.GRAM_SAMPLES
    size = _values_at_once(X, pairs) * X.dtype.itemsize
    return len(pairs) > 1 and X.shape[0] <= most and size <= cache_mb * tuning.MEBIBYTE


def _values_at_once(X: Any, pairs: Pairs) -> int:
    """Kernel values of all examples, and of all pairs beside them."""
    return int(X.shape[0] ** 2 + (pairs.sizes**2).sum())


def _sorted_by_class(pairs: Pairs) -> tuple[np.ndarray, Pairs]:
    """The examples in the order of their classes, and the pairs with their new places."""
    order = np.concatenate(_members_by_class(pairs))
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return order, pairs.renamed(place)


def _members_by_class(pairs: Sequence[Pair]) -> list[np.ndarray]:
    """Members of each class: pairs (0, j) hold class 0 and class j, each grouped."""
    by_class = list(takewhile(lambda pair: pair.classes[0] == 0, pairs))
    first = int((by_class[0].problem.y > 0).sum())
    return [by_class[0].members[:first], *(pair.members[first:] for pair in by_class)]


def share_classes(
    kernel: Kernel,
    X: Any,
    pairs: Sequence[Pair],
    n_jobs: int | None = None,
    row_dtype: str | None = None,
    work_dtype: str | None = None,
) -> ClassSortedMatrix:
    """One kernel matrix over all classes, whose packed examples the pairs share."""
    threads = max(1, available_threads() // n_threads(n_jobs, len(pairs)))
    members = _members_by_class(pairs)
    return ClassSortedMatrix(
        kernel, X, members, threads=threads, row_dtype=row_dtype, work_dtype=work_dtype
    )
