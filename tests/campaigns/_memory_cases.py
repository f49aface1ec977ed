"""Cases of the memory campaign: how each is made, and its peak in a process of its own."""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from kpegasos import ArrayChunks, LinearPegasosSVC, PegasosSVC, fit_chunks

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MEBIBYTE = 1 << 20


def make_data(case: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """Rows around the centres of their classes, and their classes."""
    rng = np.random.default_rng(case["seed"])
    n, d, k, dtype = case["n"], case["d"], case["k"], case["dtype"]
    y = np.resize(np.arange(k), n)
    if case["nnz"]:
        columns = np.sort(rng.integers(d, size=(n, case["nnz"]), dtype=np.int32), axis=1)
        values = rng.normal(size=columns.size).astype(dtype)
        ends = np.arange(0, columns.size + 1, case["nnz"], dtype=np.int32)
        X = sparse.csr_matrix((values, columns.ravel(), ends), shape=(n, d))
        X.sum_duplicates()
        return X, y
    centres = rng.normal(size=(k, d))
    X = np.empty((n, d), dtype)
    for top in range(0, n, 4096):
        rows = slice(top, top + 4096)
        X[rows] = rng.normal(size=X[rows].shape) + centres[y[rows]]
    return X, y


def size_of(X: Any) -> int:
    """Bytes of some rows."""
    if sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def prepare(case: dict[str, Any]) -> tuple[Callable[[], Any], int]:
    """What is to be measured, and the bytes of its data."""
    X, y = make_data(case)
    kind = LinearPegasosSVC if case["linear"] else PegasosSVC
    make = lambda: kind(random_state=0, **case["parameters"])  # noqa: E731
    # One fit in the small: imports and threads are no part of a fit's memory.
    few = slice(0, 4 * case["k"])
    small = make().fit(X[few], y[few])
    task = case["task"]
    if task == "fit":
        return lambda: make().fit(X, y), size_of(X)
    if task == "threads":
        pool = ThreadPoolExecutor(case["at_once"])
        return lambda: list(pool.map(lambda _: make().fit(X, y), range(case["at_once"]))), size_of(
            X
        )
    if task == "grid":
        search = GridSearchCV(make(), {"C": [0.1, 1.0]}, cv=2, n_jobs=case["at_once"])

        def fit_grid() -> Any:
            with parallel_config("threading"):
                return search.fit(X, y)

        return fit_grid, size_of(X)
    if task == "chunks":
        chunks = ArrayChunks(X, y, chunk_size=case["chunk"])
        return lambda: fit_chunks(make(), chunks, epochs=2), size_of(X)
    model = small if case["linear"] else make().fit(X, y)
    new = make_data({**case, "n": case["n_new"], "seed": case["seed"] + 1})[0]
    return lambda: getattr(model, task)(new), size_of(X)


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", STATUS.read_text())
    assert found is not None
    return int(found[1]) * 1024


def peak(case: dict[str, Any]) -> tuple[int, int]:
    """Bytes of the most that a case took beyond its data, and bytes of these."""
    task, data = prepare(case)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = _status("VmRSS")
    CLEAR.write_text("5")  # forgets the earlier peak
    kept = task()
    most = _status("VmHWM") - before
    del kept
    return most, data


def warm_up() -> None:
    """Compile what the cases need, before processes are forked for them."""
    case = {"task": "fit", "seed": 0, "n": 1100, "d": 3, "nnz": 0}
    for dtype in ("float32", "float64"):
        for k in (2, 5):
            X, y = make_data({**case, "k": k, "dtype": dtype})
            for cache in ("auto", "precomputed", "cached", "streamed"):
                for kernel in ("rbf", "linear", "poly"):
                    PegasosSVC(kernel=kernel, cache=cache, epochs=1).fit(X, y).predict(X[:9])
            PegasosSVC(cache="cached", polish=True, epochs=1, tol=0.5).fit(X, y)
            LinearPegasosSVC(epochs=1).fit(X, y).predict(X)
            LinearPegasosSVC(polish=True, epochs=1, tol=1e-6).fit(X, y)
            LinearPegasosSVC(epochs=1).fit(sparse.csr_matrix(X), y).predict(sparse.csr_matrix(X))


warm_up()
