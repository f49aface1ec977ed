"""Kernels of a user's own: functions, objects and maps of inner products; what is checked."""

from dataclasses import dataclass
from typing import ClassVar

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import RBF, PegasosSVC, make_problem, make_rows, pegasos
from kpegasos.kernels.base import CallableKernel, InnerProductKernel, check_finite

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(23, 4)), RNG.normal(size=(11, 4))


# --- functions and objects ------------------------------------------------------------------------


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


def test_own_function_of_integer_rows_is_not_rounded_to_integers():
    """As places in a list are."""
    places = np.arange(5)[:, None]
    values = CallableKernel(lambda X, Z: 0.5 + 0.0 * (X @ Z.T)).block(places, places)
    assert_array_equal(values, np.full((5, 5), 0.5))


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


# --- maps of inner products -----------------------------------------------------------------------


@dataclass(frozen=True)
class Cauchy(InnerProductKernel):
    """``1 / (1 + ‖a − b‖²)``, or what a slip makes of it beyond some distance."""

    beyond: float = np.inf
    slip: float = np.nan
    positive_definite: ClassVar[bool] = True
    translation_invariant: ClassVar[bool] = True

    def from_inner_products(self, products, norms_a, norms_b):
        products *= -2.0
        products += norms_a + norms_b
        far = products > self.beyond
        products[...] = 1 / (1 + np.maximum(products, 0))
        products[far] = self.slip

    def diag(self, A):
        return np.ones(A.shape[0])


def cauchy(x, z):
    return 1 / (1 + sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


each_format = pytest.mark.parametrize(
    "as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"]
)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@each_format
@each_dtype
def test_own_map_is_used(as_rows, dtype):
    expected = naive.gram(A, A, cauchy)
    for cache in ("precomputed", "cached", "streamed"):
        rows = make_rows(as_rows(A.astype(dtype)), Cauchy(), cache=cache)
        assert_allclose(rows.product(np.eye(23)), expected, rtol=1e-4, atol=1e-6)


@each_format
@each_dtype
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@pytest.mark.parametrize("slip", [np.nan, np.inf, -np.inf])
def test_own_map_is_checked_in_training(as_rows, dtype, cache, slip):
    """As a function is: NaN used to be fitted without a word."""
    X, y = as_rows(A.astype(dtype)), np.resize([0, 1], 23)
    model = PegasosSVC(kernel=Cauchy(beyond=20.0, slip=slip), cache=cache, epochs=5, random_state=0)
    with pytest.raises(ValueError, match="kernel must return finite values, got NaN or infinity"):
        model.fit(X, y)


@each_format
@each_dtype
@pytest.mark.parametrize("n_rows", [1, 100])
@pytest.mark.parametrize("slip", [np.nan, np.inf])
def test_own_map_is_checked_in_prediction(as_rows, dtype, n_rows, slip):
    X, y = as_rows(A.astype(dtype)), np.resize([0, 1], 23)
    model = PegasosSVC(kernel=Cauchy(beyond=1e3, slip=slip), random_state=0).fit(X, y)
    far = np.full((n_rows, 4), 1e3, dtype)
    with pytest.raises(ValueError, match="kernel must return finite values, got NaN or infinity"):
        model.decision_function(as_rows(far))


def test_own_map_over_a_built_in_one_is_checked():
    """A built-in map is trusted; one that takes its place is not."""

    class Broken(RBF):
        def from_inner_products(self, products, norms_a, norms_b):
            products[...] = np.nan

    with pytest.raises(ValueError, match="finite"):
        Broken(0.5).block(A, B)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, int])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 33)])
def test_check_finite_sees_every_place(dtype, shape):
    values = RNG.normal(size=shape).astype(dtype)
    check_finite(values)
    if dtype is int:
        return
    for place in range(values.size):
        for bad in (np.nan, np.inf, -np.inf):
            for order in "CF":
                broken = values.copy(order)
                broken[np.unravel_index(place, shape)] = bad
                with pytest.raises(ValueError, match="finite"):
                    check_finite(broken)


def test_finite_values_whose_sum_overflows_are_accepted():
    class Large(Cauchy):
        def from_inner_products(self, products, norms_a, norms_b):
            products[...] = 3e38

    assert_array_equal(Large().block(A.astype(np.float32), B.astype(np.float32)), np.float32(3e38))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_in_prediction_is_refused():
    """A polynomial of new rows may overflow where that of the examples did not."""
    X = A.astype(np.float32)
    model = PegasosSVC(kernel="poly", gamma=1.0, degree=9, random_state=0)
    model.fit(X, np.resize([0, 1], 23))
    with pytest.raises(ValueError, match="kernel must return finite values"):
        model.decision_function(1e36 * X)


def test_map_is_to_be_written():
    class Empty(InnerProductKernel):
        pass

    with pytest.raises(NotImplementedError):
        Empty().block(A, B)


class _Map:
    def from_inner_products(self, products, norms_a, norms_b):
        products[...] = 0.0


def test_symmetry_is_not_inherited_with_another_map():
    class Same(RBF):
        def diag(self, A):
            return np.ones(A.shape[0])

    class Other(RBF):
        def from_inner_products(self, products, norms_a, norms_b):
            super().from_inner_products(products, norms_a, norms_b)

    class Said(Other):
        symmetric = True

    class Mixed(_Map, RBF):
        pass

    kinds = (InnerProductKernel, Cauchy, Same, Other, Said, Mixed)
    assert [kind.symmetric for kind in kinds] == [False, False, True, False, True, False]
