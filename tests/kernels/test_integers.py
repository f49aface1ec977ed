"""Exact products of small whole numbers, beside products of floats in higher precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import exact, whole
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import RBF, KernelMatrix, Linear, Polynomial
from kpegasos.kernels.integers import Grid, PackedIntegers, can_multiply, find_grid

pytestmark = pytest.mark.skipif(
    not can_multiply(),
    reason="needs a processor that adds whole products (AVX-512 with VNNI)",
)

RNG = np.random.default_rng(0)


@settings(max_examples=40)
@given(
    scale=st.sampled_from([1.0, 1 / 255, 1 / 16, 0.1, 3.0, 1e-3]),
    low=st.integers(-255, 0),
    width=st.integers(1, 255),
    shape=st.tuples(st.integers(1, 70), st.integers(1, 13)),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 99),
)
def test_find_grid_gives_the_numbers_back(scale, low, width, shape, dtype, seed):
    integers = np.random.default_rng(seed).integers(low, low + width + 1, shape)
    X = (integers * scale).astype(dtype)
    grid = find_grid(X)
    if grid is None:  # of zeros alone, or since low + 255 is too far from zero
        assert not integers.any() or np.abs(integers).max() > 255
        return
    multiples = X / grid.scale
    assert_allclose(multiples, np.rint(multiples), rtol=2 * float(np.finfo(dtype).eps))
    assert grid.low <= np.rint(multiples).min()
    assert np.rint(multiples).max() <= grid.low + 255
    if grid.exact:
        assert_array_equal(np.rint(multiples.astype(float)) * grid.scale, X)


@pytest.mark.parametrize(
    "X",
    [
        RNG.normal(size=(50, 4)),
        np.arange(300.0)[:, None],  # more than a byte
        np.array([[1.0, 256.0]]),
        np.array([[np.nan, 1.0]]),
        np.array([[np.inf, 1.0]]),
        np.zeros((3, 2)),
        np.full((4, 2), 1e-300),
        np.array([[5e-324, 0.0]]),  # of which there is no inverse
        np.array([[3e-308, 1e-308 / 3]]),
        np.ones((3, 0)),
        np.ones((2, 8193)),
        np.concatenate((np.ones(1 << 15), [0.5 + 1e-9]))[:, None],
    ],
)
def test_find_grid_takes_nothing_else(X):
    grid = find_grid(np.ascontiguousarray(X))
    assert grid is None or grid.scale * np.abs(np.rint(X / grid.scale)).max() == np.abs(X).max()


def test_find_grid_goes_on_where_the_first_numbers_are_multiples_of_two():
    X = np.full((1 << 15, 1), 2.0)
    X[-1] = 3.0
    assert find_grid(X) == Grid(1.0, 0, True)


@pytest.mark.parametrize("distances", [False, True])
@pytest.mark.parametrize(("low", "n_features"), [(0, 784), (-255, 130), (-128, 1), (-3, 8192)])
def test_products_are_exact(distances, low, n_features):
    integers = RNG.integers(low, low + 256, (90, n_features))
    integers[:2, :] = [[low], [low + 255]]  # the largest sums
    rows = integers.astype(np.float64)
    packed = PackedIntegers(90, n_features, Grid(1.0, low, True), distances=distances)
    for first, last in ((33, 90), (0, 33)):
        packed.put(first, rows[first:last])
    out = np.empty((90, 50), np.float32)
    packed.products(rows)(7, 57, out)
    expected = integers @ integers.T
    if distances:
        norms = np.diag(expected)
        expected = -0.5 * (norms[:, None] + norms - 2 * expected)
    assert_array_equal(out, expected[:, 7:57].astype(np.float32))


@pytest.mark.parametrize("kernel", [RBF(0.01), Linear(), Polynomial(0.01, 3, 1.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1 / 255, 1.0])
def test_kernel_values_are_off_by_less_than_their_bound(kernel, dtype, scale):
    integers = RNG.integers(0, 256, (150, 50)) // (1 if scale < 1.0 else 128)
    X = (integers * scale).astype(dtype)
    matrix = KernelMatrix(kernel, X, row_dtype="float32")
    values = whole(matrix)
    assert_array_equal(values, values.T)
    bound = matrix.rounding[:, None] + matrix.rounding
    assert (np.abs(values - exact(kernel, X)) <= bound).all()
    # They round less than products of floats.
    off_grid = X + dtype(1e-3) * RNG.random(X.shape).astype(dtype)
    floats = KernelMatrix(kernel, off_grid, row_dtype="float32")
    assert matrix.rounding.max() < floats.rounding.max()
