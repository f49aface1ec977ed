"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import ICML, JOURNAL, RAKHLIN, ZHOU, Claim, mark, span
from experiments._run import ExperimentContext
from experiments._runs import histories, moons
from experiments._tables import columns, grouped, select
from kpegasos import make_problem, make_rows, sdca, theory
from kpegasos.reference import index_stream, kernel_iterates

FULL_TIME = "5 min"
QUICK_TIME = "10 s"

N_SAMPLES, GAMMA, LAM = 200, 2.0, 0.01
SEEDS, CHUNK = 400, 50
STEPS = (10, 32, 100, 316, 1000, 3162, 10_000)  # all iterates are evaluated
MORE_STEPS = (*STEPS, 31_623, 100_000)  # averages only
DELTAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DELTA = 0.05
DRAWS = 20  # of r, for each run
REGRET_SEEDS = 100  # runs of which the regret is measured
#: A bound of each average in expectation, and its source.
IN_EXPECTATION: dict[str, tuple[str, Any]] = {
    "uniform": ("MPB 2011, Thm. 1", theory.average_iterate_bound),
    "suffix": ("derived here", theory.suffix_average_bound),
    "weighted": (
        "derived here, after Lacoste-Julien et al. 2012",
        theory.weighted_average_bound,
    ),
}
#: What is said of the mean of all iterates with high probability, without projection, by source.
#: Zhou's report bounds it by the regret, bounded as in its Theorem 3.6, or measured, as Theorem 3.3
#: allows.
MEASURED, BOUNDED, ONE_TERM = "Zhou, Thm. 3.3", "Zhou, Cor. 3.6.1", "derived here, as MPB 2011"
LIKELY = {
    BOUNDED: "mean of iterates, regret bounded",
    MEASURED: "mean of iterates, regret measured",
    ONE_TERM: "mean of iterates, one term",
}
Rows = list[dict[str, Any]]


# Runs: two noisy moons, RBF kernel, independent draws, one example a step


def _setting() -> tuple[Any, Any, float]:
    X, y = moons(N_SAMPLES)
    rows = make_rows(X, "rbf", gamma=GAMMA, cache="precomputed")
    return make_problem(y, lam=LAM), rows, theory.data_radius(X, "rbf", gamma=GAMMA)


def _find_optimum() -> tuple[Any, float]:
    problem, rows, radius = _setting()
    return sdca(problem, rows, tol=1e-9, max_epochs=20_000, random_state=0), radius


def _bracket() -> dict[str, Any]:
    result, radius = _find_optimum()
    return {"f*": result.dual_bound, "relative_gap": result.relative_gap, "R": radius}


def _run_averages(steps: list[int], seeds: int, options: dict[str, Any]) -> np.ndarray:
    problem, rows, _ = _setting()
    points: Any = {"n_steps": steps[-1], "checkpoints": steps}
    return histories(problem, rows, seeds, **points, **options)["average"]


