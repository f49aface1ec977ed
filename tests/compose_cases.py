"""Composed kernels, slow ones beside them, and the formulas in extended precision."""

import naive
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from kpegasos import RBF, Cosine, Laplacian, Linear, Polynomial
from kpegasos.kernels import Product, Scaled, Sum

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


# --- formulas, and any composition ----------------------------------------------------------------


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
