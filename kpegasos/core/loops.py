"""Every compiled inner loop: Pegasos and dual coordinate ascent over rows that are at hand.

The loops are pure functions of (state, rows, index stream, until). They know nothing of
estimators, kernels, caches or clocks: a kernel row is an array that somebody else computed, and
when a row is missing the loop returns `NEED_ROW` and can be called again where it stopped.

Three kinds of rows exist, told apart by their type when a loop is compiled:

- `KernelView`: the state's ``base`` holds ``<q, φ(x_i)>`` for every example,
- `DenseView` and `CsrView`: the state's ``base`` holds the vector ``q`` itself.

Here ``q`` is the unscaled iterate: after t steps ``w = scale · q / (lam · k · t)`` with
mini-batches of size k, so a step without projection is ``q ← q + Σ ω y φ(x)`` over the violators
and nothing needs to be shrunk (MPB 2011, Fig. 1, multiplied through by ``lam · k · t``). With the
projection, ``scale`` is the running product of the projection factors.

Averages come from a second, *stamped* sum: a violation at step t adds ``increment`` to ``alpha``
and ``increment · clock`` to ``stamps``, where the clock is the running sum of ``scale`` (or of
``scale / t``); `kpegasos.core.averaging` turns the pair into any average of the iterates.

All arrays of a `LoopState` are modified in place. All real state is float64, whatever the rows'
dtype; counts are integers held exactly.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from kpegasos.core.prefetch import ask
from kpegasos.utils import tuning
from kpegasos.utils.compiled import FAST, compiled

#: Status codes that a loop returns.
DONE, NEED_ROW, RESCALE = 0, 1, 2
#: Positions in `LoopState.scalars`.
SCALE, CLOCK, SQUARED_NORM = 0, 1, 2
#: Positions in `LoopState.counters`.
STEPS, BATCH_OFFSET, ROW_USES, ROW_HITS = 0, 1, 2, 3
#: `BATCH_OFFSET` of a batch whose margins have not been tested yet.
UNTESTED = -1
#: Below this scale the driver folds the scale into the state: long before anything underflows,
#: since ``clock_t − clock_r`` of late steps cancels when the scale has fallen far since the clock
#: began.
SMALLEST_SCALE = 2.0**-10

#: Moves of a dual variable up to this size do not keep a block in work.
SMALLEST_MOVE = 1e-6
# Draws that memory is asked for ahead of, and the most entries of a row to ask for.
_AHEAD, _LONG_ROW = tuning.PREFETCH_DRAWS, tuning.PREFETCH_ENTRIES
# Margins that stay in a processor's first cache while many rows are added to them.
_TILE = tuning.MARGINS_TILE


class LoopState(NamedTuple):
    """What the loops read and modify; see the module docstring.

    Parameters
    ----------
    alpha, stamps : ndarray of shape (n_samples,), float64
        Violation counts (dual ascent: the dual variables β) and their stamped sums.
    base, stamped_image : ndarray, float64
        Margins (kernel rows) or vectors (linear rows) of both sums. An empty ``stamped_image``
        is not maintained.
    scalars : ndarray of shape (3,), float64
        Scale, clock, squared norm of ``q`` (kept only with the projection).
    counters : ndarray of shape (4,), int64
        Steps done, position inside the current batch, row uses, row hits.
    violating : ndarray of shape (batch_size,), bool
        Which draws of the current batch violate the margin.
    """

    alpha: np.ndarray
    stamps: np.ndarray
    base: np.ndarray
    stamped_image: np.ndarray
    scalars: np.ndarray
    counters: np.ndarray
    violating: np.ndarray


class Examples(NamedTuple):
    """Labels ±1 and the labels times their weight, float64 of shape (n_samples,)."""

    label: np.ndarray
    signed: np.ndarray


class LoopParameters(NamedTuple):
    """Scalars of the update parameters, cast once so that each loop is compiled once."""

    lam: float
    n_samples: int
    batch_size: int
    projection: bool
    clock_over_t: bool  # the clock adds scale / t instead of scale


class KernelView(NamedTuple):
    """Kernel rows at hand: ``values[slots[i]]`` is the row of example i, if ``slots[i] >= 0``.

    ``offset`` is added to every kernel value (the constant feature). ``ticks[slot]`` is the step
    at which the row was last used, or ``-1 - step`` of its arrival while it is unused.
    """

    values: np.ndarray
    slots: np.ndarray
    ticks: np.ndarray
    squared_norms: np.ndarray
    offset: float


class DenseView(NamedTuple):
    """Rows ``X[members[i]]`` with a constant feature ``offset`` behind the last column."""

    X: np.ndarray
    members: np.ndarray
    squared_norms: np.ndarray
    offset: float


class CsrView(NamedTuple):
    """The same in compressed sparse rows."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    members: np.ndarray
    squared_norms: np.ndarray
    offset: float


