"""More data than memory, and several workers: peak memory and error on the same files.

Texts like RCV1's lie in files of 50,000 each, two of them and up to 32. Every way reads the same
files, in a process of its own, and makes 2 epochs at lam = 1e-4: `fit` reads all and then trains,
`fit_chunks` reads one file at a time, `fit_dask` has one or two worker processes, which read their
files when they are asked to. Peaks are resident memory of the process and its workers, interpreters
and libraries included (VmHWM of Linux).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from experiments import _plots as plots
from experiments._data import Memory, apart
from experiments._results import OURS, Claim, Row, columns, rounded, select
from experiments._run import Context
from kpegasos import LinearPegasosSVC
from kpegasos.datasets import make_text_like
from kpegasos.large import fit_chunks

TEXTS, FILES = 50_000, (2, 8, 32)
TEST_TEXTS = 23_149  # as in the papers
WAYS = {
    "memory": plots.Look("fit, all in memory", plots.VERMILION, "o"),
    "chunks": plots.Look("fit_chunks", plots.BLUE, "s"),
    "1 worker": plots.Look("fit_dask, 1 worker", plots.SKY, "D"),
    "2 workers": plots.Look("fit_dask, 2 workers", plots.GREEN, "^"),
}


def _read(folder: str, number: int) -> tuple[Any, np.ndarray]:
    stem = Path(folder) / f"{number}"
    return sparse.load_npz(f"{stem}.npz"), np.load(f"{stem}.npy")


def _write(folder: str, n_files: int, n_texts: int, n_test: int) -> None:
    """Write the files, numbered, and one to test with, which comes after them."""
    X, y = make_text_like(n_files * n_texts + n_test, random_state=0)
    for number in range(n_files + 1):
        part = slice(number * n_texts, (number + 1) * n_texts if number < n_files else None)
        sparse.save_npz(Path(folder) / f"{number}.npz", X[part], compressed=False)
        np.save(Path(folder) / f"{number}.npy", y[part])


class Chunks(Sequence[tuple[Any, np.ndarray]]):
    """Files as a sequence of chunks."""

    def __init__(self, folder: str, n_files: int) -> None:
        self.folder, self.n_files = folder, n_files

    def __len__(self) -> int:
        """Return the number of files."""
        return self.n_files

    def __getitem__(self, number: Any) -> Any:
        """Read a file."""
        if not 0 <= number < self.n_files:
            raise IndexError(number)
        return _read(self.folder, number)


def _read_block(folder: str, which: int, block_id: tuple[int, ...] = ()) -> Any:
    """Read X (0) or y (1) of a file; runs on a worker."""
    return _read(folder, block_id[0])[which]


def _arrays(folder: str, n_files: int) -> tuple[Any, Any]:
    """Return Dask arrays whose blocks are the files."""
    import dask.array as da

    X, y = _read(folder, 0)
    rows = (y.size,) * n_files
    meta = sparse.csr_matrix((0, 0), dtype=X.dtype)
    read = partial(da.map_blocks, _read_block, folder)
    return (
        read(0, chunks=(rows, (X.shape[1],)), dtype=X.dtype, meta=meta),
        read(1, chunks=(rows,), dtype=y.dtype, meta=np.empty(0, y.dtype)),
    )


def _fit_in_memory(model: LinearPegasosSVC, folder: str, n_files: int) -> None:
    parts = [_read(folder, number) for number in range(n_files)]
    X, y = zip(*parts, strict=True)
    model.fit(sparse.vstack(X, format="csr"), np.concatenate(y))


def _fit_by_chunks(model: LinearPegasosSVC, folder: str, n_files: int) -> None:
    fit_chunks(model, Chunks(folder, n_files), classes=[-1, 1])


def measure(job: Row) -> Row:
    """Read and train in one way; runs in a process of its own."""
    way, files = job["way"], (job["folder"], job["n_files"])
    options: Row = {"fit_intercept": False, "checkpoints": None, "random_state": 0}
    model = LinearPegasosSVC(lam=1e-4, epochs=2, **options)
    if "worker" in way:
        from distributed import Client, LocalCluster

        from kpegasos.large.dask import fit_dask

        workers: Row = {"n_workers": int(way[0]), "threads_per_worker": 1}
        cluster = LocalCluster(**workers, dashboard_address=None)
        with cluster, Client(cluster) as client, Memory() as memory:
            fit_dask(model, *_arrays(*files), client=client)
    else:
        with Memory() as memory:
            (_fit_in_memory if way == "memory" else _fit_by_chunks)(model, *files)
    X_test, y_test = _read(job["folder"], job["test"])
    return {"test_error": float(np.mean(model.predict(X_test) != y_test)), **memory.columns()}


def compute(context: Context) -> dict[str, Any]:
    """Train each way on each amount of data, every time in a process of its own."""
    n_texts, n_test = (1000, 2000) if context.quick else (TEXTS, TEST_TEXTS)
    table = []
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, FILES[-1], n_texts, n_test)
        megabytes = sum(path.stat().st_size for path in Path(folder).glob("0.*")) / 2**20
        for n_files, way in product(FILES[:2] if context.quick else FILES, WAYS):
            job = {"folder": folder, "way": way, "n_files": n_files, "test": FILES[-1]}
            found = context.part(f"{n_files} {way}", apart, measure, job)
            row = {"way": way, "texts": n_files * n_texts, "data_mb": n_files * megabytes}
            table.append(row | found)
    return {"table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what more data cost in memory."""
    of = {way: select(results["table"], way=way) for way in WAYS}
    (small, *_, large), whole = of["chunks"], of["memory"][-1]
    errors = [columns(rows, "test_error")[0] for rows in of.values()]
    off = 100 * float(np.ptp(errors, axis=0).max())
    return [
        Claim(
            f"By chunks, {large['texts'] // small['texts']} times the synthetic documents take "
            f"{large['peak_mb'] / small['peak_mb']:.2f} times the memory.",
            OURS,
            f"The peak is {large['peak_mb']:,.0f} MiB for {large['data_mb']:,.0f} MiB of text, "
            f"and {whole['peak_mb']:,.0f} of `fit`. Test errors of all ways, on one or two workers "
            f"too, are within {rounded(off)} points of each other.",
        )
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """Peak memory against the size of the data."""
    figure, ((ax,),) = plots.panels(1, 1, 4.2)
    for way, look in WAYS.items():
        sizes, peaks = columns(select(results["table"], way=way), "data_mb", "peak_mb")
        ax.plot(sizes, peaks, **look.style())
    ax.set(xlabel="data, MiB", ylabel="peak memory, MiB", ylim=(0, None))
    ax.grid(alpha=0.25)
    return plots.state(
        figure,
        "By chunks, memory does not grow with the data",
        "Synthetic texts of RCV1's shape in files of 50,000 texts, the same for all ways; 2 "
        "epochs. Memory is that of the process and its workers.",
    )
