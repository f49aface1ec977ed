"""
One-vs-one on the digits
========================

Ten classes are 45 binary problems, each with a certificate of its own. Which pairs are hard?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVC
from kpegasos.plotting import MarginHistogramDisplay, OneVsOneDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    (X / 16).astype(np.float32), y, test_size=0.5, random_state=0, stratify=y
)
model = PegasosSVC(C=10.0, gamma=0.1, epochs=100, random_state=0).fit(X_train, y_train)
print(f"test accuracy {model.score(X_test, y_test):.1%}")

# %%
# One cell a pair: the certified relative gap, the number of support vectors, and the objective,
# which is large where digits are alike.

figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.2), layout="constrained")
OneVsOneDisplay.from_estimator(
    model, metrics=("relative_gap", "support_size", "objective_average"), ax=axes
)
plt.show()

# %%
# The margins of one pair on the test set. Below 0 an example is misclassified; below 1 it has a
# hinge loss.

MarginHistogramDisplay.from_estimator(model, X_test, y_test, pair=(1, 8))
plt.show()

# %%
# The confusion matrix is scikit-learn's own.

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ConfusionMatrixDisplay.from_estimator(model, X_test, y_test, ax=ax, cmap="cividis")
plt.show()
