"""Kernels of a user's own: what the values that are computed anyway show of them."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import Linear, PegasosSVC, make_rows
from kpegasos.kernels.base import CallableKernel
from kpegasos.utils import patience


def unsymmetric(A, B):
    return rbf_kernel(A, B, gamma=2.0) * (1.0 + A[:, :1])


class Random:
    """Symmetric, but another at each call."""

    positive_definite = True

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.n_calls = 0

    def __call__(self, A, B):
        self.n_calls += 1
        weights = self.rng.uniform(0.5, 1.5, A.shape[1])
        return (A * weights) @ B.T

    block = __call__

    def diag(self, A):
        return np.diagonal(self(A, A)).astype(np.float64)


class Own:
    positive_definite = True

    def block(self, A, B):
        return unsymmetric(A, B)

    def diag(self, A):
        return 1.0 + A[:, 0].astype(np.float64)


WRONG = {
    "function": (unsymmetric, "symmetric"),
    "class": (Own(), "symmetric"),
    "part": (Linear() + CallableKernel(unsymmetric), "symmetric"),
    "random function": (Random().__call__, "the same each time, in diag as in block"),
    "random class": (Random(), "the same each time, in diag as in block"),
}


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@pytest.mark.parametrize("name", WRONG)
def test_kernels_that_are_none_get_no_model(name, cache):
    kernel, wrong = WRONG[name]
    X, y = make_moons(60, noise=0.2, random_state=0)
    clf = PegasosSVC(kernel=kernel, cache=cache, epochs=2, random_state=0)
    with pytest.raises(ValueError, match=f"^kernel must be {wrong}, got .* and .* for the same"):
        clf.fit(X, y)


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
    rng = np.random.default_rng(0)
    X = (100.0 + rng.normal(size=(80, 5))).astype(dtype)

    def coarse(A, B):
        return (A.astype(np.float32) @ B.astype(np.float32).T).astype(dtype)

    clf = PegasosSVC(kernel=coarse, epochs=1, random_state=0).fit(X, rng.integers(0, 2, 80))
    assert np.isfinite(clf.duality_gap_)
