"""Solve all cells: folds, values of C and kernels, over shared kernel values.

Inner products are computed once for all kernels where they and the kernel matrix fit into memory;
else each kernel has rows of its own, which its folds and values of C share. Folds are weights over
the same rows, so margins of held-out examples come with the others. Scores are made in `results`.

A kernel's cells are a `Work`: a context that makes what its jobs share, such as a kernel matrix,
and yields the jobs. At its end it reports the outcome and frees what was shared. Several threads do
the works, a limited number of them at a time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from threading import Condition, Lock
from typing import Any, TypeVar

import numpy as np

from kpegasos.fitting.pairs import (
    Pair,
    dtype_of_rows,
    make_pairs,
    of_classes,
    placed_within,
    share_classes,
)
from kpegasos.kernels.base import Kernel, bounds_rounding
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.matrix import KernelMatrix, products_of
from kpegasos.kernels.pairwise import PlacedKernel
from kpegasos.model_selection.grid import Folds
from kpegasos.model_selection.results import KernelOutcome, PairCells
from kpegasos.rows.base import RowSource
from kpegasos.rows.budget import ACCOUNT, KeptMemory, budget_mb
from kpegasos.rows.choose import choose_source
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.path import PathRun
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding
from kpegasos.utils.threads import idle, n_threads, parallel_for

T = TypeVar("T")
#: Does a part of some work; returns whether more is left.
Job = Callable[[], bool | None]
#: Jobs that share something, which is made before the first and freed after the last.
Work = AbstractContextManager[list[Job]]
#: Most passes over the examples by the working sets of one cell.
_MAX_EPOCHS = 1000
#: Most folds whose states may be kept at the same time.
_FOLDS_IN_TURN = 20


def do_all(works: Sequence[Work], *, n_threads: int, n_open: int, stopper: Stopper) -> None:  # noqa: PLR0915 (one lock for all)
    """Do all jobs of some works, in order as far as threads allow; unfinished ones take turns.

    Parameters
    ----------
    works : sequence of Work
    n_threads : int
    n_open : int
        Works that may be open at the same time.
    stopper : Stopper
        Is notified of a failure, so that jobs which ask it end early.

    Raises
    ------
    BaseException
        The first that a work raised, when no job is running any more.
    """
    closed, jobs = deque(works), deque[tuple[Work, Job]]()
    left: dict[Work, int] = {}
    changed, failures = Condition(), list[BaseException]()

    def open_next(work: Work) -> None:
        more = work.__enter__()
        with changed:
            left[work] += len(more)
            jobs.extend((work, job) for job in more)
            changed.notify_all()

    def take() -> tuple[Work, Job] | None:
        with changed:
            while not failures and (jobs or closed or left):
                if jobs:
                    return jobs.popleft()
                if closed and len(left) < n_open:
                    work = closed.popleft()
                    left[work] = 1
                    return work, partial(open_next, work)
                with idle():
                    changed.wait()
        return None

    def do(work: Work, job: Job) -> None:
        has_more = job()
        with changed:
            if has_more:
                jobs.append((work, job))
                changed.notify()
            else:
                left[work] -= 1
            is_last = left[work] == 0
        if is_last:
            work.__exit__(None, None, None)
            with changed:
                del left[work]
                changed.notify_all()

    def do_some(_: int) -> None:
        while (taken := take()) is not None:
            try:
                do(*taken)
            except BaseException as error:
                with changed:
                    failures.append(error)
                    stopper.fail()  # or the others would go on to their end
                    changed.notify_all()
            del taken  # while this thread waits, it would keep a kernel matrix alive

    parallel_for(do_some, [(thread,) for thread in range(n_threads)])
    if failures:
        raise failures[0]


def n_certified(relative_gaps: np.ndarray, tol: float, stopper: Stopper) -> int:
    """Count the values of C, from the first on, whose certificates are kept.

    After a stop these reach ``tol``, since others may have been cut short.
    """
    if stopper.reason() is None:
        return relative_gaps.size
    return int(np.argmin(np.append(relative_gaps <= tol, False)))


# --- what all cells share ---


#: MiB that a search is granted in any case.
_LEAST_MB = 1.0


@dataclass
class Surface:
    """All cells of a search, and the kernel values that are held for them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The kernel matrix of all examples where the kernel is None.
    labels : ndarray of shape (n_samples,), int
        Indices of classes, 0 to n_classes - 1.
    folds : Folds
    kernels : list of Kernel or None
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
        Called with each outcome when all of its cells are done or the stopper ends them; one call
        at a time, from any thread.
    on_cells : callable
        Called with the number of cells just done, which may be a fraction; one call at a time, from
        any thread.

    Attributes
    ----------
    pairs : list of Pair
        Over the examples in the order of the rows, those of weight zero included.
    weights : ndarray of shape (n_folds, n_used)
    tests : list of ndarray of int
        Test examples of the folds, by their places among the rows.
    whole : bool
        Whether kernel matrices are held as wholes. Then a job has one thread for all it does.
    n_open : int
        Kernels that are in work at the same time.
    n_threads : int
        As many as memory allows: ``whole`` must not depend on how many are asked for.
    """

    X: Any
    labels: np.ndarray
    folds: Folds
    kernels: list[Kernel | None]
    Cs: np.ndarray
    _: KW_ONLY
    tol: float
    intercept_scaling: float
    cache_mb: float | str
    row_dtype: str
    stopper: Stopper
    on_kernel: Callable[[KernelOutcome], None]
    on_cells: Callable[[float], None] = lambda n_cells: None

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._part = 1.0  # of the budget, for kernel rows
        kernels, labels, folds = list(self.kernels), self.labels, self.folds
        for k, kernel in enumerate(kernels):
            if kernel is not None:  # of one that is costly there is no other
                kernels[k], self.X, self._part = placed_within(kernel, self.X, self.cache_mb)
        used = np.asarray(folds.weights.any(axis=0))
        used[np.concatenate(folds.tests)] = True
        order, n_classes = np.flatnonzero(used), int(labels.max()) + 1
        if kernels[0] is None:
            if order.size < labels.size:  # else the matrix that is given is not copied
                self.X = self.X[np.ix_(order, order)]
        elif n_classes > 2:
            order = order[np.argsort(labels[order], kind="stable")]
        place = np.full(labels.size, -1, dtype=np.int64)
        place[order] = np.arange(order.size)
        self.kernels, self._order = kernels, order
        self.weights = np.ascontiguousarray(folds.weights[:, order])
        self._largest_cost = float(self.Cs.max() * self.weights.max())
        self.tests = [place[test] for test in folds.tests]
        self.pairs = [*make_pairs(labels[order], n_classes, np.ones(order.size), 1.0, 1.0)]
        most = max(len(self.tests), len(self.pairs)) * len(kernels)
        self._plan(min(most, n_threads()))

    def solve(self) -> None:
        """Solve all cells.

        Raises
        ------
        ValueError
            If a kernel's values show that it is not positive semi-definite, or the budget has no
            room for a few rows.
        """
        work = binary_work if len(self.pairs) == 1 else pairs_work
        works = [work(self, k) for k in range(len(self.kernels))]
        do_all(works, n_threads=self.n_threads, n_open=self.n_open, stopper=self.stopper)

    # --- what jobs ask ---

    @property
    def in_turn(self) -> bool:
        """Whether folds take turns after each cell, as a cell counts once all folds have it.

        Their states are then kept at the same time, and rows that are not all held are computed
        more often.
        """
        is_cheap = self.whole or self.stopper.deadline is not None
        return is_cheap and len(self.tests) <= _FOLDS_IN_TURN

    def unless_stopped(self, make: Callable[[], T]) -> T | None:
        """Return what a function makes, or None if the search stops before."""
        if self.stopper.reason() is None:
            with suppress(CutShort), heeding(self.stopper.lasts):
                return make()
        return None

    def path(self, pair: Pair, rows: RowSource, folds: slice) -> PathRun:
        """Prepare to solve folds of a pair along C, on rows of its members."""
        y, weights = pair.problem.y, np.ascontiguousarray(self.weights[folds, pair.members])
        options: Any = {"tol": self.tol, "max_epochs": _MAX_EPOCHS, "alone": self.whole}
        return PathRun(y, weights, rows, self.Cs, **options)

    def outcome_of(self, k: int) -> KernelOutcome:
        """Begin the outcome of a kernel, which takes memory while that is in work."""
        return KernelOutcome.empty(k, self.folds, self.Cs.size, len(self.pairs))

    def tell(self, outcome: KernelOutcome) -> None:
        """Report the outcome of a kernel."""
        with self._lock:
            self.on_kernel(outcome)

    def tell_cells(self, n_cells: float) -> None:
        """Report how many cells have just been done."""
        with self._lock:
            self.on_cells(n_cells)

    # --- kernel values ---

    def _plan(self, threads: int) -> None:
        """Decide what is held within a budget, and on how many threads."""
        self.whole, self.n_open, self.n_threads, self._shares = True, 1, threads, False
        if self.kernels[0] is None:
            return
        kernels = [each for each in self.kernels if each is not None]
        n_samples = self._order.size
        itemsize = max(self._matrix(kernel).dtype.itemsize for kernel in kernels)
        whole_mb = n_samples**2 * itemsize / tuning.MEBIBYTE
        # Beside the matrix of all each thread holds the part of a pair.
        pairs = self.pairs
        part = max(pair.members.size for pair in pairs) ** 2 if len(pairs) > 1 else 1
        part_mb = part * itemsize / tuning.MEBIBYTE
        # Even a single kernel shares them with its certificates.
        can_share = any(map(products_of, kernels))
        shared_mb = n_samples**2 * 8 / tuning.MEBIBYTE if can_share else 0.0
        n_open = max(1, min(threads, len(kernels)))
        wanted_mb = shared_mb + n_open * whole_mb + threads * part_mb
        self._budget = self._part * budget_mb(self.cache_mb, wanted_mb / self._part)
        wanted_mb = min(wanted_mb, self._budget)
        grant = ACCOUNT.grant(wanted_mb, min(wanted_mb, _LEAST_MB))
        left = grant.mb - whole_mb - part_mb
        # With a costly kernel, only values that are asked for are computed.
        self.whole = left >= 0.0 and not isinstance(self.kernels[0], PlacedKernel)
        if self.whole:
            self._grant = grant
            self._shares = can_share and shared_mb <= left
            left -= shared_mb if self._shares else 0.0
            more = min(threads - 1, int(left / part_mb))
            self.n_threads, left = 1 + more, left - more * part_mb
            self.n_open = min(n_open, 1 + int(left / whole_mb))
        else:
            self.n_threads = 1  # and each source of rows asks for a grant of its own
        self._products: tuple[str, np.ndarray] | None = None
        self._products_lock = Lock()

    def _dtype(self, kernel: Kernel) -> str | None:
        """Choose the precision of a kernel's rows."""
        dtype = dtype_of_rows(self.row_dtype, kernel, self.X, self.tol, self._largest_cost)
        if self.row_dtype == "auto" and bounds_rounding(kernel):
            dtype = dtype or "float64"  # whatever that of X is
        return dtype

    def _matrix(self, kernel: Kernel) -> KernelMatrix:
        # Every cell has to be certified, which few large C could be in float32 arithmetic.
        return KernelMatrix(
            kernel, self.X, self._order, row_dtype=self._dtype(kernel), work_dtype="float64"
        )

    def _gram_rows(self, kernel: Kernel | None) -> GramRows:
        """Compute a whole kernel matrix."""
        if kernel is None:
            return GramRows(self.X, intercept_scaling=self.intercept_scaling)
        matrix, kind = self._matrix(kernel), products_of(kernel)
        if self._shares and kind is not None:
            with self._products_lock:
                if self._products is None or self._products[0] != kind:
                    self._products = None  # frees its memory first
                    self._products = kind, GramRows.from_values(matrix.of_products()).gram
                matrix.products = self._products[1]
        return GramRows.from_values(matrix, intercept_scaling=self.intercept_scaling)

    def rows(self, kernel: Kernel | None) -> RowSource:
        """Make the rows of all examples."""
        if self.whole or kernel is None:
            return self._gram_rows(kernel)
        matrix, scaling = self._matrix(kernel), self.intercept_scaling
        return choose_source(
            matrix, cache="cached", cache_mb=self._budget, intercept_scaling=scaling
        )

    def pair_rows(self, kernel: Kernel | None) -> PairRows:
        """Make the rows of all pairs of classes."""
        if self.whole or kernel is None:
            return GramPairs(self._gram_rows(kernel), self.tests)
        pairs = [pair._replace(members=self._order[pair.members]) for pair in self.pairs]
        shared = share_classes(kernel, self.X, pairs, self._dtype(kernel), "float64")
        return ComputedPairs(*shared, self._budget, self.intercept_scaling, self.tests)


