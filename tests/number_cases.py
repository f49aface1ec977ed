"""Streams of numbers, and the losses by which they are learned, that two test files share."""

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
