"""All cells of a search: folds, values of C and kernels, over shared kernel values.

Inner products are computed once for all kernels where they and the kernel matrix fit into memory;
else each kernel has rows of its own, which its folds and values of C share. Folds are weights over
the same rows, so margins of held-out examples come with the others. Scores are for others to make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, TypeGuard

import numpy as np

from kpegasos.estimators._kernel_rows import dtype_of_rows, share_classes
from kpegasos.estimators._one_vs_one import Pair, make_pairs
from kpegasos.estimators.kernel import PegasosSVC
from kpegasos.kernels.base import Kernel
from kpegasos.kernels.composable import bounds_rounding
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.kernels.products import SharedProducts
from kpegasos.model_selection._cellwise import CellwiseWork
from kpegasos.model_selection._pair_rows import ComputedPairs, GramPairs
from kpegasos.model_selection._schedule import Work, do_all
from kpegasos.model_selection._works import BinaryWork, PairsWork, Task
from kpegasos.model_selection.outcome import Folds, KernelOutcome
from kpegasos.rows.base import RowSource
from kpegasos.rows.budget import ACCOUNT, budget_mb
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.threads import available_threads, n_threads

__all__ = ["Folds", "KernelOutcome", "search_surface"]


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
    n_jobs: int | None,
    stopper: Stopper,
    on_kernel: Callable[[KernelOutcome], None],
    on_cells: Callable[[float], None] = lambda n_cells: None,
    known: dict[int, KernelOutcome] | None = None,
    seed: int = 0,
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
    n_jobs : int or None
        Threads; None for as many as there are.
    stopper : Stopper
    on_kernel : callable
        Called with each outcome when all of its cells are done or the stopper says so, one at a
        time, from any thread.
    on_cells : callable
        Called with how many cells have just been done, or what part of one, one at a time, from any
        thread.
    known : dict of int to KernelOutcome, default=None
        Outcomes to go on from, which are modified.
    seed : int, default=0
        Of the fits of kernels that are not positive semi-definite; all others draw nothing.

    Raises
    ------
    ValueError
        If a kernel's values show that it is not positive semi-definite, or the budget has no room
        for a few rows.
    """
    Search(X, labels, folds, kernels, Cs, tol, intercept_scaling, row_dtype, cache_mb).run(
        n_jobs, stopper, on_kernel, on_cells, known or {}, seed
    )


#: MiB without which nothing can be held.
_LEAST_MB = 1.0


def _is_certified(kernel: Kernel | None) -> TypeGuard[Kernel]:
    """Whether a kernel is computed here, and its cells are to be certified."""
    return kernel is not None and bool(kernel.positive_definite)


class Search:
    """What `search_surface` is given, and how its kernels share what they can.

    Parameters are those of `search_surface`.
    """

    def __init__(
        self,
        X: Any,
        labels: np.ndarray,
        folds: Folds,
        kernels: Sequence[Kernel | None],
        Cs: np.ndarray,
        tol: float,
        intercept_scaling: float,
        row_dtype: str,
        cache_mb: float | str,
    ) -> None:
        self.X, self.labels, self.folds = X, labels, folds
        self.kernels, self.Cs, self.tol = kernels, Cs, tol
        self.intercept_scaling, self.row_dtype = intercept_scaling, row_dtype
        self.cache_mb = cache_mb
        n_samples = labels.size
        used = np.asarray(folds.weights.any(axis=0))
        for test in folds.tests:
            used[test] = True
        self.n_classes = int(labels.max()) + 1
        self.order = np.flatnonzero(used)
        if kernels[0] is None:
            if self.order.size < n_samples:  # else the matrix that is given is not copied
                self.X = X[np.ix_(self.order, self.order)]
        elif self.n_classes > 2:
            self.order = self.order[np.argsort(labels[self.order], kind="stable")]
        self.place = np.full(n_samples, -1, dtype=np.int64)
        self.place[self.order] = np.arange(self.order.size)
        self.weights = np.ascontiguousarray(folds.weights[:, self.order])
        self.pairs = self._make_pairs()

    def _make_pairs(self) -> list[Pair]:
        """Pairs of classes over the examples in their order, those of weight zero included."""
        labels = self.labels[self.order]
        return list(make_pairs(labels, self.n_classes, np.ones(labels.size), 1.0, 1.0))

    def run(
        self,
        n_jobs: int | None,
        stopper: Stopper,
        on_kernel: Callable[[KernelOutcome], None],
        on_cells: Callable[[float], None],
        known: dict[int, KernelOutcome],
        seed: int,
    ) -> None:
        """Solve all cells; parameters are those of `search_surface`."""
        most = max(len(self.folds.tests), len(self.pairs)) * len(self.kernels)
        threads = n_threads(available_threads() if n_jobs is None else n_jobs, most)
        plan = _Plan(self, threads)
        task = Task(
            self.pairs,
            self.weights,
            [self.place[test] for test in self.folds.tests],
            self.Cs,
            self.tol,
            plan.whole,
            stopper,
            on_kernel,
            on_cells,
            Lock(),
        )
        works = []
        for number, kernel in enumerate(self.kernels):
            outcome = known.get(number) or KernelOutcome.empty(
                number, self.folds, self.Cs.size, len(self.pairs)
            )
            if kernel is not None and not kernel.positive_definite:
                works.append(self._cellwise(kernel, outcome, task, seed))
            else:
                works.append(plan.work(task, outcome, kernel))
        do_all(
            works,
            n_threads=plan.n_threads,
            n_open=plan.n_open,
            stopper=stopper,
        )

    def _cellwise(self, kernel: Kernel, outcome: KernelOutcome, task: Task, seed: int) -> Work:
        model = PegasosSVC(
            kernel=kernel,
            fit_intercept=self.intercept_scaling > 0,
            intercept_scaling=self.intercept_scaling or 1.0,
            decision_function_shape="ovo",
            cache_mb=self.cache_mb,
            row_dtype=self.row_dtype,
            random_state=seed,
        )
        return CellwiseWork(
            model,
            self.X,
            self.labels,
            self.folds,
            self.Cs,
            outcome=outcome,
            stopper=task.stopper,
            tell=task.tell,
            tell_cells=task.tell_cells,
        )


