"""Kernel SVMs against the clock: PegasosSVC beside every other SVC that is installed.

Each solver has a process of its own with the same environment, a warm-up outside the clock and
several repetitions, of which the median counts. Accuracy is on the test data; every model is judged
by our objective (`experiments._kernel_peers`), and its suboptimality is the distance to the best
dual bound of our own runs, relative to that bound. Data are dense float32.

Install the peers with ``pip install kpegasos[bench]``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._kernel_peers import in_a_process, installed
from experiments._plots import BLUE, GREEN, PURPLE, VERMILION, legend_below, log_log
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "18 min"
QUICK_TIME = "30 s"

_THREADS = {"n_jobs": -1}
_SMALL = {**_THREADS, "cache_mb": 256}
#: Problem: name and parameters of our runs. The plain ones are pure Pegasos.
OURS: dict[str, dict[str, dict[str, Any]]] = {
    "Fashion-MNIST": {
        "5 epochs": {**_THREADS, "epochs": 5},
        "60 epochs": {**_THREADS, "epochs": 60},
        "60 epochs, shared class blocks": {**_THREADS, "epochs": 60, "cache_mb": 2900},
        "polished to 10%": {**_THREADS, "epochs": 0.5, "polish": True, "tol": 0.1},
        "polished to 1%": {**_THREADS, "epochs": 0.5, "polish": True},
        "polished to 0.1%": {**_THREADS, "epochs": 0.5, "polish": True, "tol": 1e-3},
    },
    **{
        name: {
            "5 epochs": {**_THREADS, "cache_mb": 2048, "epochs": 5},
            "20 epochs": {**_THREADS, "cache_mb": 2048, "epochs": 20},
            "polished to 10%": {**_SMALL, "epochs": 0.5, "polish": True, "tol": 0.1},
            "polished to 1%": {**_SMALL, "epochs": 0.5, "polish": True},
            "polished to 0.1%": {**_SMALL, "epochs": 0.5, "polish": True, "tol": 1e-3},
        }
        for name in ("T-shirt or shirt", "MNIST 8", "Adult")
    },
}
OURS["MNIST 8"] |= {
    "5 epochs, cache 256": {**_SMALL, "epochs": 5},
    "polished to 1%, cache 2048": {
        **_THREADS,
        "cache_mb": 2048,
        "epochs": 0.5,
        "polish": True,
    },
}
_TOLERANCES = (1e-1, 1e-2, 1e-3)
#: scikit-learn's SVC takes minutes, so it is run once, with its default tolerance, and not on all.
_SLOW = "scikit-learn"
_TOO_SLOW = ("MNIST 8",)
COLORS = {"kpegasos": VERMILION, "scikit-learn": BLUE, "scikit-learn-intelex": GREEN}
GRID: dict[str, Any] = {"alpha": 0.3, "which": "both"}
MARKERS = {"kpegasos": "o", "scikit-learn": "s", "scikit-learn-intelex": "^"}
_SIZES = (1000, 2000, 5000, 10_000, 20_000, 40_000)
#: SVC is followed up to here.
_SLOW_SIZE = 10_000


def _jobs(name: str, quick: bool) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = [
        {
            "solver": "kpegasos",
            "setting": setting,
            "parameters": parameters,
            "repeats": 1 if setting in ("20 epochs", "5 epochs, cache 256") else 3,
        }
        for setting, parameters in list(OURS[name].items())[:: 3 if quick else 1]
    ]
    for solver in installed()[1:]:
        slow = solver == _SLOW
        if slow and name in _TOO_SLOW:
            continue
        large = name == "Fashion-MNIST"
        for tol in (1e-3,) if slow or quick else _TOLERANCES[large:]:
            jobs.append(
                {
                    "solver": solver,
                    "setting": f"tol = {tol:g}",
                    "parameters": {"tol": tol},
                    "repeats": 1 if slow else 3,
                }
            )
    if name == "Fashion-MNIST":
        jobs = [job | {"repeats": min(2, job["repeats"])} for job in jobs]
    for job in jobs:
        job["problem"] = name
        if quick:
            job |= {"n_samples": 2000, "repeats": 1}
    return jobs


def _growth_jobs(quick: bool) -> list[dict[str, Any]]:
    polished = {**_THREADS, "epochs": 0.5, "polish": True}
    plain = {**_THREADS, "epochs": 20}
    settings = {"polished to 1%": polished, "20 epochs": plain}
    jobs = []
    for n_samples in _SIZES[:1] if quick else _SIZES:
        common = {"problem": "Fashion-MNIST", "n_samples": n_samples, "judge": False, "repeats": 1}
        for setting, parameters in settings.items():
            jobs.append(
                {**common, "solver": "kpegasos", "setting": setting, "parameters": parameters}
            )
        for solver in installed()[1:]:
            if solver != _SLOW or n_samples <= _SLOW_SIZE:
                jobs.append({**common, "solver": solver, "setting": "", "parameters": {}})
    return jobs


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every solver on every problem, and on growing parts of one."""
    rows = []
    problems = ["T-shirt or shirt"] if context.quick else list(OURS)
    jobs = [job for name in problems for job in _jobs(name, context.quick)]
    for job in context.progress(jobs, "fits"):
        key = f"{job['problem']}, {job['solver']}, {job['setting']}"
        head = {key: job[key] for key in ("problem", "solver", "setting")}
        rows.append(head | context.part(key, partial(in_a_process, job)))
    for name in problems:
        of_problem = select(rows, problem=name)
        bound = max(row["dual_bound"] for row in of_problem if "dual_bound" in row)
        peer = select(of_problem, solver="scikit-learn-intelex")
        slow = select(of_problem, solver=_SLOW)
        for row in of_problem:
            row["suboptimality"] = (row["objective"] - bound) / bound
            for label, others in (("intelex", peer[-1:]), ("scikit_learn", slow)):
                for other in others:
                    row[f"times_faster_than_{label}"] = other["fit_seconds"] / row["fit_seconds"]
    growth = []
    for job in context.progress(_growth_jobs(context.quick), "growing data"):
        key = f"{job['n_samples']}, {job['solver']}, {job['setting']}"
        result = context.part(key, partial(in_a_process, job))
        head = {key: job[key] for key in ("n_samples", "solver", "setting")}
        growth.append(head | {key: result[key] for key in ("fit_seconds", "test_accuracy")})
    return {"seeds": [0], "table": rows, "growth": growth, "exponents": _exponents(growth)}


