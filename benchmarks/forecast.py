"""How near the forecast of a fit is: `kpegasos.forecast` beside the fit itself.

``python -m benchmarks.forecast`` goes through the problems of the kernel benchmark and a few on
features. It compiles, makes the forecast, then fits, up to three times where a fit is short, and
takes the median. ``load`` is that of the machine at the end: on a busy one, forecast and fit see
different times. The forecast comes first, in a process of its own for each problem, so that the
memory it finds is as fresh as that of a fit. The rows go to ``benchmarks/results/forecast.csv``,
where ``--only NAME`` replaces those of the problem. Close other programs.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from sklearn.datasets import make_classification

from benchmarks._fits import _text
from benchmarks._measure import machine
from experiments._kernel import PROBLEMS, load
from kpegasos import LinearPegasosSVC, PegasosSVC, forecast

RESULTS = Path(__file__).with_name("results") / "forecast.csv"
#: Settings of the kernel estimator on each problem, as in `experiments.benchmark_kernel`.
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "5 epochs": {"epochs": 5},
    "polished": {"polish": True},
    "polished to 0.001": {"polish": True, "tol": 1e-3},
}
#: Problems of which there are no data here, or whose plain fit takes minutes.
_LEFT_OUT = {"USPS 8"}
_POLISHED_ALONE = {"Covertype, C = 10", "Covertype, C = 100"}
#: On larger problems: threads for pairs, MiB for rows, and seconds after which plain fits stop.
_LARGE = {"cache_mb": 1024}
_MAX_TIME = 60.0
#: Fits of one problem and setting; fewer when they have taken so many seconds.
_FITS, _ENOUGH = 3, 10.0
#: Examples of the fits that compile: rows of the whole matrix, and rows that are kept.
_COMPILED_ON = (600, 2500)

Case = tuple[str, Callable[[], tuple[Any, Any]], dict[str, Any]]


def _dense() -> tuple[Any, Any]:
    return make_classification(100_000, 100, n_informative=20, n_redundant=10, random_state=0)


LINEAR: dict[str, Callable[[], tuple[Any, Any]]] = {
    "linear, dense": _dense,
    "linear, sparse": lambda: _text(50_000),
}


def estimators(name: str) -> dict[str, Any]:
    """The estimators of a problem, by the names of their settings."""
    if name in LINEAR:
        return {
            setting: LinearPegasosSVC(random_state=0, **SETTINGS[setting])
            for setting in ("plain", "polished")
        }
    task = load(name)
    large = task.X.shape[0] > 5000
    found = {}
    for setting, parameters in SETTINGS.items():
        is_plain = not parameters.get("polish")
        if is_plain and name in _POLISHED_ALONE:
            continue
        own = {**parameters, **(_LARGE if large else {})}
        if large and is_plain:
            own["max_time"] = _MAX_TIME
        found[setting] = PegasosSVC(C=task.C, gamma=task.gamma, random_state=0, **own)
    return found


def own_time(estimator: Any) -> float:
    """Seconds after which an estimator stops."""
    return math.inf if estimator.max_time is None else float(estimator.max_time)


def compare(name: str) -> list[dict[str, Any]]:
    """Forecast and fit each setting of a problem."""
    if name in LINEAR:
        X, y = LINEAR[name]()
    else:
        task = load(name)
        X, y = task.X, task.y
    rows = []
    for setting, estimator in estimators(name).items():
        for n_samples in _COMPILED_ON:
            every = max(1, X.shape[0] // n_samples)
            estimator.fit(X[::every], y[::every])
        begin = time.perf_counter()
        expected = forecast(estimator, X, y)
        probing = time.perf_counter() - begin
        seconds: list[float] = []
        while len(seconds) < _FITS and sum(seconds) < _ENOUGH:
            begin = time.perf_counter()
            estimator.fit(X, y)
            seconds.append(time.perf_counter() - begin)
        # A fit that max_time has ended has fewer kernel values than it was to have.
        is_cut = sum(seconds) / len(seconds) >= own_time(estimator)
        histories = estimator.history_
        histories = histories if isinstance(histories, list) else [histories]
        values = sum(int(history[-1].kernel_evaluations) for history in histories)
        rows.append(
            {
                "problem": name,
                "setting": setting,
                "probe_seconds": round(probing, 3),
                "n_probed": expected.n_probed,
                "forecast": round(expected.seconds, 4),
                "low": round(expected.seconds_range[0], 4),
                "high": round(expected.seconds_range[1], 4),
                "seconds": round(median(seconds), 4),
                "fastest": round(min(seconds), 4),
                "slowest": round(max(seconds), 4),
                "ratio": round(expected.seconds / median(seconds), 2),
                "forecast_values": round(expected.kernel_values),
                "values": values,
                "values_ratio": (
                    round(expected.kernel_values / values, 2) if values and not is_cut else ""
                ),
                "cut": is_cut,
                "load": round(os.getloadavg()[0], 1),
            }
        )
    return rows


def _in_a_process(name: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.forecast", "--row", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr}")
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def _earlier() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def _write(rows: list[dict[str, Any]]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        None for those of the process.
    """
    names = [name for name in [*PROBLEMS, *LINEAR] if name not in _LEFT_OUT]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecast", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    parser.add_argument("--row", choices=names, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if args.row:
        print(json.dumps(compare(args.row)))
        return
    print(machine())
    chosen = args.only or names
    kept = [row for row in _earlier() if row["problem"] not in chosen]
    for name in chosen:
        rows = _in_a_process(name)
        kept += rows
        _write(sorted(kept, key=lambda row: names.index(row["problem"])))
        for row in rows:
            print(
                f"{name:<20}{row['setting']:<20}{row['probe_seconds']:8.2f}{row['forecast']:9.3f}"
                f"{row['seconds']:9.3f} {row['ratio']:6.2f}  values {row['values_ratio']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