class _Plan:
    """Which kernel values are held, and how many kernels at a time.

    Attributes
    ----------
    whole : bool
        Whether kernel matrices are held as wholes.
    n_open : int
        Kernels that are in work at the same time.
    n_threads : int
        As many as there is room for: what is held must not depend on how many are asked for.
    """

    def __init__(self, search: Search, n_threads: int) -> None:
        self._search = search
        self.whole, self.n_open, self.n_threads, self._shares = True, 1, n_threads, False
        if search.kernels[0] is None:
            return
        certified = [kernel for kernel in search.kernels if _is_certified(kernel)]
        n_samples, pairs = search.order.size, search.pairs
        itemsize = max((self._matrix(kernel).dtype.itemsize for kernel in certified), default=8)
        whole_mb = n_samples**2 * itemsize / tuning.MEBIBYTE
        # Beside the matrix of all each thread holds the part of a pair, or of a hard cell.
        parts = max(pair.members.size for pair in pairs) ** 2 if len(pairs) > 1 else 0
        parts = max(1, parts, min(tuning.ACTIVE_EXAMPLES**2, n_samples**2 // 5))
        part_mb = parts * itemsize / tuning.MEBIBYTE
        # A single kernel takes products for its certificates.
        can_share = any(SharedProducts.can_make(kernel) for kernel in certified)
        shared_mb = n_samples**2 * 8 / tuning.MEBIBYTE if can_share else 0.0
        n_open = max(1, min(n_threads, len(certified)))
        wanted_mb = shared_mb + n_open * whole_mb + n_threads * part_mb
        wanted_mb = min(wanted_mb, budget_mb(search.cache_mb, wanted_mb))
        self._grant = ACCOUNT.grant(wanted_mb, min(wanted_mb, _LEAST_MB))
        self._budget = self._grant.mb
        left = self._budget - whole_mb - part_mb
        self.whole = left >= 0.0
        if self.whole:
            self._shares = can_share and shared_mb <= left
            left -= shared_mb if self._shares else 0.0
            more = min(n_threads - 1, int(left / part_mb))
            self.n_threads, left = 1 + more, left - more * part_mb
            self.n_open = min(n_open, 1 + int(left / whole_mb))
        else:  # a fifth of the rows is for hard cells
            self.n_threads = 1
            self._budget /= 1.2
        self._products = SharedProducts(search.X, search.order, _whole_matrix)

    def _dtype(self, kernel: Kernel) -> str | None:
        """Of a kernel's rows."""
        search = self._search
        dtype = dtype_of_rows(search.row_dtype, kernel, search.X, search.tol, self._largest_cost())
        if search.row_dtype == "auto" and bounds_rounding(kernel):
            dtype = dtype or "float64"  # whatever that of X is
        return dtype

    def _matrix(self, kernel: Kernel) -> KernelMatrix:
        search, dtype = self._search, self._dtype(kernel)
        # Every cell has to be certified, and in arithmetic of float32 few large C could be.
        return KernelMatrix(kernel, search.X, search.order, row_dtype=dtype, work_dtype="float64")

    def _largest_cost(self) -> float:
        """The largest C of an example."""
        return float(self._search.Cs.max() * self._search.weights.max())

    def work(self, task: Task, outcome: KernelOutcome, kernel: Kernel | None) -> Work:
        """The work of a kernel."""
        if len(task.pairs) == 1:
            return BinaryWork(task, outcome, partial(self._rows, kernel))
        return PairsWork(task, outcome, partial(self._pair_rows, kernel))

    def _gram_rows(self, kernel: Kernel | None) -> GramRows:
        """A whole kernel matrix."""
        scaling = self._search.intercept_scaling
        if kernel is None:
            return GramRows(self._search.X, intercept_scaling=scaling)
        matrix = self._matrix(kernel)
        if not (self._shares and SharedProducts.can_make(kernel)):
            return GramRows.from_values(matrix, intercept_scaling=scaling)
        return GramRows(
            self._products.gram(matrix),
            intercept_scaling=scaling,
            positive_definite=kernel.positive_definite,
            evaluations=matrix.n_samples**2,
            rounding=matrix.rounding,
            exact=self._products.exact(matrix),
        )

    def _rows(self, kernel: Kernel | None) -> RowSource:
        """Rows of all examples."""
        if self.whole or kernel is None:
            return self._gram_rows(kernel)
        return choose_source(
            self._matrix(kernel),
            cache="cached",
            cache_mb=self._budget,
            intercept_scaling=self._search.intercept_scaling,
        )

    def _pair_rows(self, kernel: Kernel | None) -> GramPairs | ComputedPairs:
        """Rows of all pairs of classes."""
        search = self._search
        scaling, tests = search.intercept_scaling, [search.place[t] for t in search.folds.tests]
        if self.whole or kernel is None:
            return GramPairs(self._gram_rows(kernel), scaling, tests)
        pairs = [pair._replace(members=search.order[pair.members]) for pair in search.pairs]
        shared = share_classes(kernel, search.X, pairs, 1, self._dtype(kernel), "float64")
        return ComputedPairs(shared, self._budget, scaling, tests)


def _whole_matrix(values: KernelMatrix) -> np.ndarray:
    return GramRows.from_values(values).gram
