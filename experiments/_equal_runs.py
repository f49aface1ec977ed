"""Runs of `equal_seconds`: a ladder in a process of its own, warmed up, timed and tested.

``python -m experiments._equal_runs '{"problem": ..., "ladder": ..., "budgets": [...]}'`` prints a
line of JSON for each run, as soon as it is over: what a process has printed counts when it is given
up later.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.svm import SVC

from experiments._equal_ladders import LADDERS, Rung, available, rungs
from experiments._equal_lasvm import learn
from experiments._equal_problems import make_task
from experiments._kernel_judge import expansion
from experiments._kernel_problems import Task
from experiments._memory import touch_memory

#: Short runs are repeated, with other seeds, as often as this or until they took so many seconds,
#: with the tests; those that are short without the tests have at least so many runs.
SEEDS, _LEAST, _REPEAT_SECONDS = 10, 3, 1.0
#: Examples that solvers are warmed up on: few, whose kernel is computed at first, and more.
_WARM_UPS, _TOUCHED_MB = (500, 3000), 2048
#: Powers of the size that the seconds of the next run are expected to grow by.
_POWERS = (1.0, 2.5)
#: Runs are left out if they would take so many times the largest budget, as nobody knows exactly.
_MARGIN = 1.15
#: A solver that ends so early was not stopped by its limit.
_STOPPED = 0.8
Row = dict[str, Any]


def predicted(model: Any, X: np.ndarray) -> np.ndarray:
    """Predict; with LIBSVM's models by products of matrices, as theirs takes longer than a fit."""
    if not isinstance(model, SVC) or type(model).__module__.startswith(("sklearnex", "daal4py")):
        return np.asarray(model.predict(X))
    ends = np.concatenate(([0], np.cumsum(model.n_support_)))
    dual, n_classes = np.asarray(model.dual_coef_), len(model.classes_)
    pairs = list(combinations(range(n_classes), 2))
    coefs = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        for own, row in ((i, j - 1), (j, i)):
            part = slice(ends[own], ends[own + 1])
            coefs[part, column] = dual[row, part]
    vectors = np.ascontiguousarray(model.support_vectors_, dtype=X.dtype)
    decisions = expansion(model._gamma, X, vectors, coefs) + model.intercept_
    if n_classes == 2:
        return np.asarray(model.classes_[(decisions[:, 0] > 0).astype(int)])
    votes = np.zeros((len(X), n_classes), dtype=int)
    for column, (i, j) in enumerate(pairs):
        votes[np.arange(len(X)), np.where(decisions[:, column] > 0, i, j)] += 1
    return np.asarray(model.classes_[votes.argmax(axis=1)])


def _fit(rung: Rung, task: Task, seed: int) -> tuple[float, float]:
    """Seconds of a fit to a sample, which is drawn before, and its test error."""
    m = len(task.y)
    chosen = np.random.default_rng(seed).permutation(m)[: rung.examples]
    begin = time.perf_counter()
    X, y = (task.X, task.y) if rung.examples == m else (task.X[chosen], task.y[chosen])
    model = rung.make(seed).fit(X, y)
    seconds = time.perf_counter() - begin
    return seconds, float(np.mean(predicted(model, task.X_test) != task.y_test))


def measure(rung: Rung, task: Task, patience: float = _REPEAT_SECONDS) -> Row:
    """Fit with some seeds, and return medians, least and most of seconds and test error."""
    found: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(found) < SEEDS:
        found.append(_fit(rung, task, len(found)))
        few = len(found) < _LEAST and sum(seconds for seconds, _ in found) < patience
        if time.perf_counter() - begin > patience and not few:
            break
    row: Row = {"setting": rung.setting, "examples": rung.examples, "runs": len(found)}
    for name, values in zip(("fit_seconds", "error"), zip(*found, strict=True), strict=True):
        row |= {name: float(np.median(values)), f"{name}_min": min(values)}
        row[f"{name}_max"] = max(values)
    return row


