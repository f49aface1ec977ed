"""The rows that a kernel estimator trains on, one source for each pair of classes.

Pairs share what they have in common: packed examples and the memory of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._training import n_threads
from kpegasos.kernels.exact import ExactValues
from kpegasos.kernels.functions import Kernel
from kpegasos.kernels.matrix import KernelMatrix, KernelValues
from kpegasos.kernels.shared import ClassSortedMatrix
from kpegasos.rows.base import RowSource
from kpegasos.rows.budget import budget_mb
from kpegasos.rows.cache import BufferPool
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning
from kpegasos.utils.threads import available_threads


def rows_of_gram(
    gram: np.ndarray,
    intercept_scaling: float,
    *,
    positive_definite: bool = True,
    evaluations: int = 0,
    rounding: np.ndarray | float = 0.0,
    exact: ExactValues | None = None,
) -> Callable[[Pair, int, bool], RowSource]:
    """Make the rows of any pair from the kernel matrix of all examples.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    intercept_scaling : float
    positive_definite : bool, default=True
    evaluations : int, default=0
        Kernel values that were computed for the matrix; the first pair counts them.
    rounding, exact
        Of the matrix, as in `GramRows`.
    """
    errors = np.broadcast_to(rounding, gram.shape[:1])

    def make_rows(pair: Pair, n_at_once: int, brief: bool) -> RowSource:
        whole = pair.members.size == gram.shape[0]
        part = gram if whole else gram[np.ix_(pair.members, pair.members)]
        return GramRows(
            part,
            intercept_scaling=intercept_scaling,
            positive_definite=positive_definite,
            evaluations=evaluations if pair.number == 0 else 0,
            rounding=errors[pair.members],
            exact=None if exact is None else exact.subset(pair.members),
        )

    return make_rows


def rows_of_kernel(
    kernel: Kernel,
    X: Any,
    pairs: list[Pair],
    *,
    cache: str,
    cache_mb: float | str,
    batch_size: int,
    intercept_scaling: float,
    n_jobs: int | None,
) -> Callable[[Pair, int, bool], RowSource]:
    """Make the rows of any pair from a kernel.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : list of Pair
    cache : {"auto", "precomputed", "cached", "streamed"}
    cache_mb : float or "auto"
        MiB that kernel values may take, all pairs that are trained at once together.
    batch_size : int
    intercept_scaling : float
    n_jobs : int or None
        Threads that pairs are trained on.

    Returns
    -------
    make_rows : callable
        ``make_rows(pair, n_at_once, brief)``; so many pairs share the budget, and a
        brief run will make few draws.
    """
    # Examples of weight zero are as good as absent: they move no centre and are shown to no kernel.
    used = np.zeros(X.shape[0], dtype=bool)
    for pair in pairs:
        used[pair.members] = True
    if not used.all():
        place = np.cumsum(used) - 1
        X, pairs = X[used], [pair._replace(members=place[pair.members]) for pair in pairs]
    # Asked once, as rows of the first pair are not free for the second.
    budget = budget_mb(cache_mb, _values_at_once(X, pairs) * X.dtype.itemsize / tuning.MEBIBYTE)
    if len(pairs) > 1 and cache in ("auto", "precomputed") and _fits_at_once(X, pairs, budget):
        # A few thousand values a pair are copied sooner than they are computed.
        source = GramRows.from_values(KernelMatrix(kernel, X))
        parts = rows_of_gram(
            source.gram,
            intercept_scaling,
            positive_definite=kernel.positive_definite,
            evaluations=source.evaluations,
            rounding=source.rounding,
            exact=source.exact,
        )
        return lambda pair, n_at_once, brief: parts(pairs[pair.number], n_at_once, brief)
    pool = BufferPool()
    shared = share_classes(kernel, X, pairs, n_jobs) if len(pairs) > 1 else None

    def make_rows(pair: Pair, n_at_once: int, brief: bool) -> RowSource:
        values: KernelValues
        values = KernelMatrix(kernel, X) if shared is None else shared.pair(*pair.classes)
        # A run of a few draws asks for fewer rows than would be computed ahead for a whole one.
        wanted = "streamed" if brief and cache in ("auto", "precomputed") else cache
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

    return make_rows


def _fits_at_once(X: Any, pairs: list[Pair], cache_mb: float) -> bool:
    """Whether the kernel matrix of all examples is small, and fits beside those of all pairs."""
    small = X.shape[0] <= tuning.GRAM_SAMPLES
    return small and _values_at_once(X, pairs) * X.dtype.itemsize <= cache_mb * tuning.MEBIBYTE


def _values_at_once(X: Any, pairs: list[Pair]) -> int:
    """Kernel values of all examples, and of all pairs beside them."""
    return int(X.shape[0] ** 2 + sum(pair.members.size**2 for pair in pairs))


def share_classes(
    kernel: Kernel, X: Any, pairs: list[Pair], n_jobs: int | None = None
) -> ClassSortedMatrix:
    """One kernel matrix over all classes, whose packed examples the pairs share."""
    # Pairs (0, j) hold class 0 and class j, each grouped.
    by_class = [pair for pair in pairs if pair.classes[0] == 0]
    first = int((by_class[0].problem.y > 0).sum())
    members = [by_class[0].members[:first], *(pair.members[first:] for pair in by_class)]
    threads = max(1, available_threads() // n_threads(n_jobs, len(pairs)))
    return ClassSortedMatrix(kernel, X, members, threads=threads)
