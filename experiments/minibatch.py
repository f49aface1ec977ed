"""Mini-batches of k: the same number of draws kT, and the same number of steps T.

MPB 2011, section 7.4: with kT fixed, the suboptimality does not depend on k up to a few hundred and
grows from there on; with T fixed, larger batches help. Here for independent draws and the last
iterate, as there, and for the defaults of the package, permutations and the t-weighted average.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import JOURNAL, Claim, listed, mark, rounded
from experiments._run import ExperimentContext
from experiments._runs import bracket, histories, setting
from experiments._tables import columns, grouped, select, spread, summary
from kpegasos import make_problem

FULL_TIME = "8 min"
QUICK_TIME = "10 s"

LAM_M = 1.5  # λm, as of astro-ph in the paper
#: Batch sizes by set; the last of RCV1 is all of it.
SIZES = {
    "rcv1": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000),
    "adult": (1, 4, 16, 64, 256, 1024, 4096),
}
EPOCHS = (1, 8, 65)
STEPS = (100, 1000, 10_000)
SEEDS = 10
METHODS: dict[str, dict[str, Any]] = {
    "paper": {"sampling": "uniform", "average": None},
    "defaults": {},
}
WORDS = {"paper": "independent draws and the last iterate", "defaults": "the defaults"}


def _finals(name: str, method: str, k: int, steps: list[int], seeds: int) -> np.ndarray:
    """Objective of the returned iterate after each number of steps, a row for each seed."""
    _, y, rows = setting(name)
    points: Any = {"n_steps": max(steps), "checkpoints": sorted(set(steps))}
    problem, options = make_problem(y, LAM_M / y.size), {"batch_size": k, **METHODS[method]}
    found = histories(problem, rows, seeds, **points, **options)
    return found["average"][:, np.searchsorted(found["steps"], steps)]


def _knees(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Largest k for each fixed kT at which it and all smaller ones at most double the least."""
    knees = []
    for own in grouped(select(table, fixed="kT"), "data", "method", "budget").values():
        (excess,) = columns(own, "suboptimality")
        last = own[int(np.argmin([*(excess <= 2 * excess[0]), False])) - 1]
        knees.append({key: last[key] for key in ("data", "method", "budget", "k")})
    return knees


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run each batch size on each set with every seed."""
    seeds = 2 if context.quick else SEEDS
    epochs, fixed = (EPOCHS[:2], STEPS[:2]) if context.quick else (EPOCHS, STEPS)
    optima, table, sizes = {}, [], {}
    thin = 4 if context.quick else 1
    parts = [(name, method, k) for name in SIZES for method in METHODS for k in SIZES[name][::thin]]
    for name, method, k in context.progress(parts, "runs"):
        m = sizes[name] = setting(name).y.size
        lam = LAM_M / m
        optima[name] = context.part(f"optimum of {name}", bracket, name, lam, 1e-6)
        steps = [*(round(count * m / k) for count in epochs), *fixed]
        found = context.part(f"{name}, {method}, k = {k}", _finals, name, method, k, steps, seeds)
        values = np.array(found) - optima[name]["f*"]
        budgets = [*(("kT", count) for count in epochs), *(("T", count) for count in fixed)]
        for (what, budget), step, column in zip(budgets, steps, values.T, strict=True):
            row = {"data": name, "method": method, "fixed": what, "budget": budget, "k": k}
            table.append({**row, "lam_T": lam * step, **summary("suboptimality", column)})
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in SIZES},
        "sizes": sizes,
        "optima": optima,
        "knees": _knees(table),
        "table": table,
    }


def _told_knees(results: dict[str, Any], data: str, budget: float) -> str:
    """The largest batch that costs no more than twice, by method."""
    told = []
    for method, name in WORDS.items():
        knee = select(results["knees"], data=data, method=method, budget=budget)[0]
        told.append(f"k = {knee['k']:,} with {name}")
    return f"{listed(told)} ({results['titles'][data]}, m = {results['sizes'][data]:,})"


def claims(results: dict[str, Any]) -> list[Claim]:
    """The paper's two statements, each set and each method apart."""
    table, names = results["table"], list(results["titles"])
    most = max(row["budget"] for row in select(table, fixed="kT"))
    knees = select(results["knees"], budget=most)
    paper, both = (min(row["k"] for row in k) for k in (select(knees, method="paper"), knees))
    gains = {
        key: own[0]["suboptimality"] / own[-1]["suboptimality"]
        for key, own in grouped(select(table, method="paper", fixed="T"), "data", "budget").items()
    }
    told = [
        f"{results['titles'][name]} "
        + ", ".join(f"{rounded(gain)} (T = {T:,})" for (n, T), gain in gains.items() if n == name)
        for name in names
    ]
    return [
        Claim(
            "With kT fixed, the suboptimality is flat in k up to a few hundred.",
            JOURNAL,
            f"After {most} epochs the suboptimality is at most twice that of k = 1 up to: "
            f"{'; '.join(_told_knees(results, name, most) for name in names)}.",
            mark(both >= 256, paper >= 256),
            "✓ if k = 256 at most doubles the suboptimality after the most epochs on both sets, "
            "for the paper's method and the defaults; ~ if only for the paper's.",
        ),
        Claim(
            "With T fixed, larger batches help.",
            JOURNAL,
            f"The largest batch divides the last iterate's suboptimality by: {'; '.join(told)}.",
            mark(min(gains.values()) > 2, max(gains.values()) > 2),
            "✓ if the largest batch at least halves it for every T on both sets, ~ if for some.",
        ),
    ]


