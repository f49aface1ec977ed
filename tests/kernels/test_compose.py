"""Sums, products and multiples of kernels against their definitions; what is known of them."""

import copy
import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.kernels import CallableKernel, InnerProductKernel, Product, Scaled, Sum, base
from kpegasos.kernels.composable import bounds_rounding
from kpegasos.kernels.decision import kernel_decision
from kpegasos.kernels.products import SharedProducts
from kpegasos.rows.gram import GramRows

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(23, 4)), RNG.normal(size=(11, 4))
A[RNG.random(A.shape) < 0.3] = 0.0
Y = np.where(np.arange(23) % 3 == 0, 1, -1)


def polynomial(X, Z):
    """As a user would write it."""
    return (np.asarray((X @ Z.T).todense() if sparse.issparse(X) else X @ Z.T) + 1.0) ** 2


class Constant:
    """A kernel object of a user's own, without operators."""

    positive_definite = True

    def block(self, X, Z):
        return np.full((X.shape[0], Z.shape[0]), 3.0)

    def diag(self, X):
        return np.full(X.shape[0], 3.0)


def rbf(gamma):
    return lambda x, z: naive.rbf(x, z, gamma)


def laplacian(x, z):
    return naive.laplacian(x, z, 0.5)


def squares(x, z):
    return naive.poly(x, z, 1.0, 2, 1.0)


LINEAR, NARROW, WIDE = naive.linear, rbf(0.7), rbf(0.1)
#: Kernels of inner products alone, which are one themselves.
MAPPED = {
    "sum": (RBF(0.7) + Linear(), lambda x, z: NARROW(x, z) + LINEAR(x, z)),
    "multiple": (0.5 * RBF(0.7), lambda x, z: 0.5 * NARROW(x, z)),
    "product": (RBF(0.7) * Linear(), lambda x, z: NARROW(x, z) * LINEAR(x, z)),
    "three": (
        Polynomial(1.0, 2, 1.0) + 0.5 * Linear() + RBF(0.1),
        lambda x, z: squares(x, z) + 0.5 * LINEAR(x, z) + WIDE(x, z),
    ),
    "nested": (
        2 * (RBF(0.7) + 0.5 * Linear()) * RBF(0.1) + Linear() * Linear(),
        lambda x, z: (
            2 * (NARROW(x, z) + 0.5 * LINEAR(x, z)) * WIDE(x, z) + LINEAR(x, z) * LINEAR(x, z)
        ),
    ),
    "distances": (
        RBF(0.7) * RBF(0.1) + 3 * RBF(0.1),
        lambda x, z: NARROW(x, z) * WIDE(x, z) + 3 * WIDE(x, z),
    ),
}
MIXED = {
    "mixed sum": (Laplacian(0.5) + 0.5 * Linear(), lambda x, z: laplacian(x, z) + LINEAR(x, z) / 2),
    "mixed product": (RBF(0.7) * Laplacian(0.5), lambda x, z: NARROW(x, z) * laplacian(x, z)),
    "mixed multiple": (0.2 * Laplacian(0.5), lambda x, z: 0.2 * laplacian(x, z)),
    "function": (RBF(0.7) + polynomial, lambda x, z: NARROW(x, z) + squares(x, z)),
    "object": (Constant() * RBF(0.7), lambda x, z: 3.0 * NARROW(x, z)),
}
CASES = MAPPED | MIXED
each_case = pytest.mark.parametrize("case", CASES)


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
    coefs = RNG.normal(size=(2, 23))
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


# --- rounding -------------------------------------------------------------------------------------


def exact_rows(X):
    return (X.toarray() if sparse.issparse(X) else X).astype(np.longdouble)


