"""Kernels, C and gamma on scikit-learn's digits: a grid search over PegasosSVC, drop-in for SVC.

1797 images of 8 × 8 pixels, ten classes, one against one. `GridSearchCV` with five folds on the
first half of the images; the second half is the test set, as in scikit-learn's example "Recognizing
hand-written digits", which reports 97% for SVC with gamma = 0.001 (pixels from 0 to 16; here 0 to
1, so that gamma is 256 times as large). SVC is searched over the same grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._run import ExperimentContext
from experiments._tables import columns, grouped
from kpegasos import PegasosSVC

FULL_TIME = "35 s"
QUICK_TIME = "10 s"

CS = (0.01, 0.1, 1.0, 10.0, 100.0)
#: Kernel, its fixed parameters, and its values of gamma.
KERNELS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "linear": ({}, ()),
    "poly": ({"degree": 3, "coef0": 1.0}, (0.001, 0.01, 0.1, 1.0)),
    "rbf": ({}, (0.01, 0.0316, 0.1, 0.256, 1.0)),
    "laplacian": ({}, (0.003, 0.01, 0.03, 0.1, 0.3)),
}
NAMES = {"linear": "linear", "poly": "cubic", "rbf": "RBF", "laplacian": "Laplacian"}
EXAMPLE: dict[str, Any] = {"C": 1.0, "gamma": 0.256}
REPORTED = 0.97
#: What is compared: name in the results, method whose look it has.
MODELS = {"PegasosSVC": "Pegasos", "SVC": "SVC"}
SEEDS = 5
FOLDS = 5


def _halves() -> tuple[Any, ...]:
    X, y = load_digits(return_X_y=True)
    half = len(y) // 2
    return X[:half] / 16, y[:half], X[half:] / 16, y[half:]


def _model(kernel: str, **parameters: Any) -> PegasosSVC:
    return PegasosSVC(kernel=kernel, checkpoints=None, random_state=0, **parameters)


def _search(model: Any, kernel: str, cs: tuple[float, ...], folds: int) -> dict[str, Any]:
    """Return the best cell: accuracy on held-out folds and its deviation, and test accuracy."""
    X, y, X_test, y_test = _halves()
    grid: dict[str, Any] = {"C": cs}
    if KERNELS[kernel][1]:
        grid["gamma"] = KERNELS[kernel][1]
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    search = GridSearchCV(model, grid, cv=cv).fit(X, y)
    return {
        **search.best_params_,
        "cv_accuracy": search.best_score_,
        "cv_deviation": search.cv_results_["std_test_score"][search.best_index_],
        "test_accuracy": search.score(X_test, y_test),
    }


def _example(seeds: int) -> dict[str, Any]:
    """The example's model by SVC and by Pegasos with several seeds."""
    X, y, X_test, y_test = _halves()
    models = [PegasosSVC(**EXAMPLE, checkpoints=None, random_state=seed) for seed in range(seeds)]
    ours = [model.fit(X, y).score(X_test, y_test) for model in models]
    return {"SVC": SVC(**EXAMPLE).fit(X, y).score(X_test, y_test), "PegasosSVC": ours}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Search the grid of every kernel, then run the example's model."""
    folds, seeds, cs = (2, 2, CS[::2]) if context.quick else (FOLDS, SEEDS, CS)
    table = []
    for kernel, (fixed, _) in context.progress(KERNELS.items(), "kernels"):
        models: dict[str, Any] = {"PegasosSVC": _model(kernel, **fixed)}
        if kernel != "laplacian":  # which SVC has not
            models["SVC"] = SVC(kernel=kernel, **fixed)
        for name, model in models.items():
            found = context.part(f"{kernel}, {name}", _search, model, kernel, cs, folds)
            table.append({"kernel": kernel, "model": name, **found})
    return {
        "seeds": list(range(seeds)),
        "folds": folds,
        "example": context.part("example", _example, seeds),
        "reported": REPORTED,
        "table": table,
    }


def plot(results: dict[str, Any]) -> plots.Figure:
    """Errors of each kernel's best cell, ours and SVC's, on held-out folds and on the test half."""
    table, example = results["table"], results["example"]
    figure, (axes,) = plots.panels(1, 2, 3.8, sharex=True, sharey=True)
    kernels, apart = grouped(table, "kernel"), []
    for ax, key, half in zip(
        axes,
        ("cv_accuracy", "test_accuracy"),
        ("on held-out folds", "on the test half"),
        strict=True,
    ):
        for row in table:
            height = list(kernels).index(row["kernel"]) + 0.16 * (
                1 if row["model"] == "SVC" else -1
            )
            style, error = plots.METHODS[MODELS[row["model"]]], 100 * (1 - row[key])
            ax.plot([0, error], [height] * 2, color=style.color, linewidth=1, alpha=0.6)
            ax.plot(error, height, style.marker, color=style.color, markersize=8)
            plots.beside(ax, f"{error:.1f}", (error, height), (9, 0), of=style.color, fontsize=10)
        ax.set_xlabel(f"error of the best cell {half}, %")
        ax.grid(alpha=0.25, axis="x")
        ax.tick_params(axis="y", length=0)
        pairs = [columns(rows, key)[0] for rows in kernels.values() if len(rows) == 2]
        apart.append(100 * max(map(np.ptp, pairs), default=np.nan))
    plots.rows_down(axes[0], [NAMES.get(kernel, kernel) for kernel in kernels])
    axes[0].set_xlim(0, 1.15 * 100 * (1 - min(row["test_accuracy"] for row in table)))
    looks = {name: plots.METHODS[key].options(linestyle="none") for name, key in MODELS.items()}
    axes[1].axvline(100 * (1 - results["reported"]), color=plots.GREY, linestyle=":", zorder=0)
    plots.legend_above(axes[0], looks)
    return plots.state(
        figure,
        f"PegasosSVC and SVC {'err alike' if max(apart) < 1 else 'differ'} with each kernel: "
        f"their best cells are within {apart[0]:.1f} points on the folds, {apart[1]:.1f} on the "
        "test half",
        f"Digits, {results['folds']}-fold cross-validation on the first half over γ and C. "
        f"Dotted: what scikit-learn's example reports (γ = {EXAMPLE['gamma']:g}, "
        f"C = {EXAMPLE['C']:g}); run here, PegasosSVC {1 - np.median(example['PegasosSVC']):.1%}, "
        f"SVC {1 - example['SVC']:.1%}. SVC has no Laplacian kernel.",
    )
