"""The runs that the bounds are held next to: averages, all iterates, their regret.

Two noisy moons, RBF kernel, independent draws, one example a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos import make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import make_toy
from kpegasos.reference import index_stream, kernel_iterates
from kpegasos.theory import data_radius, n_runs

N_SAMPLES, NOISE, GAMMA, LAM = 200, 0.2, 2.0, 0.01
SEEDS, CHUNK = 400, 50
STEPS = (10, 32, 100, 316, 1000, 3162, 10_000)  # all iterates are evaluated
MORE_STEPS = (*STEPS, 31_623, 100_000)  # averages only
DELTAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DELTA = 0.05
DRAWS = 20  # of r, for each run
REGRET_SEEDS = 100  # runs of which the regret is measured


def setting() -> tuple[Any, Any, float]:
    X, y = make_toy("moons", N_SAMPLES, noise=NOISE, random_state=0)
    problem = make_problem(np.where(y == 1, 1, -1), lam=LAM)
    rows = make_rows(X, "rbf", gamma=GAMMA, cache="precomputed")
    return problem, rows, data_radius(X, "rbf", gamma=GAMMA)


def find_optimum() -> tuple[Any, float]:
    problem, rows, radius = setting()
    return sdca(problem, rows, tol=1e-9, max_epochs=20_000, random_state=0), radius


def bracket_optimum() -> dict[str, Any]:
    result, radius = find_optimum()
    return {"f*": result.dual_bound, "relative_gap": result.relative_gap, "R": radius}


def run_averages(steps: list[int], seeds: int, options: dict[str, Any]) -> np.ndarray:
    problem, rows, _ = setting()
    options = {"n_steps": steps[-1], "checkpoints": steps, **options}
    return np.array(
        [
            pegasos(problem, rows, random_state=seed, **options).history["objective_average"]
            for seed in range(seeds)
        ]
    )


def run_iterates(steps: list[int], seeds: range) -> dict[str, Any]:
    """Evaluate w_1 … w_T of each run: their means, and random ones for each share T/s of T."""
    problem, rows, _ = setting()
    every = range(1, steps[-1] + 1)
    options: dict[str, Any] = {"sampling": "uniform", "projection": True, "average": None}
    means, random = [], []
    for seed in seeds:
        run = pegasos(
            problem, rows, n_steps=steps[-1], checkpoints=every, random_state=seed, **options
        )
        objectives = np.array([1.0, *run.history["objective_last"][:-1]])  # w_1 = 0
        means.append([objectives[:n].mean() for n in steps])
        rng = np.random.default_rng(seed)
        shares = [[n // s for n in steps] for s in range(1, n_runs(min(DELTAS)) + 1)]
        random.append([objectives[rng.integers(shares)] for _ in range(DRAWS)])
    return {"means": means, "random": random}


def losses_of(K: np.ndarray, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Give f(w; i) for each example i and each w of signed coefficients, of shape (…, examples)."""
    decisions = coef @ K
    norms = np.sum(coef * decisions, axis=-1, keepdims=True)
    return LAM / 2 * norms + np.maximum(0, 1 - y * decisions)


def run_regrets(steps: list[int], seeds: int) -> dict[str, Any]:
    """Measure the mean regret and the mean objective of w_1 … w_T, without projection.

    And the objective of random iterates among them.
    """
    problem, rows, _ = setting()
    y, K = problem.y, np.asarray(rows.product(np.eye(problem.y.size)))
    rival = losses_of(K, y, np.asarray(find_optimum()[0].coef))
    count = np.arange(1, steps[-1] + 1)
    at = np.array(steps) - 1
    regrets, means, random = [], [], []
    for seed in range(seeds):
        draws = index_stream(y.size, steps[-1], "uniform", seed)
        later = [step.last for step in kernel_iterates(K, y, LAM, draws[:-1])]
        own = losses_of(K, y, np.array([np.zeros(y.size), *later]) * y)
        regret = own[count - 1, draws] - rival[draws]
        regrets.append((np.cumsum(regret) / count)[at])
        objectives = own.mean(axis=1)
        means.append((np.cumsum(objectives) / count)[at])
        rng = np.random.default_rng(seed)
        random.append([objectives[rng.integers(steps)] for _ in range(DRAWS)])
    return {"regrets": regrets, "means": means, "random": random}


def best_of(random: np.ndarray, runs: int) -> np.ndarray:
    """Give the least objective of each ``runs`` runs of T/runs steps, of shape (draws, steps)."""
    groups = random[: len(random) // runs * runs, :, runs - 1]
    return groups.reshape(-1, runs, *groups.shape[1:]).min(axis=1).reshape(-1, groups.shape[-1])