# --- what the loops ask of rows -------------------------------------------------------------------


@singledispatch
def _inner(rows: Any, base: np.ndarray, i: int) -> Any:
    """``<q, φ(x_i)>``."""
    raise TypeError(f"unknown rows: {type(rows).__name__}")


@_inner.register(KernelView)
def _(rows, base, i):  # type: ignore[no-untyped-def]
    return base[i]


@_inner.register(DenseView)
def _(rows, base, i):  # type: ignore[no-untyped-def]
    x = rows.X[rows.members[i]]
    total = 0.0
    for j in range(x.size):
        total += x[j] * base[j]
    return total + rows.offset * base[x.size]


@_inner.register(CsrView)
def _(rows, base, i):  # type: ignore[no-untyped-def]
    row = rows.members[i]
    total = 0.0
    for p in range(rows.indptr[row], rows.indptr[row + 1]):
        total += rows.data[p] * base[rows.indices[p]]
    return total + rows.offset * base[base.size - 1]


@singledispatch
def _touch(rows: Any, i: int, step: int) -> Any:
    """Claim row i: -1 when it is missing, else whether it had been used before (a cache hit)."""
    raise TypeError(f"unknown rows: {type(rows).__name__}")


@_touch.register(KernelView)
def _(rows, i, step):  # type: ignore[no-untyped-def]
    slot = rows.slots[i]
    if slot < 0:
        return -1
    hit = rows.ticks[slot] >= 0
    rows.ticks[slot] = step
    return int(hit)


@_touch.register(DenseView)
@_touch.register(CsrView)
def _(rows, i, step):  # type: ignore[no-untyped-def]
    return 0


@singledispatch
def _add(rows: Any, state: LoopState, i: int, step: float, stamped_step: float) -> Any:
    """``q ← q + step · φ(x_i)`` in ``base``, and ``stamped_step`` times the same in its twin."""
    raise TypeError(f"unknown rows: {type(rows).__name__}")


@_add.register(KernelView)
def _(rows, state, i, step, stamped_step):  # type: ignore[no-untyped-def]
    row = rows.values[rows.slots[i]]
    base = state.base
    stamped = state.stamped_image
    if stamped.size:
        for j in range(row.size):
            value = row[j] + rows.offset
            base[j] += step * value
            stamped[j] += stamped_step * value
    else:
        for j in range(row.size):
            base[j] += step * (row[j] + rows.offset)


@_add.register(DenseView)
def _(rows, state, i, step, stamped_step):  # type: ignore[no-untyped-def]
    x = rows.X[rows.members[i]]
    base = state.base
    stamped = state.stamped_image
    for j in range(x.size):
        base[j] += step * x[j]
    base[x.size] += step * rows.offset
    if stamped.size:
        for j in range(x.size):
            stamped[j] += stamped_step * x[j]
        stamped[x.size] += stamped_step * rows.offset


@_add.register(CsrView)
def _(rows, state, i, step, stamped_step):  # type: ignore[no-untyped-def]
    row = rows.members[i]
    base = state.base
    stamped = state.stamped_image
    for p in range(rows.indptr[row], rows.indptr[row + 1]):
        base[rows.indices[p]] += step * rows.data[p]
    base[base.size - 1] += step * rows.offset
    if stamped.size:
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            stamped[rows.indices[p]] += stamped_step * rows.data[p]
        stamped[base.size - 1] += stamped_step * rows.offset


@singledispatch
def _prefetch_draw(rows: Any, draws: np.ndarray, position: int) -> Any:
    """Have what the draws a few positions later will need fetched into the caches."""
    raise TypeError(f"unknown rows: {type(rows).__name__}")


@_prefetch_draw.register(KernelView)
def _(rows, draws, position):  # type: ignore[no-untyped-def]
    pass


@_prefetch_draw.register(DenseView)
def _(rows, draws, position):  # type: ignore[no-untyped-def]
    if position + _AHEAD < draws.size:
        row = rows.members[draws[position + _AHEAD]]
        # The processor goes on by itself where a row is long.
        for j in range(0, min(rows.X.shape[1], _LONG_ROW), 8):
            ask(rows.X, row * rows.X.shape[1] + j)


@_prefetch_draw.register(CsrView)
def _(rows, draws, position):  # type: ignore[no-untyped-def]
    if position + 2 * _AHEAD < draws.size:
        ask(rows.indptr, rows.members[draws[position + 2 * _AHEAD]])
        row = rows.members[draws[position + _AHEAD]]
        end = rows.indptr[row + 1]
        for p in range(rows.indptr[row], min(end, rows.indptr[row] + _LONG_ROW), 8):
            ask(rows.data, p)
            ask(rows.indices, p)


