"""Problems that several experiments share: data, kernel, and the bracket of the optimum."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from kpegasos import linear_rows, make_problem, make_rows, sdca
from kpegasos.datasets import load_adult, load_rcv1_sample, load_usps, make_toy


class Setting(NamedTuple):
    """Labels ±1, rows for the solver, and a name to read; R = max ‖φ(x)‖ is 1 in all of them."""

    title: str
    y: np.ndarray
    rows: Any


@cache
def setting(name: str) -> Setting:
    """Make the data and rows of ``"moons"``, ``"rcv1"``, ``"adult"`` or ``"usps"``."""
    if name == "moons":
        X, y = make_toy("moons", 1000, noise=0.2, random_state=0)
        rows: Any = make_rows(X, "rbf", gamma=2.0, cache="precomputed")
        return Setting("moons, RBF", np.where(y == 1, 1, -1), rows)
    if name == "rcv1":
        data = load_rcv1_sample()
        return Setting("RCV1 sample, linear", data.y_train, linear_rows(data.X_train))
    if name == "adult":
        data = load_adult()
        X = normalize(data.X_train)  # rows of length one, as those of the papers' texts
        return Setting("Adult, linear", data.y_train, linear_rows(X))
    if name == "usps":
        data = load_usps()
        y = np.where(data.y_train == 8, 1, -1)
        rows = make_rows(data.X_train, "rbf", gamma=2 / 256, cache="precomputed")
        return Setting("USPS 8 against the rest, RBF", y, rows)
    raise ValueError(f"name must be 'moons', 'rcv1', 'adult' or 'usps', got {name!r}")


def hinge_objective(y: np.ndarray, decisions: np.ndarray, squared_norm: float, lam: float) -> float:
    """Return λ/2 ‖w‖² + mean hinge loss, from the labels ±1, the f(x_i) and ‖w‖²."""
    return float(lam / 2 * squared_norm + np.maximum(0.0, 1 - y * decisions).mean())


def bracket(name: str, lam: float, tol: float, max_epochs: int = 20_000) -> dict[str, Any]:
    """Bracket the optimum by dual coordinate ascent; ``"f*"`` is the lower end."""
    _, y, rows = setting(name)
    problem = make_problem(y, lam)
    result = sdca(problem, rows, tol=tol, max_epochs=max_epochs, random_state=0)
    return {"f*": result.dual_bound, "objective": result.objective, "gap": result.gap}
