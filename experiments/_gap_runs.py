"""Runs of `gap_and_error`: data, and gap, suboptimality and test error at the same checkpoints."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kpegasos import PegasosSVC, make_problem, make_rows, pegasos, regularization_path
from kpegasos.datasets import (
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_usps,
    make_toy,
)

#: Sets by what they are called in figures.
TITLES = {
    "moons": "two moons",
    "mnist": "MNIST 4/9",
    "usps": "USPS odd/even",
    "fashion": "T-shirt/shirt",
    "adult": "Adult",
    "covtype": "Covertype",
}
#: Width of the RBF kernel, about the best of a few for each set.
GAMMAS = {
    "moons": 2.0,
    "mnist": 0.02,
    "usps": 2 / 256,
    "fashion": 0.03,
    "adult": 0.05,
    "covtype": 10.0,
}
#: Relative gap that is as good as none.
EXACT = 1e-3
#: An error is final if it is at most so many standard errors above that of the exact solution.
NEAR = 1.0


class Pool(NamedTuple):
    """Examples to draw from, labels ±1."""

    X: np.ndarray
    y: np.ndarray


def _two_classes(X: np.ndarray, y: np.ndarray, classes: tuple[int, int]) -> Pool:
    chosen = np.isin(y, classes)
    return Pool(X[chosen], np.where(y[chosen] == classes[0], 1, -1))


@cache
def pool(name: str) -> Pool:
    """Make or load all examples of a set, of training and test."""
    if name == "moons":
        X, y = make_toy("moons", 8000, noise=0.3, random_state=0)
        return Pool(X.astype(np.float32), np.where(y == 1, 1, -1))
    if name == "adult":
        data = load_adult()
        return Pool(data.X_train.toarray().astype(np.float32), data.y_train)
    if name == "covtype":
        data = load_covtype()
        return Pool(np.array(data.X_train[:20_000]), data.y_train[:20_000])
    data = {"mnist": load_mnist, "usps": load_usps, "fashion": load_fashion_mnist}[name]()
    X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    if name == "usps":
        return Pool(X, np.where(y % 2 == 0, 1, -1))
    return _two_classes(X, y, (4, 9) if name == "mnist" else (0, 6))


def _rbf(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    """Kernel values of test examples, in float32 as those of the rows."""
    a, b = (np.einsum("ij,ij->i", part, part) for part in (A, B))
    squares = a[:, None] + b - 2 * (A @ B.T)
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0)))


class Draw:
    """A random split of a set into examples to train and to test with."""

    def __init__(self, name: str, seed: int, n_train: int, n_test: int) -> None:
        X, y = pool(name)
        order = np.random.default_rng(seed).permutation(y.size)
        train, test = order[:n_train], order[n_train : n_train + n_test]
        self.seed, self.gamma = seed, GAMMAS[name]
        self.X, self.y = X[train], y[train]
        self.y_test = y[test]
        self.X_test = X[test]
        self.kernel_test = _rbf(self.X_test, self.X, self.gamma)

    def error(self, coef: np.ndarray) -> float:
        """Test error of a model by its signed coefficients."""
        decisions = self.kernel_test @ coef.astype(np.float32)
        return float(np.mean(np.where(decisions > 0, 1, -1) != self.y_test))

    def deviation(self, exact: dict[str, float]) -> float:
        """Standard error of the test error of the exact solution."""
        return float(np.sqrt(exact["error"] * (1 - exact["error"]) / self.y_test.size))


def exact_models(draw: Draw, Cs: tuple[float, ...]) -> list[dict[str, float]]:
    """Bracket of the minimum and test error of the solution for each C."""
    rows = make_rows(draw.X, "rbf", gamma=draw.gamma)
    path = regularization_path(make_problem(draw.y, C=1.0), rows, Cs, tol=EXACT, random_state=0)
    return [
        {"minimum": bound, "error": draw.error(coef)}
        for bound, coef in zip(path.dual_bounds, path.coefs, strict=True)
    ]


def pegasos_run(
    draw: Draw, C: float, epochs: list[float], exact: dict[str, float]
) -> dict[str, Any]:
    """What a run of Pegasos has at each checkpoint: gap, error, and what they cost.

    It goes on for one more step: the last record of a run has the rounding of a model that is
    handed over in its gap, and the kernel values that this took.
    """
    m = draw.y.size
    rows = make_rows(draw.X, "rbf", gamma=draw.gamma, cache="cached")
    errors: list[float] = []

    def look(run: Any) -> None:
        errors.append(draw.error(run.iterates()[-1].coefficients(run.state.loop) * draw.y))

    checkpoints = [round(epoch * m) for epoch in epochs]
    history = pegasos(
        make_problem(draw.y, C=C),
        rows,
        n_steps=checkpoints[-1] + 1,
        checkpoints=checkpoints,
        random_state=draw.seed,
        monitor=look,
    ).history[:-1]
    above = history["objective_average"] - exact["minimum"]
    return {
        "error": exact["error"],
        "deviation": draw.deviation(exact),
        "gap": _short(history["relative_gap"]),
        "ratio": _short(history["gap"] / np.maximum(above, 1e-12)),
        "excess": _short((np.array(errors[:-1]) - exact["error"]) / draw.deviation(exact)),
        "values": _short(history["kernel_evaluations"] / m**2),
    }


def polished(draw: Draw, C: float, tol: float, exact: dict[str, float]) -> dict[str, float]:
    """Kernel values for each pair of examples, and error above the final one, of `polish=True`."""
    model = PegasosSVC(
        C=C,
        gamma=draw.gamma,
        fit_intercept=False,
        polish=True,
        tol=tol,
        cache="cached",
        random_state=draw.seed,
    ).fit(draw.X, draw.y)
    error = float(np.mean(model.predict(draw.X_test) != draw.y_test))
    excess = (error - exact["error"]) / draw.deviation(exact)
    values = model.history_["kernel_evaluations"][-1] / draw.y.size**2
    return dict(zip(("excess", "values"), _short(np.array([excess, values])), strict=True))


def settled(excess: list[float]) -> int | None:
    """Return the checkpoint from which on the error stays final; None if that is beyond the end."""
    late = np.flatnonzero(np.array(excess) > NEAR)
    first = int(late[-1]) + 1 if late.size else 0
    return first if first < len(excess) else None


def _short(values: np.ndarray) -> list[float]:
    """Keep four digits, which is more than is known."""
    return [float(f"{value:.4g}") for value in values]
