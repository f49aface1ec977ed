"""Toy problems have the shapes that they promise."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC, LinearSVC

from kpegasos.datasets import make_gaussian_noise, make_spirals, make_toy, make_xor

TOYS = ["circles", "moons", "xor", "spirals"]
MAKERS = [partial(make_toy, name) for name in TOYS] + [make_gaussian_noise]
MAKER_NAMES = [*TOYS, "gaussian_noise"]
each_maker = pytest.mark.parametrize("make", MAKERS, ids=MAKER_NAMES)


@each_maker
def test_toy_has_its_shape_and_is_determined_by_random_state(make):
    X, y = make(101, random_state=0)
    assert X.shape == (101, 2)
    assert y.shape == (101,)
    assert X.dtype == np.float64
    assert_array_equal(np.unique(y), [0, 1])
    X_again, y_again = make(101, random_state=0)
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(101, random_state=1)[0])


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("n_samples", [100, 101])
def test_toy_classes_are_balanced(name, n_samples):
    _, y = make_toy(name, n_samples, random_state=0)
    counts = np.bincount(y)
    assert abs(counts[0] - counts[1]) <= 1


@pytest.mark.parametrize("name", ["circles", "xor", "spirals"])
def test_toy_needs_a_kernel(name):
    X, y = make_toy(name, 600, random_state=0)
    assert LinearSVC().fit(X, y).score(X, y) < 0.75
    assert SVC(C=100, gamma=10).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("name", TOYS)
def test_toy_noise_is_used(name):
    clean, _ = make_toy(name, 100, 0.0, random_state=0)
    noisy, _ = make_toy(name, 100, 0.5, random_state=0)
    assert np.ptp(noisy) > np.ptp(clean)


def test_toy_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of 'circles'.*got 'swirls'"):
        make_toy("swirls")


def test_xor_class_is_the_sign_of_the_product():
    X, y = make_xor(200, random_state=0)
    assert_array_equal(y == 1, X[:, 0] * X[:, 1] < 0)
    assert np.abs(X).max() <= 1


def test_spirals_wind_by_the_radius():
    X, y = make_spirals(200, turns=2, random_state=0)
    radius = np.hypot(*X.T)
    angle = 4 * np.pi * radius + np.pi * y
    assert radius.max() <= 1
    assert_allclose(X, radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def test_gaussian_noise_flips_the_given_fraction():
    X, clean = make_gaussian_noise(1000, n_features=5, noise=0, random_state=0)
    _, y = make_gaussian_noise(1000, n_features=5, noise=0.1, separation=8, random_state=0)
    assert X.shape == (1000, 5)
    assert clean.sum() == 500
    side = make_gaussian_noise(1000, n_features=5, noise=0.1, separation=50, random_state=0)
    assert np.sum((side[0].sum(axis=1) > 0) != side[1]) == 100
    assert LinearSVC().fit(X, clean).score(X, clean) > 0.99
    assert abs(y.mean() - 0.5) < 0.1


@pytest.mark.parametrize("noise", [-0.1, 1.5])
def test_gaussian_noise_rejects_what_is_no_fraction(noise):
    with pytest.raises(ValueError, match="noise must be a fraction"):
        make_gaussian_noise(noise=noise)
