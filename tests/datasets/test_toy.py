"""Toy problems have the shapes that they promise."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC, LinearSVC

from kpegasos.datasets import make_gaussian_noise, make_spirals, make_toy, make_xor

TOYS = ["circles", "moons", "xor", "spirals"]


@pytest.mark.parametrize("make", [*(partial(make_toy, name) for name in TOYS), make_gaussian_noise])
def test_toy_has_its_shape_and_balance_and_is_determined_by_random_state(make):
    noise = 0.0 if make is make_gaussian_noise else 0.1
    X, y = make(101, noise=noise, random_state=0)
    assert (X.shape, y.shape, X.dtype) == ((101, 2), (101,), np.float64)
    assert sorted(np.bincount(y)) == [50, 51]
    X_again, y_again = make(101, noise=noise, random_state=0)
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(101, noise=noise, random_state=1)[0])
    if noise:
        assert np.ptp(make(101, noise=0.5, random_state=0)[0]) > np.ptp(X)
        assert np.ptp(make(101, noise=0.0, random_state=0)[0]) < np.ptp(X)


@pytest.mark.parametrize("name", ["circles", "xor", "spirals"])
def test_toy_needs_a_kernel(name):
    X, y = make_toy(name, 600, random_state=0)
    assert LinearSVC().fit(X, y).score(X, y) < 0.75
    assert SVC(C=100, gamma=10).fit(X, y).score(X, y) > 0.95


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
    assert X.shape == (1000, 5)
    assert LinearSVC().fit(X, clean).score(X, clean) > 0.99
    X, y = make_gaussian_noise(1000, n_features=5, noise=0.1, separation=50, random_state=0)
    assert np.sum((X.sum(axis=1) > 0) != y) == 100
    for noise in (-0.1, 1.5):
        with pytest.raises(ValueError, match="noise must be a fraction"):
            make_gaussian_noise(noise=noise)
