"""Stochastic dual coordinate ascent: the reference optimum, and the finisher of a Pegasos run.

Not Pegasos: it maximises the dual exactly in one coordinate at a time (Hsieh et al. 2008; MPB 2011
calls it SDCA) and converges linearly, on the same rows and judged by the same certificate.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.draws import IndexStream
from kpegasos.core.loops import (
    ROW_HITS,
    STEPS,
    Examples,
    LoopParameters,
    LoopState,
    dual_block,
    dual_steps,
)
from kpegasos.core.problem import Problem, best_multiple, dual_bound, is_impossible, primal
from kpegasos.core.state import Algorithm, PegasosOptions, new_state, returned_vector
from kpegasos.rows.base import KernelSource
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.history import History, Record
from kpegasos.solvers.pegasos import PegasosRun, Result, Rows, new_evaluations
from kpegasos.solvers.stopping import Stopper, TimeSlicer, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.validation import draw_seed


def _movable(
    state: LoopState, examples_at: np.ndarray, examples: Examples, parameters: LoopParameters
) -> np.ndarray:
    """Score the examples: minus infinity if a step would change them now, else infinity."""
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    slack = 1.0 - examples.label[examples_at] * state.base[examples_at] * to_margin
    beta = state.alpha[examples_at]
    moves = ((slack > 0) & (beta < 1)) | ((slack < 0) & (beta > 0))
    return np.where(moves, -np.inf, np.inf)


_INDEFINITE = (
    "kernel must be positive semi-definite for dual ascent (sdca, polish), got one that is not"
)


DUAL = Algorithm(dual_steps, _movable, from_zero=False)


def sdca(
    problem: Problem,
    rows: Rows,
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
    rows : KernelSource or FeatureRows
    tol : float, default=1e-3
        Stop when ``(P − D) / P`` is at most this.
    max_epochs : int, default=1000
    max_time : float, default=None
        Seconds.
    random_state : int, RandomState or None, default=None
        Makes the permutations.

    Returns
    -------
    Result
        ``alpha`` holds β in [0, 1]; ``status`` is ``"tolerance"`` when the gap was reached. Its
        ``dual_bound ≤ min P ≤ objective`` brackets the optimum.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite, by its name or as the values show.
    """
    seed = draw_seed(random_state)
    state = new_state(
        rows.n_samples, rows.image_size, PegasosOptions(average=None), problem.lam, seed
    )
    ascent = Ascent(problem, rows, state.loop, IndexStream(rows.n_samples, "permutation", seed))
    with interruptible(Stopper(max_time)) as stopper:
        ascent.run(tol, max_epochs, stopper)
    return ascent.result()


def polish(
    run: PegasosRun, *, tol: float = 1e-2, max_epochs: int = 1000, stopper: Stopper | None = None
) -> Result:
    """Finish a Pegasos run exactly: dual coordinate ascent on the same rows, from where it ended.

    The returned iterate of the run, scaled to the best feasible dual point, is where the ascent
    begins; no kernel value is computed twice while the rows are kept. The model is no longer an
    average of Pegasos iterates.

    Parameters
    ----------
    run : PegasosRun
        Of Pegasos, at its end.
    tol : float, default=1e-2
        Certified relative gap at which to stop.
    max_epochs : int, default=1000
    stopper : Stopper, default=None

    Returns
    -------
    Result
        Counts and state are those of the run, its history goes on; coefficients, margins and
        certificate are the ascent's.
    """
    pegasos_result = run.result()
    if run.status in ("interrupted", "max_time") or pegasos_result.relative_gap <= tol:
        return pegasos_result
    problem, rows, state = run.problem, run.rows, run.state
    _, returned = run.evaluate()
    theta = best_multiple(returned.coef, returned.squared_norm, problem)
    scale = theta * problem.lam * problem.y.size
    loop = new_state(
        rows.n_samples, rows.image_size, PegasosOptions(average=None), problem.lam, state.seed
    ).loop
    np.minimum(1.0, scale * returned.coef, out=loop.alpha)
    if isinstance(rows, FeatureRows):
        loop.base[:] = scale * returned_vector(state)
    elif rows.image_size:
        loop.base[:] = scale * returned.margins
    # A key of its own: the ascent draws what the run would not have drawn.
    stream = IndexStream(rows.n_samples, "permutation", state.seed, (*state.key, 0, 0))
    # Where kernel rows are held, blocks of them are worth more than single ones.
    by_blocks = isinstance(rows, KernelSource) and rows.row_capacity >= 4
    ascent = (BlockAscent if by_blocks else Ascent)(
        problem, rows, loop, stream, history=run.history, best=state.best_dual, before=run
    )
    ascent.run(tol, max_epochs, stopper or Stopper())
    result = ascent.result()
    return replace(
        result,
        alpha=pegasos_result.alpha,
        n_steps=pegasos_result.n_steps,
        state=state,
    )


