"""The width of the RBF kernel and C on two spirals: regions, and test accuracy over γ and C.

Each model is trained by Pegasos and finished by dual ascent (`polish`) to a certified relative gap
of at most `TOL`, so that the figure shows what the width does and not how far the solver came.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments import _plots as plots
from experiments._data import plane
from experiments._results import columns
from experiments._run import Context
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy
from kpegasos.plotting import DecisionRegionDisplay

WIDTHS = (0.5, 5.0, 50.0)
C = 10.0
GAMMAS = tuple(10.0 ** np.arange(-1.5, 2.6, 0.5))
CS = tuple(10.0 ** np.arange(-2, 3.1, 1.0))
TOL = 0.002
N_TRAIN, N_TEST, GRID = 200, 10_000, 50


def _fit(C: float, gamma: float, epochs: float, tol: float) -> dict[str, Any]:
    X, y = make_toy("spirals", N_TRAIN, random_state=0)
    X_test, y_test = make_toy("spirals", N_TEST, random_state=1)
    model = PegasosSVC(C=C, gamma=gamma, epochs=epochs, polish=True, tol=tol, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table has the gap
        model.fit(X, y)
    row = {
        "C": C,
        "gamma": gamma,
        "test_accuracy": model.score(X_test, y_test),
        "support_vectors": len(model.support_),
        "relative_gap": model.relative_gap_,
    }
    return {"row": row, "panel": {**plane(model.decision_function, X, 0.2, GRID), "y": y}}


def compute(context: Context) -> dict[str, Any]:
    """Fit the RBF kernel at three widths, and over a grid of γ and C."""
    epochs, tol = (2, 0.5) if context.quick else (100, TOL)
    shown = [_fit(C, gamma, epochs, tol) for gamma in WIDTHS]
    grid = [[_fit(C, gamma, epochs, tol)["row"] for gamma in GAMMAS] for C in CS]
    return {
        "shown": [fit["row"] for fit in shown],
        "panels": [fit["panel"] for fit in shown],
        "table": [row for rows in grid for row in rows],
    }


def plot(results: dict[str, Any]) -> plots.Figure:
    """The RBF kernel at three widths on the spirals, and its accuracy over γ and C."""
    figure = plots.plt.figure(figsize=(plots.WIDTH, 5.6))
    axes: Any = figure.subplot_mosaic([["0", "1", "2"], ["map"] * 3], height_ratios=[1.25, 1])
    for number, (row, panel) in enumerate(zip(results["shown"], results["panels"], strict=True)):
        ax = axes[str(number)]
        DecisionRegionDisplay(**panel).plot(ax, legend=False, point_size=9)
        right, vectors = row["test_accuracy"], row["support_vectors"]
        title = f"γ = {row['gamma']:g}: {right:.1%} right\n{vectors} support vectors"
        ax.set(xticks=[], yticks=[], aspect="equal", title=title)
    _map(axes["map"], results["table"])
    return plots.state(
        figure,
        "The width of the kernel decides",
        f"Two spirals, {N_TRAIN} training and {N_TEST:,} test points, RBF kernel, above C = {C:g}; "
        f"polished to a certified relative gap of {TOL:.1%}. Dashed: margins.",
    )


def _map(ax: plots.Axes, table: list[dict[str, Any]]) -> None:
    """Test accuracy over γ and C, and its best cell."""
    gammas, Cs, right, gaps = columns(table, "gamma", "C", "test_accuracy", "relative_gap")
    shape = len(CS), len(GAMMAS)
    # Cells of equal width, as on logarithmic axes.
    cells = (np.reshape(values, shape) for values in (np.log10(gammas), np.log10(Cs), right))
    image = ax.pcolormesh(*cells, shading="nearest", cmap="cividis", vmin=0.5, vmax=1)
    best = right.argmax()
    ax.plot(np.log10(gammas[best]), np.log10(Cs[best]), "k*", markersize=13, mec="white")
    title = f"all γ and C: best {right.max():.1%} (star), gaps up to {gaps.max():.1%}"
    ax.set(xlabel="log₁₀ γ", ylabel="log₁₀ C", title=title)
    plots.plt.colorbar(image, ax=ax, aspect=12, label="test accuracy")
