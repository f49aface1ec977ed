"""Dual coordinate ascent: the reference optimum, and the finisher of a Pegasos run.

Not Pegasos: it maximises the dual exactly in one coordinate at a time (Hsieh et al. 2008; MPB 2011
calls it SDCA) and converges linearly, on the same rows and judged by the same certificate.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.draws import IndexStream
from kpegasos.core.loops import dual_steps, dual_working_set
from kpegasos.core.problem import Problem, best_multiple
from kpegasos.core.state import (
    INHERITED,
    STEPS,
    Examples,
    Iterate,
    LoopParameters,
    LoopState,
    PegasosOptions,
    State,
    new_state,
)
from kpegasos.rows.base import Algorithm, RowSource
from kpegasos.solvers.certificate import Evaluation
from kpegasos.solvers.driver import SolverRun
from kpegasos.solvers.pegasos import PegasosRun, check_task
from kpegasos.solvers.result import Result
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.validation import as_integer, as_number, draw_seed, optional

#: Rounds of working sets in which neither bound nor objective improves, after which there is
#: nothing left to gain but rounding errors.
_IDLE_ROUNDS = 20

_INDEFINITE = (
    "kernel must be positive semi-definite for dual ascent (sdca, polish), got one that is not"
)


def _move_priority(
    state: LoopState, members: np.ndarray, examples: Examples, parameters: LoopParameters
) -> np.ndarray:
    """Score the examples: minus infinity if a step would change them now, else infinity."""
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    slack = 1.0 - examples.label[members] * state.image[members] * to_margin
    beta = state.alpha[members]
    moves = ((slack > 0) & (beta < 1)) | ((slack < 0) & (beta > 0))
    return np.where(moves, -np.inf, np.inf)


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
        Stop when ``(P − D) / P`` is at most this.
    max_epochs : int, default=1000
        Passes over the data at the most.
    max_time : float, default=None
        Seconds after which the model reached so far is returned.
    random_state : int, RandomState or None, default=None
        Makes the permutations.

    Returns
    -------
    Result
        ``alpha`` holds β in [0, 1]; ``status`` is ``"tolerance"`` when the gap was reached. Its
        ``dual_bound ≤ min P ≤ objective`` brackets the optimum. The model is the best iterate
        that was evaluated, once an epoch.

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
    ascent = DualAscent(
        problem, rows, state, max_epochs=as_integer("max_epochs", max_epochs, least=1)
    )
    with interruptible(Stopper(max_time)) as stopper:
        while not ascent.finished:
            ascent.advance(stopper, tol)
        result = ascent.result()
        stopper.presses_kept = np.inf
    if stopper.interrupted:  # maybe too late to cut the run short
        raise Interrupted(result)
    return result


def polish(
    run: PegasosRun, *, tol: float = 1e-2, max_epochs: int = 1000, stopper: Stopper | None = None
) -> Result:
    """Refine the model of a Pegasos run by dual ascent, until it is certified to be near-optimal.

    The ascent begins at the returned iterate of the run, scaled to the best feasible dual point,
    and uses the same rows; no kernel value is computed twice while they are kept. The model is no
    longer an average of Pegasos iterates. It is never worse than the run's own: of all iterates
    that were evaluated the best is returned.

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
    if run.status in ("interrupted", "max_time") or run.reaches(tol, stopper):
        return run.result()
    if not run.state.certified:
        raise ValueError(_INDEFINITE)
    from kpegasos.solvers.interior_point import InteriorPointAscent  # which is a DualAscent

    # Where kernel rows are held, working sets of them are worth more than single ones.
    kind = WorkingSetAscent if run.rows.row_capacity >= 4 else InteriorPointAscent
    ascent = kind.after(run, max_epochs=max_epochs)
    while not ascent.finished:
        ascent.advance(stopper, tol)
    return replace(
        ascent.result(),
        alpha=run.alpha,
        n_steps=run.state.steps,
        state=run.state,
    )


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
    stream : IndexStream, default=None
        Made from the state's seed if None.
    **options
        Of `SolverRun`.

    Raises
    ------
    ValueError
        If the kernel is known not to be positive semi-definite.
    """

    algorithm = DUAL
    _still = False

    def __init__(
        self,
        problem: Problem,
        rows: RowSource,
        state: State,
        *,
        max_epochs: int,
        stream: IndexStream | None = None,
        **options: Any,
    ) -> None:
        if not rows.positive_definite:
            self.refuse_indefinite()
        if stream is None:
            stream = IndexStream(rows.n_samples, "permutation", state.seed, state.spawn_key)
        super().__init__(problem, rows, state, stream, **options)
        self._most_steps = max_epochs * problem.y.size
        self._unit = Iterate(LinearCombination(1.0 / (problem.lam * problem.y.size), 0.0))
        self._best: Evaluation | None = None
        rows.prepare()

    @classmethod
    def after(cls, run: PegasosRun, *, max_epochs: int) -> DualAscent:
        """An ascent that begins where a Pegasos run ended, on its account and history."""
        problem, rows = run.problem, run.rows
        _, returned = run.evaluate()
        evaluated = returned.evaluated
        theta = best_multiple(evaluated.coef, evaluated.squared_norm, problem)
        scale = theta * problem.lam * problem.y.size
        state = new_state(
            rows.n_samples,
            rows.image_size,
            PegasosOptions(average=None),
            problem.lam,
            run.state.seed,
            # A key of its own: the ascent draws what the run would not have drawn.
            (*run.state.spawn_key, 0, 0),
        )
        np.minimum(1.0, scale * evaluated.coef, out=state.loop.alpha)
        state.loop.image[:] = scale * rows.image_of(evaluated)
        # An addition of an ascent may come to the sum of all β, over lam m.
        loop = state.loop
        loop.counters[INHERITED] = math.ceil(theta * problem.lam * evaluated.additions)
        state.best_dual = run.state.best_dual
        state.proven_bound = run.state.proven_bound
        state.evaluations = run.state.evaluations
        state.seconds = run.state.seconds
        ascent = cls(problem, rows, state, max_epochs=max_epochs, history=run.history)
        ascent.steps_before = run.state.steps
        ascent.draws_before = run.state.steps * run.state.options.batch_size
        ascent._best = returned
        ascent._gap = run._gap
        return ascent

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on for one epoch."""
        before = self.state.loop.alpha.copy()
        reason = self.take_steps(self.state.steps + self.problem.y.size, stopper)
        self._still = reason is None and np.array_equal(before, self.state.loop.alpha)
        return reason

    def at_end(self) -> bool:
        """Whether all epochs are done, the last has moved nothing, or rounding forbids ``tol``."""
        tol = self._certifier.tol
        hopeless = tol is not None and self._certifier.out_of_reach(tol)
        return hopeless or self._still or self.state.steps >= self._most_steps

    def iterates(self) -> list[Iterate]:
        """The iterate that belongs to β."""
        return [self._unit]

    def evaluate(self) -> tuple[Evaluation, Evaluation]:
        """The iterate as it stands, and the best one so far."""
        last, _ = super().evaluate()
        if self._best is None or last.objective <= self._best.objective:
            self._best = last
        return last, self._best

    def refuse_indefinite(self) -> None:
        """Raise a ValueError: without a certificate there is no end to an ascent."""
        raise ValueError(_INDEFINITE)


