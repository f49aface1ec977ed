"""Dual coordinate ascent, one example at a time: the reference optimum.

Not Pegasos: it maximises the dual exactly in one coordinate at a time (Hsieh et al. 2008; MPB 2011
calls it SDCA) and converges linearly, on the same rows and judged by the same certificate.

On features an interior point method can take over: single coordinates are slow where features
differ in size, are large, or share a large mean. Newton steps do not depend on the scale of a
feature. They solve ten to twenty systems with as many unknowns as there are features (or examples,
if these are fewer).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from kpegasos.core import interior
from kpegasos.core.certificate import limits_of, start_ascent
from kpegasos.core.draws import IndexStream
from kpegasos.core.loops import dual_steps
from kpegasos.core.problem import Problem
from kpegasos.core.small_runs import MOST_INHERITED
from kpegasos.core.state import (
    INHERITED,
    SIZE,
    STEPS,
    Examples,
    Iterate,
    LoopParameters,
    LoopState,
    PegasosOptions,
    State,
    new_state,
)
from kpegasos.losses import is_hinge
from kpegasos.losses.base import bests
from kpegasos.rows.base import Algorithm, Evaluated, Factor, RowSource, VectorSource
from kpegasos.solvers.driver import SolverRun, run_to_end
from kpegasos.solvers.pegasos import PegasosRun, check_task
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heed, heeding
from kpegasos.utils.validation import as_integer, as_number, draw_seed, optional

INDEFINITE = (
    "kernel must be positive semi-definite for dual ascent (sdca, polish), got one that is not"
)


def _move_priority(
    state: LoopState, members: np.ndarray, examples: Examples, parameters: LoopParameters
) -> np.ndarray:
    """Score the examples: minus infinity if a step would change them now, else infinity."""
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    decisions, beta = state.image[members] * to_margin, state.alpha[members]
    label, loss = examples.label[members], examples.loss
    # Whether a step moves is the same for all positive curvatures.
    ones = np.ones(members.size)
    moves = bests(loss, beta, decisions, label, ones) != beta
    return np.where(moves, -np.inf, np.inf)


#: Largest ``‖w‖²`` over the problem's squared radius; a dual value of zero or more allows two.
#: Where rounding has made kernel values indefinite, and a loss has no box, w diverges.
_FAR = 1e6

DUAL = Algorithm(dual_steps, _move_priority, from_zero=False)


def sdca(
    problem: Problem,
    rows: RowSource,
    *,
    tol: float = 1e-3,
    max_epochs: int = 1000,
    max_time: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Result:
    """Train to a certified relative gap by stochastic dual coordinate ascent.

    Parameters
    ----------
    problem : Problem
        From `make_problem`.
    rows : RowSource
        From `make_rows` (kernel) or `linear_rows` (primal vector).
    tol : float, default=1e-3
        Stop when ``(P − D) / P`` is at most this; with 0 only when it is exact.
    max_epochs : int, default=1000
        Passes over the data at the most.
    max_time : float, default=None
        Seconds after which the model reached so far is returned.
    random_state : int, RandomState or None, default=None
        Seeds the permutations.

    Returns
    -------
    Result
        ``alpha`` holds β, with the hinge in [0, 1]; ``status`` is ``"tolerance"`` when the gap was
        reached. Its ``dual_bound ≤ min P ≤ objective`` brackets the optimum. The model is the best
        of the iterates, which are evaluated once an epoch.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the kernel is not positive semi-definite, by its name or
        as the values show.
    TypeError
        If problem or rows is of another type.
    Interrupted
        After Ctrl-C: a `KeyboardInterrupt` whose ``result`` is the model reached so far.
    """
    check_task(problem, rows)
    tol = as_number("tol", tol, least=0.0)
    max_time = optional(as_number, "max_time", max_time, least=0.0)
    seed = draw_seed(random_state)
    options = PegasosOptions(average=None)
    state = new_state(rows.n_samples, rows.image_size, options, problem.lam, seed)
    ascent = DualAscent(
        problem, rows, state, max_epochs=as_integer("max_epochs", max_epochs, least=1)
    )
    return run_to_end(ascent, max_time, tol)


class DualAscent(SolverRun):
    """Epochs of stochastic dual coordinate ascent, evaluated after each.

    Parameters
    ----------
    problem : Problem
    rows : RowSource
    state : State
        Dual variables β and their image to begin with; modified in place.
    max_epochs : int
        Passes over the data at the most.
    **options
        Of `SolverRun`.

    Raises
    ------
    ValueError
        If the kernel is known not to be positive semi-definite.
    """

    algorithm = DUAL
    indefinite = INDEFINITE
    _still = False
    _first_gap = 0.0

    def __init__(
        self,
        problem: Problem,
        rows: RowSource,
        state: State,
        *,
        max_epochs: int,
        **options: Any,
    ) -> None:
        stream = IndexStream(rows.n_samples, "permutation", state.seed, state.spawn_key)
        super().__init__(problem, rows, state, stream, **options)
        self.most_steps = max_epochs * problem.y.size
        self._unit = Iterate(1.0 / (problem.lam * problem.y.size))
        self._best: Evaluated | None = None

    @classmethod
    def after(cls, run: PegasosRun, *, max_epochs: int) -> DualAscent:
        """Make an ascent that begins where a Pegasos run ended, with its counts and history."""
        problem, rows = run.problem, run.rows
        (_, evaluated), lam, loss = run.evaluate(), problem.lam, problem.loss
        # A key of its own makes the draws independent of those of the run.
        stream = run.state.seed, (*run.state.spawn_key, 0, 0)
        sizes, options = (rows.n_samples, rows.image_size), PegasosOptions(average=None)
        state = new_state(*sizes, options, lam, *stream)
        image = np.ascontiguousarray(evaluated.image)
        iterate = np.ascontiguousarray(evaluated.coef), image, evaluated.squared_norm
        theta = start_ascent(state.loop, run.examples, limits_of(loss), *iterate, lam)
        # An addition of an ascent may be as large as the sum of all β over lam m.
        inherited = theta * lam * evaluated.additions
        if not is_hinge(loss):  # `additions` multiplies by this
            inherited /= 1.0 + 2.0 * state.loop.scalars.item(SIZE) / problem.y.size
        for name in ("best_dual", "proven_bound", "evaluations", "seconds"):
            setattr(state, name, getattr(run.state, name))
        ascent = cls(problem, rows, state, max_epochs=max_epochs, history=run.history)
        ascent.steps_before = run.state.steps
        ascent.draws_before = run.state.steps * run.state.options.batch_size
        if problem.free_intercept:  # it stays that of the run
            of_feature = rows.kernel_offset * float(evaluated.coef @ run.examples.signed)
            _, intercept = evaluated.primal(run.examples, rows.kernel_offset)
            move = problem.lam * problem.y.size * intercept
            ascent.shift = move - theta * lam * problem.y.size * of_feature
            inherited += ascent.move_image(move)
        state.loop.counters[INHERITED] = math.ceil(min(inherited, MOST_INHERITED))
        ascent._best = evaluated
        ascent._gap = run._gap
        return ascent

    @property
    def progress(self) -> float:
        """Share of the way from the first gap to ``tol`` on a logarithmic scale, from 0 to 1."""
        tol, records = self._certifier.tol, self.history.records
        gap = records[-1].relative_gap if records else math.nan
        self._first_gap = self._first_gap or gap
        if not (tol and tol < self._first_gap and gap > 0.0):
            return 0.0
        share = math.log(self._first_gap / gap) / math.log(self._first_gap / tol)
        return min(1.0, max(0.0, share))

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on for one epoch."""
        before = self.state.loop.alpha.copy()
        reason = self.take_steps(self.state.steps + self.problem.y.size, stopper)
        moved = self.recentre_intercept()
        self._still = not moved and reason is None and np.array_equal(before, self.state.loop.alpha)
        return reason

    def recentre_intercept(self) -> bool:
        """Move the centre of a free intercept's penalty to the intercept; return false if it stays.

        With a constant feature of size B the objective has the penalty ``lam/2 (b - b₀)² / B²``. To
        move b₀ is a step of the proximal point method for b (Rockafellar 1976), and of the method
        of multipliers for the constraint ``Σ β_i ω_i s_i = 0``, whose multiplier is b.
        """
        rows, loop = self.rows, self.state.loop
        if not self.problem.free_intercept:
            return False
        step = rows.kernel_offset * float(loop.alpha @ self.examples.signed)
        if step == 0.0:
            return False
        with self.on_account():
            self.shift += step
            more = self.move_image(step)
            inherited = loop.counters[INHERITED] + more
            loop.counters[INHERITED] = math.ceil(min(inherited, MOST_INHERITED))
        return True

    def move_image(self, step: float) -> float:
        """Add to the intercept of the image; the caller sets `shift`.

        Returns the rounding that this adds to w, in additions: none where the image is a vector.
        """
        rows, image = self.rows, self.state.loop.image
        if rows.image_kind == "vector":
            image[-1] += step / rows.kernel_offset**0.5
            return 0.0
        image += step
        # One addition, which may be larger than those of the steps.
        largest = float(np.abs(image).max()) + abs(self.shift)
        return 1.0 + largest / (rows.largest * image.size)

    def at_end(self) -> bool:
        """Return whether no epoch is left, the last moved nothing, or rounding forbids more."""
        tol, (last, _) = self._certifier.tol, self.evaluate()
        hopeless = tol is not None and self._certifier.out_of_reach(tol)
        problem = self.problem
        stays = is_hinge(problem.loss) or abs(last.squared_norm) <= _FAR * problem.radius**2
        return hopeless or not stays or self._still or super().at_end()

    def iterates(self) -> list[Iterate]:
        """Return the iterate that belongs to β."""
        return [self._unit]

    def evaluate(self) -> tuple[Evaluated, Evaluated]:
        """Return the iterate as it stands, and the best one so far."""
        last, _ = super().evaluate()
        if self._best is None or last.objective <= self._best.objective:
            self._best = last
        return last, self._best

    def end_at_once(self, status: str) -> None:
        """End without a step, for the reason that ended the run before, and own its last record."""
        self.status, self._own_record = status, len(self.history) - 1

    def consider(self, run: SolverRun, factor: float) -> None:
        """Adopt a multiple of the iterate of a run on the same rows, if it is the best so far."""
        iterate = run.iterates()[-1]
        multiple = iterate._replace(plain=factor * iterate.plain, stamped=factor * iterate.stamped)
        (evaluated,) = run.evaluated([multiple])
        evaluation = self._certifier.evaluate(evaluated)
        if evaluation.objective < self.evaluate()[1].objective:
            self._best = evaluation


