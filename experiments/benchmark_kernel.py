"""Seconds of kernel SVMs at equal suboptimality: PegasosSVC beside every other SVC.

Every solver runs a ladder of tolerances (pure Pegasos: of epochs) on each problem, with the same
budget for kernel rows. A run has a process of its own, a warm-up outside the clock, and three fits,
of which the median counts; runs of different solvers alternate. On small problems the solvers take
turns in one process, many times. A group begins when the machine is quiet, for which it waits some
minutes, and notes the load. A solver is ahead of another where the ranges of their fits do not
overlap and the medians differ by a twentieth. Predictions are repeated on one model, and their
median counts: what a model keeps for the next one, as ours does its packed vectors, is not in it
where there are three or more. Each model is judged by the objective that its solver
minimises, against the best dual bound of that (`experiments._kernel` says how the intercept
is treated), and seconds are compared where the relative suboptimality is equal.

Runs of one solver on one problem that differ in how far they go make a series. The seconds of a
series at a level are those of its cheapest run that reaches it. Where a peer's is its cheapest of
all, ours is compared with it at the suboptimality that it has.

`SVC` works in float64 whatever it is given, so it is run on one dtype of the larger problems. On
Fashion-MNIST a fit takes five minutes and is run only when asked for, by ``--only slow``.

``--only NAME`` runs a group alone and keeps the rest of the results at hand; the groups are the
names of the problems, ``small``, ``cache``, ``start``, ``free`` and ``slow``. In ``free`` all solve
the identical problem, ours with a free intercept. Install the peers with
``pip install kpegasos[bench]``.

All solvers are held to AVX2, which most x86 processors in use have; what of oneDAL is not MKL does
not listen where there is AVX-512. ``benchmark_kernel_avx512`` lets all use that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain, zip_longest
from operator import itemgetter
from typing import Any

from experiments import _plots as plots
from experiments._claims import beats, bold, duration, markdown, span
from experiments._kernel import AVX2, SMALL, installed, work, work_apart
from experiments._measure import quiet_load
from experiments._meta import vectors
from experiments._run import ExperimentContext
from experiments._tables import Row, grouped, range_of, select

FULL_TIME = "90 min"
QUICK_TIME = "30 s"

#: MiB for kernel rows, the same for all.
CACHE_MB = 1024
_OURS = {"cache_mb": CACHE_MB}
#: Seconds after which pure Pegasos stops, and after which a process with its fits is given up.
_MAX_TIME, _TIMEOUT = 30.0, 450.0
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
PROBLEMS = tuple(_PEER_LADDERS)
#: Pure Pegasos is hopeless where C is large.
_NOT_PLAIN = ("Covertype, C = 10", "Covertype, C = 100")
_BUDGETS = (64, 256, 1024, 4096)
#: Starts of a polished run.
_STARTS: dict[str, dict[str, float]] = {
    "1 step": {"n_steps": 1},
    "0.05 epochs": {"epochs": 0.05},
    "0.5 epochs": {"epochs": 0.5},
    "3 epochs": {"epochs": 3},
}
#: Problems that are also solved with a free intercept, which is the peers' problem.
_FREE = ("T-shirt or shirt", "Adult", "Covertype 20,000")
Job = dict[str, Any]

LEVELS = (1e-2, 1e-3, 1e-4)
#: Series, in the order of tables and legends; the first is ours for comparisons.
SERIES = {
    "polished": "PegasosSVC(polish=True)",
    "plain": "PegasosSVC()",
    "intelex": "intelex SVC",
    "SVC": "scikit-learn SVC",
}
PEERS = ("intelex", "SVC")
#: Below this, rounding decides.
FLOOR = 1e-7


# Jobs


def _ours(setting: str, **parameters: Any) -> Job:
    return {"solver": "kpegasos", "setting": setting, "parameters": parameters}


def _polished(tolerances: tuple[float, ...], **parameters: Any) -> list[Job]:
    return [_ours(f"tol = {tol:g}", polish=True, tol=tol, **parameters) for tol in tolerances]


def _peers(solver: str, tolerances: tuple[float, ...]) -> list[Job]:
    if solver not in installed():
        return []
    limit = {"cache_size": CACHE_MB}
    return [
        {"solver": solver, "setting": f"tol = {tol:g}", "parameters": {**limit, "tol": tol}}
        for tol in tolerances
    ]


def _alternating(*lists: list[Job]) -> list[Job]:
    """Take the first of each list, then the second of each, and so on."""
    return [job for job in chain(*zip_longest(*lists)) if job]


def _curve_jobs(name: str) -> list[Job]:
    jobs = []
    for dtype, (intelex, svc) in _PEER_LADDERS[name].items():
        limited = {"max_time": _MAX_TIME, **_OURS}
        plain = [_ours("5 epochs", epochs=5, **limited), _ours("as it comes", **limited)]
        mixed = _alternating(
            _polished(_GAPS[dtype], **_OURS),
            _peers("scikit-learn-intelex", intelex),
            _peers("scikit-learn", svc),
            [] if dtype == "float64" or name in _NOT_PLAIN else plain,
        )
        jobs += [{**job, "problem": name, "dtype": dtype} for job in mixed]
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


def _ablation_jobs() -> dict[str, list[Job]]:
    """Return runs with other starts, and with other budgets of kernel rows."""
    ends: dict[str, Any] = {"polish": True, "tol": 1e-3, **_OURS}
    ways = {"polished": ends, "plain": {"max_time": _MAX_TIME, **_OURS}}
    start = {"problem": "T-shirt or shirt", "dtype": "float32", "ablation": "start"}
    cache = {"problem": "Covertype 20,000", "dtype": "float32", "ablation": "cache"}
    return {
        "start": [{**_ours(label, **begin, **ends), **start} for label, begin in _STARTS.items()],
        "cache": [
            {**_ours(f"{label}, {budget}", **(way | {"cache_mb": budget})), **cache}
            for budget in _BUDGETS
            for label, way in ways.items()
        ],
    }


def _free_jobs() -> list[Job]:
    own = {"fit_intercept": "free", **_OURS}
    solvers = _alternating(
        _polished(_GAPS["float32"], **own), _peers("scikit-learn-intelex", _LADDER)
    )
    given = {"dtype": "float32", "ablation": "free"}
    return [{**job, **given, "problem": name} for name in _FREE for job in solvers]


def _groups() -> dict[str, list[Job]]:
    """Return the jobs by the name that ``--only`` has for them."""
    head = {"problem": "Fashion-MNIST", "dtype": "float32", "timeout": 2700}
    return {
        "small": _small_jobs(list(SMALL)),
        **{name: _curve_jobs(name) for name in _PEER_LADDERS},
        **_ablation_jobs(),
        "free": _free_jobs(),
        "slow": [{**job, **head} for job in _peers("scikit-learn", (1e-3,))],
    }


def _is_fastest(job: Job) -> bool:
    """Say whether a job is of small problems, polished, or of the fastest peer."""
    fastest = "polished", "intelex"
    return "solvers" in job or series_of(job["solver"], job["parameters"]) in fastest


def _quick_groups() -> dict[str, list[Job]]:
    """Return a few jobs of each kind."""
    groups = _groups()
    name = "T-shirt or shirt"
    small = [{**job, "turns": 3, "seconds": 0.5} for job in _small_jobs(["moons 100"])]
    chosen = {
        name: [job for job in groups[name] if job["setting"].endswith(("0.01", "0.1"))],
        "small": small,
        "start": groups["start"][::3],
        "cache": groups["cache"][2:4],
    }
    few = {"n_samples": 600, "repeats": 1}
    return {group: [{**job, **few} for job in jobs] for group, jobs in chosen.items()}


def series_of(solver: str, parameters: dict[str, Any]) -> str:
    """Name the series that a run of a solver belongs to."""
    if solver == "kpegasos":
        return "polished" if parameters.get("polish") else "plain"
    return "SVC" if solver == "scikit-learn" else "intelex"


def _rows(group: str, job: Job, result: Any) -> list[Row]:
    """Put the head of a job before each of its results; a run that was given up has none."""
    head = {"group": group, "problem": job["problem"], "dtype": job["dtype"]}
    pairs = zip(job["solvers"], result, strict=True) if "solvers" in job else [(job, result)]
    return [
        {
            **head,
            "series": series_of(each["solver"], each["parameters"]),
            "setting": each["setting"],
            "ablation": job.get("ablation", ""),
            **found,
        }
        for each, found in pairs
        if found
    ]


def _measured(
    context: ExperimentContext, group: str, jobs: list[Job], environment: dict[str, str]
) -> dict[str, list[Row]]:
    """Run the jobs of a group; return their rows."""
    run = work if context.quick else work_apart
    load = None if context.quick else quiet_load()
    given_up: set[tuple[str, ...]] = set()
    table: list[Row] = []
    for job in context.progress(jobs, group):
        series = (job["problem"], job["dtype"], job.get("solver", ""), job.get("ablation", ""))
        if series in given_up:  # which a tighter tolerance does not mend
            continue
        full = {"timeout": _TIMEOUT, **job, "environment": environment}
        result = context.job(group, full, run)
        if not result:
            given_up.add(series)
        table += [{**row, "load": load} for row in _rows(group, job, result)]
    return {"table": table}


def run_groups(
    context: ExperimentContext,
    environment: dict[str, str] | None = None,
    *,
    fastest_only: bool = False,
) -> dict[str, Any]:
    """Run every solver on every problem, in groups.

    Parameters
    ----------
    context : ExperimentContext
        Says which groups to run; the others are taken from the results at hand.
    environment : dict or None, default None
        Variables for the processes that fit.
    fastest_only : bool, default False
        Whether large problems have ours polished and the fastest peer alone.

    Returns
    -------
    dict
        ``table``, a row for each run; ``groups``, where the rows of each come from; ``vectors``
        that our code was compiled for; ``load``, the most at which a group began, if all noted it.
    """
    environment = environment or {}
    groups = _quick_groups() if context.quick else _groups()
    if fastest_only:
        groups = {name: [job for job in jobs if _is_fastest(job)] for name, jobs in groups.items()}
    work = {
        group: partial(_measured, context, group, jobs, environment)
        for group, jobs in groups.items()
    }
    found = context.groups(work, on_request="slow")
    table = found["table"]
    judge_all(table)
    used = [row.pop("vectors") for row in table if "vectors" in row]
    loads = [row.get("load") for row in table]
    return {
        "seeds": [0],
        "vectors": used[0] if used else context.previous.get("vectors"),
        "environment": environment,
        "groups": found["groups"],
        "load": None if None in loads else max(loads, default=None),
        "table": table,
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every solver on every problem, in groups; quick runs with the vectors there are."""
    held = not context.quick and "AVX-512" in vectors()
    return run_groups(context, AVX2 if held else {})


