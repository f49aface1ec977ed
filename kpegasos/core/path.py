"""Dual ascent cell by cell; a cell is a value of the regularisation with the weights of a fold.

Neighbouring values have neighbouring solutions: each value of a fold begins at the best multiple of
the solution before, and the first at zero. Examples of weight zero are held out: they get no
coefficient, and their margins come with the others.

    while (status := follow(path, state, view, sets)) != DONE:
        # NEED_ROWS and ADD_MOVES: see `kpegasos.core.working_sets`
        # PAUSED: as many sets as were asked for are done

All arrays are modified in place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpegasos.core.certificate import (
    evaluate_held,
    judge,
    limits_of,
    start_ascent,
)
from kpegasos.core.state import INHERITED, STEPS, Examples, Iterate, LoopState
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import (
    CHOSEN,
    DONE,
    LEFT,
    MEMBERS,
    SETS_DONE,
    WorkingSets,
    check_ascent,
    gap_and_dual,
    solve_sets,
)
from kpegasos.losses.standard import Hinge
from kpegasos.utils.boundary import checked, require_indices, require_range, require_shapes
from kpegasos.utils.compiled import compiled

#: Positions in `Path.counts`: the current cell, sets of it, sets since the last gain, and sets
#: before the next pause; and how many positions there are.
CELL, CELL_SETS, IDLE, BEFORE_PAUSE, N_PATH_COUNTS = range(5)
#: Positions in `Path.scalars`: least gap of the current cell, infinite before it is begun, and its
#: largest dual value times the number of examples.
GAP, DUAL = 0, 1
#: Columns of `Path.numbers` after those of `evaluate_held`, and how many there are.
OBJECTIVE, UPPER_BOUND, PROVEN_BOUND, N_SETS, N_NUMBERS = range(5, 10)

_HINGE = Hinge()
_LIMITS = limits_of(_HINGE)
_evaluate_held = evaluate_held.__wrapped__
#: Status code of `follow`, beside those of `ascend`.
PAUSED = 3
#: Sets without a gain in gap or dual value after which a cell is left; and the least relative gain
#: of a dual value.
_IDLE_SETS, _LEAST_GAIN = 160, 1e-9


class Path(NamedTuple):
    """Cells in the order in which they are solved, and their solutions.

    Parameters
    ----------
    lams : ndarray of shape (n_cells,), float64
        The regularisation ``lam``.
    folds : ndarray of shape (n_cells,), int64
        The fold of each cell; cells of a fold follow each other.
    label : ndarray of shape (n_samples,), float64
        Labels ±1.
    signed : ndarray of shape (n_folds, n_samples), float64
        Labels times their weight in each fold.
    enough : float
        Relative gap at which a cell is solved.
    most_sets : int
        Working sets of a cell at the most.
    rounding : ndarray of shape (n_samples,), float64
    largest : float
        See `kpegasos.core.certificate.evaluate_held`.
    coefs, margins : ndarray of shape (n_cells, n_samples), float64
        Of the solution of each.
    numbers : ndarray of shape (n_cells, 9)
        Of each what `evaluate_held` returns, objective, upper and proven bound, and working sets.
    scalars : ndarray of shape (2,), float64
    counts : ndarray of shape (4,), int64
        See `kpegasos.core.path`.
    """

    lams: np.ndarray
    folds: np.ndarray
    label: np.ndarray
    signed: np.ndarray
    enough: float
    most_sets: int
    rounding: np.ndarray
    largest: float
    coefs: np.ndarray
    margins: np.ndarray
    numbers: np.ndarray
    scalars: np.ndarray
    counts: np.ndarray


def new_path(
    label: np.ndarray,
    weights: np.ndarray,
    lams: np.ndarray,
    enough: float,
    most_sets: int,
    rounding: np.ndarray,
    largest: float,
) -> Path:
    """Return a path that has not begun, from zero.

    Parameters
    ----------
    label : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_folds, n_samples)
    lams : ndarray of shape (n_folds, n_values)
        Values of each fold, in the order in which they are solved.
    enough : float
        Relative gap at which a cell is solved.
    most_sets : int
        Working sets of a cell at the most.
    rounding : ndarray of shape (n_samples,)
    largest : float
        See `Path`.
    """
    n_folds, n_values = lams.shape
    coefs, margins = np.zeros((2, lams.size, label.size))
    return Path(
        lams.astype(np.float64).ravel(),
        np.repeat(np.arange(n_folds), n_values),
        label,
        label * weights,
        float(enough),
        most_sets,
        rounding,
        float(largest),
        coefs,
        margins,
        np.zeros((lams.size, N_NUMBERS)),
        np.array([np.inf, -np.inf]),
        np.zeros(N_PATH_COUNTS, dtype=np.int64),
    )


def _check_path(path: Path, state: LoopState, view: KernelView, sets: WorkingSets) -> None:
    cells, shape = path.lams.shape, path.label.shape
    require_shapes(
        ("folds", path.folds, cells),
        ("signed", path.signed, (len(path.signed), *shape)),
        ("rounding", path.rounding, shape),
        ("coefs", path.coefs, cells + shape),
        ("margins", path.margins, cells + shape),
        ("numbers", path.numbers, (*cells, N_NUMBERS)),
        ("scalars", path.scalars, (2,)),
        ("counts", path.counts, (N_PATH_COUNTS,)),
    )
    require_indices("folds", path.folds, len(path.signed))
    require_range("cell", 0, int(path.counts[CELL]), path.lams.size)
    check_ascent(state, view, sets, Examples(path.label, path.label))


@checked(_check_path)
@compiled()
def follow(path: Path, state: LoopState, view: KernelView, sets: WorkingSets) -> int:
    """Solve the cells of a path, from the current one on.

    Parameters
    ----------
    path : Path
    state : LoopState
    view : KernelView
    sets : WorkingSets

    Returns
    -------
    int
        `DONE`, `NEED_ROWS`, `ADD_MOVES` or `PAUSED`: what is to be done before the next call.
    """
    counts, scalars = path.counts, path.scalars
    while counts[CELL] < path.lams.size:
        cell, fold = counts[CELL], path.folds[counts[CELL]]
        examples = Examples(path.label, path.signed[fold], _HINGE)
        to_margin = 1.0 / (path.lams[cell] * path.label.size)
        if sets.counts[CHOSEN] == 0:
            if scalars[GAP] == np.inf:
                is_first = cell == 0 or fold != path.folds[cell - 1]
                if is_first:
                    sets.counts[MEMBERS] = 0  # their Hessian is that of other weights
                _begin(path, state, examples, cell, is_first)
            gap, dual = gap_and_dual(state.alpha, state.image, examples, to_margin)
            # The dual value rises with every set, the gap may not fall for long.
            gains = dual > scalars[DUAL] + _LEAST_GAIN * abs(dual)
            if gains or max(gap, 0.0) < scalars[GAP]:  # below zero it is rounding
                counts[IDLE] = 0
            scalars[GAP], scalars[DUAL] = min(gap, scalars[GAP]), max(dual, scalars[DUAL])
            hopeless = counts[CELL_SETS] >= path.most_sets or counts[IDLE] > _IDLE_SETS
            if gap <= path.enough or hopeless:
                _end(path, state, examples, cell)
                continue
            if counts[BEFORE_PAUSE] <= 0:
                return PAUSED
            counts[BEFORE_PAUSE] -= 1
            counts[IDLE] += 1
            counts[CELL_SETS] += 1
        sets.counts[LEFT], sets.counts[SETS_DONE] = 1, 0
        status = solve_sets(state, view, sets, examples, to_margin)
        if status != DONE:
            return status
    return DONE


@compiled(inner=True)
def _begin(path: Path, state: LoopState, examples: Examples, cell: int, is_first: bool) -> None:
    """Begin a cell at zero, or at the best multiple of the solution before."""
    counters = state.counters
    if is_first:
        for i in range(state.alpha.size):
            state.alpha[i] = state.image[i] = 0.0
        counters[INHERITED] = -counters[STEPS]
        return
    coef, margins, norm = path.coefs[cell - 1], path.margins[cell - 1], path.numbers[cell - 1, 0]
    lam, before = path.lams[cell], path.lams[cell - 1]
    factor = start_ascent(state, examples, _LIMITS, coef, margins, norm, lam) * lam / before
    inherited = factor * (counters[STEPS] + counters[INHERITED]) + 1.0
    counters[INHERITED] = math.ceil(inherited) - counters[STEPS]


@compiled(inner=True)
def _end(path: Path, state: LoopState, examples: Examples, cell: int) -> None:
    """Write what the solution of a cell may claim, and go on to the next."""
    lam, nothing, numbers = path.lams[cell], np.empty(0), path.numbers[cell]
    coef, margins, n_samples = path.coefs[cell], path.margins[cell], path.label.size
    iterate = Iterate(1.0 / (lam * n_samples), 0.0, 0.0, nothing, nothing)
    known = path.rounding, path.largest, _LIMITS
    sums = _evaluate_held(state, examples, iterate, *known, coef, margins)
    of = judge(examples, _LIMITS, coef, margins, sums[0], sums[1], sums[2], lam, 0.0)
    for place, number in enumerate((*sums, of[0], of[1], of[3])):
        numbers[place] = number
    numbers[N_SETS] = path.counts[CELL_SETS]
    path.counts[CELL] += 1
    path.counts[CELL_SETS] = path.counts[IDLE] = 0
    path.scalars[GAP], path.scalars[DUAL] = np.inf, -np.inf
