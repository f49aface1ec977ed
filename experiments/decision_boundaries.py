"""Kernels and their parameters on four toy problems: regions, and test accuracy over γ and C.

Each model is trained by Pegasos and finished by dual ascent (`polish`) to a certified relative gap
of at most `TOL`, so that the figure shows what the kernel does and not how far the solver came.
Where it did not come so far (large C, small γ), a cross says so.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments._plots import VERMILION, legend_below
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "15 s"
QUICK_TIME = "10 s"

PROBLEMS = ("circles", "moons", "xor", "spirals")
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "polynomial\ndegree 2": {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
    "polynomial\ndegree 5": {"kernel": "poly", "degree": 5, "gamma": 1.0, "coef0": 1.0},
    "RBF\nγ = 0.5": {"kernel": "rbf", "gamma": 0.5},
    "RBF\nγ = 5": {"kernel": "rbf", "gamma": 5.0},
    "RBF\nγ = 50": {"kernel": "rbf", "gamma": 50.0},
    "Laplacian\nγ = 2": {"kernel": "laplacian", "gamma": 2.0},
}
C = 10.0
GAMMAS = tuple(10.0 ** np.arange(-1.5, 2.6, 0.5))
CS = tuple(10.0 ** np.arange(-2, 3.1, 1.0))
TOL = 0.002
N_TRAIN, N_TEST, GRID = 200, 10_000, 50


def _model(C: float, epochs: float, tol: float, **kernel: Any) -> PegasosSVC:
    return PegasosSVC(C=C, **kernel, epochs=epochs, polish=True, tol=tol, random_state=0)


def _fit(model: PegasosSVC, X: np.ndarray, y: np.ndarray) -> PegasosSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table has the gap
        model.fit(X, y)
    return model


def _row(model: PegasosSVC, problem: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    X_test, y_test = make_toy(problem, N_TEST, random_state=1)
    return {
        "C": float(model.C),
        "train_accuracy": model.score(X, y),
        "test_accuracy": model.score(X_test, y_test),
        "support_vectors": len(model.support_),
        "relative_gap": model.relative_gap_,
    }


def _panel(problem: str, kernel: str, epochs: float, tol: float) -> dict[str, Any]:
    X, y = make_toy(problem, N_TRAIN, random_state=0)
    model = _fit(_model(C, epochs, tol, **KERNELS[kernel]), X, y)
    xx, yy = np.linspace(X.min(axis=0) - 0.2, X.max(axis=0) + 0.2, GRID).T
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx, yy)])
    values = model.decision_function(grid).reshape(GRID, GRID)
    return {
        "row": {
            "problem": problem,
            "kernel": kernel.replace("\n", ", "),
            **_row(model, problem, X, y),
        },
        "panel": {
            "xx": xx.round(4),
            "yy": yy.round(4),
            # Three digits, and not decimals: level lines stay smooth where f is nearly 0.
            "values": [[float(f"{value:.3g}") for value in line] for line in values],
            "X": X.round(3),
            "y": y,
        },
    }


def _accuracies(problem: str, epochs: float, tol: float) -> list[dict[str, Any]]:
    X, y = make_toy(problem, N_TRAIN, random_state=0)
    return [
        {
            "problem": problem,
            "kernel": "RBF",
            "gamma": gamma,
            **_row(_fit(_model(C, epochs, tol, kernel="rbf", gamma=gamma), X, y), problem, X, y),
        }
        for C in CS
        for gamma in GAMMAS
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit each kernel, and the RBF kernel over a grid of γ and C, to each problem."""
    epochs, tol = (2, 0.5) if context.quick else (100, TOL)
    pairs = [(problem, kernel) for kernel in KERNELS for problem in PROBLEMS]
    fits = [
        context.part(f"{problem} {kernel}", partial(_panel, problem, kernel, epochs, tol))
        for problem, kernel in context.progress(pairs, "fits")
    ]
    grids = [
        context.part(f"{problem} grid", partial(_accuracies, problem, epochs, tol))
        for problem in context.progress(PROBLEMS, "grids")
    ]
    return {
        "seeds": {"train": 0, "test": 1, "fit": 0},
        "C": C,
        "tol": tol,
        "problems": list(PROBLEMS),
        "kernels": list(KERNELS),
        "gammas": list(GAMMAS),
        "Cs": list(CS),
        "table": [fit["row"] for fit in fits] + [row for grid in grids for row in grid],
        "panels": [fit["panel"] for fit in fits],
    }


def plot(results: dict[str, Any]) -> Figure:
    """One row a kernel, one column a problem; below, test accuracy of the RBF kernel."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    from kpegasos.plotting import DecisionRegionDisplay

    kernels, problems = results["kernels"], results["problems"]
    heights = [*[1.0] * len(kernels), 1.25]
    size = (9, 1.55 * sum(heights) + 1)
    figure, axes = plt.subplots(len(heights), len(problems), figsize=size, height_ratios=heights)
    for ax, row, panel in zip(axes[:-1].flat, results["table"], results["panels"], strict=False):
        display = DecisionRegionDisplay.from_predictions(**panel, ax=ax, legend=False, point_size=7)
        accuracy, vectors = row["test_accuracy"], row["support_vectors"]
        ax.set_title(f"{accuracy:.1%}, {vectors} SV", fontsize=10, pad=3)
        ax.set(xticks=[], yticks=[])
    for ax, kernel in zip(axes[:, 0], kernels, strict=False):
        ax.set_ylabel(kernel, fontsize=10)
    for ax, problem in zip(axes[0], problems, strict=True):
        name = {"xor": "XOR"}.get(problem, problem)
        ax.set_title(f"{name}\n{ax.get_title()}", fontsize=10, pad=3)

    shape = len(results["Cs"]), len(results["gammas"])
    gammas, cs = np.log10(results["gammas"]), np.log10(results["Cs"])
    rows = results["table"][len(results["panels"]) :]
    for ax, problem in zip(axes[-1], problems, strict=True):
        found = [row for row in rows if row["problem"] == problem]
        accuracies = np.reshape([row["test_accuracy"] for row in found], shape)
        image = ax.pcolormesh(gammas, cs, accuracies, cmap="cividis", vmin=0.5, vmax=1)
        i, j = np.unravel_index(accuracies.argmax(), shape)
        (best,) = ax.plot(gammas[j], cs[i], "k*", markersize=11, markeredgecolor="white")
        short = np.reshape([row["relative_gap"] > results["tol"] for row in found], shape)
        across, along = np.nonzero(short)[::-1]
        (missed,) = ax.plot(gammas[across], cs[along], "x", color=VERMILION, markersize=5)
        ax.set_title(f"best {accuracies.max():.1%}", fontsize=10, pad=3)
        ax.set(xlabel="log₁₀ γ", xticks=[-1, 0, 1, 2], yticks=[])
    axes[-1, 0].set(yticks=[-2, 0, 2])
    axes[-1, 0].set_ylabel("RBF\nlog₁₀ C", fontsize=10)
    percents = PercentFormatter(1, decimals=0)
    bar = figure.colorbar(
        image, ax=axes[-1], location="bottom", format=percents, shrink=0.4, aspect=30
    )
    bar.set_label("test accuracy of the RBF kernel", fontsize=10)
    handles, labels = display.legend_entries()
    handles += [best, missed]
    labels += ["best", f"gap above {results['tol']:.1%}"]
    legend_below(figure, (handles, labels), ncols=6, fontsize=10)
    figure.suptitle(
        f"Kernels at C = {results['C']:g}: test accuracy and number of support vectors", fontsize=12
    )
    return figure
