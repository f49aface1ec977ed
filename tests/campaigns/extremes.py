"""Whatever the sizes of numbers, a fit ends in a finite model or in one clear sentence.

A trial fits an estimator, or a chunk of a stream, to few examples. Parameters, weights and features
are drawn on a logarithmic scale from one end of the floats to the other.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC

CI_TRIALS = 80

#: Powers of ten that a parameter may have.
RANGES = {
    "C": (-110, 110),
    "lam": (-110, 110),
    "epochs": (-3, 1),
    "intercept_scaling": (-320, 60),
    "tol": (-320, 300),
    "gamma": (-320, 308),
    "coef0": (-320, 308),
    "cache_mb": (-3, 308),
}
KERNELS = ["rbf", "poly", "linear", "sigmoid", "laplacian"]
LARGEST = {np.float32: 38, np.float64: 307}


def trial(rng: np.random.Generator) -> str:
    """One fit; an error is a ValueError that names a parameter."""
    model = _estimator(rng)
    n_classes = int(rng.integers(2, 4))
    y = np.arange(24) % n_classes
    X = rng.normal(size=(24, 3)) + y[:, None]
    dtype = [np.float32, np.float64][rng.integers(2)]
    if rng.random() < 0.5:
        X = X * 10.0 ** rng.uniform(-LARGEST[dtype], LARGEST[dtype] - 1)
    rows: Any = X.astype(dtype)
    if rng.random() < 0.3:
        rows = sparse.csr_matrix(rows)
    weight = _weights(rng)
    stream = isinstance(model, LinearPegasosSVC) and rng.random() < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # what overflows is looked at below
        try:
            if stream:
                classes = range(n_classes)
                model.partial_fit(rows, y, classes=list(classes), sample_weight=weight)
            else:
                model.fit(rows, y, sample_weight=weight)
        except ValueError as error:
            return _refusal(model, str(error))
        decisions = model.decision_function(rows)
    assert np.isfinite(decisions).all(), (model, decisions)
    assert np.isfinite(model.intercept_).all(), (model, model.intercept_)
    if stream:
        return "a stream, finite"
    assert np.isfinite(model.dual_coef_).all(), (model, model.dual_coef_)
    assert np.isfinite(model.objective_).all(), (model, model.objective_)
    gap, relative = np.asarray(model.duality_gap_), np.asarray(model.relative_gap_)
    assert ((gap >= 0) & (gap < np.inf) | np.isnan(gap)).all(), (model, gap)
    assert ((relative >= 0) & (relative < np.inf) | np.isnan(relative)).all(), (model, relative)
    certified = bool(np.isfinite(gap).all())
    assert not certified or getattr(model, "kernel", None) != "sigmoid", model
    return f"a model, finite, {'with' if certified else 'without'} a certificate"


def _estimator(rng: np.random.Generator) -> Any:
    parameters: dict[str, Any] = {
        name: 10.0 ** rng.uniform(*ends) for name, ends in RANGES.items() if rng.random() < 0.3
    }
    parameters |= {
        "fit_intercept": bool(rng.random() < 0.5),
        "projection": bool(rng.random() < 0.3),
        "average": ["weighted", "suffix", "uniform", None][rng.integers(4)],
        "batch_size": int(rng.integers(1, 4)),
        "max_time": 0.1,
        "random_state": 0,
    }
    if rng.random() < 0.3:
        parameters["class_weight"] = {0: 10.0 ** rng.uniform(-210, 210)}
    if rng.random() < 0.5:
        for name in ("gamma", "coef0", "cache_mb"):
            parameters.pop(name, None)
        return LinearPegasosSVC(**parameters)
    kernel = KERNELS[rng.integers(len(KERNELS))]
    if rng.random() < 0.3:
        parameters["degree"] = int(10 ** rng.uniform(0, 9))
    if kernel == "sigmoid":
        parameters.pop("tol", None)
    return PegasosSVC(kernel=kernel, **parameters)


def _weights(rng: np.random.Generator) -> np.ndarray | None:
    kind = rng.integers(4)
    if kind == 0:
        return np.full(24, 10.0 ** rng.uniform(-320, 307))
    if kind == 1:
        return 10.0 ** rng.uniform(-105, 105, 24)
    return None


def _refusal(model: Any, message: str) -> str:
    named = [name for name in (*model.get_params(), "sample_weight", "X") if _names(message, name)]
    assert named, (model, message)
    assert "must" in message, (model, message)
    assert "\n" not in message, message
    assert len(message) < 400, message
    return "one clear sentence"


def _names(message: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", message) is not None