#: Names of the methods in the figure, by the looks that they are made of.
NAMES = {"paper": ("independent", "last"), "defaults": ("permutation", "weighted")}
#: A batch is called free while it costs no more than this factor.
FREE = 2.0


def _costs(table: list[dict[str, Any]], **where: Any) -> tuple[np.ndarray, np.ndarray]:
    """λT, and how many times the suboptimality of k = 1 it is (20, 50, 80%), for the same draws."""
    rows = sorted(select(table, fixed="kT", **where), key=itemgetter("k"))
    lam_T, least = columns(rows, "lam_T", "suboptimality")
    return lam_T, spread(rows, "suboptimality") / least[0]


def _free_above(table: list[dict[str, Any]]) -> float:
    """λT above which no batch of any set, method and number of draws costs more than the factor."""
    dear = [0.0]
    for own in grouped(select(table, fixed="kT"), "data", "method", "budget").values():
        lam_T, cost = _costs(own)
        dear += lam_T[cost[1] > FREE].tolist()
    return max(dear)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Cost of batches for the same draws against λT, a row for a set, a column for a method."""
    table = results["table"]
    figure, axes = plots.panels(2, len(METHODS), 6.4, sharex=True, sharey=True)
    budgets = list(dict.fromkeys(row["budget"] for row in table if row["fixed"] == "kT"))
    for row, (data, title) in zip(axes, results["titles"].items(), strict=True):
        for ax, method in zip(row, METHODS, strict=True):
            for budget, color in zip(budgets, plots.shades(len(budgets)), strict=True):
                lam_T, cost = _costs(table, data=data, method=method, budget=budget)
                label = f"{budget} epoch{'s' * (budget > 1)}"
                style: Any = {"marker": "o", "markersize": 4, "label": label}
                plots.band(ax, lam_T, cost, color=color, **style)
            ax.axvline(1, color=plots.GREY, linewidth=1, linestyle=":")
            ax.axhline(FREE, color=plots.GREY, linewidth=1, linestyle=":")
            plots.log_log(ax)
            sampling, average = (plots.METHODS[key].name for key in NAMES[method])
            ax.set_title(f"{title}\n{sampling}, {average}", fontsize=10.5)
    rows = select(table, fixed="kT", data=data, method=next(iter(METHODS)))
    for k, of, side in ((max(row["k"] for row in rows), min, "left"), (1, max, "right")):
        end = of(select(rows, k=k), key=itemgetter("lam_T"))
        (one,) = select(rows, k=1, budget=end["budget"])
        at = (end["lam_T"], end["suboptimality"] / one["suboptimality"])
        plots.beside(axes[1, 0], f"k = {k:,}", at, (0, 12), ha=side, fontsize=9.5)
    plots.outer_labels(
        axes, f"{plots.WORDS['lam_T']}  (k falls to the right)", "f − f*, over that of k = 1"
    )
    free = _free_above(table)
    return plots.state(
        figure,
        f"A batch costs little {'while' if free <= 1 else 'only while'} λT is large: for the same "
        f"draws less than a factor of {FREE:g} while λT > {free:.1g}",
        f"kT = {listed(f'{budget:g}' for budget in budgets)} epochs of draws; λm = {LAM_M:g}, so "
        f"that λT = {LAM_M:g} epochs / k; median and 20–80% of {len(results['seeds'])} runs; "
        f"dotted: λT = 1 and a factor of {FREE:g}. "
        + ", ".join(
            f"{title}: m = {results['sizes'][name]:,}" for name, title in results["titles"].items()
        )
        + ".",
    )
