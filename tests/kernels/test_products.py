"""Products that kernels share: the same matrices, computed once, and products within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_cases import each_dtype, each_format
from scipy import sparse

from kpegasos import RBF, KernelMatrix, Laplacian, Linear, Polynomial, Sigmoid
from kpegasos.kernels import matrix as matrix_module
from kpegasos.kernels.base import CallableKernel
from kpegasos.kernels.matrix import SharedProducts
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding

KERNELS = {
    "rbf": RBF(0.3),
    "poly": Polynomial(0.5, 3, 1.0),
    "linear": Linear(),
    "sigmoid": Sigmoid(0.5, -1.0),
    "laplacian": Laplacian(0.2),
}
RNG = np.random.default_rng(0)
X = RNG.normal(loc=1.5, size=(70, 5))
MEMBERS = RNG.permutation(70)[:61]


def matrix(kernel, X, members=None, row_dtype="float64"):
    return KernelMatrix(kernel, X, members, row_dtype=row_dtype, work_dtype="float64")


class Counting:
    """Whole matrices, and how many were computed."""

    def __init__(self):
        self.computed = 0

    def __call__(self, values):
        self.computed += 1
        return GramRows.from_values(values).gram


def exact_values(kernel, X):
    """Kernel values by the formula, in extended precision."""
    dense = X.toarray() if sparse.issparse(X) else X
    rows = dense.astype(np.longdouble)
    if isinstance(kernel, Laplacian):
        return np.exp(-kernel.gamma * np.abs(rows[:, None] - rows).sum(axis=2))
    if isinstance(kernel, RBF):
        return np.exp(-kernel.gamma * np.square(rows[:, None] - rows).sum(axis=2))
    inner = rows @ rows.T
    if isinstance(kernel, Linear):
        return inner
    base = kernel.gamma * inner + kernel.coef0
    return np.tanh(base) if isinstance(kernel, Sigmoid) else base**kernel.degree


@pytest.mark.parametrize("row_dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
@each_format
@each_dtype
def test_shared_matrix_is_that_of_the_kernel(kernel, as_rows, dtype, row_dtype):
    rows = as_rows(X.astype(dtype))
    values = matrix(KERNELS[kernel], rows, MEMBERS, row_dtype)
    shared = SharedProducts(rows, MEMBERS, Counting()).gram(values)
    computed = GramRows.from_values(values).gram
    assert shared.dtype == np.dtype(row_dtype)
    if (kernel, dtype) == ("laplacian", np.float32):  # its own exponential is in float32 then
        bound = values.rounding[:, None] + values.rounding
        assert np.all(np.abs(shared.astype(float) - computed) <= 2 * bound)
    else:
        np.testing.assert_array_equal(shared, computed)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_shared_matrix_does_not_depend_on_blocks_and_threads(kernel, monkeypatch):
    values = matrix(KERNELS[kernel], X, MEMBERS)
    monkeypatch.setattr(matrix_module, "threads_for", lambda work: 3)
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * 61 * 4)  # four rows at a time
    shared = SharedProducts(X, MEMBERS, Counting()).gram(values)
    np.testing.assert_array_equal(shared, GramRows.from_values(values).gram)


def test_values_beyond_float32_are_shared_in_float64():
    kernel = Polynomial(1.0, 3, 1.0)
    rows = 1e8 * X
    values = matrix(kernel, rows, row_dtype="float32")
    shared = SharedProducts(rows, np.arange(70), Counting()).gram(values)
    assert shared.dtype == values.dtype == np.float64
    np.testing.assert_array_equal(shared, GramRows.from_values(values).gram)


@pytest.mark.parametrize("make", [RBF, Laplacian, lambda gamma: Polynomial(gamma, 2, 1.0)])
def test_kernels_of_a_kind_share_one_computation(make):
    whole = Counting()
    shared = SharedProducts(X, MEMBERS, whole)
    for gamma in (0.01, 0.1, 1.0):
        values = matrix(make(gamma), X, MEMBERS)
        np.testing.assert_array_equal(shared.gram(values), GramRows.from_values(values).gram)
        shared.exact(values)
    assert whole.computed == 1


def test_polynomials_and_sigmoids_share_inner_products():
    whole = Counting()
    shared = SharedProducts(X, MEMBERS, whole)
    for kernel in (Linear(), Polynomial(0.1, 2, 0.0), Sigmoid(0.1, 0.0)):
        shared.gram(matrix(kernel, X, MEMBERS))
    assert whole.computed == 1


def test_products_of_another_kind_take_the_place_of_those_held():
    whole = Counting()
    shared = SharedProducts(X, MEMBERS, whole)
    for kernel in (RBF(0.1), Laplacian(0.1), RBF(0.1), RBF(0.2)):
        values = matrix(kernel, X, MEMBERS)
        np.testing.assert_array_equal(shared.gram(values), GramRows.from_values(values).gram)
    assert whole.computed == 3


def test_functions_of_ones_own_share_nothing():
    assert all(SharedProducts.can_make(kernel) for kernel in KERNELS.values())
    assert not SharedProducts.can_make(CallableKernel(lambda A, B: A @ B.T))

    class Halved(Laplacian):
        """Its values are not those of distances any more."""

        def block(self, A, B):
            return 0.5 * super().block(A, B)

    assert not SharedProducts.can_make(Halved(0.1))


def held_values(kernel, rows, members=None):
    members = np.arange(rows.shape[0]) if members is None else members
    return SharedProducts(rows, members, Counting()).exact(matrix(kernel, rows, members))


@st.composite
def problems(draw):
    """A kernel, rows, coefficients of which some are zero, and the examples that are chosen."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(1, 40)), draw(st.integers(1, 12))
    scale = 10.0 ** draw(st.integers(-3, 2))
    rows = rng.normal(loc=draw(st.sampled_from([0.0, 1.0, 10.0])), size=(n_rows, n_features))
    rows = (scale * rows).astype(draw(st.sampled_from([np.float32, np.float64])))
    gamma = 10.0 ** draw(st.integers(-3, 1)) / (n_features * scale**2)
    kernel = draw(
        st.sampled_from(
            [
                RBF(gamma),
                Laplacian(gamma * scale),
                Linear(),
                Polynomial(gamma, 3, 1.0),
                Sigmoid(gamma, -0.5),
            ]
        )
    )
    chosen = rng.permutation(n_rows)[: draw(st.integers(1, n_rows))]
    coef = rng.normal(size=chosen.size) * (rng.random(chosen.size) < 0.7)
    as_rows = draw(st.sampled_from([np.asarray, sparse.csr_matrix]))
    return kernel, as_rows(rows), chosen, coef