# The compiled loops pick the implementation by the type of the rows, once, at compile time; called
# as plain Python (NUMBA_DISABLE_JIT=1), singledispatch makes the same choice.
_JIT: Any = {"fastmath": FAST, "nogil": True}


@overload(_inner, jit_options=_JIT)
def _inner_overload(rows, base, i):  # type: ignore[no-untyped-def]
    return _inner.dispatch(rows.instance_class)


@overload(_touch, jit_options=_JIT)
def _use_overload(rows, i, step):  # type: ignore[no-untyped-def]
    return _touch.dispatch(rows.instance_class)


@overload(_prefetch_draw, jit_options=_JIT)
def _foresee_overload(rows, draws, position):  # type: ignore[no-untyped-def]
    return _prefetch_draw.dispatch(rows.instance_class)


@overload(_add, jit_options=_JIT)
def _add_overload(rows, state, i, step, stamped_step):  # type: ignore[no-untyped-def]
    return _add.dispatch(rows.instance_class)


# --- the loops ------------------------------------------------------------------------------------


@compiled()
def add_all(
    state: LoopState,
    rows: KernelView | DenseView | CsrView,
    members: np.ndarray,
    examples: Examples,
) -> None:
    """Add the rows of some examples to ``base`` and its twin, as often as they were counted."""
    for i in members:
        signed = examples.signed[i]
        _add(rows, state, i, state.alpha[i] * signed, state.stamps[i] * signed)


