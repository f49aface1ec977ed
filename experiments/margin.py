"""The largest margin among separating lines (term paper, Fig. 1), and what C it takes.

S. Karthik, "Pegasos for SVM Training": "Among all possible linear separating boundaries, the SVM
optimization function picks the one that maximizes the margin." Two Gaussian clouds that a line can
separate. The margin of a line is its distance to the nearest example, negative if an example lies
on the wrong side. The largest is found without an SVM, by a search over directions; for each
direction the best line runs midway between the two classes.

With a soft margin it is so from the C on that is the largest coefficient of the hard-margin
solution. The intercept is regularised here (a constant feature of 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from experiments import _plots as plots
from experiments._data import plane
from experiments._results import OURS, Claim, percent, percentiles, summary
from experiments._run import Context
from kpegasos import Result, linear_rows, make_problem, pegasos, sdca
from kpegasos.plotting import DecisionRegionDisplay

N_SAMPLES, DATA_SEED = 40, 4
CS = (0.1, 1.0, 10.0, 100.0)
SHOWN_C = 10.0
SEEDS = 15
N_LINES, GRID = 12, 40


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(DATA_SEED)
    y = np.arange(N_SAMPLES) % 2
    centres = np.where(y[:, None] == 1, [1.2, 1.3], [-1.2, -0.7])
    return rng.randn(N_SAMPLES, 2) * [1.0, 0.6] + centres, y


def _ends(X: np.ndarray, y: np.ndarray, degrees: float) -> tuple[float, float]:
    """Project on a direction: where class 0 ends and class 1 begins."""
    angle = np.deg2rad(degrees)
    position = X @ [np.cos(angle), np.sin(angle)]
    return float(position[y == 0].max()), float(position[y == 1].min())


def _search() -> dict[str, Any]:
    """The largest margin of all lines, and a sample of those that separate."""
    X, y = _data()

    def narrowness(degrees: float) -> float:
        end, begin = _ends(X, y, degrees)
        return (end - begin) / 2

    degrees = np.arange(-180.0, 180.0, 0.5)
    widths = -np.array([narrowness(degree) for degree in degrees])
    start = degrees[widths.argmax()]
    options: Any = {"bounds": (start - 0.5, start + 0.5), "options": {"xatol": 1e-10}}
    best = minimize_scalar(narrowness, method="bounded", **options)
    rng, separating = np.random.RandomState(0), degrees[widths > 0]
    lines = []
    for degree in rng.choice(separating, N_LINES):
        end, begin = _ends(X, y, degree)
        lines.append((degree, rng.uniform(end, begin)))
    return {"margin": -best.fun, "lines": lines}


def _margin(result: Result, signs: np.ndarray) -> float:
    return float((signs * result.margins).min() / np.linalg.norm(np.asarray(result.w)))


def _runs(C: float, n_steps: int, seeds: int) -> dict[str, Any]:
    """Margins of the averaged iterate along Pegasos runs, and of the optimum of the objective."""
    X, y = _data()
    signs = np.where(y == 1, 1.0, -1.0)
    problem = make_problem(signs, lam=1 / (C * N_SAMPLES))
    rows = linear_rows(X, intercept_scaling=1.0)
    margins: list[list[float]] = []

    def note(run: Any) -> None:
        margins[-1].append(_margin(run.result(), signs))

    options: Any = {"n_steps": n_steps, "checkpoints": "log", "monitor": note}
    for seed in reversed(range(seeds)):  # the first seed is shown
        margins.append([])
        shown = pegasos(problem, rows, random_state=seed, **options)
    exact = sdca(problem, rows, tol=1e-7, max_epochs=100_000, random_state=0)
    return {
        "iteration": shown.history["iteration"],
        "margin": np.array(margins),
        "optimum": _margin(exact, signs),
        "panel": {**plane(shown.decision_function, X, 0.5, GRID), "y": y},
    }


def compute(context: Context) -> dict[str, Any]:
    """Search all lines, then run Pegasos for each C with every seed."""
    n_steps, seeds = (10_000, 5) if context.quick else (1_000_000, SEEDS)
    best = _search()
    fits = {C: context.part(f"C = {C:g}", _runs, C, n_steps, seeds) for C in CS}
    table = []
    for C, fit in fits.items():
        shares = np.array(fit["margin"])[:, -1] / best["margin"]
        row = {"C": C, "steps": n_steps, "optimum_share": fit["optimum"] / best["margin"]}
        table.append(row | summary("pegasos_share", shares))
    curves = {
        f"{C:g}": {key: fit[key] for key in ("iteration", "margin")} for C, fit in fits.items()
    }
    return {
        "seeds": list(range(seeds)),
        "search": best,
        "table": table,
        "curves": curves,
        "panel": fits[SHOWN_C]["panel"],
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """From which C on the widest line is found."""
    first, *_, last = results["table"]
    told = ", ".join(
        f"{percent(row['optimum_share'])} at C = {row['C']:g}" for row in results["table"]
    )
    return [
        Claim(
            "A soft margin finds the widest of all separating lines once C is large.",
            OURS,
            f"The exact solution has {told} of the largest margin (a negative share: the line of "
            f"C = {first['C']:g} misclassifies a point). Pegasos has "
            f"{percent(last['pegasos_share'])} at C = {last['C']:g} after {last['steps']:,} steps.",
        )
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Lines that separate, and margins along the runs."""
    figure, ((lines, along),) = plots.panels(1, 2, 4.2, width_ratios=[1, 1.1])
    xs = np.array([results["panel"]["xx"][0], results["panel"]["xx"][-1]])
    for degrees, offset in results["search"]["lines"]:
        angle = np.deg2rad(degrees)
        ys = (offset - xs * np.cos(angle)) / np.sin(angle)
        lines.plot(xs, ys, color=plots.GREY, linewidth=0.8, zorder=1.5)
    panel = results["panel"]
    DecisionRegionDisplay(**panel).plot(lines, legend=False, point_size=16)
    lines.set(aspect="equal", xticks=[], yticks=[])
    lines.set_title(f"grey: lines that separate\nblack: Pegasos, C = {SHOWN_C:g}")
    colors = plots.shades(len(results["curves"]))
    for (C, runs), color in zip(results["curves"].items(), colors, strict=True):
        shares = percentiles(np.array(runs["margin"]) / results["search"]["margin"])
        plots.band(along, runs["iteration"], shares, color=color, label=f"C = {C}")
    along.axhline(1, color=plots.BLACK, linewidth=0.8, linestyle=":")
    plots.log_x(along, xlabel=plots.STEPS, ylabel="margin, over the largest", ylim=(-1.05, 1.1))
    along.set_title("margin of the average\nalong the runs")
    return plots.state(
        figure,
        "A large C finds the widest separating line",
        f"Two Gaussian clouds, m = {N_SAMPLES}, linear kernel. The largest margin is found without "
        f"an SVM, by a search over directions. Right: median and 20–80% of "
        f"{len(results['seeds'])} runs.",
    )
