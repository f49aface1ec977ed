"""Pegasos over any rows: the run that the driver advances, and `pegasos`, the function.

The update is in `kpegasos.core.loops`; slices, records and certificate are in
`kpegasos.solvers.driver`. This module adds checkpoints, forecasts and resuming a state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np

from kpegasos.core.draws import MOST_DRAWS, IndexStream, Sampling
from kpegasos.core.loops import primal_steps
from kpegasos.core.problem import Problem
from kpegasos.core.state import (
    CLOCK,
    SCALE,
    STEPS,
    Examples,
    LoopParameters,
    LoopState,
    PegasosOptions,
    State,
    check_options,
    new_state,
    options_for,
)
from kpegasos.core.steps import StepRule
from kpegasos.losses import is_hinge
from kpegasos.losses.base import pulls
from kpegasos.rows.base import Algorithm, RowSource
from kpegasos.solvers.driver import SolverRun, run_to_end
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import as_integer, as_number, draw_seed, optional, shown

#: ``"auto"``, ``"epoch"``, ``"log"``, steps, or None.
CheckpointSpec = str | Sequence[int] | None
#: Epochs of a decade that ``"auto"`` looks at: enough for a curve over a logarithmic axis.
_OF_A_DECADE = (1, 2, 5)


def _violation_priority(
    state: LoopState, members: np.ndarray, examples: Examples, parameters: LoopParameters
) -> np.ndarray:
    """Score the examples by their margin, averaged over the iterates where the sums are kept.

    Early iterates swing about their average by whole margins, so the average predicts the margin at
    a later step better than the current iterate does.
    """
    if not is_hinge(examples.loss):
        return _pull_priority(state, members, examples, parameters)
    steps = state.counters[STEPS]
    threshold = parameters.lam * parameters.batch_size * steps
    image = state.image[members]
    if state.stamped_image.size and steps > 1 and not parameters.clock_over_t:
        weights = 2.0 / (steps + 1.0)
        margins = weights * (state.scalars[CLOCK] * image - state.stamped_image[members])
    else:
        margins = state.scalars[SCALE] * image
    return np.asarray(examples.label[members] * margins - threshold)


def _pull_priority(
    state: LoopState, members: np.ndarray, examples: Examples, parameters: LoopParameters
) -> np.ndarray:
    """Score the examples by the size of their pull, the largest first, those of none last."""
    steps = max(1, int(state.counters[STEPS]))
    to_decision = state.scalars[SCALE] / (parameters.lam * parameters.batch_size * steps)
    found = np.abs(
        pulls(examples.loss, to_decision * state.image[members], examples.label[members])
    )
    return np.where(found > 0.0, -found, np.inf)


PRIMAL = Algorithm(primal_steps, _violation_priority, from_zero=True)


class Checkpoints:
    """Increasing steps in ``(first, last]``; ``last`` is always among them.

    They are computed one by one: a run with a deadline may plan millions of steps and reach a few.

    Parameters
    ----------
    checkpoints : {"auto", "epoch", "log"}, sequence of int, or None
        In this order: ends of the epochs 1, 2, 5, 10, 20, 50 and so on, ends of all epochs, ten
        steps a decade, these steps, or the end only.
    first, last : int
        Steps at which the run begins and ends.
    n_samples, batch_size : int
        They define the epochs.

    Raises
    ------
    ValueError
        For any other checkpoints.
    """

    def __init__(
        self,
        checkpoints: CheckpointSpec,
        first: int,
        last: int,
        n_samples: int,
        batch_size: int,
    ) -> None:
        self.first = first
        self.last = last
        self._checkpoints = _checked(checkpoints)
        self._n_samples = n_samples
        self._batch_size = batch_size

    def _steps(self) -> Iterator[int]:
        """Return steps that do not decrease; some may be too early or too late."""
        if isinstance(self._checkpoints, str):
            if self._checkpoints == "log":
                return (round(10 ** (number / 10)) for number in count())
            n_samples, k = self._n_samples, self._batch_size
            epochs: Iterator[int] = count(self._first_epoch)
            if self._checkpoints == "auto":
                epochs = (10**decade * digit for decade in count() for digit in _OF_A_DECADE)
            return (-(-number * n_samples // k) for number in epochs)
        return iter(self._checkpoints)

    @property
    def _first_epoch(self) -> int:
        """Number of the first epoch that ends after the run begins."""
        return self.first * self._batch_size // self._n_samples + 1

    def __iter__(self) -> Iterator[int]:
        previous = self.first
        for step in takewhile(lambda step: step < self.last, self._steps()):
            if step > previous:
                yield step
                previous = step
        yield self.last

    def __len__(self) -> int:
        if self._checkpoints != "epoch":
            return sum(1 for _ in self)
        # There may be too many to count; epochs end at different steps, the first after `first`.
        last_epoch = (self.last - 1) * self._batch_size // self._n_samples
        return max(0, last_epoch - self._first_epoch + 1) + 1


def _checked(checkpoints: Any) -> str | list[int]:
    """Return a name, or steps in order."""
    if checkpoints is None:
        return []
    if isinstance(checkpoints, str):
        if checkpoints in ("auto", "epoch", "log"):
            return str(checkpoints)
    elif isinstance(checkpoints, Collection) and getattr(checkpoints, "ndim", 1) == 1:
        return sorted(as_integer("each of checkpoints", step, least=1) for step in checkpoints)
    raise ValueError(
        f"checkpoints must be 'auto', 'epoch', 'log', a sequence of steps or None, "
        f"got {shown(checkpoints)} instead"
    )


def growing_steps(first: int, last: int, epoch_steps: float) -> list[int]:
    """Choose steps ever further apart, from an eighth of an epoch on."""
    begin = max(1, int(epoch_steps / 8))
    steps = (first + int(begin * 1.5**number) for number in count())
    return list(takewhile(lambda step: step < last, steps))


class PegasosRun(SolverRun):
    """A run of Pegasos that can be advanced, looked at and stopped at any step.

    Parameters
    ----------
    problem : Problem
    rows : RowSource
    state : State
        From `new_state`, or of an earlier run to go on from; modified in place.
    points : Checkpoints
        Steps at which to record; the run ends at the last.
    stream : IndexStream, default=None
        Source of the draws; made from the state's seed if None.
    first : int, default=0
        Step of the state at which the stream begins.
    """

    algorithm = PRIMAL

    def __init__(
        self,
        problem: Problem,
        rows: RowSource,
        state: State,
        points: Checkpoints,
        *,
        stream: IndexStream | None = None,
        first: int = 0,
    ) -> None:
        if stream is None:
            sampling = state.options.sampling
            stream = IndexStream(problem.y.size, sampling, state.seed, state.spawn_key)
        super().__init__(problem, rows, state, stream, first=first)
        self._plan(points)

    def _plan(self, points: Checkpoints) -> None:
        """Plan steps up to the last of some points; those already passed do not count."""
        self.points, self.most_steps = points, points.last
        self._next = done = self.state.steps
        self._ahead = (step for step in points if step > done)

    def extend(self, points: Checkpoints) -> None:
        """Go on beyond the end that was planned, with the same sequence of iterates."""
        self._plan(points)
        self.status = "running"

    @property
    def progress(self) -> float:
        """Share of the planned steps that is done, from 0 to 1."""
        first, last = self.points.first, self.points.last
        steps = self.state.loop.counters.item(STEPS)
        is_done = self.status in ("completed", "tolerance")
        return 1.0 if is_done else (steps - first) / (last - first)

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on to the next of the points."""
        if self._next <= self.state.steps:  # else a pause has come before it
            self._next = next(self._ahead)
        return self.take_steps(self._next, stopper)

    @property
    def alpha(self) -> np.ndarray:
        """Counts or sums of pulls, times the product of the later projections."""
        return self.state.loop.scalars[SCALE] * self.state.loop.alpha


