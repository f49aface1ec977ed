"""Compiled maps against numpy: a few units in the last place, over the whole range."""

import numpy as np
import pytest
from kernel_cases import each_dtype
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import RBF, Polynomial
from kpegasos.kernels import maps

RNG = np.random.default_rng(0)
compiled_only = pytest.mark.skipif(not maps.COMPILED, reason="nothing is compiled")


def of_squared_distances(distances, gamma=1.0):
    """Gaussian values of a row of squared distances, which are exact."""
    values = (-0.5 * distances)[None].copy()
    zeros = np.zeros(distances.size, distances.dtype)
    RBF(gamma).from_inner_products(values, zeros[:1, None], zeros)
    return values[0]


@compiled_only
@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, 87.0), (np.float64, 708.39)])
def test_gaussian_is_right_to_two_units_in_the_last_place(dtype, lowest):
    small = np.logspace(-30, 0, 20_000)
    large = np.concatenate((np.linspace(0, lowest, 200_001), RNG.uniform(0, lowest, 200_000)))
    distances = np.concatenate((small, large)).astype(dtype)
    distances = distances[distances <= lowest]
    values, exact = of_squared_distances(distances), np.exp(-distances.astype(np.longdouble))
    assert values.dtype == dtype
    in_the_last_place = np.spacing(exact.astype(dtype)).astype(np.longdouble)
    assert (np.abs(values - exact) / in_the_last_place).max() <= 2


@compiled_only
@each_dtype
def test_gaussian_beyond_the_range_is_zero(dtype):
    tiny, largest = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    far = np.array([-np.log(tiny) + 1, 800, 1e30, largest / 4, np.inf], dtype)
    assert_array_equal(of_squared_distances(far), 0)
    assert_array_equal(of_squared_distances(far[:3], 1e300), 0)
    near = np.linspace(-np.log(tiny) - 2, -np.log(tiny) + 2, 1001).astype(dtype)
    values = of_squared_distances(near)
    assert_allclose(values, np.exp(-near.astype(float)), rtol=0, atol=2 * tiny)
    assert (np.diff(values) <= 0).all()


@each_dtype
def test_gaussian_of_what_rounding_makes_negative_is_one(dtype):
    assert_array_equal(of_squared_distances(np.array([0.0, -0.0, -1e-7, -1.0], dtype)), 1)


@each_dtype
def test_gaussian_of_distances_beyond_the_range_is_that_of_the_formula(dtype):
    """No norm overflows, but the sum of two does."""
    limits = np.finfo(dtype)
    gamma = 2.5 * float(limits.tiny)
    shares = np.array([1.0, 0.9, 0.1, 0.0, -0.5, -0.7])
    norms = (shares**2 * (0.75 * float(limits.max))).astype(dtype)
    root = float(limits.max) ** 0.5
    products = (np.outer(shares, shares) * 0.75 * root * root).astype(dtype)
    RBF(gamma).from_inner_products(products, norms[:, None], norms)
    # gamma times the largest number.
    factor = gamma * float(limits.max)
    expected = np.exp(-0.75 * factor * (shares[:, None] - shares) ** 2)
    assert_allclose(products, expected, rtol=200 * float(limits.eps))


@each_dtype
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 6, 7, 10, 13])
def test_powers_of_integers_are_exact(degree, dtype):
    products = RNG.integers(-2, 3, (5, 37))
    values = products.astype(dtype)
    Polynomial(2.0, degree, 1.0).from_inner_products(values, None, None)
    exact = (2 * products + 1) ** degree
    fits = np.abs(exact) < 1 / np.finfo(dtype).eps
    assert_array_equal(values[fits], exact[fits])


@each_dtype
@pytest.mark.parametrize("degree", [2, 3, 6, 11, 64, 65, 2.5])
def test_powers_are_right_to_rounding(degree, dtype):
    products = RNG.uniform(1.0, 2.0, (5, 37)).astype(dtype)
    values = products.copy()
    Polynomial(0.5, degree, 0.1).from_inner_products(values, None, None)
    exact = (0.5 * products.astype(float) + 0.1) ** degree
    assert_allclose(values, exact, rtol=2 * (degree + 4) * np.finfo(dtype).eps)
