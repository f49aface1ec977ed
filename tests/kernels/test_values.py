"""Values of all kernels by the book, in any rows and cache, and what is known of them."""

import numpy as np
import pytest
from kernel_cases import (
    CASES,
    COMPOSED,
    MAPPED,
    A,
    B,
    Cauchy,
    Constant,
    Y,
    all_rows,
    each_dtype,
    each_format,
    exact,
    points,
    polynomial,
    same_bits,
    shared,
    whole,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC

from kpegasos import Kernel, KernelMatrix, make_problem, make_rows, pegasos
from kpegasos.kernels import (
    RBF,
    AdditiveChi2,
    CallableKernel,
    Chi2,
    Cosine,
    InnerProductKernel,
    Laplacian,
    Linear,
    Polynomial,
    Scaled,
    Sigmoid,
    base,
)
from kpegasos.kernels import decision as decision_module
from kpegasos.kernels.base import bounds_rounding
from kpegasos.kernels.decision import KernelExpansion, kernel_decision
from kpegasos.kernels.functions import city_block, scale_gamma
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning

RNG = np.random.default_rng(0)
each_case = pytest.mark.parametrize("case", CASES)
FORMATS = [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array]


@pytest.mark.parametrize(
    ("case", "as_rows"),
    [  # histograms are dense
        (case, form) for case in CASES for form in (FORMATS[:1] if "chi2" in case else FORMATS)
    ],
)
@each_dtype
def test_block_and_diag_are_by_the_book(case, as_rows, dtype):
    kernel, (X, Z) = CASES[case], (rows.astype(dtype) for rows in points(case))
    rows, others = as_rows(X.copy()), as_rows(Z.copy())
    if as_rows is np.asarray:  # as those that a process of a pool is given
        rows.flags.writeable = others.flags.writeable = False
    expected, rtol = exact(kernel, X, Z), 1e-10 if dtype == np.float64 else 1e-4
    values, diag = kernel.block(rows, others), kernel.diag(rows)
    assert (values.dtype, diag.dtype) == (dtype, np.float64)
    assert_allclose(values, expected, rtol=rtol, atol=0.1 * rtol * np.abs(expected).max())
    assert_allclose(diag, exact(kernel, X).diagonal(), rtol=rtol)
    assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, X)
    assert_array_equal(kernel.block(rows, others), values)


@each_case
@each_format
@pytest.mark.parametrize("height", [1, 256])
def test_decision_is_by_the_book(case, as_rows, height, monkeypatch):
    kernel, (X, Z) = CASES[case], points(case)
    new, old = (Z, X) if "chi2" in case else (as_rows(Z), X if height > 1 else as_rows(X))
    coefs = RNG.normal(size=(2, 23))
    monkeypatch.setattr(decision_module, "_TILE_ROWS", height)
    monkeypatch.setattr(tuning, "FEATURE_ROWS", height)
    decision = kernel_decision(kernel, new, old, coefs)
    assert decision.dtype == np.float64
    assert_allclose(decision, exact(kernel, Z, X) @ coefs.T, rtol=1e-9, atol=1e-9)


@each_case
@pytest.mark.parametrize(
    ("cache", "as_rows"), [("cached", np.asarray), ("streamed", sparse.csr_matrix)]
)
def test_every_cache_trains_the_model_of_the_book(case, cache, as_rows):
    kernel, X = CASES[case], points(case)[0] / (4.0 if "poly" in case else 1.0)
    expected = exact(kernel, X).astype(float) + 1.5**2
    X = X if "chi2" in case else as_rows(X)
    rows = make_rows(X, kernel, cache=cache, intercept_scaling=1.5)
    assert_allclose(all_rows(rows) + rows.kernel_offset, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(rows.squared_norms(), expected.diagonal(), rtol=1e-9)
    result, by_the_book = (
        pegasos(make_problem(Y, 0.1), each, epochs=5, random_state=0)
        for each in (rows, make_rows(expected, "precomputed"))
    )
    assert_array_equal(result.alpha, by_the_book.alpha)
    assert_allclose(result.objective, by_the_book.objective, rtol=1e-9)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("whole_numbers", [False, True])
def test_expansion_of_a_subset_is_by_the_book_whatever_is_packed(whole_numbers, is_packed):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (60, 5)) if whole_numbers else rng.normal(size=(60, 5))
    X, support = X.astype(np.float32), np.arange(20, 50)
    values = KernelMatrix(RBF(0.05), X)
    if is_packed:
        values.packed()
    expansion = KernelExpansion(values.subset(support), np.ones((1, support.size)))
    sums = exact(RBF(0.05), X, X[support]).sum(axis=1)
    assert_allclose(expansion.decide(X)[:, 0], sums.astype(float), rtol=1e-5)


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


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_cosine_does_not_depend_on_lengths(size):
    """No norm overflows or vanishes."""
    X = RNG.normal(size=(9, 3))
    assert_allclose(Cosine().block(size * X, X), Cosine().block(X, X), rtol=1e-12)
    assert_array_equal(Cosine().diag(size * X), 1.0)


@each_dtype
@each_format
@pytest.mark.parametrize("gather_bytes", [100, tuning.GATHER_BYTES])
def test_scale_gamma_is_that_of_svc(as_rows, dtype, gather_bytes, monkeypatch):
    """Whatever is gathered of sparse rows at a time."""
    monkeypatch.setattr(tuning, "GATHER_BYTES", gather_bytes)
    X, y = as_rows(A.astype(dtype)), np.arange(23) % 2
    for gamma in ("scale", "auto", 0.25):
        assert_allclose(scale_gamma(gamma, X), SVC(gamma=gamma).fit(X, y)._gamma, rtol=1e-5)
    assert scale_gamma("scale", np.ones((3, 2))) == 1.0


