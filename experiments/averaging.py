"""The last iterate, uniform, suffix and t-weighted average of the same iterates: which wins when.

All four are taken from the same index streams, hence from the same iterates. Shown is their
suboptimality divided by that of the last iterate: below 1 the average wins. Rates in expectation:
(ln T)/T for the uniform average (MPB 2011), 1/T for suffix (Rakhlin, Shamir, Sridharan 2012) and
t-weighted average (Lacoste-Julien, Schmidt, Bach 2012); the papers' algorithm returns the last
iterate, of which they prove nothing.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._data import bracket, histories, setting
from experiments._results import LACOSTE, RAKHLIN, Claim, mark, percentiles, span
from experiments._run import Context
from kpegasos import make_problem

#: λm of each set: little and much regularisation, where the answer differs.
LAM_MS = {"moons": 0.1, "rcv1": 1.5, "adult": 1.5}
SAMPLINGS = {"uniform": "independent draws", "permutation": "permutations"}
AVERAGES = ("weighted", "suffix", "uniform")
EPOCHS = 100
SEEDS = 20


def _steps(m: int, epochs: int) -> list[int]:
    """Ten steps a decade, always at the end or in the middle of an epoch from the second on."""
    low = [round(step) for step in 10 ** (np.arange(2, 10 * np.log10(m)) / 10)]
    high = [half * m / 2 for half in np.unique(np.round(2 * 10 ** np.arange(0, 2.01, 0.1)))]
    return sorted({round(s) for s in (*low, *high) if 1 <= s <= epochs * m})


def _excess(
    name: str, sampling: str, steps: list[int], seeds: int, optimum: float
) -> dict[str, Any]:
    """Suboptimality of each kind of iterate after each number of steps, a row for each seed."""
    _, y, rows = setting(name)
    problem = make_problem(y, LAM_MS[name] / y.size)
    options: Any = {"n_steps": steps[-1], "checkpoints": steps, "sampling": sampling}
    excess = {}
    for average in AVERAGES:
        found = histories(problem, rows, seeds, average=average, **options)
        excess[average] = found["average"] - optimum
    return {**excess, "last": found["last"] - optimum}


def compute(context: Context) -> dict[str, Any]:
    """Run each average on each set with each sampling and every seed."""
    seeds, epochs = (5, 10) if context.quick else (SEEDS, EPOCHS)
    names = list(LAM_MS)[:2] if context.quick else list(LAM_MS)
    curves, table = {}, []
    for name, sampling in product(names, SAMPLINGS):
        m = setting(name).y.size
        steps = _steps(m, epochs)
        optimum = context.part(f"optimum of {name}", bracket, name, LAM_MS[name] / m, 1e-6)["f*"]
        where = (name, sampling, steps, seeds, optimum)
        found = context.part(f"{name}, {sampling}", _excess, *where)
        excess = {kind: np.array(values) for kind, values in found.items()}
        curves[f"{name}, {sampling}"] = {
            "lam_T": LAM_MS[name] * np.array(steps) / m,
            **{kind: percentiles(excess[kind] / excess["last"]) for kind in AVERAGES},
        }
        ends = {kind: np.median(values[:, -1]) for kind, values in excess.items()}
        table.append({"data": name, "sampling": sampling, "epochs": epochs, **ends})
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in names},
        "table": table,
        "curves": curves,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims on averages, at the last checkpoint."""
    table = results["table"]
    last, uniform = (
        {kind: [row[base] / row[kind] for row in table] for kind in ("suffix", "weighted")}
        for base in ("last", "uniform")
    )
    ahead = np.min([*uniform.values()], axis=0)
    crossings = span(filter(None, map(_crossing, results["curves"].values())))
    return [
        Claim(
            "Suffix and t-weighted averages beat the average of all iterates.",
            f"{RAKHLIN}, {LACOSTE}",
            f"After {table[0]['epochs']} epochs it is {span(uniform['suffix'])} times as far from "
            f"the optimum as the suffix average and {span(uniform['weighted'])} times as far as "
            f"the t-weighted one; the last iterate is {span(last['suffix'])} and "
            f"{span(last['weighted'])} times as far. The t-weighted average stays ahead of the "
            f"last iterate from λT = {crossings} on.",
            mark(ahead.min() > 1, bool(np.median(ahead) > 1)),
            "✓ if both are ahead at the end for every set and sampling, ~ if for most.",
        )
    ]


def _crossing(curve: dict[str, Any]) -> float | None:
    """λT from which on the t-weighted average is better than the last iterate, to the end."""
    worse = np.flatnonzero(np.array(curve["weighted"])[1] >= 1)
    later = curve["lam_T"][worse[-1] + 1 :] if worse.size else curve["lam_T"]
    return float(later[0]) if len(later) else None


def plot(results: dict[str, Any]) -> plots.Figure:
    """Suboptimality of each average over that of the last iterate; a row for each sampling."""
    titles = results["titles"]
    figure, axes = plots.panels(2, len(titles), 6.2, sharex=True, sharey=True)
    for (name, title), column in zip(titles.items(), axes.T, strict=True):
        for ax, (sampling, words) in zip(column, SAMPLINGS.items(), strict=True):
            curve = results["curves"][f"{name}, {sampling}"]
            for kind in AVERAGES:
                style = plots.METHODS[kind].style(marker="", linewidth=1.8)
                plots.band(ax, curve["lam_T"], curve[kind], **style)
            ax.axhspan(1e-9, 1, color="#F0F4F8", zorder=0)
            ax.axvline(1, color=plots.BLACK, linewidth=1, linestyle=":")
            plots.log_log(ax, ylim=(0.03, 30))
            ax.set_title(f"{title}, λm = {LAM_MS[name]:g}\n{words}", fontsize=9.5)
    plots.outer_labels(axes, plots.LAM_T, "f − f*, over the last iterate's")
    return plots.state(
        figure,
        "Averages beat the last iterate late, if at all",
        f"Shaded: the average wins; dotted: λT = 1. All are averages of the same iterates; median "
        f"and 20–80% of {len(results['seeds'])} runs.",
    )