def _exponents(growth: list[dict[str, Any]]) -> dict[str, float]:
    """Slopes of log seconds against log examples, over the larger sizes."""
    slopes = {}
    for label in dict.fromkeys((row["solver"], row["setting"]) for row in growth):
        points = select(growth, solver=label[0], setting=label[1])
        large = [row for row in points if row["n_samples"] >= 5000] or points
        if len(large) > 1:
            sizes = np.log([row["n_samples"] for row in large])
            seconds = np.log([row["fit_seconds"] for row in large])
            slopes[" ".join(label).strip()] = float(np.polyfit(sizes, seconds, 1)[0])
    return slopes


def _lines(table: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The settings that make one line of the figure: pure Pegasos, polished, each peer."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in table:
        if "," in row["setting"]:
            continue
        label = row["solver"]
        if label == "kpegasos":
            label += ", polish" if row["setting"].startswith("polished") else ", pure Pegasos"
        lines.setdefault(label, []).append(row)
    return lines


def _curves(axes: tuple[Axes, Axes], rows: list[dict[str, Any]]) -> None:
    left, right = axes
    for label, points in _lines(rows).items():
        points = sorted(points, key=lambda row: row["fit_seconds"])
        solver = label.partition(",")[0]
        seconds = [row["fit_seconds"] for row in points]
        style: dict[str, Any] = {
            "color": PURPLE if label.endswith("pure Pegasos") else COLORS[solver],
            "marker": MARKERS[solver],
            "label": label,
        }
        left.plot(seconds, [100 * (1 - row["test_accuracy"]) for row in points], **style)
        right.plot(seconds, [max(row["suboptimality"], 1e-6) for row in points], **style)
    log_log(left, **GRID, ylabel="test error (%)", title=rows[0]["problem"])
    log_log(right, **GRID, ylabel="relative suboptimality")


def plot(results: dict[str, Any]) -> Figure:
    """Test error and suboptimality against seconds, and seconds against examples."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    problems = list(dict.fromkeys(row["problem"] for row in results["table"]))
    figure = plt.figure(figsize=(10, 2.9 * len(problems) + 4.2))
    grid = figure.add_gridspec(len(problems) + 1, 2, height_ratios=[1] * len(problems) + [1.25])
    for number, name in enumerate(problems):
        axes = (figure.add_subplot(grid[number, 0]), figure.add_subplot(grid[number, 1]))
        _curves(axes, select(results["table"], problem=name))
        axes[0].yaxis.set_major_formatter(ScalarFormatter())
        axes[0].yaxis.set_minor_formatter(ScalarFormatter())
        for ax in axes:
            ax.set_xlabel("seconds to fit (median)")
            ax.xaxis.set_major_formatter(ScalarFormatter())
            ax.xaxis.set_minor_formatter(NullFormatter())
        if number == 0:
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    ax = figure.add_subplot(grid[-1, :])
    growth = results["growth"]
    for label in dict.fromkeys((row["solver"], row["setting"]) for row in growth):
        points = select(growth, solver=label[0], setting=label[1])
        slope = results["exponents"].get(" ".join(label).strip(), np.nan)
        ax.plot(
            [row["n_samples"] for row in points],
            [row["fit_seconds"] for row in points],
            marker=MARKERS[label[0]],
            color=PURPLE if "epochs" in label[1] else COLORS[label[0]],
            label=f"{' '.join(label).strip()}: ∝ m^{slope:.2f}",
        )
    log_log(ax, **GRID, xlabel="training images m", ylabel="seconds to fit")
    ax.set_title("Fashion-MNIST, growing (exponents from m = 5,000 on)")
    ax.xaxis.set_major_formatter(ScalarFormatter())
    legend_below(figure, ax, ncols=2, frameon=True)
    return figure
