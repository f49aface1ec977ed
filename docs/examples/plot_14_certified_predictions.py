"""
Which predictions are certain
=============================

A certified gap bounds how far each decision is from that of the exact solution. Where the bound is
less than the decision itself, the exact solution is certain to predict the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgba_array
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVC, make_problem, make_rows, sdca
from kpegasos.plotting import COLORS

X, y = make_moons(1000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Intervals
# ---------
#
# ``decision_bounds`` returns, for each row, an interval that holds the decision of the exact
# solution. ``is_certified`` is true where zero lies outside.

clf = PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=1e-3, random_state=0).fit(X_train, y_train)
lower, upper = clf.decision_bounds(X_test)
certified = clf.is_certified(X_test)
print(f"relative gap {clf.relative_gap_:.1e}: {certified.mean():.1%} of predictions are certain")
for row in np.flatnonzero(~certified)[:3]:
    print(f"row {row}: the exact decision is between {lower[row]:+.3f} and {upper[row]:+.3f}")

# %%
# The smaller the gap, the narrower the pale band in which nothing is certain. Its width falls like
# the square root of the gap.

grid = np.stack(np.meshgrid(np.linspace(-1.9, 2.9, 200), np.linspace(-1.6, 2.1, 160)), axis=-1)
figure, panels = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True, layout="constrained")
for ax, tol in zip(panels, (1e-3, 1e-6), strict=True):
    clf.set_params(tol=tol).fit(X_train, y_train)
    predicted = clf.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    certain = clf.is_certified(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    opacity = np.where(certain, 0.45, 0.12)
    extent = [*grid[0, [0, -1], 0], *grid[[0, -1], 0, 1]]
    colors = to_rgba_array(np.array(COLORS)[predicted.ravel()], opacity.ravel())
    ax.imshow(colors.reshape(*grid.shape[:2], 4), origin="lower", extent=extent, aspect="auto")
    ax.scatter(*X_train.T, s=3, c=np.array(COLORS[:2])[y_train])
    ax.set_title(f"gap {clf.relative_gap_:.0e}, certain {clf.is_certified(X_test).mean():.1%}")
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Polish until enough predictions are certain
# -------------------------------------------
#
# Lower the gap until a share of the predictions for given rows is certain. The functional layer
# keeps kernel values from one ascent to the next. The radius is that of ``decision_bounds``, here
# without the rounding of decisions.

problem = make_problem(y_train, C=10.0)
rows = make_rows(X_train, "rbf", gamma=2.0)
for tol in 10.0 ** -np.arange(1, 9):
    result = sdca(problem, rows, tol=tol, random_state=0)
    radius = np.sqrt(2 * result.gap / problem.lam)  # as k(x, x) is 1
    share = np.mean(np.abs(result.decision_function(X_test)) > radius)
    print(f"gap {result.relative_gap:.0e}, {rows.evaluations:,} kernel values, certain {share:.1%}")
    if share >= 0.98:
        break

# %%
# An estimator begins each fit anew and computes its kernel values again. Its callbacks see only the
# steps of Pegasos, not those of ``polish``.

for tol in 10.0 ** -np.arange(3, 9):
    if clf.set_params(tol=tol).fit(X_train, y_train).is_certified(X_test).mean() >= 0.98:
        break
print(f"{clf.is_certified(X_test).mean():.1%} certain with tol={tol:.0e}")
