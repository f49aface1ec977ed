"""Losses side by side: boundaries, convergence, and what wrong labels do to each.

The same data, kernel and λ with every loss of classification; one in five labels is wrong in the
middle. The certificate is that of each loss's own objective.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import JOURNAL, Claim, exponent, listed, mark, percent, slope
from experiments._plots import band, legend_below, log_log
from experiments._tables import percentiles
from kpegasos import PegasosSVC, losses, make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import make_toy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "60 s"
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
#: Points along each side of the grid of decisions.
GRID = 80


def _data(n_samples: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Moons with wrong labels."""
    X, y = make_toy("moons", n_samples, noise=0.15, random_state=seed)
    rng = np.random.default_rng(seed)
    signs = np.where(y == 1, 1.0, -1.0)
    return X, np.where(rng.random(n_samples) < noise, -signs, signs)


def _errors(name: str, noise: float, n_samples: int, seeds: int) -> dict[str, Any]:
    """Test errors on clean labels of polished models, support, and certified gaps."""
    X_test, y_test = _data(TEST, 0.0, 10_000)
    errors, support, gaps = [], [], []
    for seed in range(seeds):
        X, y = _data(n_samples, noise, seed)
        model = PegasosSVC(
            lam=LAM, gamma=GAMMA, loss=name, polish=True, tol=1e-3, random_state=seed
        ).fit(X, y)
        errors.append(1.0 - model.score(X_test, y_test))
        support.append(model.support_.size / n_samples)
        gaps.append(model.relative_gap_)
    return {"error": errors, "support": support, "gap": gaps}


def _surface(name: str, noise: float, n_samples: int) -> np.ndarray:
    """Decisions on a grid."""
    X, y = _data(n_samples, noise, 0)
    model = PegasosSVC(lam=LAM, gamma=GAMMA, loss=name, polish=True, tol=1e-3, random_state=0).fit(
        X, y
    )
    return np.asarray(model.decision_function(_grid()).reshape(GRID, GRID))


def _grid() -> np.ndarray:
    x, y = np.meshgrid(np.linspace(-1.8, 2.8, GRID), np.linspace(-1.4, 1.9, GRID))
    return np.column_stack((x.ravel(), y.ravel()))


def _curves(name: str, n_samples: int, seeds: int, n_steps: int) -> dict[str, Any]:
    """Relative suboptimality of the average against steps."""
    X, y = _data(n_samples, 0.0, 0)
    rows = make_rows(X, "rbf", gamma=GAMMA)
    problem = make_problem(y, LAM, loss=losses.CLASSIFICATION[name]())
    best = sdca(problem, rows, tol=1e-8, max_epochs=50_000, random_state=0)
    histories = [
        pegasos(problem, rows, n_steps=n_steps, checkpoints="log", random_state=seed).history
        for seed in range(seeds)
    ]
    excess = np.array([h["objective_average"] for h in histories]) / best.dual_bound - 1.0
    gaps = np.array([h["relative_gap"] for h in histories])
    return {
        "steps": histories[0]["iteration"],
        "excess": percentiles(excess),
        "gap": percentiles(gaps),
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit every loss with each share of wrong labels and every seed."""
    n_samples, seeds, n_steps = (200, 3, 2000) if context.quick else (600, SEEDS, 100_000)
    table, surfaces, curves = [], {}, {}
    for name, noise in context.progress(list(product(NAMES, NOISE)), "losses"):
        found = context.part(f"{name}, {noise:g}", partial(_errors, name, noise, n_samples, seeds))
        table.append(
            {
                "loss": name,
                "wrong_labels": noise,
                "test_error": float(np.mean(found["error"])),
                "test_error_spread": float(np.std(found["error"])),
                "support": float(np.mean(found["support"])),
                "largest_gap": float(np.max(found["gap"])),
            }
        )
        surfaces[f"{name}, {noise:g}"] = context.part(
            f"{name}, {noise:g}, surface", partial(_surface, name, noise, n_samples)
        )
    for name in NAMES:
        curves[name] = context.part(
            f"{name}, curves", partial(_curves, name, n_samples, min(seeds, 10), n_steps)
        )
    points = {f"{noise:g}": _data(n_samples, noise, 0) for noise in NOISE}
    return {
        "seeds": list(range(seeds)),
        "table": table,
        "surfaces": surfaces,
        "curves": curves,
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
    told = listed(f"{exponent(rate)} ({name.replace('_', ' ')})" for name, rate in rates.items())
    return [
        Claim(
            "The analysis holds for any convex loss.",
            JOURNAL,
            f"Exponent of T in the suboptimality: {told}. With {percent(share, 0)} of the labels "
            f"wrong the test error is {percent(errors[best])} ({best.replace('_', ' ')}) to "
            f"{percent(errors[worst])} ({worst.replace('_', ' ')}).",
            mark(max(rates.values()) <= -0.8, max(rates.values()) <= -0.5),
            "✓ if the exponent over the last decade of steps is at most −0.8 for every loss, ~ if "
            "at most −0.5.",
        )
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Boundaries with and without wrong labels, and convergence."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), width_ratios=(1, 1, 1.1))
    extent = np.linspace(-1.8, 2.8, GRID), np.linspace(-1.4, 1.9, GRID)
    errors = {(row["loss"], row["wrong_labels"]): row["test_error"] for row in results["table"]}
    for noise, ax in zip(NOISE, axes[:2], strict=True):
        points = results["points"][f"{noise:g}"]
        X, y = np.array(points["X"]), np.array(points["y"])
        for sign, marker in ((1, "o"), (-1, "^")):
            own = y == sign
            ax.scatter(*X[own].T, s=7, marker=marker, color="0.75", linewidths=0)
        for number, (name, label) in enumerate(NAMES.items()):
            values = np.array(results["surfaces"][f"{name}, {noise:g}"])
            ax.contour(*extent, values, levels=[0.0], colors=[f"C{number}"], linewidths=1.6)
            ax.plot([], [], color=f"C{number}", label=f"{label}, {errors[name, noise]:.1%}")
        title = "clean labels" if noise == 0.0 else f"{noise:.0%} of the labels wrong"
        ax.set(title=title, xticks=[], yticks=[], xlabel="boundaries")
        ax.legend(fontsize=8, title="test error", title_fontsize=8, loc="lower left")
    for number, (name, label) in enumerate(NAMES.items()):
        curve = results["curves"][name]
        band(axes[2], curve["steps"], curve["excess"], color=f"C{number}", label=label)
        axes[2].plot(curve["steps"], np.array(curve["gap"])[1], color=f"C{number}", ls=":", lw=1)
    log_log(axes[2], title="suboptimality; dotted: certified gap", xlabel="steps")
    axes[2].set_ylabel("over the optimum")
    legend_below(figure, axes[2], ncols=4)
    return figure