def exact(kernel, X, Z):
    """Kernel values by the formulas, in extended precision."""
    if isinstance(kernel, Sum):
        return sum(exact(part, X, Z) for part in kernel.parts)
    if isinstance(kernel, Product):
        return np.prod([exact(part, X, Z) for part in kernel.parts], axis=0)
    if isinstance(kernel, Scaled):
        return np.longdouble(kernel.factor) * exact(kernel.kernel, X, Z)
    if isinstance(kernel, RBF):
        return np.exp(-kernel.gamma * np.square(X[:, None] - Z[None]).sum(axis=2))
    if isinstance(kernel, Laplacian):
        return np.exp(-kernel.gamma * np.abs(X[:, None] - Z[None]).sum(axis=2))
    if isinstance(kernel, Cosine):
        lengths = np.sqrt([(rows**2).sum(axis=1) for rows in (X, Z)])
        return (X @ Z.T) / (lengths[0][:, None] * lengths[1])
    inner = X @ Z.T
    if isinstance(kernel, Linear):
        return inner
    return (kernel.gamma * inner + kernel.coef0) ** kernel.degree


parts = st.one_of(
    st.just(Linear()),
    st.sampled_from([0.01, 0.3, 2.0]).map(RBF),
    st.sampled_from([0.1, 1.0]).map(Laplacian),
    st.builds(Polynomial, st.sampled_from([0.1, 1.0]), st.integers(1, 4), st.just(1.0)),
    st.just(Cosine()),
)


@st.composite
def compositions(draw):
    kernel = draw(parts)
    for _ in range(draw(st.integers(1, 4))):
        how = draw(st.sampled_from("+*s"))
        if how == "s":
            kernel = draw(st.sampled_from([1e-3, 0.3, 7.0])) * kernel
        else:
            other = draw(parts)
            kernel = kernel + other if how == "+" else kernel * other
    return kernel


@st.composite
def point_sets(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(2, 30)), draw(st.sampled_from([1, 3, 40, 300]))
    X = rng.normal(loc=draw(st.sampled_from([0.0, 1.0, 3.0])), size=shape) / shape[1] ** 0.5
    X = X.astype(draw(st.sampled_from([np.float32, np.float64])))
    return sparse.csr_matrix(X) if draw(st.booleans()) else X


@settings(deadline=None, max_examples=200)
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


@settings(deadline=None, max_examples=100)
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
    assert (matrix.points.work_dtype, matrix.dtype) == (np.float64, np.float32)
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
    assert matrix.points.work_dtype == np.float64
    assert_allclose(values, kernel.block(X.astype(float), X.astype(float)), rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", [1e300 * Linear(), Polynomial(1e80, 2) * Linear() * Linear()])
def test_values_that_overflow_are_refused(kernel):
    with pytest.raises(ValueError, match=r"X must be small enough that \w+ values fit"):
        KernelMatrix(kernel, A)
    with pytest.raises(ValueError, match="kernel must return finite values"):
        kernel.block(1e150 * A, 1e150 * A)


# --- algebra --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(compositions(), compositions(), point_sets())
def test_sums_and_products_commute(one, other, X):
    X = X.astype(np.float64)
    for left, right in ((one + other, other + one), (one * other, other * one)):
        scale = np.sqrt(np.outer(left.diag(X), left.diag(X)))
        difference = np.abs(left.block(X, X) - right.block(X, X))
        assert (difference <= 1e-12 * scale).all()


@settings(deadline=None, max_examples=100)
@given(compositions(), point_sets())
def test_matrices_are_symmetric_and_positive_semi_definite(kernel, X):
    assert kernel.positive_definite
    X = X.astype(np.float64)
    K, diagonal = kernel.block(X, X), kernel.diag(X)
    scale = np.sqrt(np.outer(diagonal, diagonal))
    assert (np.abs(K - K.T) <= 1e-10 * scale).all()
    assert (np.abs(K) <= scale * (1 + 1e-10)).all()
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-9 * diagonal.max()


def test_sums_of_sums_and_products_of_products_are_flat():
    one, two, three = RBF(1.0), Linear(), Laplacian(1.0)
    assert (one + two) + three == one + (two + three) == Sum((one, two, three))
    assert (one * two) * three == one * (two * three) == Product([one, two, three])
    assert (one + two).parts == (one, two)
    assert (2 * one).parts == (one,)


def test_any_order_of_operands():
    function = CallableKernel(polynomial)
    assert 2 * RBF(1.0) == RBF(1.0) * 2.0 == Scaled(2.0, RBF(1.0))
    assert np.float32(0.5) * RBF(1.0) == RBF(1.0) * np.float64(0.5) == 0.5 * RBF(1.0)
    assert polynomial + RBF(1.0) == function + RBF(1.0) == Sum((polynomial, RBF(1.0)))
    assert RBF(1.0) * polynomial == RBF(1.0) * function
    own = Constant()
    assert (own + RBF(1.0)).parts == (own, RBF(1.0))
    assert (RBF(1.0) * own).parts == (RBF(1.0), own)


@pytest.mark.parametrize("case", ["sum", "product", "three", "nested", "distances", "mixed sum"])
def test_repr_is_the_expression(case):
    kernel, _ = CASES[case]
    assert eval(repr(kernel)) == kernel


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(1) + 0.5 * Linear(), "RBF(gamma=1) + 0.5 * Linear()"),
        (2 * (RBF(1) + Linear()), "2.0 * (RBF(gamma=1) + Linear())"),
        (RBF(1) * (Linear() + RBF(1)), "RBF(gamma=1) * (Linear() + RBF(gamma=1))"),
        (RBF(1) * (3 * Linear()), "RBF(gamma=1) * (3.0 * Linear())"),
        (2 * (3 * Linear()), "2.0 * (3.0 * Linear())"),
    ],
)
def test_repr_has_the_brackets_that_it_needs(kernel, expected):
    assert repr(kernel) == expected
    assert eval(repr(kernel)) == kernel


