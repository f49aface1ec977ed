"""Kernel values against their definitions, whatever holds the rows; and what is refused."""

import multiprocessing

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from kpegasos import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.kernels.functions import city_block, scale_gamma

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(23, 4)), RNG.normal(size=(11, 4))
A[3], B[2] = 0.0, A[5]  # a row of zeros, and one that both hold
A[RNG.random(A.shape) < 0.3] = 0.0

CASES = {
    "linear": (Linear(), "linear", {}),
    "poly": (Polynomial(0.7, 3, 0.5), "poly", {"gamma": 0.7, "degree": 3, "coef0": 0.5}),
    "poly0": (Polynomial(0.7, 0, 0.5), "poly", {"gamma": 0.7, "degree": 0, "coef0": 0.5}),
    "poly1": (Polynomial(0.7, 1, 0.5), "poly", {"gamma": 0.7, "degree": 1, "coef0": 0.5}),
    "poly6": (Polynomial(0.7, 6, 0.5), "poly", {"gamma": 0.7, "degree": 6, "coef0": 0.5}),
    "rbf": (RBF(0.7), "rbf", {"gamma": 0.7}),
    "sigmoid": (Sigmoid(0.7, -0.5), "sigmoid", {"gamma": 0.7, "coef0": -0.5}),
    "laplacian": (Laplacian(0.7), "laplacian", {"gamma": 0.7}),
}
each_case = pytest.mark.parametrize("case", CASES)
FORMATS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
}
each_format = pytest.mark.parametrize("rows", FORMATS)


# --- values -------------------------------------------------------------------------------------


@each_case
@each_format
def test_block_by_the_book(case, rows):
    kernel, name, parameters = CASES[case]
    values = kernel.block(FORMATS[rows](A), FORMATS[rows](B))
    expected = naive.gram(A, B, name, **parameters)
    assert values.shape == (23, 11)
    assert values.dtype == np.float64
    assert_allclose(values, expected, rtol=1e-10, atol=1e-12)


@each_case
@each_format
def test_block_float32(case, rows):
    kernel, name, parameters = CASES[case]
    A32, B32 = A.astype(np.float32), B.astype(np.float32)
    values = kernel.block(FORMATS[rows](A32), FORMATS[rows](B32))
    expected = naive.gram(A32, B32, name, **parameters)
    assert values.dtype == np.float32
    assert_allclose(values, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@each_case
@each_format
def test_diag_is_that_of_the_block(case, rows):
    kernel, name, parameters = CASES[case]
    for dtype, rtol in ((np.float64, 1e-10), (np.float32, 1e-5)):
        X = A.astype(dtype)
        diag = kernel.diag(FORMATS[rows](X))
        assert diag.dtype == np.float64
        assert_allclose(diag, naive.gram(X, X, name, **parameters).diagonal(), rtol=rtol)


@each_case
def test_block_leaves_rows_alone(case):
    kernel, _, _ = CASES[case]
    for rows in (np.asarray, sparse.csr_matrix):
        X, Z = rows(A.copy()), rows(B.copy())
        kernel.block(X, Z)
        kernel.diag(X)
        assert_array_equal(X if isinstance(X, np.ndarray) else X.toarray(), A)
        assert_array_equal(Z if isinstance(Z, np.ndarray) else Z.toarray(), B)


@pytest.mark.parametrize("case", ["poly", "rbf", "sigmoid"])
def test_block_of_many_tiles(case):
    """More values than one tile holds."""
    kernel, name, parameters = CASES[case]
    X, Z = RNG.normal(size=(300, 2)), RNG.normal(size=(700, 2))
    values = kernel.block(X, Z)
    assert_allclose(values, pairwise_kernels(X, Z, name, **parameters), rtol=1e-9, atol=1e-12)


def test_poly_is_exact_on_integers():
    X = RNG.integers(-9, 10, size=(20, 5)).astype(float)
    for degree in range(8):
        values = Polynomial(1.0, degree, 1.0).block(X, X)
        exact = np.array([[(int(p) + 1) ** degree for p in row] for row in X @ X.T], dtype=object)
        keep = np.abs(exact) < 2**53
        assert (values.astype(object)[keep] == exact[keep]).all()


def test_poly_of_real_degree():
    X = np.abs(A)
    values = Polynomial(1.0, 1.5, 1.0).block(X, X)
    assert_allclose(values, (X @ X.T + 1) ** 1.5)


def test_rbf_is_never_above_one():
    X = np.repeat(1e3 * RNG.normal(size=(50, 3)), 2, axis=0)
    assert RBF(10.0).block(X, X).max() == 1.0


# --- certificates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(0.5, 3, 1.0), Polynomial(2.0, 2, 0.0), RBF(0.3), Laplacian(2.0)]
)
def test_positive_definite_kernels_are(kernel):
    assert kernel.positive_definite
    K = kernel.block(A, A)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()