def _share_seconds(outcome: KernelOutcome, seconds: float) -> None:
    """Divide seconds among the cells that are done."""
    outcome.seconds[outcome.done] += seconds / max(1.0, float(outcome.done.sum()))


# --- folds of a binary problem ---


@contextmanager
def binary_work(surface: Surface, k: int) -> Iterator[list[Job]]:
    """Do the folds of a binary problem with the kernel of an index, on the same rows."""
    begin, outcome = time.perf_counter(), surface.outcome_of(k)
    rows = surface.unless_stopped(partial(surface.rows, surface.kernels[k]))
    if rows is None:
        yield []
    else:
        shared = time.perf_counter() - begin
        of_folds = [_solve_fold(surface, outcome, rows, fold) for fold in range(len(surface.tests))]
        yield [partial(next, of_fold, False) for of_fold in of_folds]
        rows.close()
        _share_seconds(outcome, shared)
    surface.tell(outcome)


def _solve_fold(
    surface: Surface, outcome: KernelOutcome, rows: RowSource, fold: int
) -> Iterator[bool]:
    """Solve the values of C of a fold; other folds may have a turn between two of them."""
    run, reason = surface.path(surface.pairs[0], rows, slice(fold, fold + 1)), None
    while reason is None and not run.finished:
        before, seconds = run.n_solved, run.seconds
        reason = run.advance(surface.stopper, before + 1)
        solutions = run.solutions(surface.stopper, before)
        n_good = n_certified(solutions.relative_gaps, surface.tol, surface.stopper)
        solved = slice(before, before + n_good)
        outcome.decisions[fold][solved, :, 0] = solutions.margins[:n_good, surface.tests[fold]]
        outcome.relative_gaps[fold, solved] = solutions.relative_gaps[:n_good]
        outcome.n_support[fold, solved] = np.count_nonzero(solutions.coefs[:n_good], axis=1)
        outcome.seconds[fold, solved] = (run.seconds - seconds) / max(1, n_good)
        outcome.done[fold, solved] = True
        surface.tell_cells(n_good)
        if surface.in_turn:
            yield True


