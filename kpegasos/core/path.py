"""Dual ascent cell by cell: values of the regularisation, for the weights of several folds.

Neighbouring values have neighbouring solutions. The dual variables, which are fractions of their
box, are carried over, and so is the image of the iterate, which is unscaled; both are scaled to
the best dual point of that direction. The first value of a fold has no neighbour, and is begun from
a start that it may be given.

Examples of weight zero are held out: they get no coefficient, and their margins come with the
others.

    while (status := follow(path, state, view, sets)) != DONE:
        # NEED_ROWS and ADD_MOVES: see `kpegasos.core.working_sets`
        # PAUSED: so many sets as were asked for are done

All arrays are modified in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpegasos.core.certificate import (
    dual_bounds,
    limits_of,
    objective_bounds,
    sums_of,
    total_loss,
)
from kpegasos.core.state import STEPS, Examples, LoopState, combine
from kpegasos.core.views import HeldRows, KernelView
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
from kpegasos.losses.classification import Hinge
from kpegasos.utils.boundary import (
    checked,
    require_indices,
    require_range,
    require_shape,
    require_shapes,
)
from kpegasos.utils.compiled import compiled, copy_into

#: The cell in work, sets before the next pause, sets without a gain, and steps before the cell; and
#: how many positions there are.
CELL, BEFORE_PAUSE, IDLE, STEPS_BEFORE, N_PATH_COUNTS = range(5)


_HINGE = Hinge()
_LIMITS = limits_of(_HINGE)
#: Status code of `follow`, beside those of `ascend`.
PAUSED = 3
#: Sets in which neither gap nor dual value of a cell improves, after which the next one is gone on
#: to; and the least relative gain of a dual value.
_IDLE_SETS, _LEAST_GAIN = 160, 1e-9


class Path(NamedTuple):
    """Cells in the order in which they are solved, and what has come of each.

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
    alphas, images : ndarray of shape (n_cells, n_samples), float64
        Dual variables and image of each; before the first of a fold is solved, what it starts from.
    gaps : ndarray of shape (n_cells,), float64
        The least relative gap of each, as its margins said; infinite before it is begun.
    duals : ndarray of shape (n_cells,), float64
        The largest dual value of each, times the number of examples.
    n_sets : ndarray of shape (n_cells,), int64
        Working sets of each.
    additions : ndarray of shape (n_cells,), float64
        How many additions have rounded as much as the image of each; before the first of a fold is
        solved, those of its start.
    counts : ndarray of shape (5,), int64
        See `kpegasos.core.path`.
    """

    lams: np.ndarray
    folds: np.ndarray
    label: np.ndarray
    signed: np.ndarray
    enough: float
    most_sets: int
    alphas: np.ndarray
    images: np.ndarray
    gaps: np.ndarray
    duals: np.ndarray
    n_sets: np.ndarray
    additions: np.ndarray
    counts: np.ndarray


def new_path(
    label: np.ndarray,
    weights: np.ndarray,
    lams: np.ndarray,
    enough: float,
    most_sets: int,
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
    """
    n_folds, n_values = lams.shape
    alphas, images = np.zeros((2, lams.size, label.size))
    return Path(
        lams.astype(np.float64).ravel(),
        np.repeat(np.arange(n_folds), n_values),
        label,
        label * weights,
        float(enough),
        most_sets,
        alphas,
        images,
        np.full(lams.size, np.inf),
        np.full(lams.size, -np.inf),
        np.zeros(lams.size, dtype=np.int64),
        np.zeros(lams.size),
        np.zeros(N_PATH_COUNTS, dtype=np.int64),
    )


def _check_cells(path: Path) -> None:
    cells, shape = path.lams.shape, path.label.shape
    require_shapes(
        cells,
        folds=path.folds,
        gaps=path.gaps,
        duals=path.duals,
        n_sets=path.n_sets,
        additions=path.additions,
    )
    require_shapes((*cells, *shape), alphas=path.alphas, images=path.images)
    require_shape("signed", path.signed, (len(path.signed), *shape))
    require_indices("folds", path.folds, len(path.signed))
    require_shape("counts", path.counts, (N_PATH_COUNTS,))


def _check_path(path: Path, state: LoopState, view: KernelView, sets: WorkingSets) -> None:
    _check_cells(path)
    check_ascent(state, view, sets, Examples(path.label, path.label))
    require_range("cell", 0, int(path.counts[CELL]), path.lams.size)


