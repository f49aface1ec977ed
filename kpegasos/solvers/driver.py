"""What every solver's run does: advance a compiled loop in slices, record, certify, make a result.

A run goes from checkpoint to checkpoint. Between two slices of a loop it listens to its
`Stopper`; at a checkpoint it evaluates the iterates and decides whether to go on. A solver says
which loop to run up to where, and which iterates count. Rows are a `RowSource`, of any kind.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from kpegasos.core.averaging import has_clock_over_t
from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import Problem, dual_bound, is_impossible, primal
from kpegasos.core.state import MARGINS_STALE, ROW_HITS, Iterate, LoopParameters, State
from kpegasos.rows.base import Algorithm, Evaluated, RowSource
from kpegasos.solvers.history import History, Record
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper, TimeSlicer
from kpegasos.utils import tuning


class Evaluation(NamedTuple):
    """An iterate at a checkpoint, and its objective."""

    evaluated: Evaluated
    objective: float

    @property
    def coef(self) -> np.ndarray:
        """``c`` of ``w = Σ c_j ω_j y_j φ(x_j)``, of shape (n_samples,)."""
        return self.evaluated.coef

    @property
    def margins(self) -> np.ndarray:
        """``f(x_i)``, of shape (n_samples,)."""
        return self.evaluated.margins

    @property
    def squared_norm(self) -> float:
        """``‖w‖²``."""
        return self.evaluated.squared_norm


class Certificate(NamedTuple):
    """Dual bound, gap and relative gap; NaN where there is none."""

    dual_bound: float
    gap: float
    relative_gap: float


class OnAccount:
    """A block whose time and kernel values are charged to a state, and which errors cut in half.

    Attributes
    ----------
    seconds : float
        How long the block took, once it is over.
    """

    def __init__(self, rows: RowSource, state: State) -> None:
        self._rows = rows
        self._state = state
        self.seconds = 0.0

    def __enter__(self) -> OnAccount:
        self._evaluations = self._rows.evaluations
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._state.whole = False
            self._rows.forget()
        self.seconds = time.perf_counter() - self._begin
        self._state.seconds += self.seconds
        self._state.evaluations += self._rows.evaluations - self._evaluations


class SolverRun(ABC):
    """A run that can be advanced, looked at and stopped.

    Parameters
    ----------
    problem : Problem
    rows : RowSource
    state : State
        Modified in place.
    stream : IndexStream
    first : int, default=0
        Step of the state at which the stream begins.
    history : History, default=None
        To which records are added.

    Attributes
    ----------
    status : str
        ``"running"``, or why the run ended; see `Result`.
    """

    #: The loop that slices run.
    algorithm: Algorithm
    #: Steps and draws that another run of the same fit has done before.
    steps_before: int = 0
    draws_before: int = 0

    def __init__(
        self,
        problem: Problem,
        rows: RowSource,
        state: State,
        stream: IndexStream,
        *,
        first: int = 0,
        history: History | None = None,
    ) -> None:
        if rows.n_samples != problem.y.size:
            raise ValueError(
                f"rows must belong to the {problem.y.size} examples of the problem, "
                f"got {rows.n_samples} instead"
            )
        rows.check_lam(problem.lam)
        self.problem = problem
        self.rows = rows
        self.state = state
        self.history = history if history is not None else History()
        self.status = "running"
        state.certified = state.certified and rows.positive_definite
        options = state.options
        self.examples = problem.examples
        self.parameters = LoopParameters(
            float(problem.lam),
            problem.y.size,
            int(options.batch_size),
            bool(options.projection),
            has_clock_over_t(options.average),
        )
        self._stream = stream
        self._stream_begin = first
        self._first = state.steps
        self._slicer = TimeSlicer(tuning.FIRST_SLICE)
        self._fewest_draws = tuning.FIRST_SLICE
        self._evaluated: tuple[int, Evaluation, Evaluation] | None = None
        state.evaluations += rows.claim_construction()

    # --- what solvers differ in ---

    @abstractmethod
    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on to the next checkpoint; returns the stopper's reason if that came first."""

    @abstractmethod
    def iterates(self) -> list[Iterate]:
        """The last iterate, and the one to return if that is another."""

    @abstractmethod
    def at_end(self) -> bool:
        """Whether there is no further checkpoint."""

    def refuse_indefinite(self) -> None:
        """Act on values that contradict a positive semi-definite kernel."""
        self.state.certified = False

    # --- advancing ---

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end, whatever the reason."""
        return self.status != "running"

    def stop(self) -> None:
        """End an unfinished run where it stands."""
        if not self.finished:
            self.status = "stopped"

    def advance(self, stopper: Stopper, tol: float | None = None) -> None:
        """Go on to the next checkpoint, evaluate there and decide whether the run is finished.

        The first slice of a run is done before the stopper is heeded, so there always is a model;
        it is a short one where there is reason to stop from the beginning.

        Parameters
        ----------
        stopper : Stopper
        tol : float, default=None
            Relative gap at which the run ends.
        """
        reason = self.advance_to_checkpoint(stopper)
        ends = self.at_end() or reason is not None
        self.record()
        if tol is not None and self.history.records[-1].relative_gap <= tol:
            self.status = "tolerance"
        elif reason is not None:
            self.status = reason
        elif ends:
            self.status = "completed"
        else:
            self.status = self._stop_reason(stopper) or "running"

    def take_steps(self, target: int, stopper: Stopper) -> str | None:
        """Run the loop up to a step, in slices; returns the stopper's reason if that came first."""
        state, k = self.state, self.parameters.batch_size
        reason = None
        if state.steps == self._first and stopper.reason() is not None:
            # Others have used up the time, or Ctrl-C came: there may be many more such runs.
            self._slicer.draws = self._fewest_draws = tuning.FEWEST_DRAWS
        while reason is None and state.steps < target:
            steps = state.steps
            end = self._slice_end(min(target, steps + max(1, self._slicer.draws // k)))
            draws = self._stream.take(
                (steps - self._stream_begin) * k,
                (end - self._stream_begin) * k + self.rows.look_ahead(steps * k, k),
            )
            with self.on_account() as account:
                self.rows.advance(
                    self.algorithm,
                    state.loop,
                    draws,
                    (end - steps) * k,
                    self.examples,
                    self.parameters,
                )
                self._end_slice()
            self._slicer.done((end - steps) * k, account.seconds)
            if state.steps < target:
                reason = self._stop_reason(stopper)
        if state.loop.counters[MARGINS_STALE]:
            with self.on_account():
                self.rows.refresh_margins(state.loop, self.examples)
        return reason

    def _slice_end(self, end: int) -> int:
        """Where a slice that would end at a step ends instead."""
        return end

    def _end_slice(self) -> None:  # noqa: B027
        """Do what is due after a slice."""

    def on_account(self) -> OnAccount:
        """Charge time and kernel values of a block to the state."""
        return OnAccount(self.rows, self.state)

    def _stop_reason(self, stopper: Stopper) -> str | None:
        """The stopper's reason, once the first slice of the run is done."""
        draws = (self.state.steps - self._first) * self.parameters.batch_size
        return stopper.reason() if draws >= self._fewest_draws else None

    # --- evaluating ---

    def evaluate(self) -> tuple[Evaluation, Evaluation]:
        """The last iterate and the returned one, as they stand; also raises the dual bound."""
        if self._evaluated is None or self._evaluated[0] != self.state.steps:
            found = self.rows.evaluate(self.iterates(), self.state.loop, self.examples)
            evaluations = [self._certify(evaluated) for evaluated in found]
            self._evaluated = (self.state.steps, evaluations[0], evaluations[-1])
        return self._evaluated[1:]

    def _certify(self, evaluated: Evaluated) -> Evaluation:
        objective = primal(evaluated.margins, evaluated.squared_norm, self.problem)
        if self.state.certified:
            bound = dual_bound(evaluated.coef, evaluated.squared_norm, self.problem)
            self.state.best_dual = max(self.state.best_dual, bound)
            if is_impossible(objective, self.state.best_dual, evaluated.squared_norm):
                self.refuse_indefinite()
        return Evaluation(evaluated, objective)

    def certificate(self, objective: float) -> Certificate:
        """Dual bound, gap and relative gap of an objective value."""
        if not self.state.certified:
            return Certificate(math.nan, math.nan, math.nan)
        gap = max(0.0, objective - self.state.best_dual)  # negative by rounding only
        return Certificate(self.state.best_dual, gap, gap / objective)

    def record(self) -> None:
        """Add a record of the run as it stands to the history."""
        last, returned = self.evaluate()
        state = self.state
        draws = self.draws_before + state.steps * state.options.batch_size
        self.history.append(
            Record(
                iteration=self.steps_before + state.steps,
                epoch=draws / self.problem.y.size,
                seconds=state.seconds,
                objective_last=last.objective,
                objective_average=returned.objective,
                **self.certificate(returned.objective)._asdict(),
                support_size=int(np.count_nonzero(state.loop.alpha)),
                kernel_evaluations=state.evaluations,
                cache_hits=int(state.loop.counters[ROW_HITS]),
            )
        )

    def result(self) -> Result:
        """The model as it stands."""
        _, returned = self.evaluate()
        evaluated = returned.evaluated
        w, intercept = self.rows.primal(evaluated, self.examples)
        return Result(
            alpha=self._alpha(),
            coef=evaluated.coef * self.examples.signed,
            w=w,
            intercept=intercept,
            margins=evaluated.margins,
            objective=returned.objective,
            **self.certificate(returned.objective)._asdict(),
            n_steps=self.state.steps,
            status=self.status,
            history=self.history,
            state=self.state,
        )

    def _alpha(self) -> np.ndarray:
        """Counts, or dual variables."""
        return self.state.loop.alpha
