"""A path that contradicts itself, or what it is called with, is refused before it is touched."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from path_cases import GRAM, LAMS, N, beginning, make_path, new_sets

from kpegasos.core.path import CELL, follow, path_sums, remove_held_out


def wrong_cell(counts):
    counts[CELL] = LAMS.size + 1
    return counts


@pytest.mark.parametrize(
    ("field", "change", "match"),
    [
        ("folds", lambda a: a[1:], "folds must have shape"),
        ("folds", lambda a: a + 1, "folds must be indices from 0 to 1"),
        ("folds", lambda a: a - 1, "folds must be indices from 0 to 1"),
        ("label", lambda a: a[1:], "must have shape"),
        ("signed", lambda a: a[:, 1:], "signed must have shape"),
        ("alphas", lambda a: a[1:], "alphas must have shape"),
        ("images", lambda a: a[:, 1:], "images must have shape"),
        ("gaps", lambda a: a[1:], "gaps must have shape"),
        ("duals", lambda a: a[1:], "duals must have shape"),
        ("n_sets", lambda a: a[1:], "n_sets must have shape"),
        ("additions", lambda a: a[1:], "additions must have shape"),
        ("counts", lambda a: a[1:], "counts must have shape"),
        ("counts", wrong_cell, "cell must be a range within 0 and 6"),
        ("counts", lambda a: a - 1, "cell must be a range within 0 and 6"),
    ],
)
def test_follow_refuses_a_path_that_contradicts_itself(field, change, match):
    path, (state, view), sets = make_path(), beginning(), new_sets()
    path = path._replace(**{field: change(getattr(path, field))})
    before = copy.deepcopy(state)
    with pytest.raises(ValueError, match=match):
        follow(path, state, view, sets)
    for array, old in zip(state, before, strict=True):
        assert_array_equal(array, old)


@pytest.mark.parametrize("name", ["alpha", "stamps", "image", "scalars", "counters"])
def test_follow_refuses_a_state_of_another_size(name):
    path, (state, view) = make_path(), beginning()
    state = state._replace(**{name: getattr(state, name)[:-1]})
    with pytest.raises(ValueError, match=f"^{name} must have shape"):
        follow(path, state, view, new_sets())
    assert not path.counts.any()


def test_follow_refuses_rows_and_sets_of_other_examples():
    path, (state, view) = make_path(), beginning()
    with pytest.raises(ValueError, match=r"^values must have shape"):
        follow(path, state, view._replace(values=GRAM[:, 1:]), new_sets())
    with pytest.raises(ValueError, match=r"^seen must have shape"):
        follow(path, state, view, new_sets()._replace(seen=np.full(N + 1, True)))
    assert not path.counts.any()


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("cells", np.array([0, 6]), "cells must be indices from 0 to 5"),
        ("cells", np.array([-1]), "cells must be indices from 0 to 5"),
        ("members", np.array([0, N]), "members must be indices"),
        ("members", np.array([0, 4]), "members must have rows that are held"),
        ("moves", np.ones(3), "moves must have shape"),
        ("first", -1, "first and last must be a range"),
        ("last", N + 1, "first and last must be a range"),
    ],
)
def test_remove_held_out_refuses_what_does_not_fit(name, value, match):
    path, (_, view) = make_path(), beginning(held=np.arange(3))
    arguments = {
        "cells": np.array([0, 3]),
        "view": view,
        "members": np.arange(2),
        "moves": np.ones(2),
        "first": 0,
        "last": N,
    } | {name: value}
    with pytest.raises(ValueError, match=match):
        remove_held_out(path, *arguments.values())
    assert not path.images.any()


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("first", 4, "first and last must be a range within 0 and 6"),
        ("first", -1, "first and last must be a range within 0 and 6"),
        ("rounding", np.zeros(N - 1), "rounding must have shape"),
        ("coefs", np.zeros((2, N)), "coefs must have shape"),
        ("margins", np.zeros((3, N + 1)), "margins must have shape"),
        ("sums", np.zeros((3, 6)), "sums must have shape"),
    ],
)
def test_path_sums_refuse_what_does_not_fit(name, value, match):
    arguments = {
        "first": 0,
        "rounding": np.zeros(N),
        "coefs": np.zeros((3, N)),
        "margins": np.zeros((3, N)),
        "sums": np.zeros((3, 7)),
    } | {name: value}
    with pytest.raises(ValueError, match=match):
        path_sums(make_path(), *arguments.values())
