"""Suboptimality of the last iterate and of the average against steps, with the certified gap.

Two noisy moons, RBF kernel, no intercept. Every curve is the median of `SEEDS` runs with a band
from the 20th to the 80th percentile. The optimum f* is bracketed by dual coordinate ascent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import bracket, histories, setting
from experiments._results import (
    JOURNAL,
    Claim,
    exponent,
    mark,
    medians,
    percentiles,
    rounded,
    slope,
)
from experiments._run import Context
from kpegasos import make_problem

#: With those of `setting`.
C = 10.0
SEEDS = 15
COLUMNS = ("epoch", "objective_last", "objective_average", "gap")


def _curves(lam: float, n_steps: int, seeds: int) -> dict[str, Any]:
    (_, y, rows), names = setting("moons"), dict(zip(COLUMNS, COLUMNS, strict=True))
    options: Any = {"n_steps": n_steps, "checkpoints": "log"}
    found = histories(make_problem(y, lam), rows, seeds, names, **options)
    return {"iteration": found.pop("steps"), **found, "epoch": found["epoch"][0]}


def compute(context: Context) -> dict[str, Any]:
    """Bracket the optimum, then run every seed."""
    n_steps, seeds = (32_000, 10) if context.quick else (1_000_000, SEEDS)
    m = setting("moons").y.size
    lam = 1 / (C * m)
    optimum = context.part("optimum", bracket, "moons", lam, 1e-9)
    return {
        "seeds": list(range(seeds)),
        "n_samples": m,
        "C": C,
        "optimum": {"dual_bound": optimum["f*"], "gap": optimum["gap"]},
        "curves": {"default": _curves(lam, n_steps, seeds)},
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The rate of the papers' bounds."""
    curve, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    steps = np.array(curve["iteration"])
    excess = medians(curve["objective_average"]) - optimum
    late, before = steps >= steps[-1] / 10, (steps >= steps[-1] / 100) & (steps <= steps[-1] / 10)
    last, earlier = (slope(steps[part], excess[part]) for part in (late, before))
    return [
        Claim(
            "The suboptimality falls at least like 1/T.",
            JOURNAL,
            f"On two moons, with the defaults of the package, the exponent of T in the "
            f"suboptimality is {exponent(earlier)} from {steps[-1] // 100:,} to "
            f"{steps[-1] // 10:,} steps and {exponent(last)} from there to {steps[-1]:,}.",
            mark(last <= -0.9, last <= -0.75),
            "✓ if the exponent of the last decade is −0.9 or less, ~ if it is nearer to −1 than to "
            "−0.5.",
        )
    ]


def gap_ratios(results: dict[str, Any]) -> str:
    """Say how many times the suboptimality the gap is, early and at the end."""
    curve, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    ratios = medians(curve["gap"]) / (medians(curve["objective_average"]) - optimum)
    epochs = np.array(curve["epoch"])
    early = int(np.abs(epochs - 10).argmin())
    return (
        f"On two moons the gap is {rounded(ratios[early])} times the suboptimality after "
        f"{epochs[early]:.0f} epochs and {rounded(ratios[-1])} times after {epochs[-1]:,.0f}."
    )


def plot(results: dict[str, Any]) -> plots.Figure:
    """The objective over its dual bound, and beside it suboptimality and certificate."""
    curve, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    figure, ((left, right),) = plots.panels(1, 2, 4.4)
    steps, gap = np.array(curve["iteration"], dtype=float), np.array(curve["gap"])
    for key, column in (("last", "objective_last"), ("weighted", "objective_average")):
        look, values = plots.METHODS[key], np.array(curve[column])
        style: Any = {"color": look.color, "linewidth": 1.8, "label": look.name}
        plots.band(left, steps, percentiles(values), **style)
        plots.band(right, steps, percentiles(values - optimum), **style)
    certified: Any = {"color": plots.GREEN, "linewidth": 1.8}
    dual = percentiles(values - gap)
    plots.band(left, steps, dual, label="dual bound", **certified)
    left.fill_between(steps, dual[1], medians(values), color=plots.GREEN, alpha=0.1)
    plots.band(right, steps, percentiles(gap), label="certified gap", **{**certified, "ls": "--"})
    late, end = steps >= steps[-1] / 100, medians(values)[-1] - optimum
    reference = 0.25 * end * steps[-1] / steps[late]
    right.plot(steps[late], reference, ":", color=plots.GREY, label="like 1/T")
    window = (max(steps[0], steps[-1] / 1e4), steps[-1])
    ends = (optimum / 20, 20 * optimum)
    plots.log_log(left, xlabel=plots.STEPS, ylabel="objective f(w)", xlim=window, ylim=ends)
    ends = (reference[-1] / 3, 20 * optimum)
    plots.log_log(right, xlabel=plots.STEPS, ylabel=plots.EXCESS, xlim=window, ylim=ends)
    return plots.state(
        figure,
        "The average nears the optimum and certifies how near",
        f"Two moons, m = {results['n_samples']:,}, RBF kernel, C = {results['C']:g}; median and "
        f"20–80% of {len(results['seeds'])} runs. The optimum lies in the shaded gap.",
    )