# Levels of suboptimality


def judge_all(rows: list[Row]) -> None:
    """Add to each row how far it is from the best bound of its problem, relative to that.

    Parameters
    ----------
    rows : list of dict
        Runs with ``problem``, ``series``, and, if judged, ``objective`` and ``dual_bound``; they
        get ``suboptimality``.
    """
    bounds: dict[tuple[str, bool], float] = {}
    for row in rows:
        key = _objective_of(row)
        bounds[key] = max(bounds.get(key, -math.inf), row.get("dual_bound") or -math.inf)
    for row in rows:
        if row.get("objective") is not None:
            bound = bounds[_objective_of(row)]
            row["suboptimality"] = (row["objective"] - bound) / bound


def _objective_of(row: Row) -> tuple[str, bool]:
    """Tell which objective a run minimises: of which problem, and whether its intercept is free."""
    return row["problem"], row["series"] in PEERS or row.get("ablation") == "free"


def at_level(rows: list[Row], level: float) -> Row | None:
    """Return the cheapest run of a series that reaches a level of suboptimality; None if none does.

    Parameters
    ----------
    rows : list of dict
        Runs with ``fit_seconds`` and ``suboptimality``.
    level : float
        Suboptimality asked for.

    Returns
    -------
    dict or None
    """
    reaching = [row for row in _judged(rows) if row["suboptimality"] <= level]
    return min(reaching, key=itemgetter("fit_seconds"), default=None)


