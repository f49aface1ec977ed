"""The finisher of a Pegasos run: dual ascent from its model to a certified gap.

Where kernel rows can be held, sets of examples move together (`kpegasos.core.working_sets`). On
features single ones do, or an interior point method: steps of single coordinates creep where
features differ in size, where they are large, or where they share a large mean. Newton's do not
know the scale of a feature. They solve systems of as many unknowns as there are features (or
examples, if these are fewer), some ten to twenty in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from kpegasos.core import interior
from kpegasos.core.certificate import dual_value
from kpegasos.core.problem import Problem, primal
from kpegasos.core.small_runs import IDLE_ROUNDS, LEAST_GAIN, MOST_EPOCHS, SAFE
from kpegasos.core.state import STEPS
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
from kpegasos.losses.base import pulls
from kpegasos.rows.base import Evaluated, Factor, RowSource
from kpegasos.solvers.dual_ascent import INDEFINITE, DualAscent
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import CUT_SHORT, Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heed, heeding
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
    the same rows; no kernel value is computed twice while they are kept. Its model is no longer an
    average of Pegasos iterates, and never worse than the run's own: of all iterates that were
    evaluated the best is returned.

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
        A class of ascents of one's own.

    Returns
    -------
    DualAscent or None
        None where there is nothing to refine, or no time for it.

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
    if kind is None and run.rows.holds_sets:
        # Where kernel rows are held, working sets of them are worth more than single ones.
        kind = WorkingSetAscent
    elif kind is None:
        # Newton's steps are those of a quadratic dual in a box.
        kind = InteriorPointAscent if is_hinge(run.problem.loss) else DualAscent
    ascent = kind.after(run, max_epochs=max_epochs)
    if run.status in CUT_SHORT:
        ascent.end_at_once(run.status)
    return ascent


def seconds_of_first_moves(run: PegasosRun) -> float:
    """Forecast how long the ascent after a run takes until it has moved all that matters.

    At the least; zero where all rows are there.
    """
    rows, state = run.rows, run.state
    if not (rows.computes_as_asked and rows.holds_sets and state.evaluations):
        return 0.0
    margins = run.evaluate()[1].margins
    waits = pulls(run.problem.loss, margins, run.examples.label) != 0.0
    n_rows = int(np.count_nonzero(waits & (state.loop.alpha == 0.0)))
    # More will matter than those at the end of a run, whose own seconds are mostly of what is
    # compiled or loaded first. Moves take half as long as their rows, or more.
    return 1.5 * min(2 * n_rows, margins.size) * margins.size * rows.pace


def polished(run: PegasosRun, ascent: DualAscent) -> Result:
    """Result of the ascent behind a run, at its end."""
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
    # Beyond this the norm alone costs more than the model of no examples.
    largest = 0.5 * math.log(2.0 * nothing / (problem.lam * squared_norm))
    found = minimize_scalar(
        lambda logarithm: objective(math.exp(logarithm)),
        bounds=(largest - 40.0, largest),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return math.exp(found.x), float(found.fun)


#: Examples of a set where kernel values are costly: of 4, 8, 16, 32 and 64 the first asked for the
#: fewest values, 1.0 to 1.2 times the least that a certificate takes; the last for up to 4.6 times.
_COSTLY_SET = 4


def shape_of_sets(n_samples: int, capacity: int) -> tuple[int, int, int, int]:
    """Choose working sets for rows of which so many can be held.

    Parameters
    ----------
    n_samples, capacity : int

    Returns
    -------
    size, n_sets, n_wanted, n_ahead : int
        Examples of a set, sets of a round, rows that may be held, and asked for at a time.
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
    """Make working sets for an ascent on rows that are held; also how many are of a round.

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
    # The rows of the support have been needed before, and those of few examples cost little.
    seen = alpha != 0.0
    if rows.is_costly:  # so that few rows are asked for that are not needed in the end
        size = n_wanted = min(n_samples, _COSTLY_SET)
        n_ahead = 0
    elif n_samples <= tuning.GRAM_SAMPLES:
        seen[:] = True
    adds = alone or threads_for(tuning.MEMORY_WORK * size * n_samples) == 1
    return new_working_sets(size, n_wanted, n_ahead, seen, adds), n_sets


class WorkingSetAscent(DualAscent):
    """Dual ascent over working sets, on kernel rows that are held."""

    _idle_rounds = 0
    _largest_dual = -math.inf

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sets, self._n_sets = sets_for(self.rows, self.state.loop.alpha)

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on until the next evaluation: a few working sets."""
        loop, sets = self.state.loop, self._sets
        sets.counts[LEFT], sets.counts[SETS_DONE] = self._n_sets, 0
        sets.scalars[ENOUGH] = SAFE * (self._certifier.tol or 0.0)
        while True:
            with self.on_account():
                # Between two blocks rows may be another run's.
                wanted = sets.wanted[: sets.counts[WANTED] if sets.counts[CHOSEN] else 0]
                try:
                    with heeding(stopper.lasts):
                        view = self.rows.ensure_rows(wanted, self.state.steps)
                except CutShort:  # rows were not waited for
                    self.rows.forget()
                    if (reason := stopper.reason()) is None:
                        raise  # by whoever waits for the whole run
                    return reason
                status = ascend(loop, view, sets, self.examples, self.parameters)
                if status == ADD_MOVES:
                    add_moves(loop, view, sets)
            reason = stopper.reason() if sets.counts[LEFT] < self._n_sets else None
            if status == DONE or reason is not None:
                self.recentre_intercept()
                return reason

    def record(self) -> None:
        """Add a record, and note whether the round has gained anything."""
        before = self._gap
        super().record()
        last, _ = self.evaluate()
        # That of the iterate itself rises in every round. The best multiple of it may have a larger
        # one that does not.
        dual = last.dual
        if not self.problem.free_intercept:
            lam = self.problem.lam
            dual = dual_value(self.examples, last.coef, last.squared_norm, lam, 1.0)
        gained = self._gap < before or dual > self._largest_dual + LEAST_GAIN * abs(dual)
        self._idle_rounds = 0 if gained else self._idle_rounds + 1
        self._largest_dual = max(self._largest_dual, dual)

    def at_end(self) -> bool:
        """Return whether there is an end, or nothing has been gained for some rounds."""
        return super().at_end() or self._idle_rounds >= IDLE_ROUNDS