@settings(max_examples=200)
@given(problems())
def test_held_products_are_within_their_bounds(problem):
    kernel, rows, chosen, coef = problem
    exact = exact_values(kernel, rows)[np.ix_(chosen, chosen)]
    largest = float(np.abs(exact).max())
    everybody = np.ones(chosen.size, dtype=bool)
    for values in (held_values(kernel, rows).subset(chosen), held_values(kernel, rows, chosen)):
        sums, rounding, evaluations = values.products(coef, everybody, largest)
        assert np.all(np.abs(sums - exact @ coef) <= rounding)
        assert evaluations == np.count_nonzero(coef) * chosen.size
        # A bound that is far beyond what the arithmetic does would certify nothing.
        size = float(np.abs(coef).sum()) * largest
        assert np.all(rounding <= 1e-9 * size)


def test_subsets_of_subsets_are_those_examples():
    values = held_values(KERNELS["rbf"], X)
    members = MEMBERS[[5, 3, 40, 8]]
    once, twice = values.subset(members), values.subset(MEMBERS).subset(np.array([5, 3, 40, 8]))
    which = np.array([2, 0])
    expected = exact_values(KERNELS["rbf"], X)[np.ix_(members[which], members)]
    for subset in (once, twice):
        assert subset.n_samples == 4
        np.testing.assert_allclose(subset.rows(which), expected.astype(float), rtol=1e-12)


def test_rows_leave_the_products_that_are_held():
    values = held_values(KERNELS["rbf"], X)
    everybody = np.arange(70)
    first = values.rows(everybody)
    np.testing.assert_array_equal(values.rows(everybody), first)
    np.testing.assert_array_equal(values.subset(everybody).rows(everybody), first)


@pytest.mark.parametrize("n_blocks", [0, 1, 3])
def test_held_products_are_given_up_when_told_to(n_blocks, monkeypatch):
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * 70 * 10)  # ten rows at a time
    values, asked = held_values(KERNELS["rbf"], X), []

    def go_on():
        asked.append(len(asked) < n_blocks)
        return asked[-1]

    with pytest.raises(CutShort), heeding(go_on):
        values.products(np.ones(70), np.ones(70, dtype=bool), 1.0)
    assert len(asked) == n_blocks + 1


def test_products_in_blocks_are_the_same_sums(monkeypatch):
    coef, everybody = RNG.normal(size=70), np.ones(70, dtype=bool)
    at_once, bound, evaluations = held_values(KERNELS["rbf"], X).products(coef, everybody, 1.0)
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * 70 * 10)
    in_blocks = held_values(KERNELS["rbf"], X).products(coef, everybody, 1.0)
    assert np.all(np.abs(in_blocks[0] - at_once) <= 2 * bound)
    assert in_blocks[2] == evaluations == 70 * 70