def _judged(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("suboptimality") is not None]


def curves(rows: list[Row]) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """Sort the runs that make curves by problem and dtype, and by series within."""
    runs = grouped([row for row in rows if not row.get("ablation")], "problem", "dtype")
    return {key: grouped(own, "series") for key, own in runs.items()}


def runs_at_levels(rows: list[Row]) -> list[Row]:
    """Return the run of every series of every problem for every level that it reaches.

    Parameters
    ----------
    rows : list of dict
        Judged runs.

    Returns
    -------
    list of dict
        Runs with their ``level``. Those of a peer have ``ours_times_faster`` and ``lead``, where
        ours reaches as much: 1 if ours is ahead beyond the noise, −1 if behind, else 0.
    """
    found = []
    for all_series in curves(rows).values():
        for level in LEVELS:
            for name, runs in all_series.items():
                run = at_level(runs, level)
                if run is None:
                    continue
                row = {**run, "level": level}
                cheapest = min(_judged(runs), key=itemgetter("fit_seconds"))
                got = max(run["suboptimality"], FLOOR) if run is cheapest else level
                ours = at_level(all_series.get("polished", []), min(level, got))
                if name in PEERS and ours is not None:
                    row["ours_times_faster"] = run["fit_seconds"] / ours["fit_seconds"]
                    row["lead"] = _lead(ours, run)
                found.append(row)
    return found


