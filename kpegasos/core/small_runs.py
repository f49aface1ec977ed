"""Runs over few examples each, one after the other without the interpreter in between.

A run of a few examples takes less time than Python needs to set it up, and a fit of many classes
has thousands of them. Where the kernel matrix is there as a whole, pairs are trained here, many in
a call, by the loops and formulas of any other run and to the same bits. A call ends at a checkpoint
that somebody waits for, and the next goes on from there. What takes more, such as margins that have
to be computed again, is `LEFT` to the drivers of `kpegasos.solvers`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.certificate import (
    SMALL,
    dual_value,
    evaluate_held,
    gaps_of,
    is_mostly_rounding,
    judge,
    limits_of,
    recorded_gap,
    relative,
    start_ascent,
)
from kpegasos.core.draws import draw_epochs
from kpegasos.core.loops import primal_steps
from kpegasos.core.state import (
    BATCH_OFFSET,
    CLOCK,
    INHERITED,
    LARGEST_SIZE,
    ROW_HITS,
    SCALE,
    STEPS,
    UNTESTED,
    Examples,
    Iterate,
    LoopParameters,
    LoopState,
    weight_of,
)
from kpegasos.core.views import KernelView, as_two
from kpegasos.core.working_sets import ENOUGH, SETS_DONE, new_working_sets, solve_sets
from kpegasos.core.working_sets import LEFT as SETS_LEFT
from kpegasos.losses.standard import HINGE
from kpegasos.utils.boundary import (
    checked,
    require_indices,
    require_range,
    require_shape,
    require_shapes,
)
from kpegasos.utils.compiled import compiled, copy_into, shared

#: How a run has ended: not here, at its last step, at ``tol``, early since time was up, or not yet.
LEFT, COMPLETED, TOLERANCE, CUT, RUNNING = range(5)
#: Columns of `SmallRuns.numbers`.
OBJECTIVE, DUAL_BOUND, GAP, RELATIVE_GAP, ROUNDING, N_STEPS, STATUS, FIRST_RECORD, N_RECORDS = (
    range(9)
)
N_NUMBERS = 9
#: Columns of records: those of `kpegasos.solvers.result.Record`.
N_COLUMNS = 12
#: Most records of an ascent; a longer one is `LEFT`.
MOST_ROUNDS = 12
_primal_steps, _evaluate_held = primal_steps.__wrapped__, evaluate_held.__wrapped__
_LIMITS = limits_of(HINGE)


class SmallPairs(NamedTuple):
    """Problems over few examples of one kernel matrix.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    offset : float
        Is added to each kernel value.
    rounding : ndarray of shape (n_samples,)
        The value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most.
    evaluations : ndarray of shape (n_pairs,), int64
        Kernel values that each pair counts: those of the matrix count for the first.
    members, label, signed : ndarray of shape (n_members,)
        Examples of all pairs, pair by pair, their labels ±1, and these times their weights. A pair
        of all examples must have them in order.
    ends : ndarray of shape (n_pairs + 1,), int64
        Where each pair begins, and the last ends.
    lam : ndarray of shape (n_pairs,)
    key : ndarray of shape (n_pairs,), uint64
        Keys of the index streams.
    kind : ndarray of shape (n_pairs,), int64
        Row of the tables below: pairs of the same size are of a kind.
    points : ndarray of shape (n_kinds, n_points), int64
        Checkpoints; the last is repeated.
    uniform : bool
        Whether draws are independent; else each epoch is a permutation.
    average : int
        -1, 0 or 1: the last iterate, the weighted or the uniform average.
    tol : float
        Relative gap that is asked for; NaN for none.
    loss : Hinge
    """

    gram: np.ndarray
    offset: float
    rounding: np.ndarray
    evaluations: np.ndarray
    members: np.ndarray
    label: np.ndarray
    signed: np.ndarray
    ends: np.ndarray
    lam: np.ndarray
    key: np.ndarray
    kind: np.ndarray
    points: np.ndarray
    uniform: bool
    average: int
    tol: float
    loss: Any


class SmallRuns(NamedTuple):
    """The state of runs over `SmallPairs`; written to.

    Parameters
    ----------
    states : LoopState
        Sums of all runs, pair by pair, of shape (n_members,); scalars and counters in a row each.
    bounds : ndarray of shape (n_pairs, 2)
        The largest dual value, as computed and as proven.
    coef, margins : ndarray of shape (n_members,)
        As in `kpegasos.solvers.result.Result`.
    numbers : ndarray of shape (n_pairs, 9)
        Objective, dual bound, gap, relative gap, rounding, steps, how it ended, and which rows of
        the records are its own.
    """

    states: LoopState
    bounds: np.ndarray
    coef: np.ndarray
    margins: np.ndarray
    numbers: np.ndarray


class _Evaluated(NamedTuple):
    """An iterate that was evaluated.

    Attributes
    ----------
    coef, margins : ndarray of shape (n_samples,)
    of : ndarray of shape (4,)
        Objective and its upper bound, squared norm, and additions.
    """

    coef: np.ndarray
    margins: np.ndarray
    of: np.ndarray


class _Run(NamedTuple):
    """A run over a pair."""

    lam: float
    examples: Examples
    rows: KernelView
    rounding: np.ndarray
    largest: float
    bounds: np.ndarray  # the largest dual value, as computed and as proven
    evaluations: int
    tol: float


@compiled(fastmath=False, inner=True)
def _evaluate(run: _Run, state: LoopState, iterate: Iterate, into: _Evaluated) -> bool:
    """Evaluate an iterate and raise the dual bounds; returns whether it is finite and possible."""
    lam, bounds, coef = run.lam, run.bounds, into.coef
    norm, of_loss, of_norm, _, number = _evaluate_held(
        state, run.examples, iterate, run.rounding, run.largest, _LIMITS, coef, into.margins
    )
    sizes = norm, of_loss, of_norm, lam, bounds[1]
    found = judge(run.examples, _LIMITS, coef, into.margins, *sizes)
    objective, upper, dual, proven, impossible = found
    bounds[0], bounds[1] = max(bounds[0], dual), max(bounds[1], proven)
    into.of[0], into.of[1], into.of[2], into.of[3] = objective, upper, norm, number
    return math.isfinite(upper) and not impossible


@compiled(fastmath=False, inner=True)
def _iterate(plain: float, stamped: float, clock: float) -> Iterate:
    nothing = np.empty(0)
    return Iterate(plain, stamped, clock, nothing, nothing)


@compiled(fastmath=False, inner=True)
def _record(
    row: np.ndarray,
    numbers: np.ndarray,
    bounds: np.ndarray,
    of: np.ndarray,
    tol: float,
    steps: int,
    last: float,
    alpha: np.ndarray,
    evaluations: int,
    hits: int,
) -> tuple[float, int]:
    """Write a record and the certificate.

    Returns the gap as computed, and `TOLERANCE` where it is small enough, `LEFT` where rounding
    alone stands against that, else `RUNNING`.
    """
    gaps, objective, support = gaps_of(of[0], of[1], bounds[0], bounds[1], False), of[0], 0
    for i in range(alpha.size):
        support += alpha[i] != 0.0
    row[0], row[1], row[2] = steps, steps / alpha.size, 0.0
    row[3], row[4], row[5] = last, objective, gaps.dual_bound
    row[6], row[7], row[8] = recorded_gap(gaps, objective)
    row[9], row[10], row[11] = support, evaluations, hits
    share = relative(gaps.proven, objective)
    numbers[OBJECTIVE], numbers[DUAL_BOUND], numbers[GAP] = objective, gaps.dual_bound, gaps.proven
    numbers[RELATIVE_GAP], numbers[ROUNDING] = share, max(0.0, gaps.proven - gaps.computed)
    if share <= tol:
        return gaps.computed, TOLERANCE
    return gaps.computed, LEFT if relative(gaps.computed, objective) <= tol else RUNNING


@compiled(fastmath=False, inner=True)
def _finish(row: np.ndarray, numbers: np.ndarray, tol: float) -> bool:
    """Put the rounding of the last record into its gap; returns whether there is little of it."""
    objective, gap, rounding = numbers[OBJECTIVE], numbers[GAP], numbers[ROUNDING]
    row[6], row[7], row[8] = gap, numbers[RELATIVE_GAP], 0.0
    return rounding <= SMALL * objective and not is_mostly_rounding(
        gap - rounding, rounding, objective, tol
    )


@compiled(fastmath=False, inner=True)
def _pegasos(
    run: _Run,
    state: LoopState,
    parameters: LoopParameters,
    draws: np.ndarray,
    start: int,
    points: np.ndarray,
    ends: tuple[int, int],
    average: int,
    last: _Evaluated,
    returned: _Evaluated,
    records: np.ndarray,
    numbers: np.ndarray,
) -> tuple[int, int, float]:
    """Run Pegasos; returns how it ended, its records, and the last gap as computed.

    The draws begin with those of step ``start``; ``ends`` are the last step of a run and of a call.
    """
    unit, gap = 1.0 / (parameters.lam * parameters.batch_size), math.inf
    end, most = ends
    for number in range(points.size):
        stop = min(points[number], most)
        done = state.counters[STEPS] - start
        _primal_steps(state, run.rows, draws, done, stop - start, run.examples, parameters)
        scale, clock = state.scalars[SCALE], state.scalars[CLOCK]
        whole = _evaluate(run, state, _iterate(unit * scale / stop, 0.0, clock), last)
        if average >= 0:
            weight = weight_of(average == 1, stop, unit)
            whole &= _evaluate(run, state, _iterate(weight * clock, weight, clock), returned)
        if not whole:
            return LEFT, 0, 0.0
        known = run.bounds, returned.of, run.tol, stop, last.of[0], state.alpha, run.evaluations
        hits = state.counters[ROW_HITS]
        gap, status = _record(records[number], numbers, *known, hits)
        if status == RUNNING and stop == most:
            status = COMPLETED if stop == end else CUT
        if status != RUNNING:
            return status, number + 1, gap
    return RUNNING, points.size, gap


#: Rounds without gain after which nothing but rounding is left, and the least gain that counts.
IDLE_ROUNDS, LEAST_GAIN = 20, 1e-9
#: Share of ``tol`` at which a round ends early: rounding takes a part of it.
SAFE = 0.9
#: Passes over the data at the most, and additions beyond which none leaves a digit.
MOST_EPOCHS, MOST_INHERITED = 1000, 2.0**62


@compiled(fastmath=False, inner=True)
def _ascend(
    run: _Run,
    steps: int,
    gap: float,
    of_sets: np.ndarray,
    last: _Evaluated,
    best: _Evaluated,
    brief: bool,
    records: np.ndarray,
    numbers: np.ndarray,
) -> tuple[int, int]:
    """Dual ascent from an iterate to ``tol``; returns how it ended, and its records."""
    lam, n = run.lam, best.coef.size
    state = _new_state(n)
    iterate = best.coef, best.margins, best.of[2]
    theta = start_ascent(state, run.examples, _LIMITS, *iterate, lam)
    state.counters[INHERITED] = math.ceil(min(theta * lam * best.of[3], MOST_INHERITED))
    adds = n > 0  # a literal would be another type
    sets = new_working_sets(of_sets[0], of_sets[2], of_sets[3], np.full(n, True), adds)
    sets.scalars[ENOUGH] = SAFE * run.tol
    unit, idle, largest_dual = 1.0 / (lam * n), 0, -math.inf
    for number in range(records.shape[0]):
        sets.counts[SETS_LEFT], sets.counts[SETS_DONE] = of_sets[1], 0
        solve_sets(state, run.rows, sets, run.examples, unit)
        done = state.counters[STEPS]
        ends = brief or idle >= IDLE_ROUNDS or done >= MOST_EPOCHS * n
        if not _evaluate(run, state, _iterate(unit, 0.0, 0.0), last):
            return LEFT, 0
        if last.of[0] <= best.of[0]:
            copy_into(last.coef, best.coef)
            copy_into(last.margins, best.margins)
            copy_into(last.of, best.of)
        known = run.bounds, best.of, run.tol, steps + done, last.of[0], state.alpha, run.evaluations
        hits, before = state.counters[ROW_HITS], gap
        gap, status = _record(records[number], numbers, *known, hits)
        dual = dual_value(run.examples, last.coef, last.of[2], lam, 1.0)
        gained = gap < before or dual > largest_dual + LEAST_GAIN * abs(dual)
        idle = 0 if gained else idle + 1
        largest_dual = max(largest_dual, dual)
        if status == RUNNING and ends:
            status = CUT if brief else COMPLETED
        if status != RUNNING:
            return status, number + 1
    return LEFT, 0


@compiled(fastmath=False, inner=True)
def _run_of(pairs: SmallPairs, bounds: np.ndarray, number: int) -> _Run:
    """Return a run over a pair, with its kernel values."""
    begin, end = pairs.ends[number], pairs.ends[number + 1]
    members, label, n = pairs.members[begin:end], pairs.label[begin:end], end - begin
    values, lam, offset = pairs.gram, pairs.lam[number], pairs.offset
    if n < values.shape[0]:
        values = np.empty((n, n), pairs.gram.dtype)
        for a in range(n):
            row = pairs.gram[members[a]]
            for b in range(n):
                values[a, b] = row[members[b]]
    norms, rounding, largest = np.empty(n), np.empty(n), 0.0
    slots, ticks = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for a in range(n):
        slots[a], ticks[a] = a, 0
        norms[a] = np.float64(values[a, a]) + offset
        rounding[a] = pairs.rounding[members[a]]
        largest = max(largest, abs(norms[a]))
    wide, narrow = as_two(values)
    view = KernelView(wide, narrow, slots, ticks, norms, offset)
    examples = Examples(label, pairs.signed[begin:end], pairs.loss)
    evaluations = pairs.evaluations[number]
    return _Run(lam, examples, view, rounding, largest, bounds, evaluations, pairs.tol)


@compiled(fastmath=False, inner=True)
def _new_state(n_samples: int) -> LoopState:
    """State of an ascent that has not begun."""
    counters, scalars = np.zeros(4, dtype=np.int64), np.zeros(5)
    counters[BATCH_OFFSET], scalars[SCALE] = UNTESTED, 1.0
    zeros = np.zeros(n_samples), np.zeros(n_samples), np.zeros(n_samples)
    return LoopState(*zeros, np.zeros(0), scalars, counters, np.zeros(1))


@shared
def state_of(states: LoopState, number: int, begin: int, end: int) -> LoopState:
    """Return the state of one of `SmallRuns`."""
    sums = states.alpha[begin:end], states.stamps[begin:end], states.image[begin:end]
    rows = states.scalars[number], states.counters[number]
    return LoopState(*sums, states.stamped_image[begin:end], *rows, np.zeros(1))


@compiled(fastmath=False, inner=True)
def _new_iterate(n_samples: int) -> _Evaluated:
    return _Evaluated(np.empty(n_samples), np.empty(n_samples), np.empty(4))


def _check_pairs(
    pairs: Any,
    found: Any,
    records: np.ndarray,
    first: int,
    last: int,
    part: tuple[int, int],
    most: int,
    sets: Any,
) -> None:
    n_samples, n_pairs, n_members = len(pairs.gram), pairs.lam.size, pairs.members.size
    states = found.states
    stamped = states.stamped_image if pairs.average >= 0 else states.image
    require_shapes(
        ("gram", pairs.gram, (n_samples, n_samples)),
        ("rounding", pairs.rounding, (n_samples,)),
        ("ends", pairs.ends, (n_pairs + 1,)),
        ("label", pairs.label, (n_members,)),
        ("signed", pairs.signed, (n_members,)),
        ("alpha", states.alpha, (n_members,)),
        ("stamps", states.stamps, (n_members,)),
        ("image", states.image, (n_members,)),
        ("stamped_image", stamped, (n_members,)),
        ("coef", found.coef, (n_members,)),
        ("margins", found.margins, (n_members,)),
        ("scalars", states.scalars, (n_pairs, LARGEST_SIZE + 1)),
        ("counters", states.counters, (n_pairs, INHERITED + 1)),
        ("bounds", found.bounds, (n_pairs, 2)),
        ("key", pairs.key, (n_pairs,)),
        ("kind", pairs.kind, (n_pairs,)),
        ("evaluations", pairs.evaluations, (n_pairs,)),
        ("numbers", found.numbers, (n_pairs, 9)),
        ("records", records, (len(records), 12)),
    )
    if sets is not None:
        require_shape("sets", sets, (len(pairs.points), 4))
    require_range("first and last", first, last, n_pairs)
    ends = pairs.ends[first : last + 1]
    if not (ends[1:] > ends[:-1]).all() or most < 1 or (pairs.points < 1).any():
        raise ValueError("ends must increase, and pairs have a step at least")
    require_range("ends", int(ends[0]), int(ends[-1]), n_members)
    require_indices("members", pairs.members, n_samples, first=int(ends[0]), last=int(ends[-1]))
    require_range("part", *part, pairs.points.shape[1])
    require_indices("kind", pairs.kind, len(pairs.points), first=first, last=last)


@checked(_check_pairs)
@compiled(fastmath=False)
def run_pairs(
    pairs: SmallPairs,
    found: SmallRuns,
    records: np.ndarray,
    first: int,
    last: int,
    part: tuple[int, int],
    most: int,
    sets: np.ndarray | None,
) -> tuple[int, int]:
    """Train pairs ``first .. last - 1``, or as many as there is room for records of.

    Those that are not `RUNNING` stay as they are.

    Parameters
    ----------
    pairs : SmallPairs
    found : SmallRuns
        Written to.
    records : ndarray of shape (n_records, 12)
        Written to.
    first, last : int
    part : tuple of int
        The first of the checkpoints of this call, and the first of the next.
    most : int
        Steps of a call at the most; where these are fewer than planned, runs are `CUT`.
    sets : ndarray of shape (n_kinds, 4), int64, or None
        For dual ascent afterwards, one round of it if steps are cut: examples of a working set,
        sets of a round, rows that may be held, and asked for at a time. With None, none of it is
        compiled.

    Returns
    -------
    next : int
        The pair to go on with.
    n_records : int
        Records written.
    """
    n_records, room = 0, part[1] - part[0] + MOST_ROUNDS
    number = first
    while number < last and n_records + room <= records.shape[0]:
        numbers = found.numbers[number]
        if numbers[STATUS] != RUNNING:
            numbers[N_RECORDS] = 0
            number += 1
            continue
        begin, end, kind = pairs.ends[number], pairs.ends[number + 1], pairs.kind[number]
        run, n = _run_of(pairs, found.bounds[number], number), end - begin
        points, planned = pairs.points[kind, part[0] : part[1]], pairs.points[kind, -1]
        state = state_of(found.states, number, begin, end)
        steps = state.counters[STEPS]
        ends, epoch = (planned, min(planned, steps + most)), steps // n
        draws = np.empty((-(-min(points[-1], ends[1]) // n) - epoch) * n, dtype=np.int64)
        draw_epochs(pairs.key[number], epoch, n, pairs.uniform, draws)
        # Literals would be other types.
        over_t, projected, one = pairs.average == 1, pairs.average > 1, n // n
        lam, radius = pairs.lam[number], 1.0 / np.sqrt(pairs.lam[number])
        parameters = LoopParameters(lam, n, one, projected, over_t, radius, np.empty(0), one)
        of_last = _new_iterate(n)
        returned = of_last if pairs.average < 0 else _new_iterate(n)
        rows = records[n_records : n_records + room]
        others = draws, epoch * n, points, ends, pairs.average, of_last, returned, rows, numbers
        status, n_rows, gap = _pegasos(run, state, parameters, *others)
        steps = state.counters[STEPS]
        if sets is not None and status in (COMPLETED, CUT):
            own = _new_iterate(n), returned, status == CUT, rows[n_rows:], numbers
            status, more = _ascend(run, steps, gap, sets[kind], *own)
            n_rows += more
        if status not in (LEFT, RUNNING) and not _finish(rows[n_rows - 1], numbers, pairs.tol):
            status = LEFT
        for a in range(n):
            found.coef[begin + a] = returned.coef[a] * run.examples.signed[a]
            found.margins[begin + a] = returned.margins[a]
        numbers[N_STEPS], numbers[STATUS] = steps, status
        numbers[FIRST_RECORD], numbers[N_RECORDS] = n_records, n_rows
        n_records += n_rows
        number += 1
    return number, n_records
