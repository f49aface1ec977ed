"""Suboptimality after a fixed number of steps against λ: Pegasos and dual coordinate ascent.

MPB 2011, section 7.3 and Fig. 6: for a fixed number of steps Pegasos gets worse as λ falls, as its
bound, 1/(λT), says; SDCA is the comparison. A step is one example for both. Pegasos by permutations
and t-weighted average, and as in the paper by independent draws and the last iterate.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import bracket, histories, setting
from experiments._results import (
    JOURNAL,
    Claim,
    columns,
    exponent,
    grouped,
    mark,
    markdown,
    select,
    slope,
    span,
    spread,
    summary,
)
from experiments._run import Context
from kpegasos import make_problem, sdca

DATA = ("rcv1", "adult", "usps")
LAMS = tuple(10.0**power for power in np.arange(-6, 0.5, 0.5))
EPOCHS = (1, 10, 100)
SEEDS = 5
METHODS: dict[str, dict[str, Any]] = {
    "Pegasos": {},
    "Pegasos, as in the paper": {"sampling": "uniform", "average": None},
}
#: The optimum is bracketed this closely, or up to so many epochs.
TOL, MOST_EPOCHS = 1e-7, 2000


def _objectives(name: str, lam: float, epochs: tuple[int, ...], seeds: int) -> dict[str, Any]:
    """Objective of each method after each number of epochs, a row for each seed."""
    _, y, rows = setting(name)
    problem = make_problem(y, lam)
    steps = [count * y.size for count in epochs]
    found: dict[str, Any] = {**dict.fromkeys(METHODS), "SDCA": []}
    for method, options in METHODS.items():
        where: Any = {"n_steps": steps[-1], "checkpoints": steps, **options}
        found[method] = histories(problem, rows, seeds, **where)["average"]
    for seed in range(seeds):
        run = sdca(problem, rows, tol=0.0, max_epochs=epochs[-1], random_state=seed)
        by_epoch = run.history["objective_average"]
        # It stops when the gap is 0.
        found["SDCA"].append([by_epoch[min(count, len(by_epoch)) - 1] for count in epochs])
    return found


def compute(context: Context) -> dict[str, Any]:
    """Run each method for each set, λ and seed."""
    seeds, epochs = (2, EPOCHS[:2]) if context.quick else (SEEDS, EPOCHS)
    names, lams = (DATA[:2], LAMS[2::2]) if context.quick else (DATA, LAMS)
    table: list[dict[str, Any]] = []
    for name, lam in product(names, lams):
        key = f"{name}, lam = {lam:.3g}"
        optimum = context.part(f"optimum of {key}", bracket, name, lam, TOL, MOST_EPOCHS)
        found = context.part(key, _objectives, name, lam, epochs, seeds)
        for method, values in found.items():
            for count, column in zip(epochs, np.array(values).T - optimum["f*"], strict=True):
                row = {"data": name, "method": method, "epochs": count, "lam": lam}
                row |= summary("suboptimality", column) | {"of_zero": 1 - optimum["f*"]}
                # Beyond what is known of the optimum.
                table.append({**row, "resolved": row["suboptimality"] > 2 * optimum["gap"]})
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in names},
        "sizes": {name: setting(name).y.size for name in names},
        "table": table,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The paper's contrast, after one epoch."""
    found = {method: _slopes(results["table"], method) for method in (*METHODS, "SDCA")}
    ours, paper, dual = found.values()
    return [
        Claim(
            "For a fixed number of steps Pegasos gets worse as λ falls, dual ascent does not.",
            JOURNAL,
            f"Exponent of λ in the suboptimality after one epoch: {span(ours, exponent)} for "
            f"Pegasos with permutations and t-weighted average, {span(paper, exponent)} with "
            f"independent draws and last iterate, {span(dual, exponent)} for SDCA.",
            mark(max(ours + paper) <= -0.5 and min(dual) >= -0.15, max(ours + paper) <= -0.5),
            "✓ if exponents are at most −0.5 for Pegasos and at least −0.15 for SDCA on every "
            "set, ~ if only the first holds.",
        )
    ]


def _slopes(table: list[dict[str, Any]], method: str) -> list[float]:
    """Fit suboptimality ~ λ^slope where it is below the value of w = 0 and above the rounding."""
    first = min(row["epochs"] for row in table)
    slopes = []
    for own in grouped(select(table, method=method, epochs=first), "data").values():
        kept = [row for row in own if row["resolved"] and row["suboptimality"] < row["of_zero"]]
        if len(kept) >= 4:
            slopes.append(slope(*columns(kept, "lam", "suboptimality")))
    return slopes


def rates(results: dict[str, Any]) -> str:
    """Return the exponents of λ in the suboptimality for each decade of λ, after one epoch."""
    rows, decades = [], range(-6, 0)
    for (name, method), own in grouped(
        select(results["table"], epochs=1), "data", "method"
    ).items():
        cells = []
        for power in decades:
            part = [row for row in own if 0.99 * 10**power <= row["lam"] <= 10.1 * 10**power]
            known = len(part) >= 2 and all(row["resolved"] for row in part)
            rate = known and slope(*columns(part, "lam", "suboptimality"))
            cells.append(exponent(rate) if known else "–")
        rows.append([results["titles"][name], method, *cells])
    heads = [f"{10.0**power:g} to {10.0 ** (power + 1):g}" for power in decades]
    return markdown(["exponent of λ", "method", *heads], rows)


LOOKS = {
    "Pegasos": plots.Look("Pegasos", plots.BLUE, "s"),
    "Pegasos, as in the paper": plots.Look("Pegasos, as\nin the paper", plots.VERMILION, "o"),
    "SDCA": plots.METHODS["SDCA"],
}


def plot(results: dict[str, Any]) -> plots.Figure:
    """One column a set, one row a number of epochs."""
    names, counts = list(results["titles"])[:2], EPOCHS[:2]
    figure, axes = plots.panels(len(counts), len(names), 6.8, sharex=True, sharey=True)
    for (count, name), ax in zip(product(counts, names), axes.flat, strict=True):
        for method, look in LOOKS.items():
            own = select(results["table"], data=name, epochs=count, method=method)
            inverse = 1 / columns(own, "lam")[0]
            resolved = [row["resolved"] for row in own]
            shown = np.where(resolved, spread(own, "suboptimality"), np.nan)
            plots.band(ax, inverse, shown, **look.style(markersize=4))
        steps = count * results["sizes"][name]
        ax.plot(inverse, inverse / steps, "--", color=plots.GREY, label="1/(λT)")
        title = f"{results['titles'][name]}, {count} epoch{'s' * (count > 1)}"
        plots.log_log(ax, ylim=(1e-7, 1e3), title=title)
    plots.outer_labels(axes, "1/λ", plots.EXCESS)
    return plots.state(
        figure,
        "Small λ slows Pegasos, and SDCA less",
        f"Median and 20–80% of {len(results['seeds'])} runs. Pegasos: permutations, t-weighted "
        "average; as in the paper: independent draws, last iterate. A step is one example for all.",
    )
