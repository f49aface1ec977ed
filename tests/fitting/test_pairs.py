"""One-vs-one: SVC's votes and its layout of coefficients."""

from itertools import combinations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from kernel_cases import whole
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from kpegasos.fitting.pairs import (
    assemble,
    make_pairs,
    of_classes,
    pair_coefficients,
    share_classes,
    vote,
)
from kpegasos.kernels.functions import RBF
from kpegasos.kernels.matrix import KernelMatrix


def data(n_classes):
    return make_blobs(90, centers=n_classes, cluster_std=4.0, random_state=n_classes)


# --- votes --------------------------------------------------------------------------------------


@st.composite
def decisions_of_classes(draw):
    """Small integers, so that zeros and ties abound."""
    n_classes = draw(st.integers(2, 6))
    shape = draw(st.integers(1, 10)), n_classes * (n_classes - 1) // 2
    return n_classes, draw(arrays(float, shape, elements=st.integers(-1, 1)))


@given(decisions_of_classes())
def test_vote_by_the_book(case):
    n_classes, decisions = case
    assert_array_equal(vote(decisions, n_classes), naive.ovo_vote(decisions, n_classes))


# --- pairs --------------------------------------------------------------------------------------


def test_pairs_hold_both_classes():
    _, labels = data(4)
    pairs = make_pairs(labels, 4, np.ones(labels.size), None, 2.0)
    assert [pair.classes for pair in pairs] == list(combinations(range(4), 2))
    for number, pair in enumerate(pairs):
        assert pair.number == number
        i, j = pair.classes
        assert_array_equal(np.sort(pair.members), np.flatnonzero(np.isin(labels, [i, j])))
        assert_array_equal(pair.problem.y, np.where(labels[pair.members] == i, 1, -1))
        # Grouped by class, the first before the second.
        assert (np.diff(labels[pair.members]) >= 0).all()


def test_pairs_of_two_classes_are_positive_for_the_second():
    labels = np.array([1, 0, 0, 1, 1])
    (pair,) = make_pairs(labels, 2, np.ones(5), None, 1.0)
    assert_array_equal(pair.members, np.arange(5))
    assert_array_equal(pair.problem.y, [1, -1, -1, 1, 1])


# --- coefficients -------------------------------------------------------------------------------


@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_assemble_round_trip(n_classes, seed, density):
    """Whatever the coefficients, the pairs get back their own and nothing else."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation([*range(n_classes), *rng.integers(n_classes, size=9)])
    pairs = make_pairs(labels, n_classes, np.ones(labels.size), 1.0, 1.0)
    sizes = [pair.members.size for pair in pairs]
    coefs = [rng.normal(size=size) * (rng.random(size) < density) for size in sizes]
    made = assemble(pairs, np.concatenate(coefs), labels, n_classes)
    back = np.zeros((len(pairs), labels.size))
    back[:, made["support_"]] = pair_coefficients(made["dual_coef_"], made["n_support_"])
    for pair, coef, row in zip(pairs, coefs, back, strict=True):
        expected = np.zeros(labels.size)
        expected[pair.members] = coef
        assert_array_equal(row, expected)
    assert (np.diff(labels[made["support_"]]) >= 0).all()
    counts = np.bincount(labels[made["support_"]], minlength=n_classes)
    assert_array_equal(made["n_support_"], counts)
    assert made["dual_coef_"].any(axis=0).all()


# --- shared classes -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [3, 7])
def test_share_classes_are_those_of_the_pairs(n_classes):
    X, labels = data(n_classes)
    weight = np.where(np.arange(labels.size) % 7 == 0, 0.0, 1.0)
    pairs = make_pairs(labels, n_classes, weight, None, 1.0)
    shared = share_classes(RBF(0.1), X, pairs)
    kept = [np.flatnonzero((labels == c) & (weight > 0)) for c in range(n_classes)]
    for pair in pairs:
        values = whole(of_classes(*shared, pair.classes))
        own = KernelMatrix(RBF(0.1), X[np.concatenate([kept[c] for c in pair.classes])])
        assert_allclose(values, whole(own), rtol=1e-12)
