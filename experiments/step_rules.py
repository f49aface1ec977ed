"""Step sizes: 1/(λt) against c/√t, tuned and mistuned, and 2/(λ(t+1)), over four decades of λ.

The paper's abstract sets Õ(1/ε) steps of 1/(λt) against Ω(1/ε²) of earlier analyses, whose steps
are c/√t. Each rule runs on the same index streams; the model is the t-weighted average. Slope is
the exponent of T in the suboptimality over the last decade of steps, −1 for 1/T and −½ for 1/√T;
constant is λT times the suboptimality at the end.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import ICML, Claim, exponent, mark, rounded, slope, span
from experiments._run import ExperimentContext
from experiments._runs import bracket, histories, setting
from experiments._tables import percentiles, select
from kpegasos import DelayedInverse, InverseSquareRoot, make_problem

FULL_TIME = "2 min"
QUICK_TIME = "10 s"

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


def _summary(lam: float, name: str, steps: np.ndarray, excess: np.ndarray) -> dict[str, Any]:
    """Slope over the last decade and constant at the end, medians over the seeds."""
    late = steps >= steps[-1] / 10
    slopes = [slope(steps[late], row[late]) for row in excess]
    ends = lam * steps[-1] * excess[:, -1]
    return {
        "lam": lam,
        "rule": name,
        "T": int(steps[-1]),
        "slope": float(np.median(slopes)),
        "suboptimality": float(np.median(excess[:, -1])),
        "constant": float(np.median(ends)),
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run all rules with each λ and every seed."""
    seeds, n_steps = (3, 3000) if context.quick else (SEEDS, STEPS)
    lambdas = LAMBDAS[1:3] if context.quick else LAMBDAS
    table, curves, tuned, optima = [], {}, {}, {}
    names = (OWN, LATER, *MISTUNED)
    for lam in lambdas:
        found = context.part(f"optimum {lam:g}", bracket, "moons", lam, 1e-8, 50_000)
        optima[f"{lam:g}"], least = found, found["f*"]
        tuned[f"{lam:g}"] = context.part(f"tuned {lam:g}", _tuned, lam, n_steps, least)
    for lam, name in context.progress(product(lambdas, names), "runs"):
        rule: Any = DelayedInverse() if name == LATER else None
        if name in MISTUNED:
            rule = InverseSquareRoot(tuned[f"{lam:g}"] * MISTUNED[name])
        where = (lam, rule, n_steps, seeds, optima[f"{lam:g}"]["f*"])
        found = context.part(f"{lam:g}, {name}", _excess, *where)
        steps, excess = np.array(found["steps"]), np.array(found["excess"])
        table.append(_summary(lam, name, steps, excess))
        curves[f"{lam:g}, {name}"] = {"steps": steps, "excess": percentiles(excess)}
    return {
        "seeds": list(range(seeds)),
        "lambdas": list(lambdas),
        "rules": list(names),
        "tuned": tuned,
        "optima": optima,
        "table": table,
        "curves": curves,
    }


def _told_ratios(table: list[dict[str, Any]], rules: list[str]) -> list[float]:
    """Divide the suboptimality of some rules by that of 1/(λt), over all λ."""
    own = {row["lam"]: row["suboptimality"] for row in table if row["rule"] == OWN}
    return [row["suboptimality"] / own[row["lam"]] for row in table if row["rule"] in rules]


def claims(results: dict[str, Any]) -> list[Claim]:
    """The contrast of the paper's abstract."""
    own, tuned = (
        {row["lam"]: row for row in select(results["table"], rule=rule)}
        for rule in (OWN, next(iter(MISTUNED)))
    )
    best, *others = MISTUNED
    ratios, wrong = (_told_ratios(results["table"], rules) for rules in ([best], others))
    rates = [row["slope"] for row in own.values()]
    slower = [row["slope"] for row in tuned.values()]
    return [
        Claim(
            "Steps of 1/(λt) need Õ(1/ε) iterations where earlier analyses need Ω(1/ε²).",
            ICML,
            f"Exponent of T in the suboptimality with 1/(λt): {span(rates, exponent)}. λT times "
            f"the suboptimality is {span([row['constant'] for row in own.values()])} for every λ. "
            f"The best c/√t has exponents of {span(slower, exponent)} and ends {span(ratios)} "
            "times as far from the optimum. With c wrong by a factor of ten it ends up to "
            f"{rounded(max(wrong))} times as far.",
            mark(max(rates) <= -0.9 and min(slower) > -0.75, max(rates) <= -0.9),
            "✓ if 1/(λt) has an exponent of at most −0.9 for every λ and the best c/√t one above "
            "−0.75, as its analysis has −0.5; ~ if only the first holds.",
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
    lambdas = results["lambdas"]
    n_rows = -(-len(lambdas) // 2)
    figure, axes = plots.panels(n_rows, 2, 2.9 * n_rows + 1.2, sharex=True, sharey=True)
    for lam, ax in zip(lambdas, axes.flat, strict=True):
        for rule in results["rules"]:
            curve, (color, line) = results["curves"][f"{lam:g}, {rule}"], LOOKS[rule]
            style: Any = {"color": color, "linestyle": line, "label": rule}
            plots.band(ax, curve["steps"], curve["excess"], **style)
        tuned = results["tuned"][f"{lam:g}"]
        plots.log_log(ax, title=f"λ = {lam:g}, tuned c = {tuned:.3g}")
    plots.outer_labels(axes, plots.WORDS["steps"], plots.WORDS["suboptimality"])
    best, *others = MISTUNED
    tuned, wrong = (_told_ratios(results["table"], rules) for rules in ([best], others))
    claim = "needs no tuning" if min(tuned) > 1 else "is not always best"
    return plots.state(
        figure,
        f"The step of Pegasos {claim}: the best c/√t of {len(TUNING)} ends "
        f"{plots.times(min(tuned))} to {plots.times(max(tuned))} times as far from "
        "the optimum, a c wrong by ten up to "
        f"{plots.times(float(f'{max(wrong):.2g}'))} times",
        "Two moons, RBF kernel, t-weighted average on the same draws; median and 20–80% of "
        f"{len(results['seeds'])} runs.",
    )
