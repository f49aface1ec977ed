"""How quick files are read, beside scikit-learn's loader, whose numbers must be the same.

``python -m benchmarks.readers`` draws documents, writes them in LIBSVM's format, about 100 MB, and
reads the file several times in turn: on one thread, on all, compressed, in chunks, and by
`sklearn.datasets.load_svmlight_file`. What comes out is in ``benchmarks/results/readers.json``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from threadpoolctl import threadpool_limits

from benchmarks._measure import machine, spread
from kpegasos.datasets import iter_svmlight, load_svmlight, make_text_like, write_svmlight

RESULTS = Path(__file__).with_name("results") / "readers.json"
N_FEATURES = 47_236
#: Rows of a MB of text.
ROWS_OF_A_MB = 530


def readers(path: Path) -> dict[str, Callable[[], Any]]:
    """What is timed."""

    def ours(threads: int, file: Path = path) -> Any:
        with threadpool_limits(threads):
            return load_svmlight(file, n_features=N_FEATURES, dtype=np.float64)

    def chunks() -> None:
        for _ in iter_svmlight(path, n_features=N_FEATURES, dtype=np.float64):
            pass

    cores = os.cpu_count() or 1
    return {
        "load_svmlight, 1 thread": lambda: ours(1),
        f"load_svmlight, {cores} threads": lambda: ours(cores),
        "load_svmlight, gzip": lambda: ours(cores, path.with_suffix(".svm.gz")),
        "iter_svmlight": chunks,
        "scikit-learn": lambda: load_svmlight_file(
            str(path), n_features=N_FEATURES, zero_based=False
        ),
    }


def check(ours: Any, theirs: Any) -> None:
    """Raise an AssertionError unless both loaders read the same bits."""
    (X, y), (X_theirs, y_theirs) = ours, theirs
    assert np.array_equal(X.data.view(np.uint64), X_theirs.data.view(np.uint64))
    assert np.array_equal(X.indices, X_theirs.indices)
    assert np.array_equal(X.indptr, X_theirs.indptr)
    assert np.array_equal(y, y_theirs)


def measured(path: Path, repeat: int) -> dict[str, list[float]]:
    """Seconds of each reader, in turn."""
    timed = readers(path)
    first = {name: read() for name, read in timed.items()}  # compiles, and fills the page cache
    check(first["load_svmlight, 1 thread"], first["scikit-learn"])
    del first
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(repeat):
        for name, read in timed.items():
            start = time.perf_counter()
            read()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        None for those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readers", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=100.0, help="size of the file")
    parser.add_argument("--repeat", type=int, default=5, help="times that each reader reads it")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.svm"
        n_samples = max(1, round(args.megabytes * ROWS_OF_A_MB))
        X, y = make_text_like(n_samples, N_FEATURES, dtype=np.float64, random_state=0)
        write_svmlight(path, X, y)
        path.with_suffix(".svm.gz").write_bytes(gzip.compress(path.read_bytes(), 6))
        size = path.stat().st_size / 1e6
        load = os.getloadavg()[0]
        seconds = measured(path, args.repeat)
    print(f"{machine()}, load {load:.1f}\n{size:.0f} MB, {n_samples:,} rows")
    for name, times in seconds.items():
        in_words = f"{median(times):8.3f} s {spread(times):<18} {size / median(times):6.0f} MB/s"
        print(f"{name:>26} {in_words}")
    result = {
        "machine": machine(),
        "load": load,
        "megabytes": size,
        "rows": n_samples,
        "seconds": {name: sorted(times) for name, times in seconds.items()},
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