def check_task(problem: Any, rows: Any) -> None:
    """Check the types of a problem and of rows.

    Raises
    ------
    TypeError
        If one of them is of another type.
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem must be a Problem, as make_problem returns it, got {shown(problem)} instead"
        )
    if not isinstance(rows, RowSource):
        raise TypeError(
            f"rows must be a RowSource, such as make_rows returns, got {shown(rows)} instead"
        )


def total_steps(n_steps: int | None, epochs: float | None, n_samples: int, batch_size: int) -> int:
    """Count steps: ``n_steps`` when given, else whole mini-batches that cover ``epochs``.

    Raises
    ------
    ValueError
        If neither is given, or a given one is not positive and finite, or too large.
    """
    if n_steps is None or epochs is not None:
        epochs = as_number("epochs", epochs, positive=True, most=MOST_DRAWS // n_samples)
    if n_steps is not None:
        return as_integer("n_steps", n_steps, least=1, most=MOST_DRAWS // batch_size)
    assert epochs is not None
    # A product such as 2.2 · 25 may exceed the intended whole number by a rounding error.
    draws = epochs * n_samples
    return max(1, math.ceil(draws * (1.0 - 4 * np.finfo(float).eps) / batch_size))


def make_run(
    problem: Problem,
    rows: RowSource,
    options: PegasosOptions,
    *,
    n_steps: int | None,
    epochs: float | None,
    checkpoints: CheckpointSpec,
    tol: float | None,
    seed: int,
    spawn_key: tuple[int, ...] = (),
    state: State | None = None,
) -> PegasosRun:
    """Check everything and set up a run, new or continued from ``state``.

    Parameters are those of `pegasos`; ``seed`` and ``spawn_key`` make the index stream.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """
    check_task(problem, rows)
    options = options_for(problem.loss, check_options(options, problem.y.size))
    if tol is not None and not rows.positive_definite:
        raise ValueError(
            "tol and polish need a positive semi-definite kernel: "
            "without one no duality gap is certified"
        )
    if state is not None and not isinstance(state, State):
        raise TypeError(f"state must be a State, as of a Result, got {shown(state)} instead")
    if state is None:
        state = new_state(rows.n_samples, rows.image_size, options, problem.lam, seed, spawn_key)
    else:
        check_earlier(state, problem, options, rows.image_kind, rows.image_size)
    first = state.steps
    last = first + total_steps(n_steps, epochs, problem.y.size, options.batch_size)
    if tol is not None and checkpoints is None:
        epoch_steps = problem.y.size / options.batch_size
        cheap = rows.image_kind == "margins"
        checkpoints = "epoch" if cheap else growing_steps(first, last, epoch_steps)
    points = Checkpoints(checkpoints, first, last, problem.y.size, options.batch_size)
    return PegasosRun(problem, rows, state, points)


def check_earlier(
    state: State, problem: Problem, options: PegasosOptions, image_kind: str, image_size: int
) -> None:
    """Check that a run of a problem can go on from a state.

    Raises
    ------
    ValueError
        If the state belongs to a different run, or is not whole.
    """
    if (
        # Two losses without parameters are equal as tuples.
        (type(state.loss), state.loss) != (type(problem.loss), problem.loss)
        or state.options != options
        or (state.lam, state.free_intercept) != (problem.lam, problem.free_intercept)
        or state.loop.alpha.size != problem.y.size
    ):
        raise ValueError(
            "state must come from a run with the same examples, lam, loss, free_intercept, "
            "batch_size, sampling, projection, average, step and kind of rows (kernel or linear)"
        )
    if not state.whole:
        raise ValueError(
            "state must be whole, got one that an error or a second Ctrl-C left in the middle of a "
            "step"
        )
    if (state.image_kind, state.loop.image.size) != (image_kind, image_size):
        raise ValueError(
            "state must come from a run on the same kind of rows (kernel or linear), got others"
        )


def pegasos(
    problem: Problem,
    rows: RowSource,
    *,
    n_steps: int | None = None,
    epochs: float | None = 20,
    batch_size: int = 1,
    sampling: Sampling = "permutation",
    projection: bool = False,
    average: str | None = "weighted",
    step: StepRule | None = None,
    tol: float | None = None,
    max_time: float | None = None,
    checkpoints: CheckpointSpec = "epoch",
    random_state: int | np.random.RandomState | None = None,
    state: State | None = None,
    monitor: Callable[[PegasosRun], bool | None] | None = None,
) -> Result:
    """Train a binary model with Pegasos (ICML 2007, figure 1; MPB 2011, Figs. 1-3).

    Parameters
    ----------
    problem : Problem
        From `make_problem`.
    rows : RowSource
        From `make_rows` (kernel) or `linear_rows` (primal vector).
    n_steps : int, default=None
        Steps T; if given, ``epochs`` does not count.
    epochs : float, default=20
        Passes over the data, in draws: ``n_samples / batch_size`` steps each. May be a fraction.
    batch_size : int, default=1
        Examples k of one step.
    sampling : {"permutation", "uniform", "contiguous"} or callable, default="permutation"
        A fresh permutation each epoch, independent draws as in the papers, or runs of 64
        consecutive rows in random order, for rows that come in no particular order. A callable
        ``f(rng, n_samples)`` returns the draws of one epoch.
    projection : bool, default=False
        After each step, project onto a ball that contains the optimum; its radius is
        ``1/sqrt(lam)`` with the hinge. A loss of unbounded slope is always projected.
    average : {"weighted", "suffix", "uniform"} or None, default="weighted"
        Which iterate is returned; see `kpegasos.core.state`.
    step : callable, default=None
        Sizes of the steps: ``step(t, lam)`` for an array of numbers t, positive and at most
        ``1 / lam``; see `kpegasos.core.steps`. None for Pegasos' own ``1 / (lam t)``.
    tol : float, default=None
        Stop at a checkpoint where the certified relative gap is at most this.
    max_time : float, default=None
        Seconds after which the model reached so far is returned.
    checkpoints : {"epoch", "log", "auto"}, sequence of int or None, default="epoch"
        Checkpoints; "auto" are epochs 1, 2, 5, 10, 20, 50 and so on. None evaluates at the end
        only, or with ``tol`` where it has to: each epoch, or, for linear rows, at steps that grow
        by half.
    random_state : int, RandomState or None, default=None
        Seeds the index stream.
    state : State, default=None
        ``result.state`` of an earlier call, to go on with the same sequence of iterates. The state
        is modified; after an error in the middle of a step it is of no use.
    monitor : callable, default=None
        Called with the `PegasosRun` at each checkpoint; a true return value stops it.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    TypeError
        If problem, rows, state or monitor is of another type.
    Interrupted
        After Ctrl-C: a `KeyboardInterrupt` whose ``result`` is the model reached so far.

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
    tol = optional(as_number, "tol", tol, least=0.0)
    max_time = optional(as_number, "max_time", max_time, least=0.0)
    if monitor is not None and not callable(monitor):
        raise TypeError(f"monitor must be a function or None, got {shown(monitor)} instead")
    run = make_run(
        problem,
        rows,
        PegasosOptions(batch_size, sampling, projection, average, step),
        n_steps=n_steps,
        epochs=epochs,
        checkpoints=checkpoints,
        tol=tol,
        seed=draw_seed(random_state),
        state=state,
    )
    return run_to_end(run, max_time, tol, monitor)
