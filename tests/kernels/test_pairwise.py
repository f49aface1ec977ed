"""Every name of scikit-learn's `pairwise_kernels`: its values, and what is known of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import each_cache, each_dtype
from scipy import sparse
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from kpegasos import (
    AdditiveChi2,
    Chi2,
    Cosine,
    KernelMatrix,
    Polynomial,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.kernels.functions import KERNELS, parameters_of

RNG = np.random.default_rng(0)
#: Histograms: no negative value, some zeros, and a row of nothing else.
A, B = RNG.poisson(2.0, size=(23, 6)).astype(float), RNG.poisson(1.0, size=(11, 6)).astype(float)
A[3] = 0.0
PARAMETERS = {"gamma": 0.3, "degree": 2, "coef0": 1.0}
NAMES = sorted(PAIRWISE_KERNEL_FUNCTIONS)
each_name = pytest.mark.parametrize("name", NAMES)
HISTOGRAMS = {"chi2": Chi2(0.3), "additive_chi2": AdditiveChi2()}
each_histogram = pytest.mark.parametrize("name", HISTOGRAMS)


def of_sklearn(name, X, Z):
    parameters = {key: PARAMETERS[key] for key in KERNEL_PARAMS[name]}
    return pairwise_kernels(X, Z, metric=name, **parameters)


def test_every_name_is_known():
    assert set(NAMES) <= set(KERNELS)


@each_name
def test_parameters_are_those_of_sklearn(name):
    assert set(parameters_of(name)) == set(KERNEL_PARAMS[name])


@each_name
@each_dtype
def test_values_are_those_of_sklearn(name, dtype):
    kernel = make_kernel(name, **PARAMETERS)
    X, Z = A.astype(dtype), B.astype(dtype)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    values = kernel.block(X, Z)
    assert values.dtype == dtype
    expected = of_sklearn(name, A, B)
    assert_allclose(values, expected, rtol=rtol, atol=rtol)
    assert_allclose(kernel.diag(X), of_sklearn(name, A, A).diagonal(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HISTOGRAMS])
@each_dtype
def test_values_of_sparse_rows_are_those_of_dense_ones(name, dtype):
    kernel = make_kernel(name, **PARAMETERS)
    X, Z = A.astype(dtype), B.astype(dtype)
    for as_rows in (sparse.csr_matrix, sparse.csr_array):
        values = kernel.block(as_rows(X), as_rows(Z))
        assert isinstance(values, np.ndarray)
        assert_allclose(values, kernel.block(X, Z), rtol=1e-5)
        assert_allclose(kernel.diag(as_rows(X)), kernel.diag(X), rtol=1e-5)


@each_name
@each_cache
def test_every_cache_trains_the_same_model(name, cache):
    X, y = A / 4, np.where(np.arange(23) % 3 == 0, 1, -1)
    problem = make_problem(y, 0.1)
    rows = make_rows(X, name, cache=cache, **{key: PARAMETERS[key] for key in KERNEL_PARAMS[name]})
    result = pegasos(problem, rows, epochs=5, random_state=0)
    gram = make_rows(of_sklearn(name, X, X), "precomputed")
    expected = pegasos(problem, gram, epochs=5, random_state=0)
    assert_array_equal(result.alpha, expected.alpha)
    assert_allclose(result.objective, expected.objective, rtol=1e-9)
    definite = name not in ("sigmoid", "additive_chi2")
    assert np.isfinite(result.gap) == rows.positive_definite == definite


def test_names_of_the_polynomial_kernel():
    assert make_kernel("polynomial", **PARAMETERS) == make_kernel("poly", **PARAMETERS)
    assert make_kernel("polynomial") == Polynomial()


def test_every_name_is_in_the_message():
    with pytest.raises(ValueError, match="kernel must be one of") as caught:
        make_kernel("gaussian")
    assert all(repr(name) in str(caught.value) for name in NAMES)


# --- what is known --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Chi2(0.3), Cosine()], ids=repr)
def test_definite_kernels_are(kernel):
    assert kernel.positive_definite
    assert np.linalg.eigvalsh(kernel.block(A, A)).min() > -1e-9
    assert np.abs(kernel.block(A, A)).max() <= kernel.value_bound(np.ones(23)) * (1 + 1e-12)


def test_additive_chi2_is_indefinite():
    kernel = AdditiveChi2()
    assert not kernel.positive_definite
    assert np.linalg.eigvalsh(kernel.block(A, A)).min() < -0.1


def exact(kernel, X):
    """Kernel values by the formulas, in extended precision."""
    rows = X.astype(np.longdouble)
    if isinstance(kernel, Cosine):
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        rows /= np.where(lengths > 0, lengths, 1)
        return rows @ rows.T
    total = rows[:, None] + rows
    return np.exp(
        -kernel.gamma * ((rows[:, None] - rows) ** 2 / np.where(total > 0, total, 1)).sum(axis=2)
    )


@settings(max_examples=100)
@given(
    st.sampled_from([Cosine(), Chi2(0.1), Chi2(3.0)]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 5, 400]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([None, "float32", "float64"]),
)
def test_values_are_within_their_rounding(kernel, seed, n_features, dtype, row_dtype):
    rng = np.random.default_rng(seed)
    X = (rng.random((20, n_features)) ** 3 + 1e-3).astype(dtype)
    if isinstance(kernel, Cosine):
        X[::2] *= -1
    matrix, values = KernelMatrix(kernel, X, row_dtype=row_dtype), np.empty((20, 20))
    matrix.write_rows(np.arange(20), values)
    bound = matrix.rounding[:, None] + matrix.rounding
    assert (np.abs(values - exact(kernel, X)) <= bound).all()
    eps = max(np.finfo(dtype).eps, np.finfo(matrix.dtype).eps)
    assert bound.max() <= 4 * (n_features + 8) * eps


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_cosine_does_not_depend_on_lengths(size):
    """No norm overflows or vanishes."""
    X = RNG.normal(size=(9, 3))
    assert_allclose(Cosine().block(size * X, X), Cosine().block(X, X), rtol=1e-12)
    assert_array_equal(Cosine().diag(size * X), 1.0)


def test_cosine_with_a_row_of_zeros_is_zero():
    assert_array_equal(Cosine().block(A[3:4], A), np.zeros((1, 23)))
    assert Cosine().diag(A)[3] == 0.0
    assert Cosine().diag(sparse.csr_matrix(A))[3] == 0.0


@each_histogram
def test_rows_that_may_not_be_written_to(name):
    """As those that a process of a pool is given."""
    X, Z = A.copy(), B.copy()
    X.flags.writeable = Z.flags.writeable = False
    assert_array_equal(HISTOGRAMS[name].block(X, Z), HISTOGRAMS[name].block(A, B))


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, -0.3, np.nan, np.inf, "1", True])
def test_gamma_of_chi2_is_positive(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive finite number, got"):
        Chi2(gamma)


@each_histogram
def test_sparse_histograms_are_refused(name):
    with pytest.raises(
        ValueError, match=r"X must be dense for the kernel .*Chi2\(.*, got a sparse"
    ):
        make_rows(sparse.csr_matrix(A), name)


@each_histogram
def test_negative_histograms_are_refused(name):
    match = r"X must have no negative values for the kernel .*Chi2\(.*, got -1\.5"
    X = A.copy()
    X[17, 2] = -1.5
    with pytest.raises(ValueError, match=match):
        make_rows(X, name)
    with pytest.raises(ValueError, match=match):
        HISTOGRAMS[name].block(X, A)
