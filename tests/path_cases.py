"""Two folds of a small problem along three values, for the tests of compiled paths."""

from functools import cache

import naive
import numpy as np
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from kpegasos.core.path import BEFORE_PAUSE, CELL, CELL_SETS, N_SETS, PAUSED, follow, new_path
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import (
    ADD_MOVES,
    DONE,
    NEED_ROWS,
    WANTED,
    add_moves,
    new_working_sets,
)

N = 36
OFFSET = 0.5
RNG = np.random.default_rng(7)
POINTS = RNG.normal(size=(N, 2))
GRAM = np.exp(-cdist(POINTS, POINTS, "sqeuclidean"))
LABEL = np.where(POINTS[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
#: Two folds of different weights: the first holds out every third example.
WEIGHTS = 0.5 + RNG.uniform(size=(2, N))
WEIGHTS[0, ::3] = 0.0
WEIGHTS[1, 1::3] = 0.0
WEIGHTS /= WEIGHTS.mean(axis=1, keepdims=True)
LAMS = np.tile(1.0 / (N * np.array([0.2, 0.6, 2.0])), (2, 1))
ENOUGH = 1e-4


def beginning(held=None):
    """A state with w = 0, and a view of the rows of some examples; of all if None."""
    state = new_state(N, N, PegasosOptions(average=None), 1.0, 0).loop
    slots = np.arange(N)
    if held is not None:
        slots[~np.isin(slots, held)] = -1
    ticks = np.zeros(N, dtype=np.int64)
    return state, KernelView.of(GRAM, slots, ticks, GRAM.diagonal() + OFFSET, OFFSET)


def make_path(folds=(0, 1), lams=LAMS, *, enough=ENOUGH, most_sets=10**6):
    of_folds = list(folds)
    known = np.zeros(N), 1.0 + OFFSET  # values are the problem itself
    return new_path(LABEL, WEIGHTS[of_folds], lams[of_folds], enough, most_sets, *known)


def new_sets(size=8, *, adds=True):
    return new_working_sets(size, size, 4, np.full(N, True), adds)


def run(path, *, held=None, pause=10**6, size=8, adds=True):
    """Solve all cells; returns each status with the cell in work and how many sets it has."""
    state, view = beginning(held)
    sets = new_sets(size, adds=adds)
    statuses = []
    path.counts[BEFORE_PAUSE] = pause
    while (status := follow(path, state, view, sets)) != DONE:
        cell = path.counts[CELL]
        statuses.append((status, cell, path.counts[CELL_SETS]))
        if status == PAUSED:
            path.counts[BEFORE_PAUSE] = pause
        elif status == ADD_MOVES:
            add_moves(state, view, sets)
        elif status == NEED_ROWS:
            view.slots[:] = -1
            wanted = sets.wanted[: sets.counts[WANTED]]
            view.slots[wanted] = wanted
    return statuses


@cache
def optimum(cell):
    fold, value = divmod(cell, LAMS.shape[1])
    return naive.optimum(GRAM, LABEL, LAMS[fold, value], WEIGHTS[fold], offset=OFFSET, gap=1e-10)[0]


def objectives(path, cell):
    """The primal and the dual value that the definitions give."""
    lam, weight, alpha = path.lams[cell], WEIGHTS[path.folds[cell]], alphas_of(path)[cell]
    coef = alpha * path.signed[path.folds[cell]] / (lam * N)
    return (
        naive.primal(coef, GRAM, LABEL, lam, weight, offset=OFFSET),
        naive.dual(alpha, GRAM, LABEL, lam, weight, offset=OFFSET),
    )


def alphas_of(path):
    return path.coefs * path.lams[:, None] * N


def sets_of(path):
    return path.numbers[:, N_SETS].astype(int)


def margins_of(path):
    return (path.coefs * path.signed[path.folds]) @ (GRAM + OFFSET)


def assert_same_path(path, expected):
    for array, other in zip(path, expected, strict=True):
        if array is not path.counts:  # what is left before a pause is among them
            assert_array_equal(array, other)
