"""What every solver's run does: advance a compiled loop in slices, record, certify, make a result.

A run goes from checkpoint to checkpoint. Between two slices of a loop it listens to its
`Stopper`; at a checkpoint it evaluates the iterates and decides whether to go on. A solver says
which loop to run up to where, and which iterates count. Rows are a `RowSource`, of any kind.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from functools import partial

import numpy as np

from kpegasos.core.averaging import has_clock_over_t
from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import Problem
from kpegasos.core.state import ROW_HITS, Iterate, LoopParameters, State
from kpegasos.rows.base import Algorithm, RowSource
from kpegasos.solvers.account import OnAccount, alone_with
from kpegasos.solvers.certificate import Certifier, Evaluation
from kpegasos.solvers.history import History, Record
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper, TimeSlicer
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding


# long: slices, clock, records and certificate are one state
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
    #: Draws of a run that begins with reason to stop.
    fewest_draws: int = tuning.FEWEST_DRAWS
    #: Whether results hold what another run could go on from.
    keeps_state: bool = True

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
        rows.check_length(problem.y.size)
        rows.check_lam(problem.lam)
        self.problem, self.rows, self.state = problem, rows, state
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
            problem.radius,
        )
        self._stream = stream
        self._stream_begin = first
        self._first = state.steps
        self._slicer = TimeSlicer(1 if rows.computes_as_asked else tuning.FIRST_SLICE)
        self._first_draws = tuning.FIRST_SLICE
        self._evaluated: tuple[int, Evaluation, Evaluation] | None = None
        self._certifier = Certifier(problem, rows, state, self.refuse_indefinite)
        self._own_record = -1
        #: That of the last record, as computed.
        self._gap = np.inf
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
        self._certifier.stopper, self._certifier.tol = stopper, tol
        reason = self.advance_to_checkpoint(stopper)
        ends = self.at_end() or reason is not None
        self.record()
        if tol is not None and self.reaches(tol, stopper):
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
            self._slicer.draws = self._first_draws = self.fewest_draws
        while reason is None and state.steps < target:
            steps = state.steps
            end = self._slice_end(min(target, steps + max(1, self._slicer.draws // k)))
            n_draws, begin = (end - steps) * k, time.perf_counter()
            draws = self._stream.take(
                (steps - self._stream_begin) * k,
                (end - self._stream_begin) * k + self._look_ahead(steps * k, n_draws),
            )
            # A user's functions may take long; where one fails, the state is still whole.
            parameters = self._parameters_of(steps + 1, end - steps)
            drawing = time.perf_counter() - begin
            state.seconds += drawing
            work = self.algorithm, state.loop, draws, n_draws, self.examples, parameters
            account, whole = self.on_account(), state.whole
            try:
                with account, heeding(partial(self._may_go_on, stopper)):
                    self.rows.advance(*work)
                    self._end_slice()
            except CutShort:
                reason = stopper.reason()
                if state.steps == self._first or reason is None or not stopper.is_kept():
                    raise
                state.whole = whole  # rows are left between two steps
                return reason
            self._slicer.done(n_draws, drawing + account.seconds)
            if state.steps < target:
                reason = self._stop_reason(stopper)
        return reason

    def _may_go_on(self, stopper: Stopper) -> bool:
        """Whether rows may go on to compute what the next step needs; else the slice ends there."""
        if self.state.steps == self._first:
            return stopper.bears_delay()
        return self._stop_reason(stopper) is None

    def _look_ahead(self, done: int, n_draws: int) -> int:
        """How many draws beyond a slice its rows are told of: none where each costs much."""
        few = n_draws < tuning.FEWEST_DRAWS
        return 0 if few else self.rows.look_ahead(done, self.parameters.batch_size)

    def _parameters_of(self, first: int, n_steps: int) -> LoopParameters:
        """Parameters of some steps, with their sizes where these are not Pegasos' own."""
        return self.parameters

    def _slice_end(self, end: int) -> int:
        """Where a slice that would end at a step ends instead."""
        return end

    def _end_slice(self) -> None:  # noqa: B027
        """Do what is due after a slice."""

    def on_account(self) -> OnAccount:
        """Have the rows alone in a block, and charge its time and kernel values to the state."""
        return OnAccount(self.rows, self.state)

    def _stop_reason(self, stopper: Stopper) -> str | None:
        """The stopper's reason, once the first slice of the run is done."""
        draws = (self.state.steps - self._first) * self.parameters.batch_size
        is_enough = draws >= self._first_draws or self._slicer.is_slow
        return stopper.reason() if is_enough else None

    # --- evaluating ---

    def evaluate(self) -> tuple[Evaluation, Evaluation]:
        """The last iterate and the returned one, as they stand; also raises the dual bound."""
        if self._evaluated is None or self._evaluated[0] != self.state.steps:
            with alone_with(self.rows):
                found = self.rows.evaluate(self.iterates(), self.state.loop, self.examples)
            evaluations = [self._certifier.evaluate(evaluated) for evaluated in found]
            self._evaluated = (self.state.steps, evaluations[0], evaluations[-1])
        return self._evaluated[1:]

    def reaches(self, tol: float, stopper: Stopper) -> bool:
        """Whether the relative gap of the returned iterate is at most this, with its rounding."""
        return self._certifier.reaches(self.evaluate()[1], tol, stopper)

    def record(self) -> None:
        """Add a record of the run as it stands to the history."""
        (last, returned), state, loop = self.evaluate(), self.state, self.state.loop
        draws = self.draws_before + state.steps * state.options.batch_size
        told, self._gap = self._certifier.as_told(returned)
        self.history.append(
            Record(
                self.steps_before + state.steps,
                draws / self.problem.y.size,
                state.seconds,
                last.objective,
                returned.objective,
                *told,
                int(np.count_nonzero(loop.alpha)),
                state.evaluations,
                loop.counters.item(ROW_HITS),
            )
        )
        self._own_record = len(self.history) - 1

    def _close_history(self, final: Evaluation) -> None:
        """Put the rounding of the last record into its gap."""
        if self._own_record == len(self.history) - 1 >= 0:
            self.history.records[-1] = self.history.records[-1]._replace(
                seconds=self.state.seconds,
                objective_average=final.objective,
                **self._certifier.as_proven(final)._asdict(),
                kernel_evaluations=self.state.evaluations,
            )

    def result(self, of: SolverRun | None = None) -> Result:
        """The model as it stands; at the end of the run, with as little rounding as need be.

        Parameters
        ----------
        of : SolverRun, default=None
            Run that this one goes on from; the result has its counts and state.
        """
        told, returned = of or self, self.evaluate()[1]
        computed = self._certifier.as_computed(returned)
        final = self._certifier.final(returned, self.finished)
        if self.finished:
            self._close_history(final)
        certificate = self._certifier.as_proven(final)
        rounding = max(0.0, certificate.gap - computed.gap)
        coef = final.coef * self.examples.signed
        w, intercept = self.rows.primal(final.evaluated, self.examples)
        return Result(
            alpha=told.alpha,
            coef=coef,
            w=w,
            intercept=intercept,
            margins=final.margins,
            objective=final.objective,
            **certificate._replace(rounding=rounding)._asdict(),
            n_steps=told.state.steps,
            status=self.status,
            history=self.history,
            state=told.state if told.keeps_state else None,
            decisions=self.rows.decisions(coef, w, intercept),
            classes=self.problem.classes,
            regression=bool(self.problem.loss.regression),
        )

    @property
    def alpha(self) -> np.ndarray:
        """Counts, or dual variables."""
        return self.state.loop.alpha
