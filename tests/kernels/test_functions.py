"""Kernel values against their definitions, whatever holds the rows; and what is refused."""

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
from kpegasos.kernels.functions import CallableKernel, scale_gamma
from kpegasos.kernels.matrix import kernel_decision

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


@pytest.mark.parametrize("case", ["linear", "poly", "rbf", "sigmoid"])
@each_format
def test_block_into_memory(case, rows):
    """Norms and memory that the caller has are used, and change nothing."""
    kernel, _, _ = CASES[case]
    X, Z = FORMATS[rows](A), FORMATS[rows](B)
    out = np.full((23, 11), np.nan)
    norms = ((A**2).sum(axis=1), (B**2).sum(axis=1))
    values = kernel.block(X, Z, squared_norms=norms, out=out)
    assert values is out
    assert_allclose(out, kernel.block(X, Z), rtol=1e-12)


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


@pytest.mark.parametrize("shift", [0.0, 1e2, 1e4])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_rbf_far_from_the_origin(shift, cache):
    """‖a‖² + ‖b‖² − 2<a, b> loses all its digits there; rows keep them."""
    X = A + shift
    identity = np.eye(A.shape[0])
    rows = make_rows(X, "rbf", gamma=0.7, cache=cache)
    assert_allclose(rows.product(identity), naive.gram(X, X, "rbf", gamma=0.7), atol=1e-11)
    if shift == 1e4:
        assert np.abs(RBF(0.7).block(X, X) - naive.gram(X, X, "rbf", gamma=0.7)).max() > 1e-9


def test_rbf_decision_far_from_the_origin():
    X, Z = A + 1e4, B + 1e4
    coefs = RNG.normal(size=(2, 23))
    expected = naive.gram(Z, X, "rbf", gamma=0.7) @ coefs.T
    assert_allclose(kernel_decision(RBF(0.7), Z, X, coefs), expected, atol=1e-10)


def test_rbf_is_never_above_one():
    X = np.repeat(1e3 * RNG.normal(size=(50, 3)), 2, axis=0)
    assert RBF(10.0).block(X, X).max() == 1.0


@pytest.mark.parametrize("block_mb", [1e-6, 1e-3, 64.0])
@each_case
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_decision_by_the_book(case, block_mb, as_rows):
    kernel, name, parameters = CASES[case]
    coefs = RNG.normal(size=(3, 11))
    values = kernel_decision(kernel, as_rows(A), as_rows(B), coefs, block_mb=block_mb)
    expected = naive.gram(A, B, name, **parameters) @ coefs.T
    assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


def test_decision_without_support():
    assert_array_equal(kernel_decision(RBF(1.0), A, A[:0], np.empty((2, 0))), np.zeros((23, 2)))


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
    assert make_kernel(kernel, gamma=7.0) is kernel


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


# --- kernels of one's own -----------------------------------------------------------------------


def matern(X, Z):
    distance = np.sqrt(((X[:, None] - Z[None]) ** 2).sum(axis=2))
    return (1 + distance) * np.exp(-distance)


class Matern:
    """A kernel object as a user would write it, without what the built-in ones have on top."""

    positive_definite = True

    def block(self, X, Z):
        return matern(X, Z)

    def diag(self, X):
        return np.ones(X.shape[0])


MATERN = [
    [naive.linear([1 + d], [np.exp(-d)]) for d in row]
    for row in np.sqrt([[((a - b) ** 2).sum() for b in A] for a in A]).tolist()
]


@pytest.mark.parametrize("kernel", [matern, Matern()], ids=["function", "object"])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_own_kernel_is_used(kernel, cache, dtype):
    X, y = A.astype(dtype), np.where(np.arange(23) % 3 == 0, 1, -1)
    rtol = 1e-9 if dtype == np.float64 else 1e-4
    rows = make_rows(X, kernel, cache=cache)
    assert_allclose(rows.product(np.eye(23)), MATERN, rtol=rtol)
    result = pegasos(make_problem(y, 0.1), rows, epochs=5, random_state=0)
    expected = pegasos(
        make_problem(y, 0.1), make_rows(MATERN, "precomputed"), epochs=5, random_state=0
    )
    assert_array_equal(result.alpha, expected.alpha)
    assert_allclose(result.objective, expected.objective, rtol=rtol)
    assert result.gap > 0


