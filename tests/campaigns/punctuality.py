"""Whoever waits can leave: max_time and Ctrl-C are heard within a second, in every phase of a call.

Where `interrupts` looks at models that train for ever, this one looks at what comes before and
after: slow kernels of a user's own, whole matrices, products of a search, polishes, paths, streams,
predictions, and the program. Kernels compute for their time, so that bounds can be in seconds of
computing, or of the clock, whichever says less: on a busy machine the clock says nothing. Loops
that are compiled for the first time cannot be left, so that a trial has to be late three times.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kpegasos import (
    RBF,
    LinearPegasosSVC,
    PegasosSVC,
    PegasosSVCCV,
    fit_chunks,
    make_problem,
    make_rows,
    regularization_path,
)
from kpegasos.datasets import write_svmlight
from tests.campaigns._pressing import Presser, in_time
from tests.campaigns._remains import check_usable
from tests.campaigns.harness import blobs, pick

CI_TRIALS = 12

#: Seconds of the clock in which the program ends, once and twice interrupted, on a busy machine.
_ONCE, _TWICE = 30.0, 10.0


def trial(rng):
    """End something at a random moment, and look at what there is."""
    kinds = [_slow_fit, _large_fit, _search, _path, _prediction, _chunks, _program]
    kind = kinds[int(rng.choice(len(kinds), p=[0.35, 0.15, 0.2, 0.1, 0.12, 0.07, 0.01]))]
    outcome, late = in_time(kind, rng)
    bucket = next(limit for limit in (0.1, 0.3, 1.0, 2.0, np.inf) if late < limit)
    return {outcome: 1, f"ended less than {bucket:g} s late": 1}


class Slow:
    """A Gaussian kernel that computes for some seconds for each value."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, A, B):
        """Kernel values, after a while."""
        until = time.thread_time() + self.seconds * len(A) * len(B)
        while time.thread_time() < until:
            pass
        return RBF(0.2).block(A, B)


def _end(rng, set_limit, call, first=lambda: 0.0):
    """Make a call that max_time or some presses end; says which, and how late it ended.

    ``first()`` is what the first model takes, and its evaluation, in seconds: it comes before.
    """
    longest = float(10 ** rng.uniform(-2, 0.3))
    if set_limit is not None and rng.random() < 0.4:
        set_limit(longest)
        begin, computing = time.perf_counter(), time.process_time()
        call()
        ended, ended_computing = time.perf_counter(), time.process_time()
        late = ended - begin - longest - first()
        computing = ended_computing - computing - longest - first()
        # Two threads compute at a time.
        assert min(late, computing / 2) < 1.0, f"{late:.1f} s late, {computing:.1f} of computing"
        return "max_time", max(0.0, late)
    presses = [longest, *[float(rng.uniform(0.01, 0.5))] * int(rng.random() < 0.4)]
    presser = Presser(presses)
    raised = presser.during(call)
    ended = "by itself" if raised is None else f"after {_times(len(presses))}"
    return f"Ctrl-C, {ended}", presser.late


def _times(number):
    return "one press" if number == 1 else "two"


def _slow_fit(rng):
    """A slow kernel is left in its matrix, its rows, its polish."""
    X, y = blobs(rng, int(rng.integers(50, 400)))
    model = PegasosSVC(
        kernel=Slow(float(10 ** rng.uniform(-5.5, -2.5))), cache=pick(rng, ["auto", "cached"]),
        polish=bool(rng.random() < 0.5), n_jobs=pick(rng, [None, 2]), random_state=0,
        epochs=int(rng.integers(1, 5)),
    )  # fmt: skip

    def first():
        """Diagonal, a row, and the support's rows, of each pair: the guarantee leaves them out."""
        n_in_pairs = len(y) * max(1, len(np.unique(y)) - 1)
        return float(model.kernel.seconds * n_in_pairs * (2 + model.support_.size))

    ended, late = _end(
        rng, lambda limit: model.set_params(max_time=limit), lambda: model.fit(X, y), first
    )
    model.kernel.seconds = 0.0
    if ended == "max_time" or hasattr(model, "classes_"):
        check_usable(model, X, 3)
    return f"slow kernel: {ended}", late


def _large_fit(rng):
    """A fit of some seconds is left in its rows, its polish, its last look."""
    X, y = blobs(rng, int(rng.integers(1000, 6000)), 100)
    model = PegasosSVC(
        C=float(10 ** rng.uniform(0, 3)), gamma=0.01, tol=1e-4, polish=bool(rng.random() < 0.7),
        cache=pick(rng, ["auto", "auto", "cached", "streamed"]), random_state=0,
        row_dtype=pick(rng, ["auto", "float32"]),
    )  # fmt: skip
    ended, late = _end(rng, lambda limit: model.set_params(max_time=limit), lambda: model.fit(X, y))
    if ended == "max_time" or hasattr(model, "classes_"):
        check_usable(model, X[:100], 100)
    return f"large fit: {ended}", late


