"""Data, kernels and a memory gauge that the tests of rows share."""

import gc
import tracemalloc

import numpy as np
import pytest
from kernel_cases import exact

from kpegasos import RBF, Laplacian, Linear, Polynomial, Sigmoid
from kpegasos.utils import tuning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(53, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=53) > 0, 1, -1)
N = Y.size
KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(0.5, 3, 1.0),
    "rbf": RBF(0.5),
    "laplacian": Laplacian(0.5),
    "sigmoid": Sigmoid(0.5, -1.0),
}


def n_kept(view):
    """Rows that a view of a cache holds."""
    return np.count_nonzero(view.slots >= 0)


each_cache = pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])

#: Beside the kernel values: state, draws, labels and a centred copy of ten features.
BYTES_PER_EXAMPLE = 150
SLACK_MB = 4.0


def make_gram(kernel, A=X, B=X):
    return exact(KERNELS[kernel], A, B).astype(float)


def large_data(n_samples=3000, n_features=10):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(n_samples, n_features))
    return A, np.where(A[:, 0] * A[:, 1] + 0.3 * rng.normal(size=n_samples) > 0, 1, -1)


def peak_mb(train):
    """Most memory that was held at a time, beyond what was held before.

    Objects of earlier tests are frozen. The more there are, the longer the collector lets cycles
    be, and those of a fit would count here.
    """
    gc.collect()
    gc.freeze()
    tracemalloc.start()
    try:
        train()
        return tracemalloc.get_traced_memory()[1] / tuning.MEBIBYTE
    finally:
        tracemalloc.stop()
        gc.unfreeze()
