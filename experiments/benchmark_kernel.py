"""Seconds of kernel SVMs at equal suboptimality: PegasosSVC and every other SVC.

Every solver runs a ladder of tolerances (pure Pegasos: of epochs) on each problem, with the same
budget for kernel rows, and with all vectors of the processor. A run has a process of its own, a
warm-up outside the clock, and three fits, of which the median counts, or fewer that take a minute;
runs of different solvers alternate. On small problems the solvers take turns in one process, many
times. A solver is ahead of another where the ranges of their fits do not overlap and the medians
differ by a twentieth. Each model is judged by the objective that its solver minimises, against the
best dual bound of that (see below), and seconds are compared where the relative suboptimality is
equal.

Runs of one solver on one problem that differ in how far they go make a series. The seconds of a
series at a level are those of its cheapest run that reaches it. Where a peer's is its cheapest of
all, ours is compared with it at the suboptimality that it has.

The problems that solvers set out to solve differ in the intercept alone. Ours has it as the weight
of a constant feature and penalises its square; `SVC` leaves it free. A model is judged as it stands
by the objective of its own problem, and its suboptimality is the distance to a lower bound of that
problem's optimum: ours to our certified dual bound, the peers' to the objective of their dual,
which is a bound because their coefficients satisfy the equality constraint (to rounding). Numbers
are means over the pairs of classes. For comparison a peer is also judged by our objective, with the
intercept that is best there.

`SVC` works in float64 whatever it is given, so it is run on one dtype of the larger problems, and
not on Fashion-MNIST, where a fit takes five minutes. Covertype grows to all of its rows, of which
ours alone is run. Install the peers with ``pip install kpegasos[bench]``. Beside the results lie
those of a processor with AVX2, of an earlier version.
"""

from __future__ import annotations

import importlib.util
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain, combinations, zip_longest
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import gen_batches

from experiments import _plots as plots
from experiments._data import (
    COVERTYPE,
    SMALL,
    Memory,
    Task,
    apart,
    hinge_objective,
    load_task,
    timed,
    touch_memory,
)
from experiments._results import (
    Row,
    document,
    duration,
    exponent,
    grouped,
    markdown,
    percent,
    ranged,
    select,
    slope,
    span,
)
from experiments._run import ROOT, Context, vectors
from kpegasos import RBF, PegasosSVC

#: MiB for kernel rows, the same for all.
CACHE_MB = 1024
#: Seconds after which pure Pegasos stops, and after which a process with its fits is given up.
_MAX_TIME, _TIMEOUT = 30.0, 2400.0
_LADDER = (1e-1, 1e-2, 1e-3, 1e-4)
_GAPS = _LADDER[1:]
_FINE = (*_GAPS, 3e-5, 1e-5)
#: Problem: dtype: tolerances of ours, the certified relative gap, of intelex and of SVC. Theirs
#: bound the violation at each example, so that large C needs smaller ones; where a problem takes
#: long, those that reach no level are left.
_LADDERS: dict[str, dict[str, tuple[tuple[float, ...], ...]]] = {
    "Fashion-MNIST": {"float32": (_GAPS, (1e-2, 1e-3), ())},
    "T-shirt or shirt": {
        "float32": (_GAPS, _LADDER, (1e-2,)),
        "float64": (_GAPS[:2], _LADDER[:2], ()),
    },
    "MNIST 8": {"float32": (_GAPS, _LADDER[:3], ())},
    "Adult": {"float32": (_GAPS, _LADDER, (1e-2,)), "float64": (_GAPS[:2], _LADDER[:2], ())},
    COVERTYPE[20_000]: {
        "float32": (_FINE, _LADDER, (1e-1, 1e-3)),
        "float64": (_GAPS[:2], _LADDER[:2], ()),
    },
    COVERTYPE[50_000]: {"float32": (_FINE, _LADDER[:2], ())},
    COVERTYPE[100_000]: {"float32": (_FINE, _LADDER[:2], ())},
    COVERTYPE[561_012]: {"float32": (_GAPS[:1], (), ())},
    "Covertype, C = 10": {"float32": (_GAPS, _LADDER[1:], (1e-2, 1e-4))},
    "Covertype, C = 100": {"float32": (_GAPS, (*_LADDER[1:], 1e-5), (1e-3, 1e-5))},
}
#: Those that pure Pegasos gets near the optimum of.
_FOR_PLAIN = ("Fashion-MNIST", "T-shirt or shirt", "MNIST 8", "Adult", COVERTYPE[20_000])
#: Series, in the order of tables and legends; the first is ours for comparisons.
SERIES = {
    "polished": "PegasosSVC(polish=True)",
    "plain": "PegasosSVC()",
    "intelex": "intelex SVC",
    "SVC": "scikit-learn SVC",
}
SOLVERS = {"intelex": "scikit-learn-intelex", "SVC": "scikit-learn"}
PEERS = tuple(SOLVERS)


