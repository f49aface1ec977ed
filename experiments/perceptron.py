"""When Pegasos stops being the perceptron: counts and directions of both on the same draws.

Without its scale, the margin test of step t is y⟨v, x⟩ < λ(t − 1), for the sum v of the examples
that violated before. The perceptron's is y⟨v, x⟩ ≤ 0 (Rosenblatt 1958). While λt is small both
count alike, and the t-weighted average, whose terms are t · v/(λt), is the averaged perceptron
(Freund and Schapire 1999). Both run on the same draws here, for several C and six sets.
"""

from __future__ import annotations

from itertools import chain, product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import spaced
from experiments._results import (
    OURS,
    Claim,
    Row,
    columns,
    grouped,
    listed,
    percent,
    rounded,
    select,
    shortened,
    span,
    spread,
    summary,
)
from experiments._run import Context
from experiments.certified_predictions import SETS, random_split
from kpegasos import RBF, make_problem, make_rows, pegasos
from kpegasos.reference import index_stream

CS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
SEEDS, EXAMPLES, TESTED = 10, 2000, 5000
#: Numbers of steps at which runs are compared, three a decade.
STEPS = spaced(100_000.0, 3, 100.0)
#: Cosine and share of equal counts from which on both are called alike.
ALIKE = 0.99


def _perceptron(K: np.ndarray, y: np.ndarray, draws: np.ndarray, steps: Any) -> list[Any]:
    """Return counts, and those of the mean of all iterates, after each of some numbers of steps."""
    counts, stamps, sums = np.zeros(y.size), np.zeros(y.size), np.zeros(y.size)
    states = []
    for t, i in enumerate(draws.tolist()):
        if y[i] * sums[i] <= 0.0:
            counts[i] += 1.0
            stamps[i] += t
            sums += y[i] * K[i]
        if t + 1 in steps:
            states.append((counts.copy(), counts - stamps / (t + 1)))
    return states


def _compared(name: str, seed: int, sizes: tuple[int, int], Cs: tuple[float, ...]) -> list[Row]:
    """Compare both after some numbers of steps, on one random part of a set."""
    X, y, X_test, y_test = random_split(name, seed, *sizes)
    kernel = RBF(SETS[name][1])
    K, values = (kernel.block(part.astype(float), X.astype(float)) for part in (X, X_test))
    rows = make_rows(K, "precomputed")
    draws = index_stream(y.size, STEPS[-1], random_state=seed)

    def cosine(left: np.ndarray, right: np.ndarray) -> float:
        products = np.stack([left * y, right * y]) @ K @ np.stack([left * y, right * y]).T
        return float(products[0, 1] / np.sqrt(products[0, 0] * products[1, 1]))

    def error(counts: np.ndarray) -> float:
        return float(np.mean(np.where(values @ (counts * y) > 0, 1, -1) != y_test))

    compared = []
    for T, (counts, average) in zip(STEPS, _perceptron(K, y, draws, set(STEPS)), strict=True):
        for C in Cs:
            run = pegasos(make_problem(y, C=C), rows, n_steps=T, random_state=seed)
            row = {"C": C, "T": T, "lam_T": T / (C * y.size)}
            row |= {"equal": float(np.mean(run.alpha == counts))}
            row |= {"cosine": cosine(run.alpha, counts), "error": error(run.coef * y)}
            compared.append(row | {"perceptron_error": error(average)})
    return [{key: shortened(value, 5) for key, value in row.items()} for row in compared]


