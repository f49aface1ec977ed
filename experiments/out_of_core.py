"""More data than memory: peak memory and error of training chunk by chunk, for 1x, 4x and 16x.

Texts like RCV1's lie in files, 100,000 of them and four and sixteen times as many. A process that
may allocate no more than 512 MiB maps them into memory and trains with `fit_chunks` over chunks of
16,384 texts, 2 epochs at lam = 1e-4; another, without a limit, reads them all and calls `fit`.
Peaks are resident memory of the process, interpreter and libraries included (VmHWM of Linux); the
limit is on what it allocates (RLIMIT_DATA), so that a peak may lie a little above it.
"""

from __future__ import annotations

import re
import resource
import subprocess
import tempfile
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from experiments import _plots as plots
from experiments._claims import OURS, Claim, rounded
from experiments._measure import in_a_process
from experiments._run import ExperimentContext
from experiments._tables import columns, select
from kpegasos import ArrayChunks, LinearPegasosSVC, fit_chunks
from kpegasos.datasets import make_text_like

FULL_TIME = "2 min"
QUICK_TIME = "30 s"

TEXTS = 100_000
FACTORS = (1, 4, 16)
TEST_TEXTS = 23_149  # as in the papers
LIMIT_MB = 512
WAYS = {
    "chunks": "fit_chunks, at most 512 MiB allowed",
    "memory": "fit, all in memory, no limit",
    "memory, limited": "fit, at most 512 MiB allowed",
}


def _write(folder: Path, n_samples: int, n_test: int) -> tuple[int, np.ndarray]:
    """Write the texts; return the number of words and where rows begin."""
    X, y = make_text_like(n_samples + n_test, random_state=0)
    for part, rows in (("train", slice(None, n_samples)), ("test", slice(n_samples, None))):
        Z = X[rows]
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"{part}-{name}.npy", getattr(Z, name))
        np.save(folder / f"{part}-y.npy", y[rows])
    return X.shape[1], X.indptr


def _load(folder: Path, part: str, n_rows: int, n_features: int, mapped: bool) -> tuple[Any, Any]:
    def array(name: str, end: int | None = None) -> np.ndarray:
        values = np.load(folder / f"{part}-{name}.npy", mmap_mode="r")[:end]
        return values if mapped else np.array(values)

    indptr = array("indptr", n_rows + 1)
    arrays = array("data", indptr[-1]), array("indices", indptr[-1]), indptr
    return csr_matrix(arrays, shape=(n_rows, n_features)), array("y", n_rows)


def _peak_mb() -> float:
    """Peak memory of this process; ru_maxrss would begin with that of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) / 1024


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Train within a limit; runs in a process of its own."""
    folder, way, n_features = Path(job["folder"]), job["way"], job["n_features"]
    if way != "memory":
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_MB << 20, LIMIT_MB << 20))
    options: dict[str, Any] = {"fit_intercept": False, "checkpoints": None, "random_state": 0}
    model = LinearPegasosSVC(lam=1e-4, epochs=2, **options)
    begin = time.perf_counter()
    X, y = None, None
    try:
        X, y = _load(folder, "train", job["n_samples"], n_features, way == "chunks")
        if way == "chunks":
            fit_chunks(model, ArrayChunks(X, y, chunk_size=16_384))
        else:
            model.fit(X, y)
    except MemoryError:
        return {"fits": False}
    seconds, peak = time.perf_counter() - begin, _peak_mb()
    del X, y
    X_test, y_test = _load(folder, "test", job["n_test"], n_features, False)
    error = float(np.mean(model.predict(X_test) != y_test))
    return {"fits": True, "peak_mb": peak, "seconds": round(seconds, 2), "test_error": error}