def test_own_indefinite_kernel_certifies_nothing():
    class Distance(Matern):
        positive_definite = False

        def block(self, X, Z):
            return -np.abs(X[:, None] - Z[None]).sum(axis=2)

    rows = make_rows(A, Distance())
    result = pegasos(make_problem(np.resize([1, -1], 23), 0.1), rows, epochs=1, random_state=0)
    assert np.isnan(result.gap)


def test_own_function_diag():
    X = RNG.normal(size=(70, 2))
    assert_allclose(CallableKernel(matern).diag(X), np.ones(70))


def test_own_function_of_sparse_rows():
    def product(X, Z):
        assert sparse.issparse(X)
        return (X @ Z.T).toarray()

    rows = make_rows(sparse.csr_matrix(A), product)
    assert_allclose(rows.product(np.eye(23)), A @ A.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [bool, int, np.float16, np.float32])
def test_own_function_of_any_real_type(dtype):
    values = CallableKernel(lambda X, Z: np.ones((X.shape[0], Z.shape[0]), dtype)).block(A, B)
    assert values.dtype == np.float64
    assert_array_equal(values, np.ones((23, 11)))


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Z: np.ones(X.shape[0]), r"kernel must return an array of shape"),
        (
            lambda X, Z: np.ones((Z.shape[0], X.shape[0] + 1)),
            r"kernel must return an array of shape",
        ),
        (lambda X, Z: 1.0, r"kernel must return an array of shape"),
        (lambda X, Z: np.full((X.shape[0], Z.shape[0]), np.nan), "must return finite .* NaN"),
        (lambda X, Z: np.full((X.shape[0], Z.shape[0]), np.inf), "must return finite .* infinity"),
        (lambda X, Z: np.full((X.shape[0], Z.shape[0]), 1j), "real numbers, got dtype complex128"),
        (lambda X, Z: np.full((X.shape[0], Z.shape[0]), "a"), "real numbers, got dtype <U1"),
    ],
    ids=["vector", "shape", "scalar", "nan", "inf", "complex", "text"],
)
def test_own_function_is_checked(function, message, cache):
    with pytest.raises(ValueError, match=message):
        make_rows(A, function, cache=cache)


def test_own_function_too_large_for_float32():
    with pytest.raises(ValueError, match="finite"), np.errstate(over="ignore"):
        CallableKernel(lambda X, Z: np.full((X.shape[0], Z.shape[0]), 1e39)).block(
            A.astype(np.float32), B.astype(np.float32)
        )


def test_own_function_is_checked_at_every_block():
    """Values that turn bad off the diagonal are found when they are needed."""

    def function(X, Z):
        distance = np.abs(X[:, None, 0] - Z[None, :, 0])
        return np.where(distance > 50, np.nan, np.exp(-distance))

    X = np.arange(70.0)[:, None]
    rows = make_rows(X, function, cache="cached")
    with pytest.raises(ValueError, match="finite"):
        pegasos(make_problem(np.resize([1, -1], 70), 0.1), rows, epochs=5, random_state=0)


# --- overflow -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "largest", "dtype"),
    [
        (Linear(), 1e20, np.float32),
        (Linear(), 1e160, np.float64),
        (Polynomial(1.0, 3, 0.0), 1e7, np.float32),
        (Polynomial(1.0, 3, 0.0), 1e60, np.float64),
        (RBF(1.0), 1e20, np.float32),
        (RBF(1.0), 1e160, np.float64),
        (Linear(), np.nan, np.float64),
        (RBF(1.0), np.inf, np.float64),
    ],
    ids=str,
)
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_refused(kernel, largest, dtype, as_rows):
    X = A.astype(dtype)
    X[7, 2] = largest
    with pytest.raises(
        ValueError, match=rf"{type(kernel).__name__} values fit in {dtype.__name__}"
    ):
        KernelMatrix(kernel, as_rows(X))


def test_values_near_the_limit_are_not_refused():
    X = np.array([[1e18], [-1e18]], dtype=np.float32)
    assert_array_equal(make_rows(X, Linear()).product(np.eye(2)) > 0, np.eye(2, dtype=bool))
