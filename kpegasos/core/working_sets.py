"""Dual ascent over working sets: which examples move together, and by how much.

A working set has the examples whose decisions should rise most, and as many whose decisions should
fall, as in SVMs with an unpenalised intercept (Joachims 1998). The newer half of a set stays in the
next. One-sided sets stall: kernel values have a common part, and a set that may only push one way
overshoots.

Rows cost more than sets. So a set is taken from examples whose rows have been asked for before, as
long as these violate optimality about as much as the worst of all, and rows are asked for many at a
time. Which rows are held at the moment makes no difference to the sets:

    sets.counts[LEFT], sets.counts[SETS_DONE] = 8, 0
    while (status := ascend(state, view, sets, examples, parameters)) != DONE:
        # NEED_ROWS: have the rows of sets.wanted[: sets.counts[WANTED]] in the view
        # ADD_MOVES: add_moves(state, view, sets)

All arrays of state and sets are modified in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpegasos.core.ascents import maximise_over, violations
from kpegasos.core.state import (
    LARGEST_SIZE,
    ROW_HITS,
    SIZE,
    STEPS,
    Examples,
    LoopParameters,
    LoopState,
    check_state,
)
from kpegasos.core.views import (
    KernelView,
    add_range,
    add_rows_together,
    require_rows,
    touch,
)
from kpegasos.losses.base import gain as gain_of
from kpegasos.losses.base import value
from kpegasos.utils.boundary import (
    checked,
    require_indices,
    require_range,
    require_shape,
    require_shapes,
)
from kpegasos.utils.compiled import compiled, shared

#: Positions in ``counts``: sets still to do, members of the last one, how many of them have been in
#: the set before, rows wanted, whether the next set has been chosen already, and sets that are
#: done; and how many positions there are.
LEFT, MEMBERS, KEPT, WANTED, CHOSEN, SETS_DONE, N_COUNTS = range(7)
#: Position in ``scalars``: the relative gap at which no set is needed any more; and how many.
ENOUGH, N_SCALARS = range(2)


#: Status codes of `ascend`.
DONE, NEED_ROWS, ADD_MOVES = 0, 1, 2
#: Share of the largest first move up to which a set is solved.
_REDUCTION = 0.1
#: Examples that were asked for before serve while they violate optimality by this share of the
#: worst.
_GOOD_ENOUGH = 0.6


class WorkingSets(NamedTuple):
    """The state that an ascent keeps from set to set.

    Parameters
    ----------
    members : ndarray of shape (size,), int64
        The working set.
    moved : ndarray of shape (size,), float64
        What each member adds to the margins, in units of its kernel row.
    wanted : ndarray of shape (n_wanted,), int64
        Examples whose rows are asked for: the members, and others that will soon be, if there is
        room for their rows.
    ahead : ndarray of shape (n_ahead,), int64
        These others; new rows are asked for as many at a time.
    seen : ndarray of shape (n_samples,), bool
        Which examples have been asked for.
    counts : ndarray of shape (6,), int64
        Sets left, members, members kept, rows wanted, whether the next set has been chosen already,
        and sets that are done.
    hessian : ndarray of shape (size, size), float64
        That of the set, in its first rows and columns, times ``lam · n_samples``.
    scalars : ndarray of shape (1,), float64
        Relative gap at which `ascend` ends before its last set.
    adds : bool
        Whether `ascend` adds the moves to the margins itself, without ``ADD_MOVES``.
    """

    members: np.ndarray
    moved: np.ndarray
    wanted: np.ndarray
    ahead: np.ndarray
    seen: np.ndarray
    counts: np.ndarray
    hessian: np.ndarray
    scalars: np.ndarray
    adds: bool


@shared
def new_working_sets(
    size: int, n_wanted: int, n_ahead: int, seen: np.ndarray, adds: bool
) -> WorkingSets:
    """Working sets of an ascent that has not begun.

    Parameters
    ----------
    size : int
        Examples of a set.
    n_wanted : int
        Rows that can be held for a set and ahead of it; at least ``size``.
    n_ahead : int
        Rows that are asked for at a time.
    seen : ndarray of shape (n_samples,), bool
        Examples whose rows are known to be needed.
    adds : bool
        See `WorkingSets`.
    """
    return WorkingSets(
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(max(size, n_wanted), dtype=np.int64),
        np.zeros(n_ahead, dtype=np.int64),
        seen,
        np.zeros(N_COUNTS, dtype=np.int64),
        np.empty((size, size)),
        np.zeros(N_SCALARS),
        adds,
    )


def check_ascent(
    state: LoopState,
    view: KernelView,
    sets: WorkingSets,
    examples: Examples,
    parameters: LoopParameters | None = None,
) -> None:
    """Check the arguments of `ascend`.

    Raises
    ------
    ValueError
        If it would read or write beyond one of its arrays.
    """
    check_state(state, view, examples)
    size = sets.members.size
    require_range("size", 0, size, examples.label.size)
    require_shapes(
        ("counts", sets.counts, (N_COUNTS,)),
        ("hessian", sets.hessian, (size, size)),
        ("scalars", sets.scalars, (N_SCALARS,)),
        ("seen", sets.seen, examples.label.shape),
    )
    if sets.wanted.size < size:
        raise ValueError(
            f"wanted must have room for {size} members, got {sets.wanted.size} instead"
        )
    _check_members(view, sets, bool(sets.counts[CHOSEN]))


def _check_members(view: KernelView, sets: WorkingSets, rows_needed: bool = True) -> None:
    """Check that members exist, and hold rows where these are about to be read."""
    n_members = int(sets.counts[MEMBERS])
    require_range("n_members", 0, n_members, sets.members.size)
    require_shape("moved", sets.moved, sets.members.shape)
    members = sets.members[:n_members]
    if rows_needed:
        require_rows(view, members)
    require_indices("members", members, view.slots.size)


@checked(check_ascent)
@compiled()
def ascend(
    state: LoopState,
    view: KernelView,
    sets: WorkingSets,
    examples: Examples,
    parameters: LoopParameters,
) -> int:
    """Choose and solve ``sets.counts[LEFT]`` working sets, one after the other.

    ``state.alpha`` holds the dual variables β, and ``w = q / (lam · n_samples)``. It ends early
    where the relative gap after a set is at most ``sets.scalars[ENOUGH]``.

    Parameters
    ----------
    state : LoopState
    view : KernelView
    sets : WorkingSets
    examples : Examples
    parameters : LoopParameters

    Returns
    -------
    int
        `DONE`, `NEED_ROWS` or `ADD_MOVES`: what is to be done before the next call.
    """
    return solve_sets(state, view, sets, examples, 1.0 / (parameters.lam * parameters.n_samples))


@compiled(inner=True)
def solve_sets(
    state: LoopState, view: KernelView, sets: WorkingSets, examples: Examples, to_margin: float
) -> int:
    """`ascend` for compiled callers; margins are ``to_margin`` times the image."""
    alpha, image = state.alpha, state.image
    counts, enough = sets.counts, sets.scalars[ENOUGH]
    while counts[LEFT] > 0:
        if counts[CHOSEN] == 0:
            if counts[SETS_DONE] > 0 and relative_gap(alpha, image, examples, to_margin) <= enough:
                break
            held = _choose(image, alpha, view.slots, view.squared_norms, sets, examples, to_margin)
            counts[CHOSEN] = 1
            if not held:
                return NEED_ROWS
        _solve(state, view, sets, examples, to_margin)
        counts[CHOSEN] = 0
        counts[LEFT] -= 1
        counts[SETS_DONE] += 1
        if not sets.adds:
            return ADD_MOVES
        rows, moves = _moves(view.slots, sets.members, sets.moved, sets.counts[MEMBERS])
        offset, none, end = view.kernel_offset, moves[:0], image.size
        first = np.int64(0)  # as from the interpreter: a literal is another type
        if view.wide.size:
            add_range(view.wide, view.wide, rows, moves, moves, offset, first, end, image, none)
        else:
            add_range(view.narrow, view.narrow, rows, moves, moves, offset, first, end, image, none)
    return DONE


@compiled()
def _moves(
    slots: np.ndarray, members: np.ndarray, moved: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Slots of the rows of all members that have moved, and by what."""
    n = 0
    rows, moves = np.empty(size, dtype=np.int64), np.empty(size)
    for a in range(size):
        if moved[a] != 0.0:
            rows[n], moves[n] = slots[members[a]], moved[a]
            n += 1
    return rows[:n], moves[:n]


