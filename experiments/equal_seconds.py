"""Equal seconds: the least test error that each kernel method reaches within 1, 3, 10 and 30 s.

Every method has the same data (float32), the same C and the same width of the Gaussian kernel, none
of them tuned here, and climbs a ladder of runs until the next one would take longer than 30 s:

- `PegasosSVC` on the whole set, told to stop in time (``max_time``), plain or with
  ``polish=True``;
- `PegasosSVC` with ``polish=True``, scikit-learn-intelex's `SVC` and LIBSVM's (scikit-learn's
  `SVC`), each at two tolerances, on random samples of 1,000 examples, 2,000, 4,000 and so on, up
  to the whole set;
- `LinearPegasosSVC`, 10 epochs, on 64, 128, ... 4,096 features that stand for the kernel, by
  Nyström's method (scikit-learn's `Nystroem`) or from random frequencies (`RBFSampler`), on the
  whole set;
- LASVM, an online solver, of Vowpal Wabbit, on as many examples as it gets through; it knows two
  classes only.

Each ladder has a process of its own, warmed up on a part of the data. Seconds are those of
``fit``: copying the sample's rows and making the features included; imports, compiling, reading and
predicting excluded. Short runs are repeated with up to 10 seeds, of samples and solvers alike, and
medians count. The front of a method is the least error of its runs that took no longer. It is
chosen on the test set, for all methods alike. Methods count as level if they are within one
standard error of the best, that of a share on the test set. On Covertype, 100,000 examples are the
whole set.

``--only NAME`` runs one problem alone and keeps the other results at hand. Install the peers with
``pip install scikit-learn-intelex vowpalwabbit``; without them their ladders are left out.
"""

from __future__ import annotations

import importlib.metadata
import json
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import OURS, Claim, listed, percent, span
from experiments._equal_ladders import LADDERS
from experiments._equal_problems import NAMES, describe, make_task
from experiments._equal_runs import SEEDS, here, in_a_process
from experiments._meta import commit, package_fingerprint
from experiments._plots import (
    PURPLE,
    SILVER,
    VERMILION,
    log_log,
    look,
    name_lines,
    panels,
    state,
    words,
)
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "32 min"
QUICK_TIME = "12 s"

BUDGETS = (1.0, 3.0, 10.0, 30.0)
#: Seconds after which a ladder is given up, as a run that takes so long cannot be told to stop.
_TIMEOUT = 120.0
_QUICK = {"n_samples": 1000, "n_test": 2000, "least": 250, "patience": 0.1, "budgets": [0.05, 0.2]}
_PEERS = ("scikit-learn-intelex", "vowpalwabbit")


def _versions() -> dict[str, str]:
    """Return the versions of the peers that are installed."""
    found = {}
    for name in _PEERS:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _group(context: ExperimentContext, problem: str) -> list[dict[str, Any]]:
    """Run all ladders of a problem."""
    rows = []
    run = here if context.quick else in_a_process
    for ladder in context.progress(list(LADDERS), problem):
        job: dict[str, Any] = {"problem": problem, "ladder": ladder, "budgets": list(BUDGETS)}
        job |= _QUICK if context.quick else {"timeout": _TIMEOUT}
        for row in context.part(json.dumps(job, sort_keys=True), partial(run, job)):
            rows.append({"problem": problem, **row})
    return rows


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Climb all ladders of the problems that are asked for; take the others from the results."""
    names = NAMES[2:3] if context.quick else NAMES
    before = context.previous
    table: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    groups: dict[str, Any] = {}
    problems: dict[str, Any] = {}
    for name in names:
        if context.wants(name):
            rows = _group(context, name)
            table += [row for row in rows if "left_out" not in row]
            left_out += [row for row in rows if "left_out" in row]
            today = datetime.now(UTC).date().isoformat()
            groups[name] = {
                **{"date": today, "commit": commit(), "package": package_fingerprint()},
                "peers": _versions(),
            }
            problems[name] = describe(
                make_task(name, _QUICK["n_samples"] if context.quick else None)
            )
        elif name in before.get("groups", {}):
            table += select(before["table"], problem=name)
            left_out += select(before["left_out"], problem=name)
            groups[name], problems[name] = before["groups"][name], before["problems"][name]
    return {
        "seeds": list(range(SEEDS)),
        "budgets": _QUICK["budgets"] if context.quick else list(BUDGETS),
        "problems": problems,
        "groups": groups,
        "left_out": left_out,
        "table": table,
    }


#: Name at the end of a line, name in a sentence, and colour, marker and line, by method.
_METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "polished": ("polished", "polished Pegasos", look("polished").options(linewidth=3.0)),
    "Pegasos": ("Pegasos", "plain Pegasos", look("Pegasos").options()),
    "intelex": ("intelex", "intelex's SVC", look("intelex").options()),
    "SVC": ("LIBSVM", "LIBSVM", look("SVC").options()),
    "LASVM": ("LASVM", "LASVM", {**look("LASVM").options(), "linestyle": "-."}),
    "Nyström": (
        "Nyström",
        "Nyström features",
        {"color": PURPLE, "marker": "P", "linestyle": "--", "markersize": 5},
    ),
    "Fourier": (
        "random",
        "random features",
        {"color": VERMILION, "marker": "X", "linestyle": ":", "markersize": 5},
    ),
}
#: Methods that solve the problem of a sample to the end.
_EXACT = {"polished", "intelex", "SVC"}
#: Share of the most cases from which a method is named with the first.
_CLOSE = 0.75


def _told_front(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs that are better than every shorter one."""
    front: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: (row["fit_seconds"], row["error"])):
        if not front or row["error"] < front[-1]["error"]:
            front.append(row)
    return front


