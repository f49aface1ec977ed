"""The largest margin among separating lines (term paper, Fig. 1), and what C it takes.

S. Karthik, "Pegasos for SVM Training": "Among all possible linear separating boundaries, the SVM
optimization function picks the one that maximizes the margin." Two Gaussian clouds that a line can
separate. The margin of a line is its distance to the nearest example, negative if an example lies
on the wrong side. The largest is found without an SVM, by a search over directions; for each
direction the best line runs midway between the two classes.

With a soft margin the claim holds from the C on that is the largest coefficient of the hard-margin
solution. The intercept is regularised here (a constant feature of 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._claims import KARTHIK, Claim, mark, percent
from experiments._run import ExperimentContext
from experiments._runs import plane
from experiments._tables import percentiles, summary
from kpegasos import Result, linear_rows, make_problem, pegasos, sdca

FULL_TIME = "20 s"
QUICK_TIME = "5 s"

N_SAMPLES, DATA_SEED = 40, 4
CS = (0.1, 1.0, 10.0, 100.0)
SHOWN_C = 10.0
SEEDS = 15
N_LINES, N_DRAWN, GRID = 400, 12, 40
#: A margin is called the largest from this share of it on.
CLOSE = 0.98


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


def _largest(X: np.ndarray, y: np.ndarray, degrees: float) -> float:
    """Margin of the best line with this normal."""
    end, begin = _ends(X, y, degrees)
    return (begin - end) / 2


def _search() -> dict[str, Any]:
    """The largest margin of all lines, and a sample of those that separate."""
    X, y = _data()
    degrees = np.arange(-180.0, 180.0, 0.5)
    largest = np.array([_largest(X, y, degree) for degree in degrees])
    start = degrees[largest.argmax()]
    options: Any = {"bounds": (start - 0.5, start + 0.5), "options": {"xatol": 1e-10}}
    best = minimize_scalar(lambda degree: -_largest(X, y, degree), method="bounded", **options)
    separating = degrees[largest > 0]
    rng = np.random.RandomState(0)
    lines: list[tuple[float, float, float]] = []
    while len(lines) < N_LINES:
        degree = rng.uniform(separating[0] - 0.5, separating[-1] + 0.5)
        end, begin = _ends(X, y, degree)
        if begin > end:
            offset = rng.uniform(end, begin)
            lines.append((degree, offset, min(begin - offset, offset - end)))
    hard = SVC(kernel="linear", C=1e6).fit(X, y)
    return {
        "margin": -best.fun,
        "smallest_c": np.abs(hard.dual_coef_).max(),
        "lines": lines,
        "curve": {"degrees": degrees, "margin": largest},
    }


def _margin(result: Result, signs: np.ndarray) -> float:
    assert result.w is not None
    return float((signs * result.margins).min() / np.linalg.norm(result.w))


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
    results = []
    for seed in range(seeds):
        margins.append([])
        results.append(pegasos(problem, rows, random_state=seed, **options))
    exact = sdca(problem, rows, tol=1e-7, max_epochs=100_000, random_state=0)
    first = results[0]
    assert first.w is not None
    return {
        "iteration": first.history["iteration"],
        "margin": np.array(margins),
        "optimum": _margin(exact, signs),
        "model": {
            "degrees": float(np.rad2deg(np.arctan2(first.w[1], first.w[0]))),
            "margin": _margin(first, signs),
        },
        "panel": {**plane(first.decision_function, X, 0.5, GRID), "y": y},
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Search all lines, then run Pegasos for each C with every seed."""
    n_steps, seeds = (10_000, 5) if context.quick else (1_000_000, SEEDS)
    best = context.part("search", _search)
    fits = {
        f"{C:g}": context.part(f"C = {C:g}", _runs, C, n_steps, seeds)
        for C in context.progress(CS, "values of C")
    }
    table = []
    for C, fit in fits.items():
        shares = np.array(fit["margin"])[:, -1] / best["margin"]
        row = {"C": float(C), "optimum_share": fit["optimum"] / best["margin"]}
        row |= summary("pegasos_share", shares)
        table.append({**row, "passes": n_steps / N_SAMPLES})
    return {
        "seeds": list(range(seeds)),
        "n_samples": N_SAMPLES,
        "search": best,
        "table": table,
        "curves": {
            C: {"iteration": fit["iteration"], "margin": fit["margin"]} for C, fit in fits.items()
        },
        "models": {C: fit["model"] for C, fit in fits.items()},
        "shown": {"C": SHOWN_C, "panel": fits[f"{SHOWN_C:g}"]["panel"]},
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The claim of the term paper's first figure."""
    table = results["table"]
    shares = [row["optimum_share"] for row in table]
    enough = next((i for i in range(len(shares)) if min(shares[i:]) >= 0.99), None)
    if enough is None:
        share = percent(shares[-1])
        found = f"At C = {table[-1]['C']:g} the optimum has {share} of the largest margin."
    else:
        first, last = table[enough], table[-1]
        found = (
            f"From C = {first['C']:g} on the optimum has {percent(shares[enough])} of the "
            f"largest margin; at C = {table[0]['C']:g} "
            + (
                f"it has {percent(shares[0], 0)}. Pegasos has "
                if shares[0] >= 0
                else "the line misclassifies a training point. Pegasos has "
            )
            + f"{percent(last['pegasos_share'])} at C = {last['C']:g} after "
            f"{last['passes'] * results['n_samples']:,.0f} steps."
        )
    return [
        Claim(
            "Among all separating lines the SVM picks the one of largest margin.",
            KARTHIK,
            found,
            mark(enough is not None),
            "✓ if the optimum has 99% of the largest margin from some C on, ✗ if not.",
        )
    ]


def _draw_lines(ax: plots.Axes, results: dict[str, Any]) -> None:
    """Some lines that separate, and ours."""
    from kpegasos.plotting import DecisionRegionDisplay

    best, shown = results["search"], results["shown"]
    xs = np.array([shown["panel"]["xx"][0], shown["panel"]["xx"][-1]])
    for degrees, offset, _ in best["lines"][:N_DRAWN]:
        angle = np.deg2rad(degrees)
        ys = (offset - xs * np.cos(angle)) / np.sin(angle)
        ax.plot(xs, ys, color=plots.GREY, linewidth=0.8, zorder=1.5)
    panel = {key: shown["panel"][key] for key in ("xx", "yy", "values", "X", "y")}
    DecisionRegionDisplay(**panel).plot(ax, legend=False, point_size=16)
    ax.set(aspect="equal", xticks=[], yticks=[], xlabel="", ylabel="")
    ax.set_title(f"grey: lines that separate\nblack: Pegasos, C = {shown['C']:g}")


def _draw_envelope(ax: plots.Axes, results: dict[str, Any], colors: dict[str, str]) -> None:
    """Margins of lines by direction, and those of the models."""
    best = results["search"]
    curve = {name: np.array(values) for name, values in best["curve"].items()}
    kept = curve["margin"] > -0.3 * best["margin"]
    ax.plot(curve["degrees"][kept], curve["margin"][kept], color="black")
    at = np.array(best["lines"])
    ax.scatter(at[:, 0], at[:, 2], s=6, color=plots.GREY, linewidths=0)
    for C, model in results["models"].items():
        style: dict[str, Any] = {"marker": "D", "markersize": 9, "markeredgecolor": "white"}
        ax.plot(model["degrees"], model["margin"], color=colors[C], linestyle="none", **style)
    ax.axhline(0, color="black", linewidth=0.6)
    ax.set(xlabel="direction of the line's normal, degrees", ylabel="margin of the line")
    ax.set_title("grey: lines that separate\nblack: the widest of a direction")


def _draw_runs(ax: plots.Axes, results: dict[str, Any], colors: dict[str, str]) -> None:
    """Margins along the runs, as shares of the largest."""
    from matplotlib.ticker import PercentFormatter

    for C, runs in results["curves"].items():
        shares = percentiles(np.array(runs["margin"]) / results["search"]["margin"])
        style: Any = {"color": colors[C], "linewidth": 1.6, "label": f"C = {C}"}
        plots.band(ax, runs["iteration"], shares, **style)
    ax.axhline(1, color="black", linewidth=0.8, linestyle=":")
    ax.axhline(0, color="black", linewidth=0.6)
    plots.log_x(ax, xlabel=plots.WORDS["steps"], ylabel="share of the largest margin")
    ax.set(ylim=(-1.05, 1.1), title="margin of the average\nalong the runs")
    ax.yaxis.set_major_formatter(PercentFormatter(1))


def plot(results: dict[str, Any]) -> plots.Figure:
    """Lines, their margins by direction, and margins along the runs."""
    figure, ((lines, envelope, along),) = plots.panels(1, 3, 4.4, width_ratios=[1.35, 1, 1.15])
    colors = dict(zip(results["models"], plots.shades(len(results["models"])), strict=True))
    _draw_lines(lines, results)
    _draw_envelope(envelope, results, colors)
    style: Any = {"fontsize": 9.5, "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5}}
    by_share: dict[float, list[str]] = {}
    for C, model in results["models"].items():
        by_share.setdefault(round(model["margin"] / results["search"]["margin"], 1), []).append(C)
    for share, Cs in by_share.items():
        model, name = results["models"][Cs[-1]], f"C = {', '.join(Cs)}"
        shift, side = ((0, -13), "center") if 0 < share < 1 else ((-8, 0), "right")
        at = (model["degrees"], model["margin"])
        plots.beside(envelope, name, at, shift, colors[Cs[-1]], ha=side, **style)
    _draw_runs(along, results, colors)
    reached = [row for row in results["table"] if row["pegasos_share"] > CLOSE]
    return plots.state(
        figure,
        f"{'A large' if reached else 'No'} C finds the widest separating line: {_finding(reached)}",
        f"Two Gaussian clouds, m = {results['n_samples']}, linear kernel. The largest margin is "
        "found without an SVM, by a search over directions; the hard-margin solution has "
        f"coefficients up to {results['search']['smallest_c']:.2g}. Diamonds: Pegasos. Right: "
        f"median and 20–80% of {len(results['seeds'])} runs.",
    )


def _finding(reached: list[dict[str, Any]]) -> str:
    """Say from which C on Pegasos finds the widest of the separating lines."""
    if not reached:
        return "No C finds the widest of the separating lines"
    first = min(row["C"] for row in reached)
    least = min(row["pegasos_share"] for row in reached)
    return (
        f"From C = {first:g} on, Pegasos finds the widest of all separating lines: "
        f"at least {least:.1%} of the largest margin"
    )
