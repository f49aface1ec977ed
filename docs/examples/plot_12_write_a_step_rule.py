"""
Write your own step rule
========================

The step size 1/(λt) beside step sizes of your own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from kpegasos import InverseSquareRoot, make_problem, make_rows, pegasos, sdca

X, y = make_moons(400, noise=0.2, random_state=0)
problem = make_problem(np.where(y == 1, 1.0, -1.0), lam=1e-2)
rows = make_rows(X, "rbf", gamma=2.0)
optimum = sdca(problem, rows, tol=1e-9, random_state=0).objective

# %%
# A rule is a function of step numbers t and of λ. Sizes above 1/λ are refused, as they would
# reverse the iterate.


def slower_decay(t, lam):
    """Between 1/(λt) and c/√t."""
    return np.minimum(t**-0.75, 1.0) / lam


rules = {
    "1/(λt)": None,
    "t^(-3/4)/λ, our own": slower_decay,
    "10/√t": InverseSquareRoot(10.0),
    "1/√t": InverseSquareRoot(1.0),
    "0.1/√t": InverseSquareRoot(0.1),
}
figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for name, step in rules.items():
    curves = []
    for seed in range(5):
        history = pegasos(
            problem, rows, step=step, epochs=100, checkpoints="log", random_state=seed
        ).history
        curves.append(history["objective_average"] - optimum)
    middle = np.median(curves, axis=0)
    ax.loglog(history["iteration"], middle, label=name)
    print(f"{name}: {middle[-1]:.2g} above the optimum after {history['iteration'][-1]} steps")
ax.set(xlabel="steps", ylabel="suboptimality, median of 5 runs", title="1/(λt) needs no tuning")
ax.legend()
plt.show()
