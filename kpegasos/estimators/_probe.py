"""Short runs on a part of the examples, and what they cost.

A part of a binary problem keeps the shares of its classes and its C, so that a run on it asks for
the same kind of work as the whole: fewer rows, each of them shorter. What becomes of these counts
at full size is left to `kpegasos.estimators._growth`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._training import FitPlan
from kpegasos.kernels.exact import ExactProducts, always
from kpegasos.kernels.functions import Kernel
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.rows.base import RowSource
from kpegasos.rows.choose import choose_source
from kpegasos.rows.features import FeatureRows
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.history import Record
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

#: Examples of a class, at the least, in a part of it.
_FEWEST_OF_A_CLASS = 8
#: Draws of a part, at the most, and the fewest epochs that it may be left with.
_MOST_DRAWS, _FEWEST_EPOCHS = 200_000, 4


class Work(NamedTuple):
    """What some runs did, all together.

    Attributes
    ----------
    row_values : float
        Values of kernel rows that were computed.
    other_values : float
        Kernel values among the draws of a tile, or of draws against the support.
    exact_values : float
        Kernel values that were computed again in float64.
    additions : float
        Kernel values that were added to margins.
    rows_kept : float
        Examples whose row was computed, or has been of use.
    support : float
        Examples with a coefficient.
    steps, draws : float
        Moves of a dual ascent and draws of Pegasos.
    row_seconds, exact_seconds, other_seconds : float
        What took them.
    """

    row_values: float
    other_values: float
    exact_values: float
    additions: float
    rows_kept: float
    support: float
    steps: float
    draws: float
    row_seconds: float
    exact_seconds: float
    other_seconds: float

    @property
    def values(self) -> float:
        """All kernel values."""
        return self.row_values + self.other_values + self.exact_values

    @property
    def exact_cost(self) -> float:
        """Seconds of a kernel value in float64."""
        return self.exact_seconds / self.exact_values if self.exact_values else 0.0

    def __add__(self, other: Any) -> Work:
        return Work(*(a + b for a, b in zip(self, other, strict=True)))


NO_WORK = Work(*[0.0] * len(Work._fields))


class Part(NamedTuple):
    """A part of a binary problem.

    Attributes
    ----------
    pair : Pair
        Its members are rows of X, as those of the whole.
    share : float
        Examples, as a share of the whole.
    """

    pair: Pair
    share: float


class CountedMatrix(KernelMatrix):
    """A kernel matrix that counts, and times, what it is asked for.

    Attributes
    ----------
    written, again : int
        Values of rows, and values that were computed in float64.
    write_seconds, again_seconds : float
    """

    written = again = 0
    write_seconds = again_seconds = 0.0

    def write_rows(
        self, members: np.ndarray, out: np.ndarray, first: int = 0, last: int | None = None
    ) -> int:
        """Write the kernel rows of some examples; returns how many values were computed."""
        begin = time.perf_counter()
        number = super().write_rows(members, out, first, last)
        self.write_seconds += time.perf_counter() - begin
        self.written += number
        return number

    @property
    def exact(self) -> ExactProducts:
        """The same values in float64."""
        return _CountedProducts(super().exact, self)


class _CountedProducts:
    """Products in float64 that are counted."""

    def __init__(self, products: ExactProducts, matrix: CountedMatrix) -> None:
        self._products = products
        self._matrix = matrix

    def products(
        self,
        coef: np.ndarray,
        wanted: np.ndarray,
        largest: float,
        go_on: Callable[[], bool] = always,
    ) -> tuple[np.ndarray, np.ndarray, int] | None:
        """``K @ coef`` for some examples."""
        begin = time.perf_counter()
        found = self._products.products(coef, wanted, largest, go_on)
        self._matrix.again_seconds += time.perf_counter() - begin
        self._matrix.again += 0 if found is None else found[2]
        return found

    def subset(self, members: np.ndarray) -> ExactProducts:
        """The kernel matrix of some of these examples."""
        return _CountedProducts(self._products.subset(members), self._matrix)


class Rows(NamedTuple):
    """How rows of a part are made.

    Attributes
    ----------
    kernel : Kernel or None
        None for features, or where kernel values are given.
    given : bool
        Whether X has kernel values.
    cache : str
    dtype : str or None
        Of kernel values.
    """

    kernel: Kernel | None
    given: bool
    cache: str
    dtype: str | None

    @property
    def of_features(self) -> bool:
        """Whether there are no kernel values."""
        return self.kernel is None and not self.given

    def of(
        self, X: Any, settings: Settings, cache_mb: float
    ) -> tuple[RowSource, CountedMatrix | None]:
        """Rows of all examples, and their kernel values where these are counted."""
        scaling = settings.intercept_scaling
        if self.given:
            return GramRows(X, intercept_scaling=scaling), None
        if self.of_features:
            return FeatureRows(X, intercept_scaling=scaling, canonical=True), None
        assert self.kernel is not None
        matrix = CountedMatrix(self.kernel, X, row_dtype=self.dtype)
        source = choose_source(
            matrix,
            cache=self.cache,
            cache_mb=cache_mb,
            batch_size=settings.options.batch_size,
            intercept_scaling=scaling,
        )
        return source, matrix


def part_of(pair: Pair, share: float, rng: np.random.Generator) -> Part:
    """Take a part of a binary problem, each class by its share, with the same C.

    Parameters
    ----------
    pair : Pair
    share : float
        At most 1.
    rng : Generator
    """
    problem = pair.problem
    groups = [np.arange(problem.y.size)]
    if not problem.loss.regression:
        groups = [np.flatnonzero(problem.y < 0), np.flatnonzero(problem.y > 0)]
    chosen = [
        rng.choice(
            group, min(group.size, max(_FEWEST_OF_A_CLASS, round(share * group.size))), False
        )
        for group in groups
    ]
    which = np.sort(np.concatenate(chosen))
    weight = problem.weight[which]
    lam = problem.lam * problem.y.size / float(weight.sum())
    own = problem._replace(y=problem.y[which], weight=weight / weight.mean(), lam=lam)
    found = pair._replace(number=0, members=pair.members[which], problem=own)
    return Part(found, which.size / problem.y.size)


def _settings_of_part(settings: Settings, part: Part) -> Settings:
    """The same settings, with steps that are in proportion."""
    size = part.pair.members.size
    options = settings.options._replace(batch_size=min(settings.options.batch_size, size))
    ratio = part.share * settings.options.batch_size / options.batch_size
    checkpoints = settings.checkpoints
    if checkpoints is not None and not isinstance(checkpoints, str):
        checkpoints = sorted({max(1, round(ratio * int(step))) for step in checkpoints})
    n_steps = settings.n_steps
    return replace(
        settings,
        options=options,
        n_steps=None if n_steps is None else max(1, round(ratio * n_steps)),
        checkpoints=checkpoints,
        max_time=None,
    )


def run_part(
    plan: FitPlan, part: Part, rows: Rows, cache_mb: float, stopper: Stopper | None = None
) -> Work:
    """Train on a part, and say what it took.

    Parameters
    ----------
    plan : FitPlan
        Of the whole.
    part : Part
    rows : Rows
    cache_mb : float
        MiB for the rows of the part.
    stopper : Stopper, default=None
    """
    pair, begin = part.pair, time.perf_counter()
    members = pair.members
    X = plan.X[members][:, members] if rows.given else plan.X[members]
    settings, left = _shortened(_settings_of_part(plan.settings, part), members.size)
    own = replace(plan, X=X, pairs=[pair], settings=settings, states=[None], verbose=False)
    source, matrix = rows.of(X, settings, cache_mb)
    own.make_rows = lambda pair, n_at_once, brief: source
    stopper = stopper or Stopper()
    with quiet():
        run = own.make_run(pair, 1, stopper)
        while not run.finished:
            run.advance(stopper, settings.tol)
        before = len(run.history)
        result = own.finish(run, stopper)
    seconds = time.perf_counter() - begin
    records = result.history.records
    source.close()
    found = _work_of(records[-1], run, matrix, seconds)
    if left and run.status == "completed" and before > 1:
        found += _rest(records[0], records[before - 1], left, members.size)
    return found


def _shortened(settings: Settings, n_samples: int) -> tuple[Settings, float]:
    """Settings of fewer draws where there are very many, and how many are left."""
    k = settings.options.batch_size
    draws = settings.epochs_of(n_samples) * n_samples
    if settings.n_steps is not None:
        draws = settings.n_steps * k
    most = max(_MOST_DRAWS, _FEWEST_EPOCHS * n_samples)
    if draws <= most:
        return settings, 0.0
    steps = max(2, int(most / k))
    if settings.tol is not None and not settings.polish:
        return replace(settings, n_steps=steps), draws - steps * k
    return replace(settings, n_steps=steps, checkpoints=[steps // 2, steps]), draws - steps * k


def _work_of(last: Record, run: PegasosRun, matrix: CountedMatrix | None, seconds: float) -> Work:
    """What a run has taken that ended in a record."""
    n_samples = run.rows.n_samples
    written, again = (0, 0) if matrix is None else (matrix.written, matrix.again)
    in_rows, in_exact = (
        (0.0, 0.0) if matrix is None else (matrix.write_seconds, matrix.again_seconds)
    )
    return Work(
        row_values=written,
        other_values=max(0, last.kernel_evaluations - written - again),
        exact_values=again,
        additions=last.cache_hits * n_samples + written,
        rows_kept=min(n_samples, written / n_samples),
        support=last.support_size,
        steps=max(0, last.iteration - run.state.steps),
        draws=run.state.steps * run.state.options.batch_size,
        row_seconds=in_rows,
        exact_seconds=in_exact,
        other_seconds=max(0.0, seconds - in_rows - in_exact),
    )


def _rest(middle: Record, end: Record, left: float, n_samples: int) -> Work:
    """What the draws take that are left, as those between two records."""
    draws = max(1.0, (end.epoch - middle.epoch) * n_samples)
    hits = (end.cache_hits - middle.cache_hits) / draws
    return NO_WORK._replace(
        additions=hits * left * n_samples,
        draws=left,
        other_seconds=max(0.0, end.seconds - middle.seconds) / draws * left,
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the warnings of a run on a part to itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def entries_of(X: Any) -> float:
    """Entries of a row of X, on average, that are stored."""
    return float(X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else X.shape[1])


def enough_mb(n_samples: int) -> float:
    """MiB that hold all rows of a part, in float64."""
    return 16.0 * n_samples * (n_samples + 2 * tuning.TILE_ROWS) / tuning.MEBIBYTE + 1.0
