"""The run of every solver: advance a compiled loop in slices, record, certify, make a result.

A run goes from checkpoint to checkpoint. Between two slices of a loop it asks its `Stopper`; at a
checkpoint it evaluates the iterates and decides whether to go on. A solver chooses the loop, its
last step, and the iterates that count. Rows are any `RowSource`.

Objective, dual bound and gap account for rounding. Margins come with bounds on their rounding. The
certificate assumes the worst case within them, so that it holds for the exact kernel. In float32
the worst case may be far from the actual error; then the few margins that matter are computed
again, once, as exactly as the rows can (`Certifier.final`).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

from kpegasos.core import free_intercept
from kpegasos.core.certificate import (
    SMALL,
    Gaps,
    gaps_of,
    is_impossible,
    is_mostly_rounding,
    judge,
    limits_of,
    recorded_gap,
    relative,
    slopes,
)
from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import Problem
from kpegasos.core.state import ROW_HITS, STEPS, Iterate, LoopParameters, State, has_clock_over_t
from kpegasos.core.steps import rates_of
from kpegasos.rows.base import (
    Algorithm,
    Evaluated,
    RowSource,
    Steps,
    check_rows,
    claim_construction,
    window_ahead,
)
from kpegasos.solvers.result import History, Record, Result
from kpegasos.solvers.stopping import PAUSED, Interrupted, Stopper, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.boundary import require_shapes
from kpegasos.utils.patience import CutShort, heed, heeding
from kpegasos.utils.threads import is_torn, turn
from kpegasos.utils.validation import shown

# --- what a run costs -----------------------------------------------------------------------------


def alone_with(rows: RowSource, *, counts: bool = False) -> AbstractContextManager[Any]:
    """Open a block in which no other thread changes the rows.

    Parameters
    ----------
    rows : RowSource
    counts : bool, default=False
        Whether the block computes kernel values even on rows that are `RowSource.unchanging`.
    """
    if rows.unchanging and not counts:
        return nullcontext()
    lock = turn(rows, "rows")
    if is_torn(rows):
        rows.forget()
    return lock


class OnAccount:
    """Charge a run for the time and kernel values of a block; an error makes its state not whole.

    No other thread changes the rows meanwhile; time spent waiting for them is not charged.

    Parameters
    ----------
    rows : RowSource
    state : State or PathRun
        What is charged, by its attributes ``seconds``, ``evaluations`` and ``whole``.
    counts : bool, default=False
        Whether the block computes kernel values even on rows that are `RowSource.unchanging`.

    Attributes
    ----------
    seconds : float
        How long the block took, once it is over.
    """

    def __init__(self, rows: RowSource, state: Any, *, counts: bool = False) -> None:
        self._rows, self._state, self.seconds = rows, state, 0.0
        self._counts, self._turn = counts or not rows.unchanging, alone_with(rows, counts=counts)

    def __enter__(self) -> OnAccount:
        self._turn.__enter__()
        self._evaluations, self._begin = self._rows.evaluations, time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is not None:
                self._state.whole = False
                self._rows.forget()
            self.seconds = time.perf_counter() - self._begin
            self._state.seconds += self.seconds
            if self._counts:
                evaluations = self._rows.evaluations - self._evaluations
                self._state.evaluations += evaluations
                if evaluations > 0:
                    self._rows.pace = min(self._rows.pace, self.seconds / evaluations)
        finally:
            self._turn.__exit__(None, None, None)


class TimeSlicer:
    """The number of draws before the next look at the clock: as many as `SLICE_SECONDS` allow.

    Parameters
    ----------
    first : int
        Draws of the first slice.

    Attributes
    ----------
    is_slow : bool
        Whether the last slice took so long that the stopper is asked after it.
    """

    def __init__(self, first: int) -> None:
        self.draws = first
        self.is_slow = False

    def done(self, draws: int, seconds: float) -> None:
        """Adapt the number of draws to a slice that made so many in so many seconds."""
        # Short slices cost more per draw, and are for draws that cost much anyway.
        few = self.draws < tuning.FEWEST_DRAWS
        self.is_slow = seconds > 5 * tuning.SLICE_SECONDS
        if self.is_slow and draws <= tuning.FEWEST_DRAWS:
            self.draws = max(1, self.draws // 2)
        elif seconds > 2 * tuning.SLICE_SECONDS and not few:
            self.draws = max(tuning.FEWEST_DRAWS, self.draws // 2)
        elif (few or seconds < tuning.SLICE_SECONDS) and draws >= self.draws:
            # A slice that ended early, at a checkpoint, says nothing about a longer one.
            self.draws = min(tuning.MOST_DRAWS, 2 * self.draws)


# --- what a run may claim -------------------------------------------------------------------------


_EPS = float(np.finfo(np.float64).eps)
#: Below this share of ``tol`` an iterate of a run that goes on is computed again: its rounding is
#: not known before, and with many examples a second time costs more than further sets.
_ROOM = 0.97
_NO_GAPS = Gaps(*[math.nan] * len(Gaps._fields))


class Certifier:
    """Judges the iterates of a run.

    Parameters
    ----------
    problem : Problem
    rows : RowSource
    state : State
        Holds the largest dual values so far.
    indefinite : str or None
        Message of the error when values contradict a positive semi-definite kernel; with None,
        nothing is certified from then on.
    stopper : Stopper, default=None
        Its deadline and Ctrl-C bound what is computed again.
    tol : float, default=None
        Relative gap that the run was asked for.
    """

    def __init__(
        self,
        problem: Problem,
        rows: RowSource,
        state: State,
        indefinite: str | None,
        stopper: Stopper | None = None,
        tol: float | None = None,
    ) -> None:
        self._problem, self.rows, self._state = problem, rows, state
        self._indefinite, self._limits = indefinite, limits_of(problem.loss)
        self._examples = problem.examples
        self.stopper, self.tol = stopper, tol
        self._best_dual: Evaluated | None = None
        # The iterate that was last computed again, before and after.
        self._settled: tuple[Evaluated, Evaluated] | None = None
        self._checks, self._excess = 3, 0.0

    def evaluate(self, evaluated: Evaluated, settled: bool = False) -> Evaluated:
        """Judge an iterate, and raise the dual bounds of the state."""
        problem, state = self._problem, self._state
        if problem.free_intercept and not settled:
            evaluated = self._with_best_intercept(evaluated)
        if problem.free_intercept or problem.loss.regression:
            evaluated = self._with_own_rounding(evaluated, settled)
        coef, margins = map(np.ascontiguousarray, (evaluated.coef, evaluated.margins))
        require_shapes(("coef", coef, problem.y.shape), ("margins", margins, problem.y.shape))
        sizes = evaluated[2:5]  # squared norm, and the rounding of loss and norm
        known = self._examples, self._limits, coef, margins, *sizes
        objective, upper, dual, proven, impossible = judge(*known, problem.lam, state.proven_bound)
        if state.certified:
            if problem.free_intercept:
                dual, proven = self._dual_with_intercept(evaluated)
            state.best_dual = max(state.best_dual, dual)
            state.proven_bound = max(state.proven_bound, proven)
        else:
            dual = math.nan
        found = evaluated._replace(
            objective=objective, upper_bound=upper, dual=dual, settled=settled
        )
        if not settled and (self._best_dual is None or not dual <= self._best_dual.dual):
            self._best_dual = found
        doubtful = state.certified and (impossible or problem.free_intercept)
        if doubtful and self._is_impossible(found):
            if self._indefinite is not None:
                raise ValueError(self._indefinite)
            state.certified = False
        return found

    def _with_best_intercept(self, evaluated: Evaluated) -> Evaluated:
        """Return an iterate with the best intercept; its norm does not include the intercept."""
        low, high = free_intercept.best_intercept(evaluated.margins, self._examples)
        intercept = free_intercept.middle_of(low, high)
        margins = evaluated.margins + intercept
        return evaluated._replace(margins=margins, intercept=intercept, interval=(low, high))

    def _with_own_rounding(self, evaluated: Evaluated, settled: bool) -> Evaluated:
        """Add the rounding of intercept and targets to the error of the losses.

        A target is a number less an offset. A loss subtracts a decision and an epsilon from it,
        which may cancel most digits. The offset makes the intercept larger.
        """
        problem, margins, examples = self._problem, evaluated.margins, self._examples
        own = np.zeros(margins.size)
        if problem.free_intercept:
            own += self._intercept_rounding(evaluated)
        if problem.loss.regression:
            own += 2.0 * _EPS * (np.abs(margins) + np.abs(problem.y))
        if problem.offset != 0.0:
            _, intercept = evaluated.primal(examples, self.rows.kernel_offset)
            own += 0.5 * _EPS * abs(intercept + problem.offset)
        each = evaluated.margin_rounding + own
        steepest, known = slopes(examples, margins, each), 0.0
        if problem.free_intercept and not settled:  # the rows' bound is for other decisions
            own = each
        else:
            known = evaluated.loss_rounding
        error = known + float(problem.weight @ (steepest * own)) / margins.size
        return evaluated._replace(loss_rounding=error)

    def _intercept_rounding(self, evaluated: Evaluated) -> float:
        """Bound the rounding when a free intercept is added to a margin or subtracted."""
        most = float(np.abs(evaluated.margins).max()) + abs(evaluated.intercept or 0.0)
        return 4.0 * _EPS * most

    def _dual_with_intercept(self, evaluated: Evaluated) -> tuple[float, float]:
        """Return a dual value under the constraint of a free intercept: computed and certified."""
        rows = self.rows
        return free_intercept.dual_bounds(
            self._examples,
            self._limits,
            evaluated.coef,
            evaluated.margins,
            evaluated.primal(self._examples, rows.kernel_offset)[1],
            evaluated.squared_norm,
            evaluated.norm_rounding,
            evaluated.margin_rounding + self._intercept_rounding(evaluated),
            free_intercept.longest_image(rows.largest, rows.kernel_offset, rows.rounding),
            self._problem.lam,
        )

    def _is_impossible(self, evaluation: Evaluated) -> bool:
        """Check whether values contradict a positive semi-definite kernel beyond rounding."""
        lam, bound = self._problem.lam, self._state.proven_bound
        half, norm, upper = 0.5 * lam, evaluation.norm_rounding, evaluation.upper_bound
        term = half * evaluation.squared_norm
        if not is_impossible(upper, bound, term, half * norm):
            return False
        error = self.rows.tolerated_error
        size = float(np.abs(evaluation.coef) @ self._problem.weight)
        upper += error * (0.5 / lam + size + half * size**2)
        return is_impossible(upper, bound, term, half * (norm + error * size**2))

    def gaps(self, evaluation: Evaluated) -> Gaps:
        """Compute the gaps of an iterate from the largest dual values so far."""
        state, of = self._state, (evaluation.objective, evaluation.upper_bound)
        if not state.certified:
            return _NO_GAPS
        return gaps_of(*of, state.best_dual, state.proven_bound, evaluation.settled)

    def _relative_gap(self, evaluation: Evaluated) -> float:
        """Return the certified gap over the objective."""
        return relative(self.gaps(evaluation).proven, evaluation.objective)

    # --- with as little rounding as the rows can ---

    def reaches(self, evaluation: Evaluated, tol: float, goes_on: bool = False) -> bool:
        """Return whether the certified relative gap is at most ``tol``.

        Where rounding alone prevents it, the iterate is computed again. Later checks subtract the
        rounding that remained from ``tol``. A run that goes on waits a little longer (`_ROOM`).
        """
        objective = evaluation.objective
        if self._relative_gap(self._best_known(evaluation)) <= tol:
            return True
        computed = relative(self.gaps(evaluation).computed, objective)
        enough = (_ROOM if goes_on else 1.0) * tol - self._excess
        if self.out_of_reach(tol) or not computed <= enough:
            return False
        self._checks -= 1
        gap = self._relative_gap(self._settle(evaluation))
        self._excess = gap - computed
        return gap <= tol

    def out_of_reach(self, tol: float) -> bool:
        """Return whether rounding was found to keep the gap above ``tol``; 0 asks for all epochs.

        Parameters
        ----------
        tol : float
        """
        return tol > 0.0 and (self._checks == 0 or self._excess >= tol)

    def final(self, evaluation: Evaluated, is_over: bool) -> Evaluated:
        """Return what results report of an iterate: at the end, with less rounding if need be.

        Parameters
        ----------
        evaluation : Evaluated
        is_over : bool
            Whether the run is at its end.
        """
        known = self._best_known(evaluation)
        return self._settle(evaluation) if is_over and self._needs_settling(known) else known

    def _needs_settling(self, evaluation: Evaluated) -> bool:
        """Return whether too much of a gap is rounding, or little work would reduce it."""
        gaps, objective = self.gaps(evaluation), evaluation.objective
        rounding = gaps.proven - gaps.computed
        if evaluation.settled or not rounding > 0.0:
            return False
        tol = math.nan if self.tol is None else self.tol
        if is_mostly_rounding(gaps.computed, rounding, objective, tol):
            return True
        values = np.count_nonzero(evaluation.coef) ** 2
        few = values <= max(4096, 0.1 * self._state.evaluations)  # little beside the run
        return bool(few and rounding > SMALL * objective)

    def _best_known(self, evaluation: Evaluated) -> Evaluated:
        """Return the same iterate, as computed again if it has been."""
        if self._settled is not None and self._settled[0] is evaluation:
            return self._settled[1]
        return evaluation

    def _settle(self, evaluation: Evaluated) -> Evaluated:
        """Compute an iterate again with as little rounding as the rows can.

        Where a gap was asked for, so is the iterate of the largest dual value, if that is larger.
        """
        if self._best_known(evaluation) is not evaluation:
            return self._best_known(evaluation)
        examples, best_dual, found = self._examples, self._best_dual, evaluation
        gap = max(0.0, evaluation.objective - self._state.best_dual)
        account = OnAccount(self.rows, self._state, counts=True)
        with account, suppress(CutShort), heeding(self._patience()):
            more = best_dual is not None and best_dual.dual > evaluation.dual + 0.1 * gap
            if more and self.tol is not None and best_dual is not None:
                other = self.rows.settle(best_dual, examples, losses=False)
                self.evaluate(other, settled=True)
            evaluated = self.rows.settle(evaluation, examples)
            if evaluated is not evaluation:
                found = self.evaluate(evaluated, settled=True)
        self._settled = (evaluation, found)
        return found

    def _patience(self) -> Callable[[], bool]:
        """Return a check that ends an evaluation on Ctrl-C or some time after a deadline."""
        stopper = self.stopper
        if stopper is None:
            return lambda: True
        grace, until = max(0.1, 0.1 * self._state.seconds), math.inf
        if stopper.deadline is not None:
            until = min(max(stopper.deadline, time.perf_counter() + grace), stopper.latest)
        return lambda: not stopper.interrupted and time.perf_counter() < until


# --- a run ----------------------------------------------------------------------------------------


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
        Records are added to it; a new one if None.

    Attributes
    ----------
    status : str
        ``"running"``, or why the run ended; see `Result`.
    most_steps : float
        Step at which the run ends.
    """

    #: The loop that slices run.
    algorithm: Algorithm
    #: Error message when values contradict a positive semi-definite kernel; None to go on.
    indefinite: str | None = None
    #: Steps and draws that another run of the same fit has done before.
    steps_before: int = 0
    draws_before: int = 0
    #: Draws of the first slice where there is reason to stop from the beginning.
    fewest_draws: int = tuning.FEWEST_DRAWS
    #: Whether results hold the state, from which another run can go on.
    keeps_state: bool = True
    most_steps: float = math.inf
    #: What has been added to the image of every example for a free intercept.
    shift: float = 0.0

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
        check_rows(rows, problem.y.size, problem.lam)
        if self.indefinite is not None and not rows.positive_definite:
            raise ValueError(self.indefinite)
        if problem.free_intercept and not rows.kernel_offset > 0.0:
            raise ValueError(
                "rows must have a positive intercept_scaling for a free intercept, "
                f"got {type(rows).__name__} without one instead"
            )
        self.problem, self.rows, self.state = problem, rows, state
        self.history = history if history is not None else History()
        self.status = "running"
        state.image_kind, state.loss = rows.image_kind, problem.loss
        state.free_intercept = problem.free_intercept
        state.certified = state.certified and rows.positive_definite
        options, self._first = state.options, state.steps
        self.examples = problem.examples
        self.parameters = LoopParameters(
            float(problem.lam),
            problem.y.size,
            int(options.batch_size),
            bool(options.projection),
            has_clock_over_t(options.average),
            problem.radius,
        )
        self._stream, self._stream_begin = stream, first
        self._slicer = TimeSlicer(1 if rows.computes_as_asked else tuning.FIRST_SLICE)
        self._first_draws = tuning.FIRST_SLICE
        self._evaluated: tuple[int, Evaluated, Evaluated] | None = None
        self._certifier = Certifier(problem, rows, state, self.indefinite)
        self._own_record = -1
        #: Gap of the last record, as computed.
        self._gap = np.inf
        state.evaluations += claim_construction(rows)
        if options.projection or not self.algorithm.from_zero:
            with alone_with(rows):
                rows.prepare()

    # --- what solvers differ in ---

    @abstractmethod
    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on to the next checkpoint; returns the stopper's reason if that came first."""

    def iterates(self) -> list[Iterate]:
        """Return the last iterate, and the average that is returned if that is another."""
        return self.state.iterates()

    def at_end(self) -> bool:
        """Return whether there is no further checkpoint."""
        return self.state.loop.counters.item(STEPS) >= self.most_steps

    # --- advancing ---

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end, whatever the reason."""
        return self.status != "running"

    def stop(self) -> None:
        """End an unfinished run where it stands."""
        if not self.finished:
            self.status = "stopped"

    def end(self, reason: str) -> None:
        """End where a pause has left the run, and evaluate there."""
        if self._evaluated is None or self._evaluated[0] != self.state.steps:
            self.record()
        self.status = reason

    def use_rows(self, rows: RowSource) -> None:
        """Go on with other rows of the same examples, since the earlier ones were closed."""
        rows.pace = self.rows.pace
        self.rows = self._certifier.rows = rows
        self.state.evaluations += claim_construction(rows)

    def advance(self, stopper: Stopper, tol: float | None = None) -> None:
        """Go on to the next checkpoint, evaluate there and decide whether the run is finished.

        The first slice of a run is done before the stopper is asked, so there always is a model. It
        is short where there is reason to stop from the beginning. A pause leaves the run between
        checkpoints, and nothing is evaluated.

        Parameters
        ----------
        stopper : Stopper
        tol : float, default=None
            Relative gap at which the run ends.
        """
        self._certifier.stopper, self._certifier.tol = stopper, tol
        reason = self.advance_to_checkpoint(stopper)
        if reason == PAUSED:
            return
        ends = self.at_end() or reason is not None
        self.record()
        if tol is not None and self._certifier.reaches(self.evaluate()[1], tol, not ends):
            self.status = "tolerance"
        elif ends:
            self.status = reason or "completed"
        else:
            reason = self._stop_reason(stopper)
            self.status = reason if reason and reason != PAUSED else "running"

    def take_steps(self, target: int, stopper: Stopper) -> str | None:
        """Run the loop up to a step, in slices; returns the stopper's reason if that came first."""
        state, slicer, rows, k = self.state, self._slicer, self.rows, self.parameters.batch_size
        steps, averages_suffix = state.loop.counters.item(STEPS), state.options.average == "suffix"
        reason: str | None = None
        patience: Any = nullcontext
        if rows.computes_as_asked:
            patience = partial(heeding, partial(self._may_go_on, stopper))
        if steps == self._first and stopper.reason() is not None:
            # Others have used up the time, or Ctrl-C came: there may be many more such runs.
            slicer.draws = self._first_draws = self.fewest_draws
        while reason is None and steps < target:
            end = min(target, steps + max(1, slicer.draws // k))
            if averages_suffix:  # a sum has to be set aside at every power of two
                end = min(end, 1 << steps.bit_length())
            n_draws, begin = (end - steps) * k, time.perf_counter()
            self._slice_begin = begin
            # A user's functions may take long; where one fails, the state is still whole.
            draws, work = self._draws(steps, end), self._work(steps, end)
            drawing = time.perf_counter() - begin
            state.seconds += drawing
            account, whole = self.on_account(), state.whole
            try:
                with account, patience():
                    rows.advance(work, draws, n_draws)
                    if averages_suffix and end & (end - 1) == 0:
                        state.take_suffix_snapshot()
            except CutShort:
                reason = stopper.reason()
                if state.steps == self._first or reason is None or not stopper.is_kept():
                    raise
                state.whole = whole  # rows stop between two steps
                return reason
            slicer.done(n_draws, drawing + account.seconds)
            steps = end
            if steps < target:
                heed()
                reason = self._stop_reason(stopper)
        return reason

    def _draws(self, steps: int, end: int) -> np.ndarray:
        """Draw the examples of some steps, and those that rows look ahead at."""
        k, first, rows, ahead = self.parameters.batch_size, self._stream_begin, self.rows, 0
        if rows.computes_as_asked and (end - steps) * k >= tuning.FEWEST_DRAWS:  # else too costly
            ahead = min(window_ahead(steps * k) + k, 2 * rows.n_samples)
        return self._stream.take((steps - first) * k, (end - first) * k + ahead)

    def _work(self, steps: int, end: int) -> Steps:
        """Return what rows need for some steps, with step sizes if they are not Pegasos' own."""
        step, parameters = self.state.options.step, self.parameters
        if step is not None:
            rates = rates_of(step, steps + 1, end - steps, parameters.lam)
            parameters = parameters._replace(rates=rates, first_rate=steps + 1)
        return Steps(self.algorithm, self.state.loop, self.examples, parameters)

    def _may_go_on(self, stopper: Stopper) -> bool:
        """Return whether rows may compute what the next step needs; else the slice ends there."""
        if self.state.steps == self._first:
            return stopper.bears_delay()
        if time.perf_counter() > self._slice_begin + 5 * tuning.SLICE_SECONDS:
            return stopper.lasts()
        return self._stop_reason(stopper) in (None, PAUSED)

    def on_account(self) -> OnAccount:
        """Reserve the rows for a block, and charge its time and kernel values to the state."""
        return OnAccount(self.rows, self.state)

    def _stop_reason(self, stopper: Stopper) -> str | None:
        """Ask the stopper for a reason, once the first slice of the run is done."""
        steps = self.state.loop.counters.item(STEPS) - self._first
        draws = steps * self.parameters.batch_size
        is_enough = draws >= self._first_draws or self._slicer.is_slow or self.rows.is_costly
        return stopper.reason() if is_enough else None

    # --- evaluating ---

    def evaluate(self) -> tuple[Evaluated, Evaluated]:
        """Evaluate the last iterate and the returned one, as they stand."""
        steps = self.state.loop.counters.item(STEPS)
        if self._evaluated is None or self._evaluated[0] != steps:
            found = self.evaluated(self.iterates())
            evaluations = [self._certifier.evaluate(evaluated) for evaluated in found]
            self._evaluated = (steps, evaluations[0], evaluations[-1])
        return self._evaluated[1:]

    def evaluated(self, iterates: list[Iterate]) -> list[Evaluated]:
        """Return some iterates of the state, as the rows evaluate them."""
        free = {"shift": self.shift} if self.problem.free_intercept else {}
        with alone_with(self.rows):
            return self.rows.evaluate(iterates, self.state.loop, self.examples, **free)

    def reaches(self, tol: float, stopper: Stopper) -> bool:
        """Return whether the certified relative gap of the returned iterate is at most ``tol``.

        Parameters
        ----------
        tol : float
        stopper : Stopper
            Its deadline and Ctrl-C bound what is computed again.
        """
        self._certifier.stopper, self._certifier.tol = stopper, tol
        return self._certifier.reaches(self.evaluate()[1], tol)

    def record(self) -> None:
        """Add a record of the run as it stands to the history."""
        (last, returned), state, loop = self.evaluate(), self.state, self.state.loop
        steps, gaps = loop.counters.item(STEPS), self._certifier.gaps(returned)
        draws, self._gap = self.draws_before + steps * self.parameters.batch_size, gaps.computed
        support, hits = int(np.count_nonzero(loop.alpha)), loop.counters.item(ROW_HITS)
        passed = self.steps_before + steps, draws / loop.alpha.size, state.seconds
        gap, share, apart = recorded_gap(gaps, returned.objective)
        objectives, records = (last.objective, returned.objective), self.history.records
        gaps_of_record = gaps.dual_bound, gap, share, apart
        counts = support, state.evaluations, hits
        records.append(Record(*passed, *objectives, *gaps_of_record, *counts))
        self._own_record = len(records) - 1

    def _close_history(self, final: Evaluated, gaps: Gaps) -> None:
        """Add the rounding of the last record to its gap."""
        records = self.history.records
        if self._own_record == len(records) - 1 >= 0:
            records[-1] = records[-1]._replace(
                seconds=self.state.seconds,
                objective_average=final.objective,
                dual_bound=gaps.dual_bound,
                gap=gaps.proven,
                relative_gap=relative(gaps.proven, final.objective),
                rounding=0.0 if self.state.certified else math.nan,
                kernel_evaluations=self.state.evaluations,
            )

    def result(self, of: SolverRun | None = None) -> Result:
        """Make the result as it stands; at the end, with less rounding if need be.

        Parameters
        ----------
        of : SolverRun, default=None
            Run that this one goes on from; the result has its counts and state.
        """
        told, returned = of or self, self.evaluate()[1]
        computed = self._certifier.gaps(returned).computed
        final = self._certifier.final(returned, self.finished)
        gaps = self._certifier.gaps(final)
        if self.finished:
            self._close_history(final, gaps)
        coef = final.coef * self.examples.signed
        w, intercept = final.primal(self.examples, self.rows.kernel_offset)
        return Result(
            alpha=told.alpha,
            coef=coef,
            w=w,
            intercept=intercept,
            margins=final.margins,
            objective=final.objective,
            dual_bound=gaps.dual_bound,
            gap=gaps.proven,
            relative_gap=relative(gaps.proven, final.objective),
            rounding=max(0.0, gaps.proven - computed),
            n_steps=told.state.steps,
            status=self.status,
            history=self.history,
            state=told.state if told.keeps_state else None,
            decisions=self.rows.decisions(coef, w, intercept),
            classes=self.problem.classes,
            regression=bool(self.problem.loss.regression),
            intercept_interval=final.interval,
        )

    @property
    def alpha(self) -> np.ndarray:
        """Counts, or dual variables."""
        return self.state.loop.alpha


def run_to_end(
    run: SolverRun,
    max_time: float | None,
    tol: float | None,
    monitor: Callable[[Any], bool | None] | None = None,
) -> Result:
    """Advance a run to its end, and make its result.

    Parameters
    ----------
    run : SolverRun
    max_time : float or None
        Seconds after which it ends.
    tol : float or None
        Relative gap at which it ends.
    monitor : callable, default=None
        Called with the run at each checkpoint; a true return value stops it.

    Raises
    ------
    TypeError
        If the monitor returns an array, whose truth is ambiguous.
    Interrupted
        After Ctrl-C.
    """
    with interruptible(Stopper(max_time)) as stopper:
        while not run.finished:
            run.advance(stopper, tol)
            answer: Any = None if monitor is None else monitor(run)
            if hasattr(answer, "__array__") and np.ndim(answer) > 0:
                raise TypeError(
                    f"monitor must return True, False or None, got {shown(answer)} instead"
                )
            if answer:
                run.stop()
        result = run.result()
        stopper.presses_kept = math.inf
    if stopper.interrupted:  # maybe too late to cut the run short
        raise Interrupted(result)
    return result
