"""The finisher of a Pegasos run: dual ascent from its model to a certified gap.

Where kernel rows can be held, sets of examples move together (`kpegasos.core.working_sets`). On
features single ones do, or an interior point method (`kpegasos.solvers.interior_point`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kpegasos.core.problem import Problem, dual_value, primal
from kpegasos.core.set_counts import CHOSEN
from kpegasos.core.small_runs import IDLE_ROUNDS, LEAST_GAIN, MOST_EPOCHS, SAFE
from kpegasos.core.working_sets import (
    ADD_MOVES,
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
from kpegasos.losses import Hinge
from kpegasos.rows.base import RowSource
from kpegasos.solvers.certificate import Evaluation
from kpegasos.solvers.dual_ascent import INDEFINITE, DualAscent
from kpegasos.solvers.interior_point import InteriorPointAscent
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding
from kpegasos.utils.threads import threads_for

#: How a run has ended that had not come to its end.
_CUT_SHORT = ("interrupted", "max_time")
#: Logarithms: how far below its largest multiple the best one of a model is sought, how closely.
_LOGARITHMS, _LOGARITHM = 40.0, 1e-4
#: Working sets of a round that hold all examples: one that is warm, and one more.
_WHOLE_SETS = 2


def polish(
    run: PegasosRun,
    *,
    tol: float = 1e-2,
    max_epochs: int = MOST_EPOCHS,
    stopper: Stopper | None = None,
    on_round: Callable[[DualAscent], None] = lambda ascent: None,
) -> Result:
    """Refine the model of a Pegasos run by dual ascent, until it is certified to be near-optimal.

    The ascent begins at the returned iterate of the run, scaled to the best feasible dual point,
    and uses the same rows; no kernel value is computed twice while they are kept. The model is no
    longer an average of Pegasos iterates. It is never worse than the run's own: of all iterates
    that were evaluated the best is returned. An ascent that is cut short has moved a part of the
    examples only; then the best multiples of the run's model and of the ascent's count too.

    Parameters
    ----------
    run : PegasosRun
        At its end.
    tol : float, default=1e-2
        Certified relative gap at which to stop.
    max_epochs : int, default=1000
        Passes over the data at the most.
    stopper : Stopper, default=None
        Deadline and Ctrl-C.
    on_round : callable
        Is told the ascent after each of its rounds.

    Returns
    -------
    Result
        Counts and state are those of the run, its history goes on; coefficients, margins and
        certificate are the ascent's.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.
    """
    stopper = stopper or Stopper()
    if (not run.state.certified and run.status in _CUT_SHORT) or run.reaches(tol, stopper):
        return run.result()
    if not run.state.certified:
        raise ValueError(INDEFINITE)
    # Where kernel rows are held, working sets of them are worth more than single ones.
    kind: type[DualAscent] = WorkingSetAscent
    if not run.rows.holds_sets:
        # Newton's steps are those of a quadratic dual in a box.
        kind = InteriorPointAscent if type(run.problem.loss) is Hinge else DualAscent
    ascent = kind.after(run, max_epochs=max_epochs)
    if run.status in _CUT_SHORT:
        ascent.end_at_once(run.status)
    while not ascent.finished:
        ascent.advance(stopper, tol)
        on_round(ascent)
    if ascent.status in _CUT_SHORT:
        _consider_multiples(ascent, run)
    return ascent.result(of=run)


def _consider_multiples(ascent: DualAscent, run: PegasosRun) -> None:
    """Let an ascent return the best multiple of its start or of itself, if that is better."""
    for each, own in ((run, run.evaluate()[1]), (ascent, ascent.evaluate()[0])):
        factor, objective = _best_multiple(own, run.problem)
        if objective < ascent.evaluate()[1].objective:
            ascent.consider(each, factor)


def _best_multiple(evaluation: Evaluation, problem: Problem) -> tuple[float, float]:
    """The factor by which an iterate has the least objective, and that objective."""
    from scipy.optimize import minimize_scalar

    margins, squared_norm = evaluation.margins, evaluation.squared_norm

    def objective(factor: float) -> float:
        return primal(factor * margins, factor**2 * squared_norm, problem)

    nothing = objective(0.0)
    if not (squared_norm > 0.0 and nothing > 0.0):
        return 0.0, nothing
    # Beyond this the norm alone costs more than the model of no examples.
    largest = 0.5 * math.log(2.0 * nothing / (problem.lam * squared_norm))
    found = minimize_scalar(
        lambda logarithm: objective(math.exp(logarithm)),
        bounds=(largest - _LOGARITHMS, largest),
        method="bounded",
        options={"xatol": _LOGARITHM},
    )
    return math.exp(found.x), float(found.fun)


def _size_of_sets(n_samples: int) -> int:
    """Examples of a working set: all of very few, else a share of them within limits."""
    if n_samples <= 2 * tuning.SMALL_WORKING_SET:
        return min(n_samples, tuning.WORKING_SET)
    share = n_samples // tuning.EXAMPLES_OF_A_MEMBER
    return min(tuning.WORKING_SET, max(tuning.SMALL_WORKING_SET, share))


def sets_for(rows: RowSource, alpha: np.ndarray, *, alone: bool = False) -> WorkingSets:
    """Working sets for an ascent on rows that are held.

    Parameters
    ----------
    rows : RowSource
    alpha : ndarray of shape (n_samples,)
        Dual variables to begin with.
    alone : bool, default=False
        Whether the ascent has one thread for all it does.
    """
    n_samples, capacity = rows.n_samples, rows.row_capacity
    size, _, n_wanted, n_ahead = shape_of_sets(n_samples, capacity)
    # The rows of the support have been needed before, and those of few examples cost little.
    few = n_samples <= tuning.GRAM_SAMPLES
    seen = np.full(n_samples, True) if few else alpha != 0.0
    adds = alone or threads_for(tuning.MEMORY_WORK * size * n_samples) == 1
    return new_working_sets(size, n_wanted, n_ahead, seen, adds)


def shape_of_sets(n_samples: int, capacity: int) -> tuple[int, int, int, int]:
    """Examples of a working set, sets of a round, rows that may be held and asked for at a time."""
    size = min(_size_of_sets(n_samples), capacity)
    n_sets = _WHOLE_SETS if size == n_samples else tuning.WORKING_SETS_OF_A_ROUND
    # Beside a short budget rows that are computed ahead would push out others.
    room = size + tuning.ROWS_AT_ONCE if capacity >= min(n_samples, 4 * size) else size
    return size, n_sets, min(capacity, room), tuning.ROWS_AT_ONCE


class WorkingSetAscent(DualAscent):
    """Dual ascent over working sets, on kernel rows that are held."""

    _idle_rounds = 0
    _largest_dual = -math.inf

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sets = sets_for(self.rows, self.state.loop.alpha)
        self._n_sets = shape_of_sets(self.rows.n_samples, self.rows.row_capacity)[1]
        with self.on_account():
            self._view = self.rows.ensure_rows(self._sets.wanted[:0], self.state.steps)

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on until the next evaluation: a few working sets."""
        loop, sets = self.state.loop, self._sets
        sets.counts[LEFT], sets.counts[SETS_DONE] = self._n_sets, 0
        sets.scalars[ENOUGH] = SAFE * (self._certifier.tol or 0.0)
        while True:
            with self.on_account():
                if sets.counts[CHOSEN]:  # and between two blocks rows may be another run's
                    wanted = sets.wanted[: sets.counts[WANTED]]
                    try:
                        with heeding(stopper.lasts):
                            self._view = self.rows.ensure_rows(wanted, self.state.steps)
                    except CutShort:
                        return self._left(stopper)
                status = ascend(loop, self._view, sets, self.examples, self.parameters)
                if status == ADD_MOVES:
                    add_moves(loop, self._view, sets)
            reason = stopper.reason() if sets.counts[LEFT] < self._n_sets else None
            if status == DONE or reason is not None:
                return reason

    def _left(self, stopper: Stopper) -> str:
        """The reason to stop where rows were not waited for."""
        self.rows.forget()
        reason = stopper.reason()
        if reason is None:
            raise CutShort  # by whoever waits for the whole run
        return reason

    def record(self) -> None:
        """Add a record, and note whether the round has gained anything."""
        before = self._gap
        super().record()
        last, _ = self.evaluate()
        # That of the iterate itself rises in every round. The best multiple of it may have a larger
        # one that does not.
        dual = dual_value(last.coef, last.squared_norm, self.problem, last.evaluated.size)
        gained = self._gap < before or dual > self._largest_dual + LEAST_GAIN * abs(dual)
        self._idle_rounds = 0 if gained else self._idle_rounds + 1
        self._largest_dual = max(self._largest_dual, dual)

    def at_end(self) -> bool:
        """Whether there is an end, or nothing has been gained for some rounds."""
        return super().at_end() or self._idle_rounds >= IDLE_ROUNDS
