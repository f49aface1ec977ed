"""The jobs of the kernel benchmark in groups, and how they are run.

`benchmark_kernel` has the description; `benchmark_kernel_avx2` runs the same under other
environment variables.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from experiments._kernel_levels import judge_all, seconds_at_levels, series_of
from experiments._kernel_peers import in_a_process, installed, work
from experiments._kernel_problems import SMALL
from experiments._meta import commit, package_fingerprint

if TYPE_CHECKING:
    from experiments._run import ExperimentContext

#: MiB for kernel rows, the same for all.
CACHE_MB = 1024
_OURS = {"n_jobs": -1, "cache_mb": CACHE_MB}
_PEERS = {"cache_size": CACHE_MB}
#: Seconds after which pure Pegasos stops, and after which a process is given up.
_MAX_TIME, _TIMEOUT = 30.0, 150.0
#: Tolerances of polished runs, the certified relative gap; the first is the default.
_GAPS = {"float32": (1e-2, 1e-3, 1e-4), "float64": (1e-2, 1e-3)}
_LADDER = (1e-1, 1e-2, 1e-3, 1e-4)
#: Problem: dtype: tolerances of intelex and of SVC. They bound the violation at each example, so
#: that large C needs smaller ones; where a problem takes long, those that reach no level are left.
_PEER_LADDERS: dict[str, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "Fashion-MNIST": {"float32": ((1e-2, 1e-3), ())},
    "T-shirt or shirt": {"float32": (_LADDER, (1e-2,)), "float64": (_LADDER[:2], ())},
    "MNIST 8": {"float32": (_LADDER[:3], ())},
    "Adult": {"float32": (_LADDER, (1e-2,)), "float64": (_LADDER[:2], ())},
    "Covertype 20,000": {"float32": (_LADDER, (1e-1, 1e-3)), "float64": (_LADDER[:2], ())},
    "Covertype, C = 10": {"float32": (_LADDER[1:], (1e-2, 1e-4))},
    "Covertype, C = 100": {"float32": ((*_LADDER[1:], 1e-5), (1e-3, 1e-5))},
}
#: Pure Pegasos is hopeless where C is large.
_NOT_PLAIN = ("Covertype, C = 10", "Covertype, C = 100")
_BUDGETS = (64, 128, 256, 512, 1024, 2048, 4096)
#: Starts of a polished run.
_STARTS: dict[str, dict[str, float]] = {
    "1 step": {"n_steps": 1},
    "0.05 epochs": {"epochs": 0.05},
    "0.5 epochs": {"epochs": 0.5},
    "3 epochs": {"epochs": 3},
}
Job = dict[str, Any]


def _ours(setting: str, **parameters: Any) -> Job:
    return {"solver": "kpegasos", "setting": setting, "parameters": parameters}


def _polished(tolerances: tuple[float, ...]) -> list[Job]:
    return [_ours(f"tol = {tol:g}", polish=True, tol=tol) for tol in tolerances]


def _peers(solver: str, tolerances: tuple[float, ...]) -> list[Job]:
    if solver not in installed():
        return []
    return [
        {"solver": solver, "setting": f"tol = {tol:g}", "parameters": {**_PEERS, "tol": tol}}
        for tol in tolerances
    ]


def _alternating(*lists: list[Job]) -> list[Job]:
    """Take the first of each list, then the second of each, and so on."""
    longest = max(map(len, lists))
    return [jobs[i] for i in range(longest) for jobs in lists if i < len(jobs)]


def _curve_jobs(name: str) -> list[Job]:
    jobs = []
    for dtype, (intelex, svc) in _PEER_LADDERS[name].items():
        plain = [_ours("5 epochs", epochs=5), _ours("as it comes")]
        if dtype == "float64" or name in _NOT_PLAIN:
            plain = []
        for job in plain:
            job["parameters"]["max_time"] = _MAX_TIME
        mixed = _alternating(
            _polished(_GAPS[dtype]),
            _peers("scikit-learn-intelex", intelex),
            _peers("scikit-learn", svc),
            plain,
        )
        for job in mixed:
            if job["solver"] == "kpegasos":
                job["parameters"] |= _OURS
            jobs.append({**job, "problem": name, "dtype": dtype})
    return jobs


def _small_jobs(names: list[str]) -> list[Job]:
    """One job for all solvers of a problem and dtype, ours with the parameters that users have."""
    solvers = _alternating(
        [_ours("as it comes"), _ours("5 epochs", epochs=5), _ours("100 epochs", epochs=100)],
        _polished(_LADDER),
        _peers("scikit-learn", _LADDER),
        _peers("scikit-learn-intelex", _LADDER),
    )
    return [
        {"problem": name, "dtype": dtype, "solvers": solvers, "setting": "all"}
        for name in names
        for dtype in ("float64", "float32")
    ]


def _ablation_jobs(group: str) -> list[Job]:
    if group == "start":
        ends = {"polish": True, "tol": 1e-3, **_OURS}
        jobs = [_ours(label, **start, **ends) for label, start in _STARTS.items()]
        problem = "T-shirt or shirt"
    else:
        ends = {"polish": True, "tol": 1e-3}
        plain = {"max_time": _MAX_TIME}
        jobs = [
            _ours(f"{label}, {budget}", **{**parameters, **_OURS, "cache_mb": budget})
            for budget in _BUDGETS
            for label, parameters in (("polished", ends), ("plain", plain))
        ]
        for job in jobs:
            job["repeats"] = 1 if job["setting"].startswith("plain") else 2
        problem = "Covertype 20,000"
    return [{**job, "problem": problem, "dtype": "float32", "ablation": group} for job in jobs]


def _groups() -> dict[str, list[Job]]:
    """Return the jobs by the name that ``--only`` has for them."""
    slow = [
        {**job, "problem": "Fashion-MNIST", "dtype": "float32", "repeats": 1, "timeout": 900}
        for job in _peers("scikit-learn", (1e-3,))
    ]
    return {
        "small": _small_jobs(list(SMALL)),
        **{name: _curve_jobs(name) for name in _PEER_LADDERS},
        "start": _ablation_jobs("start"),
        "cache": _ablation_jobs("cache"),
        "slow": slow,
    }


def _quick_groups(*, small_only: bool = False) -> dict[str, list[Job]]:
    """Return a few jobs of each kind, and of those in a process of their own the small one."""
    groups = _groups()
    name = "T-shirt or shirt"
    tight = [job for job in groups[name] if job["setting"].endswith(("0.01", "0.1"))]
    small = [{**job, "turns": 3, "seconds": 0.5} for job in _small_jobs(["moons 100"])]
    chosen = {
        name: tight,
        "small": small,
        "start": groups["start"][::3],
        "cache": groups["cache"][2:4],
    }
    if small_only:
        return {"small": small[:1]}  # other vectors are compiled for in each process
    few = {"n_samples": 600, "repeats": 1}
    return {group: [{**job, **few} for job in jobs] for group, jobs in chosen.items()}


def _key(group: str, job: Job) -> str:
    """Name a part by all that it depends on, so that it is not taken up after an edit here."""
    return f"{group}: {json.dumps(job, sort_keys=True)}"


def _rows(job: Job, result: Any) -> list[dict[str, Any]]:
    """Put the head of a job before each of its results; a run that was given up has none."""
    head = {"problem": job["problem"], "dtype": job["dtype"]}
    pairs = zip(job["solvers"], result, strict=True) if "solvers" in job else [(job, result)]
    return [
        {
            **head,
            "series": series_of(each["solver"], each["parameters"]),
            "solver": each["solver"],
            "setting": each["setting"],
            "cache_mb": each["parameters"].get("cache_mb", each["parameters"].get("cache_size")),
            "ablation": job.get("ablation", ""),
            **found,
        }
        for each, found in pairs
        if found
    ]


def run_groups(
    context: ExperimentContext, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Run every solver on every problem, in groups.

    Parameters
    ----------
    context : ExperimentContext
        Says which groups to run; the others are taken from the results at hand.
    environment : dict or None, default None
        Variables for the processes that fit.

    Returns
    -------
    dict
        ``table``, a row for each run; ``levels``, the seconds at each level; ``groups``, where the
        rows of each come from; ``vectors`` that our code was compiled for.
    """
    table: list[dict[str, Any]] = []
    origins: dict[str, Any] = {}
    run = work if context.quick and not environment else in_a_process
    groups = _quick_groups(small_only=bool(environment)) if context.quick else _groups()
    for group, jobs in groups.items():
        if not context.wants(group) or (group == "slow" and not context.only):
            earlier = context.previous.get("groups", {}).get(group)
            if earlier:
                origins[group] = earlier
                table += [row for row in context.previous["table"] if row["group"] == group]
            continue
        given_up: set[tuple[str, ...]] = set()
        for job in context.progress(jobs, group):
            series = (job["problem"], job["dtype"], job.get("solver", ""), job.get("ablation", ""))
            if series in given_up:  # which a tighter tolerance does not mend
                continue
            full = {"timeout": _TIMEOUT, **job, "environment": environment or {}}
            result = context.part(_key(group, full), partial(run, full))
            if not result:
                given_up.add(series)
            table += [{"group": group, **row} for row in _rows(job, result)]
        today = datetime.now(UTC).date().isoformat()
        origins[group] = {"date": today, "commit": commit(), "package": package_fingerprint()}
    judge_all(table)
    vectors = next((row.pop("vectors") for row in table if "vectors" in row), None)
    for row in table:
        row.pop("vectors", None)
    return {
        "seeds": [0],
        "vectors": vectors or context.previous.get("vectors"),
        "environment": environment or {},
        "groups": origins,
        "levels": seconds_at_levels(table),
        "table": table,
    }
