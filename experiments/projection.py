"""The projection onto the ball of radius 1/√λ: important or not, by T, λ and data.

ICML 2007 calls it "important, especially when T is small"; MPB 2011 found "no major differences"
and made it optional. Shown is the suboptimality without the projection divided by that with it, for
the same draws, against λT.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import ICML, JOURNAL, Claim, mark, rounded, span
from experiments._run import ExperimentContext
from experiments._runs import bracket, histories, setting, spaced
from experiments._tables import percentiles
from kpegasos import make_problem

FULL_TIME = "5 min"
QUICK_TIME = "10 s"

DATA = ("moons", "rcv1", "adult")
LAMS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
MOST_STEPS = 1_000_000
SEEDS = 20
#: λT of the rows of the table.
MOMENTS = (1.0, 10.0)
#: Beyond this factor at λT = 10 it would be said to matter late too.
SMALL_LATE = 1.25


def _objectives(
    name: str, lam: float, steps: list[int], seeds: int, projection: bool
) -> dict[str, Any]:
    """Objective of the last and of the t-weighted average iterate, a row for each seed."""
    _, y, rows = setting(name)
    options: Any = {"n_steps": steps[-1], "checkpoints": steps, "projection": projection}
    return histories(make_problem(y, lam), rows, seeds, sampling="uniform", **options)


def _row(name: str, lam: float, iterate: str, curve: dict[str, Any]) -> dict[str, Any]:
    """Median ratio after one step and at some λT."""
    ratio, lam_T = np.array(curve[iterate])[1], np.array(curve["lam_T"])
    row: dict[str, Any] = {"data": name, "lam": lam, "iterate": iterate, "ratio_T_1": ratio[0]}
    for moment in MOMENTS:
        at = int(np.abs(np.log(lam_T / moment)).argmin())
        near = abs(np.log(lam_T[at] / moment)) < 0.5
        row[f"ratio_lam_T_{moment:g}"] = ratio[at] if near else np.nan
    return row


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run with and without the projection for each set, λ and seed."""
    seeds, most = (5, 30_000) if context.quick else (SEEDS, MOST_STEPS)
    names, lams = (DATA[:2], LAMS[:4]) if context.quick else (DATA, LAMS)
    optima: dict[str, dict[str, Any]] = {name: {} for name in names}
    curves: dict[str, dict[str, Any]] = {name: {} for name in names}
    table = []
    for name, lam in context.progress(product(names, lams), "sets and λ"):
        key, steps = f"{name}, lam = {lam:g}", spaced(min(most, 100.5 / lam), 6)
        found = context.part(f"optimum of {key}", bracket, name, lam, 1e-6, 2000)
        optima[name][f"{lam:g}"], where = found, (name, lam, steps, seeds)
        without = context.part(f"{key}, without", _objectives, *where, False)
        projected = context.part(f"{key}, with", _objectives, *where, True)
        curve: dict[str, Any] = {"T": steps, "lam_T": lam * np.array(steps)}
        for iterate in ("last", "average"):
            plain, inside = (np.array(w[iterate]) - found["f*"] for w in (without, projected))
            curve[iterate] = percentiles(plain / inside)
            table.append(_row(name, lam, iterate, curve))
        curves[name][f"{lam:g}"] = curve
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in names},
        "optima": optima,
        "table": table,
        "curves": curves,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims of the two papers, which differ."""

    def ratios(key: str) -> list[float]:
        return [row[key] for row in results["table"] if row.get(key) is not None]

    first, turn, late = (ratios(f"ratio_{at}") for at in ("T_1", "lam_T_1", "lam_T_10"))
    return [
        Claim(
            "The projection is important, especially when T is small.",
            ICML,
            f"The suboptimality without it is {span(turn)} times that with it at λT = 1, and "
            f"{span(first)} times after one step, whose iterate is far out by its size alone.",
            mark(min(turn) >= 2, min(first) >= 2),
            "✓ if it halves the suboptimality at λT = 1 everywhere, ~ if only after one step.",
        ),
        Claim(
            "With and without the projection there are no major differences.",
            JOURNAL,
            f"From λT = 10 on the suboptimality without it is at most {rounded(max(late))} times "
            f"that with it; after one step it is {span(first)} times.",
            mark(max(first) <= 1.5, max(late) <= 1.5),
            "✓ if the ratio is at most 1.5 at every T, ~ if from λT = 10 on.",
        ),
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Ratio of the suboptimalities against λT; the last iterate above the average."""
    curves = results["curves"]
    figure, axes = plots.panels(2, len(curves), 6.4, sharex=True, sharey=True)
    for (name, every), column in zip(curves.items(), axes.T, strict=True):
        by_lam = dict(list(every.items())[::2])
        for ax, iterate in zip(column, ("last", "average"), strict=True):
            for color, (lam, curve) in zip(plots.shades(len(by_lam)), by_lam.items(), strict=True):
                lam_T, ratio = np.array(curve["lam_T"]), np.array(curve[iterate])
                plots.band(ax, lam_T, ratio, color=color, linewidth=1.6)
                if ax is axes[0, -1]:
                    label = f"λ = {plots.power_of_ten(float(lam))}"
                    plots.name_end(ax, label, ratio[1][0], color)
            ax.axhline(1, color=plots.BLACK, linewidth=0.8)
            ax.axvline(1, color=plots.BLACK, linewidth=1, linestyle=":")
            plots.log_log(ax)
        column[0].set_title(results["titles"][name])
        column[1].set_xlabel(plots.WORDS["lam_T"])
    for row, iterate_name in zip(axes, ("last iterate", "t-weighted average"), strict=True):
        row[0].set_ylabel(f"f − f* without, over with\n{iterate_name}")
    late = [row["ratio_lam_T_10"] for row in results["table"] if row["ratio_lam_T_10"]]
    first = [row["ratio_T_1"] for row in results["table"]]
    when = "only early" if max(late) < SMALL_LATE else "late too"
    return plots.state(
        figure,
        f"The projection matters {when}: it saves a factor of up to "
        f"{float(f'{max(first):.2g}'):,.0f} at first, of {max(late):.2f} at most at λT = 10",
        f"λ stands at the height of its first step. Dotted: λT = 1. The same draws with "
        f"and without; median and 20–80% of {len(results['seeds'])} runs.",
    )