def add_moves(state: LoopState, view: KernelView, sets: WorkingSets) -> None:
    """Add the moves of the last set to the margins of all examples, on several threads.

    Parameters
    ----------
    state : LoopState
        The image is modified.
    view : KernelView
    sets : WorkingSets
    """
    _check_members(view, sets)
    rows, moves = _moves(view.slots, sets.members, sets.moved, sets.counts[MEMBERS])
    values, offset = view.values, view.kernel_offset
    add_rows_together(values, values[:0], rows, moves, moves, offset, state.image, moves[:0])


@compiled(inner=True)
def relative_gap(
    alpha: np.ndarray, image: np.ndarray, examples: Examples, to_margin: float
) -> float:
    """Return the relative duality gap of the iterate, from its margins."""
    gap, _ = gap_and_dual(alpha, image, examples, to_margin)
    return gap


@compiled(inner=True)
def gap_and_dual(
    alpha: np.ndarray, image: np.ndarray, examples: Examples, to_margin: float
) -> tuple[float, float]:
    """Return the iterate's relative gap, and its dual value times the number of examples."""
    label, signed = examples.label, examples.signed
    loss = gain = squared_norm = 0.0
    for i in range(image.size):
        weight, margin = abs(signed[i]), image[i] * to_margin
        loss += weight * value(examples.loss, margin, label[i])
        gain += weight * gain_of(examples.loss, alpha[i], label[i])
        squared_norm += alpha[i] * signed[i] * margin
    gap, objective = loss + squared_norm - gain, loss + 0.5 * squared_norm
    # A part of the examples may have neither loss nor coefficients.
    relative = 0.0 if objective == 0.0 else gap / objective
    return relative, gain - 0.5 * squared_norm