def _told_best(rows: list[dict[str, Any]], budget: float) -> dict[str, dict[str, Any]]:
    """Return the best run of each method within some seconds, the best method first."""
    best = {}
    for method in _METHODS:
        within = [row for row in select(rows, method=method) if row["fit_seconds"] <= budget]
        if within:
            best[method] = min(within, key=lambda row: float(row["error"]))
    return dict(sorted(best.items(), key=lambda item: float(item[1]["error"])))


def _told_level(best: dict[str, dict[str, Any]], n_test: int) -> list[str]:
    """Return the methods within one standard error of the best, that one first."""
    least = next(iter(best.values()))["error"]
    deviation = float(np.sqrt(least * (1 - least) / n_test))
    return [method for method, row in best.items() if row["error"] <= least + deviation]


def _told_cases(results: dict[str, Any]) -> dict[tuple[str, float], list[str]]:
    """Return who is at the front of each problem within each budget."""
    cases = {}
    for name, problem in results["problems"].items():
        rows = select(results["table"], problem=name)
        for budget in results["budgets"]:
            best = _told_best(rows, budget)
            if best:
                cases[name, budget] = _told_level(best, problem["test_examples"])
    return cases


def _told_counts(cases: dict[tuple[str, float], list[str]]) -> dict[str, int]:
    """Return in how many cases each method is at the front, the most first."""
    counts = {name: sum(name in level for level in cases.values()) for name in _METHODS}
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _told_first(cases: dict[tuple[str, float], list[str]]) -> list[str]:
    """Return the methods that are at the front most often, or not much more seldom."""
    counts = _told_counts(cases)
    return [name for name, count in counts.items() if count >= _CLOSE * max(counts.values())]


def _told_title(cases: dict[tuple[str, float], list[str]]) -> str:
    """Say who is at the front most often."""
    first = _told_first(cases)
    if first == ["polished"]:
        if _told_counts(cases)["polished"] == len(cases):
            return "At equal seconds, nothing beats polishing as many examples as fit in the time."
        return "At equal seconds, polishing as many examples as fit in the time is best most often."
    names = listed(_METHODS[name][1] for name in first)
    if set(first) <= _EXACT:
        return (
            "At equal seconds, solving as many examples as fit in the time is best most often: "
            f"{names}."
        )
    return f"At equal seconds, the least error belongs most often to {names}."


def _told_tally(cases: dict[tuple[str, float], list[str]]) -> str:
    """Say in how many cases each method is at the front."""
    counts = _told_counts(cases)
    told = [f"{_METHODS[name][1]} in {count}" for name, count in counts.items() if count]
    never = [_METHODS[name][1] for name, count in counts.items() if not count]
    rest = f"; {listed(never)} never" if never else ""
    return (
        "A case is a data set and a number of seconds; methods within one standard error of the "
        f"least error share it. Of {len(cases)} cases, it belongs to {listed(told)}{rest}."
    )


def _told_cut(results: dict[str, Any]) -> str:
    """Compare polishing the whole set up to a limit with a sample that fits in; "" if none was."""
    pairs = []
    for row in select(results["table"], method="cut off"):
        if not row["stopped"]:
            continue
        own = select(results["table"], problem=row["problem"])
        best = _told_best(own, row["fit_seconds"])
        if "polished" in best:
            pairs.append((row["error"], best["polished"]["error"]))
    if not pairs:
        return ""
    worse = sum(cut > sample for cut, sample in pairs)
    ratios = [cut / max(sample, 1e-9) for cut, sample in pairs]
    return (
        f" A polished fit of the whole set that is cut short is worse than a sample polished to "
        f"the end in {worse} of {len(pairs)} runs: {span(ratios)} times its error."
    )