# --- pairs of classes ---


class GramPairs:
    """Rows of pairs that are parts of one kernel matrix of all examples.

    Parameters
    ----------
    source : GramRows
        Of all examples.
    tests : list of ndarray of int
        Examples of each fold.
    """

    def __init__(self, source: GramRows, tests: list[np.ndarray]) -> None:
        self._gram, self._tests = source.gram, tests
        self._source = source

    def of_pair(self, pair: Pair) -> RowSource:
        """Make the rows of a pair."""
        return self._source.subset(pair.members)

    def decisions(self, pairs: list[Pair], fold: int, models: list[PairCells]) -> np.ndarray:
        """Compute decisions of all pairs on the test examples of a fold.

        Parameters
        ----------
        pairs : list of Pair
        fold : int
        models : list of PairCells
            One for each pair, all with equally many values of C.

        Returns
        -------
        ndarray of shape (n_solved, n_test, n_pairs)
        """
        gram, test = self._gram, self._tests[fold]
        result = _constant_terms(models, test.size)
        for label in range(1 + pairs[-1].classes[1]):
            # All pairs of a class read its kernel values once.
            among = [k for k, pair in enumerate(pairs) if label in pair.classes]
            # The first class of a pair is the positive one.
            is_own = [(pairs[k].problem.y > 0) == (pairs[k].classes[0] == label) for k in among]
            members = pairs[among[0]].members[is_own[0]]
            parts = zip(among, is_own, strict=True)
            coefs = np.concatenate([models[k].coefs[:, of_class] for k, of_class in parts])
            first, last = members[0], members[-1] + 1
            # In the order of classes, columns are contiguous, and read faster.
            is_range = last - first == members.size
            values = gram[test, first:last] if is_range else gram[test[:, None], members]
            products = (values.astype(np.float64, copy=False) @ coefs.T).T
            result[:, :, among] += products.reshape(len(among), -1, test.size).transpose(1, 2, 0)
        return result


