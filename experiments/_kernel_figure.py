"""The figure of the kernel benchmark: a panel for each problem, and what it says as its title."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._kernel_levels import (
    LEVELS,
    PEERS,
    SERIES,
    Row,
    curves,
    modern,
    representative,
)
from experiments._kernel_problems import SMALL
from experiments._plots import BLUE, GREEN, GREY, PURPLE, VERMILION, log_log
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLORS = {"polished": VERMILION, "plain": PURPLE, "intelex": GREEN, "SVC": BLUE}
MARKERS = {"polished": "o", "plain": "D", "intelex": "^", "SVC": "s"}
_COLUMNS = 3
#: The level that titles speak of.
_LEVEL = 1e-3
_SMALLEST = 2e-6
Panel = Callable[["Axes"], None]


def _style(series: str, dtype: str = "float32") -> dict[str, Any]:
    hollow = {"markerfacecolor": "white", "linestyle": "--"} if dtype == "float64" else {}
    return {"color": COLORS[series], "marker": MARKERS[series], "markersize": 5, **hollow}


def _ticks(axis: Axis) -> None:
    """Label 1, 2 and 5 of each decade, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_tick_params(labelsize=8)


def _title(ax: Axes, subject: str, finding: str) -> None:
    ax.set_title(f"{subject}\n{finding}", fontsize=10)


def _ratio(value: float) -> str:
    return f"{value:.1f} ×" if value < 10 else f"{value:.0f} ×"


def _finding(levels: list[Row]) -> str:
    """What a problem's runs in float32 say at the level of the titles."""
    at = [row for row in levels if row["level"] == _LEVEL]
    words = []
    for peer in PEERS:
        for row in select([row for row in at if "ours_times_faster" in row], series=peer)[:1]:
            words.append(f"{_ratio(row['ours_times_faster'])} {peer}'s")
    if words:
        return f"speed at {_LEVEL:.1%}: " + ", ".join(words)
    reached = ", ".join(sorted({row["series"] for row in at}))
    return f"{_LEVEL:.1%} reached by {reached or 'none'}"


def _curve(levels: list[Row], problem: str, of_problem: dict[str, dict[str, list[Row]]]) -> Panel:
    def draw(ax: Axes) -> None:
        for dtype, all_series in of_problem.items():
            for series, runs in all_series.items():
                judged = [row for row in runs if row.get("suboptimality") is not None]
                judged.sort(key=lambda row: float(row["suboptimality"]))
                ax.plot(
                    [row["fit_seconds"] for row in judged],
                    [max(row["suboptimality"], _SMALLEST) for row in judged],
                    **_style(series, dtype),
                )
        for level in LEVELS:
            ax.axhline(level, color=GREY, linewidth=0.8, linestyle=":")
        log_log(ax, xlabel="seconds to fit", ylabel="relative suboptimality")
        ax.set_ylim(bottom=min(LEVELS) / 3 if ax.get_ylim()[0] > min(LEVELS) / 3 else None)
        _ticks(ax.xaxis)
        _title(ax, problem, _finding(select(levels, problem=problem, dtype="float32")))

    return draw


def _dots(ax: Axes, values: dict[str, dict[str, float]], dtype: str) -> None:
    """A line for each problem, a dot on it for each series."""
    for number, of_series in enumerate(values.values()):
        if len(of_series) > 1:
            ends = (min(of_series.values()), max(of_series.values()))
            ax.plot(ends, [number] * 2, color=GREY, linewidth=0.8)
        for series, value in of_series.items():
            ax.plot([value], [number], **{**_style(series, dtype), "linestyle": "none"})
    ax.set_yticks(range(len(values)), list(values), fontsize=9)
    ax.invert_yaxis()
    ax.set_xscale("log")
    _ticks(ax.xaxis)
    ax.grid(alpha=0.25, axis="x")


def _small(levels: list[Row], ax: Axes) -> None:
    values: dict[str, dict[str, float]] = {}
    for row in levels:
        if row["dtype"] == "float64" and row["problem"] in SMALL and row["level"] == _LEVEL:
            values.setdefault(row["problem"], {})[row["series"]] = 1e3 * row["seconds"]
    _dots(ax, values, "float64")
    compared = [of for of in values.values() if {"polished", "SVC"} <= set(of)]
    ahead = sum(of["polished"] <= of["SVC"] for of in compared)
    ax.set_xlabel(f"ms to a suboptimality of {_LEVEL:.1%}")
    _title(ax, "Small problems, float64", f"ahead of SVC on {ahead} of {len(compared)}")


