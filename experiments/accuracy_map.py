"""Fashion-MNIST by the plain algorithm: accuracy over λ and the number of steps T of each pair.

A term paper reports 80.29% for linear Pegasos, one against one on 40,000 images, says neither λ nor
T, and adds that Pegasos "benefits from the fact that large number of iterations can be run". Here
is the algorithm of its pseudocode (independent draws, last iterate, no intercept, pixels from 0 to
1) over decades of both. The steps of one λ and seed are one run, looked at on the way.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import KARTHIK, OURS, Claim, mark, percent, rounded, span
from experiments._run import ExperimentContext
from experiments._tables import percentiles
from kpegasos import LinearPegasosSVC
from kpegasos.datasets import load_fashion_mnist

FULL_TIME = "5 min"
QUICK_TIME = "10 s"

LAMS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
STEPS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SEEDS, IMAGES = 5, 40_000
#: What the term paper reports.
REPORTED = 0.8029
PLAIN: dict[str, Any] = {"sampling": "uniform", "average": None, "fit_intercept": False}


def _accuracies(n_images: int, lam: float, steps: tuple[int, ...], seed: int) -> list[float]:
    """Test accuracy of the last iterate after each number of steps."""
    data = load_fashion_mnist()
    X, y = data.X_train[:n_images], data.y_train[:n_images]
    options: dict[str, Any] = {"warm_start": True, "checkpoints": None, "n_jobs": 2, **PLAIN}
    model = LinearPegasosSVC(lam=lam, random_state=seed, **options)
    found = []
    for before, after in zip((0, *steps), steps, strict=False):
        model.set_params(n_steps=after - before).fit(X, y)
        found.append(float(model.score(data.X_test, data.y_test)))
    return found


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run each λ with every seed."""
    lams, steps = (LAMS[1::2], STEPS[:5]) if context.quick else (LAMS, STEPS)
    seeds, n_images = (1, 4000) if context.quick else (SEEDS, IMAGES)
    found = np.empty((len(lams), seeds, len(steps)))
    for (row, lam), seed in context.progress(product(enumerate(lams), range(seeds)), "runs"):
        where = (n_images, lam, steps, seed)
        found[row, seed] = context.part(f"{lam:g}, seed {seed}", _accuracies, *where)
    medians = np.median(found, axis=1).ravel()
    return {
        "seeds": list(range(seeds)),
        "images": n_images,
        "reported": REPORTED,
        "lams": lams,
        "steps": steps,
        "accuracy": found,
        "table": [
            {"lam": lam, "steps": n_steps, "test_accuracy": median}
            for (lam, n_steps), median in zip(product(lams, steps), medians, strict=True)
        ],
    }


def _told_medians(results: dict[str, Any]) -> np.ndarray:
    """Median accuracy of each λ (rows) after each number of steps."""
    return np.median(np.array(results["accuracy"], dtype=float), axis=1)


def _told_crossings(results: dict[str, Any]) -> dict[float, int]:
    """Steps after which the median first has the reported accuracy, of each λ that has it."""
    reached = _told_medians(results) >= results["reported"]
    of_lam = zip(results["lams"], reached, strict=True)
    return {lam: results["steps"][int(row.argmax())] for lam, row in of_lam if row.any()}


def _told_count(crossings: dict[float, int], results: dict[str, Any]) -> str:
    """Say how many λ come to the reported accuracy, and when."""
    lams = span(results["lams"], partial(rounded, digits=1))
    among = f"{len(crossings)} of {len(results['lams'])} λ from {lams}"
    if not crossings:
        return f"none of {len(results['lams'])} λ reaches it within {results['steps'][-1]:,} steps"
    steps = span(crossings.values(), "{:,}".format)
    return f"{among} reach it, after {steps} steps for each pair of classes"


def _told_cell(row: dict[str, Any]) -> str:
    """Name a cell of the map."""
    place = f"λ = {rounded(row['lam'], 1)} and {row['steps']:,} steps"
    return f"{percent(row['test_accuracy'], 2)} at {place}"