@compiled()
def sparse_margins(
    rows: CsrView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """``<v, (x_i, offset)>`` of the examples ``first`` to ``last`` for each column of ``vectors``.

    Parameters
    ----------
    rows : CsrView
    vectors : ndarray of shape (n_features + 1, n_vectors), float64
    first, last : int
    out : ndarray of shape (n_samples, n_vectors), float64
    """
    last_feature = vectors.shape[0] - 1
    for i in range(first, last):
        row = rows.members[i]
        for k in range(vectors.shape[1]):
            out[i, k] = rows.offset * vectors[last_feature, k]
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            value = rows.data[p]
            feature = rows.indices[p]
            for k in range(vectors.shape[1]):
                out[i, k] += value * vectors[feature, k]


@compiled()
def primal_steps(
    state: LoopState,
    rows: KernelView | DenseView | CsrView,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> tuple[int, int]:
    """Pegasos steps on the draws ``draws[start:stop]`` (ICML 2007, Fig. 1; MPB 2011, Figs. 1-3).

    Parameters
    ----------
    state : LoopState
        Modified in place.
    rows : KernelView, DenseView or CsrView
        Rows of the examples; only ticks are modified.
    draws : ndarray of shape (n_draws,), int64
        Index stream; batch t is the next ``parameters.batch_size`` entries.
    start, stop : int
        Batches that begin in ``[start, stop)`` and end by ``stop`` are done.
    examples : Examples
    rule : LoopParameters

    Returns
    -------
    status : int
        `DONE`; `NEED_ROW`: the row of ``draws[next + counters[BATCH_OFFSET]]`` is missing, nothing
        is lost; `RESCALE`: the scale has become small, fold it in and call again.
    next : int
        Index of the draw at which the next (or the unfinished) batch begins.
    """
    k = parameters.batch_size
    scale = state.scalars[SCALE]
    clock = state.scalars[CLOCK]
    squared_norm = state.scalars[SQUARED_NORM]
    status = DONE
    position = start
    while position + k <= stop:
        t = state.counters[STEPS] + 1
        if state.counters[BATCH_OFFSET] == UNTESTED:
            # y <w_t, x> < 1 with w_t = scale q / (lam k (t - 1)); w_1 = 0 violates every margin.
            threshold = parameters.lam * k * (t - 1)
            for b in range(k):
                _prefetch_draw(rows, draws, position + b)
                i = draws[position + b]
                margin = examples.label[i] * _inner(rows, state.base, i) * scale
                state.violating[b] = t == 1 or margin < threshold
            state.counters[BATCH_OFFSET] = 0
        increment = 1.0 / scale
        for b in range(state.counters[BATCH_OFFSET], k):
            if not state.violating[b]:
                continue
            i = draws[position + b]
            used = _touch(rows, i, t)
            if used < 0:
                state.counters[BATCH_OFFSET] = b
                status = NEED_ROW
                break
            state.counters[ROW_USES] += 1
            state.counters[ROW_HITS] += used
            step = increment * examples.signed[i]
            if parameters.projection:
                squared_norm += step * (
                    2.0 * _inner(rows, state.base, i) + step * rows.squared_norms[i]
                )
            state.alpha[i] += increment
            state.stamps[i] += increment * clock
            _add(rows, state, i, step, step * clock)
        if status == NEED_ROW:
            break
        state.counters[BATCH_OFFSET] = UNTESTED
        state.counters[STEPS] = t
        position += k
        if parameters.projection:
            norm = scale * np.sqrt(max(squared_norm, 0.0)) / (parameters.lam * k * t)
            radius = 1.0 / np.sqrt(parameters.lam)
            if norm > radius:
                scale *= radius / norm
        clock += scale / t if parameters.clock_over_t else scale
        if scale < SMALLEST_SCALE:
            status = RESCALE
            break
    state.scalars[SCALE] = scale
    state.scalars[CLOCK] = clock
    state.scalars[SQUARED_NORM] = squared_norm
    return status, position


@compiled()
def dual_steps(
    state: LoopState,
    rows: KernelView | DenseView | CsrView,
    draws: np.ndarray,
    start: int,
    stop: int,
    examples: Examples,
    parameters: LoopParameters,
) -> tuple[int, int]:
    """Stochastic dual coordinate ascent on ``draws[start:stop]`` (Hsieh et al. 2008).

    ``state.alpha`` holds the dual variables β in [0, 1] and ``state.base`` belongs to
    ``q = Σ β_j ω_j y_j φ(x_j)``, so that ``w = q / (lam · n_samples)``. Each step maximises the
    dual exactly in one coordinate. Arguments and status codes are those of `primal_steps`; the
    batch size is one and stamps are not kept.
    """
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    status = DONE
    position = start
    while position < stop:
        _prefetch_draw(rows, draws, position)
        i = draws[position]
        beta = state.alpha[i]
        slack = 1.0 - examples.label[i] * _inner(rows, state.base, i) * to_margin
        curvature = abs(examples.signed[i]) * rows.squared_norms[i] * to_margin
        if curvature > 0.0:
            target = min(1.0, max(0.0, beta + slack / curvature))
        else:
            target = 1.0 if slack > 0.0 else beta
        if target != beta:
            used = _touch(rows, i, state.counters[STEPS])
            if used < 0:
                state.counters[BATCH_OFFSET] = 0
                status = NEED_ROW
                break
            state.counters[ROW_USES] += 1
            state.counters[ROW_HITS] += used
            state.alpha[i] = target
            _add(rows, state, i, (target - beta) * examples.signed[i], 0.0)
        state.counters[STEPS] += 1
        position += 1
    return status, position


@compiled()
def dual_block(
    state: LoopState,
    rows: KernelView,
    members: np.ndarray,
    examples: Examples,
    parameters: LoopParameters,
    passes: int,
) -> None:
    """Maximise the dual over a few examples whose rows are at hand, the other β held fixed.

    The margins of the block alone follow its passes of coordinate steps; those of all examples do
    so once, at the end. State and rows are those of `dual_steps`.

    Parameters
    ----------
    state : LoopState
        Modified in place.
    rows : KernelView
    members : ndarray of shape (n_members,), int64
        Different from each other.
    examples : Examples
    rule : LoopParameters
    passes : int
        At the most; they end when no β moves by more than `SMALLEST_MOVE`.
    """
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    size = members.size
    values = np.empty((size, size))
    margins = np.empty(size)
    before = np.empty(size)
    for a in range(size):
        i = members[a]
        row = rows.values[rows.slots[i]]
        margins[a] = state.base[i] * to_margin
        before[a] = state.alpha[i]
        for b in range(size):
            values[a, b] = (row[members[b]] + rows.offset) * examples.signed[i] * to_margin
    for _ in range(passes):
        largest = 0.0
        for a in range(size):
            i = members[a]
            beta = state.alpha[i]
            slack = 1.0 - examples.label[i] * margins[a]
            curvature = abs(values[a, a])
            if curvature > 0.0:
                target = min(1.0, max(0.0, beta + slack / curvature))
            else:
                target = 1.0 if slack > 0.0 else beta
            move = target - beta
            if move != 0.0:
                state.alpha[i] = target
                largest = max(largest, abs(move))
                for b in range(size):
                    margins[b] += move * values[a, b]
        if largest <= SMALLEST_MOVE:
            break
    for a in range(size):
        i = members[a]
        before[a] = (state.alpha[i] - before[a]) * examples.signed[i]
        if before[a] != 0.0:
            state.counters[STEPS] += 1
            state.counters[ROW_USES] += 1
            state.counters[ROW_HITS] += _touch(rows, i, state.counters[STEPS])
    for begin in range(0, state.base.size, _TILE):
        base = state.base[begin : begin + _TILE]
        for a in range(size):
            if before[a] != 0.0:
                row = rows.values[rows.slots[members[a]], begin : begin + _TILE]
                for j in range(base.size):
                    base[j] += before[a] * (row[j] + rows.offset)
