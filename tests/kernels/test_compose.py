"""Sums, products and multiples of kernels against their definitions; what is known of them."""

import naive
import numpy as np
import pytest
from compose_cases import CASES, MAPPED, A, B, Constant, Y, each_case, polynomial
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import each_cache, each_dtype, each_format
from scipy import sparse

from kpegasos import (
    RBF,
    Cosine,
    Kernel,
    KernelMatrix,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.kernels import CallableKernel, InnerProductKernel, Scaled, base, gemm
from kpegasos.kernels.base import bounds_rounding
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.matrix import SharedProducts
from kpegasos.rows.gram import GramRows

# --- values ---------------------------------------------------------------------------------------


@each_case
@each_format
@each_dtype
def test_block_by_the_book(case, as_rows, dtype):
    kernel, slow = CASES[case]
    A_, B_ = A.astype(dtype), B.astype(dtype)
    values = kernel.block(as_rows(A_), as_rows(B_))
    expected = naive.gram(A_, B_, slow)
    assert values.dtype == dtype
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    assert_allclose(values, expected, rtol=rtol, atol=0.1 * rtol * np.abs(expected).max())


@each_case
@each_format
@each_dtype
def test_diag_is_that_of_the_block(case, as_rows, dtype):
    kernel, slow = CASES[case]
    X = A.astype(dtype)
    diag = kernel.diag(as_rows(X))
    assert diag.dtype == np.float64
    rtol = 1e-10 if dtype == np.float64 else 1e-5
    assert_allclose(diag, naive.gram(X, X, slow).diagonal(), rtol=rtol)


@each_case
def test_block_leaves_rows_and_parts_alone(case):
    kernel, _ = CASES[case]
    X, Z = A.copy(), B.copy()
    once = kernel.block(X, Z)
    assert_array_equal(X, A)
    assert_array_equal(Z, B)
    assert_array_equal(kernel.block(X, Z), once)


def test_arrays_that_a_part_keeps_are_not_written_to():
    class Keeping(Constant):
        values, diagonal = np.full((23, 11), 3.0), np.full(23, 3.0)

        def block(self, X, Z):
            return self.values

        def diag(self, X):
            return self.diagonal

    kernel = Scaled(2.0, Keeping()) + Scaled(3.0, Keeping() * RBF(0.1))
    kernel.block(A, B)
    kernel.diag(A)
    assert (Keeping.values == 3.0).all()
    assert (Keeping.diagonal == 3.0).all()


@each_case
@each_cache
@each_format
@each_dtype
def test_every_cache_trains_the_same_model(case, cache, as_rows, dtype):
    kernel, slow = CASES[case]
    X = A.astype(dtype)
    expected = naive.gram(X, X, slow)
    rows = make_rows(as_rows(X), kernel, cache=cache)
    rtol = 1e-9 if dtype == np.float64 else 1e-4
    assert_allclose(rows.product(np.eye(23)), expected, rtol=rtol, atol=rtol)
    assert_allclose(rows.squared_norms(), expected.diagonal(), rtol=rtol)
    result = pegasos(make_problem(Y, 0.1), rows, epochs=5, random_state=0)
    by_the_book = pegasos(
        make_problem(Y, 0.1), make_rows(expected, "precomputed"), epochs=5, random_state=0
    )
    assert_array_equal(result.alpha, by_the_book.alpha)
    assert_allclose(result.objective, by_the_book.objective, rtol=rtol)
    assert_allclose(result.margins, by_the_book.margins, rtol=rtol, atol=10 * rtol)
    assert 0 < result.gap < result.objective


@each_case
@each_format
def test_decision_by_the_book(case, as_rows):
    kernel, slow = CASES[case]
    coefs = np.random.default_rng(0).normal(size=(2, 23))
    decision = kernel_decision(kernel, as_rows(B), as_rows(A), coefs)
    assert_allclose(decision, naive.gram(B, A, slow) @ coefs.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", MAPPED)
def test_shared_products_make_the_same_matrix(case):
    kernel, _ = MAPPED[case]
    matrix = KernelMatrix(kernel, A, row_dtype="float64", work_dtype="float64")
    assert SharedProducts.can_make(kernel)
    shared = SharedProducts(A, np.arange(23), lambda values: GramRows.from_values(values).gram)
    assert_array_equal(shared.gram(matrix), GramRows.from_values(matrix).gram)


# --- one pass -------------------------------------------------------------------------------------


@each_case
def test_composition_of_inner_products_is_one(case):
    kernel, _ = CASES[case]
    assert isinstance(kernel, Kernel)
    assert isinstance(kernel, InnerProductKernel) == (case in MAPPED)
    assert KernelMatrix(kernel, A).can_pack == (case in MAPPED)
    assert not KernelMatrix(kernel, sparse.csr_matrix(A)).can_pack


def test_all_parts_share_one_matrix_product(monkeypatch):
    made, original = [], base.inner_products

    def inner_products(X, Z, out=None):
        made.append(X.shape)
        return original(X, Z, out)

    monkeypatch.setattr(base, "inner_products", inner_products)
    MAPPED["nested"][0].block(A, B)
    assert made == [(23, 4)]


@pytest.mark.skipif(gemm.IMPLEMENTATION != "compiled", reason="the compiled tile only")
@pytest.mark.parametrize("case", MAPPED)
def test_values_are_symmetric_to_the_last_bit(case):
    """So half of a matrix is computed, and no more."""
    kernel, _ = MAPPED[case]
    assert kernel.symmetric
    matrix, whole = KernelMatrix(kernel, A), np.empty((23, 23))
    matrix.write_rows(np.arange(23), whole)
    assert_array_equal(whole, whole.T)
    assert_array_equal(GramRows.from_values(matrix).gram, whole)


def test_symmetry_is_that_of_all_parts():
    class Other(RBF):
        def from_inner_products(self, products, norms_a, norms_b):
            super().from_inner_products(products, norms_a, norms_b)

    assert not (Other(1.0) + RBF(1.0)).symmetric
    assert not (2.0 * Other(1.0)).symmetric
    assert (2.0 * RBF(1.0) * Linear()).symmetric


def test_translation_invariance_is_that_of_all_parts():
    assert (RBF(1.0) + 2.0 * RBF(0.1)).translation_invariant
    assert (RBF(1.0) * RBF(0.1)).translation_invariant
    assert not (RBF(1.0) + Linear()).translation_invariant
    assert not (RBF(1.0) * Polynomial()).translation_invariant


# --- what is known --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "definite"),
    [
        (RBF(1.0) + 0.5 * Linear(), True),
        (RBF(1.0) * Polynomial(1.0, 2, 1.0), True),
        (RBF(1.0) + Laplacian(1.0) * Cosine(), True),
        (RBF(1.0) + polynomial, True),
        (RBF(1.0) + Sigmoid(1.0), False),
        (RBF(1.0) * Sigmoid(1.0), False),
        (2.0 * Sigmoid(1.0), False),
        (Linear() + 0.5 * (Laplacian(1.0) * Polynomial(1.0, 2, -1.0)), False),
        (RBF(-1.0) + Linear(), False),
    ],
)
def test_definite_are_compositions_of_definite_kernels(kernel, definite):
    assert kernel.positive_definite is definite
    problem = make_problem(Y, 0.1)
    result = pegasos(problem, make_rows(0.3 * A, kernel), epochs=2, random_state=0)
    assert np.isnan(result.gap) != definite


@pytest.mark.parametrize("kernel", ["product", "mixed product", "mixed sum", "three"])
def test_value_bound_is_reached_on_the_diagonal(kernel):
    kernel, slow = CASES[kernel]
    norms = np.square(A).sum(axis=1)
    values = naive.gram(A, A, slow)
    assert np.abs(values).max() <= kernel.value_bound(norms) * (1 + 1e-12)
    longest = A[norms.argmax()][None]
    assert_allclose(kernel.value_bound(norms), kernel.diag(longest)[0])


def test_value_bound_of_a_map_of_ones_own_is_found_between_its_ends():
    class Bump(InnerProductKernel):
        positive_definite = False

        def from_inner_products(self, products, norms_a, norms_b):
            np.cos(products, out=products)

    assert Bump().value_bound(np.array([3.0, 0.0])) == 1.0


def test_rounding_is_bounded_where_all_parts_bound_theirs():
    known = [*(kernel for kernel, _ in MAPPED.values()), Laplacian(1.0) * (RBF(1.0) + Cosine())]
    assert all(map(bounds_rounding, [*known, RBF(1.0), Laplacian(1.0), Cosine()]))
    unknown = [RBF(1.0) + polynomial, 2.0 * (Constant() * RBF(1.0)), CallableKernel(polynomial)]
    assert not any(map(bounds_rounding, unknown))
