"""The width of the RBF kernel and C on two spirals: regions, and test accuracy over γ and C.

Each model is trained by Pegasos and finished by dual ascent (`polish`) to a certified relative gap
of at most `TOL`, so that the figure shows what the width does and not how far the solver came.
Where it did not come so far (large C, small γ), a cross says so.
"""

from __future__ import annotations

import warnings
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments import _plots as plots
from experiments._run import ExperimentContext
from experiments._runs import plane
from experiments._tables import select
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy

FULL_TIME = "20 s"
QUICK_TIME = "10 s"

PROBLEM = "spirals"
WIDTHS = (0.5, 5.0, 50.0)
C = 10.0
GAMMAS = tuple(10.0 ** np.arange(-1.5, 2.6, 0.5))
CS = tuple(10.0 ** np.arange(-2, 3.1, 1.0))
TOL = 0.002
N_TRAIN, N_TEST, GRID = 200, 10_000, 50


def _model(C: float, gamma: float, epochs: float, tol: float) -> tuple[PegasosSVC, dict[str, Any]]:
    """Fit a model; return it, and a row of the table."""
    X, y = make_toy(PROBLEM, N_TRAIN, random_state=0)
    X_test, y_test = make_toy(PROBLEM, N_TEST, random_state=1)
    model = PegasosSVC(C=C, gamma=gamma, epochs=epochs, polish=True, tol=tol, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table has the gap
        model.fit(X, y)
    return model, {
        "C": float(C),
        "test_accuracy": model.score(X_test, y_test),
        "support_vectors": len(model.support_),
        "relative_gap": model.relative_gap_,
    }


def _panel(gamma: float, epochs: float, tol: float) -> dict[str, Any]:
    X, y = make_toy(PROBLEM, N_TRAIN, random_state=0)
    model, row = _model(C, gamma, epochs, tol)
    return {
        "row": {"problem": PROBLEM, "kernel": f"RBF, γ = {gamma:g}", **row},
        "panel": {**plane(model.decision_function, X, 0.2, GRID), "y": y},
    }


def _accuracies(C: float, epochs: float, tol: float) -> list[dict[str, Any]]:
    head = {"problem": PROBLEM, "kernel": "RBF"}
    return [{**head, "gamma": gamma, **_model(C, gamma, epochs, tol)[1]} for gamma in GAMMAS]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit the RBF kernel at three widths, and over a grid of γ and C."""
    epochs, tol = (2, 0.5) if context.quick else (100, TOL)
    fits = [
        context.part(f"{gamma:g}", _panel, gamma, epochs, tol)
        for gamma in context.progress(WIDTHS, "fits")
    ]
    grids = [
        context.part(f"grid {C:g}", _accuracies, C, epochs, tol)
        for C in context.progress(CS, "grid")
    ]
    return {
        "seeds": {"train": 0, "test": 1, "fit": 0},
        "C": C,
        "tol": tol,
        "gammas": list(GAMMAS),
        "Cs": list(CS),
        "table": [fit["row"] for fit in fits] + [row for grid in grids for row in grid],
        "panels": [fit["panel"] for fit in fits],
    }


def _regions(ax: plots.Axes, row: dict[str, Any], panel: dict[str, Any]) -> Any:
    from kpegasos.plotting import DecisionRegionDisplay

    display = DecisionRegionDisplay(**panel).plot(ax, legend=False, point_size=9)
    width = row["kernel"].split(", ")[-1]
    accuracy, vectors = row["test_accuracy"], row["support_vectors"]
    ax.set_title(f"{width}: {accuracy:.1%} right\n{vectors} support vectors", fontsize=10.5)
    ax.set(xticks=[], yticks=[], aspect="equal")
    return display


def _map(ax: plots.Axes, results: dict[str, Any]) -> bool:
    """Test accuracy over γ and C, its best cell, and where the gap was not reached, if anywhere."""
    from matplotlib.ticker import PercentFormatter

    from kpegasos.plotting.style import log_ticks

    shape = len(results["Cs"]), len(results["gammas"])
    gammas, cs = results["gammas"], results["Cs"]
    rows = select(results["table"][len(results["panels"]) :], problem=PROBLEM)
    accuracies = np.reshape([row["test_accuracy"] for row in rows], shape)
    image = ax.pcolormesh(_edges(gammas), _edges(cs), accuracies, cmap="cividis", vmin=0.5, vmax=1)
    ax.set(xscale="log", yscale="log", xlabel="γ", ylabel="C")
    log_ticks(ax)
    i, j = np.unravel_index(accuracies.argmax(), shape)
    ax.plot(gammas[j], cs[i], "k*", markersize=13, markeredgecolor="white")
    short = np.reshape([row["relative_gap"] > results["tol"] for row in rows], shape)
    down, along = np.nonzero(short)
    crosses: Any = {"color": plots.VERMILION, "markersize": 6, "mew": 1.8}
    ax.plot(np.array(gammas)[along], np.array(cs)[down], "x", **crosses)
    ax.set_title(f"all γ and C: best {accuracies.max():.1%} (star)", fontsize=10.5)
    assert ax.figure is not None
    percents = PercentFormatter(1, decimals=0)
    bar = ax.figure.colorbar(image, ax=ax, format=percents, ticks=[0.5, 0.75, 1.0], aspect=12)
    bar.set_label("test accuracy")
    return bool(short.any())


def _edges(values: list[float]) -> np.ndarray:
    """Return the borders of cells about values a constant factor apart."""
    factor = np.sqrt(values[1] / values[0])
    return np.array([values[0] / factor, *(value * factor for value in values)])


def plot(results: dict[str, Any]) -> plots.Figure:
    """The RBF kernel at three widths on the spirals, and its accuracy over γ and C."""
    found = [
        (row, panel)
        for row, panel in zip(results["table"], results["panels"], strict=False)
        if row["problem"] == PROBLEM and row["kernel"].startswith("RBF")
    ]
    figure = plots.empty(5.6)
    layout: Any = [[f"{number}" for number in range(len(found))], ["map", "map", "map"]]
    axes: Any = figure.subplot_mosaic(layout, height_ratios=[1.25, 1])
    for number, (row, panel) in enumerate(found):
        _regions(axes[f"{number}"], row, panel)
    crossed = _map(axes["map"], results)
    rows = [row for row, _ in found]
    worst, best = (f(rows, key=itemgetter("test_accuracy")) for f in (min, max))
    few = min(rows, key=itemgetter("support_vectors"))
    least, most, fewest = (row["kernel"].split(", ")[-1] for row in (worst, best, few))
    return plots.state(
        figure,
        f"The width of the kernel decides: {worst['test_accuracy']:.0%} right at {least}, "
        f"{best['test_accuracy']:.1%} at {most}; fewest support vectors at {fewest}",
        f"Two spirals, {N_TRAIN} training and {N_TEST:,} test points, RBF kernel, above "
        f"C = {results['C']:g}; polished to a certified relative gap of {results['tol']:.1%}"
        f"{', but for the crosses' if crossed else ''}. Dashed: margins.",
    )
