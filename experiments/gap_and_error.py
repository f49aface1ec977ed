"""Does the certified gap know the test error: when each settles, and rules for when to stop.

Pegasos runs on random parts of six sets, and at each checkpoint three things are looked at: the
certified relative gap, which every run has; the true suboptimality and the test error, which only
this experiment knows. The error counts as final from where it stays within one standard error (of
the test set) of the error of the exact solution, or below. A rule to stop is chosen on all sets but
one, so as to end nine runs of ten well, and judged on the one left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._run import ExperimentContext
from experiments._runs import moons
from experiments._tables import columns, grouped, percentiles, select, shortened, summary
from kpegasos import RBF, PegasosSVC, make_problem, make_rows, pegasos, regularization_path
from kpegasos.datasets import load_adult, load_covtype, load_fashion_mnist, load_mnist, load_usps

FULL_TIME = "3 min"
QUICK_TIME = "10 s"

#: Sets: what they are called in figures, the width of the RBF kernel, about the best of a few for
#: each, and colour and line; those that are alike to the colour-blind differ in their line.
SETS: dict[str, tuple[str, float, str, str]] = {
    "moons": ("two moons", 2.0, plots.BLACK, "-"),
    "mnist": ("MNIST 4/9", 0.02, plots.BLUE, "-"),
    "usps": ("USPS odd/even", 2 / 256, plots.SKY, "--"),
    "fashion": ("T-shirt/shirt", 0.03, plots.VERMILION, "-"),
    "adult": ("Adult", 0.05, plots.ORANGE, "--"),
    "covtype": ("Covertype", 10.0, plots.GREEN, "-"),
}
CS = (1.0, 10.0, 100.0)
SEEDS, EXAMPLES, TESTED = 10, 2000, 5000
#: Epochs at which runs are looked at, and the last for each C: what a larger C needs is longer.
EPOCHS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)
LAST = {1.0: 50, 10.0: 150, 100.0: 300}
#: Relative gaps at which `polish=True` stops; the second is what it does unless told.
TOLS = (0.2, 0.01)
#: Relative gap that is as good as none.
EXACT = 1e-3
#: An error is final if it is at most so many standard errors above that of the exact solution.
NEAR = 1.0
#: A gap that is small by anyone's standards, whatever the runs say, and the share of the runs that
#: come to it, on each set, whose error is to be final for the gap to be called enough.
SMALL_GAP, ENOUGH = 0.1, 0.9
#: Share of the runs at hand that a rule is to end well.
RELIABLE = 0.9
#: Relative gaps to choose from, the most careless first.
GAPS = (
    *(0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3),
    *(0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01),
)
#: A run with lists over its checkpoints: ``epochs``, ``gap`` (relative) and ``excess`` (test error
#: above that of the exact solution, in standard errors of the latter).
Run = dict[str, Any]


# Runs


@cache
def pool(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Make or load all examples of a set, of training and test, with labels ±1."""
    if name == "moons":
        X, y = moons(8000, noise=0.3)
        return X.astype(np.float32), y
    if name == "adult":
        data = load_adult()
        return data.X_train.toarray().astype(np.float32), data.y_train
    if name == "covtype":
        data = load_covtype()
        return np.array(data.X_train[:20_000]), data.y_train[:20_000]
    data = {"mnist": load_mnist, "usps": load_usps, "fashion": load_fashion_mnist}[name]()
    X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    if name == "usps":
        return X, np.where(y % 2 == 0, 1, -1)
    first, second = (4, 9) if name == "mnist" else (0, 6)
    chosen = np.isin(y, (first, second))
    return X[chosen], np.where(y[chosen] == first, 1, -1)


class Draw:
    """A random split of a set into examples to train and to test with."""

    def __init__(self, name: str, seed: int, n_train: int, n_test: int) -> None:
        X, y = pool(name)
        order = np.random.default_rng(seed).permutation(y.size)
        train, test = order[:n_train], order[n_train : n_train + n_test]
        self.seed, self.gamma = seed, SETS[name][1]
        self.X, self.y, self.X_test, self.y_test = X[train], y[train], X[test], y[test]
        self.kernel_test = RBF(self.gamma).block(self.X_test, self.X)

    def error(self, coef: np.ndarray) -> float:
        """Test error of a model by its signed coefficients."""
        decisions = self.kernel_test @ coef.astype(self.kernel_test.dtype)
        return float(np.mean(np.where(decisions > 0, 1, -1) != self.y_test))

    def deviation(self, exact: dict[str, float]) -> float:
        """Standard error of the test error of the exact solution."""
        return float(np.sqrt(exact["error"] * (1 - exact["error"]) / self.y_test.size))