def test_scale_gamma_of_equal_values_is_one_whatever_their_mean_is_rounded_to():
    """The mean of 29 such numbers is another one."""
    X = np.full((29, 1), 4.960459147291262e20)
    assert X.var() > 0.0
    assert scale_gamma("scale", X) == 1.0


def with_long_indices(rows):
    rows = sparse.csr_matrix(rows)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


@each_dtype
@pytest.mark.parametrize(
    "left", [sparse.csr_matrix, sparse.coo_array, np.asarray, with_long_indices]
)
def test_distances_of_sparse_rows_are_those_of_dense_ones(left, dtype):
    X, Z = A.astype(dtype), B.astype(dtype)
    expected = np.abs(X[:, None] - Z).sum(axis=2, dtype=np.float64)
    assert_allclose(city_block(left(X), sparse.csr_matrix(Z)), expected, rtol=1e-14)
    assert city_block(left(X[:0]), sparse.csr_matrix(Z)).shape == (0, 11)
    with pytest.raises(ValueError, match="equally many features"):
        city_block(left(X), sparse.csr_matrix(Z[:, :3]))


def test_columns_that_nobody_uses_change_no_value():
    wide = [sparse.csr_matrix(np.pad(each, ((0, 0), (0, 900)))) for each in (A, B)]
    assert_array_equal(Linear().block(*wide), Linear().block(*map(sparse.csr_matrix, (A, B))))


# --- compositions in one pass ---------------------------------------------------------------------


@pytest.mark.parametrize("case", COMPOSED)
def test_composition_of_inner_products_is_one(case):
    kernel = COMPOSED[case]
    assert isinstance(kernel, Kernel)
    assert isinstance(kernel, InnerProductKernel) == (case in MAPPED)
    assert KernelMatrix(kernel, A).can_pack == (case in MAPPED)
    assert not KernelMatrix(kernel, sparse.csr_matrix(A)).can_pack


def test_all_parts_share_one_matrix_product(monkeypatch):
    made, original = [], base.inner_products
    monkeypatch.setattr(base, "inner_products", lambda *X: made.append(1) or original(*X))
    MAPPED["nested"].block(A, B)
    assert made == [1]


@same_bits
@pytest.mark.parametrize("case", MAPPED)
def test_values_of_a_composition_are_symmetric_to_the_last_bit_and_shared(case):
    """So half of a matrix is computed, and no more."""
    assert MAPPED[case].symmetric
    matrix = KernelMatrix(MAPPED[case], A, row_dtype="float64", work_dtype="float64")
    values = whole(matrix)
    assert_array_equal(values, values.T)
    for each in (matrix, shared(matrix)):
        assert_array_equal(GramRows.from_values(each).gram, values)


def test_properties_of_a_composition_are_those_of_all_parts():
    assert not (Cauchy() + RBF(1.0)).symmetric
    assert not (2.0 * Cauchy()).symmetric
    assert (2.0 * RBF(1.0) * Linear()).symmetric
    assert (RBF(1.0) + 2.0 * RBF(0.1)).translation_invariant
    assert (RBF(1.0) * RBF(0.1)).translation_invariant
    assert not (RBF(1.0) + Linear()).translation_invariant
    assert not (RBF(1.0) * Polynomial()).translation_invariant
    known = [*MAPPED.values(), Laplacian(1.0) * (RBF(1.0) + Cosine())]
    assert all(map(bounds_rounding, [*known, RBF(1.0), Laplacian(1.0), Cosine()]))
    unknown = [RBF(1.0) + polynomial, 2.0 * (Constant() * RBF(1.0)), CallableKernel(polynomial)]
    assert not any(map(bounds_rounding, unknown))


# --- what is known --------------------------------------------------------------------------------


DEFINITE = [Chi2(0.3), RBF(1.0) + polynomial, Polynomial(2.0, 2, 0.0)]
NOT_DEFINITE = [
    AdditiveChi2(),
    Sigmoid(1.0, -1.0),
    *(Polynomial(1.0, degree, -1.0) for degree in (1, 2)),
    Polynomial(-1.0, 1, 0.0),
    RBF(-1.0),
    RBF(1.0) + Sigmoid(1.0),
    2.0 * (RBF(1.0) * Sigmoid(1.0)),
    Linear() + 0.5 * (Laplacian(1.0) * Polynomial(1.0, 2, -1.0)),
]


@pytest.mark.parametrize("kernel", DEFINITE + NOT_DEFINITE)
def test_only_definite_kernels_certify(kernel):
    """Where P has directions of negative norm, no gap bounds its suboptimality."""
    definite = kernel in DEFINITE
    assert kernel.positive_definite is definite
    X = 0.3 * np.abs(A)
    assert not definite or np.linalg.eigvalsh(kernel.block(X, X)).min() > -1e-9
    result = pegasos(make_problem(Y, 0.1), make_rows(X, kernel), epochs=2, random_state=0)
    assert np.isnan([result.gap, result.dual_bound]).all() != definite


@pytest.mark.parametrize("case", ["product", "mixed product", "mixed sum", "three", "chi2"])
def test_value_bound_is_reached_on_the_diagonal(case):
    kernel, (X, _) = CASES[case], points(case)
    norms = np.square(X).sum(axis=1)
    assert np.abs(exact(kernel, X)).max() <= kernel.value_bound(norms) * (1 + 1e-12)
    assert_allclose(kernel.value_bound(norms), kernel.diag(X[norms.argmax()][None])[0])


def test_value_bound_of_a_map_of_ones_own_is_found_between_its_ends():
    class Bump(InnerProductKernel):
        def from_inner_products(self, products, norms_a, norms_b):
            np.cos(products, out=products)

    assert Bump().value_bound(np.array([3.0, 0.0])) == 1.0
