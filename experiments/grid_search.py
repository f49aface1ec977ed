"""A grid of C and γ with cross-validation: `PegasosSVCCV` and `GridSearchCV` over every SVC.

Digits (10 classes), two moons, T-shirt or shirt (4,000 and 12,000 images) and the first 8,000 of
Adult, 5 γ × 5 C × 5 folds (T-shirt or shirt 4,000: 4 × 4 × 5), each with a final fit to all
examples. All tools have the same folds, γ, C and float32 data, and two cores. Ours has a certified
relative gap of 1% in each cell, peers have the tolerance that they come with. A tool has a process
of its own, a warm-up outside the clock, and up to three searches, of which the median counts;
memory is what the process and its workers take beyond the data. Scores of all cells are held
against those of `SVC`, or of intelex where `SVC` was not measured; both have a free intercept,
which makes a difference where γ and C are so small that nearly all examples are support vectors.
The dearest single fit is that of the cell that takes `PegasosSVC` longest on all examples.

What warm starts along C save is measured on one fold of two of the problems, against a path for
each C, on the same rows.

The protocol of TorchKM, 500 fits at n = 10,000, is told with all that differs in
`experiments._torchkm`; published seconds stand beside ours, of other machines and other draws.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from experiments._claims import Claim, duration, listed, mark
from experiments._grid_figure import draw
from experiments._grid_judge import goals, judge
from experiments._grid_peers import SINGLE, TOOLS, in_a_process, measure
from experiments._grid_problems import COMPARED, SIMULATED
from experiments._grid_starts import starts
from experiments._meta import commit, package_fingerprint
from experiments._torchkm import PUBLISHED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "50 min"
QUICK_TIME = "10 s"

Job = dict[str, Any]
#: Ways of our search beside the default one: what it takes, and variables of its process.
VARIANTS: dict[str, Job] = {}
#: Problems of two classes whose warm starts are measured against cold ones.
_STARTED = ("moons 2,000", "T-shirt or shirt 4,000")
#: Seconds after which ours returns what it has, and after which a process is given up.
_MAX_TIME, _TIMEOUT, _SLOW_TIMEOUT = 900.0, 1800.0, 6 * 3600.0
_SLOW, _STARTS = "slow", "starts"


def _installed() -> list[str]:
    return [tool for tool in TOOLS if tool != "intelex" or find_spec("sklearnex") is not None]


def _ours(problem: str, **parameters: Any) -> list[Job]:
    """Our search, in each of its ways."""
    job = {"problem": problem, "tool": "PegasosSVCCV", "setting": "", "parameters": parameters}
    return [job] + [
        {
            **job,
            "setting": setting,
            "parameters": parameters | variant.get("parameters", {}),
            "environment": variant.get("environment", {}),
        }
        for setting, variant in VARIANTS.items()
    ]


def _groups() -> dict[str, list[Job]]:
    """Return the jobs by the name that ``--only`` has for them."""
    groups: dict[str, list[Job]] = {}
    slow: list[Job] = []
    for name, problem in COMPARED.items():
        peers = [tool for tool in [SINGLE, *_installed()] if tool != "PegasosSVCCV"]
        jobs = [{"problem": name, "tool": tool, "setting": ""} for tool in peers]
        groups[name] = _ours(name) + [job for job in jobs if job["tool"] not in problem.slow]
        slow += [
            {**job, "repeats": 1, "timeout": _SLOW_TIMEOUT}
            for job in jobs
            if job["tool"] in problem.slow
        ]
    groups |= {name: _ours(name, max_time=_MAX_TIME) for name in SIMULATED}
    return groups | {_SLOW: slow}


def _quick_groups() -> dict[str, list[Job]]:
    """Return the jobs that need no data files, on few examples, γ and C."""
    groups = _groups()
    few = {"n_samples": 200, "n_values": 2, "repeats": 1}
    chosen = {name: groups[name] for name in ("moons 2,000", next(iter(SIMULATED)))}
    chosen["digits"] = [job for job in groups["digits"] if job["tool"] in ("PegasosSVCCV", "SVC")]
    return {name: [{**job, **few} for job in jobs] for name, jobs in chosen.items()}


def _published() -> list[dict[str, Any]]:
    """Seconds that others published, a row for each problem and tool."""
    return [
        {"problem": problem, "tool": tool, "seconds": seconds}
        for problem, (n_features, _) in SIMULATED.items()
        for tool, seconds in PUBLISHED[n_features]._asdict().items()
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every search of the groups that are asked for, and judge all of them."""
    table: list[dict[str, Any]] = []
    surfaces: list[dict[str, Any]] = []
    origins: dict[str, Any] = {}
    measured: list[str] = []
    previous = context.previous
    run, groups = (measure, _quick_groups()) if context.quick else (in_a_process, _groups())
    for group, jobs in groups.items():
        if not context.wants(group) or (group == _SLOW and not context.only):
            if group in previous.get("groups", {}):
                origins[group] = previous["groups"][group]
                table += [row for row in previous["table"] if row["group"] == group]
                surfaces += [row for row in previous["surfaces"] if row["group"] == group]
            continue
        for job in context.progress(jobs, group):
            full = {"timeout": _TIMEOUT, **job}
            key = f"{group}: {json.dumps(full, sort_keys=True)}"
            found = context.part(key, partial(run, full))
            head = {key: job[key] for key in ("problem", "tool", "setting")} | {"group": group}
            if not found:
                table.append({**head, "gave_up_after": full["timeout"]})
                continue
            measured += found["vectors"]
            table.append({**head, **found["row"]})
            if "surface" in found:
                surfaces.append({**head, **found["surface"]})
        today = datetime.now(UTC).date().isoformat()
        origins[group] = {"date": today, "commit": commit(), "package": package_fingerprint()}
    judge(table, surfaces)
    begun = previous.get("starts", [])
    if context.wants(_STARTS):
        few = {"n_samples": 200, "n_values": 2} if context.quick else {}
        names = _STARTED[:1] if context.quick else _STARTED
        begun = [context.part(f"{_STARTS}: {name}", partial(starts, name, **few)) for name in names]
    return {
        "seeds": [0],
        "vectors": sorted(set(measured)) or previous.get("vectors"),
        "groups": origins,
        "not_measured": _not_measured(table, groups),
        "published": _published(),
        "goals": goals(table),
        "starts": begun,
        "surfaces": surfaces,
        "table": table,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The seconds of TorchKM's second table, beside ours on its protocol."""
    published = {
        row["problem"]: row["seconds"] for row in results["published"] if row["tool"] == "torchkm"
    }
    ours = {
        row["problem"]: row
        for row in results["table"]
        if row["tool"] == "PegasosSVCCV" and not row["setting"] and row["problem"] in published
    }
    ours = {name: row for name, row in ours.items() if "seconds" in row}
    if not ours:
        return []
    grids: dict[str, list[str]] = {}
    for name, row in ours.items():
        features, grid = name.removeprefix("TorchKM ").split(", ", 1)
        where = f"with {features} (GPU, published: {duration(published[name])})"
        grids.setdefault(where, []).append(f"{duration(row['seconds'])} on the {grid}")
    told = [f"{listed(seconds)} {where}" for where, seconds in grids.items()]
    faster = [row["seconds"] < published[name] for name, row in ours.items()]
    return [
        Claim(
            "Tuning an SVM by 500 fits takes a GPU seconds, and CPUs minutes to hours.",
            "TorchKM",
            "On CPU cores, with fits to a certified gap of 1% on data drawn anew by the same "
            f"recipe: {'; '.join(told)}.",
            mark(not any(faster), not all(faster)),
            "✗ if CPU cores take less than the published seconds of the GPU for every problem, ~ "
            "if for some. The machines differ.",
        )
    ]


def _not_measured(
    table: list[dict[str, Any]], groups: dict[str, list[Job]]
) -> list[dict[str, str]]:
    """Jobs that have no row, of problems that have some."""
    key = ("problem", "tool", "setting")
    done = {tuple(row[name] for name in key) for row in table}
    problems = {row["problem"] for row in table}
    return [
        {name: job[name] for name in key}
        for jobs in groups.values()
        for job in jobs
        if job["problem"] in problems and tuple(job[name] for name in key) not in done
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Seconds of each tool on each problem, and TorchKM's protocol."""
    return draw(results)
