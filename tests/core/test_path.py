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
    LAMS,
    OFFSET,
    WEIGHTS,
    N,
    assert_same_path,
    make_path,
    margins_of,
    objectives,
    optimum,
    run,
    sets_of,
)

from kpegasos.core.path import CELL, N_SETS, OBJECTIVE

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
        objective, upper, proven = path.numbers[cell, OBJECTIVE:N_SETS]
        assert objective == pytest.approx(primal, rel=1e-12)
        assert objective < upper < objective * (1.0 + 1e-9)
        assert dual * (1.0 - 1e-10) <= proven <= optimum(cell) + 1e-10
    assert not path.coefs[(WEIGHTS == 0.0)[path.folds]].any()
    assert_allclose(path.margins, margins_of(path), rtol=1e-12, atol=1e-12)
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
        assert_array_equal(path.coefs[of_fold], alone.coefs)
        assert_array_equal(path.margins[of_fold], alone.margins)
        assert_array_equal(sets_of(path)[of_fold], sets_of(alone))


def test_follow_carries_solutions_on():
    """At the best multiple, so that a value that comes again is solved, and the next nearly is."""
    path = make_path(lams=LAMS[:, [0, 0, 1, 1]])
    run(path)
    assert_array_equal(sets_of(path) > 0, np.tile([True, False, True, False], 2))
    assert_allclose(path.coefs[1::2], path.coefs[::2], rtol=1e-2, atol=1e-12)


def test_additions_bound_the_error_of_the_margins():
    """They are carried on, through every multiple."""
    path = make_path(enough=1e-8, lams=np.repeat(LAMS, 4, axis=1) * np.linspace(1.0, 0.8, 12))
    run(path, size=4)
    eps, largest = np.finfo(np.float64).eps, 1.0 + OFFSET
    for cell in range(path.lams.size):
        signed = path.signed[path.folds[cell]]
        coef = [Fraction(c) * Fraction(s) for c, s in zip(path.coefs[cell], signed, strict=True)]
        exact = [
            sum(c * (Fraction(k) + Fraction(OFFSET)) for c, k in zip(coef, row, strict=True))
            for row in GRAM
        ]
        errors = [abs(Fraction(v) - e) for v, e in zip(path.margins[cell], exact, strict=True)]
        assert max(errors) <= Fraction(float(path.numbers[cell, 4] * eps * largest))
    # More and more sets have moved the image.
    each = path.numbers[:, 4].reshape(2, -1)
    n_sets = sets_of(path).reshape(2, -1).sum(axis=1)
    unit = (np.abs(path.coefs[[11, 23]]) @ np.abs(path.signed).T).diagonal()
    assert (each[:, -1] > n_sets * unit).all()