@checked(_check_path)
@compiled()
def follow(path: Path, state: LoopState, view: HeldRows, sets: WorkingSets) -> int:
    """Solve the cells of a path, from that in work on.

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
    alpha, image, counts = state.alpha, state.image, path.counts
    while counts[CELL] < path.lams.size:
        cell = counts[CELL]
        examples = Examples(path.label, path.signed[path.folds[cell]], _HINGE)
        to_margin = 1.0 / (path.lams[cell] * image.size)
        if sets.counts[CHOSEN] == 0:
            if path.gaps[cell] == np.inf:
                if cell == 0 or path.folds[cell] != path.folds[cell - 1]:
                    copy_into(path.alphas[cell], alpha)
                    copy_into(path.images[cell], image)
                    sets.counts[MEMBERS] = 0  # their Hessian is that of other weights
                else:
                    path.additions[cell] = path.additions[cell - 1]
                factor = _scale(alpha, image, examples, to_margin)
                path.additions[cell] = factor * path.additions[cell] + 1.0
                counts[STEPS_BEFORE] = state.counters[STEPS]
            gap, dual = gap_and_dual(alpha, image, examples, to_margin)
            # The dual value rises with every set, the gap of a hard cell does not fall for long.
            gains = dual > path.duals[cell] + _LEAST_GAIN * abs(dual)
            if gains or max(gap, 0.0) < path.gaps[cell]:  # below zero it is rounding
                counts[IDLE] = 0
            path.gaps[cell] = min(gap, path.gaps[cell])
            path.duals[cell] = max(dual, path.duals[cell])
            hopeless = path.n_sets[cell] >= path.most_sets or counts[IDLE] > _IDLE_SETS
            if gap <= path.enough or hopeless:
                copy_into(alpha, path.alphas[cell])
                copy_into(image, path.images[cell])
                path.additions[cell] += state.counters[STEPS] - counts[STEPS_BEFORE]
                counts[CELL] += 1
                counts[IDLE] = 0
                continue
            if counts[BEFORE_PAUSE] <= 0:
                return PAUSED
            counts[BEFORE_PAUSE] -= 1
            counts[IDLE] += 1
            path.n_sets[cell] += 1
        sets.counts[LEFT], sets.counts[SETS_DONE] = 1, 0
        status = solve_sets(state, view, sets, examples, to_margin)
        if status != DONE:
            return status
    return DONE


@compiled(inner=True)
def _scale(alpha: np.ndarray, image: np.ndarray, examples: Examples, to_margin: float) -> float:
    """Go to the best multiple of some dual variables that is within the box; returns the factor."""
    largest = linear = quadratic = 0.0
    for i in range(alpha.size):
        largest = max(largest, alpha[i])
        linear += abs(examples.signed[i]) * alpha[i]
        quadratic += alpha[i] * examples.signed[i] * image[i]
    if largest <= 0.0:
        return 1.0
    quadratic *= to_margin
    factor = 1.0 / largest
    if linear < factor * quadratic:
        factor = linear / quadratic
    for i in range(alpha.size):
        alpha[i] = min(1.0, factor * alpha[i])
        image[i] *= factor
    return float(factor)


def _check_certified(
    path: Path,
    first: int,
    rounding: np.ndarray,
    largest: float,
    coefs: np.ndarray,
    margins: np.ndarray,
    numbers: np.ndarray,
) -> None:
    _check_cells(path)
    require_range("first and last", first, first + len(numbers), path.lams.size)
    require_shape("rounding", rounding, path.label.shape)
    require_shapes((len(numbers), path.label.size), coefs=coefs, margins=margins)
    require_shape("numbers", numbers, (len(numbers), 8))


@checked(_check_certified)
@compiled(fastmath=False)
def certify_cells(
    path: Path,
    first: int,
    rounding: np.ndarray,
    largest: float,
    coefs: np.ndarray,
    margins: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Write coefficients and margins of cells that are solved, and what they may claim.

    Parameters
    ----------
    path : Path
    first : int
        The first cell.
    rounding : ndarray of shape (n_samples,)
    largest : float
        See `kpegasos.core.certificate.evaluate_held`.
    coefs, margins : ndarray of shape (n_cells, n_samples)
    numbers : ndarray of shape (n_cells, 8)
        The fields of `Sums`, objective, upper bound and proven bound.
    """
    n_samples, nothing = path.label.size, np.empty(0)
    for k in range(len(numbers)):
        cell, lam = first + k, path.lams[first + k]
        alpha, image, unit = path.alphas[cell], path.images[cell], 1.0 / (lam * n_samples)
        examples = Examples(path.label, path.signed[path.folds[cell]], _HINGE)
        combine(unit, 0.0, alpha, nothing, nothing, coefs[k])
        combine(unit, 0.0, image, nothing, nothing, margins[k])
        size = np.float64(n_samples)
        for i in range(n_samples):
            size += alpha[i] * abs(examples.signed[i])
        number = (path.additions[cell] + 4.0) * unit * size  # as `additions` counts them
        found = sums_of(examples, rounding, largest, _LIMITS, number, coefs[k], margins[k])
        norm, of_loss, of_norm = found[:3]
        loss = total_loss(examples, margins[k])
        objective, upper = objective_bounds(loss, norm, of_loss, of_norm, lam, n_samples)
        _, proven = dual_bounds(examples, _LIMITS, coefs[k], norm, of_norm, lam)
        for place, value in enumerate((*found, objective, upper, proven)):
            numbers[k, place] = value
