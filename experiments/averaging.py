"""The last iterate, uniform, suffix and t-weighted average of the same iterates: which wins when.

All four are taken from the same index streams, hence from the same iterates. Shown is their
suboptimality divided by that of the last iterate: below 1 the average wins. Rates in expectation:
(ln T)/T for the uniform average (MPB 2011), 1/T for suffix (Rakhlin, Shamir, Sridharan 2012) and
t-weighted average (Lacoste-Julien, Schmidt, Bach 2012); the papers' algorithm returns the last
iterate, of which they prove nothing.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import JOURNAL, RAKHLIN, Claim, mark, span
from experiments._plots import band, legend_below, log_log
from experiments._settings import bracket, setting
from experiments._tables import percentiles
from kpegasos import make_problem, pegasos

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "100 s"
QUICK_TIME = "10 s"

#: λm of each set: little and much regularisation, where the answer differs.
LAM_MS = {"moons": 0.1, "rcv1": 1.5, "adult": 1.5}
SAMPLINGS = {"uniform": "independent draws", "permutation": "a new permutation each epoch"}
AVERAGES = {"weighted": "t-weighted", "suffix": "suffix", "uniform": "uniform"}
EPOCHS = 100
SEEDS = 20
#: Moments of the table, in epochs; the end of an epoch is the last iterate's best.
MOMENTS = (0.01, 0.1, 0.99, 1.0, 9.5, 10.0, 99.5, 100.0)


def _steps(m: int, epochs: int) -> list[int]:
    """Ten steps a decade, always at the end or in the middle of an epoch from the second on."""
    low = [round(step) for step in 10 ** (np.arange(2, 10 * np.log10(m)) / 10)]
    high = [half * m / 2 for half in np.unique(np.round(2 * 10 ** np.arange(0, 2.01, 0.1)))]
    moments = [moment * m for moment in MOMENTS]
    return sorted({round(s) for s in (*low, *high, *moments) if 1 <= s <= epochs * m})


def _excess(
    name: str, sampling: str, steps: list[int], seeds: int, optimum: float
) -> dict[str, Any]:
    """Suboptimality of each kind of iterate after each number of steps, a row for each seed."""
    _, y, rows = setting(name)
    problem = make_problem(y, LAM_MS[name] / y.size)
    options: dict[str, Any] = {"n_steps": steps[-1], "checkpoints": steps, "sampling": sampling}
    excess = {}
    for average in AVERAGES:
        histories = [
            pegasos(problem, rows, average=average, random_state=seed, **options).history
            for seed in range(seeds)
        ]
        excess[average] = np.array([h["objective_average"] for h in histories]) - optimum
    excess["last"] = np.array([h["objective_last"] for h in histories]) - optimum
    return excess


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run each average on each set with each sampling and every seed."""
    seeds, epochs = (5, 10) if context.quick else (SEEDS, EPOCHS)
    names = list(LAM_MS)[:2] if context.quick else list(LAM_MS)
    optima, curves, table = {}, {}, []
    for name, sampling in context.progress(list(product(names, SAMPLINGS)), "runs"):
        m = setting(name).y.size
        steps = _steps(m, epochs)
        find = partial(bracket, name, LAM_MS[name] / m, 1e-6)
        optima[name] = context.part(f"optimum of {name}", find)
        work = partial(_excess, name, sampling, steps, seeds, optima[name]["f*"])
        found = context.part(f"{name}, {sampling}", work)
        excess = {kind: np.array(values) for kind, values in found.items()}
        curves[f"{name}, {sampling}"] = {
            "epoch": np.array(steps) / m,
            "lam_T": LAM_MS[name] * np.array(steps) / m,
            **{kind: percentiles(excess[kind] / excess["last"]) for kind in AVERAGES},
        }
        for moment in MOMENTS:
            if moment <= epochs:
                at = steps.index(round(moment * m))
                medians = {kind: np.median(values[:, at]) for kind, values in excess.items()}
                best = min(medians, key=lambda kind: float(medians[kind]))
                row = {"data": name, "sampling": sampling, "epochs": moment, "T": steps[at]}
                table.append({**row, **medians, "best": best})
    return {
        "seeds": list(range(seeds)),
        "titles": {name: setting(name).title for name in names},
        "lam_m": LAM_MS,
        "optima": optima,
        "table": table,
        "curves": curves,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """What is claimed of averages, at the last moment of the table."""
    last_moment = max(row["epochs"] for row in results["table"])
    rows = [row for row in results["table"] if row["epochs"] == last_moment]
    gains = {a: [row["last"] / row[a] for row in rows] for a in AVERAGES}
    good = [min(a, b) for a, b in zip(gains["weighted"], gains["suffix"], strict=True)]
    names = [
        f"{results['titles'][row['data']]}, {SAMPLINGS[row['sampling']]}"
        for row, gain in zip(rows, good, strict=True)
        if gain < 1
    ]
    behind = f"; behind on {'; '.join(names)}" if names else ""
    crossings = []
    for curve in results["curves"].values():
        ahead = np.flatnonzero(np.array(curve["weighted"][1], dtype=float) < 1)
        crossings += [curve["lam_T"][first] for first in ahead[:1]]
    turn = f" The t-weighted one is first ahead at λT = {span(crossings)}." if crossings else ""
    uniform = [1 / gain for gain in gains["uniform"]]
    return [
        Claim(
            "Suffix and t-weighted averages beat the last iterate.",
            f"{RAKHLIN}; Lacoste-Julien et al. 2012",
            f"After {last_moment:g} epochs the last iterate is {span(gains['weighted'])} "
            f"(t-weighted) and {span(gains['suffix'])} (suffix) times as far from the "
            f"optimum{behind}.{turn}",
            mark(min(good) > 1, np.median(good) > 1),
            "✓ if both are ahead at the end on every set with both samplings, ~ if on most.",
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


def plot(results: dict[str, Any]) -> Figure:
    """Suboptimality of each average over that of the last iterate; a row for each sampling."""
    import matplotlib.pyplot as plt

    titles = results["titles"]
    figure, axes = plt.subplots(
        2, len(titles), figsize=(9, 7), sharex=True, sharey=True, squeeze=False
    )
    for (name, title), column in zip(titles.items(), axes.T, strict=True):
        for ax, (sampling, words) in zip(column, SAMPLINGS.items(), strict=True):
            curve = results["curves"][f"{name}, {sampling}"]
            for i, (kind, label) in enumerate(AVERAGES.items()):
                band(ax, curve["epoch"], curve[kind], color=f"C{i}", label=f"{label} average")
            ax.axhline(1, color="black", linewidth=1, label="last iterate")
            at = 1 / results["lam_m"][name]
            ax.axvline(at, color="black", linewidth=1, ls=":", label="T = 1/λ")
            log_log(ax, ylim=(0.03, 30))
            if ax in axes[:, 0]:
                ax.set_ylabel(f"{words}\nf − f*, ratio to last iterate")
        column[0].set_title(f"{title}\nλm = {results['lam_m'][name]:g}", fontsize=11)
        column[1].set_xlabel("passes over the data, T/m")
    legend_below(figure, axes[0, 0], ncols=3)
    figure.suptitle(
        f"Averages of the same iterates; below 1 they beat the last one "
        f"(median, 20–80% of {len(results['seeds'])} runs)",
        fontsize=12,
    )
    return figure
