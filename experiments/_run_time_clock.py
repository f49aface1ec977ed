"""Nanoseconds of a linear step in `run_time`: against features, non-zeros and the batch size."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos import linear_rows, make_problem, pegasos

#: Features of dense rows, non-zeros of sparse rows, and batch sizes.
SIZES = (10, 30, 100, 300, 1000, 3000)
BATCHES = (1, 4, 16, 64, 256, 1024)
#: Rows of all data; columns of sparse data, those of the papers' texts; features of the batches.
ROWS, COLUMNS, FEATURES = 2000, 47_236, 100
#: So large that every example violates its margin in every step: each has its product and update.
LAM = 1.0
#: Entries that a run goes through, about.
ENTRIES = 4_000_000
KINDS = ("dense", "dense, projected", "sparse", "batch")


def _rows(kind: str, size: int) -> Any:
    """Rows of a length of about one."""
    rng = np.random.default_rng(0)
    if kind == "sparse":
        columns = np.concatenate(
            [np.sort(rng.choice(COLUMNS, size, replace=False)) for _ in range(ROWS)]
        )
        values = rng.normal(size=columns.size) / np.sqrt(size)
        starts = np.arange(0, columns.size + 1, size)
        return linear_rows(sparse.csr_matrix((values, columns, starts), shape=(ROWS, COLUMNS)))
    n_features = FEATURES if kind == "batch" else size
    return linear_rows(rng.normal(size=(ROWS, n_features)) / np.sqrt(n_features))


def _once(kind: str, size: int, rows: Any, seed: int, entries: int) -> float:
    """Nanoseconds a step of one run."""
    y = np.where(np.random.default_rng(1).random(ROWS) < 0.5, 1, -1)
    a_step = (size if kind != "batch" else size * FEATURES) + 100
    n_steps = max(50, entries // a_step)
    result = pegasos(
        make_problem(y, LAM),
        rows,
        n_steps=n_steps,
        batch_size=size if kind == "batch" else 1,
        projection=kind == "dense, projected",
        sampling="uniform",
        checkpoints=None,
        random_state=seed,
    )
    return 1e9 * result.history[-1].seconds / n_steps


def steps_on_the_clock(
    turns: int,
    sizes: tuple[int, ...] = SIZES,
    batches: tuple[int, ...] = BATCHES,
    entries: int = ENTRIES,
) -> dict[str, Any]:
    """Time steps of all kinds in turns, so that a busy moment meets all of them.

    Parameters
    ----------
    turns : int
        How often each is timed; the first time, which compiles, comes before.
    sizes, batches : tuple of int
        Features or non-zeros, and batch sizes.
    entries : int
        Entries that a run goes through, about.

    Returns
    -------
    dict
        ``rows`` of the table, and the ``load`` of the machine before.
    """
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    kinds = [(kind, size) for kind in KINDS for size in (batches if kind == "batch" else sizes)]
    data = {(kind, size): _rows(kind, size) for kind, size in kinds}
    for key, rows in data.items():
        _once(*key, rows, 0, entries // 100)
    times = [[_once(*key, data[key], turn, entries) for key in kinds] for turn in range(turns)]
    table = []
    for (kind, size), column in zip(kinds, np.array(times).T, strict=True):
        low, median, high = np.percentile(column, [20, 50, 80]).tolist()
        of_batch = kind == "batch"
        table.append(
            {
                "kind": kind,
                "d": FEATURES if of_batch else size,
                "k": size if of_batch else 1,
                **{"nanoseconds": median, "nanoseconds_20": low, "nanoseconds_80": high},
            }
        )
    return {"rows": table, "load": load}
