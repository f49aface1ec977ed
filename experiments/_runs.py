"""Runs that experiments share: sets of data, brackets of the optimum, Pegasos with many seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from experiments._tables import shortened
from kpegasos import Record, linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import (
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
    make_text_like,
    make_toy,
)


class Setting(NamedTuple):
    """Labels ±1, rows for the solver, and a name to read; R = max ‖φ(x)‖ is 1 in all of them."""

    title: str
    y: np.ndarray
    rows: Any


class Split(NamedTuple):
    """Examples of a linear problem, to train and to test with."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def error(self, w: np.ndarray) -> float:
        """Return the share of test examples on the wrong side of w."""
        return float(np.mean((self.X_test @ w > 0) != (self.y_test > 0)))

    def optimum(self, lam: float, **options: Any) -> dict[str, float]:
        """Return the certified optimum, as `sdca` finds it, and the test error there."""
        problem, rows = make_problem(self.y, lam), linear_rows(self.X)
        found = sdca(problem, rows, random_state=0, **options)
        assert found.w is not None
        bounds = {"objective": found.objective, "dual_bound": found.dual_bound}
        return {**bounds, "test_error": self.error(found.w)}


@cache
def documents(n_train: int, n_test: int = 23_149, *shape: Any, **options: Any) -> Split:
    """Make synthetic documents, as many to train with and to test with."""
    X, y = make_text_like(n_train + n_test, *shape, **options)
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def plane(
    decide: Callable[[np.ndarray], Any], X: np.ndarray, away: float, n: int
) -> dict[str, Any]:
    """Return what a picture of regions has: n × n points of the plane, and decisions there."""
    xx, yy = np.linspace(X.min(axis=0) - away, X.max(axis=0) + away, n).T
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx, yy)])
    values = shortened(np.reshape(decide(grid), (n, n)), 3)
    return {"xx": xx.round(4), "yy": yy.round(4), "values": values, "X": X.round(3)}


def moons(n_samples: int, noise: float = 0.2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make two moons with labels ±1."""
    X, y = make_toy("moons", n_samples, noise=noise, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


#: Sets that are split at random: what they are called, and the width of the RBF kernel, about the
#: best of a few for each.
SETS: dict[str, tuple[str, float]] = {
    "moons": ("two moons", 2.0),
    "mnist": ("MNIST 4/9", 0.02),
    "usps": ("USPS odd/even", 2 / 256),
    "fashion": ("T-shirt/shirt", 0.03),
    "adult": ("Adult", 0.05),
    "covtype": ("Covertype", 10.0),
}


@cache
def pool(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Make or load all examples of one of the `SETS`, of training and test, with labels ±1."""
    if name == "moons":
        X, y = moons(8000, noise=0.3)
        return X.astype(np.float32), y
    if name == "adult":
        data = load_adult()
        return data.X_train.toarray().astype(np.float32), data.y_train
    if name == "covtype":
        data = load_covtype()
        return np.array(data.X_train[:20_000]), data.y_train[:20_000]
    data = {"mnist": load_mnist, "usps": load_usps, "fashion": load_fashion_mnist}[name]()
    X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    if name == "usps":
        return X, np.where(y % 2 == 0, 1, -1)
    first, second = (4, 9) if name == "mnist" else (0, 6)
    chosen = np.isin(y, (first, second))
    return X[chosen], np.where(y[chosen] == first, 1, -1)


class Draw:
    """A random split of one of the `SETS` into examples to train and to test with."""

    def __init__(self, name: str, seed: int, n_train: int, n_test: int) -> None:
        X, y = pool(name)
        order = np.random.default_rng(seed).permutation(y.size)
        train, test = order[:n_train], order[n_train : n_train + n_test]
        self.gamma = SETS[name][1]
        self.X, self.y, self.X_test, self.y_test = X[train], y[train], X[test], y[test]


@cache
def setting(name: str) -> Setting:
    """Make the data and rows of ``"moons"``, ``"rcv1"``, ``"adult"`` or ``"usps"``."""
    if name == "moons":
        X, y = moons(1000)
        return Setting("moons, RBF", y, make_rows(X, "rbf", gamma=2.0, cache="precomputed"))
    if name == "rcv1":
        data = load_rcv1_sample()
        return Setting("RCV1 sample, linear", data.y_train, linear_rows(data.X_train))
    if name == "adult":
        data = load_adult()
        X = normalize(data.X_train)  # rows of length one, as those of the papers' texts
        return Setting("Adult, linear", data.y_train, linear_rows(X))
    if name == "usps":
        data = load_usps()
        rows = make_rows(data.X_train, "rbf", gamma=2 / 256, cache="precomputed")
        y = np.where(data.y_train == 8, 1, -1)
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


#: Columns of a history by the names of what is drawn.
COLUMNS = {"last": "objective_last", "average": "objective_average"}


def histories(
    problem: Any, rows: Any, seeds: int, columns: Mapping[str, str] = COLUMNS, **options: Any
) -> dict[str, np.ndarray]:
    """Run Pegasos with each seed.

    Parameters
    ----------
    problem, rows
        As `pegasos` takes them.
    seeds : int
        Number of runs.
    columns : dict of str to str
        Columns of the histories by the names that they are to have.
    **options
        Options of `pegasos`.

    Returns
    -------
    dict
        The ``"steps"`` of the checkpoints, and each column with a row for each seed.
    """
    runs = [pegasos(problem, rows, random_state=seed, **options).history for seed in range(seeds)]
    found = {name: np.array([run[column] for run in runs]) for name, column in columns.items()}
    return {"steps": runs[0]["iteration"], **found}


def first_record(
    problem: Any, rows: Any, points: list[int], reached: Callable[[Any], bool], **options: Any
) -> Record | None:
    """Run Pegasos up to the first of some steps at which a goal is reached; None if it never is."""
    found: list[Record] = []

    def watch(run: Any) -> bool:
        if reached(run):
            found.append(run.history[-1])
        return bool(found)

    pegasos(problem, rows, n_steps=points[-1], checkpoints=points, monitor=watch, **options)
    return found[0] if found else None


def first_within(
    problem: Any, rows: Any, points: list[int], goal: float, **options: Any
) -> Record | None:
    """Run Pegasos up to the first of some steps at which the average's objective is at a goal."""

    def reached(run: Any) -> bool:
        return bool(run.history[-1].objective_average <= goal)

    return first_record(problem, rows, points, reached, **options)


def spaced(last: float, per_decade: int, first: float = 1.0) -> list[int]:
    """Return steps that are evenly spaced in their logarithm."""
    numbers = np.arange(0, per_decade * np.log10(last / first) + 0.5)
    return sorted({round(step) for step in first * 10 ** (numbers / per_decade)})