def exact_models(draw: Draw, Cs: tuple[float, ...]) -> list[dict[str, float]]:
    """Bracket of the minimum and test error of the solution for each C."""
    rows = make_rows(draw.X, "rbf", gamma=draw.gamma)
    path = regularization_path(make_problem(draw.y, C=1.0), rows, Cs, tol=EXACT, random_state=0)
    return [
        {"minimum": bound, "error": draw.error(coef)}
        for bound, coef in zip(path.dual_bounds, path.coefs, strict=True)
    ]


def pegasos_run(draw: Draw, C: float, epochs: list[float], exact: dict[str, float]) -> Run:
    """What a run of Pegasos has at each checkpoint: gap, error, and what they cost.

    It goes on for one more step: the last record of a run has the rounding of a model that is
    handed over in its gap, and the kernel values that this took.
    """
    errors: list[float] = []

    def look(run: Any) -> None:
        errors.append(draw.error(run.iterates()[-1].coefficients(run.state.loop) * draw.y))

    checkpoints = [round(epoch * draw.y.size) for epoch in epochs]
    history = pegasos(
        make_problem(draw.y, C=C),
        make_rows(draw.X, "rbf", gamma=draw.gamma, cache="cached"),
        n_steps=checkpoints[-1] + 1,
        checkpoints=checkpoints,
        random_state=draw.seed,
        monitor=look,
    ).history[:-1]
    above = history["objective_average"] - exact["minimum"]
    return {
        "error": exact["error"],
        "deviation": draw.deviation(exact),
        "gap": shortened(history["relative_gap"], 4),
        "ratio": shortened(history["gap"] / np.maximum(above, 1e-12), 4),
        "excess": shortened((np.array(errors[:-1]) - exact["error"]) / draw.deviation(exact), 4),
        "values": shortened(history["kernel_evaluations"] / draw.y.size**2, 4),
    }


def polished(draw: Draw, C: float, tol: float, exact: dict[str, float]) -> dict[str, float]:
    """Kernel values for each pair of examples, and error above the final one, of `polish=True`."""
    options: dict[str, Any] = {"fit_intercept": False, "cache": "cached", "random_state": draw.seed}
    model = PegasosSVC(C=C, gamma=draw.gamma, polish=True, tol=tol, **options).fit(draw.X, draw.y)
    error = float(np.mean(model.predict(draw.X_test) != draw.y_test))
    excess = (error - exact["error"]) / draw.deviation(exact)
    values = model.history_["kernel_evaluations"][-1] / draw.y.size**2
    return dict(zip(("excess", "values"), shortened((excess, values), 4), strict=True))


def _runs(name: str, seed: int, sizes: tuple[int, int], Cs: tuple[float, ...]) -> Run:
    """All that is measured on one random part of a set."""
    draw = Draw(name, seed, *sizes)
    runs = []
    for C, exact in zip(Cs, exact_models(draw, Cs), strict=True):
        epochs = [float(epoch) for epoch in EPOCHS if epoch <= LAST[C]]
        run = pegasos_run(draw, C, epochs, exact)
        polishes = {f"{tol:g}": polished(draw, C, tol, exact) for tol in TOLS}
        runs.append({"data": name, "C": C, "seed": seed, **run, "polished": polishes})
    return {"runs": runs}


def _full(runs: list[Run]) -> list[Run]:
    """Runs with the epochs of their checkpoints."""
    return [{**run, "epochs": list(EPOCHS[: len(run["gap"])])} for run in runs]


def settled(excess: list[float]) -> int | None:
    """Return the checkpoint from which on the error stays final; None if that is beyond the end."""
    late = np.flatnonzero(np.array(excess) > NEAR)
    first = int(late[-1]) + 1 if late.size else 0
    return first if first < len(excess) else None


def _when_final(run: Run, key: str) -> float:
    """Return what a run has when its error is final, or at its end."""
    at = settled(run["excess"])
    return float(run[key][-1 if at is None else at])


