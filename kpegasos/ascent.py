"""Stochastic dual coordinate ascent: the reference optimum for suboptimality plots.

Not Pegasos: it maximises the dual exactly in one coordinate at a time (Hsieh et al. 2008; MPB 2011
calls it SDCA) and converges linearly, on the same rows and judged by the same certificate.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.utils import check_random_state

from kpegasos.averaging import Combination
from kpegasos.history import History, Record
from kpegasos.linear import LinearRows
from kpegasos.loops import ROW_HITS, STEPS, Examples, LoopState, Rule, dual_steps
from kpegasos.objective import Problem, dual_bound, primal
from kpegasos.sampling import IndexStream
from kpegasos.solver import Result, Rows
from kpegasos.state import Method, Options, new_state
from kpegasos.stopping import Stopper, interruptible


def _movable(
    state: LoopState, examples_at: np.ndarray, examples: Examples, rule: Rule
) -> np.ndarray:
    """Score the examples: minus infinity if a step would change them now, else infinity."""
    to_margin = 1.0 / (rule.lam * examples.label.size)
    slack = 1.0 - examples.label[examples_at] * state.base[examples_at] * to_margin
    beta = state.alpha[examples_at]
    moves = ((slack > 0) & (beta < 1)) | ((slack < 0) & (beta > 0))
    return np.where(moves, -np.inf, np.inf)


DUAL = Method(dual_steps, _movable)


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
    rows : KernelSource or LinearRows
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
        If the kernel is not positive semi-definite.
    """
    if not rows.positive_definite:
        raise ValueError("rows must have a positive semi-definite kernel for dual ascent")
    n_samples = problem.y.size
    examples = problem.examples
    state = new_state(rows.n_samples, rows.base_size, Options(average=None), problem.lam, 0)
    loop = state.loop
    rule = Rule(float(problem.lam), 1, False, False)
    if isinstance(rows, LinearRows):
        rows.require_norms()
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    stream = IndexStream(n_samples, "permutation", seed)
    unit = Combination(1.0 / (problem.lam * n_samples), 0.0)
    history = History()
    best, seconds, status = 0.0, 0.0, "running"
    slice_length = max(1, min(n_samples, 4096))
    with interruptible(Stopper(max_time)) as stopper:
        while status == "running":
            begin = time.perf_counter()
            done = int(loop.counters[STEPS])
            end = done + n_samples
            while done < end and (done == 0 or stopper.reason() is None):
                target = min(end, done + slice_length)
                draws = stream.take(done, target + n_samples)
                rows.advance(DUAL, loop, draws, target - done, examples, rule)
                done = target
            seconds += time.perf_counter() - begin
            ((coef, margins, squared_norm),) = rows.evaluate([unit], loop, [None], examples)
            objective = primal(margins, squared_norm, problem)
            best = max(best, dual_bound(coef, squared_norm, problem))
            gap = max(0.0, objective - best)
            relative_gap = gap / objective
            history.append(
                Record(
                    iteration=done,
                    epoch=done / n_samples,
                    seconds=seconds,
                    objective_last=objective,
                    objective_average=objective,
                    dual_bound=best,
                    gap=gap,
                    relative_gap=relative_gap,
                    support_size=int(np.count_nonzero(loop.alpha)),
                    kernel_evaluations=rows.evaluations,
                    cache_hits=int(loop.counters[ROW_HITS]),
                )
            )
            if relative_gap <= tol:
                status = "tolerance"
            elif (reason := stopper.reason()) is not None:
                status = reason
            elif done >= max_epochs * n_samples:
                status = "completed"
    signed_coef = coef * examples.signed
    w, intercept = None, rows.offset * float(signed_coef.sum())
    if isinstance(rows, LinearRows):
        vector = unit.apply(loop.base, loop.base_stamped)
        w, intercept = vector[:-1], rows.offset * float(vector[-1])
    return Result(
        alpha=loop.alpha,
        coef=signed_coef,
        w=w,
        intercept=intercept,
        margins=margins,
        objective=objective,
        dual_bound=best,
        gap=gap,
        relative_gap=relative_gap,
        n_iter=int(loop.counters[STEPS]),
        status=status,
        history=history,
    )
