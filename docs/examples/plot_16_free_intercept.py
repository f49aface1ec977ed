"""
The problem that SVC solves
===========================

By default the intercept is the weight of a constant feature and is regularised like any other.
``fit_intercept="free"`` does not regularise it, and with ``polish=True`` the model is SVC's. The
two differ if one class has few examples, or C is small.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from kpegasos import PegasosSVC
from kpegasos.plotting import COLORS

X, y = make_moons(400, noise=0.25, random_state=0)
kept = np.flatnonzero((y == 0) | (np.cumsum(y) <= 20))  # 20 examples of the second class
X, y = X[kept], y[kept]

# %%
# The same model as SVC
# ---------------------
#
# Decisions agree up to ``tol``. More than one intercept may be best for the model's w:
# ``intercept_interval_`` has the ends of these, the intercept is their middle.

options = {"gamma": 1.0, "C": 0.3}
exact = {"polish": True, "tol": 1e-8, "random_state": 0}
svc = SVC(**options, tol=1e-8).fit(X, y)
free = PegasosSVC(**options, **exact, fit_intercept="free").fit(X, y)
constant = PegasosSVC(**options, **exact).fit(X, y)
expected = svc.decision_function(X)
for name, model in {"free": free, "constant feature": constant}.items():
    off = np.abs(model.decision_function(X) - expected).max()
    print(f"{name}: intercept {model.intercept_[0]:+.4f}, decisions within {off:.1e} of SVC's")
print(f"SVC: intercept {svc.intercept_[0]:+.4f}")
print("best intercepts from {:.6f} to {:.6f}".format(*free.intercept_interval_[0]))

# %%
# What the penalty does
# ---------------------
#
# With few examples of one class and a small C, w is short, and the intercept has to tell the
# classes apart. A penalty on it moves the boundary.

grid = np.stack(np.meshgrid(np.linspace(-1.9, 2.9, 200), np.linspace(-1.6, 2.1, 160)), axis=-1)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
titles = "the intercept regularised", "the intercept free, as in SVC"
for ax, model, title in zip(panels, (constant, free), titles, strict=True):
    f, of_svc = (
        each.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2]) for each in (model, svc)
    )
    x = np.moveaxis(grid, -1, 0)
    ax.contourf(*x, f > 0, levels=[-0.5, 0.5, 1.5], colors=COLORS[:2], alpha=0.25)
    ax.contour(*x, of_svc, levels=[0.0], colors="black", linestyles="dotted")
    ax.scatter(*X.T, s=8, c=np.array(COLORS[:2])[y])
    ax.set(title=title, xticks=[], yticks=[])
figure.supxlabel("dotted: the boundary of SVC", fontsize=9)
plt.show()
