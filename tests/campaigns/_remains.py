"""What an estimator holds and claims: all that a later call could depend on, and certificates."""

import dataclasses
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from kpegasos import LinearPegasosSVC
from tests.campaigns._reference import make_problem, solve

#: Times differ from fit to fit, and with them the slices of a run, at whose ends rows that are not
#: kept are computed again; functions are what they are.
_NOT_COMPARED = {"seconds", "evaluations", "_kernel", "kernel", "history_", "history"}


def contents(value):
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


def model_of(estimator):
    """The contents of all attributes that fitting makes, histories without their times."""
    names = ("_online", "_states", "_states_origin")
    made = {k: value for k, value in vars(estimator).items() if k.endswith("_") or k in names}
    histories = made.get("history_", [])
    histories = histories if isinstance(histories, list) else [histories]
    objectives = [history["objective_average"] for history in histories]
    return contents(made), contents(objectives), "history_" in made


def check_usable(estimator, X, n_features):
    """A model decides on all examples, and on no others."""
    assert estimator.n_features_in_ == n_features
    assert np.isfinite(estimator.decision_function(X)).all()
    assert set(estimator.predict(X)) <= set(estimator.classes_)
    with pytest.raises(ValueError, match="features"):
        estimator.decision_function(np.zeros((2, n_features + 1)))


class Claim(NamedTuple):
    """What a fit says of one binary problem."""

    members: np.ndarray
    y: np.ndarray
    coef: np.ndarray
    intercept: float
    w: np.ndarray | None
    objective: float
    gap: float
    relative_gap: float
    lam: float
    n_steps: int
    alpha: np.ndarray
    history: Any


def decisions_of_pairs(estimator, X):
    """Decisions of all pairs, whatever the shape that ``decision_function`` has."""
    return estimator._decide(estimator._validate(X, reset=False))


def claims_of(model, y, weight):
    """What a fitted estimator says of each pair of classes, fitted on labels and weights."""
    coefs = np.zeros((model.classes_.size - 1, y.size))
    coefs[:, model.support_] = model.dual_coef_
    pairs = list(combinations(range(model.classes_.size), 2))
    histories = [model.history_] if len(pairs) == 1 else model.history_
    alphas = model.alpha_[None] if len(pairs) == 1 else model.alpha_.toarray()
    names = ("objective_", "duality_gap_", "relative_gap_", "lam_", "n_steps_")
    columns = [np.atleast_1d(getattr(model, name)) for name in names]
    claims = []
    for number, (i, j) in enumerate(pairs):
        first, second = (y == model.classes_[k] for k in (i, j))
        members = np.flatnonzero((first | second) & (weight > 0))
        y_of_pair = np.where(second if len(pairs) == 1 else first, 1.0, -1.0)[members]
        coef = np.where(first, coefs[j - 1], coefs[i])[members]
        w = model.coef_[number] if isinstance(model, LinearPegasosSVC) else None
        told = [model.intercept_[number], w, *(column[number] for column in columns)]
        last = alphas[number][members], histories[number]
        claims.append(Claim(members, y_of_pair, coef, *told, *last))
    return claims


def check_certificate(estimator, X, y, gram):
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
    claims = claims_of(estimator, y, np.ones(len(y)))
    for claim, decisions in zip(claims, decisions_of_pairs(estimator, X).T, strict=True):
        kernel = gram[np.ix_(claim.members, claim.members)] + 1.0  # of the constant feature
        hinge = np.maximum(0.0, 1.0 - claim.y * decisions[claim.members]).mean()
        own = claim.lam / 2 * (claim.coef @ kernel @ claim.coef) + hinge
        np.testing.assert_allclose(claim.objective, own, rtol=1e-7)
        # No optimum is negative, but rounding of the objective is part of a gap.
        assert 0 <= claim.gap <= claim.objective * (1 + 1e-6)
        weight = np.ones(claim.y.size)
        task = make_problem(kernel, np.zeros_like(kernel), claim.y, weight, claim.lam)
        low, high, _ = solve(task, [claim.coef])
        assert claim.objective - claim.gap <= high * (1 + 1e-9)
        assert claim.objective >= low * (1 - 1e-9)
