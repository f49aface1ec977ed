"""Kernels of all kinds, slow ones beside them, and the formulas in extended precision."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from kpegasos import RBF, AdditiveChi2, Chi2, Cosine, KernelMatrix, Laplacian, Linear, Polynomial
from kpegasos.kernels import CallableKernel, InnerProductKernel, Product, Scaled, Sigmoid, Sum, gemm
from kpegasos.rows.base import KernelSource

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(23, 4)), RNG.normal(size=(11, 4))
A[3], B[2] = 0.0, A[5]  # a row of zeros, and one that both hold
A[RNG.random(A.shape) < 0.3] = 0.0
Y = np.where(np.arange(23) % 3 == 0, 1, -1)

each_format = pytest.mark.parametrize(
    "as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"]
)
each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])
#: numpy's products may be rounded by where they stand; those of the compiled tile are not.
same_bits = pytest.mark.skipif(gemm.IMPLEMENTATION != "compiled", reason="the compiled tile only")


def whole(matrix: KernelMatrix) -> np.ndarray:
    """All values of a kernel matrix."""
    values = np.empty((matrix.n_samples, matrix.n_samples), matrix.dtype)
    matrix.write_rows(np.arange(matrix.n_samples), values)
    return values


def all_rows(rows: KernelSource) -> np.ndarray:
    """All kernel rows of a source, asked for one by one."""
    values = np.empty((rows.n_samples, rows.n_samples))
    for i in range(rows.n_samples):
        view = rows.ensure_rows(np.array([i]), 0)
        values[i] = view.values[view.slots[i]]
    return values


def shared(matrix: KernelMatrix) -> KernelMatrix:
    """The matrix with products that it may share with others of its kind."""
    matrix.products = whole(matrix.of_products())
    return matrix


# --- kernels of a user's own ----------------------------------------------------------------------


def polynomial(X, Z):
    """A function."""
    return (np.asarray((X @ Z.T).todense() if sparse.issparse(X) else X @ Z.T) + 1.0) ** 2


class Constant:
    """An object without what the built-in ones have on top, such as operators."""

    positive_definite = True

    def block(self, X, Z):
        return np.full((X.shape[0], Z.shape[0]), 3.0, X.dtype)

    def diag(self, X):
        return np.full(X.shape[0], 3.0)


@dataclass(frozen=True)
class Cauchy(InnerProductKernel):
    """A map: ``1 / (1 + γ ‖a − b‖²)``, or what a slip makes of it beyond some distance."""

    beyond: float = np.inf
    slip: float = np.nan
    gamma: float = 1.0
    positive_definite: ClassVar[bool] = True
    translation_invariant: ClassVar[bool] = True

    def from_inner_products(self, products, norms_a, norms_b):
        products *= -2.0
        products += norms_a + norms_b
        far = products > self.beyond
        products[...] = 1 / (1 + self.gamma * np.maximum(products, 0))
        products[far] = self.slip

    def diag(self, X):
        return np.ones(X.shape[0])


# --- kernels by the book --------------------------------------------------------------------------

NAMED = {
    "linear": Linear(),
    **{f"poly{degree}": Polynomial(0.7, degree, 0.5) for degree in (0, 1, 3, 6)},
    "rbf": RBF(0.7),
    "sigmoid": Sigmoid(0.7, -0.5),
    "laplacian": Laplacian(0.5),
    "cosine": Cosine(),
    "chi2": Chi2(0.3),
    "additive chi2": AdditiveChi2(),
}
#: Compositions of kernels of inner products alone, which are one themselves.
MAPPED = {
    "sum": RBF(0.7) + Linear(),
    "multiple": 0.5 * RBF(0.7),
    "product": RBF(0.7) * Linear(),
    "three": Polynomial(1.0, 2, 1.0) + 0.5 * Linear() + RBF(0.1),
    "nested": 2 * (RBF(0.7) + 0.5 * Linear()) * RBF(0.1) + Linear() * Linear(),
    "distances": RBF(0.7) * RBF(0.1) + 3 * RBF(0.1),
}
MIXED = {
    "mixed sum": Laplacian(0.5) + 0.5 * Linear(),
    "mixed product": RBF(0.7) * Laplacian(0.5),
    "mixed multiple": 0.2 * Laplacian(0.5),
    "function": RBF(0.7) + polynomial,
    "object": Constant() * RBF(0.7),
}
OWN = {"own map": Cauchy(), "own function": CallableKernel(polynomial), "own object": Constant()}
COMPOSED = MAPPED | MIXED
CASES = NAMED | OWN | COMPOSED


def points(case):
    """Rows that a kernel takes: histograms where it must have them."""
    return (np.abs(A), np.abs(B)) if "chi2" in case else (A, B)


def exact(kernel, X, Z=None):
    """Kernel values by the formulas, in extended precision."""
    rows, others = (
        (each.toarray() if sparse.issparse(each) else each).astype(np.longdouble)
        for each in (X, X if Z is None else Z)
    )
    if isinstance(kernel, Sum | Product | Scaled):
        values = [exact(part, rows, others) for part in kernel.parts]
        joined = np.sum(values, axis=0) if isinstance(kernel, Sum) else np.prod(values, axis=0)
        return np.longdouble(getattr(kernel, "factor", 1)) * joined
    inner = rows @ others.T
    match kernel:
        case CallableKernel():
            return polynomial(rows, others)
        case Constant():
            return np.full(inner.shape, np.longdouble(3))
        case Linear():
            return inner
        case Polynomial(gamma=gamma, degree=degree, coef0=coef0):
            return (gamma * inner + coef0) ** degree
        case Sigmoid(gamma=gamma, coef0=coef0):
            return np.tanh(gamma * inner + coef0)
        case Cosine():
            scale = np.sqrt(np.outer((rows**2).sum(axis=1), (others**2).sum(axis=1)))
            return inner / np.where(scale > 0, scale, 1)
    differences = rows[:, None] - others
    match kernel:
        case RBF(gamma=gamma):
            return np.exp(-gamma * (differences**2).sum(axis=2))
        case Cauchy():
            return 1 / (1 + (differences**2).sum(axis=2))
        case Laplacian(gamma=gamma):
            return np.exp(-gamma * np.abs(differences).sum(axis=2))
    total = rows[:, None] + others
    distances = (differences**2 / np.where(total > 0, total, 1)).sum(axis=2)
    return np.exp(-kernel.gamma * distances) if isinstance(kernel, Chi2) else -distances


# --- any composition ------------------------------------------------------------------------------

simple = st.one_of(
    st.just(Linear()),
    st.sampled_from([0.01, 0.3, 2.0]).map(RBF),
    st.sampled_from([0.1, 1.0]).map(Laplacian),
    st.builds(Polynomial, st.sampled_from([0.1, 1.0]), st.integers(1, 4), st.just(1.0)),
    st.just(Cosine()),
)


@st.composite
def compositions(draw):
    kernel = draw(simple)
    for _ in range(draw(st.integers(1, 4))):
        how = draw(st.sampled_from("+*s"))
        if how == "s":
            kernel = draw(st.sampled_from([1e-3, 0.3, 7.0])) * kernel
        else:
            other = draw(simple)
            kernel = kernel + other if how == "+" else kernel * other
    return kernel


@st.composite
def point_sets(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(2, 16)), draw(st.sampled_from([1, 3, 40, 300]))
    X = rng.normal(loc=draw(st.sampled_from([0.0, 1.0, 3.0])), size=shape) / shape[1] ** 0.5
    X = X.astype(draw(st.sampled_from([np.float32, np.float64])))
    return sparse.csr_matrix(X) if draw(st.booleans()) else X
