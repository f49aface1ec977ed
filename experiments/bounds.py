"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end.

Verdict: reproduced. No bound is violated, and the shapes are the measured ones: ln T / T for the
mean of all iterates, 1/δ for a random iterate, about ln(1/δ) for the best of several. The constants
are not: bounds in expectation are tens of times what they bound, those with high probability
hundreds of times, those of full gradients thousands, and for small T they promise no more than
w = 0 achieves. Measuring the regret (Zhou, Theorem 3.3) instead of bounding it (Theorem 3.6) gains
little: the regret of the runs is a tenth of its bound, but it is not the regret that makes the
bound large.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._bounds_likely import (
    compare,
    draw_likely,
    draw_terms,
    likely_rows,
    split_terms,
)
from experiments._bounds_runs import (
    CHUNK,
    DELTA,
    DELTAS,
    GAMMA,
    LAM,
    MORE_STEPS,
    N_SAMPLES,
    REGRET_SEEDS,
    SEEDS,
    STEPS,
    best_of,
    bracket_optimum,
    run_averages,
    run_iterates,
    run_regrets,
)
from experiments._plots import legend_below, log_log
from experiments._tables import select
from kpegasos.theory import (
    alpha_suffix_bound,
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    mean_excess_bound,
    n_runs,
    random_iterate_bound,
    suffix_average_bound,
    weighted_average_bound,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "3 min"
QUICK_TIME = "10 s"

#: A bound of each average in expectation, and its source.
IN_EXPECTATION: dict[str, tuple[str, Any]] = {
    "uniform": ("MPB 2011, Thm. 1", average_iterate_bound),
    "suffix": ("derived here", suffix_average_bound),
    "weighted": ("derived here, after Lacoste-Julien et al. 2012", weighted_average_bound),
}
#: Names of the averages in the figure.
AVERAGES = {"uniform": "average, mean", "weighted": "t-weighted, mean", "suffix": "suffix, mean"}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run everything, then hold each theorem next to what it is about."""
    size, seeds = (4, 50) if context.quick else (len(MORE_STEPS), SEEDS)
    more, steps = list(MORE_STEPS[:size]), list(STEPS[:size])
    bracket = context.part("optimum", bracket_optimum)
    optimum, where = bracket["f*"], {"lam": LAM, "radius": bracket["R"]}

    rows = _averages(context, more, seeds, optimum, where)
    options = {"average": "uniform", "projection": True, "batch_size": N_SAMPLES}
    full = context.part("full gradient", partial(run_averages, more, 1, options))
    values = np.array(full) - optimum
    for n, column in zip(more, values.T, strict=True):
        bound = convergence_bound(n, **where)
        rows.append(compare("full gradient, average", "ICML 2007, Cor. 1", n, None, column, bound))

    rows += _single_iterates(context, steps, seeds, optimum, where)
    measured = context.part("regrets", partial(run_regrets, steps, min(seeds, REGRET_SEEDS)))
    rows += likely_rows(measured, steps, optimum, where)
    return {
        "seeds": list(range(seeds)),
        "regret_seeds": list(range(min(seeds, REGRET_SEEDS))),
        "n_samples": N_SAMPLES,
        "lam": LAM,
        "gamma": GAMMA,
        "optimum": bracket,
        "verdicts": _verdicts(rows, 1 - optimum),
        "terms": split_terms(measured, steps, where),
        "table": rows,
    }


def _averages(
    context: ExperimentContext, more: list[int], seeds: int, optimum: float, where: dict[str, Any]
) -> list[dict[str, Any]]:
    """Hold what is said of averages next to the runs, without and with projection."""
    rows = []
    procedures = list(product(IN_EXPECTATION, (False, True)))
    for average, projection in context.progress(procedures, "averages"):
        options = {"average": average, "projection": projection, "sampling": "uniform"}
        key = f"{average}, {'with' if projection else 'without'} projection"
        values = np.array(context.part(key, partial(run_averages, more, seeds, options))) - optimum
        source, bounds = IN_EXPECTATION[average]
        for n, column in zip(more, values.T, strict=True):
            bound = bounds(n, **where, projection=projection)
            rows.append(compare(f"{key}, mean", source, n, None, column, bound))
            if average == "suffix":
                share = 1 - 2.0 ** (int(n).bit_length() - 2) / n
                bound = alpha_suffix_bound(n, **where, share=share, projection=projection)
                printed = "Rakhlin et al. 2012, Thm. 5"
                rows.append(compare(f"{key}, mean", printed, n, None, column, bound))
            if average == "uniform" and not projection:
                for delta in DELTAS:
                    bound = mean_excess_bound(n, **where, delta=delta)
                    rows.append(compare(key, "Zhou, Cor. 3.6.2", n, delta, column, bound))
    return rows


def _single_iterates(
    context: ExperimentContext, steps: list[int], seeds: int, optimum: float, where: dict[str, Any]
) -> list[dict[str, Any]]:
    """Hold what is said of random iterates, and of the best of several, next to the runs."""
    rows = []
    chunks = []
    for first in context.progress(range(0, seeds, CHUNK), "all iterates"):
        work = partial(run_iterates, steps, range(first, first + CHUNK))
        chunks.append(context.part(f"iterates from {first}", work))
    means, random = (
        np.concatenate([chunk[key] for chunk in chunks]) - optimum for key in ("means", "random")
    )
    for i, n in enumerate(steps):
        bound = convergence_bound(n, **where)
        rows.append(
            compare("random iterate, mean", "ICML 2007, Thm. 2", n, None, means[:, i], bound)
        )
        for delta in DELTAS:
            column = best_of(random, 1)[:, i]
            bound = random_iterate_bound(n, **where, delta=delta)
            rows.append(compare("random iterate", "ICML 2007, Thm. 3", n, delta, column, bound))
            runs = int(n_runs(delta))
            if n >= 3 * runs:
                column, source = best_of(random, runs)[:, i], "ICML 2007, after Thm. 3"
                bound = best_of_runs_bound(n, **where, delta=delta)
                rows.append(compare("best of runs", source, n, delta, column, bound))
    return rows


def _verdicts(rows: list[dict[str, Any]], trivial: float) -> list[dict[str, Any]]:
    """Say of each statement whether it held, how loose it is, and from which T it says something.

    What is expected, or sure, must not be exceeded by the mean; what is probable, by no more than
    delta of the runs.
    """
    verdicts = []
    for statement, source in dict.fromkeys((row["statement"], row["source"]) for row in rows):
        own = select(rows, statement=statement, source=source)
        held = all(
            row["measured"] <= row["bound"]
            if row["delta"] is None
            else row["fraction_above_bound"] <= row["delta"]
            for row in own
        )
        loose = [row["bound_over_measured"] for row in own if row["T"] >= 100]
        telling = [row["T"] for row in own if row["bound"] < trivial]
        verdicts.append(
            {
                "statement": statement,
                "source": source,
                "verdict": "holds" if held else "violated",
                "largest_fraction_above_bound": max(row["fraction_above_bound"] for row in own),
                "least_bound_over_measured": min(loose),
                "largest_bound_over_measured": max(loose),
                "first_T_not_vacuous": min(telling, default=None),
            }
        )
    return verdicts


def _draw(
    table: list[dict[str, Any]], ax: Axes, x: str, label: str, color: str, **where: Any
) -> None:
    """Draw what was measured and its bound against a column, for the rows with some values."""
    rows = select(table, **where)
    positions = [row[x] for row in rows]
    ax.plot(positions, [row["measured"] for row in rows], "o-", ms=4, color=color, label=label)
    ax.plot(positions, [row["bound"] for row in rows], "--", color=color)


def plot(results: dict[str, Any]) -> Figure:
    """Measured values solid, bounds dashed; grey where w = 0 is as good as what is promised."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    table, trivial = results["table"], 1 - results["optimum"]["f*"]
    figure, axes = plt.subplots(3, 2, figsize=(9, 12))

    draw = partial(_draw, table)
    without, projected, single, doubt, likely, terms = axes.flat
    sure = {"statement": "uniform, without projection"}
    for ax, how in ((without, "without"), (projected, "with")):
        for i, (average, name) in enumerate(AVERAGES.items()):
            statement, source = f"{average}, {how} projection, mean", IN_EXPECTATION[average][0]
            draw(ax, "T", name, f"C{i}", statement=statement, source=source)
        ax.set_title(f"Averages, {how} projection")
    draw(projected, "T", "average, full gradient", "C3", statement="full gradient, average")

    draw(single, "T", "random iterate, mean", "C4", statement="random iterate, mean")
    draw(single, "T", "random iterate, 95%", "C5", statement="random iterate", delta=DELTA)
    draw(single, "T", "best of 3 runs, 95%", "C6", statement="best of runs", delta=DELTA)
    single.set_title("Single iterates, with projection")

    last = max(row["T"] for row in table if row["statement"] == "random iterate")
    draw(doubt, "delta", "random iterate", "C5", statement="random iterate", T=last)
    draw(doubt, "delta", "best of ⌈ln 1/δ⌉ runs", "C6", statement="best of runs", T=last)
    draw(doubt, "delta", "average, no projection", "C2", T=last, **sure)
    doubt.set(
        title=f"All but a fraction δ of runs, T = {last:,}", xlabel="δ, fraction of runs left out"
    )
    draw_likely(likely, table)
    draw_terms(terms, results["terms"])

    for ax in (without, projected, single, doubt, likely):
        log_log(ax, ylim=(1e-7, 1e4))
        ax.axhspan(trivial, 1e4, color="0.9", zorder=0)
        ax.legend(frameon=False, fontsize=10, loc="lower left")
    for ax in (without, projected, single, likely):
        ax.set_xlabel("steps T")
    for ax in axes[:, 0]:
        ax.set_ylabel("excess objective f(w) − f*")
    handles = [
        Line2D([], [], color="black", marker="o", ms=4),
        Line2D([], [], color="black", linestyle="--"),
        plt.Rectangle((0, 0), 1, 1, color="0.9"),
    ]
    labels = ["measured", "bound", "vacuous: above f(0) − f*"]
    legend_below(figure, (handles, labels), ncols=3)
    violated = sum(verdict["verdict"] != "holds" for verdict in results["verdicts"])
    figure.suptitle(
        f"{len(results['verdicts'])} bounds, {violated or 'none'} violated in "
        f"{len(results['seeds'])} runs (moons, RBF, λ = {results['lam']:g})",
        fontsize=12,
    )
    return figure
