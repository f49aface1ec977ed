"""
Decision regions of kernels
===========================

Four kernels on two toy problems. Each model is finished by dual coordinate ascent to a certified
relative gap of 1%, so that the figure shows what the kernel does and not how far the solver came.
"""

import matplotlib.pyplot as plt

from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy
from kpegasos.plotting import DecisionRegionDisplay

kernels = {
    "linear": {"kernel": "linear"},
    "polynomial, degree 3": {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0},
    "RBF": {"kernel": "rbf", "gamma": 5.0},
    "Laplacian": {"kernel": "laplacian", "gamma": 2.0},
}
problems = ("moons", "spirals")

figure, axes = plt.subplots(
    len(problems), len(kernels), figsize=(12, 6.5), layout="constrained", sharex="row", sharey="row"
)
for row, problem in zip(axes, problems, strict=True):
    X, y = make_toy(problem, 200, random_state=0)
    X_test, y_test = make_toy(problem, 5000, random_state=1)
    for ax, (name, parameters) in zip(row, kernels.items(), strict=True):
        model = PegasosSVC(C=10.0, **parameters, polish=True, random_state=0).fit(X, y)
        display = DecisionRegionDisplay.from_estimator(
            model, X, y, support=model.support_, grid_resolution=100, ax=ax, legend=False
        )
        accuracy = model.score(X_test, y_test)
        ax.set_title(f"{name}\n{accuracy:.1%}, {model.support_.size} support vectors", fontsize=10)
figure.suptitle("Test accuracy and support vectors")
plt.show()

# %%
# Rings mark support vectors; dashed lines are f(x) = ±1. Where no line separates the classes, as on
# the spirals, most examples violate the margin of the linear kernel, and all of these are support
# vectors.