class WorkingSetAscent(DualAscent):
    """Dual ascent over working sets of the worst violators, on kernel rows that are held.

    Half of a working set are the examples that a better model would most like to draw to the
    positive side, half those to the negative side, as in SVMs with an unpenalised intercept
    (Joachims 1998). Half of the working set before stays for one more turn. One-sided working sets
    stall: kernel values have a common part, and a set that may only push one way overshoots.
    """

    _idle_rounds = 0
    _last_bound = -np.inf

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._working_set = np.empty(0, dtype=np.int64)
        self._passes = tuning.FEWEST_PASSES

    def advance_to_checkpoint(self, stopper: Stopper) -> str | None:
        """Go on until the next evaluation: a few working sets."""
        if self.state.best_dual - self._last_bound < 0.01 * self._gap:
            self._passes = min(2 * self._passes, tuning.MOST_PASSES)
        self._last_bound = self.state.best_dual
        loop = self.state.loop
        for number in range(tuning.WORKING_SETS_OF_A_ROUND):
            reason = stopper.reason() if number > 0 else None
            if reason is not None:
                return reason
            with self.on_account():
                size = min(tuning.WORKING_SET, self.rows.row_capacity)
                self._working_set = self._next_working_set(size)
                dual_working_set(
                    loop,
                    self.rows.ensure_rows(self._working_set, int(loop.counters[STEPS])),
                    self._working_set,
                    self.examples,
                    self.parameters,
                    self._passes,
                )
        return stopper.reason()

    def record(self) -> None:
        """Add a record, and note whether the round has gained anything."""
        before = self._gap
        super().record()
        self._idle_rounds = 0 if self._gap < before else self._idle_rounds + 1

    def at_end(self) -> bool:
        """Whether there is an end, or nothing has been gained for some rounds."""
        return super().at_end() or self._idle_rounds >= _IDLE_ROUNDS

    def _next_working_set(self, size: int) -> np.ndarray:
        """Half of the last one, and the examples that violate optimality most on either side."""
        label, beta = self.examples.label, self.state.loop.alpha
        pull = label - self.state.loop.image / (self.problem.lam * self.problem.y.size)
        kept = self._working_set[-(size // 2) :]
        can_rise = np.where(label > 0, beta < 1, beta > 0)
        can_fall = np.where(label > 0, beta > 0, beta < 1)
        can_rise[kept] = can_fall[kept] = False
        rising = _largest(np.where(can_rise, pull, -np.inf), size // 4)
        can_fall[rising] = False
        falling = _largest(np.where(can_fall, -pull, -np.inf), size // 4)
        return np.concatenate((kept, _alternating(rising, falling)))


def _largest(values: np.ndarray, number: int) -> np.ndarray:
    """Indices of the largest finite values."""
    if number < values.size:
        chosen = np.argpartition(-values, number)[:number]
    else:
        chosen = np.arange(values.size)
    return chosen[np.isfinite(values[chosen])]


def _alternating(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Elements of both in turns, then what the longer has left: each makes room for the other."""
    turns = np.argsort(np.concatenate((np.arange(one.size), np.arange(other.size))))
    return np.concatenate((one, other))[turns]