@pytest.mark.parametrize(
    "kernel",
    [
        Sigmoid(1.0, -1.0),
        Polynomial(1.0, 1, -1.0),
        Polynomial(1.0, 2, -1.0),
        Polynomial(-1.0, 1, 0.0),
        RBF(-1.0),
    ],
    ids=str,
)
def test_indefinite_kernels_certify_nothing(kernel):
    """Where P has directions of negative norm, no gap bounds its suboptimality."""
    X = np.array([[1.0], [2.0]])
    assert np.linalg.eigvalsh(kernel.block(X, X)).min() < -0.01
    result = pegasos(make_problem([1, -1], 0.1), make_rows(X, kernel), epochs=5, random_state=0)
    assert np.isnan(result.gap)
    assert np.isnan(result.dual_bound)


# --- choosing one -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(2.0, 4, 0.5)),
        ("rbf", RBF(2.0)),
        ("sigmoid", Sigmoid(2.0, 0.5)),
        ("laplacian", Laplacian(2.0)),
    ],
)
def test_make_kernel_by_name(name, expected):
    kernel = make_kernel(name, gamma=2.0, degree=4, coef0=0.5)
    assert kernel == expected
    assert isinstance(kernel, Kernel)


def test_make_kernel_keeps_objects():
    kernel = Polynomial(1.0, 2, 3.0)
    assert make_kernel(kernel) is kernel


@pytest.mark.parametrize("kernel", [RBF(1.0), lambda X, Z: X @ Z.T], ids=["object", "function"])
def test_make_kernel_refuses_parameters_of_an_object(kernel):
    with pytest.raises(TypeError, match=r"kernel must be a name to take parameters.*'gamma'"):
        make_kernel(kernel, gamma=50.0)


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_make_kernel_refuses_misspelt_parameters(name):
    expected = r"kernel parameters must be among \['coef0', 'degree', 'gamma'\], got 'gama'"
    with pytest.raises(TypeError, match=expected):
        make_kernel(name, gama=50.0)


def test_make_kernel_ignores_parameters_of_other_kernels():
    assert make_kernel("rbf", gamma=2.0, degree=-1, coef0=np.nan) == RBF(2.0)


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        ("gamma", 0.0, "a positive finite number, got 0.0"),
        ("gamma", -1.0, "a positive finite number, got -1.0"),
        ("gamma", np.nan, "a positive finite number, got nan"),
        ("gamma", np.inf, "a positive finite number, got inf"),
        ("gamma", None, "a positive finite number, got None"),
        ("gamma", "scale", "a positive finite number, got 'scale' instead; resolve it by scale_g"),
        ("degree", -1, "a non-negative finite number, got -1"),
        ("degree", np.inf, "a non-negative finite number, got inf"),
        ("degree", "3", "a non-negative finite number, got '3'"),
        ("coef0", np.nan, "a finite number, got nan"),
        ("coef0", "0", "a finite number, got '0'"),
    ],
)
def test_make_kernel_checks_the_range(parameter, value, expected):
    with pytest.raises(ValueError, match=f"{parameter} must be {expected}"):
        make_kernel("poly", **{parameter: value})


def test_make_kernel_takes_the_ends_of_the_range():
    assert make_kernel("poly", degree=0, coef0=-1.5) == Polynomial(1.0, 0, -1.5)


@pytest.mark.parametrize("kernel", ["gaussian", "", "RBF", "precomputed"])
def test_make_kernel_unknown_name(kernel):
    with pytest.raises(ValueError, match=rf"kernel must be one of .*'rbf'.* got '{kernel}'"):
        make_kernel(kernel)


@pytest.mark.parametrize("kernel", [None, 3, RBF(1.0).gamma, ["rbf"]])
def test_make_kernel_neither_name_nor_function(kernel):
    with pytest.raises(ValueError, match="kernel must be a name, a callable or a kernel object"):
        make_kernel(kernel)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_scale_gamma_is_that_of_svc(as_rows):
    X, y = as_rows(A), np.arange(23) % 2
    for gamma in ("scale", "auto", 0.25):
        assert_allclose(scale_gamma(gamma, X), SVC(gamma=gamma).fit(X, y)._gamma)


def test_scale_gamma_of_constant_features():
    assert scale_gamma("scale", np.ones((3, 2))) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("left", [sparse.csr_matrix, sparse.coo_array, np.asarray])
def test_distances_of_sparse_rows_are_those_of_dense_ones(left, dtype):
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(n, 9)) * (rng.random((n, 9)) < 0.4) for n in (11, 7))
    A, B = A.astype(dtype), B.astype(dtype)
    expected = np.abs(A[:, None] - B).sum(axis=2, dtype=np.float64)
    assert_allclose(city_block(left(A), sparse.csr_matrix(B)), expected, rtol=1e-14)
    assert city_block(left(A[:0]), sparse.csr_matrix(B)).shape == (0, 7)
    with pytest.raises(ValueError, match="equally many features"):
        city_block(left(A), sparse.csr_matrix(B[:, :5]))


def _sparse_laplacian():
    rows = sparse.random(60, 8, 0.5, format="csr", random_state=0)
    return Laplacian(0.5).block(rows, rows)


def _send(queue):
    queue.put(_sparse_laplacian())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_laplacian_of_sparse_rows_is_the_same_in_a_forked_process():
    expected, context = _sparse_laplacian(), multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_send, args=(queue,), daemon=True)
    child.start()
    child.join(60.0)
    assert child.exitcode == 0
    assert_array_equal(queue.get(), expected)