@each_case
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_copies_are_equal(case, way):
    kernel, _ = CASES[case]
    other = way(kernel)
    assert type(other) is type(kernel)
    assert_array_equal(other.block(A, B), kernel.block(A, B))
    if case != "object":  # which has no equality of its own
        assert other == kernel
        assert hash(other) == hash(kernel)
        assert other != 2.0 * kernel


def test_make_kernel_keeps_compositions():
    kernel = RBF(1.0) + 0.5 * Linear()
    assert make_kernel(kernel) is kernel


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0, 0.0, -1, -0.5, np.nan, np.inf, True, 10**400])
def test_factor_is_a_positive_finite_number(factor):
    for multiply in (lambda: factor * RBF(1.0), lambda: RBF(1.0) * factor):
        with pytest.raises(ValueError, match="factor must be a positive finite number, got"):
            multiply()


@pytest.mark.parametrize("other", ["rbf", None, 1j, [1.0], np.ones(2), RBF, object()])
def test_other_operands_are_refused(other):
    for combine in (
        lambda: RBF(1.0) + other,
        lambda: other + RBF(1.0),
        lambda: RBF(1.0) * other,
        lambda: other * RBF(1.0),
    ):
        with pytest.raises(
            TypeError, match=r"unsupported operand|concatenate|non-int|support ufuncs"
        ):
            combine()


def test_numbers_are_not_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        RBF(1.0) + 1.0


@pytest.mark.parametrize("kind", [Sum, Product])
@pytest.mark.parametrize("given", [(), (RBF(1.0),), RBF(1.0), 3, None])
def test_parts_are_at_least_two(kind, given):
    with pytest.raises(ValueError, match="parts must be at least two kernels, got"):
        kind(given)


def test_parts_are_kernels():
    with pytest.raises(ValueError, match="each of parts must be a kernel object or a function"):
        Sum((RBF(1.0), "linear"))
    with pytest.raises(
        ValueError, match="kernel must be a kernel object or a function, got <class"
    ):
        Scaled(2.0, RBF)


def test_values_of_parts_are_checked():
    wrong = RBF(1.0) + CallableKernel(lambda X, Z: np.ones(X.shape[0]))
    with pytest.raises(ValueError, match="kernel must return an array of shape"):
        wrong.block(A, B)
    nowhere = RBF(1.0) * CallableKernel(lambda X, Z: np.full((X.shape[0], Z.shape[0]), np.nan))
    with pytest.raises(ValueError, match="finite"):
        nowhere.block(A, B)
