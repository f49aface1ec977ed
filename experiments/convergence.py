"""Suboptimality of the last iterate and of the average against steps, beside the certified gap.

Two noisy moons, RBF kernel, no intercept. Every curve is the median of `SEEDS` runs with a band
from the 20th to the 80th percentile. The optimum f* is bracketed by dual coordinate ascent. The
table also has other averages, independent draws, the projection and mini-batches, each of which an
experiment of its own looks into.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import JOURNAL, Claim, exponent, mark, medians, slope
from experiments._run import ExperimentContext
from experiments._tables import percentiles
from kpegasos import make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import make_toy

FULL_TIME = "20 s"
QUICK_TIME = "10 s"

N_SAMPLES, NOISE, C, GAMMA = 1000, 0.2, 10.0, 2.0
SEEDS = 15
# Without a word: one example a step, fresh permutations, no projection, weighted average.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "uniform average": {"average": "uniform"},
    "suffix average": {"average": "suffix"},
    "uniform sampling": {"sampling": "uniform"},
    "projection": {"projection": True},
    "k = 16": {"batch_size": 16},
    "k = 256": {"batch_size": 256},
}
COLUMNS = ("objective_last", "objective_average", "gap", "dual_bound")


def _setting() -> tuple[Any, Any]:
    X, y = make_toy("moons", N_SAMPLES, noise=NOISE, random_state=0)
    problem = make_problem(np.where(y == 1, 1, -1), lam=1 / (C * N_SAMPLES))
    return problem, make_rows(X, "rbf", gamma=GAMMA, cache="precomputed")


def _bracket() -> dict[str, Any]:
    result = sdca(*_setting(), tol=1e-9, max_epochs=20_000, random_state=0)
    return {
        "objective": result.objective,
        "dual_bound": result.dual_bound,
        "relative_gap": result.relative_gap,
        "epochs": result.n_steps / N_SAMPLES,
        "status": result.status,
    }


def _histories(name: str, n_draws: int, seeds: int) -> dict[str, Any]:
    options = CONFIGURATIONS[name]
    n_steps = n_draws // options.get("batch_size", 1)
    problem, rows = _setting()
    histories = [
        pegasos(
            problem, rows, n_steps=n_steps, checkpoints="log", random_state=seed, **options
        ).history
        for seed in range(seeds)
    ]
    kept = COLUMNS if name == "default" else COLUMNS[:2]
    return {
        "iteration": histories[0]["iteration"],
        "epoch": histories[0]["epoch"],
        **{column: np.array([history[column] for history in histories]) for column in kept},
    }


def _rows(name: str, curves: dict[str, Any], optimum: float, steps: int) -> list[dict[str, Any]]:
    """Summarise a configuration at four moments: median suboptimality of both iterates.

    The last iterate is at its best at the end of an epoch, when all examples have had equal weight,
    hence a moment within an epoch too.
    """
    iteration, epoch = (np.asarray(curves[column]) for column in ("iteration", "epoch"))
    moments = {
        "same number of steps": int(np.abs(iteration - steps).argmin()),
        "early, within an epoch": int(np.abs(epoch - 12.6).argmin()),
        "late, within an epoch": -2,
        "end of the last epoch": -1,
    }

    def median(iterate: str, index: int) -> float:
        values = np.asarray(curves[f"objective_{iterate}"])[:, index]
        return float(np.median(values) - optimum)

    return [
        {
            "configuration": name,
            "moment": moment,
            "iteration": iteration[index],
            "passes": epoch[index],
            "suboptimality_average": median("average", index),
            "suboptimality_last": median("last", index),
        }
        for moment, index in moments.items()
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Bracket the optimum, then run every configuration with every seed."""
    n_draws, seeds = (32_000, 10) if context.quick else (1_000_000, SEEDS)
    bracket = context.part("optimum", _bracket)
    curves = {
        name: context.part(name, _histories, name, n_draws, seeds)
        for name in context.progress(CONFIGURATIONS, "configurations")
    }
    return {
        "seeds": list(range(seeds)),
        "n_samples": N_SAMPLES,
        "C": C,
        "gamma": GAMMA,
        "optimum": bracket,
        "table": [
            row
            for name in curves
            for row in _rows(name, curves[name], bracket["dual_bound"], n_draws // 256)
        ],
        "curves": curves,
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
            "The suboptimality falls like 1/T.",
            JOURNAL,
            f"Exponent of T in the suboptimality of the t-weighted average: {exponent(earlier)} "
            f"from {steps[-1] // 100:,} to {steps[-1] // 10:,} steps, {exponent(last)} from there "
            f"to {steps[-1]:,}.",
            mark(last <= -0.9, last <= -0.7),
            "✓ if the exponent of the last decade is at most −0.9, ~ if at most −0.7.",
        )
    ]


def _rate(steps: np.ndarray, values: np.ndarray) -> float:
    """Exponent of T over the last two decades of steps."""
    late = steps >= steps[-1] / 100
    return float(np.polyfit(np.log(steps[late]), np.log(values[late]), 1)[0])


def plot(results: dict[str, Any]) -> plots.Figure:
    """The last iterate, the average and its certificate in one panel, beside 1/T."""
    default, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    figure, ((ax,),) = plots.panels(1, 1, 4.8)
    steps = np.array(default["iteration"], dtype=float)
    excess = {
        "last": percentiles(np.array(default["objective_last"]) - optimum),
        "weighted": percentiles(np.array(default["objective_average"]) - optimum),
        "gap": percentiles(default["gap"]),
    }
    for key, values in excess.items():
        plots.band(ax, steps, values, color=plots.look(key).color, linewidth=1.8)
    average, gap = excess["weighted"][1], excess["gap"][1]
    late = steps >= steps[-1] / 100
    reference = 0.25 * average[-1] * steps[-1] / steps
    ax.plot(steps[late], reference[late], color=plots.GREY, linestyle=":", linewidth=1.5)
    plots.log_log(ax, xlabel=plots.words("steps"), ylabel=plots.words("suboptimality"))
    ax.set_xlim(steps[0], steps[-1])
    plots.name_lines(
        ax,
        {
            plots.look(key).name: (steps, values[1], plots.look(key).color)
            for key, values in excess.items()
        }
        | {"proportional to 1/T": (steps[late], reference[late], plots.GREY)},
    )
    rate, factor = _rate(steps, average), float(np.median(gap[late] / average[late]))
    better = excess["last"][1][-1] / average[-1]
    plots.state(
        figure,
        f"The average nears the optimum like {plots.power('T', rate)}; the gap that certifies it, "
        f"without knowing the optimum, is {plots.times(factor)} times as large",
        f"Two moons, m = {results['n_samples']:,}, RBF kernel, γ = {results['gamma']:g}, "
        f"C = {results['C']:g}; median and 20–80% of {len(results['seeds'])} runs. At the end the "
        f"last iterate is {plots.times(better)} times as far from the optimum as the average.",
    )
    return figure
