"""One and two worker processes: the error of averaged states beside that of one process.

Texts of the size of RCV1's (781,265 for training, 23,149 to test) at lam = 1e-4, the papers' for
CCAT, 5 epochs, states averaged four times an epoch. Partitions are files that the workers read when
they are asked to, which is timed; the one process has its data in memory. Workers and partitions
are varied separately: the model depends on the partitions alone.
"""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from experiments import _plots as plots
from experiments._claims import OURS, Claim, percent, rounded, span
from experiments._measure import timed
from experiments._run import ExperimentContext
from experiments._tables import columns, grouped
from kpegasos import LinearPegasosSVC
from kpegasos.datasets import make_text_like
from kpegasos.large.dask import fit_dask

FULL_TIME = "4 min"
QUICK_TIME = "1 min"

N_TRAIN, N_TEST = 781_265, 23_149
EPOCHS = 5
PARTITIONS = (2, 8)
WORKERS = (1, 2)
SEEDS = (0, 1, 2)


def _model(seed: int, epochs: int = EPOCHS) -> LinearPegasosSVC:
    options: dict[str, Any] = {"fit_intercept": False, "checkpoints": None}
    return LinearPegasosSVC(lam=1e-4, epochs=epochs, random_state=seed, **options)


def _read(folder: str, name: str, block_id: tuple[int, ...] = ()) -> Any:
    """Read a partition; runs on a worker."""
    stem = Path(folder) / f"{name}{block_id[0]}"
    return sparse.load_npz(f"{stem}.npz") if name == "X" else np.load(f"{stem}.npy")


def _partitions(folder: Path, X: sparse.csr_matrix, y: np.ndarray, number: int) -> tuple[Any, Any]:
    """Write the partitions to files; return them as Dask arrays."""
    import dask.array as da

    folder.mkdir()
    edges = np.linspace(0, y.size, number + 1).astype(int)
    for k, (begin, end) in enumerate(pairwise(edges)):
        sparse.save_npz(folder / f"X{k}.npz", X[begin:end], compressed=False)
        np.save(folder / f"y{k}.npy", y[begin:end])
    rows = tuple(np.diff(edges).tolist())
    meta = sparse.csr_matrix((0, 0), dtype=X.dtype)
    read = partial(da.map_blocks, _read, str(folder))
    return (
        read("X", chunks=(rows, (X.shape[1],)), dtype=X.dtype, meta=meta),
        read("y", chunks=(rows,), dtype=y.dtype, meta=np.empty(0, y.dtype)),
    )


def _measure(model: LinearPegasosSVC, fit: Any, X_test: Any, y_test: np.ndarray) -> dict[str, Any]:
    seconds, _ = timed(fit, model)
    error = float(np.mean(model.predict(X_test) != y_test))
    return {"seconds": round(seconds, 2), "test_error": error, "steps": model.n_steps_}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Train in this process, and on clusters of one and two worker processes."""
    from distributed import Client, LocalCluster

    n_train, n_test = (10_000, 2_000) if context.quick else (N_TRAIN, N_TEST)
    seeds, partitions = (SEEDS[:2], PARTITIONS[:1]) if context.quick else (SEEDS, PARTITIONS)
    X, y = make_text_like(n_train + n_test, random_state=0)
    X, X_test, y, y_test = X[:n_train], X[n_train:], y[:n_train], y[n_train:]
    _model(0, 1).fit(X[:1000], y[:1000])  # compiled outside the clock
    table = []
    for seed in context.progress(seeds, "one process"):
        job = partial(_measure, _model(seed), lambda m: m.fit(X, y), X_test, y_test)
        result = context.part(f"process {seed}", job)
        table.append({"workers": 0, "partitions": 1, "seed": seed, **result})
    with tempfile.TemporaryDirectory() as name:
        data = {k: _partitions(Path(name) / str(k), X, y, k) for k in partitions}
        for workers in context.progress(WORKERS, "workers"):
            options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
            with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
                fit_dask(_model(0, 1), *data[partitions[0]], rounds=1, client=client)
                for number in context.progress(partitions, "partitions"):
                    for seed in context.progress(seeds, "seeds"):
                        fit = partial(_fit, data[number], client)
                        job = partial(_measure, _model(seed), fit, X_test, y_test)
                        key = f"{workers} workers, {number} partitions, {seed}"
                        result = context.part(key, job)
                        row = {"workers": workers, "partitions": number, "seed": seed}
                        table.append({**row, **result})
    return {"seeds": list(seeds), "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what more worker processes change."""
    medians = {
        workers: np.median(columns(rows, "seconds", "test_error"), axis=1)
        for workers, rows in grouped(results["table"], "workers").items()
    }
    alone, error = medians.pop(0)
    off = [abs(row["test_error"] - error) for row in results["table"] if row["workers"]]
    times = [seconds / alone for seconds, _ in medians.values()]
    return [
        Claim(
            "Training on several workers.",
            OURS,
            f"On synthetic documents the test errors are within {rounded(100 * max(off))} points "
            f"of that of one process, {percent(error, 2)}. Several workers take {span(times)} "
            "times its seconds, with reading the partitions.",
        )
    ]


def _fit(data: tuple[Any, Any], client: Any, model: LinearPegasosSVC) -> None:
    fit_dask(model, *data, client=client)


def _groups(table: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Rows of all seeds by the name of their way."""
    groups = {}
    for (workers, partitions), rows in grouped(table, "workers", "partitions").items():
        plural = "s" if workers > 1 else ""
        name = f"{workers} worker{plural}, {partitions} partitions" if workers else "one process"
        groups[name] = rows
    return groups


def plot(results: dict[str, Any]) -> plots.Figure:
    """Seconds and test error of each way, every seed a point."""
    groups = _groups(results["table"])
    figure, ((left, right),) = plots.panels(1, 2, 3.8, sharey=True, width_ratios=[1.5, 1])
    for height, rows in enumerate(groups.values()):
        color, marker = (plots.VERMILION, "o") if rows[0]["workers"] else (plots.BLUE, "s")
        for ax, key, scale in ((left, "seconds", 1), (right, "test_error", 100)):
            values = [scale * row[key] for row in rows]
            ax.plot(values, [height] * len(values), marker, color=color, alpha=0.6)
            ax.plot(np.median(values), height, "|", color=color, markersize=20)
    plots.rows_down(left, list(groups))
    alone, *others = (float(np.median(columns(rows, "seconds"))) for rows in groups.values())
    slowdowns = [seconds / alone for seconds in others]
    errors = 100 * columns(results["table"], "test_error")
    apart, middle = np.ptp(errors), np.mean([errors.max(), errors.min()])
    left.set(xlabel="seconds to the model", xlim=(0, None))
    right.set(xlabel=plots.WORDS["test_error"], xlim=(middle - 0.25, middle + 0.25))
    for ax in (left, right):
        ax.grid(alpha=0.25, axis="x")
        ax.tick_params(axis="y", length=0)
    gain = "no gain" if min(slowdowns) > 1 else "a gain"
    return plots.state(
        figure,
        f"On one machine workers are {gain}: {min(slowdowns):.1f} to {max(slowdowns):.1f} times "
        f"the seconds of one process, for the same error within {apart:.2f} points",
        f"{EPOCHS} epochs over synthetic texts of RCV1's size, labels flipped at random; a point "
        "for each seed, bars are medians. Workers read their partitions from files within the "
        "seconds; the one process has its data in memory.",
    )