def expected(sizes: list[int], seconds: list[float], size: int) -> float:
    """Say how long a run of some size may take, from those of smaller sizes."""
    if not seconds:
        return 0.0
    low, high = _POWERS
    power = low
    if len(seconds) > 1:
        grown = math.log(max(seconds[-1], 1e-9) / max(seconds[-2], 1e-9))
        power = min(high, max(low, grown / math.log(sizes[-1] / sizes[-2])))
    return float(seconds[-1] * (size / sizes[-1]) ** power)


def _climb(ladder: list[Rung], task: Task, most: float, patience: float) -> Iterator[Row]:
    """Yield the runs of a ladder up to those that would take longer than the largest budget."""
    sizes: list[int] = []
    seconds: list[float] = []
    for rung in ladder:
        if rung.limit is None:
            likely = expected(sizes, seconds, rung.size)
            if likely > _MARGIN * most:
                yield {"setting": rung.setting, "left_out": f"about {likely:.0f} s expected"}
                return
        row = measure(rung, task, patience)
        sizes.append(rung.size)
        seconds.append(row["fit_seconds"])
        if rung.limit is not None:
            row["stopped"] = row["fit_seconds"] >= _STOPPED * rung.limit
        yield row
        if not row.get("stopped", True):
            return  # it ended by itself, and would again


def climb(job: dict[str, Any]) -> Iterator[Row]:
    """Warm up, and yield the runs of a ladder one by one.

    Parameters
    ----------
    job : dict
        ``problem``, ``ladder``, ``budgets``; optionally ``n_samples``, ``n_test`` and ``least``,
        the sizes of training set, test set and smallest sample, and ``patience``, the seconds after
        which a run is not repeated.

    Yields
    ------
    dict
        A run: its setting, examples, number of repetitions, seconds and test error; or the setting
        and why it was left out.
    """
    warnings.simplefilter("ignore")
    task = make_task(job["problem"], job.get("n_samples"))
    n_test = job.get("n_test")
    task = task._replace(X_test=task.X_test[:n_test], y_test=task.y_test[:n_test])
    reason = available(job["ladder"], task)
    if reason:
        yield {"setting": "all", "left_out": reason}
        return
    if job["ladder"] == "LASVM":
        yield from learn(task, job["budgets"])
        return
    ladder = rungs(job["ladder"], task, job["budgets"], job.get("least", 1000))
    for few in _WARM_UPS:
        model = ladder[0].make(0).fit(task.X[:few], task.y[:few])
        predicted(model, task.X_test[:100])
    if "n_samples" not in job:
        touch_memory(_TOUCHED_MB)
    patience = job.get("patience", _REPEAT_SECONDS)
    yield from _climb(ladder, task, max(job["budgets"]), patience)


def here(job: dict[str, Any]) -> list[Row]:
    """Run a ladder in this process."""
    return [
        {"method": LADDERS[job["ladder"]], "ladder": job["ladder"], **row} for row in climb(job)
    ]


def in_a_process(job: dict[str, Any]) -> list[Row]:
    """Run a ladder in a fresh process, and return what it has done within ``timeout`` seconds."""
    command = [sys.executable, "-m", "experiments._equal_runs", json.dumps(job)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            printed, _ = process.communicate(timeout=job["timeout"])
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
            rest = {"setting": "the rest", "left_out": f"given up after {job['timeout']:g} s"}
            printed += "\n" + json.dumps({"method": LADDERS[job["ladder"]], **rest})
        else:
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, command)
    # The line in which a process was ended is torn, unless it was over.
    return [json.loads(line) for line in printed.splitlines() if line[:1] + line[-1:] == "{}"]


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    for each in climb(asked):
        named = {"method": LADDERS[asked["ladder"]], "ladder": asked["ladder"], **each}
        print(json.dumps(named), flush=True)
