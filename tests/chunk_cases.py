"""Chunks and partitions of examples that several test files share."""

import naive
import naive_losses
import numpy as np
import pytest

from kpegasos import LinearPegasosSVC
from kpegasos.core.draws import IndexStream
from kpegasos.large import fit_chunks
from kpegasos.utils.validation import draw_seed

NAMES = {
    "epsilon_insensitive": "EpsilonInsensitive",
    "squared_epsilon_insensitive": "SquaredEpsilonInsensitive",
    "huber": "Huber",
}
EACH = pytest.mark.parametrize("loss", NAMES)


def data(n_samples=120, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    y = X @ np.arange(1.0, n_features + 1.0) + 3.0 + 0.2 * rng.normal(size=n_samples)
    return X, y, rng.uniform(0.5, 4.0, n_samples)


def parameter_of(loss):
    return {"delta" if loss == "huber" else "epsilon": 0.1}


def cost_at_zero(loss, y, weight):
    losses = naive_losses.LOSSES[NAMES[loss]](np.zeros_like(y), y, **parameter_of(loss))
    return weight * losses


def radii_of(cost, lam, visits):
    """Largest ``sqrt(P(0) / lam)`` of what has come by each visit, for each of its examples."""
    radius, radii, seen = 0.0, [], np.empty(0, np.int64)
    for visit in visits:
        seen = np.concatenate((seen, visit))
        radius = max(radius, np.sqrt(cost[seen].mean() / lam))
        radii.append(np.full(visit.size, radius))
    return np.concatenate(radii)


def visits_of(n_samples, chunk_size, n_epochs, sampling="permutation"):
    """The examples in the order in which a fit over chunks draws them, visit by visit."""
    seed = draw_seed(0)
    starts = np.arange(0, n_samples, chunk_size)
    visits = []
    for epoch in range(n_epochs):
        for chunk in IndexStream(starts.size, "permutation", seed).epoch(epoch):
            size = min(chunk_size, n_samples - starts[chunk])
            within = IndexStream(size, sampling, seed, (0, len(visits))).take(0, size)
            visits.append(starts[chunk] + within)
    return visits


def in_chunks(array, sizes):
    """A Dask array of parts with so many rows."""
    da = pytest.importorskip("dask.array")
    return da.from_array(array, chunks=(tuple(sizes), *array.shape[1:]))


def fitted(chunks, **arguments):
    """Weights that a classifier learns from chunks."""
    model = LinearPegasosSVC(lam=1e-3, random_state=0)
    return fit_chunks(model, chunks, classes=[-1, 1], **arguments).coef_


def vector(model):
    """Weights, and the intercept behind them."""
    return np.append(model.coef_, model.intercept_)


def by_the_book(integers, draws, average, rows=slice(None)):
    """The vector after steps on some rows of integers."""
    X, y = integers.X[rows], integers.y[rows]
    run = naive.linear_pegasos(X, y, draws, integers.lam, intercept_scaling=1)
    return np.array([float(v) for v in naive.average(run.iterates, average)])
