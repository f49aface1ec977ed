"""
One-vs-one on the digits
========================

Ten classes are 45 binary problems, each with a certificate of its own. Which pairs are hard?
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVC
from kpegasos.plotting import ConvergenceDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    (X / 16).astype(np.float32), y, test_size=0.5, random_state=0, stratify=y
)
model = PegasosSVC(C=10.0, gamma=0.1, epochs=100, random_state=0).fit(X_train, y_train)
print(f"test accuracy {model.score(X_test, y_test):.1%}")

# %%
# ``objective_``, ``relative_gap_`` and ``history_`` have an entry for each pair of classes. The
# objective is large where digits are alike.

pairs = list(combinations(model.classes_.tolist(), 2))
hardest = np.argsort(-model.objective_)
for pair in hardest[:5]:
    size = model.history_[pair][-1].support_size
    print(
        f"{pairs[pair]}: objective {model.objective_[pair]:.4f}, "
        f"certified relative gap {model.relative_gap_[pair]:.0%}, {size} support vectors"
    )

# %%
# The run of the hardest pair beside that of the easiest:

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, pair in zip(axes, hardest[[0, -1]], strict=True):
    ConvergenceDisplay.from_history(model.history_[pair], x="epoch", ax=ax)
    ax.set_title("{} against {}".format(*pairs[pair]))
plt.show()

# %%
# The confusion matrix is scikit-learn's own.

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ConfusionMatrixDisplay.from_estimator(model, X_test, y_test, ax=ax, cmap="cividis")
plt.show()
