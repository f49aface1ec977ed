"""Step sizes: 1/(λt) against c/√t, tuned and mistuned, and 2/(λ(t+1)), over four decades of λ.

The paper's abstract sets Õ(1/ε) steps of 1/(λt) against Ω(1/ε²) of earlier analyses, whose steps
are c/√t. Each rule runs on the same index streams; the model is the t-weighted average. Slope is
the exponent of T in the suboptimality over the last decade of steps, −1 for 1/T and −½ for 1/√T.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import bracket, histories, setting
from experiments._results import (
    ICML,
    Claim,
    columns,
    exponent,
    mark,
    percentiles,
    rounded,
    select,
    slope,
    span,
)
from experiments._run import Context
from kpegasos import DelayedInverse, InverseSquareRoot, make_problem

LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4)
#: Factors of the c of least suboptimality at the end, among powers of √10.
MISTUNED = {"tuned c/√t": 1.0, "c ten times too large": 10.0, "c a tenth": 0.1}
OWN, LATER = "1/(λt)", "2/(λ(t+1))"
SEEDS, STEPS = 20, 100_000
#: Powers of √10 between which c is tuned, by the first seeds.
TUNING, TUNED_BY = np.sqrt(10.0) ** np.arange(-4, 11), 3


def _excess(lam: float, rule: Any, n_steps: int, seeds: int, optimum: float) -> dict[str, Any]:
    """Suboptimality of the average after each checkpoint, a row for each seed."""
    _, y, rows = setting("moons")
    options: Any = {"step": rule, "n_steps": n_steps, "checkpoints": "log"}
    found = histories(make_problem(y, lam), rows, seeds, **options)
    return {"steps": found["steps"], "excess": found["average"] - optimum}


def _tuned(lam: float, n_steps: int, optimum: float) -> float:
    """The c whose runs end nearest to the optimum."""
    ends = []
    for c in TUNING:
        found = _excess(lam, InverseSquareRoot(c), n_steps, TUNED_BY, optimum)
        ends.append(np.median(found["excess"][:, -1]))
    return float(TUNING[int(np.argmin(ends))])


def compute(context: Context) -> dict[str, Any]:
    """Run all rules with each λ and every seed."""
    seeds, n_steps = (3, 3000) if context.quick else (SEEDS, STEPS)
    table, curves, tuned = [], {}, {}
    for lam, name in product(LAMBDAS, (OWN, LATER, *MISTUNED)):
        optimum = context.part(f"optimum {lam:g}", bracket, "moons", lam, 1e-8, 50_000)["f*"]
        rule: Any = DelayedInverse() if name == LATER else None
        if name in MISTUNED:
            c = context.part(f"tuned {lam:g}", _tuned, lam, n_steps, optimum)
            tuned[f"{lam:g}"], rule = c, InverseSquareRoot(c * MISTUNED[name])
        where = (lam, rule, n_steps, seeds, optimum)
        found = context.part(f"{lam:g}, {name}", _excess, *where)
        steps, excess = np.array(found["steps"]), np.array(found["excess"])
        late = steps >= steps[-1] / 10
        rate = float(np.median([slope(steps[late], row[late]) for row in excess]))
        end = float(np.median(excess[:, -1]))
        table.append({"lam": lam, "rule": name, "slope": rate, "suboptimality": end})
        curves[f"{lam:g}, {name}"] = {"steps": steps, "excess": percentiles(excess)}
    return {"seeds": list(range(seeds)), "tuned": tuned, "table": table, "curves": curves}


def claims(results: dict[str, Any]) -> list[Claim]:
    """The contrast of the paper's abstract."""
    rates, ends = {}, {}
    for rule in (OWN, *MISTUNED):
        own = select(results["table"], rule=rule)
        rates[rule], ends[rule] = columns(own, "slope", "suboptimality")
    best, *wrong = MISTUNED
    worst = max((ends[rule] / ends[OWN]).max() for rule in wrong)
    return [
        Claim(
            "Steps of 1/(λt) need Õ(1/ε) iterations, fewer than those of earlier analyses.",
            ICML,
            "Exponent of T in the suboptimality on two moons with 1/(λt): "
            f"{span(rates[OWN], exponent)} for λ from {LAMBDAS[-1]:g} to {LAMBDAS[0]:g}. The best "
            f"c/√t has exponents of {span(rates[best], exponent)} and ends "
            f"{span(ends[best] / ends[OWN])} times as far from the optimum. With c wrong by a "
            f"factor of ten it ends up to {rounded(worst)} times as far.",
            mark(
                max(rates[OWN]) <= -0.9 and bool((rates[OWN] < rates[best]).all()),
                max(rates[OWN]) <= -0.9,
            ),
            "✓ if for every λ the exponent of 1/(λt) is −0.9 or less, and less than that of the "
            "best c/√t; ~ if only the first holds.",
        )
    ]


#: Colour and line of each rule.
LOOKS = {
    OWN: (plots.BLUE, "-"),
    LATER: (plots.SKY, "--"),
    "tuned c/√t": (plots.BLACK, "-"),
    "c ten times too large": (plots.VERMILION, "-"),
    "c a tenth": (plots.GREEN, "-."),
}


def plot(results: dict[str, Any]) -> plots.Figure:
    """Suboptimality against steps, a panel for each λ."""
    figure, axes = plots.panels(2, 2, 6.6, sharex=True, sharey=True)
    for (lam, c), ax in zip(results["tuned"].items(), axes.flat, strict=True):
        for rule, (color, line) in LOOKS.items():
            curve = results["curves"][f"{lam}, {rule}"]
            style: Any = {"color": color, "linestyle": line, "label": rule}
            plots.band(ax, curve["steps"], curve["excess"], **style)
        plots.log_log(ax, title=f"λ = {lam}, tuned c = {c:.3g}")
    plots.outer_labels(axes, plots.STEPS, plots.EXCESS)
    return plots.state(
        figure,
        "The step of Pegasos needs no tuning",
        "Two moons, RBF kernel, t-weighted average on the same draws; c/√t is the best of "
        f"{len(TUNING)}; median and 20–80% of {len(results['seeds'])} runs.",
    )
