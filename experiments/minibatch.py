"""Mini-batches of k: the same number of draws kT, and the same number of steps T.

MPB 2011, section 7.4: with kT fixed, the suboptimality does not depend on k up to a few hundred and
grows from there on; with T fixed, larger batches help. Here for independent draws and the last
iterate, as there, and for the defaults of the package, permutations and the t-weighted average.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import JOURNAL, Claim, mark, rounded
from experiments._plots import band, legend_below, log_log
from experiments._settings import bracket, setting
from experiments._tables import select, spread, summary
from kpegasos import make_problem, pegasos

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "4 min"
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
WORDS = {"paper": "independent draws, last iterate", "defaults": "defaults"}


def _finals(name: str, method: str, k: int, steps: list[int], seeds: int) -> np.ndarray:
    """Objective of the returned iterate after each number of steps, a row for each seed."""
    _, y, rows = setting(name)
    problem = make_problem(y, LAM_M / y.size)
    options: dict[str, Any] = {
        "n_steps": max(steps),
        "checkpoints": sorted(set(steps)),
        "batch_size": k,
    }
    options |= METHODS[method]
    values = []
    for seed in range(seeds):
        history = pegasos(problem, rows, random_state=seed, **options).history
        found = dict(zip(history["iteration"], history["objective_average"], strict=True))
        values.append([found[step] for step in steps])
    return np.array(values)


def _knees(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Largest k for each fixed kT at which it and all smaller ones at most double the least."""
    knees = []
    keys = dict.fromkeys((r["data"], r["method"], r["budget"]) for r in table if r["fixed"] == "kT")
    for data, method, budget in keys:
        key = {"data": data, "method": method, "fixed": "kT", "budget": budget}
        own = select(table, **key)
        flat = []
        for row in own:
            if row["suboptimality"] > 2 * own[0]["suboptimality"]:
                break
            flat.append(row)
        last = flat[-1]
        knees.append({**key, "k": last["k"], "T": last["T"], "lam_T": last["lam_T"]})
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
        optima[name] = context.part(f"optimum of {name}", partial(bracket, name, lam, 1e-6))
        steps = [*(round(count * m / k) for count in epochs), *fixed]
        work = partial(_finals, name, method, k, steps, seeds)
        values = np.array(context.part(f"{name}, {method}, k = {k}", work)) - optima[name]["f*"]
        budgets = [*(("kT", count) for count in epochs), *(("T", count) for count in fixed)]
        for (what, budget), step, column in zip(budgets, steps, values.T, strict=True):
            table.append(
                {
                    "data": name,
                    "method": method,
                    "fixed": what,
                    "budget": budget,
                    "k": k,
                    "T": step,
                    "lam_T": lam * step,
                    **summary("suboptimality", column),
                }
            )
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in SIZES},
        "sizes": sizes,
        "optima": optima,
        "knees": _knees(table),
        "table": table,
    }


def _told_knees(results: dict[str, Any], name: str, budget: float) -> str:
    """The largest batch that costs no more than twice, and what the largest one of all costs."""
    told = []
    for method, words in WORDS.items():
        knee = select(results["knees"], data=name, method=method, budget=budget)[0]
        own = select(results["table"], data=name, method=method, fixed="kT", budget=budget)
        cost = own[-1]["suboptimality"] / own[0]["suboptimality"]
        told.append(f"{words} k = {knee['k']:,} (k = {own[-1]['k']:,} costs {rounded(cost)} times)")
    return f"{results['titles'][name]}, m = {results['sizes'][name]:,}: {', '.join(told)}"


def claims(results: dict[str, Any]) -> list[Claim]:
    """The paper's two statements, each set and each method apart."""
    table, names = results["table"], list(results["titles"])
    most = max(row["budget"] for row in table if row["fixed"] == "kT")
    knees = [row for row in results["knees"] if row["budget"] == most]
    paper, both = (
        min(row["k"] for row in knees if row["method"] in methods)
        for methods in (("paper",), tuple(METHODS))
    )
    steps = [row["budget"] for row in table if row["fixed"] == "T"]
    gains = {}
    for name, budget in product(names, sorted(set(steps))):
        own = select(table, data=name, method="paper", fixed="T", budget=budget)
        gains[name, budget] = own[0]["suboptimality"] / own[-1]["suboptimality"]
    told = [
        f"{results['titles'][name]} "
        + ", ".join(f"{rounded(gain)} (T = {T:,})" for (n, T), gain in gains.items() if n == name)
        for name in names
    ]
    return [
        Claim(
            "With kT fixed, the suboptimality is flat in k up to a few hundred.",
            JOURNAL,
            f"After {most} epochs the suboptimality at most doubles up to: "
            f"{'; '.join(_told_knees(results, name, most) for name in names)}.",
            mark(both >= 256, paper >= 256),
            "✓ if k = 256 at most doubles the suboptimality after the most epochs on both sets, "
            "for the paper's method and for the defaults; ~ if for the paper's alone.",
        ),
        Claim(
            "With T fixed, larger batches help.",
            JOURNAL,
            f"The largest batch divides the last iterate's suboptimality by: {'; '.join(told)}.",
            mark(min(gains.values()) > 2, max(gains.values()) > 2),
            "✓ if the largest batch at least halves it for every T on both sets, ~ if for some.",
        ),
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Suboptimality against k; above for fixed kT, below for fixed T."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    table = results["table"]
    figure, axes = plt.subplots(2, len(results["titles"]), figsize=(9, 8), sharex="col")

    def draw(ax: Axes, fixed: str, name: str) -> None:
        own = select(table, fixed=fixed, data=name)
        budgets = dict.fromkeys(row["budget"] for row in own)
        for (i, budget), (method, line) in product(
            enumerate(budgets), (("paper", "-"), ("defaults", "--"))
        ):
            rows = select(own, budget=budget, method=method)
            words = f"kT = {budget:,} m" if fixed == "kT" else f"T = {budget:,}"
            style: dict[str, Any] = {"color": f"C{i}", "ls": line, "marker": "o", "ms": 4}
            label = words if method == "paper" else None
            sizes = [row["k"] for row in rows]
            band(ax, sizes, spread(rows, "suboptimality"), label=label, **style)
        log_log(ax)

    for column, (name, title) in zip(axes.T, results["titles"].items(), strict=True):
        for ax, fixed in zip(column, ("kT", "T"), strict=True):
            draw(ax, fixed, name)
        column[0].set_title(f"{title}, m = {results['sizes'][name]:,}", fontsize=11)
        column[1].set_xlabel("batch size k")
    for (ax, other), fixed in zip(axes, ("kT", "T"), strict=True):
        ax.set_ylabel(f"f − f* for fixed {fixed}")
        low = min(ax.get_ylim()[0], other.get_ylim()[0])
        high = max(ax.get_ylim()[1], other.get_ylim()[1])
        for one in (ax, other):
            one.set_ylim(low, high)
        other.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=10)
    lines = [Line2D([], [], color="black", ls=line) for line in ("-", "--")]
    labels = ["independent draws, last iterate", "permutations, t-weighted average"]
    legend_below(figure, (lines, labels), ncols=2)
    figure.suptitle(
        f"Mini-batches; λm = {LAM_M:g}, median and 20–80% band of {len(results['seeds'])} runs",
        fontsize=12,
    )
    return figure
