"""Suboptimality of the last iterate and of the average against steps, beside the certified gap.

Two noisy moons, RBF kernel, no intercept. Every curve is the median of `SEEDS` runs with a band
from the 20th to the 80th percentile. The optimum f* is bracketed by dual coordinate ascent. Other
averages, independent draws, the projection and mini-batches have experiments of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import JOURNAL, Claim, exponent, mark, medians, slope
from experiments._run import ExperimentContext
from experiments._runs import bracket, histories, setting
from experiments._tables import percentiles
from kpegasos import make_problem

FULL_TIME = "20 s"
QUICK_TIME = "10 s"

#: Those of `setting`, and C.
N_SAMPLES, GAMMA, C = 1000, 2.0, 10.0
LAM = 1 / (C * N_SAMPLES)
SEEDS = 15
COLUMNS = ("epoch", "objective_last", "objective_average", "gap")


def _curves(n_steps: int, seeds: int) -> dict[str, Any]:
    (_, y, rows), columns = setting("moons"), dict(zip(COLUMNS, COLUMNS, strict=True))
    options: Any = {"n_steps": n_steps, "checkpoints": "log"}
    found = histories(make_problem(y, LAM), rows, seeds, columns, **options)
    return {"iteration": found.pop("steps"), **found, "epoch": found["epoch"][0]}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Bracket the optimum, then run every seed."""
    n_steps, seeds = (32_000, 10) if context.quick else (1_000_000, SEEDS)
    optimum = context.part("optimum", bracket, "moons", LAM, 1e-9)
    return {
        "seeds": list(range(seeds)),
        "n_samples": N_SAMPLES,
        "C": C,
        "gamma": GAMMA,
        "optimum": {"dual_bound": optimum["f*"], "gap": optimum["gap"]},
        "curves": {"default": context.part("default", _curves, n_steps, seeds)},
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
            f"Exponent of T in the suboptimality of the t-weighted average: {exponent(earlier)} "
            f"from {steps[-1] // 100:,} to {steps[-1] // 10:,} steps, {exponent(last)} from there "
            f"to {steps[-1]:,}.",
            mark(last <= -0.9, last <= -0.7),
            "✓ if the exponent of the last decade is at most −0.9, ~ if at most −0.7.",
        )
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """The objective over its dual bound, and beside it suboptimality and certificate."""
    default, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    figure, ((left, right),) = plots.panels(1, 2, 4.6)
    steps = np.array(default["iteration"], dtype=float)
    average = np.array(default["objective_average"])
    dual = percentiles(average - np.array(default["gap"]))
    excess = {
        "last": percentiles(np.array(default["objective_last"]) - optimum),
        "weighted": percentiles(average - optimum),
        "gap": percentiles(default["gap"]),
    }
    for key, values in excess.items():
        look = plots.METHODS[key]
        plots.band(right, steps, values, color=look.color, linewidth=1.8, label=look.name)
        if key != "gap":
            plots.band(left, steps, values + optimum, color=look.color, linewidth=1.8)
    bound = plots.METHODS["dual"]
    plots.band(left, steps, dual, color=bound.color, linewidth=1.8)
    left.fill_between(steps, dual[1], excess["weighted"][1] + optimum, color=bound.color, alpha=0.1)
    middle, gap = excess["weighted"][1], excess["gap"][1]
    late = steps >= steps[-1] / 100
    reference = 0.25 * middle[-1] * steps[-1] / steps[late]
    dotted: Any = {"color": plots.GREY, "linestyle": ":", "linewidth": 1.5}
    right.plot(steps[late], reference, label="like 1/T", **dotted)
    begin = max(steps[0], steps[-1] / 1e4)
    for ax, quantity in ((left, "objective"), (right, "suboptimality")):
        plots.log_log(ax, xlabel=plots.WORDS["steps"], ylabel=plots.WORDS[quantity])
        ax.set_xlim(begin, steps[-1])
    left.set_ylim(optimum / 20, 20 * optimum)
    right.set_ylim(reference[-1] / 3, 20 * optimum)
    place: Any = {"of": bound.color, "ha": "right", "va": "top"}
    plots.beside(left, f"{bound.name} ", (steps[-1], dual[1][-1]), (0, -8), **place)
    rate, factor = slope(steps[late], middle[late]), float(np.median(gap[late] / middle[late]))
    better = excess["last"][1][-1] / middle[-1]
    return plots.state(
        figure,
        "The average nears the optimum and certifies how near: it does so like "
        f"{plots.power('T', rate)}, and the gap, which does not know the optimum, is "
        f"{plots.times(factor)} times as large",
        f"Two moons, m = {results['n_samples']:,}, RBF kernel, γ = {results['gamma']:g}, "
        f"C = {results['C']:g}; median and 20–80% of {len(results['seeds'])} runs. The optimum "
        "lies in the shaded gap. At the end the last iterate is "
        f"{plots.times(better)} times as far from it as the average.",
    )