def _apart(job: dict[str, Any]) -> dict[str, Any]:
    try:
        (found,), _ = in_a_process(measure, job)
    except subprocess.CalledProcessError:
        # Libraries that do not check what they were given to allocate end without an exception.
        if job["way"] != "memory, limited":
            raise
        return {"fits": False}
    return dict(found)


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Train each way on each amount of data, every time in a process of its own."""
    n_texts, n_test = (TEXTS // 50, 2000) if context.quick else (TEXTS, TEST_TEXTS)
    factors = FACTORS[::2] if context.quick else FACTORS
    table = []
    with tempfile.TemporaryDirectory() as name:
        n_features, indptr = _write(Path(name), n_texts * max(factors), n_test)
        for factor in context.progress(factors, "amounts of data"):
            n_samples = factor * n_texts
            for way in context.progress(list(WAYS), "ways"):
                sizes = {"n_samples": n_samples, "n_test": n_test, "n_features": n_features}
                job = {"folder": name, "way": way, **sizes}
                row = {"way": way, "factor": factor, "texts": n_samples}
                row["data_mb"] = float(8 * indptr[n_samples] + 4 * (n_samples + 1)) / 2**20
                table.append(row | context.part(f"{factor} {way}", _apart, job))
    peaks = columns(select(table, way="chunks"), "peak_mb")
    ratio = peaks.max() / peaks.min()
    return {"seeds": [0], "limit_mb": LIMIT_MB, "peak_ratio": ratio, "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what more data cost in memory."""
    chunks, whole = (select(results["table"], way=way) for way in ("chunks", "memory"))
    small, large = (f(chunks, key=itemgetter("data_mb")) for f in (min, max))
    errors = [columns(rows, "test_error") for rows in (chunks, whole)]
    off = 100 * float(np.abs(errors[0] - errors[1]).max())
    return [
        Claim(
            "Training on more data than memory holds.",
            OURS,
            f"{rounded(large['factor'] / small['factor'])} times the synthetic documents take "
            f"{results['peak_ratio']:.2f} times the memory: a peak of {large['peak_mb']:,.0f} MiB "
            f"for {large['data_mb']:,.0f} MiB of text and {small['peak_mb']:,.0f} for "
            f"{small['data_mb']:,.0f}. Test errors are within {rounded(off)} points of training in "
            "memory.",
        )
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Peak memory against the size of the data."""
    table = results["table"]
    figure, ((ax,),) = plots.panels(1, 1, 4.2)
    for way, label, color, marker in (
        ("chunks", "chunk by chunk", plots.BLUE, "s"),
        ("memory", "all in memory, no limit", plots.VERMILION, "o"),
    ):
        sizes, peaks = columns(select(table, way=way), "data_mb", "peak_mb")
        ax.plot(sizes, peaks, marker=marker, color=color, linewidth=1.8, label=label)
    limit = results["limit_mb"]
    ax.axhline(limit, color=plots.DARK_GREY, linestyle="--", linewidth=1, label="limit")
    failed = [row["data_mb"] for row in select(table, way="memory, limited", fits=False)]
    ax.plot(failed, [limit] * len(failed), "X", color=plots.BLACK, markersize=10)
    for size in failed[-1:]:  # beside the line of what has no limit, which rises to the left
        place: dict[str, Any] = {"xytext": (0, 10), "textcoords": "offset points"}
        ax.annotate(f"all in memory: not within {limit} MiB", (size, limit), ha="right", **place)
    ax.set(xlabel="data, MiB", ylabel="peak memory of the process, MiB", ylim=(0, None))
    ax.margins(x=0.06)
    ax.grid(alpha=0.25)
    errors = [row["test_error"] for row in table if row["fits"]]
    factors = [row["factor"] for row in table]
    flat = results["peak_ratio"] < 1.25
    return plots.state(
        figure,
        f"By chunks, memory {'does not grow with' if flat else 'grows less than'} the data: "
        f"{max(factors)} times the data take "
        f"{results['peak_ratio']:.2f} times the memory",
        f"Synthetic texts of RCV1's shape, labels flipped at random. Test errors of all models lie "
        f"between {min(errors):.2%} and {max(errors):.2%}.",
    )