def _told_problem(results: dict[str, Any], name: str) -> Claim:
    """Say who is at the front of a problem, for each budget."""
    problem, parts = results["problems"][name], []
    for budget in results["budgets"]:
        best = _told_best(select(results["table"], problem=name), budget)
        if not best:
            continue
        first, *others = _told_level(best, problem["test_examples"])
        row = best[first]
        part = f"{_METHODS[first][1]} with {percent(row['error'], 2)} ({row['setting']})"
        if others:
            told = (f"{_METHODS[o][0]} {percent(best[o]['error'], 2)}" for o in others)
            part += f", level with it {listed(told)}"
        parts.append(f"{budget:g} s: {part}")
    size = f"{problem['examples']:,} examples, {problem['classes']} classes"
    parameters = f"C = {problem['C']:g}, γ = {problem['gamma']:.3g}"
    return Claim(f"{name} ({size}, {parameters}).", OURS, f"Within {'; '.join(parts)}.")


def claims(results: dict[str, Any]) -> list[Claim]:
    """Who is at the front within how many seconds."""
    cases = _told_cases(results)
    if not cases:
        return []
    first = Claim(_told_title(cases), OURS, _told_tally(cases) + _told_cut(results))
    chances = [
        f"{label} {len(select(results['table'], method=name))}"
        for name, (label, _, _) in _METHODS.items()
    ]
    told = Claim(
        "How many runs a method has to choose from.",
        OURS,
        f"The least error is that on the test set, over {listed(chances)} runs in all.",
    )
    return [first, *(_told_problem(results, name) for name in results["problems"]), told]


def _told_panel(ax: Axes, rows: list[dict[str, Any]], budgets: list[float], title: str) -> None:
    """Draw the front of each method, to the end of the largest budget."""
    last = 1.25 * max(budgets)
    fronts = {name: _told_front(select(rows, method=name)) for name in _METHODS}
    fronts = {
        name: shown
        for name, front in fronts.items()
        if (shown := [row for row in front if row["fit_seconds"] <= last])
    }
    ends = {name: 100 * front[-1]["error"] for name, front in fronts.items()}
    least, most = min(ends.values()), max(ends.values())
    high = least * max((most / least) ** 1.5, 1.15)
    names: dict[str, Any] = {}
    for order, (name, front) in enumerate(reversed(fronts.items())):
        seconds = [row["fit_seconds"] for row in front]
        errors = [100 * row["error"] for row in front]
        label, _, line = _METHODS[name]
        marks = range(len(seconds))
        ax.plot(
            [*seconds, last],
            [*errors, errors[-1]],
            drawstyle="steps-post",
            markevery=list(marks),
            zorder=3 + order,
            **{"linewidth": 1.5, **line},
        )
        names[label] = ([last], [errors[-1]], line["color"])
    for budget in budgets:
        ax.axvline(budget, color=SILVER, linewidth=0.8, linestyle=":", zorder=0)
    log_log(ax)
    ax.set(xlim=(min(budgets) / 30, last), ylim=(least / (high / least) ** 0.06, high))
    _told_ticks(ax, budgets)
    ax.set_title(title)
    name_lines(ax, names)


def _told_ticks(ax: Axes, budgets: list[float]) -> None:
    """Put ticks at the budgets and their tenths, and at round errors if there are some in view."""
    from kpegasos.plotting.ticks import ticks_at

    low, high = ax.get_xlim()
    seconds = {*budgets, *(budget / 10 for budget in budgets)}
    ticks_at(ax.xaxis, np.array(sorted(tick for tick in seconds if low <= tick <= high)))
    low, high = ax.get_ylim()
    errors = np.outer(10.0 ** np.arange(-3, 3), (1, 1.5, 2, 3, 5, 7)).ravel()
    shown = errors[(errors >= low) & (errors <= high)]
    if shown.size > 2:
        ticks_at(ax.yaxis, shown)


def plot(results: dict[str, Any]) -> Figure:
    """Test error against seconds, a front for each method, a panel for each problem."""
    problems, cases = results["problems"], _told_cases(results)
    n_rows = -(-len(problems) // 2)
    figure, axes = panels(n_rows, min(2, len(problems)), 3.2 * n_rows + 1.3)
    for ax in axes.flat[len(problems) :]:
        ax.set_axis_off()
    for ax, (name, problem) in zip(axes.flat, problems.items(), strict=False):
        title = f"{name}, m = {problem['examples']:,}"
        _told_panel(ax, select(results["table"], problem=name), results["budgets"], title)
    for ax in axes[-1]:
        ax.set_xlabel(words("fit_seconds"))
    for row in axes:
        row[0].set_ylabel(words("test_error"))
    counts = listed(f"{_told_counts(cases)[name]}" for name in _told_first(cases))
    budgets = listed(f"{budget:g}" for budget in results["budgets"])
    state(
        figure,
        f"{_told_title(cases)[:-1]} ({counts} of {len(cases)} cases)",
        "Least error of the runs that took no longer; Gaussian kernel, the same C and γ for all. "
        "polished, intelex, LIBSVM: samples of growing size. Nyström, random: features for the "
        f"linear Pegasos. A case is a data set and {budgets} s (dotted); level within one standard "
        "error is a tie.",
    )
    return figure