@compiled(inner=True)
def _choose(
    image: np.ndarray,
    beta: np.ndarray,
    slots: np.ndarray,
    norms: np.ndarray,
    sets: WorkingSets,
    examples: Examples,
    to_margin: float,
) -> bool:
    """Choose the next set and the rows that are wanted; returns whether the set's rows are held."""
    # Arrays, since for a view with other values all would be compiled once more.
    n, size, counts, seen = image.size, sets.members.size, sets.counts, sets.seen
    rising, falling = np.empty(n), np.empty(n)
    violations(examples.loss, image, beta, norms, examples, to_margin, rising, falling)
    others = np.empty(size, dtype=np.int64)
    kept = n if size == n else _keep_half(sets.members, counts[MEMBERS], sets.hessian)
    for a in range(kept):
        others[a] = sets.members[a] = a if size == n else sets.members[a]
        rising[others[a]] = falling[others[a]] = -np.inf
    counts[KEPT] = min(kept, counts[MEMBERS])
    counts[MEMBERS], violation = _worst(rising, falling, sets.members, kept, size)
    n_ahead, new = 0, _number(seen, sets.members, counts[MEMBERS])
    if new > 0:
        seen_rising, seen_falling = _where(seen, rising), _where(seen, falling)
        n_others, seen_violation = _worst(seen_rising, seen_falling, others, kept, size)
        if seen_violation >= _GOOD_ENOUGH * violation:
            for a in range(kept, n_others):
                sets.members[a] = others[a]
            counts[MEMBERS] = n_others
        else:
            n_ahead = _look_ahead(sets, rising, falling, new)
    counts[WANTED] = min(sets.wanted.size, counts[MEMBERS] + n_ahead)
    for a in range(counts[WANTED]):
        mine = a < counts[MEMBERS]
        sets.wanted[a] = sets.members[a] if mine else sets.ahead[a - counts[MEMBERS]]
    missing = 0
    for a in range(counts[MEMBERS]):
        missing += slots[sets.members[a]] < 0
    return missing == 0


@compiled(inner=True)
def _look_ahead(sets: WorkingSets, rising: np.ndarray, falling: np.ndarray, new: int) -> int:
    """Choose examples that will soon be members, as they violate most; returns how many."""
    seen, counts = sets.seen, sets.counts
    for a in range(counts[MEMBERS]):
        seen[sets.members[a]] = True
    for i in range(seen.size):
        if seen[i]:
            rising[i] = falling[i] = -np.inf
    begin = np.int64(0)  # for a literal all would be compiled once more
    n_ahead, _ = _worst(rising, falling, sets.ahead, begin, max(0, sets.ahead.size - new))
    for a in range(n_ahead):
        seen[sets.ahead[a]] = True
    return n_ahead


