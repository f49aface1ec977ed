"""What an early end has left of an estimator: everything that a later call could depend on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.fitting.pairs import pair_coefficients
from tests.campaigns._reference import bracket, make_problem

#: Times differ from fit to fit, and functions are what they are.
_NOT_COMPARED = {"seconds", "_kernel", "kernel", "history_", "history"}


def contents(value: Any) -> Any:
    """Any object as nested tuples that compare equal if and only if the numbers' bits do."""
    if sparse.issparse(value):
        value = value.tocsr()
        return contents([value.shape, value.data, value.indices, value.indptr])
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, dict):
        names = sorted(name for name in value if name not in _NOT_COMPARED)
        return tuple((name, contents(value[name])) for name in names)
    if isinstance(value, (list, tuple)):
        return tuple(contents(entry) for entry in value)
    if dataclasses.is_dataclass(value):
        return contents({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, np.generic | float):
        return np.asarray(value).tobytes()
    if hasattr(value, "__dict__") and not callable(value):
        return contents(vars(value))
    return str(value) if callable(value) else value


def model_of(estimator: Any) -> Any:
    """The contents of all attributes that fitting makes, histories without their times."""
    made = {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") or name in ("_online", "_states", "_states_digest")
    }
    histories = made.get("history_", [])
    histories = histories if isinstance(histories, list) else [histories]
    objectives = [history["objective_average"] for history in histories]
    return contents(made), contents(objectives), "history_" in made


def check_usable(estimator: Any, X: Any, n_features: int) -> None:
    """A model decides on all examples, and on no others."""
    assert estimator.n_features_in_ == n_features
    decisions = estimator.decision_function(X)
    assert np.isfinite(decisions).all()
    assert set(estimator.predict(X)) <= set(estimator.classes_)
    wider = np.zeros((2, n_features + 1))
    try:
        estimator.decision_function(wider)
    except ValueError:
        return
    raise AssertionError("rows of another width were accepted")


def check_certificate(estimator: Any, X: Any, y: np.ndarray, gram: np.ndarray) -> None:
    """The objective is the model's own, and no model has a lower one than the bound.

    Parameters
    ----------
    estimator : PegasosSVC or LinearPegasosSVC
        With an intercept_scaling of 1 and without weights.
    X, y : array-like
        What it was fitted on.
    gram : ndarray of shape (n_samples, n_samples)
        Kernel values.
    """
    decisions = estimator._decisions_of_pairs(X)
    labels = np.searchsorted(estimator.classes_, y)
    n_classes = estimator.classes_.size
    coefs = np.zeros((decisions.shape[1], len(y)))
    coefs[:, estimator.support_] = pair_coefficients(estimator.dual_coef_, estimator.n_support_)
    number = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            members = np.flatnonzero((labels == i) | (labels == j))
            sign = np.where(labels[members] == (j if n_classes == 2 else i), 1.0, -1.0)
            lam = np.ravel(estimator.lam_)[number]
            coef = coefs[number]
            norm = coef @ gram @ coef + coef.sum() ** 2
            hinge = np.maximum(0.0, 1.0 - sign * decisions[members, number]).mean()
            claimed = np.ravel(estimator.objective_)[number]
            np.testing.assert_allclose(claimed, lam / 2 * norm + hinge, rtol=1e-7)
            gap = np.ravel(estimator.duality_gap_)[number]
            # No optimum is negative, but rounding of the objective is part of a gap.
            assert 0 <= gap <= claimed * (1 + 1e-6), (gap, claimed)
            kernel = gram[np.ix_(members, members)] + 1.0  # of the constant feature
            task = make_problem(kernel, np.zeros_like(kernel), sign, np.ones(members.size), lam)
            low, high = bracket(task, [coef[members]])
            assert claimed - gap <= high * (1 + 1e-9), (claimed - gap, high)
            assert claimed >= low * (1 - 1e-9), (claimed, low)
            number += 1
