"""Search all cells: folds, values of C and kernels, over shared kernel values.

Inner products are computed once for all kernels where they and the kernel matrix fit into memory;
else each kernel has rows of its own, which its folds and values of C share. Folds are weights over
the same rows, so margins of held-out examples come with the others. Scores are for others to make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from kpegasos.estimators.kernel import PegasosSVC
from kpegasos.fitting.pairs import dtype_of_rows, make_pairs, placed_within, share_classes
from kpegasos.kernels.base import Kernel, bounds_rounding
from kpegasos.kernels.matrix import KernelMatrix, SharedProducts
from kpegasos.kernels.pairwise import is_costly
from kpegasos.model_selection.cells import (
    ComputedPairs,
    GramPairs,
    PairRows,
    Task,
    binary_work,
    do_all,
    pairs_work,
    single_fits_work,
)
from kpegasos.model_selection.folds import Folds
from kpegasos.model_selection.results import KernelOutcome
from kpegasos.rows.base import RowSource
from kpegasos.rows.budget import ACCOUNT, budget_mb
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.threads import n_threads


def search_surface(
    X: Any,
    labels: np.ndarray,
    folds: Folds,
    kernels: Sequence[Kernel | None],
    Cs: np.ndarray,
    *,
    tol: float,
    intercept_scaling: float,
    cache_mb: float | str,
    row_dtype: str,
    stopper: Stopper,
    on_kernel: Callable[[KernelOutcome], None],
    seed: int,
    free_intercept: bool = False,
    on_cells: Callable[[float], None] = lambda n_cells: None,
) -> None:
    """Solve all cells.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The kernel matrix of all examples where the kernel is None.
    labels : ndarray of shape (n_samples,), int
        Class numbers 0 to n_classes - 1.
    folds : Folds
    kernels : sequence of Kernel or None
    Cs : ndarray of shape (n_Cs,)
        Increasing.
    tol : float
        Certified relative gap of each pair of classes.
    intercept_scaling : float
        0 for no intercept.
    cache_mb : float or "auto"
        MiB that kernel values may take, products included; less is taken where less is free.
    row_dtype : {"auto", "float32", "float64"}
    stopper : Stopper
    on_kernel : callable
        Called with each outcome when all of its cells are done or the stopper says so, one at a
        time, from any thread.
    seed : int
        Of fits of their own; all others draw nothing.
    free_intercept : bool, default=False
        Whether the intercept is not regularised. Then each cell has a fit of its own, as it has
        where the kernel is not positive semi-definite.
    on_cells : callable
        Called with how many cells have just been done, or what part of one, one at a time, from any
        thread.

    Raises
    ------
    ValueError
        If a kernel's values show that it is not positive semi-definite, or the budget has no room
        for a few rows.
    """
    given, asked = X, list(kernels)
    for number, kernel in enumerate(kernels):
        if kernel is not None:  # of one that is costly there is no other
            asked[number], X, _ = placed_within(kernel, X, cache_mb)
    held = _HeldValues(X, labels, folds, asked, Cs, tol, intercept_scaling, row_dtype)
    most = max(len(folds.tests), len(held.pairs)) * len(kernels)
    held.plan(cache_mb, min(most, n_threads()))
    task = Task(
        held.pairs,
        held.weights,
        held.tests,
        Cs,
        tol,
        held.whole,
        stopper,
        on_kernel,
        on_cells,
    )
    works = []
    for number, kernel in enumerate(asked):
        outcome = KernelOutcome.empty(number, folds, Cs.size, len(held.pairs))
        certified = kernel is None or kernel.positive_definite
        if free_intercept or not certified:
            model = PegasosSVC(
                kernel="precomputed" if kernel is None else kernels[number],
                fit_intercept="free" if free_intercept else intercept_scaling > 0,
                intercept_scaling=intercept_scaling or 1.0,
                polish=certified,
                tol=tol if certified else None,
                decision_function_shape="ovo",
                cache_mb=cache_mb,
                row_dtype=row_dtype,
                random_state=seed,
            )
            works.append(single_fits_work(task, outcome, model, given, labels, folds))
        elif len(held.pairs) == 1:
            works.append(binary_work(task, outcome, partial(held.rows, kernel)))
        else:
            works.append(pairs_work(task, outcome, partial(held.pair_rows, kernel)))
    do_all(works, n_threads=held.n_threads, n_open=held.n_open, stopper=stopper)


#: MiB without which nothing can be held.
_LEAST_MB = 1.0


class _HeldValues:
    """Kernel values of a search: which are held, and how kernels share what they can.

    Parameters are those of `search_surface`.

    Attributes
    ----------
    pairs : list of Pair
        Over the examples in the order of the rows, those of weight zero included.
    weights : ndarray of shape (n_folds, n_used)
    tests : list of ndarray of int
        Those of the folds, in the order of the rows.
    whole : bool
        Whether kernel matrices are held as wholes.
    n_open : int
        Kernels that are in work at the same time.
    n_threads : int
        As many as there is room for: what is held must not depend on how many are asked for.
    """

    def __init__(
        self,
        X: Any,
        labels: np.ndarray,
        folds: Folds,
        kernels: list[Kernel | None],
        Cs: np.ndarray,
        tol: float,
        intercept_scaling: float,
        row_dtype: str,
    ) -> None:
        used = np.asarray(folds.weights.any(axis=0))
        used[np.concatenate(folds.tests)] = True
        order, n_classes = np.flatnonzero(used), int(labels.max()) + 1
        if kernels[0] is None:
            if order.size < labels.size:  # else the matrix that is given is not copied
                X = X[np.ix_(order, order)]
        elif n_classes > 2:
            order = order[np.argsort(labels[order], kind="stable")]
        place = np.full(labels.size, -1, dtype=np.int64)
        place[order] = np.arange(order.size)
        self._X, self._order, self._kernels = X, order, kernels
        self._tol, self._scaling, self._row_dtype = tol, intercept_scaling, row_dtype
        self.weights = np.ascontiguousarray(folds.weights[:, order])
        self._largest_cost = float(Cs.max() * self.weights.max())
        self.tests = [place[test] for test in folds.tests]
        self.pairs = [*make_pairs(labels[order], n_classes, np.ones(order.size), 1.0, 1.0)]

    def plan(self, cache_mb: float | str, threads: int) -> None:
        """Decide what is held within a budget, by how many threads."""
        self.whole, self.n_open, self.n_threads, self._shares = True, 1, threads, False
        if self._kernels[0] is None:
            return
        certified = [each for each in self._kernels if each is not None and each.positive_definite]
        n_samples = self._order.size
        itemsize = max((self._matrix(kernel).dtype.itemsize for kernel in certified), default=8)
        whole_mb = n_samples**2 * itemsize / tuning.MEBIBYTE
        # Beside the matrix of all each thread holds the part of a pair, or of a hard cell.
        pairs = self.pairs
        parts = max(pair.members.size for pair in pairs) ** 2 if len(pairs) > 1 else 0
        parts = max(1, parts, min(tuning.ACTIVE_EXAMPLES**2, n_samples**2 // 5))
        part_mb = parts * itemsize / tuning.MEBIBYTE
        # A single kernel takes products for its certificates.
        can_share = any(SharedProducts.can_make(kernel) for kernel in certified)
        shared_mb = n_samples**2 * 8 / tuning.MEBIBYTE if can_share else 0.0
        n_open = max(1, min(threads, len(certified)))
        wanted_mb = shared_mb + n_open * whole_mb + threads * part_mb
        wanted_mb = min(wanted_mb, budget_mb(cache_mb, wanted_mb))
        self._grant = ACCOUNT.grant(wanted_mb, min(wanted_mb, _LEAST_MB))
        self._budget = self._grant.mb
        left = self._budget - whole_mb - part_mb
        is_small = left >= 0.0
        # Of a costly kernel no value is computed that nobody asks for.
        self.whole = is_small and not is_costly(self._kernels[0])
        if self.whole:
            self._shares = can_share and shared_mb <= left
            left -= shared_mb if self._shares else 0.0
            more = min(threads - 1, int(left / part_mb))
            self.n_threads, left = 1 + more, left - more * part_mb
            self.n_open = min(n_open, 1 + int(left / whole_mb))
        else:  # a fifth of the rows is for hard cells
            self.n_threads = 1
            self._budget /= 1.0 if is_small else 1.2
        self._products = SharedProducts(
            self._X, self._order, lambda values: GramRows.from_values(values).gram
        )

    def _dtype(self, kernel: Kernel) -> str | None:
        """Choose the precision of a kernel's rows."""
        dtype = dtype_of_rows(self._row_dtype, kernel, self._X, self._tol, self._largest_cost)
        if self._row_dtype == "auto" and bounds_rounding(kernel):
            dtype = dtype or "float64"  # whatever that of X is
        return dtype

    def _matrix(self, kernel: Kernel) -> KernelMatrix:
        # Every cell has to be certified, and in arithmetic of float32 few large C could be.
        return KernelMatrix(
            kernel, self._X, self._order, row_dtype=self._dtype(kernel), work_dtype="float64"
        )

    def _gram_rows(self, kernel: Kernel | None) -> GramRows:
        """Compute a whole kernel matrix."""
        if kernel is None:
            return GramRows(self._X, intercept_scaling=self._scaling)
        matrix = self._matrix(kernel)
        if not (self._shares and SharedProducts.can_make(kernel)):
            return GramRows.from_values(matrix, intercept_scaling=self._scaling)
        return GramRows(
            self._products.gram(matrix),
            intercept_scaling=self._scaling,
            positive_definite=kernel.positive_definite,
            evaluations=matrix.n_samples**2,
            rounding=matrix.rounding,
            exact=self._products.exact(matrix),
        )

    def rows(self, kernel: Kernel | None) -> RowSource:
        """Make the rows of all examples."""
        if self.whole or kernel is None:
            return self._gram_rows(kernel)
        matrix, scaling = self._matrix(kernel), self._scaling
        return choose_source(
            matrix, cache="cached", cache_mb=self._budget, intercept_scaling=scaling
        )

    def pair_rows(self, kernel: Kernel | None) -> PairRows:
        """Make the rows of all pairs of classes."""
        if self.whole or kernel is None:
            return GramPairs(self._gram_rows(kernel), self._scaling, self.tests)
        pairs = [pair._replace(members=self._order[pair.members]) for pair in self.pairs]
        shared = share_classes(kernel, self._X, pairs, self._dtype(kernel), "float64")
        return ComputedPairs(shared, self._budget, self._scaling, self.tests)
