"""The problems of `equal_seconds`: four sets, with C and γ of the kernel benchmark."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments._kernel_problems import PROBLEMS, Task, load
from kpegasos.datasets import load_covtype

COVERTYPE = "Covertype"
#: Covertype's width and C are those of this problem of the benchmark, which has fewer examples.
_LIKE = "Covertype, C = 10"
NAMES = ("Fashion-MNIST", "MNIST 8", "Adult", COVERTYPE)
_TRAINING, _TEST = 100_000, 20_000


@cache
def make_task(name: str, n_samples: int | None = None) -> Task:
    """Make a problem, of its first training examples if a number is given."""
    return _covertype(n_samples) if name == COVERTYPE else load(name, n_samples)


def _covertype(n_samples: int | None) -> Task:
    """Take the first 100,000 of the training and 20,000 of the test examples, standardised."""
    data, scaler = load_covtype(), StandardScaler()
    n_training = n_samples or _TRAINING
    X = scaler.fit_transform(data.X_train[:n_training]).astype(np.float32)
    X_test = scaler.transform(data.X_test[:_TEST]).astype(np.float32)
    _, gamma, C = PROBLEMS[_LIKE]
    return Task(X, data.y_train[:n_training], X_test, data.y_test[:_TEST], float(gamma), C)


def describe(task: Task) -> dict[str, Any]:
    """Return the sizes and parameters of a problem."""
    return {
        "examples": len(task.y),
        "features": task.X.shape[1],
        "classes": len(np.unique(task.y)),
        "test_examples": len(task.y_test),
        "C": task.C,
        "gamma": task.gamma,
    }
