"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end.
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
from experiments._claims import ICML, JOURNAL, RAKHLIN, ZHOU, Claim, mark, span
from experiments._plots import (
    BLACK,
    BLUE,
    GREEN,
    PURPLE,
    SKY,
    VERMILION,
    log_log,
    name_lines,
    panels,
    state,
    times,
    words,
)
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

FULL_TIME = "5 min"
QUICK_TIME = "10 s"

#: A bound of each average in expectation, and its source.
IN_EXPECTATION: dict[str, tuple[str, Any]] = {
    "uniform": ("MPB 2011, Thm. 1", average_iterate_bound),
    "suffix": ("derived here", suffix_average_bound),
    "weighted": ("derived here, after Lacoste-Julien et al. 2012", weighted_average_bound),
}
#: Names of the averages in the figure.
#: Colour of what a bound is about, the same in all panels.
COLORS = {
    "uniform average, mean": PURPLE,
    "t-weighted average, mean": BLUE,
    "uniform average, all but δ": SKY,
    "full gradient": BLACK,
    "random iterate, mean": GREEN,
    "random iterate, all but δ": VERMILION,
    "best of runs, all but δ": BLACK,
}


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


def claims(results: dict[str, Any]) -> list[Claim]:
    """Whether the theorems hold, and how near they are, by who proved them."""
    found = []
    for source, begin, claim in (
        (ICML, "ICML", "The excess objective of a random iterate is at most of order ln T/(λT)."),
        (
            JOURNAL,
            "MPB",
            "The excess of the average of all iterates is at most of order ln T/(λT).",
        ),
        (RAKHLIN, "Rakhlin", "The excess of the suffix average is at most of order 1/(λT)."),
        (ZHOU, "Zhou", "With high probability the mean excess is at most of order ln T/(λT)."),
    ):
        own = [row for row in results["verdicts"] if row["source"].startswith(begin)]
        if not own:
            continue
        broken = sum(row["verdict"] != "holds" for row in own)
        lines = [
            span((row["least_bound_over_measured"], row["largest_bound_over_measured"]))
            + f" ({row['statement']})"
            for row in own
        ]
        found.append(
            Claim(
                claim,
                source,
                f"{broken} of {len(own)} bounds are violated, in {len(results['seeds'])} runs. How "
                f"many times the measured excess a bound is, from T = 100 on: {'; '.join(lines)}.",
                mark(broken == 0, broken < len(own)),
                "✓ if none is violated: by the mean where it is one on a mean, by more than δ of "
                "the runs where it holds with probability 1 − δ.",
            )
        )
    return found


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
    table: list[dict[str, Any]], ax: Axes, x: str, label: str, **where: Any
) -> dict[str, tuple[Any, Any, str]]:
    """Draw what was measured and its bound against a column; return the line by its name."""
    rows = select(table, **where)
    positions = [row[x] for row in rows]
    measured, bounds = ([row[key] for row in rows] for key in ("measured", "bound"))
    color = COLORS[label]
    ax.plot(positions, measured, "o-", markersize=4, color=color)
    ax.plot(positions, bounds, "--", color=color)
    factor = times(float(np.median(np.array(bounds) / np.array(measured))))
    return {f"{label.replace(' average', '')}\nbound × {factor}": (positions, measured, color)}


def _panels(results: dict[str, Any], axes: Any) -> None:
    """Averages without and with projection, single iterates, and the share of runs left out."""
    table = results["table"]
    without, projected, single, doubt = axes.flat
    likely = {"statement": "uniform, without projection"}
    uniform, weighted, certain = list(COLORS)[:3]
    draw = partial(_draw, table)
    names = {
        without: draw(without, "T", uniform, statement="uniform, without projection, mean")
        | draw(without, "T", weighted, statement="weighted, without projection, mean")
        | draw(without, "T", certain, delta=DELTA, **likely),
        projected: draw(projected, "T", uniform, statement="uniform, with projection, mean")
        | draw(projected, "T", weighted, statement="weighted, with projection, mean")
        | draw(projected, "T", "full gradient", statement="full gradient, average"),
        single: draw(single, "T", "random iterate, mean", statement="random iterate, mean")
        | draw(single, "T", "random iterate, all but δ", statement="random iterate", delta=DELTA)
        | draw(single, "T", "best of runs, all but δ", statement="best of runs", delta=DELTA),
    }
    last = max(row["T"] for row in table if row["statement"] == "random iterate")
    names[doubt] = (
        draw(doubt, "delta", "random iterate, all but δ", statement="random iterate", T=last)
        | draw(doubt, "delta", "best of runs, all but δ", statement="best of runs", T=last)
        | draw(doubt, "delta", certain, T=last, **likely)
    )
    without.set_title("averages, without projection")
    projected.set_title("averages, with projection")
    single.set_title(f"single iterates, δ = {DELTA:g}")
    doubt.set_title(f"T = {last:,}")
    trivial = 1 - results["optimum"]["f*"]
    for ax in axes.flat:
        log_log(ax, xlabel="δ" if ax is doubt else words("steps"), ylim=(1e-7, 1e3))
        ax.axhspan(trivial, 1e3, color="0.92", zorder=0)
        name_lines(ax, names[ax])
    without.text(0.97, 0.97, "vacuous", transform=without.transAxes, ha="right", va="top")


def plot(results: dict[str, Any]) -> Figure:
    """Measured values solid, bounds dashed; grey where w = 0 is as good as what is promised."""
    figure, axes = panels(3, 2, 11.0)
    _panels(results, axes[:2])
    likely, terms = axes[2]
    names = draw_likely(likely, results["table"])
    log_log(likely, xlabel=words("steps"))
    name_lines(likely, names)
    draw_terms(terms, results["terms"])
    for ax in axes[:, 0]:
        ax.set_ylabel(words("suboptimality"))
    verdicts = results["verdicts"]
    violated = sum(verdict["verdict"] != "holds" for verdict in verdicts)
    least = min(verdict["least_bound_over_measured"] for verdict in verdicts)
    largest = max(verdict["largest_bound_over_measured"] for verdict in verdicts)
    state(
        figure,
        f"{violated or 'None'} of {len(verdicts)} bounds {'is' if violated < 2 else 'are'} "
        f"violated; from T = 100 on they are {times(least)} to {times(float(f'{largest:.1g}'))} "
        "times what was measured",
        "Dots: measured; dashed: bounds, at the names by what factor; grey: w = 0 is as good. "
        f"Two moons, RBF kernel, m = {results['n_samples']}, λ = {results['lam']:g}, independent "
        f"draws, {len(results['seeds'])} runs.",
    )
    return figure