class InteriorPointAscent(DualAscent):
    """Dual ascent that goes over to an interior point method where that is expected to be faster.

    Systems are expected to take so many passes over the data as the rows say. Small ones are solved
    at once. Otherwise single coordinates go first; when the gap does not fall fast enough for them
    to be done in that many passes, or they are not done by then, Newton steps begin afresh. Where
    rounding leaves these without success, single coordinates go on.
    """

    _newton: NewtonSteps | None = None
    _failed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        passes = self.rows.factor_passes()
        self._patience = 12.0 * passes
        # Of more columns than examples the factor takes longer than all systems together.
        is_tall = self.rows.image_size <= self.rows.n_samples + 1
        self._at_once = is_tall and passes * self.rows.n_samples <= tuning.SMALL_SYSTEM
        self._gaps: list[float] = []
        self._goal_factor = 0.9

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on for one epoch of single coordinates, or for some Newton steps."""
        if self._newton is None and not self._failed and self._is_due():
            self.evaluate()  # may be the best for long, and steps begin elsewhere
            with self.on_account():
                factor = self.rows.factor()
                self._failed = factor is None
                if factor is not None:
                    self._newton = NewtonSteps(self.problem, factor)
        if self._newton is None:
            return super().advance_to_checkpoint(stopper)
        return self._solve(self._newton, stopper)

    def record(self) -> None:
        """Add a record, and note the gap that is left."""
        super().record()
        objective = self.evaluate()[1].objective
        self._gaps.append(self._gap / objective if objective > 0.0 else math.nan)

    def _is_due(self) -> bool:
        """Return whether Newton steps are expected to be done before single coordinates."""
        if self._at_once or not math.isfinite(self._patience):
            return self._at_once
        epochs = len(self._gaps)
        if epochs < 3:
            return False
        fall = math.log(self._gaps[-3] / self._gaps[-1]) / 2.0 if self._gaps[-1] > 0.0 else math.inf
        if not fall > 0.0:
            return True
        tol = self._certifier.tol or np.finfo(np.float64).eps
        return epochs + math.log(max(1.0, self._gaps[-1] / tol)) / fall > self._patience

    def _solve(self, newton: NewtonSteps, stopper: Stopper) -> str | None:
        """Go on for some Newton steps, and make the point that they have come to the state's."""
        reason, loop, best = None, self.state.loop, self._best
        goal = self._goal_factor * (self._certifier.tol or np.finfo(np.float64).eps)
        with self.on_account(), np.errstate(all="ignore"):
            try:
                with heeding(stopper.lasts):
                    for _ in range(16):  # as many as a solution takes, and a few
                        heed()
                        if not newton.step():
                            break
                        loop.counters[STEPS] += self.problem.y.size
                        if newton.has_reached(goal):
                            self._goal_factor *= 0.1  # should rounding leave the gap above tol
                            break
            except CutShort:
                reason = stopper.reason()
            beta = newton.beta
            if (beta is None or reason is not None) and (
                best is None or newton.lowest < best.objective
            ):
                beta = newton.best
            if beta is not None:
                loop.alpha[:] = beta
                loop.image[:] = self.rows.sums(beta * self.examples.signed)
                self._place_intercept(newton.vector[-1])
        if newton.failed:
            self._newton, self._failed = None, True
        return reason or stopper.reason()

    def _place_intercept(self, last: float) -> None:
        """Have a free intercept be that of Newton's steps, whose weight of the constant this is."""
        if self.problem.free_intercept:
            rows, loop = self.rows, self.state.loop
            wanted = rows.kernel_offset**0.5 * last * self.problem.lam * self.problem.y.size
            self.shift = wanted - rows.kernel_offset * float(loop.alpha @ self.examples.signed)
            rows.move_image(loop.image, self.shift, self.shift)


