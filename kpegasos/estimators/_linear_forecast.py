"""What a fit on features will take: a few draws are timed on all of them.

The number of draws is known, so a stretch of them on all examples, with the misses of the
processor's caches that these have, says what all will cost. What `polish` adds is run on parts.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kpegasos.estimators._growth import Grown
from kpegasos.estimators._kernel_forecast import Estimate
from kpegasos.estimators._ladder import Ladder, typical_pairs
from kpegasos.estimators._one_vs_one import Pair
from kpegasos.estimators._probe import Rows, quiet
from kpegasos.estimators._training import FitPlan, n_threads
from kpegasos.solvers.stopping import Stopper

#: Draws that are timed; those before compile and warm up.
_WARM, _TIMED = 512, 20_000
#: Seconds of draws, or a slice of them, after which the clock has seen enough.
_ENOUGH = 0.3
#: Pairs whose draws are timed.
_MOST_STRETCHES = 3
#: Powers of the number of examples between which the moves of `polish` may grow.
_LEAST, _MOST = 1.0, 2.0
#: Factors by which seconds may be off: of draws, and of an ascent.
_DRAWS_DOUBT, _ASCENT_DOUBT = 1.5, 2.0
_NOTHING = Grown(0.0, 0.0, 0.0)


class _Stretch(NamedTuple):
    """What some draws from all examples of a pair took.

    Attributes
    ----------
    draw, evaluation : float
        Seconds of a draw, and of an evaluation of the model.
    """

    draw: float
    evaluation: float


def estimate_linear(plan: FitPlan, stopper: Stopper) -> Estimate:
    """What a fit on features will take.

    Parameters
    ----------
    plan : FitPlan
    stopper : Stopper
    """
    sample = typical_pairs(plan.pairs)
    stretches = [_stretch(plan, pair) for pair in sample.pairs[:_MOST_STRETCHES]]
    stretch = _Stretch(*np.mean(stretches, axis=0))
    ladder = None
    if plan.settings.tol is not None:
        rows = Rows(None, False, "auto", None)
        ladder = Ladder(plan, sample, rows, stopper)
        if ladder.climb():
            seconds, results = ladder.train_all()
            support = float(sum(result.history[-1].support_size for result in results))
            found = Grown(seconds, seconds, seconds).widened(_DRAWS_DOUBT)
            return Estimate(found, _NOTHING, _NOTHING, support, plan.X.shape[0])
    draws = sum(_draws(plan, pair) for pair in plan.pairs)
    evaluations = float(sum(_evaluations(plan, pair) for pair in plan.pairs))
    if ladder is not None and not plan.settings.polish:
        ended = min(draws, ladder.growth.whole("draws").value * ladder.scale)
        draws, evaluations = ended, evaluations * ended / draws
    seconds = stretch.draw * draws + stretch.evaluation * evaluations
    doubt, n_probed = _DRAWS_DOUBT, plan.X.shape[0]
    if ladder is not None:
        n_probed = ladder.n_probed
        if plan.settings.polish:
            seconds, doubt = _of_ascent(ladder), _ASCENT_DOUBT
    seconds /= 1 if plan.in_step else n_threads(plan.settings.n_jobs, len(plan.pairs))
    found = Grown(seconds, seconds, seconds).widened(doubt)
    if ladder is not None and ladder.is_cut:
        found = found.unbounded()
    support = float(sum(pair.members.size for pair in plan.pairs))
    return Estimate(found, _NOTHING, _NOTHING, support, n_probed)


def _of_ascent(ladder: Ladder) -> float:
    """Seconds of a polished fit, by the last two parts."""
    (before, after), shares = ladder.works[-2:], ladder.shares[-2:]
    moves = max(1.0, after.steps) / max(1.0, before.steps)
    exponent = math.log(moves) / math.log(shares[1] / shares[0])
    exponent = min(_MOST, max(_LEAST, exponent))
    return float(after.other_seconds * shares[1] ** -exponent * ladder.scale)


def _draws(plan: FitPlan, pair: Pair) -> float:
    """Draws of a pair, if nothing ends them before."""
    settings, size = plan.settings, pair.members.size
    if settings.n_steps is not None:
        return float(settings.n_steps * settings.options.batch_size)
    return float(settings.epochs_of(size) * size)


def _evaluations(plan: FitPlan, pair: Pair) -> int:
    """How often the model of a pair is evaluated."""
    run = plan.make_run(pair, 1, Stopper())
    return len(run.points)


def _stretch(plan: FitPlan, pair: Pair) -> _Stretch:
    """Time some draws from all examples of a pair."""
    whole = _draws(plan, pair)
    k = plan.settings.options.batch_size
    draw = evaluation = math.inf
    for most in (_WARM, _TIMED, _TIMED, _TIMED):
        n_steps = max(1, int(min(most, whole)) // k)
        settings = replace(plan.settings, n_steps=n_steps, checkpoints=None, tol=None, polish=False)
        part = replace(plan, settings=settings, states=[None] * len(plan.pairs), verbose=False)
        with quiet():
            run = part.make_run(pair, 1, Stopper())
            begin = time.perf_counter()
            while not run.finished:
                run.advance(Stopper(_ENOUGH))
            seconds = time.perf_counter() - begin
        draw = min(draw, run.state.seconds / (run.state.steps * k))
        evaluation = min(evaluation, max(0.0, seconds - run.state.seconds))
    return _Stretch(draw, evaluation)