def _lead(ours: Row, theirs: Row) -> int:
    return beats(ours, theirs, "fit_seconds") - beats(theirs, ours, "fit_seconds")


def representative(rows: list[Row], level: float) -> Row:
    """Return the run of a series that prediction and memory are told of: the one at a level.

    It is the cheapest that reaches the level, or else the tightest.
    """
    tightest = min(rows, key=lambda row: float(row.get("suboptimality") or math.inf))
    return at_level(rows, level) or tightest


# The figure

#: Method whose look a series has, which is also its short name but for LIBSVM.
_LOOKS = {"polished": "polished", "plain": "Pegasos", "intelex": "intelex", "SVC": "SVC"}
_SHORT = {**_LOOKS, "SVC": "LIBSVM"}
_COLUMNS = 3
#: The level that titles and the README speak of.
LEVEL = 1e-3
_SMALLEST = 2e-6
#: The type of the data of the large problems, and of the small ones.
_LARGE, _FINE = "float32", "float64"


def _finding(levels: list[Row], problems: list[str]) -> str:
    """What the large problems say at equal accuracy."""
    found = []
    for peer in PEERS:
        rows = select(levels, series=peer, level=LEVEL, dtype=_LARGE)
        known = [row for row in rows if "ours_times_faster" in row and row["problem"] not in SMALL]
        if ratios := sorted(row["ours_times_faster"] for row in known):
            ahead = sum(row["lead"] > 0 for row in known)
            spread = " to ".join(dict.fromkeys(map(plots.times, (ratios[0], ratios[-1]))))
            mixed = 0 < ahead < len(ratios)
            of = f" (ahead on {ahead} of {len(ratios)})" if mixed else ""
            found.append(f"{spread} times as fast as {_SHORT[peer]}{of}")
    if not found:
        return f"Seconds to a relative suboptimality of {LEVEL:.1%}"
    where = f" on {problems[0]}" if len(problems) == 1 else ""
    return f"At equal accuracy, {LEVEL:.1%}, polished Pegasos is {', '.join(found)}{where}"


