"""
Write your own loss
===================

Quantile regression with an interval that holds eight of ten targets, from a loss of thirty lines.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from kpegasos import PegasosSVR

# %%
# The loss of the quantile τ charges τ for each unit that a prediction is too low, and 1 - τ for
# each that it is too high. Its methods get plain numbers and are compiled into the solver.


class Pinball(NamedTuple):
    tau: float = 0.5

    regression = True

    @property
    def lower(self):  # coefficients lie between minus the slopes
        return self.tau - 1.0

    @property
    def upper(self):
        return self.tau

    @property
    def lipschitz(self):
        return max(self.tau, 1.0 - self.tau)

    def value(self, decision, target):
        error = target - decision
        return max(self.tau * error, (self.tau - 1.0) * error)

    def pull(self, decision, target):  # minus the slope
        return self.tau if target > decision else self.tau - 1.0

    def gain(self, beta, target):  # minus the conjugate, for the dual
        return beta * target

    def best(self, beta, decision, target, curvature):  # the dual's maximum in one coordinate
        return min(self.tau, max(self.tau - 1.0, beta + (target - decision) / curvature))


rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, 400))[:, None]
y = np.sin(X[:, 0]) + (0.1 + 0.1 * X[:, 0]) * rng.standard_normal(400)

figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.plot(X[:, 0], y, ".", color="0.7", markersize=4)
for tau in (0.1, 0.5, 0.9):
    model = PegasosSVR(C=10.0, gamma=0.5, loss=Pinball(tau), polish=True, random_state=0).fit(X, y)
    below = np.mean(y <= model.predict(X))
    print(f"τ = {tau}: {below:.1%} of the targets below, gap {model.relative_gap_:.2%} at most")
    ax.plot(X[:, 0], model.predict(X), label=f"τ = {tau}: {below:.0%} below")
ax.set(xlabel="x", ylabel="y", title="Averages, certificates and polish come with the loss")
ax.legend()
plt.show()
