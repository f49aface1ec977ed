"""Cells of a path, one after the other: each against its own optimum, whatever comes in between."""

import copy
from fractions import Fraction

import naive
import numpy as np
import pytest
from covering import each_value
from numpy.testing import assert_allclose, assert_array_equal
from path_cases import (
    ENOUGH,
    GRAM,
    LABEL,
    LAMS,
    OFFSET,
    WEIGHTS,
    N,
    assert_same_path,
    beginning,
    images_of,
    make_path,
    objectives,
    optimum,
    run,
)

from kpegasos.core.path import (
    CELL,
    HARD,
    PAUSED,
    active_examples,
    gap_of_each,
)
from kpegasos.core.state import Examples, PegasosOptions, new_state
from kpegasos.core.working_sets import NEED_ROWS

pytestmark = pytest.mark.pure_python

# --- what cells come to ---------------------------------------------------------------------------


@each_value(adds=[True, False], size=[4, 9, N])
def test_follow_solves_each_cell_to_what_is_enough(size, adds):
    path = make_path()
    run(path, size=size, adds=adds)
    assert path.counts[CELL] == path.lams.size
    for cell in range(path.lams.size):
        primal, dual = objectives(path, cell)
        assert dual <= optimum(cell) + 1e-10  # itself a dual value
        assert optimum(cell) - 1e-12 <= primal <= optimum(cell) + ENOUGH * primal
        assert path.gaps[cell] == pytest.approx((primal - dual) / primal, rel=1e-6, abs=1e-12)
        assert path.duals[cell] == pytest.approx(N * dual)
        assert path.gaps[cell] <= ENOUGH
    assert not path.alphas[(WEIGHTS == 0.0)[path.folds]].any()
    assert_allclose(path.images, images_of(path), rtol=1e-12, atol=1e-12)
    before = copy.deepcopy(path)
    assert run(path) == []  # nothing is left to do
    assert_same_path(path, before)


def test_follow_solves_a_fold_as_if_it_were_alone():
    path = make_path()
    run(path)
    for fold in range(2):
        alone = make_path([fold])
        run(alone)
        of_fold = path.folds == fold
        assert_array_equal(path.alphas[of_fold], alone.alphas)
        assert_array_equal(path.images[of_fold], alone.images)
        assert_array_equal(path.n_sets[of_fold], alone.n_sets)


def test_follow_begins_at_the_start_of_a_fold_and_carries_solutions_on():
    """At the best multiple: a share of a solution is as good, and the same value is solved."""
    solved = make_path(enough=1e-6)
    run(solved)
    path, begun = make_path(lams=LAMS[:, [0, 0, 1, 1]]), [0, 3]
    for cell, of_solved, share in zip([0, 4], begun, (1.0, 0.3), strict=True):
        path.alphas[cell] = share * solved.alphas[of_solved]
        path.images[cell] = share * solved.images[of_solved]
    run(path)
    assert solved.n_sets.all()
    assert_array_equal(path.n_sets > 0, np.tile([False, False, True, False], 2))
    assert_allclose(path.alphas[[0, 4]], solved.alphas[begun], rtol=1e-2, atol=1e-12)
    assert_allclose(path.alphas[[1, 3, 5, 7]], path.alphas[[0, 2, 4, 6]], rtol=1e-2)
    assert (path.gaps <= ENOUGH).all()


def test_additions_bound_the_error_of_the_image():
    """That of a start is carried on, through every multiple of it."""
    begun, path = 1e6, make_path(enough=1e-8)
    solved = make_path(enough=1e-3)
    run(solved)
    eps, first = np.finfo(np.float64).eps, [0, LAMS.shape[1]]
    path.alphas[first] = solved.alphas[first]
    path.images[first] = images_of(solved)[first] + begun * eps * N * LABEL
    path.additions[first] = begun
    run(path)
    largest = Fraction(1.0 + OFFSET)
    for cell in range(path.lams.size):
        signed = path.signed[path.folds[cell]]
        beta = [Fraction(a) * Fraction(s) for a, s in zip(path.alphas[cell], signed, strict=True)]
        exact = [
            sum(b * (Fraction(k) + Fraction(OFFSET)) for b, k in zip(beta, row, strict=True))
            for row in GRAM
        ]
        errors = [abs(Fraction(v) - e) for v, e in zip(path.images[cell], exact, strict=True)]
        counts = np.abs(signed) @ path.alphas[cell]
        bound = Fraction(float((path.additions[cell] + 4.0) * eps * (counts + N))) * largest
        assert max(errors) <= bound
        # Without what was begun with, it would be far too small.
        assert max(errors) > 10 * Fraction(float(path.n_sets.sum() * 8 * eps * N)) * largest


