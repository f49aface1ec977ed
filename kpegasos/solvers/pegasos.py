"""The driver of Pegasos: segments of a compiled loop, and what happens between them.

A `PegasosRun` advances the loop to a checkpoint, evaluates objective and certificate there, and says
whether to go on; deadlines, Ctrl-C, progress and resumption live here and not in the loop. It
works on any rows: the kernel sources of `kpegasos.rows.choose` or the `FeatureRows` of `kpegasos.rows.features`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import NamedTuple

import numpy as np

from kpegasos.core.averaging import has_clock_over_t
from kpegasos.core.draws import IndexStream
from kpegasos.core.loops import (
    CLOCK,
    ROW_HITS,
    SCALE,
    STEPS,
    Examples,
    LoopParameters,
    LoopState,
    primal_steps,
)
from kpegasos.core.problem import Problem, dual_bound, is_impossible, primal
from kpegasos.core.state import (
    Algorithm,
    PegasosOptions,
    State,
    check_options,
    iterate_combination,
    iterate_prefix,
    new_state,
    returned_vector,
)
from kpegasos.rows.base import KernelSource
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.history import History, Record
from kpegasos.solvers.stopping import Stopper, TimeSlicer, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.validation import draw_seed

Rows = KernelSource | FeatureRows


def _violators(
    state: LoopState, examples_at: np.ndarray, examples: Examples, parameters: LoopParameters
) -> np.ndarray:
    """Score the examples by their margin, averaged over the iterates where that is at hand.

    Single early iterates swing about their average by whole margins, so the average says more about
    the margin at a later step than the current iterate does.
    """
    threshold = parameters.lam * parameters.batch_size * state.counters[STEPS]
    base, scale = state.base[examples_at], state.scalars[SCALE]
    if state.stamped_image.size and state.counters[STEPS] > 1 and not parameters.clock_over_t:
        weights = 2.0 / (state.counters[STEPS] + 1.0)
        margins = weights * (state.scalars[CLOCK] * base - state.stamped_image[examples_at])
    else:
        margins = scale * base
    return np.asarray(examples.label[examples_at] * margins - threshold)


PRIMAL = Algorithm(primal_steps, _violators, from_zero=True)


class Evaluation(NamedTuple):
    """An iterate at a checkpoint."""

    coef: np.ndarray
    margins: np.ndarray
    squared_norm: float
    objective: float


@dataclass(frozen=True)
class Result:
    """A trained binary model and its certificate.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples,), float64
        How often each example was drawn while violating, times the product of the projections since
        (integers without projection); ``w_{T+1} = Σ alpha_j ω_j y_j φ(x_j) / (lam k T)``. The dual
        variables β in the case of `sdca`.
    coef : ndarray of shape (n_samples,)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    w : ndarray of shape (n_features,) or None
        Primal vector, from `FeatureRows` only.
    intercept : float
        Part of the constant feature.
    margins : ndarray of shape (n_samples,)
        ``f(x_i)`` of the training examples.
    objective, dual_bound, gap, relative_gap : float
        ``P(w)``, a lower bound on its minimum, and what lies between; NaN where the kernel is not
        positive semi-definite, by its name or as the values showed.
    n_steps : int
        Steps done, all calls together.
    status : {"completed", "tolerance", "max_time", "interrupted", "stopped"}
        Why it ended; ``"stopped"`` by a monitor or a callback.
    history : History
    state : State
        What `pegasos` continues from.
    """

    alpha: np.ndarray
    coef: np.ndarray
    w: np.ndarray | None
    intercept: float
    margins: np.ndarray
    objective: float
    dual_bound: float
    gap: float
    relative_gap: float
    n_steps: int
    status: str
    history: History
    state: State | None = None


def total_steps(n_steps: int | None, epochs: float | None, n_samples: int, batch_size: int) -> int:
    """Steps of a run: ``n_steps`` when given, else whole mini-batches that cover ``epochs``."""
    if n_steps is not None:
        if not isinstance(n_steps, Integral) or n_steps < 1:
            raise ValueError(f"n_steps must be a positive integer, got {n_steps!r} instead")
        return int(n_steps)
    if epochs is None or not (math.isfinite(epochs) and epochs > 0):
        raise ValueError(f"epochs must be a positive number, got {epochs!r} instead")
    return max(1, math.ceil(epochs * n_samples / batch_size))


def _growing(first: int, last: int, rows: FeatureRows) -> list[int]:
    """Steps ever further apart, from a fraction of an epoch on."""
    begin, points = max(1, rows.n_samples // 8), []
    number = 0
    while (step := int(begin * 1.5**number)) < last - first:
        points.append(first + step)
        number += 1
    return points


class Checkpoints:
    """Steps in ``(first, last]`` at which a run is recorded; ``last`` always among them.

    They are computed when asked for: a run with a deadline may plan for millions and reach a few.

    Parameters
    ----------
    checkpoints : {"epoch", "log"}, sequence of int, or None
        Ends of epochs, ten steps a decade, these steps, or the end only.
    first, last : int
    n_samples, batch_size : int
        They make the epochs.

    Raises
    ------
    ValueError
        For any other checkpoints.
    """

    def __init__(
        self,
        checkpoints: str | Sequence[int] | None,
        first: int,
        last: int,
        n_samples: int,
        batch_size: int,
    ) -> None:
        self.first = first
        self.last = last
        self._steps: Callable[[int], int]
        self._every = Fraction(0)
        if isinstance(checkpoints, str) and checkpoints == "epoch":
            self._steps = lambda number: -(-number * n_samples // batch_size)
            self._every = Fraction(n_samples, batch_size)
        elif isinstance(checkpoints, str) and checkpoints == "log":
            self._steps = lambda number: round(10 ** ((number - 1) / 10))
        elif isinstance(checkpoints, str):
            raise ValueError(
                f"checkpoints must be 'epoch', 'log', a sequence of iterations or None, got {checkpoints!r} "
                f"instead"
            )
        else:
            for t in checkpoints if checkpoints is not None else ():
                if not isinstance(t, Integral) or t < 1:
                    raise ValueError(
                        f"checkpoints must list iterations from 1 on, got {t!r} instead"
                    )
            steps = sorted(int(t) for t in checkpoints) if checkpoints is not None else []
            self._steps = lambda number: steps[number - 1] if number <= len(steps) else last
        self._number = 1

    def after(self, step: int) -> int:
        """Next checkpoint after a step before ``last``; steps must not decrease between calls."""
        low, high = self._number, self._number + 1
        while self._steps(high) <= step and self._steps(high) < self.last:
            low, high = high, 2 * high
        while low < high:  # the smallest number with a step beyond
            middle = (low + high) // 2
            low, high = (low, middle) if self._steps(middle) > step else (middle + 1, high)
        self._number = low
        return min(self._steps(low), self.last)

    def __len__(self) -> int:
        if self._every:
            return int((self.last - 1) // self._every - self.first // self._every) + 1
        count, step = 0, self.first
        begin, self._number = self._number, 1
        while step < self.last:
            step = self.after(step)
            count += 1
        self._number = begin
        return count


class PegasosRun:
    """A run of Pegasos that can be advanced, looked at and stopped at any step.

    Parameters
    ----------
    problem : Problem
    rows : KernelSource or FeatureRows
    state : State
        From `new_state`, or of an earlier run to go on from; modified in place.
    points : Checkpoints
        Steps at which to record; the run ends at the last.
    keep : bool, default=True
        Whether to evaluate at every checkpoint or at the last alone.
    stream : IndexStream, default=None
        Where the draws come from; made from the state's seed if None.
    """

    def __init__(
        self,
        problem: Problem,
        rows: Rows,
        state: State,
        points: Checkpoints,
        *,
        keep: bool = True,
        stream: IndexStream | None = None,
    ) -> None:
        self.problem = problem
        self.rows = rows
        self.state = state
        self.points = points
        self.keep = keep
        self.history = History()
        self.status = "running"
        options = state.options
        self._examples = problem.examples
        self._rule = LoopParameters(
            float(problem.lam),
            problem.y.size,
            int(options.batch_size),
            bool(options.projection),
            has_clock_over_t(options.average),
        )
        self.first = state.steps
        # A stream that was handed in begins with this run.
        self._origin = 0 if stream is None else self.first
        self._stream = stream or IndexStream(
            problem.y.size, options.sampling, state.seed, state.key
        )
        self._slicer = TimeSlicer(tuning.FIRST_SLICE)
        self._evaluated: tuple[int, Evaluation, Evaluation] | None = None
        if isinstance(rows, FeatureRows) and options.projection:
            rows.require_norms()

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end, whatever the reason."""
        return self.status != "running"

    def advance(self, stopper: Stopper, tol: float | None = None) -> None:
        """Go on to the next checkpoint, evaluate there and decide whether the run is finished.

        The first slice of a run is done before the stopper is heard, so there always is a model.
        """
        point = self.points.after(self.state.steps)
        reason = self.advance_to(point, stopper)
        last = point == self.points.last or reason is not None
        if self.keep or last:
            self._record()
        if tol is not None and self.history.records[-1].relative_gap <= tol:
            self.status = "tolerance"
        elif reason is not None:
            self.status = reason
        elif last:
            self.status = "completed"
        else:
            self.status = self._stop_reason(stopper) or "running"

    def advance_to(self, point: int, stopper: Stopper) -> str | None:
        """Take steps up to ``point``; returns the stopper's reason if it came first."""
        state, k = self.state, self._rule.batch_size
        suffix = state.options.average == "suffix"
        while state.steps < point:
            steps = state.steps
            target = min(point, steps + max(1, self._slicer.draws // k))
            if suffix:
                # Stop where a sum has to be set aside: at every power of two.
                target = min(target, 1 << steps.bit_length())
            begin = time.perf_counter()
            draws = self._stream.take(
                (steps - self._origin) * k,
                (target - self._origin) * k + self._look_ahead(steps * k),
            )
            self.rows.advance(
                PRIMAL, state.loop, draws, (target - steps) * k, self._examples, self._rule
            )
            elapsed = time.perf_counter() - begin
            state.seconds += elapsed
            if suffix and target & (target - 1) == 0:
                self.rows.refresh_margins(state.loop, self._examples)
                self._snapshot(target)
            self._slicer.done((target - steps) * k, elapsed)
            if state.steps < point and (reason := self._stop_reason(stopper)) is not None:
                break
        else:
            reason = None
        begin = time.perf_counter()
        self.rows.refresh_margins(state.loop, self._examples)
        state.seconds += time.perf_counter() - begin
        state.evaluations += new_evaluations(self.rows)
        return reason

    def _stop_reason(self, stopper: Stopper) -> str | None:
        """The stopper's reason, once the first slice of the run is done."""
        draws = (self.state.steps - self.first) * self._rule.batch_size
        return stopper.reason() if draws >= tuning.FIRST_SLICE else None

    def _look_ahead(self, done: int) -> int:
        if isinstance(self.rows, FeatureRows) or self.rows.image_size == 0:
            return 0
        return min(
            max(tuning.TILE_ROWS, done // 4) + self._rule.batch_size, 2 * self.problem.y.size
        )

    def _snapshot(self, steps: int) -> None:
        """Keep the sums up to a power of two; only the last two can be asked for."""
        loop = self.state.loop
        clock = loop.scalars[CLOCK]
        base = clock * loop.base - loop.stamped_image if loop.base.size else np.empty(0)
        suffix_snapshots = self.state.suffix_snapshots
        suffix_snapshots[steps] = (clock * loop.alpha - loop.stamps, base)
        for old in [s for s in suffix_snapshots if s < steps // 2]:
            del suffix_snapshots[old]

    def stop(self) -> None:
        """End an unfinished run where it stands."""
        if not self.finished:
            self.status = "stopped"

    def evaluate(self) -> tuple[Evaluation, Evaluation]:
        """The last iterate and the returned one, as they stand; also raises the dual bound."""
        if self._evaluated is not None and self._evaluated[0] == self.state.steps:
            return self._evaluated[1:]
        averages = (
            [None] if self.state.options.average is None else [None, self.state.options.average]
        )
        iterates = self.rows.evaluate(
            [iterate_combination(self.state, average) for average in averages],
            self.state.loop,
            [iterate_prefix(self.state, average) for average in averages],
            self._examples,
        )
        evaluations = []
        for coef, margins, squared_norm in iterates:
            objective = primal(margins, squared_norm, self.problem)
            if self.rows.positive_definite:
                bound = dual_bound(coef, squared_norm, self.problem)
                self.state.best_dual = max(self.state.best_dual, bound)
                if is_impossible(objective, self.state.best_dual, squared_norm):
                    self.rows.positive_definite = False
            evaluations.append(Evaluation(coef, margins, squared_norm, objective))
        self._evaluated = (self.state.steps, evaluations[0], evaluations[-1])
        return self._evaluated[1:]

    def _certificate(self, objective: float) -> tuple[float, float, float]:
        """Dual bound, gap and relative gap of an objective value."""
        if not self.rows.positive_definite:
            return math.nan, math.nan, math.nan
        bound = self.state.best_dual
        gap = objective - bound
        if gap < 0.0:  # by rounding
            gap = 0.0
        return bound, gap, gap / objective

    def _record(self) -> None:
        last, returned = self.evaluate()
        state = self.state
        bound, gap, relative_gap = self._certificate(returned.objective)
        self.history.append(
            Record(
                iteration=state.steps,
                epoch=state.steps * state.options.batch_size / self.problem.y.size,
                seconds=state.seconds,
                objective_last=last.objective,
                objective_average=returned.objective,
                dual_bound=bound,
                gap=gap,
                relative_gap=relative_gap,
                support_size=int(np.count_nonzero(state.loop.alpha)),
                kernel_evaluations=state.evaluations,
                cache_hits=int(state.loop.counters[ROW_HITS]),
            )
        )

    def result(self) -> Result:
        """The model as it stands."""
        _, returned = self.evaluate()
        loop = self.state.loop
        coef = returned.coef * self._examples.signed
        w, intercept = None, self.rows.offset * float(coef.sum())
        if isinstance(self.rows, FeatureRows):
            vector = returned_vector(self.state)
            w, intercept = vector[:-1], self.rows.offset * float(vector[-1])
        bound, gap, relative_gap = self._certificate(returned.objective)
        return Result(
            alpha=loop.scalars[SCALE] * loop.alpha,
            coef=coef,
            w=w,
            intercept=intercept,
            margins=returned.margins,
            objective=returned.objective,
            dual_bound=bound,
            gap=gap,
            relative_gap=relative_gap,
            n_steps=self.state.steps,
            status=self.status,
            history=self.history,
            state=self.state,
        )


def new_evaluations(rows: Rows) -> int:
    """Kernel values that rows computed since this was last asked: those of the run that asks."""
    new = rows.evaluations - rows.charged
    rows.charged = rows.evaluations
    return new


def move_margins(state: State, rows: KernelSource, problem: Problem) -> None:
    """Give a state the margins that its new source maintains: those of all examples, or none."""
    loop, signed = state.loop, problem.examples.signed
    sums = [loop.alpha, loop.stamps, *(alpha for alpha, _ in state.suffix_snapshots.values())]
    if rows.image_size:
        bases = list(rows.product(np.stack(sums, axis=1) * signed[:, None]).T.copy())
    else:
        bases = [np.empty(0)] * len(sums)
    base, stamped, *anchored = bases
    if state.options.average is None:
        stamped = np.empty(0)
    state.loop = loop._replace(base=base, stamped_image=stamped)
    pairs = zip(state.suffix_snapshots.items(), anchored, strict=True)
    state.suffix_snapshots = {steps: (alpha, base) for (steps, (alpha, _)), base in pairs}


def make_run(
    problem: Problem,
    rows: Rows,
    options: PegasosOptions,
    *,
    n_steps: int | None,
    epochs: float | None,
    checkpoints: str | Sequence[int] | None,
    tol: float | None,
    seed: int,
    key: tuple[int, ...] = (),
    state: State | None = None,
) -> PegasosRun:
    """Check everything and set up a run, new or continued from ``state``.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    if rows.n_samples != problem.y.size:
        raise ValueError(
            f"rows must belong to the {problem.y.size} examples of the problem, "
            f"got {rows.n_samples} instead"
        )
    check_options(options, rows.n_samples)
    if tol is not None and not rows.positive_definite:
        raise ValueError(
            "tol and polish need a positive semi-definite kernel: "
            "without one no duality gap is certified"
        )
    if state is None:
        state = new_state(rows.n_samples, rows.image_size, options, problem.lam, seed, key)
    elif (
        state.options != options
        or state.lam != problem.lam
        or state.loop.alpha.size != problem.y.size
        or (isinstance(rows, FeatureRows) and state.loop.base.size != rows.image_size)
    ):
        raise ValueError(
            "state must come from a run with the same examples, lam, batch_size, sampling, "
            "projection, average and kind of rows (kernel or linear)"
        )
    if isinstance(rows, KernelSource) and state.loop.base.size != rows.image_size:
        move_margins(state, rows, problem)
    first = state.steps
    last = first + total_steps(n_steps, epochs, problem.y.size, options.batch_size)
    keep = checkpoints is not None or tol is not None
    if tol is not None and checkpoints is None:
        # A check costs as much as a pass over the data where rows are linear.
        checkpoints = _growing(first, last, rows) if isinstance(rows, FeatureRows) else "epoch"
    points = Checkpoints(checkpoints, first, last, problem.y.size, options.batch_size)
    return PegasosRun(problem, rows, state, points, keep=keep)


def pegasos(
    problem: Problem,
    rows: Rows,
    *,
    n_steps: int | None = None,
    epochs: float | None = 20,
    batch_size: int = 1,
    sampling: str = "permutation",
    projection: bool = False,
    average: str | None = "weighted",
    tol: float | None = None,
    max_time: float | None = None,
    checkpoints: str | Sequence[int] | None = "epoch",
    random_state: int | np.random.RandomState | None = None,
    state: State | None = None,
    monitor: Callable[[PegasosRun], bool | None] | None = None,
) -> Result:
    """Train a binary model with Pegasos (ICML 2007, Fig. 1; MPB 2011, Figs. 1-3).

    Parameters
    ----------
    problem : Problem
        From `make_problem`.
    rows : KernelSource or FeatureRows
        From `make_rows` (kernel) or `linear_rows` (primal vector).
    n_steps : int, default=None
        Steps T; wins over ``epochs``.
    epochs : float, default=20
        Draws per example.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "block"}, default="permutation"
        A fresh permutation each epoch, independent draws as in the papers, or blocks of 64
        consecutive rows in random order, for rows that come in no particular order.
    projection : bool, default=False
        Project onto the ball of radius ``1/sqrt(lam)`` after each step.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which iterate is returned; see `kpegasos.core.averaging`.
    tol : float, default=None
        Stop at a checkpoint where the certified relative gap is at most this.
    max_time : float, default=None
        Seconds after which the model reached so far is returned.
    checkpoints : {"epoch", "log"}, sequence of int or None, default="epoch"
        Checkpoints; None evaluates at the end only, or with ``tol`` where it has to: each epoch,
        or, for linear rows, at steps that grow by half.
    random_state : int, RandomState or None, default=None
        Makes the index stream.
    state : State, default=None
        ``result.state`` of an earlier call, to go on with the same sequence of iterates. The state
        is modified.
    monitor : callable, default=None
        Called with the `PegasosRun` at each checkpoint; a true return value stops it.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from kpegasos import make_problem, make_rows, pegasos
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> y = np.array([-1, -1, 1, 1])
    >>> rows = make_rows(X, "rbf", gamma=2.0)
    >>> result = pegasos(make_problem(y, lam=0.01), rows, epochs=100, random_state=0)
    >>> np.sign(result.margins)
    array([-1., -1.,  1.,  1.])
    """
    seed = draw_seed(random_state)
    options = PegasosOptions(batch_size, sampling, projection, average)
    run = make_run(
        problem,
        rows,
        options,
        n_steps=n_steps,
        epochs=epochs,
        checkpoints=checkpoints,
        tol=tol,
        seed=seed,
        state=state,
    )
    with interruptible(Stopper(max_time)) as stopper:
        while not run.finished:
            run.advance(stopper, tol)
            if monitor is not None and monitor(run):
                run.stop()
    return run.result()