def _settling(runs: list[Run]) -> list[dict[str, Any]]:
    """When the error of each set and C is final: medians of epochs, gap, and what the gap hides."""
    rows = []
    for (name, C), own in grouped(runs, "data", "C").items():
        row: dict[str, Any] = {"data": name, "C": C}
        for key in ("epochs", "gap", "ratio"):
            row |= summary(key, [_when_final(run, key) for run in own])
        rows.append(row)
    return rows


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run Pegasos on every set with every seed and C."""
    seeds, sizes = (2, (400, 2000)) if context.quick else (SEEDS, (EXAMPLES, TESTED))
    names = ["moons", "usps", "adult"] if context.quick else list(SETS)
    Cs = CS[:2] if context.quick else CS
    runs: list[Run] = []
    for name, seed in context.progress(product(names, range(seeds)), "sets and seeds"):
        runs += context.part(f"{name}, seed {seed}", _runs, name, seed, sizes, Cs)["runs"]
    return {
        "seeds": list(range(seeds)),
        "sizes": list(sizes),
        "Cs": list(Cs),
        "epochs": list(EPOCHS),
        "titles": {name: SETS[name][0] for name in names},
        "table": _settling(_full(runs)),
        "runs": runs,
    }


# Rules for when to stop, chosen on all sets but one, judged on that one


class Rule(NamedTuple):
    """A rule: what it looks at, whether each C has a limit of its own, or the limit of all."""

    name: str
    by_gap: bool
    by_C: bool = False
    fixed: float | None = None


RULES = {
    "small gap": Rule(f"gap of {SMALL_GAP:.0%}", True, fixed=SMALL_GAP),
    "gap": Rule("a gap for all C", True),
    "gap of C": Rule("a gap for each C", True, True),
    "epochs": Rule("epochs for all C", False),
    "epochs of C": Rule("epochs for each C", False, True),
}


def stop(run: Run, by_gap: bool, limit: float) -> int:
    """Return the checkpoint at which a rule stops a run; the last if it never does."""
    met = np.array(run["gap"]) <= limit if by_gap else np.array(run["epochs"]) >= limit
    found = np.flatnonzero(met)
    return int(found[0]) if found.size else len(run["gap"]) - 1


def by_set(runs: list[Run], value: Callable[[Run], float]) -> np.ndarray:
    """Return the mean of a value over the runs of each set."""
    return np.array([np.mean(list(map(value, own))) for own in grouped(runs, "data").values()])


def _final(runs: list[Run], by_gap: bool, limit: float) -> np.ndarray:
    """Return the share of the runs of each set whose error is final where a rule stops them."""
    return by_set(runs, lambda run: float(run["excess"][stop(run, by_gap, limit)] <= NEAR))


def _choose(runs: list[Run], by_gap: bool) -> float:
    """Return the most careless limit from which on all are reliable; the strictest if none is."""
    limits = list(GAPS) if by_gap else sorted({epoch for run in runs for epoch in run["epochs"]})
    chosen = limits[-1]
    for limit in reversed(limits):
        if _final(runs, by_gap, limit).mean() < RELIABLE - 1e-9:
            break
        chosen = limit
    return float(chosen)


def _limits(rule: Rule, runs: list[Run]) -> dict[float, float]:
    """Return the limit for each C, chosen on some runs."""
    Cs = sorted({run["C"] for run in runs})
    if rule.fixed is not None:
        return dict.fromkeys(Cs, rule.fixed)
    if not rule.by_C:
        return dict.fromkeys(Cs, _choose(runs, rule.by_gap))
    return {C: _choose(select(runs, C=C), rule.by_gap) for C in Cs}


def _judged(rule: Rule, runs: list[Run]) -> list[dict[str, Any]]:
    """Return what a rule does to each run, chosen on the runs of the other sets."""
    rows = []
    for name, own in grouped(runs, "data").items():
        limits = _limits(rule, [run for run in runs if run["data"] != name])
        for run in own:
            at = stop(run, rule.by_gap, limits[run["C"]])
            epochs, excess = run["epochs"][at], run["excess"][at]
            rows.append(
                {
                    "data": name,
                    "final": float(excess <= NEAR),
                    "points": 100 * excess * run["deviation"],
                    "log_epochs": np.log(epochs),
                    "over_needed": np.log(epochs / _when_final(run, "epochs")),
                }
            )
    return rows


class Verdict(NamedTuple):
    """What a rule does to runs that it was not chosen on, each set counted alike.

    Share of runs that end well, in the mean and on the worst set; points of test error above the
    final one; epochs over those needed, and log-epochs of each set.
    """

    final: float
    worst: float
    points: float
    over_needed: float
    log_epochs: np.ndarray


def verdicts(runs: list[Run]) -> dict[str, Verdict]:
    """Return what each rule comes to on the sets left out, by its key."""
    found = {}
    for key, rule in RULES.items():
        rows = _judged(rule, runs)
        final, points, over_needed, log_epochs = (
            by_set(rows, itemgetter(key))
            for key in ("final", "points", "over_needed", "log_epochs")
        )
        means = float(points.mean()), float(np.exp(over_needed.mean()))
        found[key] = Verdict(float(final.mean()), float(final.min()), *means, log_epochs)
    return found


def enough(runs: list[Run]) -> np.ndarray:
    """Return, for each set, the share of the runs that come to the small gap that are final there.

    A set none of whose runs comes to it does not count.
    """
    return _final([run for run in runs if min(run["gap"]) <= SMALL_GAP], True, SMALL_GAP)


def as_late(runs: list[Run]) -> dict[float, float]:
    """Return the control of `enough`: what as many epochs are worth while the gap is larger.

    For each C at which runs come to the small gap: the share that has a final error among the other
    runs of that C, after as many epochs, if their gap is still larger then.
    """
    found: dict[float, list[bool]] = {}
    for run in runs:
        if min(run["gap"]) <= SMALL_GAP:
            at = stop(run, True, SMALL_GAP)
            found.setdefault(run["C"], []).extend(
                other["excess"][at] <= NEAR
                for other in select(runs, C=run["C"])
                if other["gap"][at] > SMALL_GAP
            )
    return {C: float(np.mean(final)) for C, final in sorted(found.items()) if final}


def beats_epochs(found: dict[str, Verdict]) -> bool:
    """Say whether a gap for each C is shorter than both rules by epochs, by more than chance."""
    by_gap, *others = (found[key] for key in ("gap of C", "epochs", "epochs of C"))
    differences = [other.log_epochs - by_gap.log_epochs for other in others]
    clear = [part.mean() > 2 * part.std(ddof=1) / np.sqrt(part.size) for part in differences]
    return all(clear) and max(other.worst - by_gap.worst for other in others) <= 0.05


def finding(runs: list[Run]) -> str:
    """Return the finding in one sentence, as the numbers have it."""
    gap = f"certified gap of {SMALL_GAP:.0%}"
    if not (shares := enough(runs)).size or shares.min() < ENOUGH:
        return f"Not even at a {gap} the test error is final."
    if beats_epochs(verdicts(runs)):
        return f"At a {gap} the test error is final, and at a large C it is at a larger one."
    return f"At a {gap} the test error is final, but mostly it was final long before."


# What came out


def _told_gap(gap: float) -> str:
    """Write a relative gap; one that is less than all of the objective is not rounded to it."""
    return "nearly 100%" if gap > 0.995 else percent(gap, 0)


def _told_points(points: float) -> str:
    """Write points of error with their sign."""
    return f"{points:+.2f}".replace("-", "−")


def _told_limits(results: dict[str, Any], C: float) -> str:
    """Say at which relative gaps the error is final."""
    return span([row["gap"] for row in select(results["table"], C=C)], _told_gap)


def _told_polish(results: dict[str, Any]) -> Claim:
    """Say what it saves to stop `polish=True` early."""
    runs = results["runs"]
    (early, values), (late, most) = (
        columns([run["polished"][f"{tol:g}"] for run in runs], "excess", "values") for tol in TOLS
    )
    Cs, deviations = columns(runs, "C", "deviation")
    saved = 1 - float(np.median(values / most))
    points = float(np.mean((early - late) * 100 * deviations))
    well = listed(
        f"{percent(float(np.mean(early[Cs == C] <= NEAR)), 0)} at C = {C:g}" for C in np.unique(Cs)
    )
    ends = [(run["values"], settled(run["excess"])) for run in runs]
    by_then = [values[at] / values[-1] for values, at in ends if at is not None]
    return Claim(
        f"A larger gap saves {'few' if saved < 0.25 else 'many'} kernel values.",
        OURS,
        f"With `polish=True` a gap of {percent(TOLS[0], 0)} instead of {percent(TOLS[1], 0)} takes "
        f"{percent(saved, 0)} fewer kernel values (median) and changes the mean test error by "
        f"{_told_points(points)} points. The share of runs with a final error is {well}. Pegasos "
        f"alone has computed {percent(float(np.median(by_then)), 0)} of its kernel values when its "
        "error is final (median), as rows are kept.",
    )


def _told_tightness(results: dict[str, Any]) -> Claim:
    """How much of the gap is true suboptimality where the error is final."""
    table = results["table"]
    ratios = {C: [row["ratio"] for row in select(table, C=C)] for C in results["Cs"]}
    told = (f"{span(found)} at C = {C:g}" for C, found in ratios.items())
    return Claim(
        "Where the error is final at a large gap, the model is indeed far from the optimum."
        if max(ratios[max(ratios)]) <= 2
        else "Where the error is final, the gap is mostly a loose bound.",
        OURS,
        f"The gap is then {listed(told)} times the true suboptimality.",
    )


def _told_wait(runs: list[Run], C: float) -> str:
    """Say how many times the epochs needed a small gap takes, by the runs that come to it."""
    reached = [run for run in runs if min(run["gap"]) <= SMALL_GAP]
    if not reached:
        return f"more than any of {len(runs)} runs makes at C = {C:g}"
    rows = _judged(RULES["small gap"], reached)
    times = rounded(float(np.exp(np.mean([row["over_needed"] for row in rows]))))
    some = "" if len(reached) == len(runs) else f", in {len(reached)} of {len(runs)} runs"
    return f"{times} times as many at C = {C:g}{some}"


def _told_rules(runs: list[Run]) -> Claim:
    """Say what a limit learnt from other sets is worth."""
    found = verdicts(runs)
    parts = [
        f"{percent(found[key].final, 0)} with {rule.name} ({percent(found[key].worst, 0)} on the "
        f"worst set; {rounded(found[key].over_needed)} times the epochs needed)"
        for key, rule in RULES.items()
        if rule.fixed is None
    ]
    by_C = _limits(RULES["gap of C"], runs)
    limits = listed(f"{gap:g} for C = {C:g}" for C, gap in by_C.items())
    costs = span([own.points for own in found.values()], _told_points)
    better = "stops sooner than" if beats_epochs(found) else "is not clearly better than"
    return Claim(
        f"A limit of the gap for each C {better} counting epochs.",
        OURS,
        f"Each rule is chosen to end {percent(RELIABLE, 0)} of the runs on the other sets with a "
        "final error. On the set left out, the share with a final error is "
        f"{'; '.join(parts[:-1])}; and {parts[-1]}. Mean test errors there differ from "
        f"the final ones by {costs} points. Chosen on all sets, the limits of the gap are "
        f"{limits}.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say whether the gap knows the error, and compare rules by it with rules by epochs."""
    runs = _full(results["runs"])
    shares = enough(runs)
    if not shares.size:
        return [Claim(finding(runs), OURS, f"None of {len(runs)} runs comes to it.")]
    waits = [_told_wait(select(runs, C=C), C) for C in results["Cs"]]
    control = listed(f"{percent(share, 0)} at C = {C:g}" for C, share in as_late(runs).items())
    limit, n_small = percent(SMALL_GAP, 0), sum(min(run["gap"]) <= SMALL_GAP for run in runs)
    least = {C: min(min(run["gap"]) for run in select(runs, C=C)) for C in results["Cs"]}
    absent = [f"{C:g}" for C, smallest in least.items() if smallest > SMALL_GAP]
    where = f"none at C = {listed(absent)}" if absent else "some for every C"
    gaps = listed(f"{_told_limits(results, C)} at C = {C:g}" for C in results["Cs"])
    return [
        Claim(
            finding(runs),
            OURS,
            f"An error is final if it stays within one standard error of that of the exact "
            f"solution, or below. It is final in {percent(float(shares.mean()), 0)} of the runs "
            f"that reach a gap of {limit}. Waiting for that gap takes more epochs than the error "
            f"needs: {listed(waits)}.",
        ),
        Claim(
            "The gap at which the test error is final depends on the set and on C.",
            OURS,
            f"Its median is {gaps}, across sets. {n_small} of {len(runs)} runs reach a gap of "
            f"{limit} ({where}). On the worst of {len(shares)} sets "
            f"{percent(float(shares.min()), 0)} of these have a final error by then. Of the runs "
            f"whose gap is still larger after as many epochs, {control} have a final error too.",
        ),
        _told_rules(runs),
        _told_tightness(results),
        _told_polish(results),
    ]


