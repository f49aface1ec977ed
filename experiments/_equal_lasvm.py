"""LASVM (Bordes, Ertekin, Weston, Bottou 2005), as Vowpal Wabbit has it.

Of the online and budgeted kernel SVMs it is one that ``pip`` installs, as ``vowpalwabbit``, without
a compiler or a GPU. An example is looked at once, and after each a support vector once more
(``--reprocess 1``, the default). The objective is that of ours without an intercept: a coefficient
is at most 1/λ, so that λ (``--l2``) is 1/C. Reading examples from text is outside the clock.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments._kernel_problems import Task

#: Share of a budget at which the clock is stopped, as an example in work is finished.
_SHARE = 0.98


def _text(row: np.ndarray, label: str = "") -> str:
    features = np.flatnonzero(row)
    return f"{label} | " + " ".join(f"{i}:{row[i]:.8g}" for i in features)


def _error(learner: Any, tests: list[Any], y_test: np.ndarray) -> float:
    scores = np.array([learner.predict(example) for example in tests])
    return float(np.mean(np.where(scores > 0, 1, -1) != y_test))


def learn(task: Task, budgets: list[float]) -> Iterator[dict[str, Any]]:
    """Learn example by example; yield a row at each budget, with the clock at rest, and at the end.

    Parameters
    ----------
    task : Task
        A problem of two classes.
    budgets : list of float
        Seconds, increasing.

    Yields
    ------
    dict
        As a run of the other ladders.
    """
    positive = np.max(task.y)
    y, y_test = (np.where(labels == positive, 1, -1) for labels in (task.y, task.y_test))
    workspace = importlib.import_module("vowpalwabbit").Workspace
    options = f"--kernel rbf --bandwidth {task.gamma:.8g} --l2 {1 / task.C:.8g}"
    learner = workspace(f"--ksvm {options} --quiet")
    tests = [learner.example(_text(row)) for row in task.X_test]
    order = np.random.default_rng(0).permutation(len(y))
    seconds, ahead = 0.0, list(budgets)
    for seen, index in enumerate(order, start=1):
        example = learner.example(_text(task.X[index], str(y[index])))
        begin = time.perf_counter()
        learner.learn(example)
        seconds += time.perf_counter() - begin
        learner.finish_example(example)
        if seconds >= _SHARE * ahead[0] or seen == len(y):
            error = _error(learner, tests, y_test)
            yield {
                "setting": f"{seen:,} examples seen",
                "examples": seen,
                "runs": 1,
                **dict.fromkeys(("fit_seconds", "fit_seconds_min", "fit_seconds_max"), seconds),
                **dict.fromkeys(("error", "error_min", "error_max"), error),
            }
            ahead = [budget for budget in ahead if seconds < _SHARE * budget]
            if not ahead:
                return
