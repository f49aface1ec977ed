"""Two Gaussian clouds with wrong labels, whose test error and objective are known; runs on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from experiments._tables import percentiles
from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.datasets import make_gaussian_noise
from kpegasos.theory import data_radius

#: Share of wrong labels, and the distance of the centres in standard deviations.
NOISE, SEPARATION = 0.1, 6.0
LEAST_ERROR = float(NOISE + (1 - 2 * NOISE) * norm.cdf(-SEPARATION / 2))
#: Of the runs, a fraction that may be worse than what is told of the others.
DELTA = 0.05
#: Runs that stop at random, for each training set.
STOPS_OF_A_SET = 10


class Population:
    """The two clouds: margins are normal, so that error and mean hinge loss are known."""

    def __init__(self, d: int, lam: float) -> None:
        self.lam = lam
        scale = np.sqrt(d + SEPARATION**2 / 4) + 5  # the typical norm and five deviations
        self.deviation = float(1 / scale)
        self.centre = np.full(d, SEPARATION / 2 / np.sqrt(d) / scale)

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw features and labels -1 and +1."""
        X, y = make_gaussian_noise(
            n,
            n_features=self.centre.size,
            noise=NOISE,
            separation=SEPARATION,
            random_state=seed,
        )
        return X * self.deviation, 2 * y - 1

    def error(self, w: np.ndarray) -> float:
        """Probability that w is wrong."""
        wrong = norm.cdf(-w @ self.centre / (np.linalg.norm(w) * self.deviation))
        return float(NOISE + (1 - 2 * NOISE) * wrong)

    def objective(self, w: np.ndarray) -> float:
        """Value of L at w."""
        length = np.linalg.norm(w)
        margin, spread = w @ self.centre, length * self.deviation

        def hinge(mean: float) -> float:
            gap = 1 - mean
            return float(gap * norm.cdf(gap / spread) + spread * norm.pdf(gap / spread))

        loss = (1 - NOISE) * hinge(margin) + NOISE * hinge(-margin)
        return self.lam / 2 * float(length**2) + loss

    def optimum(self) -> float:
        """Least L: by symmetry its minimiser points along the centre."""
        along = self.centre / np.linalg.norm(self.centre)
        found = minimize_scalar(
            lambda length: self.objective(length * along), bounds=(1e-6, 1e3), method="bounded"
        )
        return float(found.fun)


def run_curves(
    d: int, lam: float, n: int, steps: list[int], seeds: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Test error (20%, 50%, 80% of the runs) and excess of L (50%, 1 − δ) after each T."""
    population = Population(d, lam)
    optimum = population.optimum()
    errors, excess, longest = np.empty((seeds, len(steps))), np.empty((seeds, len(steps))), 0.0
    for seed in range(seeds):
        X, y = population.draw(n, seed)
        longest = max(longest, data_radius(X))
        problem, rows = make_problem(y, lam), linear_rows(X)
        options = {**options, "checkpoints": None, "random_state": seed}
        state, done = None, 0
        for i, step in enumerate(steps):
            result = pegasos(problem, rows, n_steps=step - done, state=state, **options)
            state, done = result.state, step
            w = np.asarray(result.w)
            errors[seed, i] = population.error(w)
            excess[seed, i] = population.objective(w) - optimum
    return {
        "steps": steps,
        "error": percentiles(errors),
        "excess": np.percentile(excess, [50, 100 * (1 - DELTA)], axis=0),
        "largest_norm": longest,
    }


def run_stops(d: int, lam: float, n: int, horizon: int, stops: int) -> dict[str, Any]:
    """Test error and excess of L of runs that stop after 1 to T steps, each as likely."""
    population = Population(d, lam)
    optimum, rng = population.optimum(), np.random.default_rng(horizon)
    errors, excess = [], []
    for first in range(0, stops, STOPS_OF_A_SET):
        X, y = population.draw(n, first)
        problem, rows = make_problem(y, lam), linear_rows(X)
        for seed in range(first, first + STOPS_OF_A_SET):
            steps = int(rng.integers(1, horizon + 1))
            options: dict[str, Any] = {"sampling": "permutation", "average": None}
            options |= {"checkpoints": None, "random_state": seed}
            run = pegasos(problem, rows, n_steps=steps, **options)
            w = np.asarray(run.w)
            errors.append(population.error(w))
            excess.append(population.objective(w) - optimum)
    return {"errors": errors, "excess": excess}
