"""Does the certified gap know the test error: when each settles, and rules for when to stop.

Pegasos runs on random parts of six sets, and at each checkpoint three things are looked at: the
certified relative gap, which every run has; the true suboptimality and the test error, which only
this experiment knows. The error counts as final from where it stays within one standard error (of
the test set) of the error of the exact solution, or below. A rule to stop is chosen on all sets but
one, so as to end nine runs of ten well, and judged on the one left out.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._gap_runs import NEAR, TITLES, Draw, exact_models, pegasos_run, polished, settled
from experiments._tables import percentiles, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "3 min"
QUICK_TIME = "10 s"

CS = (1.0, 10.0, 100.0)
SEEDS, EXAMPLES, TESTED = 10, 2000, 5000
#: Epochs at which runs are looked at, and the last for each C: what a larger C needs is longer.
EPOCHS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)
LAST = {1.0: 50, 10.0: 150, 100.0: 300}
#: Relative gaps at which `polish=True` stops; the second is what it does unless told.
TOLS = (0.2, 0.01)


def _runs(name: str, seed: int, sizes: tuple[int, int], Cs: tuple[float, ...]) -> dict[str, Any]:
    """All that is measured on one random part of a set."""
    draw = Draw(name, seed, *sizes)
    runs = []
    for C, exact in zip(Cs, exact_models(draw, Cs), strict=True):
        epochs = [float(epoch) for epoch in EPOCHS if epoch <= LAST[C]]
        run = pegasos_run(draw, C, epochs, exact)
        polishes = {f"{tol:g}": polished(draw, C, tol, exact) for tol in TOLS}
        runs.append({"data": name, "C": C, "seed": seed, **run, "polished": polishes})
    return {"runs": runs}


def _full(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs with the epochs of their checkpoints."""
    return [{**run, "epochs": list(EPOCHS[: len(run["gap"])])} for run in runs]