def _curve(ax: plots.Axes, problem: str, all_series: dict[str, Any], levels: list[Row]) -> None:
    """Relative suboptimality of the runs of each series against their seconds."""
    worst = 0.5
    for series, runs in all_series.items():
        judged = sorted(_judged(runs), key=itemgetter("suboptimality"))
        seconds = [row["fit_seconds"] for row in judged]
        above = [max(row["suboptimality"], _SMALLEST) for row in judged]
        look = plots.METHODS[_LOOKS[series]].options(linewidth=1.6, label=_SHORT[series])
        ax.plot(seconds, above, **look)
        worst = max(worst, *above)
    for level in LEVELS:
        ax.axhline(level, color=plots.SILVER, linewidth=0.8, linestyle=":", zorder=0)
    plots.log_log(ax, xlabel=plots.WORDS["fit_seconds"])
    ax.margins(x=0.12)
    ax.set_ylim(_SMALLEST / 1.6, 2 * worst)
    at = {row["series"]: row for row in select(levels, level=LEVEL)}
    speeds = [
        f"{plots.times(at[peer]['ours_times_faster'])} × {_SHORT[peer]}"
        for peer in PEERS
        if "ours_times_faster" in at.get(peer, {})
    ]
    both = "polished" in at and any(peer in at for peer in PEERS)
    none = "peers' runs are more accurate" if both else f"{LEVEL:.1%} not reached by both"
    ax.set_title(f"{problem}\n{', '.join(speeds) or none}", fontsize=10.5)


def _small(ax: plots.Axes, levels: list[Row]) -> None:
    """A line for each small problem, a dot on it for each series."""
    runs: dict[str, dict[str, Row]] = {}
    for row in select(levels, dtype=_FINE, level=LEVEL):
        if row["problem"] in SMALL:
            runs.setdefault(row["problem"], {})[row["series"]] = row
    for height, of_series in enumerate(runs.values()):
        values = {series: 1e3 * row["fit_seconds"] for series, row in of_series.items()}
        ends = [min(values.values()), max(values.values())]
        ax.plot(ends, [height] * 2, color=plots.SILVER)
        for series, value in values.items():
            ax.plot(value, height, **plots.METHODS[_LOOKS[series]].options(linestyle="none"))
    plots.rows_down(ax, list(runs), fontsize=9)
    plots.log_x(ax, xlabel=f"milliseconds to {LEVEL:.1%}")
    compared = [of for of in runs.values() if {"polished", "SVC"} <= set(of)]
    ahead = sum(beats(of["polished"], of["SVC"], "fit_seconds") for of in compared)
    title = f"small problems, {_FINE}\nahead of LIBSVM: {ahead} of {len(compared)}"
    # The names of the problems leave room to the left.
    ax.set_title(title, fontsize=10.5, loc="right")


