"""Where the bound of the averaged iterate loses: each inequality of its proof, measured.

The proof of MPB 2011, Theorem 1, goes from the bound to the suboptimality of the uniform average in
four steps. Each is replaced here by what it estimates, on three sets and for two values of λ.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._results import (
    OURS,
    Claim,
    Row,
    grouped,
    listed,
    rounded,
    select,
    shortened,
    span,
)
from experiments._run import Context
from experiments.certified_predictions import SETS, random_split
from kpegasos import RBF, make_problem, make_rows, sdca, theory
from kpegasos.reference import index_stream, kernel_iterates

NAMES, LAMS = ("moons", "usps", "adult"), (1e-2, 1e-3)
SEEDS, EXAMPLES, T = 10, 500, 10_000
#: What stands at each place of the chain, from the bound down.
CHAIN = {
    "bound": "G²(1 + ln T)/(2λT)",
    "gradients": "measured ‖∇‖² for G²",
    "distance": "… less λ/2 ‖w − w*‖² at the end",
    "regret": "measured regret",
    "average": "f(w̄) − f*",
}
#: The inequality that is given up at a place.
INEQUALITIES = {
    "gradients": "‖∇‖ ≤ G",
    "distance": "the last distance dropped",
    "regret": "losses above their tangents",
    "average": "convexity of f (Jensen)",
}


def _chain(name: str, lam: float, seed: int, n_samples: int, n_steps: int) -> Row:
    """Return the values of the chain for one run."""
    X, y, *_ = random_split(name, seed, n_samples, 0)
    X = X.astype(float)
    K = RBF(SETS[name][1]).block(X, X)
    best = sdca(
        make_problem(y, lam=lam), make_rows(K, "precomputed"), tol=1e-8, max_epochs=5000,
        random_state=0,
    )  # fmt: skip
    draws = index_stream(y.size, n_steps, "uniform", seed)
    # w_1 = 0, …, w_{T+1}, by their coefficients with labels, and what they decide.
    coef = [np.zeros(y.size), *(step.last for step in kernel_iterates(K, y, lam, draws))]
    W = np.array(coef) * y
    decisions = W @ K
    norms = np.einsum("ti,ti->t", W, decisions)
    margins = y * decisions
    own = margins[np.arange(n_steps), draws]
    violates = own < 1
    gradients = lam**2 * norms[:-1] - violates * (2 * lam * own - K[draws, draws])
    losses = lam / 2 * norms[:-1] + np.maximum(0, 1 - own)
    rival = lam / 2 * float(best.coef @ K @ best.coef)
    rival_losses = rival + np.maximum(0, 1 - y * (K @ best.coef))
    away = W[-1] - best.coef
    t = np.arange(1, n_steps + 1)
    size = float(np.sum(gradients / (2 * lam * t))) / n_steps
    mean = W[:-1].mean(axis=0)
    at_mean = mean @ K
    objective = lam / 2 * mean @ at_mean + np.maximum(0, 1 - y * at_mean).mean()
    return {
        "bound": theory.average_iterate_bound(n_steps, lam=lam, radius=1.0),
        "gradients": size,
        "distance": size - lam / 2 * float(away @ K @ away),
        "regret": float(np.mean(losses - rival_losses[draws])),
        "average": float(objective) - best.dual_bound,
    }


def compute(context: Context) -> dict[str, Any]:
    """Measure the chain on each set, for each λ, as means over seeds."""
    seeds, n, n_steps = (2, 200, 1000) if context.quick else (SEEDS, EXAMPLES, T)
    names = NAMES[:1] if context.quick else NAMES
    table = []
    for name, lam in product(names, LAMS):
        runs = [
            context.part(f"{name}, {lam}, seed {seed}", _chain, name, lam, seed, n, n_steps)
            for seed in range(seeds)
        ]
        means = {key: shortened(float(np.mean([run[key] for run in runs])), 4) for key in CHAIN}
        table.append({"data": name, "lam": lam, **means})
    return {"seeds": list(range(seeds)), "examples": n, "T": n_steps, "table": table}


def _factors(row: Row) -> dict[str, float]:
    """Return how many times each step of the chain loses, by the place that it leads to."""
    places = list(CHAIN)
    return {below: row[above] / row[below] for above, below in pairwise(places)}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say which inequality loses how much."""
    factors = [_factors(row) for row in results["table"]]
    medians = {key: float(np.median([own[key] for own in factors])) for key in factors[0]}
    first, second, *_ = sorted(medians, key=lambda key: -medians[key])
    ranges = listed(
        f"{INEQUALITIES[key]}: {span([own[key] for own in factors])}" for key in medians
    )
    loose = [row["bound"] / row["average"] for row in results["table"]]
    return [
        Claim(
            f"On three sets the bound of the average is {span(loose)} times what is measured after "
            f"{results['T']:,} steps, and two inequalities lose nearly all of it: "
            f"{INEQUALITIES[first]} and {INEQUALITIES[second]}.",
            OURS,
            f"Factors over sets and λ = {listed(f'{lam:g}' for lam in LAMS)}. {ranges}.",
        )
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """A line for each set and λ, from the bound to what is measured, with a dot after each step."""
    figure, axes = plots.panels(1, len(LAMS), 4.2, sharex=True, sharey=True)
    by_set = grouped(results["table"], "data")
    for ax, lam in zip(axes[0], LAMS, strict=True):
        for (name, _), color in zip(by_set.items(), plots.PALETTE, strict=False):
            (row,) = select(results["table"], data=name, lam=lam)
            values = [row[key] for key in CHAIN]
            ax.plot(values, range(len(values)), "o-", color=color, label=SETS[name][0])
            for height, (key, factor) in enumerate(_factors(row).items()):
                if name == next(iter(by_set)):
                    right = max(other[key] for other in select(results["table"], lam=lam))
                    at, text = (2 * right, height + 0.65), f"÷ {rounded(factor)}"
                    plots.beside(ax, text, at, (0, 0), color=color, fontsize=9)
        plots.rows_down(ax, list(CHAIN.values()), fontsize=9)
        plots.log_x(ax, xlabel=plots.EXCESS, title=f"λ = {lam:g}")
    return plots.state(
        figure,
        "Where the bound of the average loses",
        f"From the bound down to the suboptimality of the uniform average after {results['T']:,} "
        f"steps, one inequality of the proof after the other; m = {results['examples']:,}, RBF "
        f"kernel, means of {len(results['seeds'])} runs. Numbers: factors on {SETS[NAMES[0]][0]}.",
    )
