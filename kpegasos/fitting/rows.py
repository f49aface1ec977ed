"""The rows that a kernel estimator trains on, one source for each pair of classes.

Pairs share what they have in common: packed examples and the memory of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile
from threading import Lock
from typing import Any

import numpy as np

from kpegasos.fitting.pairs import Pair, Pairs
from kpegasos.fitting.settings import Settings
from kpegasos.kernels.base import Kernel, bounds_rounding
from kpegasos.kernels.exact import ExactProducts
from kpegasos.kernels.matrix import ClassSortedMatrix, KernelMatrix
from kpegasos.rows.base import RowSource
from kpegasos.rows.budget import budget_mb, gram_mb_needed
from kpegasos.rows.cached import BufferPool
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
        """Rows of a pair; as `KernelRows` says."""
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


class KernelRows:
    """Makes the rows of any pair from a kernel.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : Pairs
    settings : Settings
        ``cache_mb`` is what the kernel values of all pairs that are trained at once may take.

    Attributes
    ----------
    at_once : bool
        Whether the rows of all pairs are to be parts of one small kernel matrix, of `prepare`.
    is_quick : bool
        Whether that matrix takes no longer than the pairs one by one: of a kernel of our own.
    """

    def __init__(self, kernel: Kernel, X: Any, pairs: Pairs, settings: Settings) -> None:
        X, pairs = _without_unused(X, pairs)
        self._kernel, self._X, self._pairs, self._settings = kernel, X, pairs, settings
        self._cache: str = settings.own["cache"]
        self.is_quick, sizes = bounds_rounding(kernel), pairs.sizes
        small = int(sizes.max()) <= tuning.SMALL_PAIR
        row_dtype = settings.own["row_dtype"]
        if small and len(pairs) > 1 and row_dtype == "auto" and self.is_quick:
            row_dtype = "float64"  # margins of few examples in float32 would all be computed again
        self._dtype = dtype_of_rows(
            row_dtype,
            kernel,
            X,
            # Another fit may ask for another tol, and goes on from these values.
            None if settings.warm_start else settings.tol,
            _largest_cost(pairs),
            plain=settings.tol is None and not settings.warm_start,
        )
        # Of all examples, and of all pairs beside them; asked once, as rows of the first pair are
        # not free for the second.
        needed_mb = int(X.shape[0] ** 2 + (sizes**2).sum()) * X.dtype.itemsize / tuning.MEBIBYTE
        self._budget = budget_mb(settings.own["cache_mb"], needed_mb)
        if len(pairs) == 1:  # which is trained in compiled code where it is small
            most = tuning.SMALL_PAIR if settings.counts and self.is_quick else 0
        else:
            most = tuning.SMALL_PAIRS_GRAM if small else tuning.GRAM_SAMPLES
        wanted = self._cache in ("auto", "precomputed")
        self.at_once = wanted and X.shape[0] <= most and needed_mb <= self._budget
        self._pool, self._lock = BufferPool(), Lock()
        self._shared: KernelMatrix | None = None

    def prepare(self) -> GramParts:
        """Compute the matrix, of which the rows of all pairs are parts."""
        order, pairs = None, None
        if len(self._pairs) > 1:
            # A few thousand values a pair are copied sooner than they are computed.
            order = np.concatenate(_members_by_class(self._pairs))
            place = np.empty_like(order)
            place[order] = np.arange(order.size)
            pairs = self._pairs.renamed(place)
        values = KernelMatrix(self._kernel, self._X, order, row_dtype=self._dtype)
        source = GramRows.from_values(values)
        return GramParts(
            source.gram,
            pairs or self._pairs,
            self._settings.intercept_scaling,
            positive_definite=source.positive_definite,
            evaluations=source.evaluations,
            rounding=source.rounding,
            exact=source.exact,
        )

    def __call__(self, pair: Pair, n_at_once: int, brief: bool) -> RowSource:
        """Make the rows of a pair.

        Parameters
        ----------
        pair : Pair
        n_at_once : int
            So many pairs share the budget.
        brief : bool
            Whether a run will make few draws, and ask for fewer rows than would be computed ahead.
        """
        settings, pairs = self._settings, self._pairs
        with self._lock:
            if self._shared is None:
                kernel, X, dtype = self._kernel, self._X, self._dtype
                if len(pairs) == 1:
                    self._shared = KernelMatrix(kernel, X, row_dtype=dtype)
                else:
                    self._shared = share_classes(kernel, X, pairs, settings.n_jobs, dtype)
        values = self._shared
        if isinstance(values, ClassSortedMatrix):
            values = values.pair(*pair.classes)
        cache = "streamed" if brief and self._cache in ("auto", "precomputed") else self._cache
        if settings.polish and cache == "auto" and _keeps_fewer(values, self._budget / n_at_once):
            cache = "cached"
        return choose_source(
            values,
            cache=cache,
            cache_mb=self._budget,
            unasked=settings.own["cache_mb"] == "auto",
            shares=n_at_once,
            batch_size=settings.options.batch_size,
            intercept_scaling=settings.intercept_scaling,
            pool=self._pool,
        )


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


def _keeps_fewer(values: KernelMatrix, share_mb: float) -> bool:
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


def _members_by_class(pairs: Iterable[Pair]) -> list[np.ndarray]:
    """Members of each class: pairs (0, j) hold class 0 and class j, each grouped."""
    by_class = list(takewhile(lambda pair: pair.classes[0] == 0, pairs))
    first = int((by_class[0].problem.y > 0).sum())
    return [by_class[0].members[:first], *(pair.members[first:] for pair in by_class)]


def share_classes(
    kernel: Kernel,
    X: Any,
    pairs: Sequence[Pair] | Pairs,
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
