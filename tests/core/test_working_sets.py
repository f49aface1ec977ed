"""Working sets against the dual objective, and what they ask of rows."""

import numpy as np
import pytest
from covering import each_pair, each_value
from numpy.testing import assert_allclose, assert_array_equal
from path_cases import GRAM, LABEL, OFFSET, N, beginning

from kpegasos.core.state import Examples, LoopParameters
from kpegasos.core.working_sets import (
    ADD_MOVES,
    DONE,
    LEFT,
    add_moves,
    ascend,
    choose_largest,
    new_working_sets,
)
from kpegasos.utils.compiled import compiled

pytestmark = pytest.mark.pure_python

WEIGHT = np.random.default_rng(5).uniform(0.5, 1.5, N)
EXAMPLES = Examples(LABEL, LABEL * WEIGHT)
PARAMETERS = LoopParameters(1e-3, N, 1, False, False)


def dual(state):
    """Dual objective, from the coefficients alone."""
    coef = state.alpha / (PARAMETERS.lam * N)
    signed = coef * EXAMPLES.signed
    norm = signed @ (GRAM + OFFSET) @ signed
    return PARAMETERS.lam * (coef @ WEIGHT - 0.5 * norm)


def run(state, view, sets, n_sets):
    """Advance by so many sets, adding moves from outside where that is asked for."""
    sets.counts[LEFT] = n_sets
    while (status := ascend(state, view, sets, EXAMPLES, PARAMETERS)) != DONE:
        assert status == ADD_MOVES
        add_moves(state, view, sets)


@each_value(adds=[True, False], size=[2, 7, 30, N])
def test_ascend_raises_the_dual_and_keeps_the_margins(size, adds):
    state, view = beginning()
    sets = new_working_sets(size, 0, 0, np.full(N, False), adds)
    before = 0.0
    for _ in range(12):
        run(state, view, sets, 3)
        assert dual(state) >= before - 1e-14
        before = dual(state)
        assert state.alpha.min() >= 0.0
        assert state.alpha.max() <= 1.0
        expected = (GRAM + OFFSET) @ (state.alpha * EXAMPLES.signed)
        assert_allclose(state.image, expected, atol=1e-10)
    assert before > 0.0


# --- the largest of many keys ---------------------------------------------------------------------


@compiled()
def choose(keys, chosen, begin, end):
    return choose_largest(keys, chosen, begin, end)


@each_pair(
    kind=["any", "equal", "few candidates", "rising"],
    n_keys=[1, 63, 64, 65, 1000],
    number=[0, 1, 2, 17, 128],
)
def test_choose_largest_is_what_a_sort_finds(kind, n_keys, number):
    rng, chosen = np.random.default_rng(n_keys), np.full(140, -1)
    keys = rng.normal(size=n_keys)
    if kind == "equal":
        keys = rng.integers(-2, 3, n_keys).astype(float)
    elif kind == "few candidates":
        keys[rng.random(n_keys) < 0.8] = -np.inf
    elif kind == "rising":
        keys.sort()
    end, total = choose(keys, chosen, 3, 3 + number)
    candidates = np.sort(keys[keys > -np.inf])[::-1][:number]
    found = chosen[3:end]
    assert_array_equal(np.sort(keys[found])[::-1], candidates)
    assert np.unique(found).size == found.size
    assert total == pytest.approx(np.maximum(candidates, 0.0).sum())
    assert np.all(chosen[:3] == -1)
    assert np.all(chosen[end:] == -1)