# The figure

#: The largest relative gap that an axis of log-odds is to show.
MOST = 0.9998


def _odds(gaps: Any) -> np.ndarray:
    """Return the log-odds of relative gaps: on their scale both 99% and 1% can be read."""
    shares = np.asarray(gaps, dtype=float).clip(max=MOST)
    return np.asarray(np.log(shares / (1 - shares)))


def _ticks(*per_cent: float) -> tuple[list[float], list[str]]:
    """Return the places of round gaps among log-odds, and what they are called."""
    return _odds(np.array(per_cent) / 100).tolist(), [f"{tick:g}%" for tick in per_cent]


def _rules(ax: plots.Axes, runs: list[Run]) -> None:
    """How long each rule trains beside what is needed, and how often it ends well."""
    found, rules = verdicts(runs), dict(reversed(RULES.items()))
    for height, (key, rule) in enumerate(rules.items()):
        own = found[key]
        color = plots.METHODS["gap"].color if rule.by_gap else plots.DARK_GREY
        ax.barh(height, own.over_needed, color=color, height=0.55)
        text = f"final in {own.final:.0%}, on the worst set in {own.worst:.0%}"
        plots.beside(ax, text, (own.over_needed, height), (5, 0), of=color, fontsize=9.5)
    ax.set_yticks(range(len(rules)), [rule.name for rule in rules.values()], fontsize=9.5)
    ax.tick_params(axis="y", length=0)
    most = max(own.over_needed for own in found.values())
    ax.set(xlim=(0, 3.0 * most), xlabel="epochs trained / epochs needed")