def _search(rng):
    """A search has the best of the cells it has, or says that it has none."""
    slow = bool(rng.random() < 0.4)
    X, y = blobs(rng, int(rng.integers(50, 200) if slow else rng.integers(500, 3000)), 60)
    kernel = Slow(float(10 ** rng.uniform(-5, -3))) if slow else pick(rng, ["rbf", "poly"])
    search = PegasosSVCCV(
        Cs=3, kernel=kernel, gammas=3, cv=3, n_jobs=pick(rng, [None, 1, 2]), refit=False,
        cache_mb=pick(rng, ["auto", "auto", 20.0]), random_state=0,
    )  # fmt: skip
    ended, late = _end(
        rng, lambda limit: search.set_params(max_time=limit), lambda: search.fit(X, y)
    )
    if not hasattr(search, "status_"):
        assert ended != "max_time"
        return f"search: {ended}, nothing", late
    if not hasattr(search, "best_params_"):
        with pytest.raises(AttributeError, match="since the search ended before any cell was done"):
            search.best_params_  # noqa: B018
        return f"search: {ended}, no cell", late
    assert search.best_params_["C"] in search.Cs_
    return f"search: {ended}, {'some' if search.missing_ else 'all'} cells", late


def _path(rng):
    """A path has the values that it has come to."""
    X, y = make_blobs(int(rng.integers(200, 2500)), centers=2, cluster_std=5.0, random_state=1)
    problem = make_problem(2.0 * y - 1.0, lam=1.0)
    seconds = float(10 ** rng.uniform(-6, -4))
    kernel = pick(rng, [Slow(seconds), "rbf"]) if len(y) < 600 else "rbf"
    options = {"tol": 1e-4}
    found = []

    def follow():
        options_of_rows = {"gamma": 0.5} if kernel == "rbf" else {}
        rows = make_rows(X, kernel, cache="cached", **options_of_rows)
        found.append(regularization_path(problem, rows, np.logspace(-1, 4, 8), **options))

    ended, late = _end(rng, None, follow)
    return f"path: {ended}", late


def _prediction(rng):
    """Predictions of many rows, or by a slow kernel, are left; the model stays."""
    slow = bool(rng.random() < 0.5)
    X, y = blobs(rng, 300, 3 if slow else 100)
    kernel = Slow(0.0) if slow else "rbf"
    model = PegasosSVC(kernel=kernel, random_state=0, epochs=2).fit(X, y)
    if slow:
        kernel.seconds = float(10 ** rng.uniform(-5, -2.5))
    rows = X[rng.integers(len(X), size=int(10 ** rng.uniform(2, 3.5 if slow else 5.5)))]
    ended, late = _end(rng, None, lambda: model.decision_function(rows))
    if slow:
        kernel.seconds = 0.0
    check_usable(model, X, X.shape[1])
    return f"prediction: {ended}", late


def _chunks(rng):
    """A stream ends with its chunk."""
    X, y = blobs(rng, 20_000, 50)
    model = LinearPegasosSVC(random_state=0)
    parts = np.array_split(np.arange(len(y)), int(rng.integers(2, 20)))
    ended, late = _end(
        rng,
        None,
        lambda: fit_chunks(model, lambda: ((X[part], y[part]) for part in parts), epochs=10**4),
    )
    if hasattr(model, "classes_"):
        check_usable(model, X[:100], 50)
    return f"chunks: {ended}", late


def _program(rng):
    """`kpegasos train` and `tune` end soon, whatever they do."""
    X, y = make_blobs(4000, centers=2, n_features=30, cluster_std=8.0, random_state=0)
    presses, command = int(rng.integers(1, 3)), pick(rng, ["train", "tune"])
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        write_svmlight(data, X, y)
        files = [str(data)] if command == "tune" else [str(data), str(Path(folder) / "model")]
        with subprocess.Popen(
            [sys.executable, "-m", "kpegasos", command, *files], env={**os.environ},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            time.sleep(float(rng.uniform(1.0, 15.0)))
            for _ in range(presses):
                process.send_signal(signal.SIGINT)
                pressed = time.perf_counter()
                time.sleep(0.2)
            _, err = process.communicate(timeout=300)
            late = time.perf_counter() - pressed
    assert late < (_ONCE if presses == 1 else _TWICE), f"{command}: {late:.1f} s late"
    assert process.returncode in (0, 130, -signal.SIGINT), (process.returncode, err)
    return f"kpegasos {command}: {process.returncode} after {_times(presses)}", late