# Judgement and measurement


def expansion(gamma: float, X: np.ndarray, support: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Compute Σ_j coefs_j k(x, x_j) for every row of X, in blocks of bounded memory."""
    kernel = RBF(gamma)
    blocks = gen_batches(X.shape[0], 512)
    return np.concatenate([kernel.block(X[block], support) @ coefs for block in blocks])


def pairs_of(model: Any) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
    """Yield the two classes of each pair, which support vectors it has, and their coefficients."""
    of_class = np.repeat(np.arange(model.classes_.size), model.n_support_)
    dual_coef = np.asarray(model.dual_coef_, dtype=float)
    for i, j in combinations(range(model.classes_.size), 2):
        # Row j - 1 has the coefficients of class i against j, row i those of j against i.
        coefs = np.where(of_class == i, dual_coef[j - 1], 0.0)
        coefs = np.where(of_class == j, dual_coef[i], coefs)
        used = np.flatnonzero(coefs)
        yield (i, j), used, coefs[used]


def _at_best_intercept(y: np.ndarray, f: np.ndarray, squared_norm: float, lam: float) -> float:
    """Our objective at the intercept that is best there."""

    def objective(intercept: float) -> float:
        return hinge_objective(y, f + intercept, squared_norm + intercept**2, lam)

    reach = 1.0 + float(np.abs(f).max(initial=0.0))
    options = {"xatol": 1e-9}
    best = minimize_scalar(objective, bounds=(-reach, reach), method="bounded", options=options)
    return float(best.fun)


def judge(model: Any, task: Task) -> Row:
    """Judge a model of `SVC`, or of ours.

    Parameters
    ----------
    model : PegasosSVC or SVC
        A fitted model with the task's Gaussian kernel.
    task : Task
        What it was fitted on.

    Returns
    -------
    dict
        ``objective`` and ``dual_bound`` of its own problem, and ``our_objective`` at the intercept
        that is best there.
    """
    if isinstance(model, PegasosSVC):
        own = float(np.mean(model.objective_))
        bound = own - float(np.mean(model.duality_gap_))
        return {"objective": own, "dual_bound": bound, "our_objective": own}
    labels = np.searchsorted(model.classes_, task.y)
    sign_of_first = 1.0 if model.classes_.size > 2 else -1.0
    found: dict[str, list[float]] = {"objective": [], "dual_bound": [], "our_objective": []}
    for number, ((i, j), used, coefs) in enumerate(pairs_of(model)):
        members, support = np.flatnonzero((labels == i) | (labels == j)), model.support_[used]
        f = expansion(task.gamma, task.X[members], task.X[support], coefs)
        squared_norm = float(coefs @ f[np.searchsorted(members, support)])
        y = np.where(labels[members] == i, sign_of_first, -sign_of_first)
        lam = 1.0 / (task.C * y.size)
        intercept = float(np.ravel(model.intercept_)[number])
        found["objective"].append(hinge_objective(y, f + intercept, squared_norm, lam))
        found["dual_bound"].append(lam * (float(np.abs(coefs).sum()) - squared_norm / 2))
        found["our_objective"].append(_at_best_intercept(y, f, squared_norm, lam))
    return {name: float(np.mean(values)) for name, values in found.items()}


#: Fits whose median and range are told, unless they take so long; those that take turns are more.
_FITS, _LONG = 3, 60.0
_TURNS, _SECONDS = 25, 0.4
#: Examples that a solver is warmed up on.
_WARM_UP = 3000


def installed() -> list[str]:
    """Names of the solvers that can be run here."""
    peers = ["kpegasos", "scikit-learn"]
    return peers + ["scikit-learn-intelex"] * (importlib.util.find_spec("sklearnex") is not None)


def _make_model(task: Task, *, solver: str, parameters: Row, **_: Any) -> Any:
    if solver == "kpegasos":
        return PegasosSVC(task.C, gamma=task.gamma, random_state=0, **parameters)
    if solver == "scikit-learn-intelex":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    return SVC(C=task.C, gamma=task.gamma, **parameters)


def measure(job: Row) -> list[Row]:
    """Fit and predict in turns, and judge the models.

    Parameters
    ----------
    job : dict
        ``problem``; ``solvers``, each with ``solver`` and ``parameters``; optionally ``n_samples``,
        ``dtype`` (float32 by default), ``C`` and ``turns``. A solver alone has three turns and its
        memory weighed, several have many.

    Returns
    -------
    list of dict
        Seconds (median, least, most), memory in MiB, accuracy, support, and judgement of each.
    """
    warnings.simplefilter("ignore")
    task = load_task(job["problem"], job.get("n_samples"), job.get("dtype", "float32"))
    task, few = task._replace(C=job.get("C", task.C)), min(_WARM_UP, len(task.y))
    solvers = job["solvers"]
    alone = len(solvers) == 1
    least, limit = (1, _LONG) if alone else (_FITS, _SECONDS)
    rows: list[Row] = [{} for _ in solvers]
    spent: list[list[list[float]]] = [[[], []] for _ in solvers]
    for each in solvers:
        _make_model(task, **each).fit(task.X[:few], task.y[:few]).predict(task.X[:100])
    for _ in range(job.get("turns", _FITS if alone else _TURNS)):
        for row, (fits, predictions), each in zip(rows, spent, solvers, strict=True):
            if len(fits) >= least and sum(fits) > limit:
                continue
            touch_memory(2048 if len(task.y) > _WARM_UP else 0)
            model = _make_model(task, **each)
            with Memory() if alone and not fits else nullcontext() as memory:
                seconds, _ = timed(model.fit, task.X, task.y)
            row |= memory.columns() if memory else {}
            took, predicted = timed(model.predict, task.X_test)
            fits.append(seconds)
            predictions.append(took)
            row["model"], row["predicted"] = model, predicted
    for row, (fits, predictions) in zip(rows, spent, strict=True):
        model, predicted = row.pop("model"), row.pop("predicted")
        row |= ranged("fit_seconds", fits) | ranged("predict_seconds", predictions)
        right = None if task.y_test is None else float(np.mean(predicted == task.y_test))
        row |= {"test_accuracy": right, "support_vectors": int(model.support_.size)}
        row |= judge(model, task) | {"vectors": vectors()}
    return rows


# Jobs


def _job(series: str, setting: str, **parameters: Any) -> Row:
    solver = SOLVERS.get(series, "kpegasos")
    return {"solver": solver, "series": series, "setting": setting, "parameters": parameters}


def _ladder(series: str, tolerances: tuple[float, ...], **parameters: Any) -> list[Row]:
    if SOLVERS.get(series, "kpegasos") not in installed():
        return []
    own: Row = {"polish": True} if series == "polished" else {"cache_size": CACHE_MB}
    return [_job(series, f"tol = {tol:g}", tol=tol, **own, **parameters) for tol in tolerances]


def _alternating(*lists: list[Row]) -> list[Row]:
    """Take the first of each list, then the second of each, and so on."""
    return [job for job in chain(*zip_longest(*lists)) if job]


def _jobs(name: str) -> list[Row]:
    """Return the runs on a large problem."""
    limited: Row = {"max_time": _MAX_TIME, "cache_mb": CACHE_MB}
    plain = [
        _job("plain", "5 epochs", epochs=5, **limited),
        _job("plain", "as it comes", **limited),
    ]
    jobs = []
    for dtype, (ours, intelex, svc) in _LADDERS[name].items():
        mixed = _alternating(
            _ladder("polished", ours, cache_mb=CACHE_MB),
            _ladder("intelex", intelex),
            _ladder("SVC", svc),
            plain if dtype == "float32" and name in _FOR_PLAIN else [],
        )
        head = {"problem": name, "dtype": dtype, "timeout": _TIMEOUT}
        jobs += [{**head, "solvers": [job]} for job in mixed]
    return jobs


def _small_jobs() -> list[Row]:
    """One job for all solvers of a problem and dtype, ours with the parameters that users have."""
    epochs = [_job("plain", f"{n} epochs", epochs=n) for n in (5, 100)]
    solvers = _alternating(
        [_job("plain", "as it comes"), *epochs],
        _ladder("polished", _LADDER),
        _ladder("SVC", _LADDER),
        _ladder("intelex", _LADDER),
    )
    return [
        {"problem": name, "dtype": dtype, "solvers": solvers}
        for name in SMALL
        for dtype in ("float64", "float32")
    ]


def _limit() -> float:
    """Measure kernel values a second: products of 54 features by BLAS, the map on all cores."""
    left, right = np.random.default_rng(0).standard_normal((2, 1024, 54), dtype=np.float32)
    norms = [np.square(rows).sum(axis=1) for rows in (left, right)]
    values, seconds = np.empty((1024, 1024), np.float32), []
    for _ in range(50):
        product, _ = timed(np.matmul, left, right.T, out=values)
        mapped, _ = timed(RBF(0.1).apply, values, *norms)
        seconds.append(product + mapped / (os.cpu_count() or 1))
    return values.size / min(seconds)


def compute(context: Context) -> dict[str, Any]:
    """Run every solver on every problem."""
    large = [job for name in _LADDERS for job in _jobs(name)]
    jobs, work = [*_small_jobs(), *large], measure if context.quick else None
    if context.quick:
        few = {"n_samples": 600, "turns": 1}
        jobs = [{**job, **few} for job in (jobs[0], *_jobs("T-shirt or shirt")[:3])]
    table: list[Row] = []
    for number, job in enumerate(jobs):
        key = f"{number} {job['problem']}"
        found = context.part(key, work, job) if work else context.part(key, apart, measure, job)
        for each, result in zip(job["solvers"], found, strict=False):  # none if it was given up
            head = {"problem": job["problem"], "dtype": job["dtype"]}
            table.append({**head, **{k: each[k] for k in ("series", "setting")}, **result})
    _judge(table)
    used = [row.pop("vectors") for row in table]
    limit = context.part("limit", _limit)
    return {"vectors": used[0], "values_a_second": limit, "table": table}


def _judge(rows: list[Row]) -> None:
    """Add to each row how far it is from the best bound of its problem, relative to that.

    Problems differ by whether the intercept is free, as the peers' is.
    """
    bounds: dict[tuple[str, bool], float] = {}
    for row in rows:
        key = row["problem"], row["series"] in PEERS
        bounds[key] = max(bounds.get(key, -math.inf), row["dual_bound"])
    for row in rows:
        bound = bounds[row["problem"], row["series"] in PEERS]
        row["suboptimality"] = (row["objective"] - bound) / bound


LEVELS = (1e-2, 1e-3, 1e-4)
#: The level that figure and README speak of.
LEVEL = 1e-3


LOOKS = {"polished": "polished", "plain": "Pegasos", "intelex": "intelex", "SVC": "SVC"}


def plot(results: dict[str, Any]) -> plots.Figure:
    """A line for each problem, a dot on it for each series; below, Covertype as it grows."""
    figure = plots.plt.figure(figsize=(plots.WIDTH, 8.2))
    axes: Any = figure.subplot_mosaic([["large", "small"], ["growth"] * 2], height_ratios=[3, 2])
    for size, dtype in (("large", "float32"), ("small", "float64")):
        ax, rows = axes[size], select(at_levels(results, LEVEL, small=size == "small"), dtype=dtype)
        rows = [row for row in rows if any(row.get(name) for name in SERIES)]
        for height, row in enumerate(rows):
            runs = [(name, row[name]["fit_seconds"]) for name in SERIES if row.get(name)]
            seconds = [value for _, value in runs]
            ax.plot(seconds, [height] * len(seconds), color=plots.SILVER, zorder=0)
            for name, value in runs:
                style = plots.METHODS[LOOKS[name]].style(linestyle="none", markersize=7)
                ax.plot(value, height, **style)
        plots.rows_down(ax, [row["problem"] for row in rows], fontsize=9.5)
        plots.log_x(ax, xlabel=plots.SECONDS, title=f"{size}, {dtype}")
    axes["large"].set_xlim(1, 200)
    _draw_growth(axes["growth"], results)
    return plots.state(
        figure,
        "Seconds of kernel SVMs at equal suboptimality",
        f"RBF kernel; median seconds of the whole fit to a relative suboptimality of {LEVEL:.1%} "
        f"(below: {LEVELS[0]:.0%}), by the fastest run that reaches it. Limit: each support "
        f"vector's kernel row once, as fast as this processor can. "
        f"Vectors: {'/'.join(results['vectors'])}.",
    )


def growth(results: Row) -> list[tuple[int, Row]]:
    """Return runs on Covertype in float32 at the first level, by the number of examples."""
    large = select(at_levels(results, LEVELS[0], small=False), dtype="float32")
    rows = {row["problem"]: row for row in large}
    return [(n, rows[name]) for n, name in COVERTYPE.items() if name in rows]


def _draw_growth(ax: Any, results: Row) -> None:
    rows = growth(results)
    if not rows:  # of a small version
        return
    for name in ("polished", *PEERS):
        runs = [(n, row[name]["fit_seconds"]) for n, row in rows if row.get(name)]
        ax.plot(*zip(*runs, strict=True), **plots.METHODS[LOOKS[name]].style(markersize=7))
    least = [
        (n, n * row["polished"]["support_vectors"] / results["values_a_second"]) for n, row in rows
    ]
    ax.plot(*zip(*least, strict=True), color=plots.SILVER, linestyle=":", label="limit")
    names = [f"{n:,}" for n, _ in rows]
    plots.log_log(ax, xlabel="examples", ylabel=plots.SECONDS, title="Covertype, float32")
    ax.set_xticks([n for n, _ in rows], names)


def at_level(rows: list[Row], level: float) -> Row | None:
    """Return the cheapest run of a series that reaches a level of suboptimality; None if none."""
    reaching = [row for row in rows if row["suboptimality"] <= level]
    return min(reaching, key=itemgetter("fit_seconds"), default=None)


def beats(one: Row, other: Row) -> bool:
    """Say whether seconds are less by a twentieth, and their ranges do not overlap."""
    apart = bool(one["fit_seconds_max"] < other["fit_seconds_min"])
    return apart and bool(other["fit_seconds"] >= 1.05 * one["fit_seconds"])


def at_levels(results: Row, level: float, *, small: bool) -> list[Row]:
    """Return the runs of each series at a level, a row for each problem and dtype.

    Returns
    -------
    list of dict
        ``problem``, ``dtype``, and the run of each series; under ``"times"`` how many times ours a
        peer takes, and under ``"lead"`` 1 if ours is ahead beyond the noise, −1 if behind, else 0.
    """
    rows = []
    for (problem, dtype), own in grouped(results["table"], "problem", "dtype").items():
        row: Row = {"problem": problem, "dtype": dtype, "times": {}, "lead": {}}
        series = grouped(own, "series")
        for name, runs in series.items():
            run = row[name] = at_level(runs, level)
            if name not in PEERS or run is None:
                continue
            # Where the cheapest run of a peer has less than the level, ours must have as much.
            cheapest = min(runs, key=itemgetter("fit_seconds"))
            got = max(run["suboptimality"], 1e-7) if run is cheapest else level
            ours = at_level(series["polished"], min(level, got))
            if ours is not None:
                row["times"][name] = run["fit_seconds"] / ours["fit_seconds"]
                row["lead"][name] = beats(ours, run) - beats(run, ours)
        rows += [row] * ((problem in SMALL) is small)
    return rows


def _cells(row: Row, series: tuple[str, ...]) -> list[str]:
    """Return seconds of each series, ours bold where it leads, and ratios to the peers."""
    seconds = [duration(row[name]["fit_seconds"]) if row.get(name) else "–" for name in series]
    if row["lead"] and min(row["lead"].values()) > 0:
        seconds[0] = f"**{seconds[0]}**"
    for peer in PEERS:
        times = row["times"].get(peer)
        text = "–" if times is None else f"{times:.{2 if times < 10 else 0}f}"
        seconds.append(f"**{text}**" if row["lead"].get(peer, 0) > 0 else text)
    return seconds


def _fit_table(results: Row, levels: tuple[float, ...], *, small: bool) -> str:
    series = tuple(SERIES)
    rows = [
        [row["problem"], row["dtype"], f"{level:g}", *_cells(row, series)]
        for level in levels
        for row in at_levels(results, level, small=small)
    ]
    times = [f"times faster than {SERIES[peer]}" for peer in PEERS]
    head = ["problem", "dtype", "suboptimality", *SERIES.values(), *times]
    return markdown(head, sorted(rows, key=itemgetter(0, 1)))


def _run_table(results: Row) -> str:
    """Return prediction, accuracy, memory and support of each series' run at the level."""
    rows = []
    for row in select(at_levels(results, LEVEL, small=False), dtype="float32"):
        for name in SERIES:
            if run := row.get(name):
                accuracy, ends = run["test_accuracy"], span(_range(run), duration)
                rows.append([
                    *(row["problem"], f"{SERIES[name]}, {run['setting']}"),
                    f"{duration(run['fit_seconds'])} ({ends})",
                    *(duration(run["predict_seconds"]), percent(accuracy, 2)),
                    *(f"{run['support_vectors']:,}", f"{run['extra_mb']:,.0f}"),
                ])  # fmt: skip
    head = ["problem", "run", "fit (least to most)", "predict", "test accuracy"]
    return markdown([*head, "support vectors", "memory of the fit, MiB"], rows)


def _range(run: Row) -> tuple[float, float]:
    return run["fit_seconds_min"], run["fit_seconds_max"]


def tables(results: dict[str, Any]) -> str:
    """Return all tables, each with its title."""
    parts = {
        "Seconds of `fit` to a suboptimality": _fit_table(results, LEVELS, small=False),
        "The same on small problems": _fit_table(results, LEVELS[:2], small=True),
        f"Runs at {LEVEL:g}, float32": _run_table(results),
    }
    return "\n\n".join(f"**{title}**\n\n{text}" for title, text in parts.items())


def tables_avx2(_: dict[str, Any]) -> str:
    """Return the seconds on a processor with AVX2, of problems that are still the same."""
    path = ROOT / "experiments" / "results" / "benchmark_kernel_avx2.json"
    results = document(path)["results"]
    table = [row for row in results["table"] if row["problem"] != COVERTYPE[20_000]]
    return _fit_table({**results, "table": table}, (LEVEL,), small=False)


def all_of_covertype(results: dict[str, Any]) -> str:
    """Say how long the largest fit took, and what it is."""
    runs = growth(results)
    n, run = runs[-1][0], runs[-1][1]["polished"]
    power = slope([n for n, _ in runs], [row["polished"]["fit_seconds"] for _, row in runs])
    return (
        f"All of Covertype but 20,000 rows for testing ({n:,} examples) takes "
        f"{run['fit_seconds'] / 60:.0f} minutes to a certified relative gap of "
        f"{percent(run['suboptimality'], 2)}, with {run['support_vectors']:,} support vectors, "
        f"a test accuracy of {percent(run['test_accuracy'])} and "
        f"{run['extra_mb'] / 1024:.1f} GiB of memory. Seconds grow like n to the "
        f"{exponent(power)} from {runs[0][0]:,} examples on."
    )


#: Problems of the README.
SHOWN = (
    "Fashion-MNIST",
    "T-shirt or shirt",
    "MNIST 8",
    "Adult",
    "Covertype, C = 100",
    COVERTYPE[100_000],
)


def readme(results: dict[str, Any]) -> str:
    """Return six of the larger problems in float32; all cases, and all of Covertype."""
    series = ("polished", *PEERS)
    cases = {small: at_levels(results, LEVEL, small=small) for small in (False, True)}
    rows = [
        [row["problem"], *_cells(row, series)]
        for row in select(cases[False], dtype="float32")
        if row["problem"] in SHOWN
    ]
    head = ["problem", *(SERIES[name] for name in series)]
    times = [f"times faster than {SERIES[peer]}" for peer in PEERS]
    counts = []
    for peer in PEERS:
        for small, size in ((False, "larger"), (True, "small")):
            leads = [row["lead"][peer] for row in cases[small] if peer in row["times"]]
            name, ahead, behind = SERIES[peer], leads.count(1), leads.count(-1)
            counts.append(f"{name}, {len(leads)} {size} cases: ahead {ahead}, behind {behind}")
    whole = all_of_covertype(results)
    return f"{markdown([*head, *times], rows)}\n\nAll cases. {'; '.join(counts)}.\n\n{whole}"
