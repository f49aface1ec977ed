"""T is the regulariser: which exact SVM Pegasos has after T steps.

Pegasos runs on random parts of six sets with several C, far too few steps for the large ones. After
each of some numbers T of steps its average is held against the exact solutions along the whole
regularisation path: the one whose direction it shares best is that of some λ′. As λt → 0 Pegasos is
the perceptron, which does not know λ (Freund and Schapire 1999), so that λ′ can depend on T alone.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import spaced
from experiments._results import (
    OURS,
    Claim,
    Row,
    columns,
    exponent,
    grouped,
    percent,
    rounded,
    shortened,
    slope,
    span,
    spread,
    summary,
)
from experiments._run import Context
from experiments.certified_predictions import SETS, random_split
from kpegasos import RBF, make_problem, make_rows, pegasos, regularization_path

CS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
SEEDS, EXAMPLES, TESTED = 10, 2000, 5000
#: Numbers of steps at which runs are looked at, two a decade.
STEPS = spaced(100_000.0, 2, 100.0)
#: Values of C whose exact solutions the averages are held against, five a decade, and how exact.
PATH_CS = tuple(float(C) for C in 10 ** np.linspace(-3, 4, 36))
EXACT = 1e-3


def _compared(name: str, seed: int, sizes: tuple[int, int], Cs: tuple[float, ...]) -> list[Row]:
    """Hold averages of one random part of a set against the exact solutions of that part."""
    X, y, X_test, y_test = random_split(name, seed, *sizes)
    m, gamma = y.size, SETS[name][1]
    rows = make_rows(X, "rbf", gamma=gamma)
    path = regularization_path(make_problem(y, C=1.0), rows, PATH_CS, tol=EXACT)
    norms = np.sqrt(np.einsum("ij,ij->i", path.coefs, path.margins))
    values = RBF(gamma).block(X_test, X)

    def error(coef: np.ndarray) -> float:
        decisions = values @ coef.astype(values.dtype)
        return float(np.mean(np.where(decisions > 0, 1, -1) != y_test))

    errors = [error(coef) for coef in path.coefs]
    found: list[Row] = []
    for C in Cs:
        own = int(np.abs(np.log(np.array(PATH_CS) / C)).argmin())

        def look(run: Any, C: float = C, own: int = own) -> None:
            average = run.evaluate()[1]
            coef = average.coef * y
            cosines = path.margins @ coef / (norms * average.squared_norm**0.5)
            best, T = int(cosines.argmax()), int(run.history[-1].iteration)
            row = {"C": C, "T": T, "lam_T": T / (C * m), "lam_prime_T": T / (PATH_CS[best] * m)}
            row |= {"cosine": float(cosines[best]), "error": error(coef)}
            found.append({**row, "alike_error": errors[best], "exact_error": errors[own]})

        limits: Any = {"n_steps": STEPS[-1], "checkpoints": STEPS}
        pegasos(make_problem(y, C=C), rows, random_state=seed, monitor=look, **limits)
    return [{key: shortened(value, 4) for key, value in row.items()} for row in found]


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
        for key in ("cosine", "lam_prime_T", "error", "alike_error", "exact_error"):
            row |= summary(key, [one[key] for one in own])
        table.append(row)
    return {"seeds": list(range(seeds)), "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say how a number of steps regularises, and what it does to errors."""
    # Where Pegasos has not yet come to its own λ.
    early = [row for row in results["table"] if row["lam_T"] <= 1]
    rates = []
    for own in grouped(early, "data", "C").values():
        T, lam_prime_T = columns(own, "T", "lam_prime_T")
        if len(own) >= 5:
            rates.append(slope(T, lam_prime_T / T))
    apart = [
        max(values) / min(values)
        for own in grouped(early, "data", "T").values()
        for values in [[row["lam_prime_T"] for row in own]]
        if len(own) > 1
    ]
    first, last = ([row["cosine"] for row in early if row["T"] == T] for T in (STEPS[0], STEPS[-1]))
    off = [
        float(np.median([100 * abs(row["error"] - row["alike_error"]) for row in own]))
        for own in grouped(early, "data").values()
    ]
    gained = max(early, key=lambda row: float(row["exact_error"] - row["error"]))
    return [
        Claim(
            "Before λT is of order one, the number of steps regularises and C does not.",
            OURS,
            f"The exact SVM that an early average is most like has a λ′ that falls with T, with "
            f"exponents of {span(rates, exponent)} (median {exponent(np.median(rates))}). At one T "
            f"the λ′ of different C are within {rounded(np.median(apart))} times of each other in "
            f"the median, and within {rounded(max(apart))} times always: that far Pegasos is the "
            "perceptron, which does not know C.",
        ),
        Claim(
            "The average of an unfinished run points towards that SVM, and is not that SVM.",
            OURS,
            f"Their cosine is {span(first)} at {STEPS[0]} steps and {span(last)} at "
            f"{STEPS[-1]:,}. Their test errors differ by {span(off)} points (medians, across "
            f"sets). Most is gained over the exact solution of the same C on "
            f"{SETS[gained['data']][0]} at C = {gained['C']:,g}: {percent(gained['error'])} after "
            f"{gained['T']:,.0f} steps, {percent(gained['exact_error'])} exact.",
        ),
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Cosine above and λ′T below for each set, a line for each C; hollow beyond λT = 1."""
    by_set = grouped(results["table"], "data")
    n_columns = -(-len(by_set) // 2)
    figure, axes = plots.panels(4, n_columns, 9.0, sharex=True, sharey="row")
    pairs = [pair for rows in (axes[:2], axes[2:]) for pair in rows.T]
    for (name, rows), (above, below) in zip(by_set.items(), pairs, strict=True):
        of_C = grouped(rows, "C")
        for (C, own), color in zip(of_C.items(), plots.shades(len(of_C)), strict=True):
            (T, lam_T), lam_prime_T = columns(own, "T", "lam_T"), spread(own, "lam_prime_T")
            plots.band(above, T, spread(own, "cosine"), color=color, label=f"C = {C:,g}")
            below.plot(T, lam_prime_T[1], color=color)
            late = lam_T > 1
            hollow: Any = {"color": color, "markerfacecolor": "white", "markersize": 4}
            below.plot(T[late], lam_prime_T[1][late], "o", **hollow)
        plots.log_x(above, ylim=(0.15, 1.02), title=SETS[name][0])
        plots.log_log(below, ylim=(0.1, 1000))
    for row, label in zip(
        axes, ("cosine with\nthe nearest SVM", "its λ′, times T") * 2, strict=True
    ):
        row[0].set_ylabel(label)
    for ax in axes[-1]:
        ax.set_xlabel(plots.STEPS)
    return plots.state(
        figure,
        "Stopping early is like choosing a larger λ",
        f"Medians and 20–80% of {len(results['seeds'])} seeds. The average of Pegasos after T "
        "steps, held against the exact SVMs of all λ′. Hollow: λT above 1, where Pegasos comes to "
        "its own λ.",
    )
