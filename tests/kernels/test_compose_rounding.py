"""Rounding of composed kernels: bounded in any precision, and small where rows can be centred."""

import naive
import numpy as np
import pytest
from compose_cases import LINEAR, MAPPED, NARROW, A, compositions, exact, exact_rows, point_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kpegasos import (
    RBF,
    KernelMatrix,
    Linear,
    Polynomial,
    make_rows,
)


@settings(max_examples=200)
@given(compositions(), point_sets(), st.sampled_from([None, "float32", "float64"]))
def test_values_are_within_their_rounding(kernel, X, row_dtype):
    matrix = KernelMatrix(kernel, X, row_dtype=row_dtype)
    values = np.empty((X.shape[0], X.shape[0]), matrix.dtype)
    matrix.write_rows(np.arange(X.shape[0]), values)
    rows = exact_rows(X)
    true = exact(kernel, rows, rows)
    bound = matrix.rounding[:, None] + matrix.rounding
    assert (np.abs(values - true) <= bound).all()
    # A bound that is far beyond what the arithmetic does would certify nothing.
    eps = np.finfo(np.float32 if np.float32 in (X.dtype, matrix.dtype) else np.float64).eps
    largest = kernel.value_bound(np.square(rows).sum(axis=1).astype(float))
    assert bound.max() <= 4000 * (X.shape[1] + 10) * eps * max(largest, np.abs(true).max())


@settings(max_examples=100)
@given(compositions(), point_sets())
def test_exact_products_are_within_their_bounds(kernel, X):
    rows = exact_rows(X)
    true = exact(kernel, rows, rows)
    coef = np.cos(np.arange(X.shape[0]))
    found = KernelMatrix(kernel, X).exact.products(
        coef, np.ones(coef.size, dtype=bool), float(np.abs(true).max())
    )
    sums, rounding, _ = found
    assert (np.abs(sums - true @ coef) <= rounding).all()
    assert rounding.max() <= 1e-9 * max(1.0, kernel.diag(X).max()) * np.abs(coef).sum()


@pytest.mark.parametrize("far", [0.0, 30.0, 1e4])
def test_sums_of_distances_far_from_the_origin(far):
    """All parts are translation invariant, so rows are centred; then they are kept apart."""
    kernel, slow = MAPPED["distances"]
    X = A + far
    rows = make_rows(X, kernel)
    assert_allclose(rows.product(np.eye(23)), naive.gram(X, X, slow), atol=1e-11)
    sums, rounding, _ = KernelMatrix(kernel, X).exact.products(
        np.ones(23), np.ones(23, dtype=bool), 4.0
    )
    exact_values = exact(kernel, exact_rows(X), exact_rows(X))
    assert (np.abs(sums - exact_values.sum(axis=1)) <= rounding).all()
    assert rounding.max() < 1e-11


def test_exact_products_by_differences_are_within_their_bounds():
    """Two clusters so far apart that inner products keep too few digits."""
    X = A + 1e5 * (np.arange(23) % 2)[:, None]
    kernel = RBF(0.7) * RBF(0.1) + 3 * RBF(0.1) + RBF(1e-11)
    true = exact(kernel, exact_rows(X), exact_rows(X))
    matrix = KernelMatrix(kernel, X)
    sums, rounding, _ = matrix.exact.products(np.ones(23), np.ones(23, dtype=bool), 5.0)
    assert (np.abs(sums - true.sum(axis=1)) <= rounding).all()
    assert rounding.max() < 1e-11 < matrix.rounding.max()


def test_mixed_translation_invariance_far_from_the_origin_is_computed_in_float64():
    X = (A + 30.0).astype(np.float32)
    kernel = RBF(0.7) + 1e-3 * Linear()
    matrix = KernelMatrix(kernel, X)
    assert (matrix.work_dtype, matrix.dtype) == (np.float64, np.float32)
    values = np.empty((23, 23), np.float32)
    matrix.write_rows(np.arange(23), values)
    expected = naive.gram(X, X, lambda x, z: NARROW(x, z) + 1e-3 * LINEAR(x, z))
    assert_allclose(values, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"apart, got RBF.* from the origin"):
        KernelMatrix(kernel, A + 1e7)


@pytest.mark.parametrize(
    "kernel", [1e-30 * Polynomial(1.0, 20), 1e-60 * (1e30 * (1e30 * Linear())), 1e-50 * Linear()]
)
def test_parts_beyond_float32_are_computed_in_float64(kernel):
    X = (4.0 * A).astype(np.float32)
    kernel = kernel + Linear()
    values = np.empty((23, 23), np.float32)
    matrix = KernelMatrix(kernel, X)
    matrix.write_rows(np.arange(23), values)
    assert matrix.work_dtype == np.float64
    assert_allclose(values, kernel.block(X.astype(float), X.astype(float)), rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", [1e300 * Linear(), Polynomial(1e80, 2) * Linear() * Linear()])
def test_values_that_overflow_are_refused(kernel):
    with pytest.raises(ValueError, match=r"X must be small enough that \w+ values fit"):
        KernelMatrix(kernel, A)
    with pytest.raises(ValueError, match="kernel must return finite values"):
        kernel.block(1e150 * A, 1e150 * A)
