"""Losses side by side: boundaries, convergence, and what wrong labels do to each.

The same data, kernel and λ with every loss of classification; one in five labels is wrong in the
middle. The certificate is that of each loss's own objective.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import JOURNAL, Claim, exponent, listed, mark, percent, slope
from experiments._run import ExperimentContext
from experiments._runs import histories, moons
from experiments._tables import percentiles
from kpegasos import PegasosSVC, losses, make_problem, make_rows, sdca

FULL_TIME = "15 s"
QUICK_TIME = "10 s"

#: Losses by the names that the estimators have for them.
NAMES = {
    "hinge": "hinge",
    "smoothed_hinge": "smoothed hinge",
    "log_loss": "logistic",
    "squared_hinge": "squared hinge",
}
NOISE = (0.0, 0.2)
SEEDS, TEST, LAM, GAMMA = 20, 4000, 1e-3, 2.0
#: Points along each side of the grid of decisions, and their coordinates.
GRID = 80
EXTENT = (np.linspace(-1.8, 2.8, GRID), np.linspace(-1.4, 1.9, GRID))


def _data(n_samples: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Moons with wrong labels."""
    X, signs = moons(n_samples, noise=0.15, seed=seed)
    rng = np.random.default_rng(seed)
    return X, np.where(rng.random(n_samples) < noise, -signs, signs)


def _model(name: str, seed: int) -> PegasosSVC:
    return PegasosSVC(lam=LAM, gamma=GAMMA, loss=name, polish=True, tol=1e-3, random_state=seed)


def _errors(name: str, noise: float, n_samples: int, seeds: int) -> dict[str, Any]:
    """Test errors on clean labels of polished models, and certified gaps."""
    X_test, y_test = _data(TEST, 0.0, 10_000)
    errors, gaps = [], []
    for seed in range(seeds):
        X, y = _data(n_samples, noise, seed)
        model = _model(name, seed).fit(X, y)
        errors.append(1.0 - model.score(X_test, y_test))
        gaps.append(model.relative_gap_)
    return {"error": errors, "gap": gaps}


def _surface(name: str, noise: float, n_samples: int) -> np.ndarray:
    """Decisions on a grid."""
    x, y = np.meshgrid(*EXTENT)
    model = _model(name, 0).fit(*_data(n_samples, noise, 0))
    decisions = model.decision_function(np.column_stack((x.ravel(), y.ravel())))
    return np.reshape(decisions, (GRID, GRID))


def _curves(name: str, n_samples: int, seeds: int, n_steps: int) -> dict[str, Any]:
    """Relative suboptimality of the average against steps."""
    X, y = _data(n_samples, 0.0, 0)
    rows = make_rows(X, "rbf", gamma=GAMMA)
    problem = make_problem(y, LAM, loss=losses.CLASSIFICATION[name]())
    best = sdca(problem, rows, tol=1e-8, max_epochs=50_000, random_state=0)
    found = histories(problem, rows, seeds, n_steps=n_steps, checkpoints="log")
    excess = found["average"] / best.dual_bound - 1.0
    return {"steps": found["steps"], "excess": percentiles(excess)}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit every loss with each share of wrong labels and every seed."""
    n_samples, seeds, n_steps = (200, 3, 2000) if context.quick else (600, SEEDS, 100_000)
    table, surfaces = [], {}
    for name, noise in context.progress(product(NAMES, NOISE), "losses"):
        key = f"{name}, {noise:g}"
        found = context.part(key, _errors, name, noise, n_samples, seeds)
        row = {"loss": name, "wrong_labels": noise, "largest_gap": max(found["gap"])}
        row |= {"test_error": np.mean(found["error"]), "test_error_spread": np.std(found["error"])}
        table.append(row)
        surfaces[key] = context.part(f"{key}, surface", _surface, name, noise, n_samples)
    how = (n_samples, min(seeds, 10), n_steps)
    points = {f"{noise:g}": _data(n_samples, noise, 0) for noise in NOISE}
    return {
        "seeds": list(range(seeds)),
        "table": table,
        "surfaces": surfaces,
        "curves": {name: context.part(f"{name}, curves", _curves, name, *how) for name in NAMES},
        "points": {key: {"X": X, "y": y} for key, (X, y) in points.items()},
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The remark that the analysis is not the hinge's alone."""
    rates = {}
    for name, curve in results["curves"].items():
        steps, excess = np.array(curve["steps"]), np.array(curve["excess"][1])
        late = steps >= steps[-1] / 10
        rates[name] = slope(steps[late], excess[late])
    share = max(row["wrong_labels"] for row in results["table"])
    errors = {r["loss"]: r["test_error"] for r in results["table"] if r["wrong_labels"] == share}
    best, worst = min(errors, key=errors.__getitem__), max(errors, key=errors.__getitem__)
    bounded = [rate for name, rate in rates.items() if name != "squared_hinge"]
    told = listed(f"{exponent(rate)} ({name.replace('_', ' ')})" for name, rate in rates.items())
    return [
        Claim(
            "The analysis holds for any convex loss of bounded slope.",
            JOURNAL,
            f"Exponent of T in the suboptimality: {told}. With {percent(share, 0)} of the labels "
            f"wrong the test error is {percent(errors[best])} ({best.replace('_', ' ')}) to "
            f"{percent(errors[worst])} ({worst.replace('_', ' ')}).",
            mark(max(bounded) <= -0.8, max(bounded) <= -0.5),
            "✓ if the exponent over the last decade of steps is at most −0.8 for every loss of "
            "bounded slope, ~ if at most −0.5. The squared hinge does not count.",
        )
    ]


