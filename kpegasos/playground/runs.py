"""Models over all their steps: what a time axis needs to go back and forth.

A `PaneRun` is what `PegasosSVC` with ``checkpoints="log"`` would be for every number of steps. It
evaluates at the checkpoints once, keeps the state there, and goes on from the nearest one. A loop
that is cut elsewhere makes the same iterates to the last bit, so where it begins does not show.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.draws import IndexStream
from kpegasos.core.state import SCALE, LoopState, State
from kpegasos.core.steps import Constant, DelayedInverse, InverseSquareRoot
from kpegasos.estimators import PegasosSVC
from kpegasos.estimators._fitted import set_model
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._training import FitPlan
from kpegasos.losses.base import pulls
from kpegasos.playground.checks import MOST_STEPS, MessageError
from kpegasos.playground.scenes import Pane, Settings, StepRule
from kpegasos.solvers.certificate import Evaluation
from kpegasos.solvers.history import History
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.result import Result, Results
from kpegasos.solvers.stopping import Stopper

#: Steps after which a state is kept: fewer are done again sooner than they are copied.
_WORTH_KEEPING = 500
_DEFAULTS = PegasosSVC().get_params()


def parameters_of(pane: Pane, settings: Settings) -> dict[str, Any]:
    """Parameters of the pane's `PegasosSVC` that are not its defaults, but for its steps."""
    cost = {"C": settings.C} if settings.lam is None else {"lam": settings.lam}
    own: dict[str, Any] = {"kernel": pane.kernel}
    if pane.kernel != "linear":
        own["gamma"] = pane.gamma
    if pane.kernel == "poly":
        own["degree"] = pane.degree
    if pane.kernel in ("poly", "sigmoid"):
        own["coef0"] = pane.coef0
    shared = {
        "loss": settings.loss,
        "fit_intercept": settings.fit_intercept,
        "batch_size": settings.batch_size,
        "sampling": settings.sampling,
        "projection": settings.projection,
        "average": settings.average,
    }
    changed = {name: value for name, value in shared.items() if value != _DEFAULTS[name]}
    return {**own, **cost, **changed, "random_state": settings.seed}


def step_of(step: StepRule | None, lam: float) -> Any:
    """The step rule of the package; None for Pegasos' own."""
    if step is None:
        return None
    if step.rule == "inverse_sqrt":
        return InverseSquareRoot(step.scale)
    return Constant(step.scale) if step.rule == "constant" else DelayedInverse()


class Draws(NamedTuple):
    """What step t looked at, and what it found.

    Attributes
    ----------
    examples : ndarray of shape (batch_size,), int64
        Among the examples of the pair.
    decisions : ndarray of shape (batch_size,)
        Of the iterate before the step.
    violated : ndarray of shape (batch_size,), bool
        Whether the step moved by the example.
    step_size : float
    """

    examples: np.ndarray
    decisions: np.ndarray
    violated: np.ndarray
    step_size: float


class Moment(NamedTuple):
    """A pair of classes at a step."""

    result: Result
    draws: Draws


def _known(state: State) -> tuple[float, float, bool]:
    """What a state says of the optimum: the largest dual values, and whether they count."""
    return state.best_dual, state.proven_bound, state.certified


def _copied(state: State) -> State:
    """A state that goes on by itself; sums that are set aside are never written to again."""
    loop = LoopState(*(array.copy() for array in state.loop))
    return replace(state, loop=loop, suffix_snapshots=dict(state.suffix_snapshots))


