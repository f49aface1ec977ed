"""
Convergence and the bounds of the theory
========================================

The functional layer: one binary problem, many seeds, and the theorems beside the measurement.
"""

import matplotlib.pyplot as plt
import numpy as np

from kpegasos import make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import make_toy
from kpegasos.plotting import COLORS, ConvergenceDisplay
from kpegasos.theory import average_iterate_bound, data_radius, weighted_average_bound

X, y = make_toy("moons", 200, noise=0.2, random_state=0)
problem = make_problem(y, lam=0.01)
rows = make_rows(X, "rbf", gamma=2.0)

# %%
# Dual coordinate ascent brackets the minimum, here to nine digits.

optimum = sdca(problem, rows, tol=1e-9, max_epochs=20_000, random_state=0).dual_bound
print(f"f* = {optimum:.6f}")

# %%
# The bounds hold in expectation, for independent draws. ``R`` is the largest norm in feature space,
# 1 for the RBF kernel.

options = {"n_steps": 20_000, "sampling": "uniform", "average": "weighted", "checkpoints": "log"}
runs = [pegasos(problem, rows, random_state=seed, **options) for seed in range(20)]
where = {"lam": problem.lam, "radius": data_radius(X, "rbf", gamma=2.0)}

steps = np.geomspace(3, 20_000)  # the theorems hold from 3 on

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
bounds = {"t-weighted": weighted_average_bound, "uniform": average_iterate_bound}
for color, (name, bound) in zip(COLORS[3:], bounds.items(), strict=False):
    ax.plot(steps, bound(steps, **where), "--", color=color, label=f"bound, {name} average")
ax.axhline(1 - optimum, color="grey", linestyle="dotted", label="f(0) − f*")
columns = ["suboptimality", "suboptimality_last", "gap"]
histories = [run.history for run in runs]
ConvergenceDisplay.from_history(histories, y=columns, optimum=optimum, ax=ax)
ax.set_title("Median and 20th to 80th percentile of 20 runs")
plt.show()

# %%
# The bound of the t-weighted average falls like 1/T, and so does its suboptimality, some hundred
# times lower; above the dotted line a bound promises no more than w = 0 achieves. The certified gap
# is a bound too, which assumes nothing about the draws and holds for this run and these data.

last = runs[0].history[-1]
print(f"after {last.iteration:,} steps")
print(f"  suboptimality {last.objective_average - optimum:.2e}")
print(f"  certified gap {last.gap:.2e}")
print(f"  bound         {weighted_average_bound(last.iteration, **where):.2e}")
