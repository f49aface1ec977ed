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


def _style(tool: str, setting: str) -> dict[str, Any]:
    """Hollow markers are for ways of a tool other than the default one."""
    color, marker, _ = _STYLES[tool]
    style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 7}
    hollow = {"markerfacecolor": "white"} if setting else {}
    return {**style, "markeredgewidth": 1.5, "linestyle": "none", **hollow}


def _is_ours(row: Row) -> bool:
    return row["tool"] == OURS and not row["setting"]


def _seconds(ax: Axes, lines: dict[str, list[Row]]) -> None:
    """A line for each name, a dot on it for each row, and how much longer than ours it took."""
    for height, rows in enumerate(lines.values()):
        ours = next((row["seconds"] for row in rows if _is_ours(row)), None)
        measured = [row["seconds"] for row in rows]
        ax.plot([min(measured), max(measured)], [height] * 2, color=GREY, linewidth=0.8, zorder=1)
        for position, row in enumerate(sorted(rows, key=lambda row: float(row["seconds"]))):
            style = _style(row["tool"], row.get("setting", ""))
            ax.plot(row["seconds"], height, zorder=3 if row["tool"] == OURS else 2, **style)
            if ours and row["seconds"] != ours:
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
    ax.margins(x=0.1)
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
    table = [row for row in results["table"] if row["problem"] not in simulated]
    lines = _by_problem(table)
    labelled = {
        "\n".join([problem, *_missing(results, problem)]): rows for problem, rows in lines.items()
    }
    _seconds(ax, labelled)
    ax.set_title("Search over γ and C, 5 folds and a final fit", fontsize=11)


def _simulated(results: Row, ax: Axes) -> None:
    measured = select(results["table"], tool=OURS)
    problems = {row["problem"] for row in measured}
    published = [row for row in results["published"] if row["problem"] in problems]
    lines = _by_problem(published)  # for their order
    labelled = {}
    for problem, line in lines.items():
        ours = select(measured, problem=problem)
        lacking = max(row.get("missing") or 0 for row in ours)
        words = [problem.removeprefix("TorchKM ").replace(", ", "\n")]
        words += [f"{lacking} fits missing"] * bool(lacking) + _missing(results, problem)
        labelled["\n".join(words)] = [row for row in ours if row.get("seconds")] + line
    _seconds(ax, labelled)
    ax.set_title("TorchKM's protocol: 50 λ, 10 folds", fontsize=11)


def _surface(surfaces: list[Row], ax: Axes) -> None:
    """Mean scores; a star on the chosen cell, dots on those within a standard error of it."""
    shown = [row for row in select(surfaces, tool=OURS, setting="") if len(row["gammas"]) > 1]
    shown.sort(key=lambda row: row["problem"] != _SHOWN)
    if not shown:
        ax.set_axis_off()
        return
    surface = shown[0]
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
    layout: Any = [["compared", "simulated"], ["surface", "simulated"]]
    panels: Any = figure.subplot_mosaic(layout, height_ratios=[3, 2])
    _compared(results, panels["compared"])
    _simulated(results, panels["simulated"])
    _surface(results["surfaces"], panels["surface"])
    rows = [*results["table"], *results["published"]]
    used = {(row["tool"], row.get("setting", "")) for row in rows}
    order = list(_STYLES)
    handles = [
        Line2D([], [], label=", ".join(filter(None, (_STYLES[tool][2], setting))), **style)
        for tool, setting in sorted(used, key=lambda kind: (order.index(kind[0]), kind[1]))
        for style in [_style(tool, setting)]
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure
