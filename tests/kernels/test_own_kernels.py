"""Kernels of a user's own: functions, objects and maps of inner products; what is checked."""

from types import SimpleNamespace

import numpy as np
import pytest
from kernel_cases import A, B, Cauchy, Constant, all_rows, polynomial
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import each_cache
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import RBF, Linear, PegasosSVC, make_problem, make_rows, pegasos
from kpegasos.kernels.base import CallableKernel, InnerProductKernel, check_finite
from kpegasos.utils import patience

RNG = np.random.default_rng(0)


def full(value):
    return lambda X, Z: np.full((X.shape[0], Z.shape[0]), value)


def test_own_function_is_asked_in_blocks_of_any_rows():
    def product(X, Z):
        assert sparse.issparse(X)
        return (X @ Z.T).toarray()

    rows = make_rows(sparse.csr_matrix(A), product)
    assert_allclose(all_rows(rows), A @ A.T, rtol=1e-12, atol=1e-12)
    X = RNG.normal(size=(70, 2))
    assert_allclose(CallableKernel(polynomial).diag(X), (np.square(X).sum(axis=1) + 1) ** 2)


@pytest.mark.parametrize(
    ("rows", "dtype"), [(A, bool), (A, int), (A, np.float16), (A.astype(int), np.float32)]
)
def test_own_function_of_any_real_type(rows, dtype):
    """Of integer rows, as places in a list are, values are not rounded to integers."""
    values = CallableKernel(full(dtype(1.5))).block(rows, B)
    assert values.dtype == np.float64
    assert_array_equal(values, np.full((23, 11), float(dtype(1.5))))


# --- what is checked ------------------------------------------------------------------------------


def test_own_function_is_checked_at_every_block():
    """Values that turn bad off the diagonal are found when they are needed."""

    def function(X, Z):
        distances = np.abs(X - Z.T)
        return np.where(distances > 50, np.nan, np.exp(-distances))

    rows = make_rows(np.arange(70.0)[:, None], function, cache="cached")
    with pytest.raises(ValueError, match="finite"):
        pegasos(make_problem(np.resize([1, -1], 70), 0.1), rows, epochs=5, random_state=0)
    with pytest.raises(ValueError, match="finite"), np.errstate(over="ignore"):
        CallableKernel(full(1e39)).block(A.astype(np.float32), B.astype(np.float32))


@pytest.mark.parametrize(
    ("as_rows", "dtype", "cache", "slip"),
    [
        (np.asarray, np.float64, "precomputed", np.nan),
        (np.asarray, np.float32, "cached", np.inf),
        (sparse.csr_matrix, np.float32, "precomputed", -np.inf),
        (sparse.csr_matrix, np.float64, "streamed", np.nan),
        (np.asarray, np.float32, "streamed", -np.inf),
    ],
)
def test_own_map_is_checked(as_rows, dtype, cache, slip):
    """As a function is: NaN used to be fitted without a word."""
    X, y = as_rows(A.astype(dtype)), np.resize([0, 1], 23)
    model = PegasosSVC(kernel=Cauchy(beyond=8.0, slip=slip), cache=cache, epochs=5, random_state=0)
    match = "kernel must return finite values, got NaN or infinity"
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    model = PegasosSVC(kernel=Cauchy(beyond=1e3, slip=slip), random_state=0).fit(X, y)
    for n_rows in (1, 100):
        with pytest.raises(ValueError, match=match):
            model.decision_function(as_rows(np.full((n_rows, 4), 1e3, dtype)))


class Filled(RBF):
    """A built-in map is trusted; one that takes its place is not."""

    value = np.nan

    def from_inner_products(self, products, norms_a, norms_b):
        products[...] = self.value


def test_own_map_over_a_built_in_one_is_checked(monkeypatch):
    rows = A.astype(np.float32)
    with pytest.raises(ValueError, match="finite"):
        Filled(0.5).block(rows, rows)
    # Finite values whose sum overflows are accepted.
    monkeypatch.setattr(Filled, "value", 3e38)
    assert_array_equal(Filled(0.5).block(rows, rows), np.float32(3e38))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 33)])
def test_check_finite_sees_every_place(dtype, shape):
    values = RNG.normal(size=shape).astype(dtype)
    check_finite(values)
    check_finite(values.astype(int))
    for place in range(values.size):
        for order, bad in zip("CFC", (np.nan, np.inf, -np.inf), strict=True):
            broken = values.copy(order)
            broken[np.unravel_index(place, shape)] = bad
            with pytest.raises(ValueError, match="finite"):
                check_finite(broken)


# --- symmetry -------------------------------------------------------------------------------------


def test_symmetry_is_not_inherited_with_another_map():
    class Same(RBF):
        def diag(self, A):
            return np.ones(A.shape[0])

    class Said(Filled):
        symmetric = True

    mixin = type("Mixin", (), {"from_inner_products": Filled.from_inner_products})
    kinds = (InnerProductKernel, Cauchy, Same, Filled, type("Mixed", (mixin, RBF), {}), Said)
    assert [kind.symmetric for kind in kinds] == [False, False, True, False, False, True]


def unsymmetric(A, B):
    return rbf_kernel(A, B, gamma=2.0) * (1.0 + A[:, :1])


class Random(Constant):
    """Symmetric, but another at each call."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def block(self, A, B):
        return (A * self.rng.uniform(0.5, 1.5, A.shape[1])) @ B.T

    def diag(self, A):
        return np.diagonal(self.block(A, A)).astype(np.float64)


WRONG = {
    "function": (unsymmetric, "symmetric"),
    "part": (Linear() + CallableKernel(unsymmetric), "symmetric"),
    "random function": (Random().block, "the same each time, in diag as in block"),
    "random class": (Random(), "the same each time, in diag as in block"),
}


@each_cache
@pytest.mark.parametrize("name", WRONG)
def test_kernels_that_are_none_get_no_model(name, cache):
    kernel, wrong = WRONG[name]
    X, y = make_moons(60, noise=0.2, random_state=0)
    clf = PegasosSVC(kernel=kernel, cache=cache, epochs=2, random_state=0)
    with pytest.raises(ValueError, match=f"^kernel must be {wrong}, got .* and .* for the same"):
        clf.fit(X, y)
    if name == "function":
        with pytest.raises(ValueError, match=r"^kernel must be symmetric, got"):
            CallableKernel(kernel).diag(X)


def test_the_symmetry_of_a_function_costs_no_value(monkeypatch):
    # A function that takes no time is not asked how long it takes.
    monkeypatch.setattr(patience, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    pairs = []

    def counted(A, B):
        pairs.append(A.shape[0] * B.shape[0])
        return rbf_kernel(A, B, gamma=1.0)

    make_rows(make_moons(60, random_state=0)[0], counted)
    # The matrix, and the diagonal's blocks; one value tells whether the function is slow.
    assert sum(size for size in pairs if size > 1) == 60 * 60 + 32 * 32 + 28 * 28


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_a_function_is_not_blamed(dtype):
    X = (100.0 + RNG.normal(size=(80, 5))).astype(dtype)

    def coarse(A, B):
        return (A.astype(np.float32) @ B.astype(np.float32).T).astype(dtype)

    clf = PegasosSVC(kernel=coarse, epochs=1, random_state=0).fit(X, np.arange(80) % 2)
    assert np.isfinite(clf.duality_gap_)