class Ascent:
    """Epochs of dual coordinate ascent until a certified gap.

    Parameters
    ----------
    problem : Problem
    rows : KernelSource or FeatureRows
    loop : LoopState
        Dual variables and ``base`` to begin with; modified in place.
    stream : IndexStream
    history : History, default=None
        To which records are added.
    best : float, default=0.0
        A dual bound that is known already.
    before : PegasosRun, default=None
        The run that this one finishes; its steps and seconds are counted on.
    """

    def __init__(
        self,
        problem: Problem,
        rows: Rows,
        loop: LoopState,
        stream: IndexStream,
        *,
        history: History | None = None,
        best: float = 0.0,
        before: PegasosRun | None = None,
    ) -> None:
        if not rows.positive_definite:
            raise ValueError(_INDEFINITE)
        self.problem = problem
        self.rows = rows
        self.loop = loop
        self.history = history if history is not None else History()
        self.best = best
        self.status = "running"
        self._first = before.state.steps if before else 0
        self._seconds = before.state.seconds if before else 0.0
        self._stream = stream
        self._slicer = TimeSlicer(tuning.FIRST_SLICE)
        self._evaluations = before.state.evaluations if before else 0
        self._examples = problem.examples
        self._rule = LoopParameters(float(problem.lam), problem.y.size, 1, False, False)
        self._unit = LinearCombination(1.0 / (problem.lam * problem.y.size), 0.0)
        if isinstance(rows, FeatureRows):
            rows.require_norms()

    def run(self, tol: float, max_epochs: int, stopper: Stopper) -> None:
        """Go on until the relative gap is at most ``tol``, or something else ends it."""
        while self.status == "running":
            begin = time.perf_counter()
            self._advance(stopper)
            self._seconds += time.perf_counter() - begin
            self._evaluations += new_evaluations(self.rows)
            self._evaluate()
            if self.history.records[-1].relative_gap <= tol:
                self.status = "tolerance"
            elif (reason := stopper.reason()) is not None:
                self.status = reason
            elif self.loop.counters[STEPS] >= max_epochs * self.problem.y.size:
                self.status = "completed"

    def _advance(self, stopper: Stopper) -> None:
        """Go on until the next evaluation: one epoch."""
        loop, n_samples = self.loop, self.problem.y.size
        done = int(loop.counters[STEPS])
        end = done + n_samples
        first = done
        while done < end and (done == first or stopper.reason() is None):
            slice_begin = time.perf_counter()
            target = min(end, done + self._slicer.draws)
            draws = self._stream.take(done, target + n_samples)
            self.rows.advance(DUAL, loop, draws, target - done, self._examples, self._rule)
            self._slicer.done(target - done, time.perf_counter() - slice_begin)
            done = target

    def _evaluate(self) -> None:
        loop, problem = self.loop, self.problem
        (evaluated,) = self.rows.evaluate([self._unit], loop, [None], self._examples)
        self._coef, self._margins, squared_norm = evaluated
        objective = primal(self._margins, squared_norm, problem)
        self.best = max(self.best, dual_bound(self._coef, squared_norm, problem))
        if is_impossible(objective, self.best, squared_norm):
            raise ValueError(_INDEFINITE)
        gap = max(0.0, objective - self.best)
        steps = self._first + int(loop.counters[STEPS])
        self.history.append(
            Record(
                iteration=steps,
                epoch=steps / problem.y.size,
                seconds=self._seconds,
                objective_last=objective,
                objective_average=objective,
                dual_bound=self.best,
                gap=gap,
                relative_gap=gap / objective,
                support_size=int(np.count_nonzero(loop.alpha)),
                kernel_evaluations=self._evaluations,
                cache_hits=int(loop.counters[ROW_HITS]),
            )
        )

    def result(self) -> Result:
        """The model as it stands."""
        record = self.history.records[-1]
        coef = self._coef * self._examples.signed
        w, intercept = None, self.rows.offset * float(coef.sum())
        if isinstance(self.rows, FeatureRows):
            vector = self._unit.apply(self.loop.base, self.loop.stamped_image)
            w, intercept = vector[:-1], self.rows.offset * float(vector[-1])
        return Result(
            alpha=self.loop.alpha,
            coef=coef,
            w=w,
            intercept=intercept,
            margins=self._margins,
            objective=record.objective_average,
            dual_bound=record.dual_bound,
            gap=record.gap,
            relative_gap=record.relative_gap,
            n_steps=int(self.loop.counters[STEPS]),
            status=self.status,
            history=self.history,
        )


