"""Time to the first model: a fresh process with an empty and with a filled compilation cache.

The job is `PegasosSVC().fit` on 500 points of two moons, imports included, timed from outside the
process. "Cold" has no compiled loops on disk, as after installation; "warm" is any later process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import OURS, Claim, duration
from experiments._measure import timed
from experiments._run import ExperimentContext
from experiments._tables import select

FULL_TIME = "2 min"
QUICK_TIME = "10 s"

WARM, COLD = "PegasosSVC().fit, warm", "PegasosSVC().fit, cold"
JOBS = {
    "interpreter and numpy": "import numpy",
    "imports of numba and scikit-learn": "import numba, sklearn.svm",
    "import kpegasos": "import kpegasos",
    WARM: (
        "from sklearn.datasets import make_moons; from kpegasos import PegasosSVC; "
        "PegasosSVC().fit(*make_moons(500, noise=0.2, random_state=0))"
    ),
}


def _seconds(job: str, cache: str) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    return timed(subprocess.run, [sys.executable, "-c", job], env=environment, check=True)[0]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Time each job in fresh processes, in turn."""
    repeats = 1 if context.quick else 7
    seconds: dict[str, list[float]] = {name: [] for name in (*JOBS, COLD)}
    for _ in context.progress(range(repeats), "fresh processes"):
        with tempfile.TemporaryDirectory() as cache:
            seconds[COLD].append(_seconds(JOBS[WARM], cache))
            for name, job in JOBS.items():
                seconds[name].append(_seconds(job, cache))
    table = []
    for name, values in seconds.items():
        ends = {"min_seconds": min(values), "max_seconds": max(values), "repeats": repeats}
        table.append({"job": name, "median_seconds": float(np.median(values)), **ends})
    return {"table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say how long the first model takes."""
    told = []
    for row in results["table"]:
        median, low, high = (duration(row[f"{key}_seconds"]) for key in ("median", "min", "max"))
        told.append(f"{row['job']} {median} ({low} to {high})")
    return [Claim("Time to the first model.", OURS, "; ".join(told) + ".")]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Bars of the medians with the range of the repeats."""
    table = results["table"]
    figure, ((ax,),) = plots.panels(1, 1, 3.4)
    for height, row in enumerate(table):
        median, low, high = (row[f"{key}_seconds"] for key in ("median", "min", "max"))
        ax.barh(height, median, color=plots.BLUE, height=0.62)
        ax.plot([low, high], [height + 0.22] * 2, color=plots.BLACK, linewidth=1.4)
        inside = median > 0.25 * max(row["median_seconds"] for row in table)
        shift, ha, color = (-6, "right", "white") if inside else (6, "left", "black")
        plots.beside(ax, f"{median:.2f} s", (median, height), (shift, 2), ha=ha, color=color)
    plots.rows_down(ax, [row["job"] for row in table])
    ax.set_xlabel("seconds from the start of the process to its end")
    ax.grid(alpha=0.25, axis="x")
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    (warm,), (cold,) = (select(table, job=job) for job in (WARM, COLD))
    imports = max(row["median_seconds"] for row in table if "import" in row["job"])
    imports /= warm["median_seconds"]
    return plots.state(
        figure,
        f"{'Most' if imports > 0.5 else 'Some'} of the first model's seconds are imports: it takes "
        f"{warm['median_seconds']:.1f} s, and {cold['median_seconds']:.1f} s right after "
        f"installation ({cold['min_seconds']:.1f} to {cold['max_seconds']:.1f})",
        f"500 points, median of {table[0]['repeats']} fresh processes; thin lines are the range.",
    )
