"""The figure of the kernel benchmark: a panel for each problem, and one for the small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments._kernel_levels import LEVELS, PEERS, Row, curves, modern
from experiments._kernel_problems import SMALL
from experiments._plots import (
    SILVER,
    log_log,
    log_x,
    look,
    name_lines,
    panels,
    state,
    times,
    words,
)
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Method whose look a series has, and its short name at the end of a line.
_SERIES = {
    "polished": ("polished", "polished"),
    "plain": ("Pegasos", "Pegasos"),
    "intelex": ("intelex", "intelex"),
    "SVC": ("SVC", "LIBSVM"),
}
_COLUMNS = 3
#: The level that titles speak of.
_LEVEL = 1e-3
_SMALLEST = 2e-6
#: The type of the data of the large problems, and of the small ones.
_LARGE, _FINE = "float32", "float64"


def _ahead(levels: list[Row], peer: str) -> list[float]:
    """How many times as fast ours is as a peer, at the level of the titles, by problem."""
    rows = select([row for row in levels if "ours_times_faster" in row], series=peer)
    return [
        row["ours_times_faster"]
        for row in select(rows, level=_LEVEL, dtype=_LARGE)
        if row["problem"] not in SMALL
    ]


def _finding(levels: list[Row], problems: list[str]) -> str:
    """What the large problems say at equal accuracy."""
    found = []
    for peer in PEERS:
        if ratios := sorted(_ahead(levels, peer)):
            ahead = sum(ratio > 1 for ratio in ratios)
            spread = " to ".join(dict.fromkeys([times(ratios[0]), times(ratios[-1])]))
            mixed = 0 < ahead < len(ratios)
            of = f" (ahead on {ahead} of {len(ratios)})" if mixed else ""
            found.append(f"{spread} times as fast as {_SERIES[peer][1]}{of}")
    if not found:
        return f"Seconds to a relative suboptimality of {_LEVEL:.1%}"
    where = f" on {problems[0]}" if len(problems) == 1 else ""
    return f"At equal accuracy, {_LEVEL:.1%}, polished Pegasos is {', '.join(found)}{where}"


def _curve(ax: Axes, problem: str, all_series: dict[str, list[Row]], levels: list[Row]) -> None:
    """Relative suboptimality of the runs of each series against their seconds."""
    names: dict[str, Any] = {}
    for series, runs in all_series.items():
        judged = [row for row in runs if row.get("suboptimality") is not None]
        judged.sort(key=lambda row: float(row["suboptimality"]))
        seconds = [row["fit_seconds"] for row in judged]
        above = [max(row["suboptimality"], _SMALLEST) for row in judged]
        key, name = _SERIES[series]
        ax.plot(seconds, above, **look(key).options(linewidth=1.6))
        names[name] = (seconds, above, look(key).color)
    for level in LEVELS:
        ax.axhline(level, color=SILVER, linewidth=0.8, linestyle=":", zorder=0)
    log_log(ax, xlabel=words("fit_seconds"))
    ax.margins(x=0.12)
    worst = max(max(above) for _, above, _ in names.values())
    ax.set_ylim(_SMALLEST / 1.6, max(1.0, 2 * worst))
    at = {row["series"]: row for row in select(levels, level=_LEVEL)}
    speeds = [
        f"{times(at[peer]['ours_times_faster'])} × {_SERIES[peer][1]}"
        for peer in PEERS
        if "ours_times_faster" in at.get(peer, {})
    ]
    both = "polished" in at and any(peer in at for peer in PEERS)
    none = "peers' runs are more accurate" if both else f"{_LEVEL:.1%} not reached by both"
    ax.set_title(f"{problem}\n{', '.join(speeds) or none}", fontsize=10.5)
    name_lines(ax, names)


def _small(ax: Axes, levels: list[Row]) -> None:
    """A line for each small problem, a dot on it for each series."""
    values: dict[str, dict[str, float]] = {}
    for row in select(levels, dtype=_FINE, level=_LEVEL):
        if row["problem"] in SMALL:
            values.setdefault(row["problem"], {})[row["series"]] = 1e3 * row["seconds"]
    for height, of_series in enumerate(values.values()):
        ax.plot([min(of_series.values()), max(of_series.values())], [height] * 2, color=SILVER)
        for series, value in of_series.items():
            ax.plot(value, height, **look(_SERIES[series][0]).options(linestyle="none"))
    ax.set_yticks(range(len(values)), list(values), fontsize=9)
    ax.set_ylim(len(values) - 0.5, -0.5)
    log_x(ax, xlabel=f"milliseconds to {_LEVEL:.1%}")
    compared = [of for of in values.values() if {"polished", "SVC"} <= set(of)]
    ahead = sum(of["polished"] <= of["SVC"] for of in compared)
    ax.set_title(
        f"small problems, {_FINE}\nahead of LIBSVM: {ahead} of {len(compared)}", fontsize=10.5
    )


def draw(results: dict[str, Any]) -> Figure:
    """Draw a panel for each large problem, and one for the small ones."""
    results = modern(results)
    rows, levels = results["table"], results["levels"]
    large = {
        problem: all_series
        for (problem, dtype), all_series in curves(rows).items()
        if problem not in SMALL and dtype == _LARGE
    }
    has_small = any(row["problem"] in SMALL for row in levels)
    number = len(large) + has_small
    n_rows = max(1, -(-number // _COLUMNS))
    figure, grid = panels(n_rows, min(_COLUMNS, max(1, number)), 2.9 * n_rows + 1.1)
    axes = list(grid.flat)
    for ax, (problem, all_series) in zip(axes, large.items(), strict=False):
        _curve(ax, problem, all_series, select(levels, problem=problem, dtype=_LARGE))
    if has_small:
        _small(axes[len(large)], levels)
    for ax in axes[number:]:
        ax.set_axis_off()
    for row in grid:
        row[0].set_ylabel(words("relative_suboptimality") if large else "")
    vectors = ", ".join(results.get("vectors") or [])
    state(
        figure,
        _finding(levels, list(large)),
        f"RBF kernel; large problems in {_LARGE}, median seconds of the whole fit; each mark is a "
        f"tolerance or a number of epochs. Above the panels: speed against peers at {_LEVEL:.1%}"
        + (f". Vectors of the processor: {vectors}." if vectors else "."),
    )
    return figure
