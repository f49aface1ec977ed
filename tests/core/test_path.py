"""Cells of a path, one after the other: each against its own optimum, whatever comes in between."""

import copy
from fractions import Fraction

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
    images_of,
    make_path,
    objectives,
    optimum,
    run,
)

from kpegasos.core.path import (
    CELL,
    PAUSED,
)
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


def test_follow_gives_a_cell_up_that_gains_nothing():
    path, paused = make_path(enough=-1.0), make_path(enough=-1.0)
    run(path)
    assert (path.n_sets < 2000).all()
    assert (path.gaps < 1e-7).all()
    run(paused, pause=1)
    assert_same_path(paused, path)