# --- statuses -------------------------------------------------------------------------------------


@each_value(adds=[True, False], pause=[1, 3, 50])
def test_follow_pauses_after_so_many_sets_and_goes_on(pause, adds):
    expected = make_path()
    run(expected)
    path = make_path()
    statuses = run(path, pause=pause, adds=adds)
    assert_same_path(path, expected)
    total = path.n_sets.sum()
    paused = [at for at in statuses if at[0] == PAUSED]
    # A pause comes where a set would, and not after the last.
    assert len(paused) == (total - 1) // pause
    assert len(statuses) - len(paused) == (0 if adds else total)


@pytest.mark.parametrize("held", [[], np.arange(0, N, 3)])
def test_follow_asks_for_rows_that_are_missing(held):
    expected = make_path()
    run(expected)
    path = make_path()
    statuses = run(path, held=held)
    assert statuses
    assert {status for status, *_ in statuses} == {NEED_ROWS}
    assert_same_path(path, expected)


def test_follow_says_that_a_cell_is_hard():
    """After as many sets as its patience, and every eight from there."""
    expected = make_path(enough=1e-8)
    run(expected, size=4)
    path = make_path(enough=1e-8, patience=5)
    statuses = run(path, size=4)
    assert_same_path(path._replace(patience=expected.patience), expected)
    assert {status for status, *_ in statuses} == {HARD}
    assert path.n_sets.max() > 5 + 2 * 8
    for cell, n_sets in enumerate(path.n_sets):
        # What is enough after so many sets is not hard.
        assert [n for _, of, n in statuses if of == cell] == list(range(5, n_sets, 8))


def test_follow_gives_a_cell_up_that_gains_nothing():
    path, paused = make_path(enough=-1.0), make_path(enough=-1.0)
    run(path)
    assert (path.n_sets < 2000).all()
    assert (path.gaps < 1e-7).all()
    run(paused, pause=1)
    assert_same_path(paused, path)


# --- which examples of a hard cell are gone over alone -----------------------------------------


@pytest.mark.parametrize("lam", [1e-4, 0.01, 1.0])
def test_gaps_of_all_examples_add_up_to_the_duality_gap(lam):
    state, _ = beginning()
    rng = np.random.default_rng(0)
    state.alpha[:] = np.clip(rng.normal(0.5, 1.0, N), 0.0, 1.0) * (WEIGHTS[0] > 0.0)
    signed = LABEL * WEIGHTS[0]
    state.image[:] = GRAM @ (state.alpha * signed)
    gaps = gap_of_each(state, Examples(LABEL, signed), 1.0 / (lam * N))
    primal = naive.primal(state.alpha * signed / (lam * N), GRAM, LABEL, lam, WEIGHTS[0])
    dual = naive.dual(state.alpha, GRAM, LABEL, lam, WEIGHTS[0])
    assert gaps.sum() == pytest.approx(N * (primal - dual), rel=1e-9, abs=1e-9)
    assert (gaps >= 0.0).all()
    assert not gaps[WEIGHTS[0] == 0.0].any()


def test_active_examples_violate_or_are_free_and_then_lie_near_the_margin():
    """An example off its bounds matters though it is optimal where it is; held out ones do not."""
    label = np.resize([1.0, -1.0, -1.0], 10)
    weight = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    state = new_state(10, 10, PegasosOptions(average=None), 1.0, 0).loop
    examples = Examples(label, label * weight)

    def active(margins, alpha, most):
        state.image[:], state.alpha[:] = 0.1 * label * margins, alpha
        return active_examples(state, examples, 10.0, most)

    # Free at the margin, right at zero twice, free again, right at one and at zero, wrong at one
    # and at zero, the one by more; held out.
    margins = np.array([1.0, 1.001, 3.0, 1.0, 0.999, 2.0, 1.5, 0.1, 1.0, 0.5])
    alpha = np.array([0.5, 0.0, 0.0, 0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    for most, expected in (
        (1, [7]),
        (2, [6, 7]),
        (4, [0, 3, 6, 7]),
        (6, [0, 1, 3, 4, 6, 7]),
        (7, [0, 1, 3, 4, 5, 6, 7]),
        (30, range(8)),
    ):
        assert_array_equal(active(margins, alpha, most), expected)
    # Free ones come before others that are at the margin as well, on a bound.
    alpha = np.array([0.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.5, 0.0, 0.0])
    assert_array_equal(active(np.ones(10), alpha, 2), [4, 7])
