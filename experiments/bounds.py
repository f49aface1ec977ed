"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import ICML, JOURNAL, ZHOU, Claim, mark, span
from experiments._plots import legend_below, log_log
from experiments._tables import select
from kpegasos import make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import make_toy
from kpegasos.theory import (
    average_iterate_bound,
    best_of_runs_bound,
    convergence_bound,
    data_radius,
    mean_excess_bound,
    n_runs,
    random_iterate_bound,
    weighted_average_bound,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "2 min"
QUICK_TIME = "10 s"

N_SAMPLES, NOISE, GAMMA, LAM = 200, 0.2, 2.0, 0.01
SEEDS, CHUNK = 400, 50
STEPS = (10, 32, 100, 316, 1000, 3162, 10_000)  # all iterates are evaluated
MORE_STEPS = (*STEPS, 31_623, 100_000)  # averages only
DELTAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DELTA = 0.05
DRAWS = 20  # of r, for each run


def _setting() -> tuple[Any, Any, float]:
    X, y = make_toy("moons", N_SAMPLES, noise=NOISE, random_state=0)
    problem = make_problem(np.where(y == 1, 1, -1), lam=LAM)
    rows = make_rows(X, "rbf", gamma=GAMMA, cache="precomputed")
    return problem, rows, data_radius(X, "rbf", gamma=GAMMA)


def _bracket() -> dict[str, Any]:
    problem, rows, radius = _setting()
    result = sdca(problem, rows, tol=1e-9, max_epochs=20_000, random_state=0)
    return {"f*": result.dual_bound, "relative_gap": result.relative_gap, "R": radius}


def _averages(steps: list[int], seeds: int, options: dict[str, Any]) -> np.ndarray:
    problem, rows, _ = _setting()
    options = {"n_steps": steps[-1], "checkpoints": steps, **options}
    return np.array(
        [
            pegasos(problem, rows, random_state=seed, **options).history["objective_average"]
            for seed in range(seeds)
        ]
    )


def _iterates(steps: list[int], seeds: range) -> dict[str, Any]:
    """Evaluate w_1 … w_T of each run: their means, and random ones for each share T/s of T."""
    problem, rows, _ = _setting()
    every = range(1, steps[-1] + 1)
    options: dict[str, Any] = {"sampling": "uniform", "projection": True, "average": None}
    means, random = [], []
    for seed in seeds:
        run = pegasos(
            problem, rows, n_steps=steps[-1], checkpoints=every, random_state=seed, **options
        )
        objectives = np.array([1.0, *run.history["objective_last"][:-1]])  # w_1 = 0
        means.append([objectives[:n].mean() for n in steps])
        rng = np.random.default_rng(seed)
        shares = [[n // s for n in steps] for s in range(1, n_runs(min(DELTAS)) + 1)]
        random.append([objectives[rng.integers(shares)] for _ in range(DRAWS)])
    return {"means": means, "random": random}


def _best(random: np.ndarray, runs: int) -> np.ndarray:
    """Give the least objective of each ``runs`` runs of T/runs steps, of shape (draws, steps)."""
    groups = random[: len(random) // runs * runs, :, runs - 1]
    return groups.reshape(-1, runs, *groups.shape[1:]).min(axis=1).reshape(-1, groups.shape[-1])


def _row(
    statement: str, source: str, n_steps: int, delta: float | None, values: np.ndarray, bound: Any
) -> dict[str, Any]:
    """Compare excess objectives with a bound on their mean, or on all but a fraction delta."""
    measured = float(values.mean() if delta is None else np.quantile(values, 1 - delta))
    return {
        "statement": statement,
        "source": source,
        "T": n_steps,
        "delta": delta,
        "measured": measured,
        "bound": float(bound),
        "bound_over_measured": float(bound) / measured,
        "fraction_above_bound": float(np.mean(values > bound)),
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run everything, then hold each theorem next to what it is about."""
    size, seeds = (4, 50) if context.quick else (len(MORE_STEPS), SEEDS)
    more, steps = list(MORE_STEPS[:size]), list(STEPS[:size])
    bracket = context.part("optimum", _bracket)
    optimum, where = bracket["f*"], {"lam": LAM, "radius": bracket["R"]}

    rows = []
    procedures = list(product(("uniform", "weighted"), (False, True)))
    for average, projection in context.progress(procedures, "averages"):
        options = {"average": average, "projection": projection, "sampling": "uniform"}
        key = f"{average}, {'with' if projection else 'without'} projection"
        values = np.array(context.part(key, partial(_averages, more, seeds, options))) - optimum
        bounds = average_iterate_bound if average == "uniform" else weighted_average_bound
        source = "MPB 2011, Thm. 1" if average == "uniform" else "Lacoste-Julien et al. 2012"
        for n, column in zip(more, values.T, strict=True):
            bound = bounds(n, **where, projection=projection)
            rows.append(_row(f"{key}, mean", source, n, None, column, bound))
            if average == "uniform" and not projection:
                for delta in DELTAS:
                    bound = mean_excess_bound(n, **where, delta=delta)
                    rows.append(_row(key, "Zhou, Cor. 3.6.2", n, delta, column, bound))

    options = {"average": "uniform", "projection": True, "batch_size": N_SAMPLES}
    values = np.array(context.part("full gradient", partial(_averages, more, 1, options))) - optimum
    for n, column in zip(more, values.T, strict=True):
        bound = convergence_bound(n, **where)
        rows.append(_row("full gradient, average", "ICML 2007, Cor. 1", n, None, column, bound))

    chunks = []
    for first in context.progress(range(0, seeds, CHUNK), "all iterates"):
        work = partial(_iterates, steps, range(first, first + CHUNK))
        chunks.append(context.part(f"iterates from {first}", work))
    means, random = (
        np.concatenate([chunk[key] for chunk in chunks]) - optimum for key in ("means", "random")
    )
    for i, n in enumerate(steps):
        bound = convergence_bound(n, **where)
        rows.append(_row("random iterate, mean", "ICML 2007, Thm. 2", n, None, means[:, i], bound))
        for delta in DELTAS:
            column = _best(random, 1)[:, i]
            bound = random_iterate_bound(n, **where, delta=delta)
            rows.append(_row("random iterate", "ICML 2007, Thm. 3", n, delta, column, bound))
            runs = int(n_runs(delta))
            if n >= 3 * runs:
                column, source = _best(random, runs)[:, i], "ICML 2007, after Thm. 3"
                bound = best_of_runs_bound(n, **where, delta=delta)
                rows.append(_row("best of runs", source, n, delta, column, bound))
    return {
        "seeds": list(range(seeds)),
        "n_samples": N_SAMPLES,
        "lam": LAM,
        "gamma": GAMMA,
        "optimum": bracket,
        "verdicts": _verdicts(rows, 1 - optimum),
        "table": rows,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Whether the theorems hold, and how near they are, by who proved them."""
    found = []
    sources = ((ICML, ("ICML",)), (JOURNAL, ("MPB",)), (ZHOU, ("Zhou",)))
    names = "their bounds on the excess objective", "their bounds", "the bounds of the report"
    for (source, words), what in zip(sources, names, strict=True):
        own = [row for row in results["verdicts"] if row["source"].startswith(words)]
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
                f"Runs obey {what}, of order ln T/(λT).",
                source,
                f"Violated: {broken} of {len(own)}, in {len(results['seeds'])} runs. "
                f"Bound over measured excess from T = 100 on: {'; '.join(lines)}.",
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
    figure, axes = plt.subplots(2, 2, figsize=(9, 8.2), sharey=True)

    draw = partial(_draw, table)
    without, projected, single, doubt = axes.flat
    likely = {"statement": "uniform, without projection"}
    draw(without, "T", "average, mean", "C0", statement="uniform, without projection, mean")
    draw(without, "T", "t-weighted, mean", "C1", statement="weighted, without projection, mean")
    draw(without, "T", "average, 95% of runs", "C2", delta=DELTA, **likely)
    without.set_title("Averages, without projection")

    draw(projected, "T", "average, mean", "C0", statement="uniform, with projection, mean")
    draw(projected, "T", "t-weighted, mean", "C1", statement="weighted, with projection, mean")
    draw(projected, "T", "average, full gradient", "C3", statement="full gradient, average")
    projected.set_title("Averages, with projection")

    draw(single, "T", "random iterate, mean", "C4", statement="random iterate, mean")
    draw(single, "T", "random iterate, 95%", "C5", statement="random iterate", delta=DELTA)
    draw(single, "T", "best of 3 runs, 95%", "C6", statement="best of runs", delta=DELTA)
    single.set_title("Single iterates, with projection")

    last = max(row["T"] for row in table if row["statement"] == "random iterate")
    draw(doubt, "delta", "random iterate", "C5", statement="random iterate", T=last)
    draw(doubt, "delta", "best of ⌈ln 1/δ⌉ runs", "C6", statement="best of runs", T=last)
    draw(doubt, "delta", "average, no projection", "C2", T=last, **likely)
    doubt.set(
        title=f"All but a fraction δ of runs, T = {last:,}", xlabel="δ, fraction of runs left out"
    )

    for ax in axes.flat:
        log_log(ax, ylim=(1e-7, 1e3))
        ax.axhspan(trivial, 1e3, color="0.9", zorder=0)
        ax.legend(frameon=False, fontsize=10, loc="lower left")
    for ax in (without, projected, single):
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
