"""The rows that a kernel estimator trains on, one source for each pair of classes.

Pairs share what they have in common: packed examples, blocks of kernel values, the memory budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._training import n_threads
from kpegasos.kernels.functions import Kernel
from kpegasos.kernels.matrix import ClassBlocks, KernelMatrix, PairBlocks
from kpegasos.rows.base import GramRows
from kpegasos.rows.cached import BufferPool, cache_mb_needed
from kpegasos.rows.choose import choose_source
from kpegasos.solvers.pegasos import Rows
from kpegasos.utils.threads import available_threads


def rows_of_gram(gram: np.ndarray, intercept_scaling: float) -> Callable[[Pair, int], Rows]:
    """Make the rows of any pair from the kernel matrix of all examples."""

    def make_rows(pair: Pair, n_at_once: int) -> Rows:
        whole = pair.members.size == gram.shape[0]
        part = gram if whole else gram[np.ix_(pair.members, pair.members)]
        return GramRows(part, intercept_scaling=intercept_scaling)

    return make_rows


def rows_of_kernel(
    kernel: Kernel,
    X: Any,
    pairs: list[Pair],
    *,
    cache: str,
    cache_mb: float,
    batch_size: int,
    intercept_scaling: float,
    n_jobs: int | None,
) -> Callable[[Pair, int], Rows]:
    """Make the rows of any pair from a kernel.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : list of Pair
    cache : {"auto", "precomputed", "cached", "streamed"}
    cache_mb : float
        MiB that kernel values may take, all pairs that are trained at once together.
    batch_size : int
    intercept_scaling : float
    n_jobs : int or None
        Threads that pairs are trained on.

    Returns
    -------
    make_rows : callable
        ``make_rows(pair, n_at_once)``; so many pairs share the budget.
    """
    buffers = BufferPool()
    shared, shared_mb = None, 0.0
    if len(pairs) > 1:
        budget = cache_mb if cache in ("auto", "cached") else 0.0
        shared, shared_mb = share_classes(kernel, X, pairs, budget, n_jobs)

    def make_rows(pair: Pair, n_at_once: int) -> Rows:
        blocks: KernelMatrix
        if shared is not None:
            blocks = PairBlocks(shared, pair.classes)
        else:
            whole = pair.members.size == X.shape[0]
            blocks = KernelMatrix(kernel, X if whole else X[pair.members])
        return choose_source(
            blocks,
            cache=cache,
            cache_mb=cache_mb - shared_mb,
            shares=n_at_once,
            batch_size=batch_size,
            intercept_scaling=intercept_scaling,
            buffers=buffers,
        )

    return make_rows


def share_classes(
    kernel: Kernel, X: Any, pairs: list[Pair], cache_mb: float, n_jobs: int | None = None
) -> tuple[ClassBlocks, float]:
    """Let the pairs share packed examples, and the blocks of their classes if memory allows.

    It does if as much is left, and enough for each pair.

    Returns
    -------
    shared : ClassBlocks
    memory_mb : float
        MiB set apart for the blocks.
    """
    # Pairs (0, j) hold class 0 and class j, each grouped.
    by_class = [pair for pair in pairs if pair.classes[0] == 0]
    first = int((by_class[0].problem.y > 0).sum())
    members = [by_class[0].members[:first], *(pair.members[first:] for pair in by_class)]
    sizes = np.array([part.size for part in members])
    memory_mb = ClassBlocks.memory_mb(sizes, X.dtype)
    needed = [cache_mb_needed(pair.members.size, X.dtype, True) for pair in pairs]
    keep = cache_mb - memory_mb >= max(memory_mb, sum(needed))
    at_once = n_threads(n_jobs, len(pairs))
    threads = max(1, available_threads() // at_once)
    blocks = KernelMatrix(kernel, X, np.concatenate(members), threads=threads)
    return ClassBlocks(blocks, sizes, keep=keep), memory_mb if keep else 0.0
