"""Dual coordinate ascent, one example at a time: the reference optimum.

Not Pegasos: it maximises the dual exactly in one coordinate at a time (Hsieh et al. 2008; MPB 2011
calls it SDCA) and converges linearly, on the same rows and judged by the same certificate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kpegasos.core.certificate import limits_of, start_ascent
from kpegasos.core.draws import IndexStream
from kpegasos.core.loops import dual_steps
from kpegasos.core.problem import Problem
from kpegasos.core.small_runs import MOST_INHERITED
from kpegasos.core.state import (
    INHERITED,
    SIZE,
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
from kpegasos.rows.base import Algorithm, Evaluated, RowSource
from kpegasos.solvers.driver import SolverRun, alone_with, run_to_end
from kpegasos.solvers.pegasos import PegasosRun, check_task
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Stopper
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
    # Which way, and whether there is room, depends on no curvature that is positive.
    ones = np.ones(members.size)
    moves = bests(loss, beta, decisions, label, ones) != beta
    return np.where(moves, -np.inf, np.inf)


#: Squared lengths of w over that of the problem's radius: a dual value of zero or more leaves two.
#: Where rounding has made kernel values indefinite, and a loss has no box, w runs away.
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
        Makes the permutations.

    Returns
    -------
    Result
        ``alpha`` holds β, with the hinge in [0, 1]; ``status`` is ``"tolerance"`` when the gap was
        reached. Its ``dual_bound ≤ min P ≤ objective`` brackets the optimum. The model is the best
        iterate that was evaluated, once an epoch.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite, by its name or as the values show.
    Interrupted
        After Ctrl-C: a `KeyboardInterrupt` whose ``result`` is the model reached so far.
    """
    check_task(problem, rows)
    tol = as_number("tol", tol, least=0.0)
    max_time = optional(as_number, "max_time", max_time, least=0.0)
    seed = draw_seed(random_state)
    state = new_state(
        rows.n_samples, rows.image_size, PegasosOptions(average=None), problem.lam, seed
    )
    state.loss = problem.loss
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
        with alone_with(rows):
            rows.prepare()

    @classmethod
    def after(cls, run: PegasosRun, *, max_epochs: int) -> DualAscent:
        """Make an ascent that begins where a Pegasos run ended, on its account and history."""
        problem, rows = run.problem, run.rows
        (_, evaluated), lam, loss = run.evaluate(), problem.lam, problem.loss
        state = new_state(
            rows.n_samples,
            rows.image_size,
            PegasosOptions(average=None),
            problem.lam,
            run.state.seed,
            # A key of its own: the ascent draws what the run would not have drawn.
            (*run.state.spawn_key, 0, 0),
        )
        image = np.ascontiguousarray(evaluated.image)
        iterate = np.ascontiguousarray(evaluated.coef), image, evaluated.squared_norm
        theta = start_ascent(state.loop, run.examples, limits_of(loss), *iterate, lam)
        # An addition of an ascent may come to the sum of all β, over lam m.
        inherited = theta * lam * evaluated.additions
        if not is_hinge(loss):  # which counts what sums have come to once more
            inherited /= 1.0 + 2.0 * state.loop.scalars.item(SIZE) / problem.y.size
        state.loss, state.free_intercept = problem.loss, problem.free_intercept
        state.best_dual = run.state.best_dual
        state.proven_bound = run.state.proven_bound
        state.evaluations = run.state.evaluations
        state.seconds = run.state.seconds
        ascent = cls(problem, rows, state, max_epochs=max_epochs, history=run.history)
        ascent.steps_before = run.state.steps
        ascent.draws_before = run.state.steps * run.state.options.batch_size
        if problem.free_intercept:  # which is that of the run, whatever β is multiplied by
            of_feature = rows.kernel_offset * float(evaluated.coef @ run.examples.signed)
            _, intercept = evaluated.primal(run.examples, rows.kernel_offset)
            move = problem.lam * problem.y.size * intercept
            ascent.shift = move - theta * lam * problem.y.size * of_feature
            inherited += rows.move_image(state.loop.image, move, ascent.shift)
        state.loop.counters[INHERITED] = math.ceil(min(inherited, MOST_INHERITED))
        ascent._best = evaluated
        ascent._gap = run._gap
        return ascent

    @property
    def progress(self) -> float:
        """Share of the way from the first gap to ``tol``, by their logarithms, from 0 to 1."""
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
        """Regularise the distance of a free intercept from where it is now; false if it stays.

        That is a step of the method of multipliers for the constraint ``Σ β_i ω_i s_i = 0``, whose
        multiplier the intercept is, and of the proximal point method for the intercept (Rockafellar
        1976): with a constant feature of size B, ``lam/2 (b - b₀)² / B²`` is in the objective.
        """
        rows, loop = self.rows, self.state.loop
        if not self.problem.free_intercept:
            return False
        step = rows.kernel_offset * float(loop.alpha @ self.examples.signed)
        if step == 0.0:
            return False
        with self.on_account():
            self.shift += step
            more = rows.move_image(loop.image, step, self.shift)
            inherited = loop.counters[INHERITED] + more
            loop.counters[INHERITED] = math.ceil(min(inherited, MOST_INHERITED))
        return True

    def at_end(self) -> bool:
        """Return whether all is done, the last epoch moved nothing, or rounding forbids more."""
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
        """End without a step, for the reason that ended the run before; its last record is ours."""
        self.status, self._own_record = status, len(self.history) - 1

    def consider(self, run: SolverRun, factor: float) -> None:
        """Return a multiple of the iterate of a run on the same rows, if it is the best so far."""
        iterate = run.iterates()[-1]
        multiple = iterate._replace(plain=factor * iterate.plain, stamped=factor * iterate.stamped)
        (evaluated,) = run.evaluated([multiple])
        evaluation = self._certifier.evaluate(evaluated)
        if evaluation.objective < self.evaluate()[1].objective:
            self._best = evaluation
