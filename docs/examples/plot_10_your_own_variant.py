"""
Your own variant
================

Linear Pegasos in a few lines of NumPy, with another step and another loss, beside the compiled
solver, each compared with the minimum of its own objective. :doc:`/your_own_variant` explains it
line by line.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from kpegasos import linear_rows, make_problem, pegasos, sdca
from kpegasos.plotting import COLORS, ConvergenceDisplay
from kpegasos.reference import index_stream, linear_history

X, y = load_breast_cancer(return_X_y=True)
X, y, lam = StandardScaler().fit_transform(X), 2 * y - 1, 1e-3
X /= np.linalg.norm(X, axis=1).max()
draws = index_stream(len(y), 30_000, random_state=0)


def iterates(step_size, slope):
    """Linear Pegasos, but for the size of step t and the slope of the loss at a margin."""
    w = average = np.zeros(X.shape[1])
    for t, i in enumerate(draws, start=1):
        eta = step_size(t)
        w = (1 - eta * lam) * w - eta * slope(y[i] * (X[i] @ w)) * y[i] * X[i]
        average = average + 2 / (t + 1) * (w - average)
        yield t, w, average


def logistic(margins):
    return np.logaddexp(0, -margins)


problem, rows = make_problem(y, lam), linear_rows(X)
ours = pegasos(problem, rows, n_steps=30_000, checkpoints="log", random_state=0).history
least = sdca(problem, rows, tol=1e-7, max_epochs=20_000, random_state=0).dual_bound
runs = [("hinge, 1/(λt): compiled", ours, least)]
for c in (20, 3):
    steps = iterates(lambda t, c=c: c / t**0.5, lambda margin: -float(margin < 1))
    runs.append((f"hinge, {c}/√t", linear_history(steps, X, y, lam), least))

steps = iterates(lambda t: 1 / (lam * t), lambda margin: -expit(-margin))
history = linear_history(steps, X, y, lam, loss=logistic)
smooth = minimize(lambda w: lam / 2 * w @ w + logistic(y * (X @ w)).mean(), 0 * X[0], tol=1e-12)
runs.append(("logistic, 1/(λt)", history, smooth.fun))

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for color, (name, history, least) in zip(COLORS, runs, strict=False):
    options = {"optimum": least, "label": name, "color": color, "ax": ax}
    ConvergenceDisplay.from_history(history, y="suboptimality", **options)
plt.show()
