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
from experiments._data import bracket, histories, setting, spaced
from experiments._results import ICML, JOURNAL, Claim, mark, percentiles, rounded
from experiments._run import Context
from kpegasos import make_problem

DATA = ("moons", "rcv1", "adult")
LAMS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
MOST_STEPS = 1_000_000
SEEDS = 20
ITERATES = {"last": "last iterate", "average": "t-weighted average"}


def _objectives(
    name: str, lam: float, steps: list[int], seeds: int, projection: bool
) -> dict[str, Any]:
    """Objective of the last and of the t-weighted average iterate, a row for each seed."""
    _, y, rows = setting(name)
    options: Any = {"n_steps": steps[-1], "checkpoints": steps, "projection": projection}
    return histories(make_problem(y, lam), rows, seeds, sampling="uniform", **options)


def compute(context: Context) -> dict[str, Any]:
    """Run with and without the projection for each set, λ and seed."""
    seeds, most = (5, 30_000) if context.quick else (SEEDS, MOST_STEPS)
    names, lams = (DATA[:2], LAMS[:4]) if context.quick else (DATA, LAMS)
    curves: dict[str, dict[str, Any]] = {name: {} for name in names}
    for name, lam in product(names, lams):
        key, steps = f"{name}, lam = {lam:g}", spaced(min(most, 100.5 / lam), 6)
        optimum = context.part(f"optimum of {key}", bracket, name, lam, 1e-6, 2000)["f*"]
        where = (name, lam, steps, seeds)
        without = context.part(f"{key}, without", _objectives, *where, False)
        projected = context.part(f"{key}, with", _objectives, *where, True)
        curve: dict[str, Any] = {"T": steps, "lam_T": lam * np.array(steps)}
        for iterate in ITERATES:
            plain, inside = (np.array(w[iterate]) - optimum for w in (without, projected))
            curve[iterate] = percentiles(plain / inside)
        curves[name][f"{lam:g}"] = curve
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in names},
        "curves": curves,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims of the two papers, which differ."""
    decades = [_ratios(results, end / 10, end) for end in (0.01, 0.1, 1, 10, 100)]
    typical = [float(np.median(ratios)) for ratios in decades]
    return [
        Claim(
            "The projection is important, especially when T is small.",
            ICML,
            f"The suboptimality without it is {rounded(typical[0])} times that with it while λT is "
            f"0.001 to 0.01, and {', '.join(map(rounded, typical[1:]))} times in the decades of λT "
            f"after that (medians over sets, λ and iterates).",
            mark(typical[1] >= 2 and typical == sorted(typical, reverse=True), typical[1] >= 2),
            "✓ if it at least halves the suboptimality, in the median, while λT is at most 0.1, "
            "and less with each decade; ~ if only the first holds.",
        ),
        Claim(
            "With and without the projection there are no major differences.",
            JOURNAL,
            f"From λT = 10 on the suboptimality without it is up to {rounded(max(decades[-1]))} "
            f"times that with it, for λT from 1 to 10 up to {rounded(max(decades[-2]))} times, and "
            f"from 0.1 to 1 up to {rounded(max(decades[-3]))} times.",
            mark(max(map(max, decades)) <= 1.5, max(decades[-1]) <= 1.5),
            "✓ if the ratio is at most 1.5 at every T, ~ if from λT = 10 on.",
        ),
    ]


def _ratios(results: dict[str, Any], low: float, high: float) -> list[float]:
    """Return the median ratios of all sets, λ and iterates while λT is between two ends."""
    return [
        ratio
        for every in results["curves"].values()
        for curve in every.values()
        for iterate in ITERATES
        for lam_T, ratio in zip(curve["lam_T"], curve[iterate][1], strict=True)
        if low <= lam_T <= high
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Ratio of the suboptimalities against λT; the last iterate above the average."""
    figure, axes = plots.panels(2, len(results["curves"]), 6.0, sharex=True, sharey=True)
    for (name, every), column in zip(results["curves"].items(), axes.T, strict=True):
        by_lam = dict(list(every.items())[::2])
        for ax, (iterate, words) in zip(column, ITERATES.items(), strict=True):
            for color, (lam, curve) in zip(plots.shades(len(by_lam)), by_lam.items(), strict=True):
                style: Any = {"color": color, "linewidth": 1.6, "label": f"λ = {lam}"}
                plots.band(ax, curve["lam_T"], curve[iterate], **style)
            ax.axhline(1, color=plots.BLACK, linewidth=0.8)
            ax.axvline(1, color=plots.BLACK, linewidth=1, linestyle=":")
            plots.log_log(ax, title=f"{results['titles'][name]}\n{words}")
    plots.outer_labels(axes, plots.LAM_T, "f − f* without, over with")
    return plots.state(
        figure,
        "The projection matters early, not late",
        f"Same draws with and without; dotted: λT = 1; median and 20–80% of "
        f"{len(results['seeds'])} runs.",
    )
