"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

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
from experiments._plots import log_log
from experiments._tables import select
from kpegasos.theory import (
    alpha_suffix_bound,
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    generalization_bound,
    high_probability_bound,
    mean_excess_bound,
    measured_regret_bound,
    median_excess_bound,
    n_runs,
    random_iterate_bound,
    regret_bound,
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
#: Sources of what is said of the mean of all iterates with high probability, without projection.
MEASURED, BOUNDED, ONE_TERM = "Zhou, Thm. 3.3", "Zhou, Cor. 3.6.1", "derived here, as MPB 2011"
#: The same statements by name.
LIKELY = {
    BOUNDED: "mean of iterates, regret bounded",
    MEASURED: "mean of iterates, regret measured",
    ONE_TERM: "mean of iterates, one term",
}


def _row(
    statement: str, source: str, n_steps: int, delta: float | None, values: np.ndarray, bound: Any
) -> dict[str, Any]:
    """Compare excess objectives with a bound on their mean, or on all but a fraction delta.

    Of bounds that differ by run, the median is noted.
    """
    measured = float(values.mean() if delta is None else np.quantile(values, 1 - delta))
    return {
        "statement": statement,
        "source": source,
        "T": n_steps,
        "delta": delta,
        "measured": measured,
        "bound": float(np.median(bound)),
        "bound_over_measured": float(np.median(bound)) / measured,
        "fraction_above_bound": float(np.mean(values > bound)),
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run everything, then hold each theorem next to what it is about."""
    size, seeds = (4, 50) if context.quick else (len(MORE_STEPS), SEEDS)
    more, steps = list(MORE_STEPS[:size]), list(STEPS[:size])
    bracket = context.part("optimum", bracket_optimum)
    optimum, where = bracket["f*"], {"lam": LAM, "radius": bracket["R"]}

    rows = []
    procedures = list(product(IN_EXPECTATION, (False, True)))
    for average, projection in context.progress(procedures, "averages"):
        options = {"average": average, "projection": projection, "sampling": "uniform"}
        key = f"{average}, {'with' if projection else 'without'} projection"
        values = np.array(context.part(key, partial(run_averages, more, seeds, options))) - optimum
        source, bounds = IN_EXPECTATION[average]
        for n, column in zip(more, values.T, strict=True):
            bound = bounds(n, **where, projection=projection)
            rows.append(_row(f"{key}, mean", source, n, None, column, bound))
            if average == "suffix":
                share = 1 - 2.0 ** (int(n).bit_length() - 2) / n
                bound = alpha_suffix_bound(n, **where, share=share, projection=projection)
                printed = "Rakhlin et al. 2012, Thm. 5"
                rows.append(_row(f"{key}, mean", printed, n, None, column, bound))
            if average == "uniform" and not projection:
                for delta in DELTAS:
                    bound = mean_excess_bound(n, **where, delta=delta)
                    rows.append(_row(key, "Zhou, Cor. 3.6.2", n, delta, column, bound))

    options = {"average": "uniform", "projection": True, "batch_size": N_SAMPLES}
    full = context.part("full gradient", partial(run_averages, more, 1, options))
    values = np.array(full) - optimum
    for n, column in zip(more, values.T, strict=True):
        bound = convergence_bound(n, **where)
        rows.append(_row("full gradient, average", "ICML 2007, Cor. 1", n, None, column, bound))

    chunks = []
    for first in context.progress(range(0, seeds, CHUNK), "all iterates"):
        work = partial(run_iterates, steps, range(first, first + CHUNK))
        chunks.append(context.part(f"iterates from {first}", work))
    means, random = (
        np.concatenate([chunk[key] for chunk in chunks]) - optimum for key in ("means", "random")
    )
    for i, n in enumerate(steps):
        bound = convergence_bound(n, **where)
        rows.append(_row("random iterate, mean", "ICML 2007, Thm. 2", n, None, means[:, i], bound))
        for delta in DELTAS:
            column = best_of(random, 1)[:, i]
            bound = random_iterate_bound(n, **where, delta=delta)
            rows.append(_row("random iterate", "ICML 2007, Thm. 3", n, delta, column, bound))
            runs = int(n_runs(delta))
            if n >= 3 * runs:
                column, source = best_of(random, runs)[:, i], "ICML 2007, after Thm. 3"
                bound = best_of_runs_bound(n, **where, delta=delta)
                rows.append(_row("best of runs", source, n, delta, column, bound))
    measured = context.part("regrets", partial(run_regrets, steps, min(seeds, REGRET_SEEDS)))
    rows += _likely(measured, steps, optimum, where)
    return {
        "seeds": list(range(seeds)),
        "regret_seeds": list(range(min(seeds, REGRET_SEEDS))),
        "n_samples": N_SAMPLES,
        "lam": LAM,
        "gamma": GAMMA,
        "optimum": bracket,
        "verdicts": _verdicts(rows, 1 - optimum),
        "terms": _terms(measured, steps, where),
        "table": rows,
    }


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
            f"{row['statement']} "
            + span((row["least_bound_over_measured"], row["largest_bound_over_measured"]))
            for row in own
        ]
        found.append(
            Claim(
                claim,
                source,
                f"Bounds violated: {broken} of {len(own)}, in {len(results['seeds'])} runs. "
                f"Bound over measured excess from T = 100 on: {'; '.join(lines)}.",
                mark(broken == 0, broken < len(own)),
                "✓ if none is violated: by the mean where it is one on a mean, by more than δ of "
                "the runs where it holds with probability 1 − δ.",
            )
        )
    return found


def _likely(
    measured: dict[str, Any], steps: list[int], optimum: float, where: dict[str, Any]
) -> list[dict[str, Any]]:
    """Hold what is said of the mean of all iterates, and of a random one, next to the runs."""
    regrets = np.array(measured["regrets"])
    means, random = (np.array(measured[key]) - optimum for key in ("means", "random"))
    rows = []
    for i, n in enumerate(steps):
        for delta in DELTAS:
            share = delta / (4 * np.log(n))
            bounds = {
                BOUNDED: mean_excess_bound(n, **where, delta=delta),
                MEASURED: measured_regret_bound(regrets[:, i], n, **where, delta=share),
                ONE_TERM: high_probability_bound(n, **where, delta=delta),
            }
            for source, bound in bounds.items():
                rows.append(_row(LIKELY[source], source, n, delta, means[:, i], bound))
        stops = random[..., i].ravel()
        bound = median_excess_bound(n, **where, delta=DELTA)
        rows.append(_row("random stop", "Zhou, Cor. 3.6.3", n, 0.5, stops, bound))
    return rows


def _terms(
    measured: dict[str, Any], steps: list[int], where: dict[str, Any]
) -> list[dict[str, Any]]:
    """Split the bound of the mean excess into its three terms, for each of two regrets.

    In units of R²/(lam T), for all but a fraction `DELTA` of the runs.
    """
    rows = []
    for n, regrets in zip(steps, np.array(measured["regrets"]).T, strict=True):
        share = DELTA / (4 * np.log(n))
        unit = where["radius"] ** 2 / (where["lam"] * n)
        bounded = regret_bound(n, where["lam"], 2 * where["radius"])
        tail = measured_regret_bound(0.0, n, **where, delta=share)
        for source, regret, whole in (
            (BOUNDED, bounded, generalization_bound(n, **where, delta=share)),
            (
                MEASURED,
                max(0.0, float(np.median(regrets))),
                np.median(measured_regret_bound(regrets, n, **where, delta=share)),
            ),
        ):
            parts = {"regret": regret, "cross": whole - regret - tail, "tail": tail}
            values = {key: float(part / unit) for key, part in parts.items()}
            rows.append({"source": source, "T": n, "delta": DELTA, **values})
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
    _draw_likely(likely, table)
    _draw_terms(terms, results["terms"])

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
    figure.legend(handles, labels, loc="outside lower center", frameon=False, ncols=3)
    violated = sum(verdict["verdict"] != "holds" for verdict in results["verdicts"])
    figure.suptitle(
        f"{len(results['verdicts'])} bounds, {violated or 'none'} violated in "
        f"{len(results['seeds'])} runs (moons, RBF, λ = {results['lam']:g})",
        fontsize=12,
    )
    return figure


def _draw_likely(ax: Axes, table: list[dict[str, Any]]) -> None:
    """Draw the mean of all iterates, once, and the three bounds that it has with probability."""
    rows = select(table, source=MEASURED, delta=DELTA)
    steps = [row["T"] for row in rows]
    ax.plot(steps, [row["measured"] for row in rows], "ko-", ms=4, label="mean of all iterates")
    for source, color, label in (
        (ONE_TERM, "C1", "one term, 15 G² ln(T/δ)/(λT)"),
        (BOUNDED, "C2", "regret bounded"),
        (MEASURED, "C0", "regret measured"),
    ):
        bounds = [row["bound"] for row in select(table, source=source, delta=DELTA)]
        ax.plot(steps, bounds, "--", color=color, label=label)
    ax.set_title(f"{100 * (1 - DELTA):.0f}% of runs, without projection")


def _draw_terms(ax: Axes, terms: list[dict[str, Any]]) -> None:
    """Draw what the bound of the mean excess is made of, with the regret bounded and measured."""
    last = max(row["T"] for row in terms)
    names = {BOUNDED: "regret bounded,\nTheorem 3.6", MEASURED: "regret measured,\nTheorem 3.3"}
    rows = [select(terms, source=source, T=last)[0] for source in names]
    labels = {"regret": "regret", "cross": "regret and chance", "tail": "chance alone"}
    ends = np.zeros(len(rows))
    for (key, label), color in zip(labels.items(), ("C0", "C5", "0.7"), strict=True):
        values = np.array([row[key] for row in rows])
        ax.bar(range(len(rows)), values, bottom=ends, color=color, width=0.5, label=label)
        ends += values
    ax.set(
        title=f"T = {last:,}: measuring gains {ends[0] / ends[1]:.1f} times",
        ylabel="bound, in units of R²/(λT)",
        xticks=range(len(rows)),
        xticklabels=names.values(),
        xlim=(-0.5, len(rows) + 0.4),
    )
    ax.legend(frameon=False, fontsize=10, loc="upper right", reverse=True)
