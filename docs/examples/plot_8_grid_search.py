"""
The surface of C and γ
======================

A search over both, what it says about each cell, and its held-out decisions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVCCV
from kpegasos.plotting import RegularizationPathDisplay, ValidationSurfaceDisplay

X, y = make_moons(4400, noise=0.3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)
search = PegasosSVCCV(
    Cs=np.logspace(-1, 3, 5),
    gammas=0.1 * 4.0 ** np.arange(5),
    random_state=0,
).fit(X_train, y_train)

print(f"chosen: {search.best_params_}, score {search.best_score_:.3f}")
print(f"largest certified gap of all cells: {search.relative_gaps_.max():.2%}")
print(f"test accuracy {search.score(X_test, y_test):.3f}")

# %%
# Dots mark the cells within one standard error of the best, which the folds cannot tell from it.
# They lie along a ridge, as a smaller γ needs a larger C. If the chosen cell, with the star, is on
# the border, the grid may have to be moved.

ValidationSurfaceDisplay.from_estimator(search)
plt.show()

# %%
# The same along C, at the chosen γ. The one-standard-error rule takes the smallest C whose score is
# within one standard error of the best, a flatter model that does as well.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, column in zip(axes, ("score", "max_relative_gap", "mean_n_support"), strict=True):
    RegularizationPathDisplay.from_estimator(search, y=column, ax=ax)
plt.show()

# %%
# ``oof_decision_`` has the decision on each training example of a model that has not seen it: what
# a threshold is chosen by.

RocCurveDisplay.from_predictions(y_train, search.oof_decision_, name="held out")
plt.show()
