"""Two Gaussian clouds with wrong labels: the population of which test error and L are known."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from kpegasos.datasets import make_gaussian_noise

NOISE, SEPARATION = 0.1, 6.0
LEAST_ERROR = float(NOISE + (1 - 2 * NOISE) * norm.cdf(-SEPARATION / 2))


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