class BlockAscent(Ascent):
    """Dual ascent over blocks of the worst violators, on kernel rows that are held.

    Half of a block are the examples that a better model would most like to draw to the positive
    side, half those to the negative side, as in SVMs with an unpenalised intercept (Joachims 1998);
    half of the block before stays for one more round. One-sided blocks stall: kernel values
    have a common part, and a block that may only push one way overshoots along it.
    """

    _block = np.empty(0, dtype=np.int64)
    _passes = tuning.FEWEST_PASSES
    _last_best = -math.inf

    def _advance(self, stopper: Stopper) -> None:
        """Go on until the next evaluation: a few blocks."""
        rows, loop = self.rows, self.loop
        assert isinstance(rows, KernelSource)
        if self.best - self._last_best < 0.01 * self.history.records[-1].gap:
            self._passes = min(2 * self._passes, tuning.MOST_PASSES)
        self._last_best = self.best
        for number in range(tuning.WORKING_SETS_OF_A_ROUND):
            if number > 0 and stopper.reason() is not None:
                return
            self._block = self._next_block(min(tuning.WORKING_SET, rows.row_capacity))
            step = int(loop.counters[STEPS])
            dual_block(
                loop,
                rows.ensure_rows(self._block, step),
                self._block,
                self._examples,
                self._rule,
                self._passes,
            )

    def _next_block(self, size: int) -> np.ndarray:
        """Half of the last block, and the examples that violate optimality most on either side."""
        label, beta = self._examples.label, self.loop.alpha
        pull = label - self.loop.base / (self.problem.lam * self.problem.y.size)
        kept = self._block[-(size // 2) :]
        can_rise = np.where(label > 0, beta < 1, beta > 0)
        can_fall = np.where(label > 0, beta > 0, beta < 1)
        can_rise[kept] = can_fall[kept] = False
        rising = _largest(np.where(can_rise, pull, -np.inf), size // 4)
        can_fall[rising] = False
        falling = _largest(np.where(can_fall, -pull, -np.inf), size // 4)
        # In turns, as each side makes room for the other.
        turns = np.argsort(np.concatenate((np.arange(rising.size), np.arange(falling.size))))
        return np.concatenate((kept, np.concatenate((rising, falling))[turns]))


def _largest(values: np.ndarray, number: int) -> np.ndarray:
    """Indices of the largest finite values."""
    if number < values.size:
        chosen = np.argpartition(-values, number)[:number]
    else:
        chosen = np.arange(values.size)
    return chosen[np.isfinite(values[chosen])]
