"""Time to the first model: a fresh process with an empty and with a filled compilation cache.

The job is `PegasosSVC().fit` on 500 points of two moons, imports included, timed from outside the
process. "Cold" has no compiled loops on disk, as after installation; "warm" is any later process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import OURS, Claim, duration
from experiments._plots import BLUE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "30 s"
QUICK_TIME = "10 s"

JOBS = {
    "interpreter and numpy": "import numpy",
    "imports of numba and scikit-learn": "import numba, sklearn.svm",
    "import kpegasos": "import kpegasos",
    "PegasosSVC().fit, warm": (
        "from sklearn.datasets import make_moons; from kpegasos import PegasosSVC; "
        "PegasosSVC().fit(*make_moons(500, noise=0.2, random_state=0))"
    ),
}
COLD = "PegasosSVC().fit, cold"


def _seconds(job: str, cache: str) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", job], env=environment, check=True)
    return time.perf_counter() - begin


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Time each job in fresh processes, in turn."""
    repeats = 1 if context.quick else 7
    seconds: dict[str, list[float]] = {name: [] for name in (*JOBS, COLD)}
    for _ in context.progress(range(repeats), "fresh processes"):
        with tempfile.TemporaryDirectory() as cache:
            seconds[COLD].append(_seconds(JOBS["PegasosSVC().fit, warm"], cache))
            for name, job in JOBS.items():
                seconds[name].append(_seconds(job, cache))
    table = [
        {
            "job": name,
            "median_seconds": float(np.median(values)),
            "min_seconds": min(values),
            "max_seconds": max(values),
            "repeats": repeats,
        }
        for name, values in seconds.items()
    ]
    return {"table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """How long the first model takes."""
    rows = {row["job"]: row for row in results["table"]}
    told = [
        f"{job} {duration(row['median_seconds'])} ({duration(row['min_seconds'])} to "
        f"{duration(row['max_seconds'])})"
        for job, row in rows.items()
    ]
    return [Claim("Time to the first model.", OURS, "; ".join(told) + ".")]


def plot(results: dict[str, Any]) -> Figure:
    """Bars of the medians with the range of the repeats."""
    import matplotlib.pyplot as plt

    table = results["table"]
    medians = np.array([row["median_seconds"] for row in table])
    below = medians - [row["min_seconds"] for row in table]
    above = np.array([row["max_seconds"] for row in table]) - medians
    figure, ax = plt.subplots(figsize=(9, 3))
    ax.barh([row["job"] for row in table], medians, xerr=[below, above], color=BLUE)
    for position, (median, reach) in enumerate(zip(medians, above, strict=True)):
        ax.text(median + reach + 0.05, position, f"{median:.2f} s", va="center")
    ax.invert_yaxis()
    ax.set_xlabel("seconds from process start to exit (median, range)")
    ax.set_title("Time to the first model")
    ax.margins(x=0.12)
    return figure
