"""Kernels, C and gamma on scikit-learn's digits: a grid search over PegasosSVC, drop-in for SVC.

1797 images of 8 × 8 pixels, ten classes, one against one. `GridSearchCV` with five folds on the
first half of the images; the second half is the test set, as in scikit-learn's example "Recognizing
hand-written digits", which reports 97% for SVC with gamma = 0.001 (pixels from 0 to 16; here 0 to
1, so that gamma is 256 times as large). SVC is searched over the same grid.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments._claims import Claim, mark, percent, span
from experiments._plots import VERMILION
from kpegasos import PegasosSVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

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
SEEDS = 5
FOLDS = 5


def _halves() -> tuple[Any, ...]:
    X, y = load_digits(return_X_y=True)
    half = len(y) // 2
    return X[:half] / 16, y[:half], X[half:] / 16, y[half:]


def _model(kernel: str, **parameters: Any) -> PegasosSVC:
    return PegasosSVC(kernel=kernel, checkpoints=None, random_state=0, **parameters)


def _search(model: Any, kernel: str, cs: tuple[float, ...], folds: int) -> dict[str, Any]:
    """Accuracy of each cell on held-out folds and its deviation; test accuracy of the best."""
    X, y, X_test, y_test = _halves()
    grid: dict[str, Any] = {"C": cs}
    if KERNELS[kernel][1]:
        grid["gamma"] = KERNELS[kernel][1]
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    search = GridSearchCV(model, grid, cv=cv).fit(X, y)
    shape = (len(cs), max(1, len(KERNELS[kernel][1])))
    return {
        "accuracy": search.cv_results_["mean_test_score"].reshape(shape),
        "deviation": search.cv_results_["std_test_score"].reshape(shape),
        "seconds": float(search.cv_results_["mean_fit_time"].sum() * folds),
        "best": search.best_params_,
        "test_accuracy": search.score(X_test, y_test),
    }


def _example(seeds: int) -> dict[str, Any]:
    """The example's model by SVC and by Pegasos with several seeds."""
    X, y, X_test, y_test = _halves()
    ours = [
        PegasosSVC(**EXAMPLE, checkpoints=None, random_state=seed).fit(X, y).score(X_test, y_test)
        for seed in range(seeds)
    ]
    return {"SVC": SVC(**EXAMPLE).fit(X, y).score(X_test, y_test), "PegasosSVC": ours}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Search the grid of every kernel, then run the example's model."""
    folds, seeds, cs = (2, 2, CS[::2]) if context.quick else (FOLDS, SEEDS, CS)
    searches: dict[str, dict[str, Any]] = {}
    for kernel, (fixed, _) in context.progress(KERNELS.items(), "kernels"):
        models: dict[str, Any] = {"PegasosSVC": _model(kernel, **fixed)}
        if kernel != "laplacian":  # which SVC has not
            models["SVC"] = SVC(kernel=kernel, **fixed)
        searches[kernel] = {
            name: context.part(f"{kernel}, {name}", partial(_search, model, kernel, cs, folds))
            for name, model in models.items()
        }
    example = context.part("example", partial(_example, seeds))
    table = []
    for (kernel, by_model), name in product(searches.items(), ("PegasosSVC", "SVC")):
        if name in by_model:
            found = by_model[name]
            values = np.array(found["accuracy"])
            best = np.unravel_index(values.argmax(), values.shape)
            row = {"kernel": kernel, "model": name, "C": found["best"]["C"]}
            table.append(
                {
                    **row,
                    "gamma": found["best"].get("gamma"),
                    "cv_accuracy": values[best],
                    "cv_deviation": np.array(found["deviation"])[best],
                    "test_accuracy": found["test_accuracy"],
                    "fit_seconds": round(found["seconds"], 1),
                }
            )
    return {
        "seeds": list(range(seeds)),
        "folds": folds,
        "example": example,
        "reported": REPORTED,
        "grids": {kernel: {"C": cs, "gamma": KERNELS[kernel][1]} for kernel in KERNELS},
        "searches": searches,
        "table": table,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The accuracy of scikit-learn's example."""
    found, reported = results["example"], results["reported"]
    ours = float(np.median(found["PegasosSVC"]))
    best = {
        name: [row["cv_accuracy"] for row in results["table"] if row["model"] == name]
        for name in ("PegasosSVC", "SVC")
    }
    return [
        Claim(
            f"An RBF kernel reads {percent(reported, 0)} of the digits.",
            "scikit-learn's example",
            f"PegasosSVC {span(found['PegasosSVC'], percent)}, SVC {percent(found['SVC'])}. The "
            f"best cell of a grid has {percent(max(best['PegasosSVC']))} and "
            f"{percent(max(best['SVC']))} in cross-validation.",
            mark(abs(ours - reported) <= 0.01, abs(ours - reported) <= 0.02),
            "✓ if the median is within a point, ~ if within two.",
        )
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Accuracy of each cell; Pegasos above, its lead over SVC below."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import TwoSlopeNorm

    grids, searches = results["grids"], results["searches"]
    widths = [max(1, len(grid["gamma"])) for grid in grids.values()]
    figure, axes = plt.subplots(
        2, len(grids), figsize=(9, 6.6), width_ratios=[width + 0.4 for width in widths]
    )
    for row in axes:
        for ax in row[1:]:
            ax.sharey(row[0])

    def show(ax: Any, kernel: str, values: np.ndarray, words: str, **options: Any) -> Any:
        image = ax.imshow(values, aspect="auto", **options)
        for (i, j), value in np.ndenumerate(values):
            red, green, blue, _ = image.to_rgba(value)
            dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            text = format(value, words)
            ax.text(j, i, text, ha="center", va="center", fontsize=9, color="w" if dark else "k")
        gammas = grids[kernel]["gamma"]
        ax.set_xticks(range(len(gammas)), [f"{gamma:g}" for gamma in gammas], fontsize=9)
        ax.set_yticks(range(len(values)), [f"{C:g}" for C in grids[kernel]["C"]])
        ax.tick_params(length=0, labelleft=ax in axes[:, 0])
        ax.spines[:].set_visible(False)
        ax.set_xlabel("gamma" if gammas else "")
        return image

    for (kernel, by_model), above, below in zip(searches.items(), *axes, strict=True):
        ours = 100 * np.array(by_model["PegasosSVC"]["accuracy"])
        accuracy = show(above, kernel, ours, ".1f", cmap="viridis", vmin=80, vmax=100)
        best = np.unravel_index(ours.argmax(), ours.shape)
        corner = (best[1] - 0.5, best[0] - 0.5)
        frame = plt.Rectangle(
            corner, 1, 1, fill=False, edgecolor=VERMILION, linewidth=2.5, clip_on=False
        )
        above.add_patch(frame)
        test = by_model["PegasosSVC"]["test_accuracy"]
        above.set_title(f"{NAMES[kernel]}\ntest {test:.1%}", fontsize=11)
        if "SVC" in by_model:
            lead = ours - 100 * np.array(by_model["SVC"]["accuracy"])
            norm = TwoSlopeNorm(0, -5, 5)
            difference = show(below, kernel, lead, "+.1f", cmap="PuOr", norm=norm)
        else:
            below.axis("off")
            below.text(0.5, 0.5, "not in SVC", transform=below.transAxes, ha="center", fontsize=10)
    for ax in axes[:, 0]:
        ax.set_ylabel("C")
    figure.colorbar(accuracy, ax=axes[0], label="accuracy of PegasosSVC, %", extend="min")
    figure.colorbar(difference, ax=axes[1], label="PegasosSVC − SVC, points", extend="both")
    example = results["example"]
    figure.suptitle(
        f"Digits: accuracy in {results['folds']}-fold cross-validation, the best framed\n"
        f"scikit-learn's example, test: PegasosSVC {np.median(example['PegasosSVC']):.1%}, "
        f"SVC {example['SVC']:.1%}",
        fontsize=12,
    )
    return figure