class NewtonSteps:
    """An interior point method for the dual: `kpegasos.core.interior`, and its systems.

    Parameters
    ----------
    problem : Problem
    factor : Factor

    Attributes
    ----------
    vector : ndarray of shape (factor.size,)
        w, the weight of the constant feature last.
    beta : ndarray of shape (n_samples,) or None
        Dual variables within the box that may have the gap wanted, if there are any yet.
    best : ndarray of shape (n_samples,) or None
        Those within the box whose own w has the lowest objective so far, if there are any yet.
    lowest : float
        That objective, as computed.
    failed : bool
        Whether there are no more digits to gain.
    """

    def __init__(self, problem: Problem, factor: Factor) -> None:
        self._factor = factor
        self._weight, self._signed = problem.weight, problem.examples.signed
        self._curvature = 1.0 / (problem.lam * problem.y.size)
        # That which regularises w, 1/κ; a free intercept is the multiplier of Σ β_i ω_i s_i = 0.
        self._ridge = np.full(factor.size, problem.lam * problem.y.size)
        self._is_free = problem.free_intercept
        if self._is_free:
            self._ridge[-1] = 0.0
            self._constant = float(factor.margins(np.eye(1, factor.size, factor.size - 1)[0])[0])
        self._point = interior.start(self._weight, 0.1, 0.5)
        self.vector = np.zeros(factor.size)
        self._own_vector = self._vector_of(self._point.beta)
        self._inverse, self._right = np.empty((2, self._weight.size))
        self.beta: np.ndarray | None = None
        self.best: np.ndarray | None = None
        self.lowest = math.inf
        self.failed = False
        self._best_gap = self._best_difference = self._mismatch = math.inf
        self._idle, self._faces = 0, 0

    def step(self) -> bool:
        """Make a predictor and a corrector step; false if none is left."""
        point, inverse, right = self._point, self._inverse, self._right
        total = interior.inverse_barrier(point, inverse)
        gram = self._factor.gram(inverse * self._signed**2)
        solve = self._solver(gram)
        if solve is None:
            return False
        lag = self._ridge * (self._own_vector - self.vector)
        if self._is_free:
            lag[-1] = self._constant * float(self._signed @ point.beta)
        change = solve(lag - self._sums(inverse * point.gradient))
        predicted = self._products(change)
        target = interior.correct(point, inverse, predicted, total, right)
        change = solve(lag + self._sums(inverse * right))
        products = self._products(change)
        share = interior.move(point, inverse, predicted, products, right, target)
        self.vector = self.vector + share * change
        self._own_vector = self._vector_of(point.beta)
        self._judge()
        return not self.failed

    def has_reached(self, goal: float) -> bool:
        """Return whether `beta` has a relative gap of at most this; the point moves on towards it.

        Parameters
        ----------
        goal : float
        """
        if not self._gap <= 10.0 * goal:  # too far for a face of the box
            return False
        self.beta = self._on_face()
        if self._gap_at(self.beta)[0] <= goal:
            return True
        gap, gradient = self._gap_at(self._point.beta, self._own_vector)
        self.beta = np.minimum(1.0, self._point.beta)
        if gap <= goal:
            self._faces += 1
            return self._faces >= 4  # rather than taken as it is
        mismatch = float(np.abs(gradient - self._point.gradient).max())
        if mismatch > 0.5 * self._mismatch:
            # Rounding keeps w from becoming that of β: let it be so by definition.
            self._point = interior.replace_gradient(self._point, gradient)
            self.vector, mismatch = self._own_vector, math.inf
        self._mismatch = mismatch
        return False

    def _judge(self) -> None:
        """Note whether the gap that the point seems to have falls."""
        own = self._own_vector
        gradient = self._point.gradient
        norm = 0.5 * float(self._ridge @ self.vector**2)
        primal = norm - float(np.minimum(gradient, 0.0).sum())
        dual = float(self._weight @ self._point.beta) - 0.5 * float(self._ridge @ own**2)
        self._gap = (primal - dual) / primal
        # Where the optimum is small, both objectives fall long before they are near each other.
        falls = self._gap < 0.9 * self._best_gap or primal - dual < 0.9 * self._best_difference
        self._idle = 0 if falls else self._idle + 1
        self._best_gap = min(self._best_gap, self._gap)
        self._best_difference = min(self._best_difference, primal - dual)
        # After so many steps without a better gap rounding allows no more.
        self.failed = self._idle >= 10 or not math.isfinite(self._gap)
        if self._gap < 1.0:  # β itself may make a model
            self._gap_at(np.minimum(1.0, self._point.beta))

    def _gap_at(
        self, beta: np.ndarray, vector: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """Find the relative gap of some β with its own w, and the gradient; keep the best."""
        vector = self._vector_of(beta) if vector is None else vector
        gradient = self._products(vector) - self._weight
        norm = 0.5 * float(self._ridge @ vector**2)
        loss = -float(np.minimum(gradient, 0.0).sum())
        objective = (norm + loss) / self._weight.size
        if objective < self.lowest:
            self.best, self.lowest = beta.copy(), objective
        return (2.0 * norm + loss - float(self._weight @ beta)) / (norm + loss), gradient

    def _on_face(self) -> np.ndarray:
        """Move β to the bounds that they are going to; the others make up for it."""
        beta, room, low, high, _ = self._point
        at_low = (beta < 0.5) & (beta / _typical(beta) < low / _typical(low))
        at_high = (beta >= 0.5) & (room / _typical(room) < high / _typical(high))
        forced = np.where(at_low, -beta, np.where(at_high, room, 0.0))
        interior.inverse_barrier(self._point, self._inverse)
        self._inverse[at_low | at_high] = 0.0
        gram = self._factor.gram(self._inverse * self._signed**2)
        solve = self._solver(gram) if gram is not None else None
        if solve is not None:
            forced -= self._inverse * self._products(solve(self._sums(forced)))
        moved = beta + forced
        moved[at_low], moved[at_high] = 0.0, 1.0
        return np.asarray(np.clip(moved, 0.0, 1.0))

    def _solver(self, matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Solutions of ``(ridge + matrix) x = r``; None if there are numbers that are none."""
        matrix.flat[:: len(matrix) + 1] += self._ridge
        lower, info = lapack.dpotrf(matrix, lower=1)
        if info == 0:
            return lambda right: np.asarray(lapack.dpotrs(lower, right, lower=1)[0])
        diagonal = matrix.diagonal()  # of a free intercept zero where all β are at their bounds
        size = 1.0 / np.sqrt(np.where(diagonal == 0.0, np.inf, diagonal))
        scaled = matrix * size[:, None] * size
        if not np.isfinite(scaled).all():
            self.failed = True
            return None
        ridge = np.finfo(np.float64).eps
        while info != 0:  # until rounding leaves it positive definite
            ridge *= 10.0
            scaled.flat[:: len(scaled) + 1] = 1.0 + ridge
            lower, info = lapack.dpotrf(scaled, lower=1)
        return lambda right: size * np.asarray(lapack.dpotrs(lower, size * right, lower=1)[0])

    def _products(self, vector: np.ndarray) -> np.ndarray:
        """Compute ``A @ vector``."""
        return self._signed * self._factor.margins(vector)

    def _sums(self, coef: np.ndarray) -> np.ndarray:
        """Compute ``Aᵀ @ coef``."""
        return self._factor.sums(self._signed * coef)

    def _vector_of(self, beta: np.ndarray) -> np.ndarray:
        """Compute the w of some β."""
        vector = self._curvature * self._sums(beta)
        if self._is_free:
            vector[-1] = self.vector[-1]
        return vector


def _typical(values: np.ndarray) -> float:
    """Return size of those among positive values that are not small."""
    return float(values @ values) / float(values.sum())