class ComputedPairs:
    """Rows of pairs that are computed when they are first needed, within a budget.

    Parameters
    ----------
    shared : KernelMatrix
    sizes : list of int
        Examples of each class.
    cache_mb : float or "auto"
    intercept_scaling : float
    tests : list of ndarray of int
        Examples of each fold.
    """

    def __init__(
        self,
        shared: KernelMatrix,
        sizes: list[int],
        cache_mb: float | str,
        intercept_scaling: float,
        tests: list[np.ndarray],
    ) -> None:
        self._shared, self._sizes, self._tests = shared, sizes, tests
        self._memory = KeptMemory()  # each pair uses that of the one before
        self._make = partial(
            choose_source,
            cache="cached",
            cache_mb=cache_mb,
            intercept_scaling=intercept_scaling,
        )

    def of_pair(self, pair: Pair) -> RowSource:
        """Make the rows of a pair."""
        return self._make(of_classes(self._shared, self._sizes, pair.classes))

    def decisions(self, pairs: list[Pair], fold: int, models: list[PairCells]) -> np.ndarray:
        """Compute decisions of all pairs on the test examples of a fold; see `GramPairs`."""
        shared, test = self._shared, self._tests[fold]
        X, members = shared.X, shared.members
        assert members is not None
        rows, result = X[members[test]], _constant_terms(models, test.size)
        for k, (pair, cells) in enumerate(zip(pairs, models, strict=True)):
            support = np.flatnonzero(cells.coefs.any(axis=0))
            vectors = X[members[pair.members[support]]]
            coefs = np.ascontiguousarray(cells.coefs[:, support])
            result[:, :, k] += kernel_decision(shared.kernel, rows, vectors, coefs).T
        return result


