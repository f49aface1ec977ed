"""Working sets against the dual objective, and what they ask of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from path_cases import GRAM, LABEL, OFFSET, N, beginning

from kpegasos.core.state import Examples, LoopParameters
from kpegasos.core.working_sets import (
    ADD_MOVES,
    DONE,
    LEFT,
    MEMBERS,
    NEED_ROWS,
    WANTED,
    add_moves,
    ascend,
    new_working_sets,
)

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


def new_sets(size, n_wanted=0, n_ahead=0, seen=(), *, adds=True):
    return new_working_sets(size, n_wanted, n_ahead, np.isin(np.arange(N), seen), adds)


def run(state, view, sets, n_sets):
    """Advance by so many sets, adding moves from outside where that is asked for."""
    sets.counts[LEFT] = n_sets
    while (status := ascend(state, view, sets, EXAMPLES, PARAMETERS)) != DONE:
        assert status == ADD_MOVES
        add_moves(state, view, sets)


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("size", [2, 7, 30, N])
def test_ascend_raises_the_dual_and_keeps_the_margins(size, adds):
    state, view = beginning()
    sets = new_sets(size, adds=adds)
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


@pytest.mark.parametrize("size", [16, N])
def test_ascend_meets_the_optimality_conditions(size):
    state, view = beginning()
    run(state, view, new_sets(size), 400)
    slack = 1.0 - LABEL * state.image / (PARAMETERS.lam * N)
    assert slack[state.alpha == 0.0].max() < 1e-6
    assert slack[state.alpha == 1.0].min() > -1e-6
    inside = (state.alpha > 0.0) & (state.alpha < 1.0)
    assert np.abs(slack[inside]).max(initial=0.0) < 1e-6


def test_ascend_asks_for_many_rows_at_once():
    state, view = beginning(held=[])
    sets = new_sets(8, 8 + 20, 20)
    sets.counts[LEFT] = 1
    assert ascend(state, view, sets, EXAMPLES, PARAMETERS) == NEED_ROWS
    wanted = sets.wanted[: sets.counts[WANTED]]
    assert wanted.size == np.unique(wanted).size == 20
    assert set(sets.members[: sets.counts[MEMBERS]]) <= set(wanted)
    assert not state.alpha.any()


def test_ascend_prefers_examples_that_were_asked_for():
    """A set of them does, as long as they violate optimality about as much as the worst."""
    seen = np.arange(0, N, 2)
    state, view = beginning()
    sets = new_sets(8, seen=seen)
    # At w = 0 all violate alike.
    run(state, view, sets, 1)
    assert np.isin(sets.members[: sets.counts[MEMBERS]], seen).all()
    run(state, view, sets, 200)
    assert sets.seen.sum() > seen.size
