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


def losses_of(K: np.ndarray, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Give f(w; i) for each example i and each w of signed coefficients, of shape (…, examples)."""
    decisions = coef @ K
    norms = np.sum(coef * decisions, axis=-1, keepdims=True)
    return LAM / 2 * norms + np.maximum(0, 1 - y * decisions)


def evaluate_iterates(n_steps: int, seed: int, projection: bool) -> tuple[np.ndarray, np.ndarray]:
    """Give the draws of a run, and f(w_t; i) of w_1 … w_T for each example i."""
    problem, rows, _ = setting()
    y, K = problem.y, np.asarray(rows.product(np.eye(problem.y.size)))
    draws = index_stream(y.size, n_steps, "uniform", seed)
    later = kernel_iterates(K, y, LAM, draws[:-1], projection=projection)
    coef = [np.zeros(y.size), *(step.last for step in later)]  # w_1 = 0
    return draws, losses_of(K, y, np.array(coef) * y)


def run_iterates(steps: list[int], seeds: range) -> dict[str, Any]:
    """Evaluate w_1 … w_T of each run: their means, and random ones for each share T/s of T.

    With projection.
    """
    shares = [[n // s for n in steps] for s in range(1, n_runs(min(DELTAS)) + 1)]
    means, random = [], []
    for seed in seeds:
        objectives = evaluate_iterates(steps[-1], seed, projection=True)[1].mean(axis=1)
        means.append([objectives[:n].mean() for n in steps])
        rng = np.random.default_rng(seed)
        random.append([objectives[rng.integers(shares)] for _ in range(DRAWS)])
    return {"means": means, "random": random}


def run_regrets(steps: list[int], seeds: int) -> dict[str, Any]:
    """Measure the mean regret of each run, the mean objective of w_1 … w_T, and random ones.

    Without projection.
    """
    problem, rows, _ = setting()
    K = np.asarray(rows.product(np.eye(N_SAMPLES)))
    rival = losses_of(K, problem.y, np.asarray(find_optimum()[0].coef))
    regrets, means, random = [], [], []
    for seed in range(seeds):
        draws, own = evaluate_iterates(steps[-1], seed, projection=False)
        regret = own[np.arange(draws.size), draws] - rival[draws]
        objectives = own.mean(axis=1)
        regrets.append([regret[:n].mean() for n in steps])
        means.append([objectives[:n].mean() for n in steps])
        rng = np.random.default_rng(seed)
        random.append([objectives[rng.integers(steps)] for _ in range(DRAWS)])
    return {"regrets": regrets, "means": means, "random": random}


def best_of(random: np.ndarray, runs: int) -> np.ndarray:
    """Give the least objective of each ``runs`` runs of T/runs steps, of shape (draws, steps)."""
    groups = random[: len(random) // runs * runs, :, runs - 1]
    return groups.reshape(-1, runs, *groups.shape[1:]).min(axis=1).reshape(-1, groups.shape[-1])