def compute(context: Context) -> dict[str, Any]:
    """Compare on every set with every seed."""
    seeds, sizes = (2, (400, 2000)) if context.quick else (SEEDS, (EXAMPLES, TESTED))
    names, Cs = (["moons", "usps"], CS[:3]) if context.quick else (list(SETS), CS)
    runs: list[Row] = []
    for name, seed in product(names, range(seeds)):
        rows = context.part(f"{name}, seed {seed}", _compared, name, seed, sizes, Cs)
        runs += [{"data": name, **row} for row in rows]
    table = []
    for (name, C, T), own in grouped(runs, "data", "C", "T").items():
        row = {"data": name, "C": C, "T": T, "lam_T": own[0]["lam_T"]}
        for key in ("equal", "cosine", "error", "perceptron_error"):
            row |= summary(key, [one[key] for one in own])
        table.append(row)
    return {"seeds": list(range(seeds)), "examples": sizes[0], "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say until which λT both are alike, and what that does to test errors."""
    table = results["table"]
    ends: dict[str, list[float]] = {}
    before: list[Row] = []
    for (name, _), own in grouped(table, "data", "C").items():
        if own[0]["cosine"] >= ALIKE:
            turned = [row["lam_T"] for row in own if row["cosine"] < ALIKE]
            ends[name] = ends.get(name, []) + turned[:1]
            before += [row for row in own if row["lam_T"] < min(turned, default=np.inf)]
    others = [row for row in table if row["data"] not in ends]
    apart = [row for row in table if row["lam_T"] >= 1]
    largest = max(row["C"] for row in table)
    exact = [row["T"] for row in select(table, data="usps", C=largest) if row["equal"] == 1.0]
    off, later = (
        [100 * abs(row["error"] - row["perceptron_error"]) for row in rows]
        for rows in (before, apart)
    )
    equal = float(np.median([row["equal"] for row in before]))
    never = listed(SETS[name][0] for name in dict.fromkeys(row["data"] for row in others))
    turns, n_sets = span(chain.from_iterable(ends.values())), len(grouped(table, "data"))
    return [
        Claim(
            f"With {results['examples']:,} examples and an RBF kernel, Pegasos is the perceptron "
            f"until λT is {turns} on {len(ends)} of {n_sets} sets.",
            OURS,
            f"Until then the cosine of both is at least {ALIKE}, and {percent(equal, 0)} of the "
            f"counts are equal (median over sets and C). At C = {largest:,g} all counts on USPS "
            f"are equal up to {max(exact, default=0):,.0f} steps. From λT = 1 on the cosine is "
            f"{span([row['cosine'] for row in apart])}. On {never} it is "
            f"{span([row['cosine'] for row in others])} from the first steps on.",
        ),
        Claim(
            "Until then its t-weighted average is the averaged perceptron.",
            OURS,
            f"Test errors of the two differ by {rounded(float(np.median(off)))} points in the "
            f"median (up to {rounded(max(off))}) until then, and by "
            f"{rounded(float(np.median(later)))} (up to {rounded(max(later))}) from λT = 1 on.",
        ),
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Cosine of both against λT, a panel for each set and a line for each C."""
    by_set = grouped(results["table"], "data")
    n_columns = -(-len(by_set) // 2)
    figure, axes = plots.panels(2, n_columns, 5.6, sharex=True, sharey=True)
    for ax, (name, rows) in zip(axes.flat, by_set.items(), strict=True):
        of_C = grouped(rows, "C")
        for (C, own), color in zip(of_C.items(), plots.shades(len(of_C)), strict=True):
            (lam_T,) = columns(own, "lam_T")
            plots.band(ax, lam_T, spread(own, "cosine"), color=color, label=f"C = {C:,g}")
            ax.plot(lam_T, spread(own, "equal")[1], color=color, linestyle="--", linewidth=1)
        plots.log_x(ax, ylim=(-0.02, 1.04), title=SETS[name][0])
    plots.outer_labels(axes, plots.LAM_T, "cosine; equal counts")
    return plots.state(
        figure,
        "While λT is small, Pegasos is the perceptron",
        f"Same draws; {results['examples']:,} examples, RBF kernel, medians and 20–80% of "
        f"{len(results['seeds'])} seeds. Lines: the cosine of both. Dashed: the share of examples "
        "with equal counts.",
    )
