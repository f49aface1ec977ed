"""Streams of numbers, and the losses by which they are learned, that two test files share."""

import naive_losses
import numpy as np
import pytest

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