def plot(results: dict[str, Any]) -> plots.Figure:
    """Suboptimality against seconds for each large problem, and a panel for the small ones."""
    levels = runs_at_levels(results["table"])
    large = {
        problem: all_series
        for (problem, dtype), all_series in curves(results["table"]).items()
        if problem not in SMALL and dtype == _LARGE
    }
    has_small = any(row["problem"] in SMALL for row in levels)
    number = len(large) + has_small
    n_columns = 2 if number == 4 or (number > _COLUMNS and number % _COLUMNS) else _COLUMNS
    n_rows = max(1, -(-number // n_columns))
    figure, grid = plots.panels(n_rows, min(n_columns, max(1, number)), 2.5 * n_rows + 1.1)
    axes = list(grid.flat)
    for ax, (problem, all_series) in zip(axes, large.items(), strict=False):
        _curve(ax, problem, all_series, select(levels, problem=problem, dtype=_LARGE))
        for row in chain(*all_series.values()):
            if row.get("suboptimality") is not None:
                height, ends = max(row["suboptimality"], _SMALLEST), range_of(row, "fit_seconds")
                color = plots.METHODS[_LOOKS[row["series"]]].color
                ax.hlines(height, *ends, color=color, linewidth=4, alpha=0.35)
    if has_small:
        _small(axes[len(large)], levels)
        plots.apart(axes[len(large)])
    for ax in axes[number:]:
        ax.set_axis_off()
    for row in grid:
        row[0].set_ylabel(plots.WORDS["relative_suboptimality"] if large else "")
    used = ", ".join(results.get("vectors") or [])
    at = select(levels, level=LEVEL, dtype=_LARGE)
    leads = [row["lead"] for row in at if "lead" in row and row["problem"] not in SMALL]
    never = "never clearly slower" if min(leads, default=0) >= 0 else "not always fastest"
    often = "fastest" if min(leads, default=0) > 0 else never
    return plots.state(
        figure,
        f"Polished Pegasos is {often} on large problems: {_finding(levels, list(large))}",
        f"RBF kernel; large problems in {_LARGE}, median seconds of the whole fit, pale: the "
        "range; each mark is a tolerance or a number of epochs. Above the panels: speed against "
        f"peers at {LEVEL:.1%}; ahead: medians 5% apart, ranges that do not meet"
        + (f". Vectors of the processor: {used}." if used else "."),
    )


# Tables in Markdown. Ours is bold where it is ahead of every peer at equal suboptimality, and a
# ratio where ours is ahead of that peer, beyond the noise; nothing else is.

_FIT = "fit (least to most)"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def fit_rows(
    results: dict[str, Any], levels: Sequence[float], *, show_level: bool = True
) -> tuple[list[str], list[list[str]]]:
    """Return seconds to each level, and how many times faster polished runs are than each peer.

    Where the cheapest run of a peer has less than the level, the ratio is that at what it has.

    Parameters
    ----------
    results : dict
        Results of `benchmark_kernel`.
    levels : sequence of float
        The levels of suboptimality.
    show_level : bool, default True
        Whether a column names the level.

    Returns
    -------
    tuple of (list of str, list of list of str)
        The headings, and the cells of each row.
    """
    rows, runs = [], runs_at_levels(results["table"])
    for problem, dtype in curves(results["table"]):
        for level in levels:
            at = select(runs, problem=problem, dtype=dtype, level=level)
            seconds = {row["series"]: row["fit_seconds"] for row in at}
            compared = {row["series"]: row for row in at if "lead" in row}
            leads = [row["lead"] for row in compared.values()]
            cells = [duration(seconds.get(name)) for name in SERIES]
            cells[0] = bold(cells[0], when=min(leads, default=0) > 0)
            for row in (compared.get(peer, {}) for peer in PEERS):
                ratio = _ratio(row.get("ours_times_faster"))
                cells.append(bold(ratio, when=row.get("lead", 0) > 0))
            rows.append([problem, dtype, *[f"{level:g}"] * show_level, *cells])
    columns = [*["suboptimality"] * show_level, *SERIES.values()]
    return ["problem", "dtype", *columns, *(f"times faster than {SERIES[p]}" for p in PEERS)], rows


def dtype_table(results: dict[str, Any]) -> str:
    """Return the time that float64 takes at the level, in that of float32, for each series."""
    at = {
        (row["problem"], row["dtype"], row["series"]): row["fit_seconds"]
        for row in select(runs_at_levels(results["table"]), level=LEVEL)
    }
    rows = []
    for problem in dict.fromkeys(problem for problem, _, _ in at):
        pairs = [[at.get((problem, f"float{bits}", name)) for bits in (64, 32)] for name in SERIES]
        ratios = [a / b if a and b else None for a, b in pairs]
        if any(ratios):
            rows.append([problem, *map(_ratio, ratios)])
    return markdown(["problem: time in float64 / float32", *SERIES.values()], rows)


def run_table(results: dict[str, Any]) -> str:
    """Return prediction, accuracy, memory and support of each series' run at the level."""
    rows = []
    for (problem, dtype), all_series in curves(results["table"]).items():
        chosen = {
            name: representative(all_series[name], LEVEL) for name in SERIES if name in all_series
        }
        peers = [chosen[peer] for peer in PEERS if peer in chosen]
        for name, row in chosen.items():
            leads = [beats(row, peer, "predict_seconds") for peer in peers]
            ahead = name == "polished" and bool(leads) and all(leads)
            rows.append(
                [
                    problem,
                    dtype,
                    f"{SERIES[name]}, {row['setting']}",
                    _fit(row),
                    _suboptimality(row),
                    bold(duration(row["predict_seconds"]), when=ahead),
                    "–" if row.get("test_accuracy") is None else f"{row['test_accuracy']:.4f}",
                    f"{row['support_vectors']:,}",
                    "–" if row.get("extra_mb") is None else f"{row['extra_mb']:,.0f}",
                ]
            )
    head = ["problem", "dtype", "run", _FIT, "suboptimality", "predict", "test accuracy"]
    return markdown([*head, "support vectors", "memory of the fit, MiB"], rows)


def _fit(row: Row) -> str:
    ends = span(range_of(row, "fit_seconds"), duration)
    return f"{duration(row['fit_seconds'])} ({ends})"


def _suboptimality(row: Row) -> str:
    value = row.get("suboptimality")
    return "–" if value is None else f"{max(value, 0.0):.2g}"


def ablation_table(results: dict[str, Any], name: str, head: str) -> str:
    """Return seconds, kernel values and memory of the runs with other starts or budgets."""
    rows = [
        [
            row["setting"],
            _fit(row),
            f"{row['kernel_evaluations'] / 1e6:,.1f}",
            f"{row['needed_evaluations'] / 1e6:,.1f}",
            _suboptimality(row),
            f"{row['extra_mb']:,.0f}",
        ]
        for row in select(results["table"], ablation=name)
    ]
    heads = [head, _FIT, "kernel values, million", "needed, million", "suboptimality"]
    return markdown([*heads, "memory of the fit, MiB"], rows)


def free_table(results: dict[str, Any]) -> str:
    """Return seconds of the runs that all solve the problem of the peers."""
    runs = select(results["table"], ablation="free")
    return markdown(*fit_rows({"table": [{**row, "ablation": ""} for row in runs]}, LEVELS))


def of_size(results: dict[str, Any], *, small: bool) -> dict[str, Any]:
    """Return the results of the small or of the other problems."""
    chosen = {r["problem"] for r in results["table"] if (r.get("group") == "small") is small}
    return {**results, "table": [row for row in results["table"] if row["problem"] in chosen]}


def tables(results: dict[str, Any]) -> str:
    """Return all tables, each with its title."""
    large, small = (of_size(results, small=small) for small in (False, True))
    parts = {
        "Seconds of `fit` to a suboptimality": markdown(*fit_rows(large, LEVELS)),
        "The same on small problems": markdown(*fit_rows(small, (1e-2, LEVEL))),
        f"What the dtype costs, at {LEVEL:g}": dtype_table(results),
        f"Predictions, accuracy, support and memory of the runs at {LEVEL:g}": run_table(large),
        "Starts: how much Pegasos does before dual ascent": ablation_table(large, "start", "start"),
        "The identical problem: a free intercept": free_table(results),
        "Budgets of kernel rows": ablation_table(large, "cache", "run, budget in MiB"),
    }
    return "\n\n".join(f"**{title}**\n\n{text}" for title, text in parts.items() if text)


def told(results: dict[str, Any]) -> str:
    """Say how often ours is ahead at the level, and what memory it takes."""
    sentences = []
    for peer in PEERS:
        found = []
        for words, small in (("larger", False), ("small", True)):
            runs = runs_at_levels(of_size(results, small=small)["table"])
            rows = [row for row in select(runs, level=LEVEL, series=peer) if "lead" in row]
            if own := [row["ours_times_faster"] for row in rows]:
                ahead, behind = (len(select(rows, lead=sign)) for sign in (1, -1))
                found.append(
                    f"ahead on {ahead} of {len(own)} {words} cases and behind on {behind} "
                    f"({span(own)} times as fast)"
                )
        if found:
            sentences.append(f"Beside {SERIES[peer]}, `polish=True` is {'. It is '.join(found)}.")
    memory = []
    for all_series in curves(results["table"]).values():
        if {"polished", "intelex"} <= set(all_series):
            ours, theirs = (representative(all_series[n], LEVEL) for n in ("polished", "intelex"))
            if ours.get("peak_mb") and theirs.get("peak_mb"):
                memory.append(ours["peak_mb"] / theirs["peak_mb"])
    if memory:
        sentences.append(f"Its process peaks at {span(memory)} times the memory of intelex's.")
    return " ".join(sentences)
