"""The figure of `gap_and_error`: errors against gaps, gaps against λT, and what rules are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._gap_rules import RULES, SMALL_GAP, Run, stop, title, verdicts
from experiments._gap_runs import NEAR
from experiments._plots import (
    BLACK,
    BLUE,
    DARK_GREY,
    GREEN,
    ORANGE,
    SKY,
    VERMILION,
    band,
    log_x,
    look,
    name_lines,
    shades,
    state,
    text_color,
    words,
)
from experiments._tables import percentiles, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour and line of each set; those that are alike to the colour-blind differ in their line.
LOOKS = {
    "moons": (BLACK, "-"),
    "mnist": (BLUE, "-"),
    "usps": (SKY, "--"),
    "fashion": (VERMILION, "-"),
    "adult": (ORANGE, "--"),
    "covtype": (GREEN, "-"),
}
#: The largest relative gap that an axis of log-odds is to show.
MOST = 0.9998
MARKERS = "os^"


def _odds(gaps: Any) -> np.ndarray:
    """Return the log-odds of relative gaps: on their scale both 99% and 1% can be read."""
    shares = np.asarray(gaps, dtype=float).clip(max=MOST)
    return np.asarray(np.log(shares / (1 - shares)))


def _ticks(per_cent: tuple[float, ...]) -> tuple[list[float], list[str]]:
    """Return the places of round gaps among log-odds, and what they are called."""
    return _odds(np.array(per_cent) / 100).tolist(), [f"{tick:g}%" for tick in per_cent]


def _errors(ax: Axes, runs: list[Run], titles: dict[str, str] | None) -> None:
    """Error above the final one against the gap, a line for each set."""
    names: dict[str, Any] = {}
    ax.set_xticks(*_ticks((99.9, 90, 50, 10, 1)), fontsize=9.5)
    ax.set(ylim=(-10, 12), xlim=_odds([MOST, 0.01]))
    for name in dict.fromkeys(run["data"] for run in runs):
        own, (color, line) = select(runs, data=name), LOOKS[name]
        gaps = _odds(np.median([run["gap"] for run in own], axis=0))
        excess = percentiles([run["excess"] for run in own])
        band(ax, gaps, excess, color=color, alpha=0.12, linestyle=line, linewidth=1.8)
        if titles:
            names[titles[name]] = (gaps, excess[1], color)
    ax.axhline(NEAR, color=DARK_GREY, linewidth=1, linestyle=":")
    ax.axvspan(*_odds([SMALL_GAP, 0.01]), color=look("gap").color, alpha=0.15, linewidth=0)
    ax.grid(alpha=0.25)
    name_lines(ax, names)


def _clock(ax: Axes, results: dict[str, Any], runs: list[Run]) -> None:
    """Gap against λT, a line for each set and C, and a marker where the error is final."""
    for C, color, marker in zip(results["Cs"], shades(len(results["Cs"])), MARKERS, strict=False):
        for name in results["titles"]:
            own = select(runs, data=name, C=C)
            gaps = _odds(np.median([run["gap"] for run in own], axis=0))
            ax.plot(np.array(own[0]["epochs"]) / C, gaps, color=color, linewidth=0.8, alpha=0.6)
            row = select(results["table"], data=name, C=C)[0]
            label = f"final, C = {C:g}" if name == next(iter(results["titles"])) else None
            style: dict[str, Any] = {"color": color, "markersize": 8, "markeredgecolor": "white"}
            ax.plot(row["epochs"] / C, _odds(row["gap"]), marker, label=label, **style)
    log_x(ax, xlabel=f"{words('lam_T')} = epochs / C", ylabel="certified relative gap")
    ax.set_yticks(*_ticks((99.9, 99, 90, 50, 10, 1)))
    ax.set_ylim(*_odds([0.01, MOST]).tolist())
    ax.legend(loc="lower left", frameon=False, handletextpad=0.2, fontsize=9.5)


def _clock_title(results: dict[str, Any], runs: list[Run]) -> str:
    """Say what goes by λT: what comes at the same λT for the least and the largest C."""
    low, high = (select(results["table"], C=C) for C in (min(results["Cs"]), max(results["Cs"])))
    errors = [a["epochs"] / a["C"] / (b["epochs"] / b["C"]) for a, b in zip(low, high, strict=True)]
    gaps = []
    for name in results["titles"]:
        first, last = (
            [run["epochs"][stop(run, True, 0.5)] / C for run in select(runs, data=name, C=C)]
            for C in (low[0]["C"], high[0]["C"])
        )
        gaps.append(np.median(first) / np.median(last))
    apart = [np.exp(np.abs(np.log(np.median(ratios)))) for ratios in (gaps, errors)]
    if apart[0] < 3 < apart[1]:
        return "the gap goes by λT, the error does not"
    return "gap against λT, and where the error is final"


def _rules(ax: Axes, runs: list[Run]) -> None:
    """How long each rule trains beside what is needed, and how often it ends well."""
    found = verdicts(runs)
    for height, rule in enumerate(reversed(RULES)):
        own = found[rule.key]
        color = look("gap").color if rule.by_gap else DARK_GREY
        ax.barh(height, own.over_needed, color=color, height=0.55)
        ax.annotate(
            f"{own.over_needed:.1f} times; {own.final:.0%} well, worst {own.worst:.0%}",
            (own.over_needed, height),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            color=text_color(color),
        )
    ax.set_yticks(range(len(RULES)), [rule.name for rule in reversed(RULES)], fontsize=9.5)
    ax.tick_params(axis="y", length=0)
    most = max(own.over_needed for own in found.values())
    ax.set(xlim=(0, 3.0 * most), xlabel="epochs trained / epochs needed")


def draw(results: dict[str, Any], runs: list[Run]) -> Figure:
    """Errors against gaps for each C; below, gaps against λT, and the rules."""
    import matplotlib.pyplot as plt

    from kpegasos.plotting.style import WIDTH

    Cs = results["Cs"]
    figure = plt.figure(figsize=(WIDTH, 7.6))
    above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
    top = above.subplots(1, len(Cs), sharey=True, squeeze=False)[0]
    for C, ax in zip(Cs, top, strict=True):
        _errors(ax, select(runs, C=C), results["titles"] if Cs[-1] == C else None)
        ax.set_title(f"C = {C:g}")
        ax.set_xlabel("certified relative gap")
    top[0].set_ylabel("test error above the final one,\nstandard errors")
    left, right = below.subplots(1, 2, width_ratios=[1, 1.1])
    _clock(left, results, runs)
    left.set_title(_clock_title(results, runs))
    _rules(right, runs)
    right.set_title("rules chosen on the other sets")
    m, tested = results["sizes"]
    state(
        figure,
        title(runs, results),
        f"RBF kernel, {m:,} training and {tested:,} test examples; median and 20–80% of "
        f"{len(results['seeds'])} runs. Dotted: one standard error; shaded: gaps up to "
        f"{SMALL_GAP:.0%}. Final, or well: the error stays within a standard error from there on. "
        "Needed: the epochs to that.",
    )
    return figure
