"""Mini-batches of k: the same number of draws kT, and the same number of steps T.

MPB 2011, section 7.4: with kT fixed, the suboptimality does not depend on k up to a few hundred and
grows from there on; with T fixed, larger batches help. Here for independent draws and the last
iterate, as there, and for the defaults of the package, permutations and the t-weighted average.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import bracket, histories, setting
from experiments._results import (
    JOURNAL,
    OURS,
    Claim,
    columns,
    grouped,
    listed,
    mark,
    select,
    span,
    spread,
    summary,
)
from experiments._run import Context
from kpegasos import make_problem

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


def _finals(name: str, method: str, k: int, steps: list[int], seeds: int) -> np.ndarray:
    """Objective of the returned iterate after each number of steps, a row for each seed."""
    _, y, rows = setting(name)
    points: Any = {"n_steps": max(steps), "checkpoints": sorted(set(steps))}
    problem, options = make_problem(y, LAM_M / y.size), {"batch_size": k, **METHODS[method]}
    found = histories(problem, rows, seeds, **points, **options)
    return found["average"][:, np.searchsorted(found["steps"], steps)]


def compute(context: Context) -> dict[str, Any]:
    """Run each batch size on each set with every seed."""
    seeds, thin = (2, 4) if context.quick else (SEEDS, 1)
    epochs, fixed = (EPOCHS[:2], STEPS[:2]) if context.quick else (EPOCHS, STEPS)
    budgets = [*product(["kT"], epochs), *product(["T"], fixed)]
    table = []
    for name, method in product(SIZES, METHODS):
        m = setting(name).y.size
        optimum = context.part(f"optimum of {name}", bracket, name, LAM_M / m, 1e-6)["f*"]
        for k in SIZES[name][::thin]:
            steps = [*(max(1, round(count * m / k)) for count in epochs), *fixed]
            key = f"{name}, {method}, k = {k}"
            values = np.array(context.part(key, _finals, name, method, k, steps, seeds))
            for (what, budget), column in zip(budgets, values.T - optimum, strict=True):
                row = {"data": name, "method": method, "fixed": what, "budget": budget, "k": k}
                table.append({**row, **summary("suboptimality", column)})
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in SIZES},
        "sizes": {name: setting(name).y.size for name in SIZES},
        "table": table,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The paper's two statements, and what the defaults make of the first."""
    table = results["table"]
    most = max(row["budget"] for row in select(table, fixed="kT"))
    paper, ours = (
        {name: _knee(table, data=name, method=method, budget=most) for name in results["titles"]}
        for method in METHODS
    )
    of_T = grouped(select(table, method="paper", fixed="T"), "data", "budget").values()
    gains = [own[0]["suboptimality"] / own[-1]["suboptimality"] for own in of_T]
    return [
        Claim(
            "With kT fixed, the suboptimality is flat in k up to a few hundred.",
            JOURNAL,
            f"After {most} epochs of independent draws the last iterate's suboptimality is below "
            f"twice its value at k = 1 up to {_told(results, paper)}.",
            mark(min(paper.values()) >= 256, max(paper.values()) >= 256),
            "✓ if k = 256 at most doubles the suboptimality after the most epochs on both sets, "
            "~ if on one.",
        ),
        Claim(
            "With permutations and averages, batches are free for a shorter while.",
            OURS,
            f"With the defaults of the package the same holds up to {_told(results, ours)}.",
        ),
        Claim(
            "With T fixed, larger batches help.",
            JOURNAL,
            f"The largest batch divides the last iterate's suboptimality by {span(gains)}, for T "
            f"from {STEPS[0]} to {STEPS[-1]:,} on both sets.",
            mark(min(gains) > 2, max(gains) > 2),
            "✓ if the largest batch at least halves it for every T on both sets, ~ if for some.",
        ),
    ]


def _knee(table: list[dict[str, Any]], **where: Any) -> int:
    """Return the largest k at which it and all smaller ones at most double the least."""
    k, excess = columns(select(table, fixed="kT", **where), "k", "suboptimality")
    return int(k[int(np.argmin([*(excess <= 2 * excess[0]), False])) - 1])


def _told(results: dict[str, Any], knees: dict[str, int]) -> str:
    return listed(
        f"k = {k:,} ({results['titles'][name]}, m = {results['sizes'][name]:,})"
        for name, k in knees.items()
    )


def plot(results: dict[str, Any]) -> plots.Figure:
    """Cost of batches for the same draws against k, a row for a set, a column for a method."""
    figure, axes = plots.panels(2, len(METHODS), 6.0, sharey=True, sharex="row")
    names = ("independent draws, last iterate", "permutations, t-weighted average")
    for row, (data, title) in zip(axes, results["titles"].items(), strict=True):
        for ax, method, words in zip(row, METHODS, names, strict=True):
            of_budget = grouped(
                select(results["table"], fixed="kT", data=data, method=method), "budget"
            )
            colors = plots.shades(len(of_budget))
            for (budget, own), color in zip(of_budget.items(), colors, strict=True):
                (k,), excess = columns(own, "k"), spread(own, "suboptimality")
                label = f"{budget} epoch{'s' * (budget > 1)}"
                style: Any = {"marker": "o", "markersize": 4, "label": label}
                plots.band(ax, k, excess / own[0]["suboptimality"], color=color, **style)
            ax.axhline(2, color=plots.GREY, linewidth=1, linestyle=":")
            plots.log_log(ax, title=f"{title}\n{words}")
    plots.outer_labels(axes, "batch size k", "f − f*, over its value at k = 1")
    return plots.state(
        figure,
        "A batch costs little while λT is large",
        f"The same number of draws kT for every k; λm = {LAM_M:g}, so that λT = {LAM_M:g} "
        f"epochs / k; median and 20–80% of {len(results['seeds'])} runs; dotted: a factor of 2.",
    )