@compiled(inner=True)
def _where(seen: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the keys of what has been seen; minus infinity elsewhere."""
    result = np.empty(keys.size)
    for i in range(keys.size):
        result[i] = keys[i] if seen[i] else -np.inf
    return result


@compiled(inner=True)
def _keep_half(members: np.ndarray, n_members: int, hessian: np.ndarray) -> int:
    """Put the newer half of a set first, with its part of the Hessian."""
    kept = n_members // 2
    first = n_members - kept
    for a in range(kept):
        members[a] = members[first + a]
        for b in range(kept):
            hessian[a, b] = hessian[first + a, first + b]
    return kept


@compiled(inner=True)
def _number(has: np.ndarray, members: np.ndarray, n_members: int) -> int:
    """Count the members of which ``has`` is false."""
    number = 0
    for a in range(n_members):
        number += not has[members[a]]
    return number


@compiled(inner=True)
def _worst(
    rising: np.ndarray, falling: np.ndarray, chosen: np.ndarray, begin: int, end: int
) -> tuple[int, float]:
    """Put the worst violators of both sides into ``chosen[begin:end]``, half of each.

    Keys of minus infinity are no candidates. Returns where they end, and the sum of the keys that
    are positive.
    """
    middle, one = choose_largest(rising, chosen, begin, begin + (end - begin) // 2)
    saved = np.empty(middle - begin)
    for a in range(begin, middle):  # nothing is chosen twice
        saved[a - begin] = falling[chosen[a]]
        falling[chosen[a]] = -np.inf
    last, other = choose_largest(falling, chosen, middle, end)
    for a in range(begin, middle):
        falling[chosen[a]] = saved[a - begin]
    return last, one + other


@compiled(inner=True)
def _solve(
    state: LoopState, view: KernelView, sets: WorkingSets, examples: Examples, to_margin: float
) -> None:
    """Maximise the dual over the members, the other β held fixed; margins do not follow yet."""
    size, members, hessian = sets.counts[MEMBERS], sets.members, sets.hessian
    alpha, counters, signed = state.alpha, state.counters, examples.signed
    beta = np.empty(size)
    for a in range(size):
        beta[a] = alpha[members[a]]
    for a in range(sets.counts[KEPT], size):
        i = members[a]
        slot, factor = view.slots[i], signed[i]
        for b in range(a + 1):
            j = members[b]
            value = view.wide[slot, j] if view.wide.size else np.float64(view.narrow[slot, j])
            entry = (value + view.kernel_offset) * factor * signed[j]
            hessian[a, b] = hessian[b, a] = entry
    maximise_over(
        examples.loss, state.image, members[:size], examples, to_margin, hessian, beta, _REDUCTION
    )
    for a in range(size):
        i = members[a]
        sets.moved[a] = (beta[a] - alpha[i]) * signed[i]
        if beta[a] != alpha[i]:
            state.scalars[SIZE] += (abs(beta[a]) - abs(alpha[i])) * abs(signed[i])
            alpha[i] = beta[a]
            counters[STEPS] += 1
            counters[ROW_HITS] += touch(view, i, counters[STEPS])
    state.scalars[LARGEST_SIZE] = max(state.scalars[LARGEST_SIZE], state.scalars[SIZE])


#: Keys that are compared together.
_BLOCK = 64


@compiled(inner=True)
def choose_largest(keys: np.ndarray, chosen: np.ndarray, begin: int, end: int) -> tuple[int, float]:
    """Put the indices of the largest keys into ``chosen[begin:end]``, but for minus infinity.

    Nothing is checked. Returns where they end, and the sum of the keys that are positive. Of equal
    keys the first are chosen.
    """
    number = min(end - begin, keys.size)
    if number <= 0:
        return begin, 0.0
    threshold = _threshold(keys, number)
    equal = np.empty(number, dtype=np.int64)
    position, n_equal, total = begin, 0, 0.0
    for start in range(0, keys.size, _BLOCK):
        if not _reaches(keys[start : start + _BLOCK], threshold):
            continue
        for i in range(start, min(keys.size, start + _BLOCK)):
            if keys[i] > threshold:
                chosen[position] = i
                position += 1
                total += max(0.0, keys[i])
            elif keys[i] == threshold and threshold > -np.inf and n_equal < number:
                equal[n_equal] = i
                n_equal += 1
    for a in range(min(n_equal, begin + number - position)):
        chosen[position] = equal[a]
        position += 1
        total += max(0.0, threshold)
    return position, total


@compiled(inner=True)
def _threshold(keys: np.ndarray, number: int) -> float:
    """Return the `number`-th largest key."""
    # A heap of the largest so far: nearly all keys are compared with the least of them alone.
    heap = keys[:number].copy()
    for a in range(number // 2 - 1, -1, -1):
        _sift(heap, a, heap[a])
    for start in range(number, keys.size, _BLOCK):
        if _reaches(keys[start : start + _BLOCK], heap[0]):
            for i in range(start, min(keys.size, start + _BLOCK)):
                if keys[i] > heap[0]:
                    _sift(heap, 0, keys[i])
    return float(heap[0])


@compiled(inner=True)
def _reaches(keys: np.ndarray, least: float) -> bool:
    """Check whether a key is as large; without a branch, so that it is vectorised."""
    number = 0
    for i in range(keys.size):
        number += keys[i] >= least
    return number > 0


@compiled(inner=True)
def _sift(heap: np.ndarray, place: int, key: float) -> None:
    """Sift a key down from a free place of the heap."""
    while True:
        child = 2 * place + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key
