"""The theorems' bounds over measured runs: averages, a random iterate, the best of several runs.

Two noisy moons, RBF kernel (R = 1), independent draws, one example a step. The optimum f* is
bracketed by dual coordinate ascent, and excess is measured above the lower end. What is expected is
held against the mean of the runs, what is probable against all but a share δ of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import histories, moons
from experiments._results import OURS, Claim, Row, columns, grouped, rounded, select
from experiments._run import Context
from kpegasos import make_problem, make_rows, sdca, theory
from kpegasos.reference import index_stream, kernel_iterates

N_SAMPLES, GAMMA, LAM = 200, 2.0, 0.01
SEEDS, CHUNK = 400, 50
STEPS = (10, 32, 100, 316, 1000, 3162, 10_000)  # all iterates are evaluated
MORE_STEPS = (*STEPS, 31_623, 100_000)  # averages only
DELTA = 0.05
DRAWS = 20  # of r, for each run
REGRET_SEEDS = 100  # runs of which the regret is measured


def _setting() -> tuple[Any, Any, float]:
    X, y = moons(N_SAMPLES)
    rows = make_rows(X, "rbf", gamma=GAMMA, cache="precomputed")
    return make_problem(y, lam=LAM), rows, theory.data_radius(X, "rbf", gamma=GAMMA)


def _optimum() -> dict[str, Any]:
    problem, rows, radius = _setting()
    found = sdca(problem, rows, tol=1e-9, max_epochs=20_000, random_state=0)
    return {"f*": found.dual_bound, "R": radius, "coef": found.coef}


def _averages(steps: list[int], seeds: int, **options: Any) -> np.ndarray:
    problem, rows, _ = _setting()
    points: Any = {"n_steps": steps[-1], "checkpoints": steps}
    return histories(problem, rows, seeds, **points, **options)["average"]


def _gram() -> tuple[np.ndarray, np.ndarray]:
    problem, rows, _ = _setting()
    return np.asarray(rows.product(np.eye(N_SAMPLES))), problem.y


def _losses(coef: np.ndarray) -> np.ndarray:
    """Give f(w; i) for each example i and each w of signed coefficients, of shape (…, examples)."""
    K, y = _gram()
    decisions = coef @ K
    norms = np.sum(coef * decisions, axis=-1, keepdims=True)
    return LAM / 2 * norms + np.maximum(0, 1 - y * decisions)


def _iterates(n_steps: int, seed: int, projection: bool) -> tuple[np.ndarray, np.ndarray]:
    """Give the draws of a run, and f(w_t; i) of w_1 … w_T for each example i."""
    K, y = _gram()
    draws = index_stream(y.size, n_steps, "uniform", seed)
    later = kernel_iterates(K, y, LAM, draws[:-1], projection=projection)
    coef = [np.zeros(y.size), *(step.last for step in later)]  # w_1 = 0
    return draws, _losses(np.array(coef) * y)


def _single(steps: list[int], seeds: range) -> Row:
    """Return means of w_1 … w_T of each run, and random ones for each share T/s of T.

    With projection.
    """
    ends = [[n // s for n in steps] for s in range(1, theory.n_runs(DELTA) + 1)]
    found: dict[str, list[Any]] = {"means": [], "random": []}
    for seed in seeds:
        objectives = _iterates(steps[-1], seed, projection=True)[1].mean(axis=1)
        rng = np.random.default_rng(seed)
        found["means"].append([objectives[:n].mean() for n in steps])
        found["random"].append([objectives[rng.integers(ends)] for _ in range(DRAWS)])
    return found


def _regrets(steps: list[int], seeds: int, best: np.ndarray) -> Row:
    """Measure the mean regret of each run, means of w_1 … w_T, and random ones.

    Without projection.
    """
    rival = _losses(best)
    found: dict[str, list[Any]] = {"regrets": [], "means": [], "random": []}
    for seed in range(seeds):
        draws, own = _iterates(steps[-1], seed, projection=False)
        regret, objectives = own[np.arange(draws.size), draws] - rival[draws], own.mean(axis=1)
        rng = np.random.default_rng(seed)
        found["regrets"].append([regret[:n].mean() for n in steps])
        found["means"].append([objectives[:n].mean() for n in steps])
        found["random"].append([objectives[rng.integers(steps)] for _ in range(DRAWS)])
    return found


def _best_of(random: np.ndarray, runs: int) -> np.ndarray:
    """Give the least objective of each ``runs`` runs of T/runs steps, of shape (draws, steps)."""
    groups = random[: len(random) // runs * runs, :, runs - 1]
    return groups.reshape(-1, runs, *groups.shape[1:]).min(axis=1).reshape(-1, groups.shape[-1])


def _row(
    statement: str, source: str, n_steps: int, values: np.ndarray, bound: Any, delta: float = 0.0
) -> Row:
    """Compare excess objectives with a bound on their mean, or on all but a share delta of them.

    Of bounds that differ by run, the median is noted.
    """
    measured = float(np.quantile(values, 1 - delta) if delta else values.mean())
    above = float(np.mean(values > bound))
    return {
        "statement": statement,
        "source": source,
        "T": n_steps,
        "delta": delta or None,
        "measured": measured,
        "bound": float(np.median(bound)),
        "held": bool(above <= delta if delta else measured <= np.median(bound)),
    }


def compute(context: Context) -> dict[str, Any]:
    """Run everything, then hold each theorem next to what it is about."""
    size, seeds = (4, 50) if context.quick else (len(MORE_STEPS), SEEDS)
    more, steps, table = list(MORE_STEPS[:size]), list(STEPS[:size]), []
    optimum = context.part("optimum", _optimum)
    f_star, where = optimum["f*"], {"lam": LAM, "radius": optimum["R"]}
    excess = {}
    for average in ("uniform", "suffix", "weighted"):
        options: Any = {"average": average, "sampling": "uniform"}
        excess[average] = np.array(context.part(average, _averages, more, seeds, **options))
    options = {"projection": True, "average": "uniform", "batch_size": N_SAMPLES}
    excess["full"] = np.array(context.part("full gradient", _averages, more, 1, **options))
    for i, n in enumerate(more):
        uniform, suffix, weighted, full = (values[:, i] - f_star for values in excess.values())
        likely = theory.mean_excess_bound(n, **where, delta=DELTA)
        own = theory.suffix_average_bound(n, **where)
        table += [
            _row("uniform average", "MPB 2011, Thm. 1", n, uniform,
                 theory.average_iterate_bound(n, **where)),
            _row("suffix average", "derived here", n, suffix, own),
            _row("t-weighted average", "derived here", n, weighted,
                 theory.weighted_average_bound(n, **where)),
            _row("uniform average, all but δ", "Zhou, Cor. 3.6.2", n, uniform, likely, DELTA),
            _row("full gradient", "ICML 2007, Cor. 1", n, full,
                 theory.convergence_bound(n, **where)),
        ]  # fmt: skip
    chunks = [
        context.part(f"iterates from {first}", _single, steps, range(first, first + CHUNK))
        for first in range(0, seeds, CHUNK)
    ]
    means, random = (
        np.concatenate([chunk[key] for chunk in chunks]) - f_star for key in ("means", "random")
    )
    best = np.array(optimum["coef"])
    found = context.part("regrets", _regrets, steps, min(seeds, REGRET_SEEDS), best)
    own_means, stops = (np.array(found[key]) - f_star for key in ("means", "random"))
    regrets, runs = np.array(found["regrets"]), int(theory.n_runs(DELTA))
    for i, n in enumerate(steps):
        given: Any = {**where, "delta": DELTA}
        share = DELTA / (4 * np.log(n))
        measured = theory.measured_regret_bound(regrets[:, i], n, **where, delta=share)
        table += [
            _row("random iterate", "ICML 2007, Thm. 2", n, means[:, i],
                 theory.convergence_bound(n, **where)),
            _row("random iterate, all but δ", "ICML 2007, Thm. 3", n, _best_of(random, 1)[:, i],
                 theory.random_iterate_bound(n, **given), DELTA),
            _row("mean of iterates, all but δ", "Zhou, Cor. 3.6.1", n, own_means[:, i],
                 theory.mean_excess_bound(n, **given), DELTA),
            _row("mean of iterates, all but δ", "Zhou, Thm. 3.3", n, own_means[:, i],
                 measured, DELTA),
            _row("mean of iterates, all but δ", "derived here, as MPB 2011", n, own_means[:, i],
                 theory.high_probability_bound(n, **given), DELTA),
            _row("random stop, half of them", "Zhou, Cor. 3.6.3", n, stops[..., i].ravel(),
                 theory.median_excess_bound(n, **given), 0.5),
        ]  # fmt: skip
        if n >= 3 * runs:
            bound = theory.best_of_runs_bound(n, **given)
            of_runs = _best_of(random, runs)[:, i]
            source = "ICML 2007, after Thm. 3"
            table.append(_row("best of runs, all but δ", source, n, of_runs, bound, DELTA))
    return {"seeds": list(range(seeds)), "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say whether code and theorems agree, and how much the theorems leave."""
    table = results["table"]
    kinds = grouped(table, "statement", "source")
    broken = sum(not all(row["held"] for row in rows) for rows in kinds.values())
    loose = {key: _looseness(rows) for key, rows in kinds.items()}
    (tightest, _), (loosest, _) = (f(loose, key=lambda key: loose[key][1]) for f in (min, max))
    least, most = min(low for low, _ in loose.values()), max(high for _, high in loose.values())
    return [
        Claim(
            f"The papers' bounds are {rounded(least)} to {rounded(most)} times what is measured.",
            OURS,
            f"None can fail, as they are theorems: {broken} of {len(kinds)} are violated in "
            f"{len(results['seeds'])} runs. From T = 100 on the bound of a {tightest} is the "
            f"tightest, the bound of the {loosest} the loosest.",
        )
    ]


