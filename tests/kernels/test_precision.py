"""Kernels of distances far from the mean: right to rounding in float32, or refused."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import (
    RBF,
    KernelMatrix,
    Laplacian,
    Linear,
    PegasosSVC,
    Polynomial,
    Sigmoid,
    make_rows,
)
from kpegasos.kernels import gemm
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.gemm import PackedMatrix
from kpegasos.kernels.maps import gaussian
from kpegasos.kernels.matrix import MOST_ROUNDING, ClassSortedMatrix, KernelPoints

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(23, 4)), RNG.normal(size=(11, 4))
each_format = pytest.mark.parametrize(
    "as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"]
)


def clusters(far, n_samples=200, n_features=2, dtype=np.float32):
    """Two clusters of unit variance, ``2 far`` apart along the diagonal."""
    rng = np.random.default_rng(0)
    side = 2 * rng.integers(2, size=(n_samples, 1)) - 1
    return (rng.normal(size=(n_samples, n_features)) + far * side).astype(dtype)


def by_differences(X, Z, gamma):
    differences = X[:, None].astype(np.float64) - Z[None].astype(np.float64)
    return np.exp(-gamma * (differences**2).sum(axis=2))


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1e2, 1e4])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_rbf_far_from_the_origin(shift, cache):
    """‖a‖² + ‖b‖² − 2<a, b> loses all its digits there; centred rows keep them."""
    X = A + shift
    rows = make_rows(X, "rbf", gamma=0.7, cache=cache)
    assert_allclose(rows.product(np.eye(23)), naive.gram(X, X, "rbf", gamma=0.7), atol=1e-11)
    if shift == 1e4:
        assert np.abs(RBF(0.7).block(X, X) - naive.gram(X, X, "rbf", gamma=0.7)).max() > 1e-9


def test_rbf_decision_far_from_the_origin():
    X, Z = A + 1e4, B + 1e4
    coefs = RNG.normal(size=(2, 23))
    expected = naive.gram(Z, X, "rbf", gamma=0.7) @ coefs.T
    assert_allclose(kernel_decision(RBF(0.7), Z, X, coefs), expected, atol=1e-10)


@pytest.mark.parametrize("far", [0, 1, 10, 100, 300, 1000, 10000])
@each_format
def test_float32_values_of_clusters(far, as_rows):
    """By every way to ask for them, and in float32."""
    X = clusters(far)
    expected = by_differences(X, X, 1.0)
    matrix = KernelMatrix(RBF(1.0), as_rows(X))
    rows = np.empty((200, 200), np.float32)
    matrix.write_rows(np.arange(200), rows)
    assert_allclose(rows, expected, rtol=0, atol=1e-5)
    block = matrix.block(slice(0, 50), slice(None))
    assert block.dtype == np.float32
    assert_allclose(block, expected[:50], rtol=0, atol=1e-5)
    decision = kernel_decision(RBF(1.0), as_rows(X), as_rows(X), np.eye(200))
    assert_allclose(decision, expected, rtol=0, atol=1e-5)
    if matrix.can_pack:
        subset, part = matrix.pack_subset(), np.empty((200, 30), np.float32)
        subset.append(np.arange(30))
        subset.write(np.arange(200), part)
        assert_allclose(part, expected[:, :30], rtol=0, atol=1e-5)
        pair = ClassSortedMatrix(RBF(1.0), X, [np.arange(100), np.arange(100, 200)]).pair(0, 1)
        pair.write_rows(np.arange(200), rows)
        assert_allclose(rows, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("far", [100, 1000])
def test_certified_intervals_of_both_dtypes_overlap(far):
    """The same numbers have one minimum; the two certificates used to exclude each other."""
    rng = np.random.default_rng(0)
    side = 2 * rng.integers(2, size=(600, 1)) - 1
    Z = rng.normal(size=(600, 2))
    y = (np.hypot(*Z.T) < 1.18).astype(int)
    X32 = (Z + far * side).astype(np.float32)
    intervals = []
    for X in (X32, X32.astype(np.float64)):
        model = PegasosSVC(gamma=1.0, C=10, polish=True, tol=1e-3, random_state=0).fit(X, y)
        intervals.append((model.objective_ - model.duality_gap_, model.objective_))
    (low32, high32), (low64, high64) = intervals
    assert max(low32, low64) <= min(high32, high64)


# --- which dtype, and that nothing else changes ---------------------------------------------------


@pytest.mark.skipif(gemm.IMPLEMENTATION != "compiled", reason="the compiled tile only")
@pytest.mark.parametrize("gamma", [0.05, 1.0, 10.0])
def test_well_scaled_float32_keeps_its_bits(gamma):
    """Products and exponential in float32, around a mean in float32; norms summed in float64."""
    X = RNG.normal(size=(150, 6)).astype(np.float32)
    out = np.empty((150, 150), np.float32)
    matrix = KernelMatrix(RBF(gamma), X)
    matrix.write_rows(np.arange(150), out)
    assert matrix.work_dtype == np.float32
    centred = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
    norms = np.square(centred, dtype=np.float64).sum(axis=1).astype(np.float32)
    packed, expected = PackedMatrix(6, np.float32), np.empty((150, 150), np.float32)
    packed.append(centred)
    packed.products(centred).write(0, 150, expected)
    gaussian(expected, norms, norms, np.float32(gamma))
    assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("kernel", "far", "expected"),
    [
        (RBF(1.0), 6, np.float32),
        (RBF(1.0), 12, np.float64),
        (RBF(1e-4), 900, np.float32),
        (RBF(1e-4), 1300, np.float64),
        (Linear(), 1000, np.float32),
        (Polynomial(1.0, 2, 0.0), 1000, np.float32),
        (Laplacian(1.0), 1000, np.float32),
    ],
    ids=str,
)
def test_arithmetic_is_float64_where_float32_rounds_too_much(kernel, far, expected):
    points = KernelPoints(kernel, clusters(far))
    assert (points.work_dtype, points.dtype) == (expected, np.float32)


def test_rounding_is_that_of_the_exponent():
    eps, largest = 1e-7, 50.0
    assert_allclose(RBF(0.3).rounding(eps, largest), 4 * eps * 0.3 * largest, rtol=1e-4)
    assert Linear().rounding(eps, largest) == 0.0
    assert Polynomial().rounding(eps, largest) == 0.0


@pytest.mark.parametrize("far", [3, 5, 7, 10])
def test_rounding_accepted_in_float32_is_small(far):
    """The estimate leaves out how the error of a sum grows with the features: up to twice."""
    for n_features in (2, 10, 100):
        X = clusters(far / n_features**0.5 * 2, n_features=n_features)
        points = KernelPoints(RBF(1.0), X)
        if points.work_dtype == np.float64:
            continue
        out = np.empty((200, 200), np.float32)
        points.write(points.own(slice(None)), out)
        assert np.abs(out - by_differences(X, X, 1.0)).max() < 2 * MOST_ROUNDING


def test_rounding_of_own_kernels_may_be_their_own():
    class Careful(RBF):
        def rounding(self, eps, largest_squared_norm):
            return 1.0 if eps > 1e-10 else 0.0

    assert KernelPoints(Careful(1e-9), A.astype(np.float32)).work_dtype == np.float64


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("gamma", "far"), [(1e39, 1.0), (1e20, 1.0), (1.0, 1e7)])
@each_format
def test_gamma_beyond_float64_is_refused(dtype, gamma, far, as_rows):
    X = as_rows(clusters(far, dtype=dtype))
    with pytest.raises(ValueError, match=r"X and gamma must be small enough .* RBF\(gamma=1"):
        KernelMatrix(RBF(gamma), X)
    with pytest.raises(ValueError, match=r"X and gamma must be small enough"):
        kernel_decision(RBF(gamma), X, X, np.ones((1, 200)))


def test_gamma_beyond_float32_of_equal_rows():
    """Nothing cancels, so the values are right: ones, not what infinity times zero is."""
    X = np.ones((5, 2), np.float32)
    out = np.empty((5, 5), np.float32)
    KernelMatrix(RBF(1e39), X).write_rows(np.arange(5), out)
    assert_array_equal(out, 1.0)


@pytest.mark.parametrize("kernel", [Polynomial(1e72, 2), Polynomial(1e72, 3, 0.5), Sigmoid(1e72)])
def test_parameters_beyond_float32(kernel):
    """Products that underflow in float32, times a gamma that is infinite there, were NaN."""
    X = (np.random.default_rng(0).normal(size=(20, 3)) * 1e-36).astype(np.float32)
    values = np.empty((20, 20), np.float32)
    KernelMatrix(kernel, X).write_rows(np.arange(20), values)
    exact = X.astype(np.float64)
    assert_allclose(values, kernel.block(exact, exact), rtol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.01, 3, 1.0), RBF(0.05)], ids=repr)
@pytest.mark.parametrize("n_features", [5, 784, 3000])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_rounding_of_values_is_bounded_for_features_that_all_round_to_one_side(
    kernel, n_features, as_sparse
):
    """Sums of equal terms round by their number, not by its square root."""
    rng = np.random.default_rng(0)
    X = np.full((24, n_features), 1 / 3) * rng.integers(1, 3, size=(24, 1))
    X = X.astype(np.float32)
    points = KernelPoints(kernel, sparse.csr_matrix(X) if as_sparse else X)
    values = np.empty((24, 24), dtype=np.float32)
    points.write(points.own(slice(0, 24)), values)
    exact = kernel.block(X.astype(np.float64), X.astype(np.float64))
    bound = points.rounding[:, None] + points.rounding
    assert (np.abs(values - exact) <= bound).all()
    # No bound is worth having that is much larger than what it bounds may be.
    largest = max(np.abs(exact).max(), 0.05 * float(np.square(X).sum(axis=1).max()))
    assert bound.max() <= 8 * (n_features + 8) * np.finfo(np.float32).eps * largest


def test_gamma_that_float32_holds_with_few_digits_is_used_in_float64():
    X = (4e18 * RNG.uniform(-1, 1, size=(20, 2))).astype(np.float32)
    assert KernelMatrix(RBF(1e-36), X).work_dtype == np.float32
    assert KernelMatrix(RBF(5.2e-42), X).work_dtype == np.float64
