"""The worth of a warm start: kernel values of a polished run after more or less Pegasos.

`polish=True` ends a fit by dual ascent over sets of examples. It begins where Pegasos has got to,
after one step or after many epochs. Counted is every kernel value until the certified relative gap
is 10%, 1% and 0.1%, the start's own among them, and divided by what the kernel rows of the support
have. Fewer than these nobody can do with who certifies the optimum and computes whole rows. The
support is the smallest of all runs to 0.1%. Beside it stands dual ascent in random order.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from experiments import _plots as plots
from experiments._data import PROBLEMS, Task, load_task
from experiments._results import OURS, Claim, Row, grouped, listed, select, span
from experiments._run import Context
from kpegasos import PegasosSVC, make_problem, make_rows, sdca

#: Sets of data: problems of the kernel benchmark, and how many examples of each.
SETS = {
    "moons 2,000": 2000,
    **dict.fromkeys(("T-shirt or shirt", "MNIST 8", "Adult", "Covertype, C = 100"), 6000),
}
#: Certified relative gaps, the loosest first.
TOLERANCES = (0.1, 0.01, 0.001)
#: Epochs of Pegasos, one step, and what ``polish=True`` does if it is told nothing.
STARTS = ("1 step", "0.05", "0.2", "0.5", "1", "3", "10")
DEFAULT, SDCA = "default", "SDCA"
SEEDS = 3
_CACHE_MB = 3000


def _sample(name: str, seed: int, size: int) -> Task:
    """Take float64 examples of a set by a seed, new ones where they are made; labels ±1."""
    task = load_task(name, None, "float64")
    if name.startswith("moons"):
        X, y = make_moons(size, noise=0.25, random_state=seed)
        gamma = 1.0 / (X.shape[1] * X.var())
        task = task._replace(X=X, y=y, gamma=gamma, C=PROBLEMS[name].C)
    else:
        members = np.random.default_rng(seed).choice(len(task.y), size, replace=False)
        task = task._replace(X=np.ascontiguousarray(task.X[members]), y=task.y[members])
    return task._replace(y=np.where(task.y == task.y.max(), 1, -1))


def _polished(task: Task, start: str, seed: int, tol: float) -> Row:
    """Polish from a start to a gap; return kernel values and support."""
    options: Row = {"cache": "cached", "cache_mb": _CACHE_MB, "row_dtype": "float64"}
    if start != DEFAULT:
        draws = 1 if start == "1 step" else math.ceil(float(start) * task.y.size)
        options["n_steps"] = draws
    model = PegasosSVC(task.C, gamma=task.gamma, polish=True, tol=tol, random_state=seed, **options)
    last: Any = model.fit(task.X, task.y).history_
    last = last.records[-1]
    return {"values": last.kernel_evaluations, "support": int(model.support_.size)}


def _in_random_order(task: Task, seed: int, tol: float) -> Row:
    """Ascend one example at a time, in random order."""
    options: Row = {"cache": "cached", "cache_mb": _CACHE_MB}
    rows = make_rows(task.X, "rbf", gamma=task.gamma, intercept_scaling=1.0, **options)
    limits: Row = {"tol": tol, "max_epochs": 250, "random_state": seed}
    last = sdca(make_problem(task.y, C=task.C), rows, **limits).history.records[-1]
    return {"values": last.kernel_evaluations if last.relative_gap <= tol else np.nan}


def _runs(name: str, seed: int, size: int, starts: tuple[str, ...]) -> list[Row]:
    task, rows = _sample(name, seed, size), []
    for way, tol in product(starts, TOLERANCES):
        rows.append({"way": way, "tol": tol, **_polished(task, way, seed, tol)})
    tol = TOLERANCES[-1]
    least = size * min(row["support"] for row in select(rows, tol=tol))
    rows.append({"way": SDCA, "tol": tol, **_in_random_order(task, seed, tol)})
    return [{"data": name, "m": size, "seed": seed, **row, "least": least} for row in rows]


def compute(context: Context) -> Row:
    """Run all starts on each set, with some seeds."""
    names = list(SETS)[:1] if context.quick else list(SETS)
    starts = (*STARTS[::3], DEFAULT) if context.quick else (*STARTS, DEFAULT)
    table: list[Row] = []
    for name, seed in product(names, range(SEEDS)):
        size = 1000 if context.quick else SETS[name]
        table += context.part(f"{name}, {seed}", _runs, name, seed, size, starts)
    return {"seeds": list(range(SEEDS)), "table": table}


def claims(results: Row) -> list[Claim]:
    """Say what a start saves, and how near polishing comes to the least that is needed."""
    table, names = results["table"], grouped(results["table"], "data")
    short, longest = STARTS[1:4], STARTS[-1]
    sets = listed(
        f"{name.partition(', C')[0]} {span(_ratios(table, 'least', *short, DEFAULT, data=name))}"
        for name in names
    )
    gaps = listed(
        f"{span(_ratios(table, 'least', *short, DEFAULT, tol=tol))} to {100 * tol:g}%"
        for tol in TOLERANCES
    )
    shares = [row["values"] / row["m"] ** 2 for row in select(table, way=SDCA) if row["values"]]
    return [
        Claim(
            f"On {len(names)} sets dual ascent takes {span(_ratios(table, 'one', *short), _two)} "
            "times the kernel values if up to half an epoch of Pegasos comes before it, and "
            f"{span(_ratios(table, 'one', longest), _two)} times after {longest} epochs.",
            OURS,
            "The values of the start count, and an ascent from one step is 1. The start that "
            f"`polish=True` makes by itself takes {span(_ratios(table, 'one', DEFAULT), _two)} "
            "times.",
        ),
        Claim(
            f"Polishing computes {span(_ratios(table, 'least', *short, DEFAULT))} times the "
            "kernel rows of the support.",
            OURS,
            "These are the least for a solver that computes whole rows. With a start of up to half "
            f"an epoch it is, by the set, {sets}; by the gap, {gaps}.",
        ),
        Claim(
            "In random order, dual ascent computes most of the kernel matrix.",
            OURS,
            f"SDCA computes {span(shares)} times the matrix, some values twice.",
        ),
    ]


def _two(value: float) -> str:
    return f"{value:.2f}"


def _ratios(table: list[Row], over: str, *ways: str, **where: Any) -> list[float]:
    """Return kernel values over the least or those from one step, medians over the seeds."""
    one = {
        (row["data"], row["seed"], row["tol"]): row["values"]
        for row in select(table, way=STARTS[0])
    }
    ratios = []
    chosen = [row for row in select(table, **where) if row["way"] in ways]
    for own in grouped(chosen, "data", "way", "tol").values():
        keys = [(row["data"], row["seed"], row["tol"]) for row in own]
        bases = [
            row["least"] if over == "least" else one[key]
            for row, key in zip(own, keys, strict=True)
        ]
        ratios.append(float(np.median(np.divide([row["values"] for row in own], bases))))
    return ratios


def plot(results: Row) -> plots.Figure:
    """Kernel values against the start on each set, and SDCA at the right."""
    by_set = grouped(results["table"], "data")
    figure, axes = plots.panels(1, len(by_set), 4.2, sharey=True)
    ways = [way for way in (*STARTS, DEFAULT, SDCA) if select(results["table"], way=way)]
    for ax, (name, rows) in zip(axes[0], by_set.items(), strict=True):
        for tol, color in zip(TOLERANCES, plots.shades(len(TOLERANCES)), strict=True):
            for at, way in enumerate(ways):
                own = select(rows, way=way, tol=tol)
                ratios = [row["values"] / row["least"] for row in own if row["values"]]
                label = f"gap of {100 * tol:g}%"
                ax.plot([at] * len(ratios), ratios, "o", color=color, alpha=0.6, label=label)
        whole = np.median([row["m"] ** 2 / row["least"] for row in rows])
        ax.axhline(whole, color=plots.GREY, linewidth=1, linestyle=":")
        ax.axhline(1, color=plots.BLACK, linewidth=1)
        ax.set_xticks(range(len(ways)), ways, rotation=90, fontsize=9)
        ax.set_title(name.partition(", C")[0])
        ax.set_yscale("log")
    plots.outer_labels(axes, "epochs", "kernel values, over the support's rows")
    axes[0, 0].set_yticks([1, 2, 3, 5, 8], ["1", "2", "3", "5", "8"])
    axes[0, 0].minorticks_off()
    return plots.state(
        figure,
        "A Pegasos start saves dual ascent little",
        f"A dot for each of {len(results['seeds'])} samples. Line: every row of the support once; "
        "dotted: every row of all. 2,000 moons, 6,000 examples of the others; SDCA to a gap of "
        "0.1%.",
    )