def _looseness(rows: list[Row]) -> tuple[float, float]:
    """Return the least and the largest ratio of a bound to what was measured, from T = 100 on."""
    measured, bounds = columns([row for row in rows if row["T"] >= 100], "measured", "bound")
    return (bounds / measured).min(), (bounds / measured).max()


#: What is drawn in each panel: a statement with its source, in a colour.
PANELS = {
    "averages, without projection": (
        ("uniform average", "MPB 2011, Thm. 1", plots.PURPLE),
        ("t-weighted average", "derived here", plots.BLUE),
        ("suffix average", "derived here", plots.SKY),
        ("full gradient", "ICML 2007, Cor. 1", plots.ORANGE),
    ),
    "single iterates, with projection": (
        ("random iterate", "ICML 2007, Thm. 2", plots.GREEN),
        ("random iterate, all but δ", "ICML 2007, Thm. 3", plots.VERMILION),
        ("best of runs, all but δ", "ICML 2007, after Thm. 3", plots.BLACK),
    ),
}


def plot(results: dict[str, Any]) -> plots.Figure:
    """Measured values solid, bounds dashed; below, how loose each bound is."""
    figure = plots.plt.figure(figsize=(plots.WIDTH, 7.6))
    above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
    axes, ax_below = above.subplots(1, 2), below.subplots()
    for ax, (title, lines) in zip(axes, PANELS.items(), strict=True):
        for statement, source, color in lines:
            rows = select(results["table"], statement=statement, source=source)
            steps, measured, bounds = columns(rows, "T", "measured", "bound")
            style: Any = {"markersize": 4, "color": color, "label": statement}
            ax.plot(steps, measured, "o-", **style)
            ax.plot(steps, bounds, "--", color=color)
        plots.log_log(ax, xlabel=plots.STEPS, ylim=(1e-7, 1e4), title=title)
        ax.legend(fontsize=9)
    axes[0].set_ylabel(plots.EXCESS)
    kinds = grouped(results["table"], "statement", "source")
    names = [f"{statement}: {source}" for statement, source in kinds]
    for height, rows in enumerate(kinds.values()):
        ax_below.plot(_looseness(rows), [height] * 2, "o-", color=plots.BLACK, linewidth=3)
    plots.rows_down(ax_below, names, fontsize=9)
    plots.log_x(ax_below, xlabel="bound, over what was measured, from T = 100 on")
    return plots.state(
        figure,
        "No bound is violated, and all are loose",
        "Dots: measured, in the mean or by all but the share δ of the runs; dashed: bounds. Two "
        f"moons, RBF kernel, m = {N_SAMPLES}, λ = {LAM:g}, δ = {DELTA:g}, independent draws, "
        f"{len(results['seeds'])} runs.",
    )
