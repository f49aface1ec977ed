"""How far a kernel SVM is from the optimum of the problem that it solves.

The problems differ in the intercept alone. Ours has it as the weight of a constant feature and
penalises its square; `SVC` leaves it free. A model is judged as it stands by the objective of its
own problem, and its suboptimality is the distance to a lower bound of that problem's optimum: ours
to our certified dual bound, the peers' to the objective of their dual, which is a bound because
their coefficients satisfy the equality constraint (to rounding). The best bound of all runs of a
problem counts. Numbers are means over the pairs of classes.

So nobody is held against a problem that they did not set out to solve. For comparison a peer is
also judged by our objective, with the intercept that is best there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import gen_batches

from experiments._kernel_problems import Task
from experiments._runs import hinge_objective
from kpegasos import RBF


def expansion(gamma: float, X: np.ndarray, vectors: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Compute Σ_j coefs_j k(x, vectors_j) for every row of X, in blocks of bounded memory.

    Parameters
    ----------
    gamma : float
        Parameter of the Gaussian kernel.
    X : ndarray of shape (n_samples, n_features)
        Points.
    vectors : ndarray of shape (n_vectors, n_features)
        Support vectors.
    coefs : ndarray of shape (n_vectors,) or (n_vectors, n_outputs)
        Coefficients.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
    """
    kernel = RBF(gamma)
    blocks = gen_batches(X.shape[0], 512)
    return np.concatenate([kernel.block(X[block], vectors) @ coefs for block in blocks])


def _pairs(model: Any) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
    """Yield the two classes of each pair, its support vectors' indices, and coefficients."""
    ends = np.concatenate(([0], np.cumsum(model.n_support_)))
    dual_coef = np.asarray(model.dual_coef_, dtype=float)
    for i, j in combinations(range(model.classes_.size), 2):
        parts = [
            (model.support_[ends[own] : ends[own + 1]], dual_coef[row, ends[own] : ends[own + 1]])
            for own, row in ((i, j - 1), (j, i))
        ]
        if model.classes_.size == 2:
            parts = [(model.support_, dual_coef[0])]
        support, coefs = (np.concatenate(part) for part in zip(*parts, strict=True))
        used = np.flatnonzero(coefs)
        yield (i, j), support[used], coefs[used]


def _at_best_intercept(y: np.ndarray, f: np.ndarray, squared_norm: float, lam: float) -> float:
    """Our objective at the intercept that is best there."""

    def objective(intercept: float) -> float:
        return hinge_objective(y, f + intercept, squared_norm + intercept**2, lam)

    reach = 1.0 + float(np.abs(f).max(initial=0.0))
    best = minimize_scalar(
        objective, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-9}
    )
    return float(best.fun)


def judge(model: Any, task: Task) -> dict[str, float]:
    """Judge a model of `SVC`, or of ours.

    Parameters
    ----------
    model : PegasosSVC or SVC
        A fitted model with the task's Gaussian kernel.
    task : Task
        What it was fitted on.

    Returns
    -------
    dict
        ``objective`` and ``dual_bound`` of the peers' problem, and ``our_objective`` at the
        intercept that is best there.
    """
    labels = np.searchsorted(model.classes_, task.y)
    sign_of_first = 1.0 if model.classes_.size > 2 else -1.0
    found: dict[str, list[float]] = {"objective": [], "dual_bound": [], "our_objective": []}
    for number, ((i, j), support, coefs) in enumerate(_pairs(model)):
        members = np.flatnonzero((labels == i) | (labels == j))
        f = expansion(task.gamma, task.X[members], task.X[support], coefs)
        squared_norm = float(coefs @ f[np.searchsorted(members, support)])
        y = np.where(labels[members] == i, sign_of_first, -sign_of_first)
        lam = 1.0 / (task.C * y.size)
        intercept = float(np.ravel(model.intercept_)[number])
        found["objective"].append(hinge_objective(y, f + intercept, squared_norm, lam))
        found["dual_bound"].append(lam * (float(np.abs(coefs).sum()) - squared_norm / 2))
        found["our_objective"].append(_at_best_intercept(y, f, squared_norm, lam))
    return {name: float(np.mean(values)) for name, values in found.items()}


def own_judgement(model: Any) -> dict[str, float]:
    """Return what one of our models knows about itself."""
    objective = float(np.mean(model.objective_))
    return {
        "objective": objective,
        "dual_bound": objective - float(np.mean(model.duality_gap_)),
        "our_objective": objective,
    }
