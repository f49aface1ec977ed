"""A small problem for any loss, for the tests of loops."""

import naive_losses
import numpy as np

from kpegasos.core.state import Examples

N, LAM = 12, 0.02


class FewPoints:
    """A few points, their kernel matrix and targets of a loss."""

    def __init__(self, loss):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(N, 2))
        self.K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))
        number = X[:, 0] + 0.5 * rng.normal(size=N)
        self.y = number if loss.regression else np.where(number > 0, 1.0, -1.0)
        self.weight = rng.uniform(0.5, 1.5, N)
        self.weight /= self.weight.mean()
        direction = np.ones(N) if loss.regression else self.y
        self.examples = Examples(self.y, self.weight * direction, loss)
        self.name, self.parameters = type(loss).__name__, loss._asdict()

    def objective(self, coef):
        return naive_losses.objective(
            self.name, self.K, self.y, LAM, coef, weight=self.weight, **self.parameters
        )

    def optimum(self):
        return naive_losses.optimum(
            self.name, self.K, self.y, LAM, weight=self.weight, **self.parameters
        )
