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
from experiments._claims import JOURNAL, RAKHLIN, Claim, mark, span
from experiments._run import ExperimentContext
from experiments._runs import bracket, histories, setting
from experiments._tables import percentiles, select
from kpegasos import make_problem

FULL_TIME = "5 min"
QUICK_TIME = "10 s"

#: λm of each set: little and much regularisation, where the answer differs.
LAM_MS = {"moons": 0.1, "rcv1": 1.5, "adult": 1.5}
SAMPLINGS = {"uniform": "independent draws", "permutation": "a new permutation each epoch"}
AVERAGES = {"weighted": "t-weighted", "suffix": "suffix", "uniform": "uniform"}
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


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run each average on each set with each sampling and every seed."""
    seeds, epochs = (5, 10) if context.quick else (SEEDS, EPOCHS)
    names = list(LAM_MS)[:2] if context.quick else list(LAM_MS)
    optima, curves, table = {}, {}, []
    for name, sampling in context.progress(product(names, SAMPLINGS), "runs"):
        m = setting(name).y.size
        steps = _steps(m, epochs)
        optima[name] = context.part(f"optimum of {name}", bracket, name, LAM_MS[name] / m, 1e-6)
        where = (name, sampling, steps, seeds, optima[name]["f*"])
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
        "lam_m": LAM_MS,
        "optima": optima,
        "table": table,
        "curves": curves,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims on averages, at the last checkpoint of the table."""
    last_moment = max(row["epochs"] for row in results["table"])
    rows = select(results["table"], epochs=last_moment)
    gains = {a: [row["last"] / row[a] for row in rows] for a in AVERAGES}
    good = [min(a, b) for a, b in zip(gains["weighted"], gains["suffix"], strict=True)]
    names = [
        f"{results['titles'][row['data']]}, {SAMPLINGS[row['sampling']]}"
        for row, gain in zip(rows, good, strict=True)
        if gain < 1
    ]
    behind = f" One of them is behind on {'; '.join(names)}." if names else ""
    crossings = [_crossing(curve, "weighted") for curve in results["curves"].values()]
    stays = [lam_T for lam_T in crossings if lam_T is not None]
    turn = f" The t-weighted average stays ahead from λT = {span(stays)} on." if stays else ""
    uniform = [1 / gain for gain in gains["uniform"]]
    return [
        Claim(
            "Suffix and t-weighted averages beat the last iterate.",
            f"{RAKHLIN}; Lacoste-Julien et al. 2012",
            f"After {last_moment:g} epochs the last iterate is {span(gains['weighted'])} times as "
            f"far from the optimum as the t-weighted average, and {span(gains['suffix'])} times as "
            f"far as the suffix average.{behind}{turn}",
            mark(min(good) > 1, np.median(good) > 1),
            "✓ if both are ahead at the end for every set and sampling, ~ if for most.",
        ),
        Claim(
            "The average of all iterates is a good model.",
            JOURNAL,
            f"After {last_moment:g} epochs it is {span(uniform)} times as far from the optimum as "
            f"the last iterate, and ahead of it in {sum(u < 1 for u in uniform)} of "
            f"{len(uniform)} cases.",
            mark(max(uniform) < 1, min(uniform) < 1),
            "✓ if it is ahead of the last iterate everywhere, ~ if somewhere.",
        ),
    ]


def _crossing(curve: dict[str, Any], kind: str) -> float | None:
    """λT at which an average begins to be better than the last iterate, to stay so to the end."""
    worse = np.flatnonzero(np.array(curve[kind])[1] >= 1)
    lam_T = np.array(curve["lam_T"])
    if worse.size and worse[-1] == lam_T.size - 1:
        return None
    return float(lam_T[worse[-1] + 1] if worse.size else lam_T[0])


def plot(results: dict[str, Any]) -> plots.Figure:
    """Suboptimality of each average over that of the last iterate; a row for each sampling."""
    titles = results["titles"]
    figure, axes = plots.panels(2, len(titles), 6.6, sharex=True, sharey=True)
    crossings = []
    for (name, title), column in zip(titles.items(), axes.T, strict=True):
        for ax, (sampling, sampling_name) in zip(column, SAMPLINGS.items(), strict=True):
            curve = results["curves"][f"{name}, {sampling}"]
            for kind in AVERAGES:
                style = plots.METHODS[kind]
                label = style.name if ax in axes[:, -1] else None
                options = style.line_options(linewidth=1.8, label=label)
                plots.band(ax, curve["lam_T"], curve[kind], **options)
            crossings.append(_crossing(curve, "weighted"))
            ax.axhline(1, color=plots.BLACK, linewidth=1)
            ax.axhspan(1e-9, 1, color="#F0F4F8", zorder=0)
            ax.axvline(1, color=plots.BLACK, linewidth=1, linestyle=":")
            plots.log_log(ax, ylim=(0.03, 30))
            if ax in axes[:, 0]:
                ax.set_ylabel(f"{sampling_name}\nf − f*, over the last iterate's", fontsize=10)
        column[0].set_title(f"{title}\nλm = {results['lam_m'][name]:g}", fontsize=10.5)
        column[1].set_xlabel(plots.WORDS["lam_T"])
    known = [at for at in crossings if at is not None]
    never = len(crossings) - len(known)
    span = f"from λT = {min(known):.2g} to {max(known):.2g} on" if known else "nowhere"
    return plots.state(
        figure,
        f"The t-weighted average beats the last iterate {'late' if known else 'nowhere'}: {span}"
        + (f", and not at all in {never} of {len(crossings)} panels" if never else ""),
        f"Shaded: the average wins; dotted: λT = 1. All are averages of the same iterates; median "
        f"and 20–80% of {len(results['seeds'])} runs.",
    )
