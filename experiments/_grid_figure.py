"""The figure of `grid_search`: seconds of every tool, TorchKM's protocol, and one surface."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
OURS = "PegasosSVCCV"
#: Colour, marker and label of each tool, in the order of the legend.
_STYLES: dict[str, tuple[str, str, str]] = {
    OURS: (VERMILION, "o", "PegasosSVCCV"),
    "PegasosSVC": (PURPLE, "D", "GridSearchCV, PegasosSVC"),
    "intelex": (GREEN, "^", "GridSearchCV, intelex"),
    "SVC": (BLUE, "s", "GridSearchCV, SVC"),
    "single fits": (GREY, "|", "dearest single fit, PegasosSVC"),
    "torchkm": (BLACK, "P", "TorchKM on a GPU, published"),
    "thundersvm": (ORANGE, "v", "ThunderSVM on that GPU, published"),
    "scikit_learn": (SKY, "X", "scikit-learn, published"),
}
#: The problem whose surface is shown, if it was measured.
_SHOWN = "T-shirt or shirt 4,000"


def _ratio(value: float) -> str:
    return f"{value:.2f} ×" if value < 1 else f"{value:.1f} ×" if value < 10 else f"{value:.0f} ×"


def _seconds(ax: Axes, lines: dict[str, list[Row]]) -> None:
    """A line for each name, a dot on it for each row, and how much longer than ours it took."""
    for height, rows in enumerate(lines.values()):
        ours = next((row["seconds"] for row in rows if row["tool"] == OURS), None)
        measured = [row["seconds"] for row in rows]
        ax.plot([min(measured), max(measured)], [height] * 2, color=GREY, linewidth=0.8, zorder=1)
        for position, row in enumerate(sorted(rows, key=lambda row: float(row["seconds"]))):
            color, marker, _ = _STYLES[row["tool"]]
            ax.plot(row["seconds"], height, marker, color=color, markersize=7, markeredgewidth=1.5)
            if ours and row["tool"] != OURS:
                ax.annotate(
                    _ratio(row["seconds"] / ours),
                    (row["seconds"], height),
                    xytext=(0, (6, -14)[position % 2]),  # neighbours may be close
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                )
    ax.set_yticks(range(len(lines)), list(lines), fontsize=9)
    ax.set_ylim(len(lines) - 0.5, -0.7)
    ax.set(xscale="log", xlabel="seconds, and how many times ours")
    ax.grid(alpha=0.25, axis="x")


def _by_problem(rows: list[Row]) -> dict[str, list[Row]]:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("seconds"):
            lines.setdefault(row["problem"], []).append(row)
    return lines


def _missing(results: Row, problem: str) -> list[str]:
    """Say which tools have no seconds for a problem."""
    gave_up = [
        f"{row['tool']} given up after {row['gave_up_after']:,.0f} s"
        for row in select(results["table"], problem=problem)
        if row.get("gave_up_after")
    ]
    rows = select(results["not_measured"], problem=problem)
    return gave_up + [f"{row['tool']} not measured" for row in rows]


def _compared(results: Row, ax: Axes) -> None:
    simulated = {row["problem"] for row in results["published"]}
    table = [row for row in select(results["table"], setting="") if row["problem"] not in simulated]
    lines = _by_problem(table)
    labelled = {
        "\n".join([problem, *_missing(results, problem)]): rows for problem, rows in lines.items()
    }
    _seconds(ax, labelled)
    ax.set_title("Search over γ and C, 5 folds and a final fit", fontsize=11)


def _simulated(results: Row, ax: Axes) -> None:
    ours = {row["problem"]: row for row in select(results["table"], tool=OURS, setting="")}
    published = [row for row in results["published"] if row["problem"] in ours]
    rows = [ours[problem] for problem in dict.fromkeys(row["problem"] for row in published)]
    labelled = {}
    for problem, line in _by_problem(rows + published).items():
        lacking = ours[problem].get("missing") or 0
        words = problem.removeprefix("TorchKM ").replace(", ", "\n")
        labelled[words + (f"\n{lacking} fits missing" if lacking else "")] = line
    _seconds(ax, labelled)
    ax.set_title("TorchKM's protocol: 10,000 examples, 50 λ, 10 folds", fontsize=11)


def _surface(surfaces: list[Row], ax: Axes) -> None:
    """Mean scores; a star on the chosen cell, dots on those within a standard error of it."""
    shown = select(surfaces, tool=OURS, setting="")
    surface = next((row for row in shown if row["problem"] == _SHOWN), shown[0])
    scores = np.asarray(surface["scores"], dtype=float)
    deviations = np.asarray(surface["deviations"], dtype=float)
    best = np.unravel_index(np.nanargmax(scores), scores.shape)
    image = ax.imshow(100 * scores, origin="lower", aspect="auto", cmap="viridis")
    assert ax.figure is not None
    ax.figure.colorbar(image, ax=ax, label="accuracy, %")
    error = deviations[best] / math.sqrt(surface["n_splits"])
    near = np.argwhere(scores >= scores[best] - error)
    ax.plot(near[:, 1], near[:, 0], "o", color="white", markersize=4)
    ax.plot(best[1], best[0], "*", color="white", markeredgecolor="black", markersize=16)
    ax.set_xticks(range(scores.shape[1]), [f"{C:g}" for C in surface["Cs"]])
    ax.set_yticks(range(scores.shape[0]), [f"{gamma:.2g}" for gamma in surface["gammas"]])
    ax.set(xlabel="C", ylabel="γ")
    gaps = np.asarray(surface["gaps"], dtype=float)
    ax.set_title(
        f"{surface['problem']}: {scores[best]:.2%}, {len(near)} of {scores.size} cells within one "
        f"standard error\ncertified relative gaps at most {np.nanmax(gaps):.2%}",
        fontsize=11,
    )


def draw(results: Row) -> Figure:
    """Draw seconds of each tool on each problem, TorchKM's protocol, and the surface of one."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    figure = plt.figure(figsize=(12, 9))
    rows: Any = [["compared", "simulated"], ["surface", "simulated"]]
    panels: Any = figure.subplot_mosaic(rows, height_ratios=[3, 2])
    _compared(results, panels["compared"])
    _simulated(results, panels["simulated"])
    _surface(results["surfaces"], panels["surface"])
    used = {row["tool"] for row in (*results["table"], *results["published"])}
    handles = [
        Line2D([], [], color=color, marker=marker, linestyle="none", label=label)
        for tool, (color, marker, label) in _STYLES.items()
        if tool in used
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure
