"""Rules for when to stop, of `gap_and_error`: chosen on all sets but one, judged on that one.

A run is a dictionary with lists over its checkpoints: ``epochs``, ``gap`` (relative) and ``excess``
(test error above that of the exact solution, in standard errors of the latter).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from experiments._claims import percent, span
from experiments._gap_runs import NEAR, settled

Run = dict[str, Any]

#: Share of the runs at hand that a rule is to end well.
RELIABLE = 0.9
#: Relative gaps and epochs to choose from, the most careless first.
GAPS = (
    *(0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3),
    *(0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01),
)
#: A gap that is small by anyone's standards, whatever the runs say, and the share of the runs that
#: come to it, on each set, whose error is to be final for the gap to be called enough.
SMALL_GAP, ENOUGH = 0.1, 0.9


class Rule(NamedTuple):
    """A rule: what it looks at, whether each C has a limit of its own, or the limit of all."""

    key: str
    name: str
    by_gap: bool
    by_C: bool = False
    fixed: float | None = None


RULES = (
    Rule("small gap", f"gap of {SMALL_GAP:.0%}", True, fixed=SMALL_GAP),
    Rule("gap", "one gap", True),
    Rule("gap of C", "a gap for each C", True, True),
    Rule("epochs", "one number of epochs", False),
    Rule("epochs of C", "epochs for each C", False, True),
)


def stop(run: Run, by_gap: bool, limit: float) -> int:
    """Return the checkpoint at which a rule stops a run; the last if it never does."""
    met = np.array(run["gap"]) <= limit if by_gap else np.array(run["epochs"]) >= limit
    found = np.flatnonzero(met)
    return int(found[0]) if found.size else len(run["gap"]) - 1


def _share_of(runs: list[Run], by_gap: bool, limit: float) -> float:
    """Return the share of runs, each set counted alike, whose error is final where they stop."""
    rows = [
        {"data": run["data"], "final": run["excess"][stop(run, by_gap, limit)] <= NEAR}
        for run in runs
    ]
    return float(by_set(rows, lambda row: float(row["final"])).mean())


def choose(runs: list[Run], by_gap: bool) -> float:
    """Return the most careless limit from which on all are reliable; the strictest if none is."""
    limits = list(GAPS) if by_gap else sorted({epoch for run in runs for epoch in run["epochs"]})
    chosen = limits[-1]
    for limit in reversed(limits):
        if _share_of(runs, by_gap, limit) < RELIABLE - 1e-9:
            break
        chosen = limit
    return float(chosen)


def judge(runs: list[Run]) -> list[dict[str, Any]]:
    """Return a row for each rule, set and run that it was not chosen on."""
    rows = []
    for rule in RULES:
        for name in dict.fromkeys(run["data"] for run in runs):
            others = [run for run in runs if run["data"] != name]
            limits = _limits(rule, others)
            for run in runs:
                if run["data"] == name:
                    rows.append(_row(rule, run, limits[run["C"]]))
    return rows


def _limits(rule: Rule, runs: list[Run]) -> dict[float, float]:
    """Return the limit for each C, chosen on some runs."""
    Cs = sorted({run["C"] for run in runs})
    if rule.fixed is not None:
        return dict.fromkeys(Cs, rule.fixed)
    if not rule.by_C:
        return dict.fromkeys(Cs, choose(runs, rule.by_gap))
    return {C: choose([run for run in runs if run["C"] == C], rule.by_gap) for C in Cs}


def limits_of(runs: list[Run], key: str) -> dict[float, float]:
    """Return the limits of a rule, chosen on all runs: those to be recommended."""
    return _limits(next(rule for rule in RULES if rule.key == key), runs)


def _row(rule: Rule, run: Run, limit: float) -> dict[str, Any]:
    at, needed = stop(run, rule.by_gap, limit), settled(run["excess"])
    epochs = run["epochs"]
    return {
        "rule": rule.key,
        "data": run["data"],
        "C": run["C"],
        "limit": limit,
        "final": run["excess"][at] <= NEAR,
        "points": 100 * run["excess"][at] * run["deviation"],
        "epochs": epochs[at],
        "over_needed": epochs[at] / epochs[-1 if needed is None else needed],
    }


class Verdict(NamedTuple):
    """What a rule does to runs that it was not chosen on, each set counted alike.

    Share of runs that end well, in the mean and on the worst set; points of test error above the
    final one; epochs over those needed, and log-epochs of each set.
    """

    rule: Rule
    final: float
    worst: float
    points: float
    over_needed: float
    log_epochs: np.ndarray


def verdicts(runs: list[Run]) -> dict[str, Verdict]:
    """Return what each rule comes to on the sets left out, by its key."""
    rows, found = judge(runs), {}
    for rule in RULES:
        own = [row for row in rows if row["rule"] == rule.key]
        final = by_set(own, lambda row: float(row["final"]))
        found[rule.key] = Verdict(
            rule,
            float(final.mean()),
            float(final.min()),
            float(by_set(own, lambda row: float(row["points"])).mean()),
            float(np.exp(by_set(own, lambda row: float(np.log(row["over_needed"]))).mean())),
            by_set(own, lambda row: float(np.log(row["epochs"]))),
        )
    return found


def by_set(rows: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> np.ndarray:
    """Return the mean of a value over the rows of each set."""
    sets = dict.fromkeys(row["data"] for row in rows)
    return np.array([np.mean([value(row) for row in rows if row["data"] == name]) for name in sets])


def enough(runs: list[Run]) -> np.ndarray:
    """Return, for each set, the share of the runs that come to the small gap that are final there.

    A set none of whose runs comes to it does not count.
    """
    rows = [
        {"data": run["data"], "final": run["excess"][stop(run, True, SMALL_GAP)] <= NEAR}
        for run in runs
        if min(run["gap"]) <= SMALL_GAP
    ]
    return by_set(rows, lambda row: float(row["final"]))


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
                for other in runs
                if other["C"] == run["C"] and other["gap"][at] > SMALL_GAP
            )
    return {C: float(np.mean(final)) for C, final in sorted(found.items()) if final}


def beats_epochs(found: dict[str, Verdict]) -> bool:
    """Say whether a gap for each C is shorter than both rules by epochs, by more than chance."""
    by_gap = found["gap of C"]
    differences = [found[key].log_epochs - by_gap.log_epochs for key in ("epochs", "epochs of C")]
    errors = [found[key].worst - by_gap.worst for key in ("epochs", "epochs of C")]
    clear = [part.mean() > 2 * part.std(ddof=1) / np.sqrt(part.size) for part in differences]
    return all(clear) and max(errors) <= 0.05


def finding(runs: list[Run]) -> str:
    """Return the finding in one sentence, as the numbers have it."""
    gap = f"certified gap of {SMALL_GAP:.0%}"
    if not (shares := enough(runs)).size or shares.min() < ENOUGH:
        return f"Not even at a {gap} the test error is final."
    if beats_epochs(verdicts(runs)):
        return f"At a {gap} the test error is final, and at a large C it is at a larger one."
    return f"At a {gap} the test error is final, but mostly it was final long before."


def written(gap: float) -> str:
    """Write a relative gap; one that is less than all of the objective is not rounded to it."""
    return "nearly 100%" if gap > 0.995 else percent(gap, 0)


def title(runs: list[Run], results: dict[str, Any]) -> str:
    """Return what the figure states: the finding, and the gaps at the largest C."""
    rows, C = results["table"], max(results["Cs"])
    gaps = span([row["gap"] for row in rows if row["C"] == C], written)
    text = finding(runs).rstrip(".")
    return f"{text}: at C = {C:g} the error is final at a gap of {gaps}"
