"""
Leaving SVC(probability=True)
=============================

scikit-learn 1.9 deprecates the parameter ``probability`` of ``SVC`` and ``NuSVC``, with their
``probA_`` and ``probB_``, and removes it in 1.11 (`#32050
<https://github.com/scikit-learn/scikit-learn/pull/32050>`__). Three ways to have probabilities
instead, two of them with this package.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_moons
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from kpegasos import PegasosSVC
from kpegasos.plotting import COLORS

X, y = make_moons(4400, noise=0.3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)

# %%
# What goes
# ---------
#
# ``fit`` cross-validates inside LIBSVM, and warns:

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = SVC(gamma=2.0, C=10.0, probability=True, random_state=0).fit(X_train, y_train)
print(*(str(each.message) for each in caught), sep="\n")

# %%
# What to use
# -----------
#
# - ``CalibratedClassifierCV`` with ``ensemble=False`` around ``SVC``, as the warning says, or
#   around a classifier of this package. It fits a sigmoid to decisions on held-out examples, and
#   the model to all examples: six fits with five folds.
# - ``loss="log_loss"``: decisions are log-odds, and probabilities need no further fit. It is
#   another model, with nearly all examples as support vectors.

options = {"gamma": 2.0, "C": 10.0}
ours = PegasosSVC(**options, polish=True, random_state=0)
models = {
    "SVC(probability=True)": old,
    "SVC, calibrated": CalibratedClassifierCV(SVC(**options), ensemble=False),
    "PegasosSVC, calibrated": CalibratedClassifierCV(ours, ensemble=False),
    "PegasosSVC, log loss": PegasosSVC(**options, loss="log_loss", polish=True, random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
panels = iter(axes)
for name, model in models.items():
    if model is not old:
        model.fit(X_train, y_train)
    probability = model.predict_proba(X_test)[:, 1]
    loss, brier = log_loss(y_test, probability), brier_score_loss(y_test, probability)
    alike = np.mean((probability > 0.5) == model.predict(X_test))
    print(f"{name}: log loss {loss:.3f}, Brier score {brier:.4f}, {alike:.1%} as predicted")
    observed, predicted = calibration_curve(y_test, probability, n_bins=10)
    if model is old:
        before = predicted, observed
        continue
    ax = next(panels)
    ax.plot([0, 1], [0, 1], color="grey", linestyle="dotted", label="perfect")
    ax.plot(*before, color="grey", linewidth=4, alpha=0.4, label="SVC(probability=True)")
    ax.plot(predicted, observed, "o-", color=COLORS[1], label=name)
    ax.set(title=name, xlabel="predicted probability")
axes[0].set_ylabel("frequency on test data")
axes[0].legend(*[each[:2] for each in axes[0].get_legend_handles_labels()], fontsize="small")
plt.show()

# %%
# The last number is the share of test examples whose more probable class is the predicted one. With
# ``CalibratedClassifierCV`` the probabilities decide the prediction, in the others the decision.
#
# With several classes, ``CalibratedClassifierCV`` calibrates each class against the rest. The
# logistic loss couples the probabilities of all pairs, as ``SVC(probability=True)`` did. See
# :doc:`/migration` for what else changes from ``SVC``, and :doc:`/exports` for probabilities in
# LIBSVM's programs.
