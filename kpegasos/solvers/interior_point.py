"""The finisher on features: single coordinates where they do, else an interior point method.

Steps of single coordinates creep where features differ in size, where they are large, or where
they share a large mean. Newton's do not know the scale of a feature. They solve systems of as many
unknowns as there are features (or examples, if these are fewer), some ten to twenty in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from kpegasos.core import interior
from kpegasos.core.problem import Problem
from kpegasos.core.state import STEPS
from kpegasos.rows.factor import Factor
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heed, heeding

#: β of the point to begin at, and how much larger its multipliers are than they need to be.
_SHARE, _SPREAD = 0.1, 0.5
#: Newton steps between two evaluations, those that a whole solution takes, and those without a
#: better gap after which rounding allows no more.
_STEPS_OF_A_ROUND, _STEPS_OF_A_SOLUTION, _IDLE_STEPS = 16, 12, 10
#: Times the gap wanted at which a point is first moved onto a face of the box.
_NEAR = 10.0
#: Gap that a point seems to have, below which β itself may make a model.
_WORTH_A_MODEL = 1.0
#: How often a point of the gap wanted is moved onto a face before it is taken as it is.
_MOST_FACES = 4


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
        self._patience = _STEPS_OF_A_SOLUTION * passes
        self._at_once = passes * self.rows.n_samples <= tuning.SMALL_SYSTEM
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
        """Whether Newton steps are expected to be done before single coordinates."""
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
        reason, loop = None, self.state.loop
        goal = self._goal_factor * (self._certifier.tol or np.finfo(np.float64).eps)
        with self.on_account(), np.errstate(all="ignore"):
            try:
                with heeding(stopper.lasts):
                    self._make_steps(newton, goal)
            except CutShort:
                reason = stopper.reason()
            beta = newton.beta
            if beta is None or reason is not None:
                beta = newton.best if self._is_gain(newton.lowest) else beta
            if beta is not None:
                loop.alpha[:] = beta
                loop.image[:] = self.rows.sums(beta * self.examples.signed)
        if newton.failed:
            self._newton, self._failed = None, True
        return reason or stopper.reason()

    def _make_steps(self, newton: NewtonSteps, goal: float) -> None:
        for _ in range(_STEPS_OF_A_ROUND):
            heed()
            if not newton.step():
                return
            self.state.loop.counters[STEPS] += self.problem.y.size
            if newton.has_reached(goal):
                self._goal_factor *= 0.1  # if rounding should leave the certificate above tol
                return

    def _is_gain(self, objective: float) -> bool:
        """Whether a model of some objective would be the best so far."""
        return self._best is None or objective < self._best.objective


class NewtonSteps:
    """An interior point method for the dual: `kpegasos.core.interior`, and its systems.

    Parameters
    ----------
    problem : Problem
    factor : Factor

    Attributes
    ----------
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
        self._point = interior.start(self._weight, _SHARE, _SPREAD)
        self._vector = np.zeros(factor.size)
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
        lag = (self._own_vector - self._vector) / self._curvature
        change = solve(lag - self._sums(inverse * point.gradient))
        predicted = self._products(change)
        target = interior.correct(point, inverse, predicted, total, right)
        change = solve(lag + self._sums(inverse * right))
        products = self._products(change)
        share = interior.move(point, inverse, predicted, products, right, target)
        self._vector = self._vector + share * change
        self._own_vector = self._vector_of(point.beta)
        self._judge()
        return not self.failed

    def has_reached(self, goal: float) -> bool:
        """Whether `beta` has a relative gap of at most this; the point moves on towards it.

        Parameters
        ----------
        goal : float
        """
        if not self._gap <= _NEAR * goal:
            return False
        self.beta = self._on_face()
        if self._gap_at(self.beta)[0] <= goal:
            return True
        gap, gradient = self._gap_at(self._point.beta, self._own_vector)
        self.beta = np.minimum(1.0, self._point.beta)
        if gap <= goal:
            self._faces += 1
            return self._faces >= _MOST_FACES
        mismatch = float(np.abs(gradient - self._point.gradient).max())
        if mismatch > 0.5 * self._mismatch:
            # Rounding keeps w from becoming that of β: let it be so by definition.
            self._point = interior.replace_gradient(self._point, gradient)
            self._vector, mismatch = self._own_vector, math.inf
        self._mismatch = mismatch
        return False

    def _judge(self) -> None:
        """Note whether the gap that the point seems to have falls."""
        own = self._own_vector
        gradient = self._point.gradient
        half = 0.5 / self._curvature
        primal = half * float(self._vector @ self._vector) - float(np.minimum(gradient, 0.0).sum())
        dual = float(self._weight @ self._point.beta) - half * float(own @ own)
        self._gap = (primal - dual) / primal
        # Where the optimum is small, both objectives fall long before they are near each other.
        falls = self._gap < 0.9 * self._best_gap or primal - dual < 0.9 * self._best_difference
        self._idle = 0 if falls else self._idle + 1
        self._best_gap = min(self._best_gap, self._gap)
        self._best_difference = min(self._best_difference, primal - dual)
        self.failed = self._idle >= _IDLE_STEPS or not math.isfinite(self._gap)
        if self._gap < _WORTH_A_MODEL:
            self._gap_at(np.minimum(1.0, self._point.beta))

    def _gap_at(
        self, beta: np.ndarray, vector: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """Relative gap of some β with its own w, and the gradient there; the best is kept."""
        vector = self._vector_of(beta) if vector is None else vector
        gradient = self._products(vector) - self._weight
        norm = 0.5 / self._curvature * float(vector @ vector)
        loss = -float(np.minimum(gradient, 0.0).sum())
        objective = (norm + loss) / self._weight.size
        if objective < self.lowest:
            self.best, self.lowest = beta.copy(), objective
        return (2.0 * norm + loss - float(self._weight @ beta)) / (norm + loss), gradient

    def _on_face(self) -> np.ndarray:
        """β with those at a bound that are going there; the others make up for it as they can."""
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
        """Solutions of ``(I/κ + matrix) x = r``; None if there are numbers that are none."""
        matrix.flat[:: len(matrix) + 1] += 1.0 / self._curvature
        lower, info = lapack.dpotrf(matrix, lower=1)
        if info == 0:
            return lambda right: np.asarray(lapack.dpotrs(lower, right, lower=1)[0])
        size = 1.0 / np.sqrt(matrix.diagonal())
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
        """``A @ vector``."""
        return self._signed * self._factor.margins(vector)

    def _sums(self, coef: np.ndarray) -> np.ndarray:
        """``Aᵀ @ coef``."""
        return self._factor.sums(self._signed * coef)

    def _vector_of(self, beta: np.ndarray) -> np.ndarray:
        """The w of some β."""
        return self._curvature * self._sums(beta)


def _typical(values: np.ndarray) -> float:
    """Size of those among positive values that are not small."""
    return float(values @ values) / float(values.sum())
