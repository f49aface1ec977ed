"""Dual ascent over working sets: which examples move together, and by how much.

A working set are the examples that a better model would most like to draw to the positive side,
and as many for the negative side, as in SVMs with an unpenalised intercept (Joachims 1998). Half
of the set before stays for one more turn. One-sided sets stall: kernel values have a common part,
and a set that may only push one way overshoots.

Rows cost more than sets. So a set is taken from the examples whose rows are held as long as these
violate optimality about as much as the worst of all, and rows are asked for many at a time:

    sets.counts[LEFT] = 8
    while (status := ascend(state, view, sets, examples, parameters)) != DONE:
        # NEED_ROWS: have the rows of sets.wanted[: sets.counts[WANTED]] in the view
        # ADD_MOVES: add_moves(state, view, sets, 0, n_samples), or in parts

All arrays of state and sets are modified in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpegasos.core.boundary import check_ascent, check_moves
from kpegasos.core.box import solve_box
from kpegasos.core.state import ROW_HITS, STEPS, Examples, LoopParameters, LoopState
from kpegasos.core.views import KernelView, touch
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked
from kpegasos.utils.compiled import compiled

#: Status codes of `ascend`.
DONE, NEED_ROWS, ADD_MOVES = 0, 1, 2
#: Positions in `WorkingSets.counts`: sets still to do, members of the last one, how many of them
#: have been in the set before, rows wanted, and whether the next set has been chosen already.
LEFT, MEMBERS, KEPT, WANTED, CHOSEN = 0, 1, 2, 3, 4
#: Share of the largest first move up to which a set is solved.
_REDUCTION = 0.01
#: Examples whose rows are held serve while they violate optimality by this share of the worst.
_GOOD_ENOUGH = 0.6

_MARGINS_TILE = tuning.MARGINS_TILE


class WorkingSets(NamedTuple):
    """What an ascent keeps from set to set.

    Parameters
    ----------
    members : ndarray of shape (size,), int64
        The working set.
    moved : ndarray of shape (size,), float64
        What each member adds to the margins, in units of its kernel row.
    wanted : ndarray of shape (n_wanted,), int64
        Examples whose rows are asked for: the members, and others that will soon be.
    counts : ndarray of shape (5,), int64
        Sets left, members, members kept, rows wanted, whether the next set has been chosen already.
    hessian : ndarray of shape (size, size), float64
        That of the set, in its first rows and columns.
    rows_at_once : int
        Rows that are missing are asked for this many at a time, where there is room for them.
    adds : bool
        Whether `ascend` adds the moves to the margins itself, without ``ADD_MOVES``.
    """

    members: np.ndarray
    moved: np.ndarray
    wanted: np.ndarray
    counts: np.ndarray
    hessian: np.ndarray
    rows_at_once: int
    adds: bool


def new_working_sets(size: int, n_wanted: int, rows_at_once: int, adds: bool) -> WorkingSets:
    """Working sets of an ascent that has not begun.

    Parameters
    ----------
    size : int
        Examples of a set.
    n_wanted : int
        Rows that can be held for a set and ahead of it; at least ``size``.
    rows_at_once : int
    adds : bool
        See `WorkingSets`.
    """
    return WorkingSets(
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(max(size, n_wanted), dtype=np.int64),
        np.zeros(5, dtype=np.int64),
        np.empty((size, size)),
        rows_at_once,
        adds,
    )


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

    ``state.alpha`` holds the dual variables β in [0, 1], and ``w = q / (lam · n_samples)``.

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
    to_margin = 1.0 / (parameters.lam * parameters.n_samples)
    counts = sets.counts
    while counts[LEFT] > 0:
        if counts[CHOSEN] == 0:
            held = _choose(state, view, sets, examples, to_margin)
            counts[CHOSEN] = 1
            if not held:
                return NEED_ROWS
        _solve(state, view, sets, examples, to_margin)
        counts[CHOSEN] = 0
        counts[LEFT] -= 1
        if not sets.adds:
            return ADD_MOVES
        _add(state.image, view, sets, 0, state.image.size)
    return DONE


@compiled()
def _choose(
    state: LoopState, view: KernelView, sets: WorkingSets, examples: Examples, to_margin: float
) -> bool:
    """Choose the next set; returns whether its rows are held, and else which rows are wanted."""
    n, size, counts = state.image.size, sets.members.size, sets.counts
    if size == n:
        counts[KEPT] = counts[MEMBERS]
        for i in range(n):
            sets.members[i] = i
        counts[MEMBERS] = n
        return _held(view, sets, n)
    kept = counts[KEPT] = _keep_half(sets)
    rising, falling = np.empty(n), np.empty(n)
    for i in range(n):
        label, beta = examples.label[i], state.alpha[i]
        pull = label - state.image[i] * to_margin
        can_grow, can_shrink = beta < 1.0, beta > 0.0
        rising[i] = pull if (can_grow if label > 0 else can_shrink) else -np.inf
        falling[i] = -pull if (can_shrink if label > 0 else can_grow) else -np.inf
    for a in range(kept):
        rising[sets.members[a]] = falling[sets.members[a]] = -np.inf
    counts[MEMBERS], violation = _worst(rising, falling, sets.members, kept, size)
    if _held(view, sets, counts[MEMBERS]):
        return True
    others = sets.members.copy()
    held_rising, held_falling = rising.copy(), falling.copy()
    for i in range(n):
        if view.slots[i] < 0:
            held_rising[i] = held_falling[i] = -np.inf
    n_others, held_violation = _worst(held_rising, held_falling, others, kept, size)
    if held_violation >= _GOOD_ENOUGH * violation and _all_held(view, others, n_others):
        sets.members[:n_others] = others[:n_others]
        counts[MEMBERS] = n_others
        return True
    _want(view, sets, rising, falling)
    return False


@compiled()
def _keep_half(sets: WorkingSets) -> int:
    """Put the newer half of the last set first, with its part of the Hessian."""
    n_members = sets.counts[MEMBERS]
    kept = n_members // 2
    first = n_members - kept
    for a in range(kept):
        sets.members[a] = sets.members[first + a]
        for b in range(kept):
            sets.hessian[a, b] = sets.hessian[first + a, first + b]
    return kept


@compiled()
def _all_held(view: KernelView, members: np.ndarray, n_members: int) -> bool:
    missing = 0
    for a in range(n_members):
        missing += view.slots[members[a]] < 0
    return missing == 0


@compiled()
def _held(view: KernelView, sets: WorkingSets, n_members: int) -> bool:
    """Whether the rows of all members are held; if not, these are wanted."""
    sets.counts[WANTED] = n_members
    sets.wanted[:n_members] = sets.members[:n_members]
    return _all_held(view, sets.members, n_members)


@compiled()
def _want(view: KernelView, sets: WorkingSets, rising: np.ndarray, falling: np.ndarray) -> None:
    """Ask for more rows than those of the members: what violates most will be a member soon."""
    n_members = sets.counts[MEMBERS]
    missing = 0
    for a in range(n_members):
        missing += view.slots[sets.members[a]] < 0
    for i in range(rising.size):
        if view.slots[i] >= 0:
            rising[i] = falling[i] = -np.inf
    for a in range(n_members):
        rising[sets.members[a]] = falling[sets.members[a]] = -np.inf
    end = min(sets.wanted.size, n_members + max(0, sets.rows_at_once - missing))
    sets.counts[WANTED], _ = _worst(rising, falling, sets.wanted, n_members, end)


@compiled()
def _worst(
    rising: np.ndarray, falling: np.ndarray, chosen: np.ndarray, begin: int, end: int
) -> tuple[int, float]:
    """Put the worst violators of both sides into ``chosen[begin:end]``, half of each.

    Keys of minus infinity are no candidates. Returns where they end, and the sum of the keys that
    are positive.
    """
    middle = begin + (end - begin) // 2
    middle, one = _largest(rising, chosen, begin, middle)
    # Nothing is chosen twice; what was chosen is put back, as callers go on with the keys.
    saved = falling[chosen[begin:middle]]
    falling[chosen[begin:middle]] = -np.inf
    last, other = _largest(falling, chosen, middle, end)
    falling[chosen[begin:middle]] = saved
    return last, one + other


@compiled()
def _largest(keys: np.ndarray, chosen: np.ndarray, begin: int, end: int) -> tuple[int, float]:
    """Put the indices of the largest keys into ``chosen[begin:end]``; returns where they end."""
    number = min(end - begin, keys.size)
    if number <= 0:
        return begin, 0.0
    threshold = np.partition(keys, keys.size - number)[keys.size - number]
    position, total = begin, 0.0
    for above in (True, False):
        for i in range(keys.size):
            wanted = keys[i] > threshold if above else keys[i] == threshold
            if wanted and keys[i] > -np.inf and position < begin + number:
                chosen[position] = i
                position += 1
                total += max(0.0, keys[i])
    return position, total


@compiled()
def _solve(
    state: LoopState, view: KernelView, sets: WorkingSets, examples: Examples, to_margin: float
) -> None:
    """Maximise the dual over the members, the other β held fixed; margins do not follow yet."""
    size, hessian = sets.counts[MEMBERS], sets.hessian
    gradient, beta = np.empty(size), np.empty(size)
    for a in range(size):
        i = sets.members[a]
        beta[a] = state.alpha[i]
        margin = state.image[i] * to_margin
        gradient[a] = abs(examples.signed[i]) * (1.0 - examples.label[i] * margin)
    for a in range(sets.counts[KEPT], size):
        i = sets.members[a]
        row, factor = view.values[view.slots[i]], examples.signed[i] * to_margin
        for b in range(a + 1):
            j = sets.members[b]
            entry = (row[j] + view.kernel_offset) * factor * examples.signed[j]
            hessian[a, b] = hessian[b, a] = entry
    solve_box(hessian, gradient, beta, _REDUCTION)
    for a in range(size):
        i = sets.members[a]
        sets.moved[a] = (beta[a] - state.alpha[i]) * examples.signed[i]
        if beta[a] != state.alpha[i]:
            state.alpha[i] = beta[a]
            state.counters[STEPS] += 1
            state.counters[ROW_HITS] += touch(view, i, state.counters[STEPS])


@checked(check_moves)
@compiled()
def add_moves(state: LoopState, view: KernelView, sets: WorkingSets, first: int, last: int) -> None:
    """Add the moves of the last set to the margins of the examples ``first`` to ``last``.

    Parameters
    ----------
    state : LoopState
        Only ``image[first:last]`` is modified.
    view : KernelView
    sets : WorkingSets
    first, last : int
    """
    _add(state.image, view, sets, first, last)


@compiled(fastmath={"contract"})
def _add(image: np.ndarray, view: KernelView, sets: WorkingSets, first: int, last: int) -> None:
    """Add four rows at a time to a tile of margins that stays in a processor's first cache."""
    size, n = sets.counts[MEMBERS], 0
    slots, moves, offset = np.empty(size, dtype=np.int64), np.empty(size), 0.0
    for a in range(size):
        if sets.moved[a] != 0.0:
            slots[n], moves[n] = view.slots[sets.members[a]], sets.moved[a]
            offset += sets.moved[a] * view.kernel_offset
            n += 1
    for begin in range(first, last, _MARGINS_TILE):
        end = min(last, begin + _MARGINS_TILE)
        tile = image[begin:end]
        for j in range(tile.size):
            tile[j] += offset
        whole = n // 4 * 4
        for a in range(0, whole, 4):
            one, two = view.values[slots[a], begin:end], view.values[slots[a + 1], begin:end]
            three, four = view.values[slots[a + 2], begin:end], view.values[slots[a + 3], begin:end]
            for j in range(tile.size):
                tile[j] += (moves[a] * one[j] + moves[a + 1] * two[j]) + (
                    moves[a + 2] * three[j] + moves[a + 3] * four[j]
                )
        for a in range(whole, n):
            one = view.values[slots[a], begin:end]
            for j in range(tile.size):
                tile[j] += moves[a] * one[j]