class InteriorPointAscent(DualAscent):
    """Dual ascent that switches to an interior point method where that is expected to be faster.

    The rows estimate how many passes over the data the systems cost. Small ones are solved at once.
    Otherwise single coordinates go first; Newton steps begin afresh once the gap falls too slowly
    for single coordinates to be done in that many passes. Where rounding makes Newton steps fail,
    single coordinates go on.
    """

    rows: VectorSource
    _newton: NewtonSteps | None = None
    _failed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        passes = self.rows.factor_passes()
        self._patience = 12.0 * passes
        # With more columns than examples, the factor takes longer than all systems together.
        is_tall = self.rows.image_size <= self.rows.n_samples + 1
        self._at_once = is_tall and passes * self.rows.n_samples <= tuning.SMALL_SYSTEM
        self._gaps: list[float] = []
        self._goal_factor = 0.9

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on for one epoch of single coordinates, or for some Newton steps."""
        if self._newton is None and not self._failed and self._is_due():
            self.evaluate()  # may be the best for long: Newton steps begin elsewhere
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
        """Take some Newton steps, and copy the point that they reach into the state."""
        reason, loop, best = None, self.state.loop, self._best
        goal = self._goal_factor * (self._certifier.tol or np.finfo(np.float64).eps)
        with self.on_account(), np.errstate(all="ignore"):
            try:
                with heeding(stopper.lasts):
                    for _ in range(16):  # a few more than a solution takes
                        heed()
                        if not newton.step():
                            break
                        loop.counters[STEPS] += self.problem.y.size
                        if newton.has_reached(goal):
                            self._goal_factor *= 0.1  # in case rounding keeps it above tol
                            break
            except CutShort:
                if (reason := stopper.reason()) is None:
                    raise  # asked for by a block around the run
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
        """Set a free intercept from Newton's weight of the constant feature."""
        if self.problem.free_intercept:
            rows, loop = self.rows, self.state.loop
            wanted = rows.kernel_offset**0.5 * last * self.problem.lam * self.problem.y.size
            self.shift = wanted - rows.kernel_offset * float(loop.alpha @ self.examples.signed)
            self.move_image(self.shift)


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
        Dual variables within the box that may have the wanted gap; None before there are any.
    best : ndarray of shape (n_samples,) or None
        Those within the box whose own w has the lowest objective so far; None before there are any.
    lowest : float
        That objective, as computed.
    failed : bool
        Whether rounding prevents further progress.
    """

    def __init__(self, problem: Problem, factor: Factor) -> None:
        self._factor = factor
        self._weight, self._signed = problem.weight, problem.examples.signed
        self._curvature = 1.0 / (problem.lam * problem.y.size)
        # Regularisation of w, 1/κ; a free intercept is the multiplier of Σ β_i ω_i s_i = 0.
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
        """Take a predictor and a corrector step; return false if no further one can help."""
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
        """Set `beta`, and return whether its relative gap is small enough to stop.

        Parameters
        ----------
        goal : float
        """
        if not self._gap <= 10.0 * goal:  # too early to guess a face of the box
            return False
        self.beta = self._on_face()
        if self._gap_at(self.beta)[0] <= goal:
            return True
        gap, gradient = self._gap_at(self._point.beta, self._own_vector)
        self.beta = np.minimum(1.0, self._point.beta)
        if gap <= goal:
            self._faces += 1
            return self._faces >= 4  # a point on a face is better
        mismatch = float(np.abs(gradient - self._point.gradient).max())
        if mismatch > 0.5 * self._mismatch:
            # Rounding keeps w from converging to that of β, which therefore replaces it.
            self._point = interior.replace_gradient(self._point, gradient)
            self.vector, mismatch = self._own_vector, math.inf
        self._mismatch = mismatch
        return False

    def _judge(self) -> None:
        """Note whether the estimated gap of the point falls."""
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
        """Compute the relative gap and the gradient of β with its own w; keep the best β."""
        vector = self._vector_of(beta) if vector is None else vector
        gradient = self._products(vector) - self._weight
        norm = 0.5 * float(self._ridge @ vector**2)
        loss = -float(np.minimum(gradient, 0.0).sum())
        objective = (norm + loss) / self._weight.size
        if objective < self.lowest:
            self.best, self.lowest = beta.copy(), objective
        return (2.0 * norm + loss - float(self._weight @ beta)) / (norm + loss), gradient

    def _on_face(self) -> np.ndarray:
        """Move each β that approaches a bound onto it; the others compensate."""
        beta, room, low, high, _ = self._point
        at_low = (beta < 0.5) & (beta / _typical(beta) < low / _typical(low))
        at_high = (beta >= 0.5) & (room / _typical(room) < high / _typical(high))
        forced = np.where(at_low, -beta, np.where(at_high, room, 0.0))
        interior.inverse_barrier(self._point, self._inverse)
        self._inverse[at_low | at_high] = 0.0
        solve = self._solver(self._factor.gram(self._inverse * self._signed**2))
        if solve is not None:
            forced -= self._inverse * self._products(solve(self._sums(forced)))
        moved = beta + forced
        moved[at_low], moved[at_high] = 0.0, 1.0
        return np.asarray(np.clip(moved, 0.0, 1.0))

    def _solver(self, matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return a solver of ``(ridge + matrix) x = r``; None if entries are not finite."""
        matrix.flat[:: len(matrix) + 1] += self._ridge
        lower, info = lapack.dpotrf(matrix, lower=1)
        if info == 0:
            return lambda right: np.asarray(lapack.dpotrs(lower, right, lower=1)[0])
        diagonal = matrix.diagonal()  # zero for a free intercept if all β are at their bounds
        size = 1.0 / np.sqrt(np.where(diagonal == 0.0, np.inf, diagonal))
        scaled = matrix * size[:, None] * size
        if not np.isfinite(scaled).all():
            self.failed = True
            return None
        ridge = np.finfo(np.float64).eps
        while info != 0:  # until it is positive definite in spite of rounding
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
    """Return the mean of positive values weighted by themselves: small ones hardly count."""
    return float(values @ values) / float(values.sum())