#: Colour and line of each loss.
LOOKS: dict[str, tuple[str, Any]] = {
    "hinge": (plots.BLACK, "-"),
    "smoothed_hinge": (plots.BLUE, "--"),
    "log_loss": (plots.ORANGE, "-"),
    "squared_hinge": (plots.GREEN, "-."),
}


def _boundaries(ax: Any, results: dict[str, Any], noise: float) -> None:
    """Points, and the boundary of each loss."""
    points = results["points"][f"{noise:g}"]
    X, y = np.array(points["X"]), np.array(points["y"])
    for sign, marker in ((1, "o"), (-1, "^")):
        ax.scatter(*X[y == sign].T, s=8, marker=marker, color="0.72", linewidths=0)
    for name, (color, line) in LOOKS.items():
        values = np.array(results["surfaces"][f"{name}, {noise:g}"])
        style = {"colors": [color], "linestyles": [line], "linewidths": 1.8}
        ax.contour(*EXTENT, values, levels=[0.0], **style)
    ax.set(xticks=[], yticks=[])
    ax.set_title("clean labels" if noise == 0.0 else f"{noise:.0%} of the labels wrong")


def _error_bars(ax: Any, table: list[dict[str, Any]]) -> None:
    """Test error of each loss: hollow for clean labels, filled for wrong ones."""
    for height, (name, (color, _)) in enumerate(LOOKS.items()):
        for row in (row for row in table if row["loss"] == name):
            error, spread = (100 * row[key] for key in ("test_error", "test_error_spread"))
            fill = {} if row["wrong_labels"] else {"markerfacecolor": "white"}
            style: dict[str, Any] = {"fmt": "o", "color": color, "capsize": 3, "markersize": 7}
            ax.errorbar(error, height, xerr=spread, **style, **fill)
    plots.rows_down(ax, [NAMES[name] for name in LOOKS])
    ax.set_xlim(left=0)
    ax.set_xlabel(plots.WORDS["test_error"])
    ax.set_title("hollow: clean labels, filled: wrong ones")
    ax.grid(alpha=0.25, axis="x")


def plot(results: dict[str, Any]) -> plots.Figure:
    """Boundaries with and without wrong labels, test errors, and convergence."""
    figure, ((clean, wrong), (errors, steps)) = plots.panels(2, 2, 6.8)
    for noise, ax in zip(NOISE, (clean, wrong), strict=True):
        _boundaries(ax, results, noise)
    _error_bars(errors, results["table"])
    for name, (color, line) in LOOKS.items():
        curve = results["curves"][name]
        plots.band(steps, curve["steps"], curve["excess"], color=color, linestyle=line)
    plots.log_log(steps, xlabel=plots.WORDS["steps"], ylabel=plots.WORDS["relative_suboptimality"])
    steps.set_title("t-weighted average")
    looks = {NAMES[name]: {"color": c, "linestyle": line} for name, (c, line) in LOOKS.items()}
    plots.legend_above(clean, looks, over_title=True)
    clean_errors = [r["test_error"] for r in results["table"] if not r["wrong_labels"]]
    noisy = [row for row in results["table"] if row["wrong_labels"]]
    least, most = (f(noisy, key=lambda row: float(row["test_error"])) for f in (min, max))
    low, high = (row["test_error_spread"] for row in (least, most))
    apart = most["test_error"] - high > least["test_error"] + low
    least_of = f"{NAMES[least['loss']].capitalize()} errs" if apart else "No loss clearly errs"
    first = min(LOOKS, key=lambda name: results["curves"][name]["excess"][1][-1])
    return plots.state(
        figure,
        f"{least_of} least; {NAMES[first]} converges first: with "
        f"{noisy[0]['wrong_labels']:.0%} of the labels wrong they err {least['test_error']:.1%} "
        f"({NAMES[least['loss']]}) to {most['test_error']:.1%} ({NAMES[most['loss']]}), on clean "
        f"labels {min(clean_errors):.1%} to {max(clean_errors):.1%}",
        f"Two moons, RBF kernel, λ = {LAM:g}; means and standard deviations of "
        f"{len(results['seeds'])} data sets; curves: median and 20–80% of up to ten runs.",
    )
