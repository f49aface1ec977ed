"""A fit and a prediction take no more memory beyond their data than docs/memory.md says.

What is measured is the most that Python and NumPy held at a time, in a call that is made again
until nothing is compiled in it.
"""

import gc
import tracemalloc
from functools import partial

import numpy as np
from numba.core import event
from scipy import sparse

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.utils.threads import available_threads
from tests.campaigns.harness import check, pick, power, some

CI_TRIALS = 8
MEBIBYTE = 1 << 20
#: What objects of Python may take, in bytes.
SLACK = 4 * MEBIBYTE


def promised(X, k, model, n_new):
    """Bytes by the table of docs/memory.md; of a prediction if there are new rows."""
    (n, d), pairs = X.shape, k * (k - 1) // 2
    linear, is_sparse = isinstance(model, LinearPegasosSVC), sparse.issparse(X)
    size = sum(part.nbytes for part in ((X.data, X.indices, X.indptr) if is_sparse else (X,)))
    looked_at = size / n * n_new if n_new else size
    in_work = 3 * min(looked_at, 8192 * d)
    if is_sparse or linear:
        in_work = 3 * min(looked_at, 16 * MEBIBYTE) + 16 * d
    if n_new:
        total = 16 * n_new * max(pairs, k + 1) + min(64 * MEBIBYTE, 32 * n_new * pairs) + in_work
        if linear:
            return SLACK + total + 24 * (d + 1) * pairs
        tile = min(n, 1024) * min(n_new, 1024) * (X.dtype.itemsize + 24 * is_sparse)
        return SLACK + total + 2 * tile + size + 32 * (k - 1) * n
    jobs = min(model.n_jobs or available_threads(), pairs)
    total = SLACK + 150 * n * (k - 1) + 16384 * pairs
    if linear:
        return total + in_work + 8 * (d + 1) * (4 * pairs + 12 * jobs)
    total += max(32 * MEBIBYTE, 512 * d) * jobs + max(in_work, size) + 24 * (k - 1) * n
    if not is_sparse and model.kernel != "laplacian" and model.cache != "streamed":
        total += size  # packed
    of_pair = 2 * (n // k + 1)
    values = jobs * of_pair * (of_pair * X.dtype.itemsize + 256 * 32 + size / n)
    values += n * n * X.dtype.itemsize * (k > 2 and n <= 2000)
    return total + min(model.cache_mb * MEBIBYTE, values)


def _drawn_model(rng):
    options = {"epochs": pick(rng, [0.5, 1, 2]), "checkpoints": pick(rng, ["epoch", None])}
    options |= {"n_jobs": pick(rng, [None, 2, 3]), "random_state": 0}
    options["average"] = pick(rng, ["weighted", "suffix", None])
    if some(rng, 0.25):
        return LinearPegasosSVC(**options)
    options["cache"] = pick(rng, ["auto", "cached", "streamed", "precomputed"])
    options["kernel"] = pick(rng, ["rbf", "rbf", "linear", "poly", "laplacian"])
    if some(rng, 0.2):
        options |= {"polish": True, "tol": 0.2, "max_time": 1.0}
    return PegasosSVC(cache_mb=power(rng, 0.6, 2.2), **options)


class _Compiling(event.Listener):
    """Whether anything was compiled, or loaded."""

    begun = False

    def on_start(self, event):
        self.begun = True

    def on_end(self, event):
        pass


def _peak(call):
    """Bytes of a call in which nothing is compiled; threads may take another way each time."""
    gc.collect()
    compiling = _Compiling()
    tracemalloc.start()
    try:
        with event.install_listener("numba:compile", compiling):
            call()
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return _peak(call) if compiling.begun else taken


def trial(rng):
    """Measure a fit or a prediction against the promise."""
    model, k = _drawn_model(rng), pick(rng, [2, 2, 2, 3, 5, 10])
    n, d = int(power(rng, 2.8, 3.6)), int(power(rng, 0.3, 3))
    if getattr(model, "kernel", "") == "laplacian":
        n, d = n // 4, min(d, 100)
    y = np.arange(n) % k
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y]
    if some(rng, 0.3):
        X = sparse.random(n, 100 * d, min(1.0, 0.2 / d), "csr", random_state=rng)
    X = X.astype(pick(rng, [np.float32, np.float64]))
    n_new = int(power(rng, 3, 4)) if some(rng, 0.3) else 0
    try:
        model.fit(X, y)
    except ValueError as error:
        if "cache_mb must be at least" not in str(error):
            raise
        return "one clear sentence"
    call = partial(model.fit, X, y)
    if n_new:
        call = partial(model.decision_function, X[rng.integers(n, size=n_new)])
        call()
    taken, most = _peak(call), promised(X, k, model, n_new)
    numbers = {"taken": taken / MEBIBYTE, "promised": most / MEBIBYTE, "shape": X.shape}
    check(taken <= most, "no more than the table says", **numbers, k=k, n_new=n_new, model=model)
    return f"{type(model).__name__}, {'prediction' if n_new else 'fit'}: within the promise"
