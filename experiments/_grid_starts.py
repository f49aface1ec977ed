"""Warm starts along C against cold ones: the same fold, the same kernel rows, one path or many."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from experiments._grid_problems import load
from kpegasos import make_problem, make_rows, regularization_path

#: Certified relative gap.
_TOL = 1e-2


def starts(name: str, n_samples: int | None = None, n_values: int | None = None) -> dict[str, Any]:
    """Solve the first fold of a problem of two classes, along C and value by value.

    Parameters are those of `experiments._grid_problems.load`.

    Returns
    -------
    dict
        Seconds of all γ together, each the median of three, on rows that are held already.
    """
    search = load(name, n_samples, n_values)
    classes = np.unique(search.y)
    problem = make_problem(np.where(search.y == classes[1], 1.0, -1.0), lam=1.0)
    held_out = np.full(search.y.size, False)
    held_out[search.splits[0][1]] = True
    seconds: dict[str, list[float]] = {"warm": [], "cold": []}
    for gamma in search.gammas:
        # float64, so that certificates take no kernel values of their own.
        rows = make_rows(search.X.astype(float), gamma=float(gamma), cache="precomputed")
        ways: dict[str, list[Any]] = {"warm": [search.Cs], "cold": [[C] for C in search.Cs]}
        for way, parts in ways.items():
            taken = []
            for _ in range(3):
                begin = time.perf_counter()
                for part in parts:
                    regularization_path(problem, rows, part, held_out=held_out, tol=_TOL)
                taken.append(time.perf_counter() - begin)
            seconds[way].append(float(np.median(taken)))
    warm, cold = sum(seconds["warm"]), sum(seconds["cold"])
    return {"problem": name, "seconds_warm": warm, "seconds_cold": cold, "ratio": cold / warm}