def _told_set(ax: plots.Axes, runs: list[Run], Cs: list[float]) -> None:
    """Draw the error above the final one against the gap, a line for each C."""
    ax.set_xticks(*_ticks(99.9, 90, 50, 10, 1), fontsize=9.5)
    ax.set(ylim=(-8, 12), xlim=_odds([MOST, 0.01]))
    for C, color in zip(Cs, plots.shades(len(Cs)), strict=True):
        own = select(runs, C=C)
        gaps = _odds(np.median([run["gap"] for run in own], axis=0))
        excess = percentiles([run["excess"] for run in own])
        plots.band(ax, gaps, excess, color=color, label=f"C = {C:g}", linewidth=1.8)
    ax.axhline(NEAR, color=plots.DARK_GREY, linewidth=1, linestyle=":")
    ax.axvspan(*_odds([SMALL_GAP, 0.01]), color=plots.METHODS["gap"].color, alpha=0.15, linewidth=0)
    ax.grid(alpha=0.25)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Errors against gaps on each set; below, rules for when to stop."""
    Cs, runs = results["Cs"], _full(results["runs"])
    figure = plots.empty(7.6)
    above, below = figure.subfigures(2, 1, height_ratios=[2.4, 1], squeeze=False)[:, 0]
    top = above.subplots(2, 3, sharex=True, sharey=True, squeeze=False)
    for ax, (name, title) in zip(top.flat, results["titles"].items(), strict=False):
        _told_set(ax, select(runs, data=name), Cs)
        ax.set_title(title)
    for ax in top.flat[len(results["titles"]) :]:
        ax.set_visible(False)
    plots.outer_labels(
        top, "certified relative gap", "test error above the\nfinal one, std. errors"
    )
    rules = below.subplots()
    _rules(rules, runs)
    rules.set(title="rules chosen on the other sets", xlim=(0, 0.6 * rules.get_xlim()[1]))
    m, tested = results["sizes"]
    told = finding(runs).rstrip(".")
    final = "is final long before the gap closes"
    if told.startswith("Not"):
        final = "is not final even at a small gap"
    return plots.state(
        figure,
        f"The error {final}: {told[0].lower() + told[1:]}; at C = {max(Cs):g} the error is final "
        f"at a gap of {_told_limits(results, max(Cs))}",
        f"RBF kernel, {m:,} training and {tested:,} test examples; median and 20–80% of "
        f"{len(results['seeds'])} runs. Dotted: one standard error; shaded: gaps up to "
        f"{SMALL_GAP:.0%}. Final: within a standard error at the stop. Needed: the "
        "epochs from which on the error stays so; runs that never reach a gap count at their end.",
    )