def _of_runs(rows: list[Row], key: str) -> dict[str, dict[str, float]]:
    """A number of the run at the level, by problem and series, in float32."""
    return {
        problem: {
            series: row[key]
            for series, runs in all_series.items()
            if (row := representative(runs, _LEVEL)).get(key)
        }
        for (problem, dtype), all_series in curves(rows).items()
        if dtype == "float32" and problem not in SMALL
    }


def _predict(rows: list[Row], ax: Axes) -> None:
    values = _of_runs(rows, "predict_seconds")
    _dots(ax, values, "float32")
    ax.set_xlabel("seconds to predict the test data")
    compared = [of for of in values.values() if {"polished", "intelex"} <= set(of)]
    ahead = sum(of["polished"] < of["intelex"] for of in compared)
    _title(ax, "Predict", f"ahead of intelex on {ahead} of {len(compared)}")


def _memory(rows: list[Row], ax: Axes) -> None:
    values = _of_runs(rows, "extra_mb")
    _dots(ax, values, "float32")
    ax.set_xlabel("MiB beyond the data, peak of the fit")
    most = max((of["polished"] for of in values.values() if "polished" in of), default=np.nan)
    _title(ax, "Memory", f"polished takes {most:,.0f} MiB at most")


def _cache(rows: list[Row], ax: Axes) -> None:
    from matplotlib.ticker import NullLocator

    words = []
    for series in ("polished", "plain"):
        runs = sorted(select(rows, series=series), key=lambda row: float(row["cache_mb"]))
        seconds = [row["fit_seconds"] for row in runs]
        ax.plot([row["cache_mb"] for row in runs], seconds, **_style(series))
        if len(seconds) > 1:
            steps = [a / b for a, b in pairwise(seconds)]
            words.append(f"{_ratio(max(steps))} ({series})")
    log_log(ax, xlabel="budget for kernel rows, MiB", ylabel="seconds to fit")
    _ticks(ax.yaxis)
    ax.set_xticks([row["cache_mb"] for row in runs], [f"{row['cache_mb']}" for row in runs])
    ax.tick_params(axis="x", labelsize=8)
    ax.xaxis.set_minor_locator(NullLocator())
    _title(ax, rows[0]["problem"], "half the budget: at most " + ", ".join(words))


def _start(rows: list[Row], ax: Axes) -> None:
    times = [row["kernel_evaluations"] / row["needed_evaluations"] for row in rows]
    ax.barh(range(len(rows)), times, color=VERMILION, height=0.6)
    for number, (row, ratio) in enumerate(zip(rows, times, strict=True)):
        ax.text(ratio, number, f" {row['fit_seconds']:.2f} s", va="center", fontsize=9)
    ax.axvline(1.0, color=GREY, linestyle="--")
    ax.set_yticks(range(len(rows)), [row["setting"] for row in rows], fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.3 * max(times))
    ax.set_xlabel("kernel values / those needed")
    best = min(rows, key=lambda row: float(row["fit_seconds"]))
    _title(ax, f"Start of polishing, {rows[0]['problem']}", f"{best['setting']} is fastest")


def _panels(results: dict[str, Any]) -> list[Panel]:
    rows, levels = results["table"], results["levels"]
    problems: dict[str, dict[str, dict[str, list[Row]]]] = {}
    for (problem, dtype), all_series in curves(rows).items():
        if problem not in SMALL:
            problems.setdefault(problem, {})[dtype] = all_series
    panels: list[Panel] = [_curve(levels, *item) for item in problems.items()]
    if any(row["problem"] in SMALL for row in levels):
        panels.append(partial(_small, levels))
    if problems:
        panels += [partial(_predict, rows), partial(_memory, rows)]
    for name, draw_ablation in (("cache", _cache), ("start", _start)):
        if of_ablation := [row for row in rows if row.get("ablation") == name]:
            panels.append(partial(draw_ablation, of_ablation))
    return panels


def draw(results: dict[str, Any]) -> Figure:
    """Draw a panel for each problem, then small problems, predictions, memory, budgets, starts."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    results = modern(results)
    panels = _panels(results)
    n_rows = -(-len(panels) // _COLUMNS)
    figure, grid = plt.subplots(n_rows, _COLUMNS, figsize=(12, 3.2 * n_rows + 0.5), squeeze=False)
    for ax, panel in zip(grid.flat, panels, strict=False):
        panel(ax)
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    handles = [Line2D([], [], label=label, **_style(name)) for name, label in SERIES.items()]
    grey: dict[str, Any] = {"color": GREY, "marker": "o", "linestyle": "--"}
    handles.append(Line2D([], [], label="float64", markerfacecolor="white", **grey))
    figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False)
    return figure
