"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end.

Verdict: reproduced. No bound is violated, and the shapes are the measured ones: ln T / T for the
mean of all iterates (Theorem 2 is 15 times the measured value at every T from 100 to 10,000), 1/δ
for a random iterate, about ln(1/δ) for the best of several. The constants are not: most bounds are
20 to 300 times what they bound, the high-probability one of the average 450 to 2,200 times, that of
full gradients 3,700 times and more, and they promise no more than w = 0 achieves until T = 300
(t-weighted average, with projection) to 30,000 (with high probability, without projection).
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

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
    figure, axes = panels(2, 2, 7.4, sharey=True)
    _panels(results, axes)
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