def _told_gain(points: float) -> str:
    """Write points of accuracy with their sign."""
    return f"{round(points, 1) + 0.0:+.1f}".replace("-", "−")


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say where the term paper's number lies, and judge its claim on many iterations."""
    medians, found = _told_medians(results), np.array(results["accuracy"], dtype=float)
    lams, steps, reported = results["lams"], results["steps"], results["reported"]
    crossings = _told_crossings(results)
    table = results["table"]
    best = max(table, key=lambda row: row["test_accuracy"])
    near = min(table, key=lambda row: abs(row["test_accuracy"] - reported))
    spreads = 100 * (found[:, :, -1].max(axis=1) - found[:, :, -1].min(axis=1))
    accuracy, at_best = f"a term paper's accuracy of {percent(reported, 2)}", best["test_accuracy"]
    finding = f"Plain Pegasos passes {accuracy} and reaches {percent(at_best, 2)}."
    if not crossings:
        finding = f"Plain Pegasos does not come to {accuracy}."
    elif at_best - reported < 0.01:
        finding = f"{accuracy.capitalize()} is about the best that plain Pegasos has."
    early, late = steps.index(1000), steps.index(10_000)
    gains = 100 * (medians[:, -1] - medians[:, early])
    last = 100 * (medians[:, -1] - medians[:, late])
    apart = 100 * (medians[:, -1].max() - medians[:, -1].min())
    return [
        Claim(
            finding,
            OURS,
            f"On Fashion-MNIST {_told_count(crossings, results)}. The median closest to it is "
            f"{_told_cell(near)}.",
        ),
        Claim(
            "The best λ, and the spread over seeds.",
            OURS,
            f"The best median is {_told_cell(best)}. After {steps[-1]:,} steps the accuracies of "
            f"{found.shape[1]} seeds span {spreads[0]:.1f} points at λ = {rounded(lams[0], 1)} and "
            f"{spreads[-1]:.1f} at λ = {rounded(lams[-1], 1)}.",
        ),
        Claim(
            "Pegasos benefits from the fact that a large number of iterations can be run.",
            KARTHIK,
            f"From {steps[early]:,} to {steps[-1]:,} steps for each pair of classes the median "
            f"accuracy changes by {span(gains, _told_gain)} points, depending on λ. From "
            f"{steps[late]:,} steps on it changes by {span(last, _told_gain)}. At the end the best "
            f"and the worst λ are {apart:.1f} points apart.",
            mark(gains.min() >= 1 and last.min() > 0, gains.min() >= 1),
            f"✓ if {steps[-1]:,} steps beat {steps[early]:,} by at least a point for every λ, and "
            f"beat {steps[late]:,}; ~ if only the first holds.",
        ),
    ]


def _told_outline(ax: Any, above: np.ndarray) -> None:
    """Draw the border between cells that are above a level and others."""
    line = {"color": plots.VERMILION, "linewidth": 3, "solid_capstyle": "round"}
    for row, column in np.argwhere(above[:, 1:] != above[:, :-1]):
        ax.plot([column + 0.5] * 2, [row - 0.5, row + 0.5], **line)
    for row, column in np.argwhere(above[1:] != above[:-1]):
        ax.plot([column - 0.5, column + 0.5], [row + 0.5] * 2, **line)


def _told_map(ax: Any, results: dict[str, Any]) -> None:
    """Draw the medians in per cent, with the border of the reported accuracy."""
    values = 100 * _told_medians(results)
    ax.imshow(values, cmap="viridis", aspect="auto", origin="lower", vmin=55)
    middle = (55 + values.max()) / 2
    for (row, column), value in np.ndenumerate(values):
        color = plots.BLACK if value > middle else "white"
        ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=9.5, color=color)
    _told_outline(ax, values >= 100 * results["reported"])
    steps = [f"{n}" if n < 1000 else f"{n // 1000}k" for n in results["steps"]]
    ax.set_xticks(range(len(steps)), steps)
    ax.set_yticks(range(len(results["lams"])), [plots.power_of_ten(lam) for lam in results["lams"]])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel=f"{plots.WORDS['steps']} of each pair", ylabel=plots.WORDS["lam"])
    ax.yaxis.label.set_rotation(0)
    ax.set_title("median test accuracy, %; line: the paper's")


def plot(results: dict[str, Any]) -> plots.Figure:
    """Accuracy as a map over λ and T, and against T for the best λ with what seeds spread."""
    figure, axes = plots.panels(1, 2, 4.8, width_ratios=[1.3, 1])
    left, right = axes[0]
    _told_map(left, results)
    found, medians = 100 * np.array(results["accuracy"], dtype=float), 100 * _told_medians(results)
    best = int(medians.max(axis=1).argmax())
    every = np.array([medians.min(axis=0), medians.max(axis=0)])
    right.fill_between(results["steps"], *every, color=plots.LIGHT_GREY, linewidth=0)
    color, name = plots.BLUE, f"λ = {plots.power_of_ten(results['lams'][best])}"
    style: Any = {"linewidth": 1.8, "alpha": 0.3, "marker": "o", "markersize": 4}
    plots.band(right, results["steps"], percentiles(found[best]), color=color, label=name, **style)
    reported = 100 * results["reported"]
    right.axhline(reported, color=plots.VERMILION, linewidth=2)
    plots.log_x(right, ylabel=plots.WORDS["test_accuracy"], title="the best λ; grey: of all λ")
    right.set_xlabel(f"{plots.WORDS['steps']} of each pair")
    label, at = f"term paper: {reported:.2f}%", (results["steps"][0], reported)
    plots.beside(right, label, at, (0, 4), of=plots.VERMILION, fontsize=10, va="baseline")
    return plots.state(
        figure,
        _told_title(results),
        f"Fashion-MNIST, {results['images']:,} training images, one against one; independent "
        f"draws, last iterate, no intercept. Medians, and 20–80% of {len(results['seeds'])} runs.",
    )


def _told_title(results: dict[str, Any]) -> str:
    """Say where the plain algorithm comes to the reported accuracy."""
    crossings, number = _told_crossings(results), percent(results["reported"], 2)
    if not crossings:
        return "Plain Pegasos does not reach the paper's accuracy"
    every = len(crossings) == len(results["lams"])
    which = "whatever λ" if every else f"for {len(crossings)} of {len(results['lams'])} λ"
    best = max(row["test_accuracy"] for row in results["table"])
    return (
        f"Plain Pegasos passes the term paper's accuracy: it has {number} after "
        f"{span(crossings.values(), '{:,}'.format)} steps {which}, and {percent(best)} at best"
    )