def _settling(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """When the error of each set and C is final: medians of epochs, gap, and what the gap hides."""
    rows = []
    for name, C in dict.fromkeys((run["data"], run["C"]) for run in runs):
        row: dict[str, Any] = {"data": name, "C": C}
        own = select(runs, data=name, C=C)
        ends = [settled(run["excess"]) for run in own]
        row["test_error"] = float(np.median([run["error"] for run in own]))
        row["standard_error"] = float(np.median([run["deviation"] for run in own]))
        row["never_final"] = sum(end is None for end in ends)
        known = [-1 if end is None else end for end in ends]
        for key in ("epochs", "gap", "ratio", "values"):
            found = [run[key][end] for run, end in zip(own, known, strict=True)]
            low, median, high = percentiles(found)
            row |= {key: median, f"{key}_20": low, f"{key}_80": high}
        rows.append(row)
    return rows


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run Pegasos on every set with every seed and C."""
    seeds, sizes = (2, (400, 2000)) if context.quick else (SEEDS, (EXAMPLES, TESTED))
    names = ["moons", "usps", "adult"] if context.quick else list(TITLES)
    Cs = CS[:2] if context.quick else CS
    runs: list[dict[str, Any]] = []
    for name, seed in context.progress(list(product(names, range(seeds))), "sets and seeds"):
        work = partial(_runs, name, seed, sizes, Cs)
        runs += context.part(f"{name}, seed {seed}", work)["runs"]
    return {
        "seeds": list(range(seeds)),
        "sizes": list(sizes),
        "Cs": list(Cs),
        "epochs": list(EPOCHS),
        "titles": {name: TITLES[name] for name in names},
        "table": _settling(_full(runs)),
        "runs": runs,
    }


def _told_signed(points: float) -> str:
    """Write points of error with their sign."""
    return f"{points:+.2f}".replace("-", "−")


def _told_limits(results: dict[str, Any]) -> str:
    """Say at which relative gaps the error is final, by C."""
    from experiments._gap_rules import written

    parts = []
    for C in results["Cs"]:
        gaps = [row["gap"] for row in select(results["table"], C=C)]
        parts.append(f"{span(gaps, written)} at C = {C:g}")
    return listed(parts)


def _told_polish(results: dict[str, Any]) -> Claim:
    """What it saves to stop `polish=True` early."""
    early, late = (
        {
            key: np.array([run["polished"][f"{tol:g}"][key] for run in results["runs"]])
            for key in ("excess", "values")
        }
        for tol in TOLS
    )
    deviations = 100 * np.array([run["deviation"] for run in results["runs"]])
    saved = 1 - float(np.median(early["values"] / late["values"]))
    points = float(np.mean((early["excess"] - late["excess"]) * deviations))
    Cs = np.array([run["C"] for run in results["runs"]])
    well = listed(
        f"{percent(float(np.mean(early['excess'][Cs == C] <= NEAR)), 0)} at C = {C:g}"
        for C in np.unique(Cs)
    )
    by_then = [
        run["values"][at] / run["values"][-1]
        for run in results["runs"]
        if (at := settled(run["excess"])) is not None
    ]
    return Claim(
        f"A larger gap saves {'few' if saved < 0.25 else 'many'} kernel values.",
        OURS,
        f"With `polish=True` a gap of {percent(TOLS[0], 0)} instead of {percent(TOLS[1], 0)} takes "
        f"{percent(saved, 0)} fewer kernel values (median). It changes the test error by "
        f"{_told_signed(points)} points in the mean, and the error is final in this share of the "
        f"runs: {well}. Pegasos by itself has computed {percent(float(np.median(by_then)), 0)} of "
        "the kernel values of its whole run when its error is final (median), as rows are kept.",
    )


def _told_tightness(results: dict[str, Any]) -> Claim:
    """How much of the gap is true suboptimality where the error is final."""
    table, large = results["table"], max(results["Cs"])
    ratios = {C: [row["ratio"] for row in select(table, C=C)] for C in results["Cs"]}
    tight = max(ratios[large]) <= 2
    told = (f"{span(found)} at C = {C:g}" for C, found in ratios.items())
    return Claim(
        "Where the error is final at a large gap, the model is indeed far from the optimum."
        if tight
        else "Where the error is final, the gap is mostly a loose bound.",
        OURS,
        f"The gap is then this many times the true suboptimality: {listed(told)}.",
    )


def _told_rules(runs: list[dict[str, Any]]) -> Claim:
    """What it is worth to learn a limit from other sets."""
    from experiments._gap_rules import RELIABLE, RULES, beats_epochs, limits_of, verdicts

    found = verdicts(runs)
    parts = [
        f"{rule.name} {percent(own.final, 0)} ({percent(own.worst, 0)} on the worst set, "
        f"{rounded(own.over_needed)} times the epochs needed)"
        for rule in RULES
        if rule.fixed is None
        for own in [found[rule.key]]
    ]
    limits = listed(f"{gap:g} for C = {C:g}" for C, gap in limits_of(runs, "gap of C").items())
    costs = span([own.points for own in found.values()], _told_signed)
    better = "stops sooner than" if beats_epochs(found) else "is not clearly better than"
    return Claim(
        f"A limit of the gap for each C {better} counting epochs.",
        OURS,
        f"Each rule is chosen to end {percent(RELIABLE, 0)} of the runs on the other sets with a "
        f"final error. On the set left out it ends so many: {'; '.join(parts)}. In the mean, test "
        f"errors there differ from the final ones by {costs} points. Chosen on all sets, the "
        f"limits of the gap are {limits}.",
    )


def _told_absent(runs: list[dict[str, Any]], gap: float) -> str:
    """Say at which C no run comes to a gap."""
    least: dict[float, float] = {}
    for run in runs:
        least[run["C"]] = min(least.get(run["C"], 1.0), *run["gap"])
    absent = [f"{C:g}" for C, smallest in least.items() if smallest > gap]
    return f"none at C = {listed(absent)}" if absent else "some for every C"


def claims(results: dict[str, Any]) -> list[Claim]:
    """Whether the gap knows the error, and what a rule by it is worth beside one by epochs."""
    from experiments._gap_rules import SMALL_GAP, as_late, enough, finding, verdicts

    runs = _full(results["runs"])
    shares, wait = enough(runs), verdicts(runs)["small gap"].over_needed
    if not shares.size:
        return [Claim(finding(runs), OURS, f"None of {len(runs)} runs comes to it.")]
    control = listed(f"{percent(share, 0)} at C = {C:g}" for C, share in as_late(runs).items())
    limit, n_small = percent(SMALL_GAP, 0), sum(min(run["gap"]) <= SMALL_GAP for run in runs)
    return [
        Claim(
            finding(runs),
            OURS,
            f"An error is final where it stays within one standard error of that of the exact "
            f"solution, or below. It is so in {percent(float(shares.mean()), 0)} of the runs that "
            f"come to a gap of {limit}. But to wait for it takes at least {rounded(wait)} times "
            "the epochs needed (geometric mean).",
        ),
        Claim(
            "The gap at which the test error is final depends on the set and on C.",
            OURS,
            f"In the median it is {_told_limits(results)}, by the set. Of {len(runs)} runs "
            f"{n_small} come to a gap of {limit} ({_told_absent(runs, SMALL_GAP)}). On the worst "
            f"of {len(shares)} sets {percent(float(shares.min()), 0)} of these have a final error "
            f"by then. After as many epochs it is also final in runs of the same C whose gap is "
            f"still larger: in {control} of them.",
        ),
        _told_rules(runs),
        _told_tightness(results),
        _told_polish(results),
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Errors against gaps for each C; below, when they are final, and what rules are worth."""
    from experiments._gap_figure import draw

    return draw(results, _full(results["runs"]))