PairRows = GramPairs | ComputedPairs


def _constant_terms(models: list[PairCells], n_test: int) -> np.ndarray:
    """Return constant terms of decisions, of shape (n_solved, n_test, n_pairs)."""
    intercepts = np.stack([cells.intercepts for cells in models], axis=1)
    return np.repeat(intercepts[:, None], n_test, axis=1)


@contextmanager
def pairs_work(surface: Surface, k: int) -> Iterator[list[Job]]:
    """Do all pairs of classes with the kernel of an index, each with all folds.

    The outcome is filled in when all pairs are solved.
    """
    begin, solved = time.perf_counter(), dict[int, list[PairCells]]()
    outcome = surface.outcome_of(k)
    rows = surface.unless_stopped(partial(surface.pair_rows, surface.kernels[k]))

    def solve(rows: PairRows, pair: Pair) -> None:
        source = surface.unless_stopped(partial(rows.of_pair, pair))
        if source is None:
            return
        run = surface.path(pair, source, slice(None))
        run.advance(surface.stopper)
        solutions, n_Cs = run.solutions(surface.stopper), surface.Cs.size
        source.close()
        # The seconds of the run are divided among its cells by their working sets.
        shares = solutions.work + 1.0
        seconds = run.seconds * shares / max(1.0, shares.sum())
        parts = [slice(k * n_Cs, (k + 1) * n_Cs) for k in range(len(surface.tests))]
        coefs, *others = solutions.coefs, solutions.intercepts, solutions.relative_gaps, seconds
        cells = [PairCells(coefs[own].copy(), *(each[own] for each in others)) for own in parts]
        if all(
            n_certified(part.relative_gaps, surface.tol, surface.stopper) == n_Cs for part in cells
        ):
            solved[pair.number] = cells
            surface.tell_cells(outcome.done.size / len(surface.pairs))

    if rows is None:
        yield []
    else:
        shared = time.perf_counter() - begin
        yield [partial(solve, rows, pair) for pair in surface.pairs]
        if len(solved) == len(surface.pairs):
            begin = time.perf_counter()
            for fold in range(len(surface.tests)):
                cells = [solved[pair.number][fold] for pair in surface.pairs]
                _join_pairs(surface, outcome, rows, fold, cells)
            _share_seconds(outcome, shared + time.perf_counter() - begin)
    surface.tell(outcome)


def _join_pairs(
    surface: Surface, outcome: KernelOutcome, rows: PairRows, fold: int, models: list[PairCells]
) -> None:
    """Make the cells of a fold from the models of all pairs, if there is time."""
    decisions = surface.unless_stopped(partial(rows.decisions, surface.pairs, fold, models))
    if decisions is None:
        return
    used = np.zeros((surface.Cs.size, surface.weights.shape[1]), dtype=bool)
    for pair, cells in zip(surface.pairs, models, strict=True):
        used[:, pair.members] |= cells.coefs != 0.0
    outcome.decisions[fold][:] = decisions
    outcome.relative_gaps[fold] = np.max([cells.relative_gaps for cells in models], axis=0)
    outcome.n_support[fold] = used.sum(axis=1)
    outcome.seconds[fold] = np.sum([cells.seconds for cells in models], axis=0)
    outcome.done[fold] = True
