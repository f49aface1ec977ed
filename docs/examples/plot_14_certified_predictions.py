"""
Which predictions are certain
=============================

A certified gap bounds how far a model is from the exact solution, and with it how far each decision
is. Where that is less than the decision itself, the exact solution is certain to predict the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVC
from kpegasos.plotting import COLORS

X, y = make_moons(1000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Intervals
# ---------
#
# ``decision_bounds`` has the ends of an interval for each row, with the decision of the exact
# solution in it. ``is_certified`` says where zero is not.

clf = PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=1e-3, random_state=0).fit(X_train, y_train)
lower, upper = clf.decision_bounds(X_test)
certified = clf.is_certified(X_test)
print(f"relative gap {clf.relative_gap_:.1e}: {certified.mean():.1%} of predictions are certain")
for row in np.flatnonzero(~certified)[:3]:
    print(f"row {row}: the exact decision is between {lower[row]:+.3f} and {upper[row]:+.3f}")

# %%
# The smaller the gap, the narrower the band in which nothing is certain. Its width falls like the
# square root of the gap.

grid = np.stack(np.meshgrid(np.linspace(-1.9, 2.9, 200), np.linspace(-1.6, 2.1, 160)), axis=-1)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, tol in zip(panels, (1e-2, 1e-3, 1e-5), strict=True):
    clf.set_params(tol=tol).fit(X_train, y_train)
    predicted = clf.predict(grid.reshape(-1, 2)) + 1.0
    predicted[~clf.is_certified(grid.reshape(-1, 2))] = 0.0
    ax.contourf(
        *np.moveaxis(grid, -1, 0),
        predicted.reshape(grid.shape[:2]),
        levels=[-0.5, 0.5, 1.5, 2.5],
        colors=["white", COLORS[0], COLORS[1]],
        alpha=0.35,
    )
    ax.scatter(*X_train.T, s=3, c=np.array(COLORS[:2])[y_train])
    ax.set_title(f"gap {clf.relative_gap_:.0e}, certain {clf.is_certified(X_test).mean():.1%}")
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Polish until enough predictions are certain
# -------------------------------------------
#
# scikit-learn 1.9 and later have callbacks, which see a fitted model at each checkpoint. One that
# returns True from ``on_fit_task_end`` ends the fit there. ``tol`` is the gap at which to give up.


class EnoughCertain:
    """Ends a fit when a share of the predictions for some rows is certain."""

    def __init__(self, X, share):
        self.X, self.share, self.shares = X, share, []

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to see yet."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Look at the model, if it is a checkpoint that ends, and not the whole fit."""
        if context.task_name != "checkpoint":
            return False
        self.shares.append(fitted_estimator.is_certified(self.X).mean())
        return self.shares[-1] >= self.share


enough = EnoughCertain(X_test, share=0.98)
asked = PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=1e-8, random_state=0)
asked.set_callbacks(enough).fit(X_train, y_train)
print(f"{enough.shares[-1]:.1%} certain at a relative gap of {asked.relative_gap_:.1e}")
assert asked.is_certified(X_test).mean() >= 0.98

# %%
# Without callbacks, ask for one gap after another. The fits begin anew each time, but a gap costs
# less than a tenth of itself costs: the last fit is most of the time.

for tol in 10.0 ** -np.arange(1, 9):
    asked = PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=tol, random_state=0)
    if asked.fit(X_train, y_train).is_certified(X_test).mean() >= 0.98:
        break
print(f"{asked.is_certified(X_test).mean():.1%} certain with tol={tol:.0e}")
