"""What a run may claim: objective, dual bound and gap, with the rounding of all that they are from.

Margins come with bounds on their rounding. The certificate puts them in their worst case, so that
it is true of the kernel of the formula. In float32 the worst case may be far from what happened;
then the few margins that matter are computed again, once, as exactly as the rows can
(`Certifier.final`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple
from weakref import WeakMethod

import numpy as np

from kpegasos.core.gaps import (
    SMALL,
    computed_gap,
    is_mostly_rounding,
    proven_gap,
    relative,
    told_gap,
)
from kpegasos.core.problem import (
    Problem,
    dual_bounds,
    dual_bounds_of,
    is_impossible,
    primal,
    primal_bound,
    primal_of,
)
from kpegasos.core.state import State
from kpegasos.losses import Hinge
from kpegasos.rows.base import RowSource
from kpegasos.rows.evaluated import Evaluated
from kpegasos.solvers.account import OnAccount
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.patience import CutShort, heeding

#: Settling is cheap enough up to so many kernel values, or this share of those computed so far.
_FEW_VALUES, _FEW_SHARE = 1 << 12, 0.1
#: How often an iterate is evaluated again to see whether rounding still keeps it from ``tol``.
_MOST_CHECKS = 3
#: Seconds, and share of the time so far, that such an evaluation may go on beyond a deadline.
_GRACE_SECONDS, _GRACE_SHARE = 0.1, 0.1


class Evaluation(NamedTuple):
    """An iterate at a checkpoint, and its objective.

    Attributes
    ----------
    evaluated : Evaluated
    objective : float
        ``P(w)``, as computed.
    upper_bound : float
        What ``P(w)`` is at most, whatever rounding did.
    dual : float
        The dual value that belongs to it, as computed; NaN without a certificate.
    settled : bool
        Whether its margins have been computed again.
    """

    evaluated: Evaluated
    objective: float
    upper_bound: float
    dual: float
    settled: bool = False

    @property
    def coef(self) -> np.ndarray:
        """``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``, of shape (n_samples,)."""
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
    """Dual bound, gap and relative gap, and what rounding may add to the gap; NaN if there is none.

    A gap is certified once its rounding is added.
    """

    dual_bound: float
    gap: float
    relative_gap: float
    rounding: float


_NONE = Certificate(math.nan, math.nan, math.nan, math.nan)


class Certifier:
    """Judges the iterates of a run.

    Parameters
    ----------
    problem : Problem
    rows : RowSource
    state : State
        Holds the largest dual values so far.
    refuse : bound method
        Called when values contradict a positive semi-definite kernel.

    Attributes
    ----------
    stopper : Stopper or None
        Whose deadline and Ctrl-C bound what is computed again.
    tol : float or None
        Relative gap that the run was asked for.
    """

    def __init__(
        self, problem: Problem, rows: RowSource, state: State, refuse: Callable[[], None]
    ) -> None:
        self._problem = problem
        self._rows = rows
        self._state = state
        # Weak: in a cycle with its certifier a run would keep its rows until they are collected.
        self._refuse = WeakMethod(refuse)
        self._best_dual: Evaluation | None = None
        # What was asked for, and what was found.
        self._settled: tuple[Evaluation, Evaluation] | None = None
        self._checks, self._excess = _MOST_CHECKS, 0.0
        self.stopper: Stopper | None = None
        self.tol: float | None = None

    def evaluate(self, evaluated: Evaluated, settled: bool = False) -> Evaluation:
        """Objective and dual value of an iterate; raises the dual bounds of the state."""
        problem, state, sums = self._problem, self._state, evaluated.sums
        squared_norm, error = evaluated.squared_norm, evaluated.norm_rounding
        if sums is None:
            objective = primal(evaluated.margins, squared_norm, problem)
        else:
            objective = primal_of(sums.loss, squared_norm, problem)
        upper_bound = primal_bound(objective, evaluated.loss_rounding, error, problem)
        dual = math.nan
        if state.certified:
            if sums is None or type(problem.loss) is not Hinge:
                dual, proven = dual_bounds(evaluated.coef, squared_norm, error, problem)
            else:
                dual, proven = dual_bounds_of(sums.largest, sums.size, squared_norm, error, problem)
            state.best_dual = max(state.best_dual, dual)
            state.proven_bound = max(state.proven_bound, proven)
        found = Evaluation(evaluated, objective, upper_bound, dual, settled)
        if not settled and (self._best_dual is None or not dual <= self._best_dual.dual):
            self._best_dual = found
        if self._is_impossible(found):
            refuse = self._refuse()
            if refuse is not None:
                refuse()
        return found

    def _is_impossible(self, evaluation: Evaluation) -> bool:
        """Whether the kernel cannot be positive semi-definite."""
        state, evaluated, lam = self._state, evaluation.evaluated, self._problem.lam
        if not state.certified:
            return False
        upper_bound, bound = evaluation.upper_bound, state.proven_bound
        norm = evaluated.norm_rounding
        term = 0.5 * lam * evaluated.squared_norm
        if not is_impossible(upper_bound, bound, term, 0.5 * lam * norm):
            return False
        error, size = self._rows.blameless, float(np.abs(evaluated.coef) @ self._problem.weight)
        more = error * (0.5 / lam + size + 0.5 * lam * size**2)
        norm += error * size**2
        return is_impossible(upper_bound + more, bound, term, 0.5 * lam * norm)

    def as_computed(self, evaluation: Evaluation) -> Certificate:
        """The gap as the values say, and what rounding may add to it."""
        if not self._state.certified:
            return _NONE
        bound = self._state.best_dual
        gap = computed_gap(evaluation.objective, bound)
        rounding = max(0.0, self._proven_gap(evaluation) - gap)
        return Certificate(bound, gap, relative(gap, evaluation.objective), rounding)

    def as_told(self, evaluation: Evaluation) -> tuple[Certificate, float]:
        """What a record says, and the gap as computed.

        The gap has its rounding in it where nobody would see that, else the two are apart.
        """
        state, objective = self._state, evaluation.objective
        if not state.certified:
            return _NONE, math.nan
        gap = computed_gap(objective, state.best_dual)
        told, apart = told_gap(gap, self._proven_gap(evaluation), objective)
        return Certificate(state.proven_bound, told, relative(told, objective), apart), gap

    def as_proven(self, evaluation: Evaluation) -> Certificate:
        """The gap with its rounding."""
        if not self._state.certified:
            return _NONE
        gap = self._proven_gap(evaluation)
        share = relative(gap, evaluation.objective)
        return Certificate(self._state.proven_bound, gap, share, 0.0)

    def _proven_gap(self, evaluation: Evaluation) -> float:
        state, settled = self._state, evaluation.settled
        bounds = evaluation.upper_bound, state.best_dual, state.proven_bound
        return proven_gap(evaluation.objective, *bounds, settled)

    # --- with as little rounding as the rows can ---

    def reaches(self, evaluation: Evaluation, tol: float, stopper: Stopper) -> bool:
        """Whether the relative gap is at most this, with its rounding.

        Where rounding alone stands against it, the iterate is evaluated again; what that adds to
        the gap is from then on taken off ``tol``.
        """
        self.tol, self.stopper = tol, stopper
        if self.as_proven(self._best_known(evaluation)).relative_gap <= tol:
            return True
        computed = self.as_computed(evaluation).relative_gap
        if self.out_of_reach(tol) or not computed <= tol - self._excess:
            return False
        self._checks -= 1
        gap = self.as_proven(self._settle(evaluation)).relative_gap
        self._excess = gap - computed
        return gap <= tol

    def out_of_reach(self, tol: float) -> bool:
        """Whether rounding has been found to keep the gap above this; 0 asks for all epochs."""
        return tol > 0.0 and (self._checks == 0 or self._excess >= tol)

    def final(self, evaluation: Evaluation, is_over: bool) -> Evaluation:
        """The evaluation of an iterate that is told of it; settled at the end, if need be."""
        known = self._best_known(evaluation)
        return self._settle(evaluation) if is_over and self._needs_settling(known) else known

    def _needs_settling(self, evaluation: Evaluation) -> bool:
        """Whether rounding is too large a part of a gap, or can be reduced at little cost."""
        computed = self.as_computed(evaluation)
        tol = math.nan if self.tol is None else self.tol
        if evaluation.settled or not computed.rounding > 0.0:
            return False
        if is_mostly_rounding(computed.gap, computed.rounding, evaluation.objective, tol):
            return True
        if computed.rounding <= SMALL * evaluation.objective:
            return False
        values = np.count_nonzero(evaluation.coef) ** 2
        return bool(values <= max(_FEW_VALUES, _FEW_SHARE * self._state.evaluations))

    def _best_known(self, evaluation: Evaluation) -> Evaluation:
        """The same iterate, settled if it has been."""
        if self._settled is not None and self._settled[0] is evaluation:
            return self._settled[1]
        return evaluation

    def _settle(self, evaluation: Evaluation) -> Evaluation:
        """The same iterate with as little rounding as the rows can.

        So is the iterate of the largest dual value, where a gap was asked for and that is more than
        this one's.
        """
        if self._best_known(evaluation) is not evaluation:
            return self._best_known(evaluation)
        examples, best_dual, found = self._problem.examples, self._best_dual, evaluation
        gap = max(0.0, evaluation.objective - self._state.best_dual)
        account = OnAccount(self._rows, self._state, counts=True)
        with account, suppress(CutShort), heeding(self._patience()):
            more = best_dual is not None and best_dual.dual > evaluation.dual + 0.1 * gap
            if more and self.tol is not None and best_dual is not None:
                other = self._rows.settle(best_dual.evaluated, examples, losses=False)
                self.evaluate(other, settled=True)
            evaluated = self._rows.settle(evaluation.evaluated, examples)
            if evaluated is not evaluation.evaluated:
                found = self.evaluate(evaluated, settled=True)
        self._settled = (evaluation, found)
        return found

    def _patience(self) -> Callable[[], bool]:
        """Whether to go on with an evaluation: not after Ctrl-C, nor long after a deadline."""
        stopper = self.stopper
        if stopper is None:
            return lambda: True
        grace = max(_GRACE_SECONDS, _GRACE_SHARE * self._state.seconds)
        until = math.inf
        if stopper.deadline is not None:
            until = max(stopper.deadline, time.perf_counter() + grace)
        return lambda: not stopper.interrupted and time.perf_counter() < until