def _losses(K: np.ndarray, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Give f(w; i) for each example i and each w of signed coefficients, of shape (…, examples)."""
    decisions = coef @ K
    norms = np.sum(coef * decisions, axis=-1, keepdims=True)
    return LAM / 2 * norms + np.maximum(0, 1 - y * decisions)


def _gram() -> tuple[np.ndarray, np.ndarray]:
    problem, rows, _ = _setting()
    return np.asarray(rows.product(np.eye(N_SAMPLES))), problem.y


def _iterates(n_steps: int, seed: int, projection: bool) -> tuple[np.ndarray, np.ndarray]:
    """Give the draws of a run, and f(w_t; i) of w_1 … w_T for each example i."""
    K, y = _gram()
    draws = index_stream(y.size, n_steps, "uniform", seed)
    later = kernel_iterates(K, y, LAM, draws[:-1], projection=projection)
    coef = [np.zeros(y.size), *(step.last for step in later)]  # w_1 = 0
    return draws, _losses(K, y, np.array(coef) * y)


def _note(found: dict[str, list[Any]], f: np.ndarray, steps: Any, ends: Any, seed: int) -> None:
    """Note the mean objective of w_1 … w_T of a run, and those of random iterates before ends."""
    objectives, rng = f.mean(axis=1), np.random.default_rng(seed)
    found["means"].append([objectives[:n].mean() for n in steps])
    found["random"].append([objectives[rng.integers(ends)] for _ in range(DRAWS)])


def _run_iterates(steps: list[int], seeds: range) -> dict[str, Any]:
    """Evaluate w_1 … w_T of each run: their means, and random ones for each share T/s of T.

    With projection.
    """
    shares = [[n // s for n in steps] for s in range(1, theory.n_runs(min(DELTAS)) + 1)]
    found: dict[str, list[Any]] = {"means": [], "random": []}
    for seed in seeds:
        _note(found, _iterates(steps[-1], seed, projection=True)[1], steps, shares, seed)
    return found


def _run_regrets(steps: list[int], seeds: int) -> dict[str, Any]:
    """Measure the mean regret of each run, the mean objective of w_1 … w_T, and random ones.

    Without projection.
    """
    rival = _losses(*_gram(), np.asarray(_find_optimum()[0].coef))
    found: dict[str, list[Any]] = {"regrets": [], "means": [], "random": []}
    for seed in range(seeds):
        draws, own = _iterates(steps[-1], seed, projection=False)
        regret = own[np.arange(draws.size), draws] - rival[draws]
        found["regrets"].append([regret[:n].mean() for n in steps])
        _note(found, own, steps, steps, seed)
    return found


def _best_of(random: np.ndarray, runs: int) -> np.ndarray:
    """Give the least objective of each ``runs`` runs of T/runs steps, of shape (draws, steps)."""
    groups = random[: len(random) // runs * runs, :, runs - 1]
    return groups.reshape(-1, runs, *groups.shape[1:]).min(axis=1).reshape(-1, groups.shape[-1])


# Theorems next to the runs


def _compare(
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


def _averages(
    context: ExperimentContext, more: list[int], seeds: int, optimum: float, where: dict[str, Any]
) -> Rows:
    """Hold what is said of averages next to the runs, without and with projection."""
    rows = []
    for average, on in context.progress(product(IN_EXPECTATION, (False, True)), "averages"):
        options = {"average": average, "projection": on, "sampling": "uniform"}
        key = f"{average}, {'with' if on else 'without'} projection"
        values = np.array(context.part(key, _run_averages, more, seeds, options)) - optimum
        source, bounds = IN_EXPECTATION[average]
        for n, column in zip(more, values.T, strict=True):
            bound = bounds(n, **where, projection=on)
            rows.append(_compare(f"{key}, mean", source, n, None, column, bound))
            for delta in DELTAS if (average, on) == ("uniform", False) else ():
                bound = theory.mean_excess_bound(n, **where, delta=delta)
                rows.append(_compare(key, "Zhou, Cor. 3.6.2", n, delta, column, bound))
    options = {"average": "uniform", "projection": True, "batch_size": N_SAMPLES}
    full = np.array(context.part("full gradient", _run_averages, more, 1, options)) - optimum
    for n, column in zip(more, full.T, strict=True):
        bound, source = theory.convergence_bound(n, **where), "ICML 2007, Cor. 1"
        rows.append(_compare("full gradient, average", source, n, None, column, bound))
    return rows


def _single_iterates(
    context: ExperimentContext, steps: list[int], seeds: int, optimum: float, where: dict[str, Any]
) -> Rows:
    """Hold what is said of random iterates, and of the best of several, next to the runs."""
    chunks = [
        context.part(f"iterates from {first}", _run_iterates, steps, range(first, first + CHUNK))
        for first in context.progress(range(0, seeds, CHUNK), "all iterates")
    ]
    means, random = (
        np.concatenate([chunk[key] for chunk in chunks]) - optimum for key in ("means", "random")
    )
    rows = []
    for i, n in enumerate(steps):
        bound, source = theory.convergence_bound(n, **where), "ICML 2007, Thm. 2"
        rows.append(_compare("random iterate, mean", source, n, None, means[:, i], bound))
        for delta in DELTAS:
            column = _best_of(random, 1)[:, i]
            bound = theory.random_iterate_bound(n, **where, delta=delta)
            rows.append(_compare("random iterate", "ICML 2007, Thm. 3", n, delta, column, bound))
            runs = int(theory.n_runs(delta))
            if n >= 3 * runs:
                column, source = _best_of(random, runs)[:, i], "ICML 2007, after Thm. 3"
                bound = theory.best_of_runs_bound(n, **where, delta=delta)
                rows.append(_compare("best of runs", source, n, delta, column, bound))
    return rows


def _likely(
    measured: dict[str, Any], steps: list[int], optimum: float, where: dict[str, Any]
) -> Rows:
    """Hold what is said of the mean of all iterates, and of a random one, next to the runs."""
    regrets = np.array(measured["regrets"])
    means, random = (np.array(measured[key]) - optimum for key in ("means", "random"))
    rows = []
    for i, n in enumerate(steps):
        for delta in DELTAS:
            share = delta / (4 * np.log(n))
            bounds = {
                BOUNDED: theory.mean_excess_bound(n, **where, delta=delta),
                MEASURED: theory.measured_regret_bound(regrets[:, i], n, **where, delta=share),
                ONE_TERM: theory.high_probability_bound(n, **where, delta=delta),
            }
            for source, bound in bounds.items():
                rows.append(_compare(LIKELY[source], source, n, delta, means[:, i], bound))
        stops, bound = random[..., i].ravel(), theory.median_excess_bound(n, **where, delta=DELTA)
        rows.append(_compare("random stop", "Zhou, Cor. 3.6.3", n, 0.5, stops, bound))
    return rows


def _terms(measured: dict[str, Any], steps: list[int], where: dict[str, Any]) -> Rows:
    """Split the bound of the mean excess into its three terms, for each of two regrets.

    In units of R²/(lam T), for all but a fraction `DELTA` of the runs.
    """
    rows = []
    for n, regrets in zip(steps, np.array(measured["regrets"]).T, strict=True):
        likely = {**where, "delta": DELTA / (4 * np.log(n))}
        unit = where["radius"] ** 2 / (where["lam"] * n)
        tail = theory.measured_regret_bound(0.0, n, **likely)
        bounded = theory.regret_bound(n, where["lam"], 2 * where["radius"])
        whole = np.median(theory.measured_regret_bound(regrets, n, **likely))
        for source, regret, total in (
            (BOUNDED, bounded, theory.generalization_bound(n, **likely)),
            (MEASURED, max(0.0, float(np.median(regrets))), whole),
        ):
            parts = {"regret": regret, "cross": total - regret - tail, "tail": tail}
            values = {key: float(part / unit) for key, part in parts.items()}
            rows.append({"source": source, "T": n, "delta": DELTA, **values})
    return rows


def _verdicts(rows: Rows) -> Rows:
    """Say of each statement whether it held, and how loose it is.

    What is expected, or sure, must not be exceeded by the mean; what is probable, by no more than
    delta of the runs.
    """
    verdicts = []
    for (statement, source), own in grouped(rows, "statement", "source").items():
        held = all(
            row["measured"] <= row["bound"]
            if row["delta"] is None
            else row["fraction_above_bound"] <= row["delta"]
            for row in own
        )
        loose = [row["bound_over_measured"] for row in own if row["T"] >= 100]
        verdicts.append(
            {
                "statement": statement,
                "source": source,
                "verdict": "holds" if held else "violated",
                "least_bound_over_measured": min(loose),
                "largest_bound_over_measured": max(loose),
            }
        )
    return verdicts


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run everything, then hold each theorem next to what it is about."""
    size, seeds = (4, 50) if context.quick else (len(MORE_STEPS), SEEDS)
    more, steps = list(MORE_STEPS[:size]), list(STEPS[:size])
    bracket = context.part("optimum", _bracket)
    optimum, where = bracket["f*"], {"lam": LAM, "radius": bracket["R"]}
    rows = _averages(context, more, seeds, optimum, where)
    rows += _single_iterates(context, steps, seeds, optimum, where)
    measured = context.part("regrets", _run_regrets, steps, min(seeds, REGRET_SEEDS))
    rows += _likely(measured, steps, optimum, where)
    return {
        "seeds": list(range(seeds)),
        "n_samples": N_SAMPLES,
        "lam": LAM,
        "optimum": bracket,
        "verdicts": _verdicts(rows),
        "terms": _terms(measured, steps, where),
        "table": rows,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say whether the theorems hold and how tight they are, by source."""
    found = []
    for source, begin, what, order in (
        (
            *(ICML, "ICML"),
            "The excess objective of the average with full gradients, of a random iterate and of "
            "the best of several runs",
            "ln T/(λT)",
        ),
        (JOURNAL, "MPB", "The excess of the average of all iterates", "ln T/(λT)"),
        (RAKHLIN, "Rakhlin", "The excess of the suffix average", "1/(λT)"),
        (ZHOU, "Zhou", "With high probability the mean excess", "ln T/(λT)"),
    ):
        own = [row for row in results["verdicts"] if row["source"].startswith(begin)]
        if not own:
            continue
        broken = sum(row["verdict"] != "holds" for row in own)
        ends = columns(own, "least_bound_over_measured", "largest_bound_over_measured").T
        lines = [f"{span(e)} ({row['statement']})" for e, row in zip(ends, own, strict=True)]
        found.append(
            Claim(
                f"{what} is at most of order {order}.",
                source,
                f"{broken} of {len(own)} bounds are violated, in {len(results['seeds'])} runs. "
                "From T = 100 on they exceed the measured excess by factors of "
                f"{'; '.join(lines)}.",
                mark(broken == 0, broken < len(own)),
                "✓ if none is violated, ~ if some hold. The mean violates a bound on a mean, more "
                "than δ of the runs one with probability 1 − δ.",
            )
        )
    return found


# The figure: what is drawn in each panel, its name, its colour, the same in all, and its rows

_UNIFORM = ("uniform average, mean", plots.PURPLE)
_WEIGHTED = ("t-weighted average, mean", plots.BLUE)
_CERTAIN = ("uniform average, all but δ", plots.SKY, "uniform, without projection")
_RANDOM = ("random iterate, all but δ", plots.VERMILION, "random iterate")
_BEST = ("best of runs, all but δ", plots.BLACK, "best of runs")
_PANELS = (
    (
        (*_UNIFORM, "uniform, without projection, mean"),
        (*_WEIGHTED, "weighted, without projection, mean"),
        _CERTAIN,
    ),
    (
        (*_UNIFORM, "uniform, with projection, mean"),
        (*_WEIGHTED, "weighted, with projection, mean"),
        ("full gradient", plots.ORANGE, "full gradient, average"),
    ),
    (("random iterate, mean", plots.GREEN, "random iterate, mean"), _RANDOM, _BEST),
    (_RANDOM, _BEST, _CERTAIN),
)


def _draw(ax: plots.Axes, rows: Rows, x: str, label: str, color: str) -> None:
    """Draw what was measured and its bound against a column."""
    positions, measured, bounds = columns(rows, x, "measured", "bound")
    name = label.replace(" average", "")
    ax.plot(positions, measured, "o-", markersize=4, color=color, label=name)
    ax.plot(positions, bounds, "--", color=color)


def _draw_bounds(results: dict[str, Any], axes: Any) -> None:
    """Averages without and with projection, single iterates, and the share of runs left out."""
    table, trivial = results["table"], 1 - results["optimum"]["f*"]
    last = max(row["T"] for row in table if row["statement"] == "random iterate")
    averages = ("averages, without projection", "averages, with projection")
    titles = (*averages, f"single iterates, δ = {DELTA:g}", f"T = {last:,}")
    for ax, title, lines in zip(axes.flat, titles, _PANELS, strict=True):
        doubt = ax is axes[1, 1]
        for label, color, statement in lines:
            likely = {"T": last} if doubt else {"delta": DELTA} if "all but" in label else {}
            rows = select(table, statement=statement, **likely)
            _draw(ax, rows, "delta" if doubt else "T", label, color)
        ax.set_title(title)
        plots.log_log(ax, xlabel="δ" if doubt else plots.WORDS["steps"], ylim=(1e-7, 1e3))
        ax.axhspan(trivial, 1e3, color="0.92", zorder=0)
    place: Any = {"transform": axes[0, 0].transAxes, "ha": "right", "va": "top"}
    axes[0, 0].text(0.97, 0.97, "vacuous", **place)


def _draw_likely(ax: plots.Axes, table: Rows) -> None:
    """Draw the mean of all iterates and its bounds with probability."""
    rows = select(table, source=MEASURED, delta=DELTA)
    steps, means = columns(rows, "T", "measured")
    ax.plot(steps, means, "o-", color=plots.BLACK, markersize=4, label="mean of all iterates")
    for source, color, name in (
        (ONE_TERM, plots.VERMILION, "one term"),
        (BOUNDED, plots.GREEN, "regret bounded, 3.6"),
        (MEASURED, plots.BLUE, "regret measured, 3.3"),
    ):
        (bounds,) = columns(select(table, source=source, delta=DELTA), "bound")
        ax.plot(steps, bounds, "--", color=color, label=name)
    ax.set_title(f"{100 * (1 - DELTA):.0f}% of runs, without projection")
    plots.log_log(ax, xlabel=plots.WORDS["steps"])


def _draw_terms(ax: plots.Axes, terms: Rows) -> None:
    """Draw what the bound of the mean excess is made of, with the regret bounded and measured."""
    last = max(row["T"] for row in terms)
    names = {BOUNDED: "3.6", MEASURED: "3.3"}
    rows = [select(terms, source=source, T=last)[0] for source in names]
    labels = {"regret": "regret", "cross": "regret and chance", "tail": "chance alone"}
    gap = 0.07 * sum(rows[0][key] for key in labels)
    ends, text = np.zeros(len(rows)), gap / 2
    for (key, label), color in zip(labels.items(), ("C0", "C5", "0.7"), strict=True):
        values = np.array([row[key] for row in rows])
        ax.bar(range(len(rows)), values, bottom=ends, color=color, width=0.5)
        text = max(text, ends[-1] + values[-1] / 2)
        ax.text(len(rows) - 0.7, text, f" {label}", va="center", fontsize=10)
        ends += values
        text += gap
    ax.set(
        title=f"T = {last:,}: measuring gains {ends[0] / ends[1]:.1f} times",
        xlabel="theorem",
        ylabel="bound, in units of R²/(λT)",
        xticks=range(len(rows)),
        xticklabels=names.values(),
        xlim=(-0.5, len(rows) + 0.3),
    )


def plot(results: dict[str, Any]) -> plots.Figure:
    """Measured values solid, bounds dashed; grey where w = 0 is as good as what is promised."""
    figure, axes = plots.panels(3, 2, 11.0)
    _draw_bounds(results, axes[:2])
    _draw_likely(axes[2, 0], results["table"])
    _draw_terms(axes[2, 1], results["terms"])
    for ax in axes[:, 0]:
        ax.set_ylabel(plots.WORDS["suboptimality"])
    verdicts = results["verdicts"]
    violated = sum(verdict["verdict"] != "holds" for verdict in verdicts)
    low, high = columns(verdicts, "least_bound_over_measured", "largest_bound_over_measured")
    least, largest = low.min(), float(f"{high.max():.2g}")
    return plots.state(
        figure,
        f"{'Some bounds are' if violated else 'No bound is'} violated, "
        f"{'all' if least > 2 else 'most'} are loose: {violated or 'none'} of {len(verdicts)} "
        f"{'is' if violated < 2 else 'are'} violated; from T = 100 on they are "
        f"{plots.times(least)} to {plots.times(largest)} times what was measured",
        "Dots: measured, in the mean or by all but the share δ of the runs; dashed: bounds; grey: "
        "w = 0 is as good. "
        f"Two moons, RBF kernel, m = {results['n_samples']}, λ = {results['lam']:g}, independent "
        f"draws, {len(results['seeds'])} runs.",
    )
