"""Dual ascent along values of the regularisation, each from the solution of the one before.

Neighbouring values have neighbouring solutions. The dual variables, which are fractions of their
box, are carried over, and so is the image of the iterate, which is unscaled; both are scaled to
the best dual point of that direction. A value may have another start as well: the better one is
gone on from.

    while (status := follow(path, state, view, sets, examples)) != DONE:
        # NEED_ROWS and ADD_MOVES: see `kpegasos.core.working_sets`
        # PAUSED: so many sets as were asked for are done

All arrays are modified in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpegasos.core.boundary import check_path, check_removal
from kpegasos.core.path_counts import BEFORE_PAUSE, IDLE, N_PATH_COUNTS, VALUE
from kpegasos.core.set_counts import CHOSEN, LEFT, SETS_DONE
from kpegasos.core.state import Examples, LoopState
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import DONE, WorkingSets, relative_gap, solve_sets
from kpegasos.utils.boundary import checked
from kpegasos.utils.compiled import compiled

#: Status code of `follow`, beside those of `ascend`.
PAUSED = 3
#: Sets in which the gap of a value does not fall, after which the next one is gone on to.
_IDLE_SETS = 160


class Path(NamedTuple):
    """Values of the regularisation, and what has come of each.

    Parameters
    ----------
    lams : ndarray of shape (n_values,), float64
        The values of ``lam``, in the order in which they are solved.
    enough : ndarray of shape (n_values,), float64
        Relative gap at which each is solved.
    alphas, images : ndarray of shape (n_values, n_samples), float64
        Dual variables and image of each; before it is solved, another start for it, or zeros.
    gaps : ndarray of shape (n_values,), float64
        The least relative gap of each, as its margins said; infinite before it is begun.
    n_sets : ndarray of shape (n_values,), int64
        Working sets of each.
    most_sets : int
        Working sets of one value at the most.
    counts : ndarray of shape (3,), int64
        See `kpegasos.core.path_counts`.
    """

    lams: np.ndarray
    enough: np.ndarray
    alphas: np.ndarray
    images: np.ndarray
    gaps: np.ndarray
    n_sets: np.ndarray
    most_sets: int
    counts: np.ndarray


def new_path(lams: np.ndarray, enough: float, n_samples: int, most_sets: int) -> Path:
    """A path that has not begun, and has no other starts.

    Parameters
    ----------
    lams : ndarray of shape (n_values,)
    enough : float
        Relative gap at which a value is solved.
    n_samples : int
    most_sets : int
        Working sets of one value at the most.
    """
    alphas, images = np.zeros((2, lams.size, n_samples))
    return Path(
        np.array(lams, dtype=np.float64),
        np.full(lams.size, enough),
        alphas,
        images,
        np.full(lams.size, np.inf),
        np.zeros(lams.size, dtype=np.int64),
        most_sets,
        np.zeros(N_PATH_COUNTS, dtype=np.int64),
    )


@checked(check_path)
@compiled()
def follow(
    path: Path, state: LoopState, view: KernelView, sets: WorkingSets, examples: Examples
) -> int:
    """Solve the values of a path, from that in work on.

    Parameters
    ----------
    path : Path
    state : LoopState
    view : KernelView
    sets : WorkingSets
    examples : Examples

    Returns
    -------
    int
        `DONE`, `NEED_ROWS`, `ADD_MOVES` or `PAUSED`: what is to be done before the next call.
    """
    alpha, image, counts = state.alpha, state.image, path.counts
    while counts[VALUE] < path.lams.size:
        value = counts[VALUE]
        to_margin = 1.0 / (path.lams[value] * image.size)
        if sets.counts[CHOSEN] == 0:
            if path.gaps[value] == np.inf:
                _begin(path, value, state, examples, to_margin)
            gap = relative_gap(alpha, image, examples, to_margin)
            counts[IDLE] = 0 if gap < path.gaps[value] else counts[IDLE] + 1
            path.gaps[value] = min(gap, path.gaps[value])
            hopeless = path.n_sets[value] >= path.most_sets or counts[IDLE] > _IDLE_SETS
            if gap <= path.enough[value] or hopeless:
                path.alphas[value], path.images[value] = alpha, image
                counts[VALUE] += 1
                counts[IDLE] = 0
                continue
            if counts[BEFORE_PAUSE] <= 0:
                return PAUSED
            counts[BEFORE_PAUSE] -= 1
            path.n_sets[value] += 1
        sets.counts[LEFT], sets.counts[SETS_DONE] = 1, 0
        status = solve_sets(state, view, sets, examples, to_margin)
        if status != DONE:
            return status
    return DONE


@compiled(inner=True)
def _begin(path: Path, value: int, state: LoopState, examples: Examples, to_margin: float) -> None:
    """Go on from the state or from the other start of a value, whichever has the smaller gap."""
    alpha, image = path.alphas[value], path.images[value]
    _scale(state.alpha, state.image, examples, to_margin)
    _scale(alpha, image, examples, to_margin)
    own = relative_gap(state.alpha, state.image, examples, to_margin)
    if relative_gap(alpha, image, examples, to_margin) < own:
        for i in range(alpha.size):
            state.alpha[i], state.image[i] = alpha[i], image[i]


@compiled(inner=True)
def _scale(alpha: np.ndarray, image: np.ndarray, examples: Examples, to_margin: float) -> None:
    """Go to the best multiple of some dual variables that is within the box."""
    largest = linear = quadratic = 0.0
    for i in range(alpha.size):
        largest = max(largest, alpha[i])
        linear += abs(examples.signed[i]) * alpha[i]
        quadratic += alpha[i] * examples.signed[i] * image[i]
    if largest <= 0.0:
        return
    quadratic *= to_margin
    factor = 1.0 / largest
    if linear < factor * quadratic:
        factor = linear / quadratic
    for i in range(alpha.size):
        alpha[i] = min(1.0, factor * alpha[i])
        image[i] *= factor


@checked(check_removal)
@compiled()
def remove_members(
    path: Path, view: KernelView, members: np.ndarray, signed: np.ndarray, first: int, last: int
) -> None:
    """Take some examples out of the images of all values, for a range of the examples.

    Parameters
    ----------
    path : Path
        Its images are modified, its dual variables are not.
    view : KernelView
        Holds the rows of the members.
    members : ndarray of int64
    signed : ndarray of shape (n_samples,)
        Weighted labels that the images were made with.
    first, last : int
        The range.
    """
    for i in members:
        row = view.values[view.slots[i]]
        for value in range(path.lams.size):
            move = path.alphas[value, i] * signed[i]
            if move != 0.0:
                image = path.images[value]
                for j in range(first, last):
                    image[j] -= move * (row[j] + view.kernel_offset)
