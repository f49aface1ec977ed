"""The finisher of a Pegasos run: dual ascent from its model to a certified gap.

Where kernel rows can be held, sets of examples move together (`kpegasos.core.working_sets`).

Where examples are many, blocks of violators come first. A block is a random sample of the examples
that violate optimality. The dual is maximised over it by working sets, on the kernel matrix of the
block alone; the changes of its coefficients are then added to all margins in one pass over its
kernel rows, none of which is stored. The sample has to be random: the worst violators are near each
other, and would correct one region again and again. Where most coefficients end at a bound of their
box, most examples move once. Otherwise blocks undo each other, and working sets on rows that are
kept cost less; the first block shows which case it is. The result does not depend on how many rows
can be kept, if there is room for a block's matrix.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kpegasos.core.certificate import dual_value
from kpegasos.core.problem import Problem, primal
from kpegasos.core.small_runs import IDLE_ROUNDS, LEAST_GAIN, MOST_EPOCHS, SAFE
from kpegasos.core.state import (
    LARGEST_SIZE,
    SIZE,
    STEPS,
    Examples,
    LoopParameters,
    LoopState,
    PegasosOptions,
    new_state,
)
from kpegasos.core.working_sets import (
    ADD_MOVES,
    CHOSEN,
    DONE,
    ENOUGH,
    LEFT,
    SETS_DONE,
    WANTED,
    WorkingSets,
    add_moves,
    ascend,
    new_working_sets,
)
from kpegasos.losses import is_hinge
from kpegasos.losses.base import FLATTEST, bests, pulls
from kpegasos.rows.base import Evaluated, RowSource, holds_sets
from kpegasos.solvers.dual_ascent import INDEFINITE, DualAscent, InteriorPointAscent
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import CUT_SHORT, PAUSED, Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding
from kpegasos.utils.threads import threads_for


def ascent_after(
    run: PegasosRun,
    *,
    tol: float,
    max_epochs: int = MOST_EPOCHS,
    stopper: Stopper,
    kind: type[DualAscent] | None = None,
) -> DualAscent | None:
    """Make the ascent that takes the model of a run to a certified gap.

    It begins at the returned iterate of the run, scaled to the best feasible dual point, and uses
    the same rows; working sets compute no kernel value twice while it is kept. Its model is no
    longer an average of Pegasos iterates, and never worse than the run's own: of all iterates that
    were evaluated the best is returned.

    Parameters
    ----------
    run : PegasosRun
        At its end.
    tol : float
        Certified relative gap at which to stop.
    max_epochs : int, default=1000
        Passes over the data at the most.
    stopper : Stopper
        Deadline and Ctrl-C.
    kind : type, default=None
        Class of the ascent; chosen by rows and loss if None.

    Returns
    -------
    DualAscent or None
        None where the run has reached ``tol``, or was cut short without a certificate.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.
    """
    if run.status in CUT_SHORT and not run.state.certified:
        return None
    if run.reaches(tol, stopper):
        return None
    if not run.state.certified:
        raise ValueError(INDEFINITE)
    if kind is None:
        kind = DualAscent
        if holds_sets(run.rows):
            # Where kernel rows are held, working sets of them are worth more than single ones.
            kind = WorkingSetAscent
        elif is_hinge(run.problem.loss) and run.rows.factor_passes() < math.inf:
            # Newton's steps are those of a quadratic dual in a box.
            kind = InteriorPointAscent
    ascent = kind.after(run, max_epochs=max_epochs)
    if run.status in CUT_SHORT:
        ascent.end_at_once(run.status)
    return ascent


def seconds_of_first_moves(run: PegasosRun) -> float:
    """Forecast the seconds until the ascent after a run has moved all examples that matter.

    A lower estimate; zero where all rows are there.
    """
    rows, state = run.rows, run.state
    if not (rows.computes_as_asked and holds_sets(rows) and state.evaluations):
        return 0.0
    margins = run.evaluate()[1].margins
    waits = pulls(run.problem.loss, margins, run.examples.label) != 0.0
    n_rows = int(np.count_nonzero(waits & (state.loop.alpha == 0.0)))
    # More examples will matter than at the end of the run, whose own seconds are mostly compilation
    # and loading. Moves take half as long as their rows, or more.
    return 1.5 * min(2 * n_rows, margins.size) * margins.size * rows.pace


def polished(run: PegasosRun, ascent: DualAscent) -> Result:
    """Return the result of the ascent after a run, at its end."""
    if ascent.status in CUT_SHORT:
        _consider_multiples(ascent, run)
    return ascent.result(of=run)


def _consider_multiples(ascent: DualAscent, run: PegasosRun) -> None:
    """Let an ascent return the best multiple of its start or of itself, if that is better."""
    for each, own in ((run, run.evaluate()[1]), (ascent, ascent.evaluate()[0])):
        factor, objective = _best_multiple(own, run.problem)
        if objective < ascent.evaluate()[1].objective:
            ascent.consider(each, factor)


def _best_multiple(evaluation: Evaluated, problem: Problem) -> tuple[float, float]:
    """Find the factor by which an iterate has the least objective, and that objective."""
    from scipy.optimize import minimize_scalar

    margins, squared_norm = evaluation.margins, evaluation.squared_norm

    def objective(factor: float) -> float:
        return primal(factor * margins, factor**2 * squared_norm, problem)

    nothing = objective(0.0)
    if not (squared_norm > 0.0 and nothing > 0.0):
        return 0.0, nothing
    # Beyond this the norm alone costs more than w = 0.
    largest = 0.5 * math.log(2.0 * nothing / (problem.lam * squared_norm))
    found = minimize_scalar(
        lambda logarithm: objective(math.exp(logarithm)),
        bounds=(largest - 40.0, largest),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return math.exp(found.x), float(found.fun)


#: Examples of a set where kernel values are costly. Of 4, 8, 16, 32 and 64, 4 needed the fewest
#: values: 1.0 to 1.2 times the least that a certificate takes, against up to 4.6 times with 64.
_COSTLY_SET = 4


def shape_of_sets(n_samples: int, capacity: int) -> tuple[int, int, int, int]:
    """Choose the shape of working sets where ``capacity`` rows can be held.

    Parameters
    ----------
    n_samples, capacity : int

    Returns
    -------
    size, n_sets, n_wanted, n_ahead : int
        Examples of a set, sets of a round, rows that may be held for a set, and new rows that are
        computed together.
    """
    size = min(n_samples, tuning.WORKING_SET)  # all of very few, else a share within limits
    if n_samples > 2 * tuning.SMALL_WORKING_SET:
        share = n_samples // tuning.EXAMPLES_OF_A_MEMBER
        size = min(tuning.WORKING_SET, max(tuning.SMALL_WORKING_SET, share))
    size = min(size, capacity)
    # A set of all examples is warm after a round, and needs one more.
    n_sets = 2 if size == n_samples else tuning.WORKING_SETS_OF_A_ROUND
    # Beside a short budget rows that are computed ahead would push out others.
    room = size + tuning.ROWS_AT_ONCE if capacity >= min(n_samples, 4 * size) else size
    return size, n_sets, min(capacity, room), tuning.ROWS_AT_ONCE


def sets_for(rows: RowSource, alpha: np.ndarray, *, alone: bool = False) -> tuple[WorkingSets, int]:
    """Make working sets for an ascent on rows that are held; return also how many make a round.

    Parameters
    ----------
    rows : RowSource
    alpha : ndarray of shape (n_samples,)
        Dual variables to begin with.
    alone : bool, default=False
        Whether the ascent has one thread for all it does.
    """
    n_samples = rows.n_samples
    size, n_sets, n_wanted, n_ahead = shape_of_sets(n_samples, rows.row_capacity)
    # The support has needed its rows before, and the rows of few examples cost little.
    seen = alpha != 0.0
    if rows.is_costly:  # so that few rows are asked for that are not needed in the end
        size = n_wanted = min(n_samples, _COSTLY_SET)
        n_ahead = 0
    elif n_samples <= tuning.GRAM_SAMPLES:
        seen[:] = True
    adds = alone or threads_for(tuning.MEMORY_WORK * size * n_samples) == 1
    return new_working_sets(size, n_wanted, n_ahead, seen, adds), n_sets


#: Share of the average violation from which on an example counts as a violator.
_COUNTS = 0.1
#: Share of the gap up to which a block is solved, and passes over its examples at the most.
_REDUCTION, _PASSES = 0.1, 4
#: Share of a block's non-zero coefficients that have to end at a bound.
_BOUNDED = 0.5
#: Rows that may be added per non-zero coefficient: where it takes more, blocks undo each other.
_MOST_ADDITIONS = 3.0


class Blocks:
    """The blocks of an ascent.

    Parameters
    ----------
    problem : Problem
    state : LoopState
        Of the ascent; modified in place.
    order : ndarray of shape (n_samples,), int64
        A random order, in which violators are chosen.
    """

    def __init__(self, problem: Problem, state: LoopState, order: np.ndarray) -> None:
        self._problem, self._state, self._order = problem, state, order
        self._examples, self._n_added = problem.examples, 0

    def choose(self, rows: RowSource) -> np.ndarray:
        """Choose the next block, in increasing order; empty where working sets do better.

        Parameters
        ----------
        rows : RowSource
            Rows of the ascent, here and below: they may be made anew in between.
        """
        size, n_coefs = rows.block_size, int(np.count_nonzero(self._state.alpha))
        places = np.flatnonzero(self._violators(rows.largest)[self._order])
        few = max(size // 2, tuning.VALUES_AFTER_BLOCKS // self._order.size)
        if not size or places.size <= few or self._n_added > _MOST_ADDITIONS * max(n_coefs, size):
            return places[:0]
        places = places[:size]
        members = self._order[places]
        self._order = np.roll(self._order, -1 - places[-1])
        return np.sort(members)

    def _violators(self, largest: float) -> np.ndarray:
        """Return which examples violate optimality by more than a trifle."""
        problem, state, examples = self._problem, self._state, self._examples
        to_margin = 1.0 / (problem.lam * problem.y.size)
        curvature = np.maximum(FLATTEST, np.abs(examples.signed) * largest * to_margin)
        decisions = state.image * to_margin
        target = bests(examples.loss, state.alpha, decisions, examples.label, curvature)
        violation = curvature * np.abs(target - state.alpha)
        average = violation.sum() / max(1, np.count_nonzero(violation))
        return np.asarray(violation > _COUNTS * average)

    def solve(
        self, rows: RowSource, members: np.ndarray, parameters: LoopParameters, gap: float
    ) -> np.ndarray:
        """Return coefficients of a block that nearly maximise the dual; none if blocks do not help.

        Parameters
        ----------
        rows : RowSource
        members : ndarray of int64
        parameters : LoopParameters
        gap : float
            Relative gap of the iterate.
        """
        view, whole, examples = rows.block(members), self._state, self._examples
        size, options = members.size, PegasosOptions(average=None)
        state = new_state(size, size, options, self._problem.lam, 0).loop
        state.alpha[:], state.image[:] = whole.alpha[members], whole.image[members]
        own = Examples(examples.label[members], examples.signed[members], examples.loss)
        n_members = min(size, tuning.WORKING_SET)
        sets = new_working_sets(n_members, n_members, 0, np.full(size, True), True)
        sets.counts[LEFT] = _PASSES * -(-size // n_members)
        # A power of two: the last digits of a gap may depend on which rows are kept.
        sets.scalars[ENOUGH] = _REDUCTION * 2.0 ** np.ceil(np.log2(gap)) if gap > 0.0 else 0.0
        while ascend(state, view, sets, own, parameters) != DONE:
            pass
        return state.alpha if self._n_added or self._suits(state.alpha) else state.alpha[:0]

    def _suits(self, alpha: np.ndarray) -> bool:
        """Return whether so many coefficients of a block end at a bound that blocks help."""
        loss, own = self._problem.loss, alpha[alpha != 0.0]
        bounded = (own == loss.lower) | (own == loss.upper)
        return bool(np.count_nonzero(bounded) >= _BOUNDED * own.size)

    def add(
        self, rows: RowSource, members: np.ndarray, alpha: np.ndarray, stopper: Stopper
    ) -> str | None:
        """Write the coefficients of a block, and add its rows to the margins; part by part.

        Returns the stopper's reason if that came first; coefficients and margins agree.

        Parameters
        ----------
        rows : RowSource
        members : ndarray of int64
        alpha : ndarray of shape (n_members,)
        stopper : Stopper
        """
        state, signed = self._state, self._examples.signed
        moved = np.flatnonzero(alpha != state.alpha[members])
        for top in range(0, moved.size, tuning.TILE_ROWS):
            reason = stopper.reason()
            if reason is not None and reason != PAUSED:  # pauses do not change models
                return reason
            some = moved[top : top + tuning.TILE_ROWS]
            who, new = members[some], alpha[some]
            before = state.alpha[who]
            rows.add_rows(who, (new - before) * signed[who], state.image)
            state.alpha[who] = new
            state.counters[STEPS] += some.size
            state.scalars[SIZE] += (np.abs(new) - np.abs(before)) @ np.abs(signed[who])
            state.scalars[LARGEST_SIZE] = max(state.scalars[LARGEST_SIZE], state.scalars[SIZE])
            self._n_added += some.size
        return None


class WorkingSetAscent(DualAscent):
    """Dual ascent over blocks, if there are many examples, and over working sets."""

    _idle_rounds = 0
    _largest_dual = -math.inf

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sets, self._n_sets = sets_for(self.rows, self.state.loop.alpha)
        self._blocks: Blocks | None = None
        if self.rows.block_size and self.problem.loss.upper < math.inf:
            order = self._stream.epoch(0)
            self._blocks = Blocks(self.problem, self.state.loop, order)

    def use_rows(self, rows: RowSource) -> None:
        """Go on with other rows of the same examples, which may hold fewer than those before."""
        super().use_rows(rows)
        if rows.row_capacity < self._sets.wanted.size:
            self._sets, self._n_sets = sets_for(rows, self.state.loop.alpha)

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on until the next evaluation: a block, or a few working sets."""
        if self._blocks is not None:
            is_over, reason = self._advance_by_block(self._blocks, stopper)
            if not is_over:
                return reason
            self._blocks = None
        loop, sets = self.state.loop, self._sets
        sets.counts[LEFT], sets.counts[SETS_DONE] = self._n_sets, 0
        sets.scalars[ENOUGH] = SAFE * (self._certifier.tol or 0.0)
        while True:
            with self.on_account():
                # Another run may have used the rows since.
                wanted = sets.wanted[: sets.counts[WANTED] if sets.counts[CHOSEN] else 0]
                try:
                    with heeding(stopper.lasts):
                        view = self.rows.ensure_rows(wanted, self.state.steps)
                except CutShort:  # while rows were computed
                    self.rows.forget()
                    if (reason := stopper.reason()) is None:
                        raise  # asked for by a block around the run
                    return reason
                status = ascend(loop, view, sets, self.examples, self.parameters)
                if status == ADD_MOVES:
                    add_moves(loop, view, sets)
            reason = stopper.reason() if sets.counts[LEFT] < self._n_sets else None
            if status == DONE or reason is not None:
                self.recentre_intercept()
                return reason

    def _advance_by_block(self, blocks: Blocks, stopper: Stopper) -> tuple[bool, str | None]:
        """Maximise over a block; returns whether blocks do not help, and the reason to stop."""
        members, gap = blocks.choose(self.rows), self.history.records[-1].relative_gap
        if not members.size:
            return True, None
        with self.on_account():
            try:
                with heeding(stopper.lasts):
                    alpha = blocks.solve(self.rows, members, self.parameters, gap)
            except CutShort:  # nothing has been moved
                if (reason := stopper.reason()) is None:
                    raise
                return False, reason
            if not alpha.size:
                return True, None
            reason = blocks.add(self.rows, members, alpha, stopper)
        self.recentre_intercept()
        return False, reason

    def record(self) -> None:
        """Add a record, and note whether the round has gained anything."""
        before = self._gap
        super().record()
        last, _ = self.evaluate()
        # The dual value of the iterate itself rises in every round. That of its best multiple may
        # be larger and not rise.
        dual = last.dual
        if not self.problem.free_intercept:
            lam = self.problem.lam
            dual = dual_value(self.examples, last.coef, last.squared_norm, lam, 1.0)
        gained = self._gap < before or dual > self._largest_dual + LEAST_GAIN * abs(dual)
        self._idle_rounds = 0 if gained else self._idle_rounds + 1
        self._blocks = self._blocks if gained else None
        self._largest_dual = max(self._largest_dual, dual)

    def at_end(self) -> bool:
        """Return whether the ascent is at an end, or has gained nothing for some rounds."""
        return super().at_end() or self._idle_rounds >= IDLE_ROUNDS
