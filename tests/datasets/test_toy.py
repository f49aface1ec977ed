"""Toy problems have the shapes that they promise."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.svm import SVC, LinearSVC

from kpegasos.datasets import make_gaussian_noise, make_text_like, make_toy

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
    X, y = make_toy("xor", 200, noise=0.0, random_state=0)
    assert_array_equal(y == 1, X[:, 0] * X[:, 1] < 0)
    assert np.abs(X).max() <= 1


def test_spirals_wind_by_the_radius():
    X, y = make_toy("spirals", 200, noise=0.0, random_state=0)
    radius = np.hypot(*X.T)
    angle = 3 * np.pi * radius + np.pi * y
    assert radius.max() <= 1
    assert_allclose(X, radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def test_gaussian_noise_flips_the_given_fraction():
    X, clean = make_gaussian_noise(1000, n_features=5, noise=0, random_state=0)
    assert X.shape == (1000, 5)
    assert LinearSVC().fit(X, clean).score(X, clean) > 0.99
    X, y = make_gaussian_noise(1000, n_features=5, noise=0.1, separation=50, random_state=0)
    assert np.sum((X.sum(axis=1) > 0) != y) == 100


# --- drawn documents are like those of a real corpus in what a linear classifier sees -------------


@pytest.fixture(scope="module")
def text():
    return make_text_like(20_000, random_state=0)


def test_text_has_the_shape_of_rcv1(text):
    X, y = text
    assert X.shape == (20_000, 47_236)
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert_array_equal(np.unique(y), [-1, 1])
    assert abs(y.mean()) < 0.02
    assert X.nnz / np.prod(X.shape) == pytest.approx(0.0016, rel=0.02)
    assert np.diff(X.indptr).min() > 0
    assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    _, clean = make_text_like(20_000, noise=0, random_state=0)
    assert np.mean(clean != y) == pytest.approx(0.06, abs=0.005)
    rebuilt = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert rebuilt.has_canonical_format


@pytest.mark.parametrize("n_samples", [1, 5000, 8192])
def test_text_begins_alike_however_long_it_is(text, n_samples):
    X, y = make_text_like(n_samples, random_state=0)
    assert (text[0][:n_samples] != X).nnz == 0
    assert_array_equal(y, text[1][:n_samples])
    other, _ = make_text_like(n_samples, random_state=1)
    assert (other != X).nnz > 0


@pytest.mark.parametrize("n_features", [2, 3, 51])
def test_text_of_few_words(n_features):
    X, _ = make_text_like(300, n_features, 0.5, dtype=np.float64, random_state=0)
    assert X.shape == (300, n_features)
    assert X.dtype == np.float64
    assert_allclose(X.multiply(X).sum(axis=1), 1)
    assert len(np.unique(X.indices)) == n_features
