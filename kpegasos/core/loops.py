"""The compiled loops: Pegasos, dual coordinate ascent, and what goes with them.

A loop is a pure function of (state, view of the rows, draws, parameters). It knows nothing of
estimators, kernels, caches or clocks. A kernel row is an array that somebody else computed. When
one is missing a loop returns `NEED_ROW` and is called again where it stopped:

    position, status = 0, NEED_ROW
    while position < stop:
        status, position = primal_steps(state, view, draws, position, stop, examples, parameters)
        # NEED_ROW: put the row of draws[position + counters[BATCH_OFFSET]] into the view
        # RESCALE: absorb_scale(state)

A batch may be half applied when that happens. Its violators were found before the first was
added, and ``counters[BATCH_OFFSET]`` says how many draws of it are done.

All arrays of a `LoopState` are modified in place. The loops are written out, not divided into
helpers that take states and views: a call that is not inlined counts a reference to each of their
arrays, which makes a step two to four times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.core.state import (
    BATCH_OFFSET,
    CLOCK,
    DONE,
    LARGEST_SIZE,
    NEED_ROW,
    RESCALE,
    ROW_HITS,
    SCALE,
    SIZE,
    SMALLEST_SCALE,
    SQUARED_NORM,
    STEPS,
    UNTESTED,
    Examples,
    LoopParameters,
    LoopState,
    check_state,
)
from kpegasos.core.views import (
    View,
    add_row,
    inner,
    prefetch_draw,
    touch,
)
from kpegasos.losses.base import FLATTEST, best, pull
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked, require_indices, require_range, require_shape
from kpegasos.utils.compiled import compiled

#: A step by a rule leaves at least this share of the iterate.
_LEAST_SHARE = 2.0**-40

#: A step that may shrink the iterate by more begins with clock 0: a tick so much smaller than those
#: before it would lose its digits beside them.
_MOST_SHRINKAGE = 16.0


def _check_steps(
    state: LoopState,
    view: Any,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> None:
    check_state(state, view, examples)
    if parameters.projection:
        require_shape("squared_norms", view.squared_norms, examples.label.shape)
    if parameters.batch_size > state.pulls.size:
        raise ValueError(
            f"pulls must have an entry for each of the {parameters.batch_size} draws of a "
            f"batch, got {state.pulls.size} instead"
        )
    if parameters.rates.size:
        n_steps = max(0, stop - start) // parameters.batch_size
        begin = state.counters.item(STEPS) + 1 - parameters.first_rate
        require_range("steps", begin, begin + n_steps, parameters.rates.size)
    require_range("start and stop", start, stop, draws.size)
    # Rows of later draws are fetched ahead of their turn.
    last = min(draws.size, stop + 2 * tuning.PREFETCH_DRAWS)
    require_indices("draws", draws, examples.label.size, first=start, last=last)


def _check_dual_steps(state: LoopState, view: Any, *others: Any) -> None:
    _check_steps(state, view, *others)
    require_shape("squared_norms", view.squared_norms, state.alpha.shape)


@checked(_check_steps)
@compiled()
def primal_steps(  # noqa: PLR0915 (written out for the reason above)
    state: LoopState,
    view: View,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> tuple[int, int]:
    """Pegasos steps on the draws ``draws[start:stop]`` (ICML 2007, Fig. 1; MPB 2011, Figs. 1-3).

    At ``w_t = scale q / (lam k (t - 1))`` each draw pulls by minus the subgradient of its loss:
    with the hinge, by one where it violates the margin, ``y <w_t, x> < 1``.

    With step sizes ``η_t`` other than ``1 / (lam t)`` the iterate is multiplied by ``1 - η_t lam``,
    and the scale by the ratio of this to ``1 - 1/t``.

    Parameters
    ----------
    state : LoopState
        Modified in place.
    view : KernelView, DenseView or CsrView
        Rows of the examples; only ticks are modified.
    draws : ndarray of shape (n_draws,), int64
        Index stream; batch t is the next ``parameters.batch_size`` entries.
    start, stop : int
        Batches that begin in ``[start, stop)`` and end by ``stop`` are done.
    examples : Examples
    parameters : LoopParameters

    Returns
    -------
    status : int
        `DONE`; `NEED_ROW`: the row of ``draws[next + counters[BATCH_OFFSET]]`` is missing, nothing
        is lost; `RESCALE`: the scale is small or large, or the next batch may shrink the iterate
        much; fold it in and call again.
    next : int
        Index of the draw at which the next (or the unfinished) batch begins.
    """
    k, lam, projection = parameters.batch_size, parameters.lam, parameters.projection
    rates, radius = parameters.rates, parameters.radius
    # Each time that a field is taken from a tuple, compiling takes longer.
    scalars, counters, pulls, image = state.scalars, state.counters, state.pulls, state.image
    label, all_signed, loss = examples.label, examples.signed, examples.loss
    scale, clock = scalars[SCALE], scalars[CLOCK]
    status, position = DONE, start
    while position + k <= stop:
        t = counters[STEPS] + 1
        if counters[BATCH_OFFSET] == UNTESTED:
            # Before the first step, where this would be infinite, q is zero or all of w.
            to_decision = scale / (lam * k * max(1, t - 1))
            for b in range(k):
                prefetch_draw(view, draws, position + b)
                i = draws[position + b]
                pulls[b] = pull(loss, inner(view, image, i) * to_decision, label[i])
            counters[BATCH_OFFSET] = 0
        after, increment = scale, 1.0 / scale
        if rates.size:
            rate = rates[t - parameters.first_rate]
            after = scale * max(1.0 - rate, _LEAST_SHARE) * (t / max(1.0, t - 1.0))
            increment = rate * t / after
        if projection and clock > 0.0 and counters[BATCH_OFFSET] == 0:
            added = 0.0
            for b in range(k):
                if pulls[b] != 0.0:
                    i = draws[position + b]
                    size = increment * after * abs(pulls[b] * all_signed[i])
                    added += size * np.sqrt(view.squared_norms[i])
            if added > _MOST_SHRINKAGE * radius * lam * k * t:
                status = RESCALE
                break
        for b in range(counters[BATCH_OFFSET], k):
            if pulls[b] == 0.0:
                continue
            i = draws[position + b]
            used = touch(view, i, t)
            if used < 0:
                counters[BATCH_OFFSET] = b
                status = NEED_ROW
                break
            counters[ROW_HITS] += used
            alpha, stamps = state.alpha[i], state.stamps[i]
            stamp = _gained(stamps, pulls[b] * increment * clock)
            added = _gained(alpha, pulls[b] * increment)
            signed = added * all_signed[i]
            if projection:
                scalars[SQUARED_NORM] += signed * (
                    2.0 * inner(view, image, i) + signed * view.squared_norms[i]
                )
            state.alpha[i], state.stamps[i] = alpha + added, stamps + stamp
            size = scalars[SIZE] + (abs(alpha + added) - abs(alpha)) * abs(all_signed[i])
            scalars[SIZE], scalars[LARGEST_SIZE] = size, max(size, scalars[LARGEST_SIZE])
            add_row(view, image, state.stamped_image, i, signed, stamp * all_signed[i])
        if status == NEED_ROW:
            break
        counters[BATCH_OFFSET] = UNTESTED
        counters[STEPS] = t
        position += k
        scale = after
        if projection:
            unit = lam * k * t
            scale = _projected_scale(scale, scalars[SQUARED_NORM], unit, radius)
        clock += scale / t if parameters.clock_over_t else scale
        if scale < SMALLEST_SCALE or scale > 1.0 / SMALLEST_SCALE:
            status = RESCALE
            break
    scalars[SCALE], scalars[CLOCK] = scale, clock
    return status, position


@compiled(fastmath=False, inner=True)
def _gained(total: float, added: float) -> float:
    """Return by how much a sum grows, with its rounding, as tiles of draws do."""
    return (total + added) - total


@compiled(inner=True)
def _projected_scale(scale: float, squared_norm: float, unit: float, radius: float) -> float:
    """Scale after the projection of ``w = scale q / unit`` onto a ball."""
    norm = scale * np.sqrt(max(squared_norm, 0.0)) / unit
    return scale * (radius / norm) if norm > radius else scale


@checked(_check_dual_steps)
@compiled()
def dual_steps(
    state: LoopState,
    view: View,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> tuple[int, int]:
    """Stochastic dual coordinate ascent on ``draws[start:stop]`` (Hsieh et al. 2008).

    ``state.alpha`` holds the dual variables β, with the hinge in [0, 1], and
    ``w = q / (lam · n_samples)``. Each step maximises the dual exactly in one coordinate. Arguments
    and status codes are those of `primal_steps`; the batch size is one and stamps are not kept.
    """
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    status, position = DONE, start
    while position < stop:
        prefetch_draw(view, draws, position)
        i = draws[position]
        beta = state.alpha[i]
        decision = inner(view, state.image, i) * to_margin
        curvature = max(FLATTEST, abs(examples.signed[i]) * view.squared_norms[i] * to_margin)
        target = best(examples.loss, beta, decision, examples.label[i], curvature)
        if target != beta:
            used = touch(view, i, state.counters[STEPS])
            if used < 0:
                state.counters[BATCH_OFFSET] = 0
                status = NEED_ROW
                break
            state.counters[ROW_HITS] += used
            state.alpha[i] = target
            signed = (target - beta) * examples.signed[i]
            size = state.scalars[SIZE] + (abs(target) - abs(beta)) * abs(examples.signed[i])
            state.scalars[SIZE] = size
            state.scalars[LARGEST_SIZE] = max(size, state.scalars[LARGEST_SIZE])
            add_row(view, state.image, state.stamped_image, i, signed, 0.0)
        state.counters[STEPS] += 1
        position += 1
    return status, position