class PairRun:
    """A pair of classes over all its steps.

    Parameters
    ----------
    plan : FitPlan
    pair : Pair
    """

    def __init__(self, plan: FitPlan, pair: Pair) -> None:
        self.pair = pair
        front = self._front = plan.make_run(pair, 1, Stopper())
        front.keeps_state = False
        sampling = plan.settings.options.sampling
        self._stream = IndexStream(pair.members.size, sampling, plan.seed, (pair.number,))
        self._ahead: Iterator[int] = iter(front.points)
        self._next = next(self._ahead)
        #: The checkpoints passed, what was known of the optimum there, and the averaged iterates.
        self._passed: list[int] = []
        self._known: list[tuple[float, float, bool]] = [_known(front.state)]
        self._averages: list[Evaluation] = []
        #: States to go on from, and their steps.
        self._states, self._steps = [_copied(front.state)], [0]
        self._cursor = self._states[0]

    def drawn(self, t: int) -> np.ndarray:
        """The examples of step t, among those of the pair."""
        k = self._front.parameters.batch_size
        return self._stream.take((t - 1) * k, t * k)

    def at(self, t: int, stopper: Stopper) -> Moment:
        """The pair after ``t`` steps, at least one.

        Raises
        ------
        MessageError
            If the stopper's time is over before; what was done is kept for the next call.
        """
        while self._next < t:
            self._reach_checkpoint(t, stopper)
        run = self._run_from(t - 1)
        _advance(run, t - 1, t, stopper)
        draws = self._look(run, t)
        _advance(run, t, t, stopper)
        self._cursor = _copied(run.state)
        run.status = "completed"
        run.record()
        run.history.records[:0] = self._front.history.records[: self._n_passed(t)]
        return Moment(run.result(), draws)

    def models(self, first: int, stop: int) -> list[tuple[np.ndarray, float]]:
        """Coefficients and intercepts at some of the checkpoints that are passed."""
        rows, examples = self._front.rows, self._front.examples
        return [
            (average.coef * examples.signed, rows.primal(average.evaluated, examples)[1])
            for average in self._averages[first:stop]
        ]

    def _n_passed(self, t: int) -> int:
        """Checkpoints before a step."""
        return bisect_left(self._passed, t)

    def _reach_checkpoint(self, t: int, stopper: Stopper) -> None:
        """Go on to the next checkpoint, evaluate and keep the state there."""
        front = self._front
        _advance(front, self._next, t, stopper)
        front.record()
        self._averages.append(front.evaluate()[1])
        self._passed.append(self._next)
        self._known.append(_known(front.state))
        if self._next >= _WORTH_KEEPING:
            self._steps.append(self._next)
            self._states.append(_copied(front.state))
        self._next = next(self._ahead)

    def _run_from(self, t: int) -> PegasosRun:
        """A run that is to go to the step after, from the latest state at hand."""
        state = self._states[bisect_right(self._steps, t) - 1]
        if state.steps < self._cursor.steps <= t:
            state = self._cursor
        front, state = self._front, _copied(state)
        state.best_dual, state.proven_bound, state.certified = self._known[self._n_passed(t + 1)]
        run = PegasosRun(front.problem, front.rows, state, front.points)
        run.keeps_state = False
        return run

    def _look(self, run: PegasosRun, t: int) -> Draws:
        """What the next step, number t, is going to do."""
        examples = self.drawn(t)
        parameters, loop = run.parameters, run.state.loop
        unit = parameters.lam * parameters.batch_size * max(1, t - 1)
        decisions = loop.image[examples] * (loop.scalars[SCALE] / unit)
        pulled = pulls(run.problem.loss, decisions, run.examples.label[examples])
        step = run.state.options.step
        size = 1.0 / (parameters.lam * t)
        if step is not None:
            size = float(step(np.array([t]), parameters.lam)[0])
        return Draws(examples, decisions, pulled != 0.0, size)


def _advance(run: PegasosRun, target: int, t: int, stopper: Stopper) -> None:
    if run.take_steps(target, stopper) is not None and run.state.steps < target:
        raise MessageError(
            "t",
            f"t must be less, or asked for again, as time was up at step {run.state.steps:,}, "
            f"got {t:,} instead",
        )


class PaneRun:
    """The model of a pane over all its steps.

    Parameters
    ----------
    pane : Pane
    settings : Settings
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,), int64
        Two or more classes.

    Raises
    ------
    ValueError
        As `PegasosSVC` raises it.
    """

    def __init__(self, pane: Pane, settings: Settings, X: np.ndarray, y: np.ndarray) -> None:
        self.parameters = parameters_of(pane, settings)
        estimator = self._estimator(MOST_STEPS)
        # The estimator's own validation would find nothing: a scene is checked, and of float64.
        self.targets = estimator._targets(y, np.ones(len(y)))
        self.plan = estimator._plan(X, self.targets, in_step=False)
        self.plan.prepare(Stopper())
        self.X, self.y = X, y
        if settings.step is not None:
            options = self.plan.settings.options._replace(step=step_of(settings.step, 1.0))
            self.plan.settings = replace(self.plan.settings, options=options)
        self._planned = estimator
        self.pairs = [PairRun(self.plan, pair) for pair in self.plan.pairs]
        #: Models of other algorithms, by their names in messages.
        self.others: dict[str, PegasosSVC] = {}
        #: Of the model at each checkpoint, as far as somebody has asked.
        self.test_errors: list[float] = []
        self._last: tuple[int, list[Moment]] = (0, [])

    @property
    def kernel(self) -> Any:
        """The kernel, with its parameters as numbers."""
        return self.plan.known["_kernel"]

    @property
    def counts(self) -> bool:
        """Whether coefficients are numbers of violations."""
        return self.plan.settings.counts and self.plan.settings.options.step is None

    def at(self, t: int, stopper: Stopper) -> list[Moment]:
        """All pairs after ``t`` steps, at least one; the last answer is kept."""
        if self._last[0] != t:
            self._last = t, [pair.at(t, stopper) for pair in self.pairs]
        return self._last[1]

    def model(self, t: int, moments: list[Moment]) -> PegasosSVC:
        """The estimator as it would be fitted by so many steps."""
        model = self._estimator(t)
        results = Results([moment.result for moment in moments])
        attributes = self._planned._attributes(self.plan, self.targets, results)
        model.n_features_in_ = self.X.shape[1]
        set_model(model, {**self.plan.known, **attributes, "_states": None})
        return model

    def with_coefficients(self, models: list[tuple[np.ndarray, float]]) -> PegasosSVC:
        """An estimator that decides by the coefficients and intercepts of another algorithm."""
        moments = [
            moment._replace(
                result=replace(
                    moment.result,
                    alpha=np.zeros(coef.size),
                    coef=coef,
                    intercept=intercept,
                    history=History(),
                )
            )
            for moment, (coef, intercept) in zip(self.at(1, Stopper()), models, strict=True)
        ]
        return self.model(1, moments)

    def _estimator(self, n_steps: int) -> PegasosSVC:
        return PegasosSVC(**self.parameters, n_steps=n_steps, checkpoints="log")
