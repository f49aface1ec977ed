"""Data that experiments share, brackets of the optimum, and runs of Pegasos with many seeds.

``python -m experiments._data MODULE FUNCTION JOB`` calls a function of an experiment with a job, a
JSON object, and prints what it returns as a line of JSON, in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.preprocessing import StandardScaler, normalize

from experiments._results import Row, shortened
from experiments._run import load, plain
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import (
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
    make_toy,
)


class Split(NamedTuple):
    """Examples to train and to test with; labels are None where there are none."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


class Setting(NamedTuple):
    """Labels ±1, rows for the solver, and a name to read; R = max ‖φ(x)‖ is 1 in all of them."""

    title: str
    y: np.ndarray
    rows: Any


def moons(n_samples: int, noise: float = 0.2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make two moons with labels ±1."""
    X, y = make_toy("moons", n_samples, noise=noise, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


@cache
def setting(name: str) -> Setting:
    """Make the data and rows of ``"moons"``, ``"rcv1"``, ``"adult"`` or ``"usps"``."""
    if name == "moons":
        X, y = moons(1000)
        return Setting("moons, RBF", y, make_rows(X, "rbf", gamma=2.0, cache="precomputed"))
    if name == "rcv1":
        data = load_rcv1_sample()
        return Setting("RCV1 sample, linear", data.y_train, linear_rows(data.X_train))
    if name == "adult":
        data = load_adult()
        X = normalize(data.X_train)  # rows of length one, as those of the papers' texts
        return Setting("Adult, linear", data.y_train, linear_rows(X))
    data = load_usps()
    rows = make_rows(data.X_train, "rbf", gamma=2 / 256, cache="precomputed")
    return Setting("USPS 8 against the rest, RBF", np.where(data.y_train == 8, 1, -1), rows)


def plane(
    decide: Callable[[np.ndarray], Any], X: np.ndarray, away: float, n: int
) -> dict[str, Any]:
    """Return what a picture of regions has: n × n points of the plane, and decisions there."""
    xx, yy = np.linspace(X.min(axis=0) - away, X.max(axis=0) + away, n).T
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx, yy)])
    values = shortened(np.reshape(decide(grid), (n, n)), 3)
    return {"xx": xx.round(4), "yy": yy.round(4), "values": values, "X": X.round(3)}


# Kernel SVMs side by side


class Task(NamedTuple):
    """A classification problem, with the parameters of its SVM."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: Any  # None without labels
    gamma: float
    C: float


class Problem(NamedTuple):
    """The recipe of a problem; gamma is a number, or "scale" for scikit-learn's default."""

    make: Callable[[], Split]
    gamma: float | str
    C: float


def _shirts() -> Split:
    data = load_fashion_mnist()
    train, test = np.isin(data.y_train, (0, 6)), np.isin(data.y_test, (0, 6))
    return Split(data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test])


def _usps_7() -> Split:
    """Split the 9,298 digits of USPS at random, in the journal paper's sizes; rows of length one.

    The paper's split is not known; its sizes are not those of the usual files. LIBSVM's file calls
    the digits 1 to 10, so that an "8" of it is a seven.
    """
    data = load_usps()
    X = normalize(np.vstack((data.X_train, data.X_test)))
    y = np.where(np.concatenate((data.y_train, data.y_test)) == 7, 1, -1)
    order = np.random.default_rng(0).permutation(y.size)
    train, test = order[:7329], order[7329:]
    return Split(X[train], y[train], X[test], y[test])


def _mnist_8() -> Split:
    data = load_mnist()
    signs = [np.where(y == 8, 1, -1) for y in (data.y_train, data.y_test)]
    return Split(data.X_train, signs[0], data.X_test, signs[1])


def _all(data: Any) -> Split:
    return Split(data.X_train, data.y_train, data.X_test, data.y_test)


def _covertype(n_samples: int) -> Split:
    """Take the first examples of the shuffled rows, and the last 20,000 to test; standardised."""
    data, scaler = load_covtype(), StandardScaler()
    X = np.vstack((data.X_train, data.X_test))
    y = np.concatenate((data.y_train, data.y_test))
    train, test = slice(n_samples), slice(y.size - 20_000, None)
    return Split(scaler.fit_transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def _moons(n_samples: int) -> Split:
    parts = ((n_samples, 0), (1000, 1))
    train, test = (make_moons(n, noise=0.25, random_state=seed) for n, seed in parts)
    return Split(*train, *test)


def _four_classes(n_samples: int) -> Split:
    X, y = make_classification(
        n_samples + 1000, 20, n_informative=10, n_classes=4, random_state=0, flip_y=0.05
    )
    return Split(X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])


def _digits() -> Split:
    """Fit and predict all digits, as there are few; so there is no test accuracy."""
    X, y = load_digits(return_X_y=True)
    return Split(X, y, X, None)


_MADE: dict[str, Callable[[], Split]] = {
    **{f"moons {n:,}": partial(_moons, n) for n in (100, 500, 2000, 5000)},
    **{f"4 classes {n:,}": partial(_four_classes, n) for n in (100, 500, 2000)},
    "digits 1,797": _digits,
}
SMALL = {name: Problem(make, "scale", 1.0) for name, make in _MADE.items()}
#: Parts of one problem that only differ in how many examples they have: all but those to test.
COVERTYPE = {n: f"Covertype {n:,}" for n in (20_000, 50_000, 100_000, 561_012)}
LARGE: dict[str, Problem] = {
    "Fashion-MNIST": Problem(lambda: _all(load_fashion_mnist()), 0.0102, 10.0),
    "T-shirt or shirt": Problem(_shirts, 0.0102, 10.0),
    "MNIST 8": Problem(_mnist_8, 0.02, 1.0),
    "Adult": Problem(lambda: _all(load_adult()), 0.05, 1.0),
    "USPS 7": Problem(_usps_7, 2.0, 1.0),
    **{name: Problem(partial(_covertype, n), 0.1, 1.0) for n, name in COVERTYPE.items()},
    "Covertype, C = 10": Problem(partial(_covertype, 20_000), 0.5, 10.0),
    "Covertype, C = 100": Problem(partial(_covertype, 20_000), 0.5, 100.0),
}
PROBLEMS = LARGE | SMALL


def _dense(X: Any, dtype: str) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=dtype)


@lru_cache(maxsize=1)
def _made(name: str) -> Split:
    return PROBLEMS[name].make()


def load_task(name: str, n_samples: int | None = None, dtype: str = "float32") -> Task:
    """Load one of the `PROBLEMS`, dense, or its first training examples."""
    _, gamma, C = PROBLEMS[name]
    X, y, X_test, y_test = _made(name)
    X, y = _dense(X[:n_samples], dtype), np.asarray(y[:n_samples])
    if isinstance(gamma, str):
        gamma = 1.0 / (X.shape[1] * X.var(dtype=np.float64))
    labels = None if y_test is None else np.asarray(y_test)
    return Task(X, y, _dense(X_test, dtype), labels, float(gamma), C)


# Runs


def hinge_objective(y: np.ndarray, decisions: np.ndarray, squared_norm: float, lam: float) -> float:
    """Return λ/2 ‖w‖² + mean hinge loss, from the labels ±1, the f(x_i) and ‖w‖²."""
    return float(lam / 2 * squared_norm + np.maximum(0.0, 1 - y * decisions).mean())


def bracket(name: str, lam: float, tol: float, max_epochs: int = 20_000) -> dict[str, Any]:
    """Bracket the optimum by dual coordinate ascent; ``"f*"`` is the lower end."""
    _, y, rows = setting(name)
    problem = make_problem(y, lam)
    result = sdca(problem, rows, tol=tol, max_epochs=max_epochs, random_state=0)
    return {"f*": result.dual_bound, "objective": result.objective, "gap": result.gap}


#: Columns of a history by the names of what is drawn.
COLUMNS = {"last": "objective_last", "average": "objective_average"}


def histories(
    problem: Any, rows: Any, seeds: int, columns: Mapping[str, str] = COLUMNS, **options: Any
) -> dict[str, np.ndarray]:
    """Run Pegasos with each seed.

    Parameters
    ----------
    problem, rows
        As `pegasos` takes them.
    seeds : int
        Number of runs.
    columns : dict of str to str
        Columns of the histories by the names that they are to have.
    **options
        Options of `pegasos`.

    Returns
    -------
    dict
        The ``"steps"`` of the checkpoints, and each column with a row for each seed.
    """
    runs = [pegasos(problem, rows, random_state=seed, **options).history for seed in range(seeds)]
    found = {name: np.array([run[column] for run in runs]) for name, column in columns.items()}
    return {"steps": runs[0]["iteration"], **found}


def spaced(last: float, per_decade: int, first: float = 1.0) -> list[int]:
    """Return steps that are evenly spaced in their logarithm."""
    numbers = np.arange(0, per_decade * np.log10(last / first) + 0.5)
    return sorted({round(step) for step in first * 10 ** (numbers / per_decade)})


# Seconds, memory, and processes of their own


def timed(work: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and what it returns."""
    begin = time.perf_counter()
    result = work(*args, **kwargs)
    return time.perf_counter() - begin, result


class Memory:
    """Peak of the resident memory while a block runs, of this process and its children, on Linux.

    Pages that processes share are counted for each of them.
    """

    def __enter__(self) -> Memory:
        self.before = self._peak(reset=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.peak = self._peak()

    def _peak(self, reset: bool = False) -> float:
        """Return MiB, of now on if Linux is to forget the peaks so far."""
        import psutil

        own = psutil.Process()
        total = 0
        for process in (own, *own.children(recursive=True)):
            with suppress(OSError):  # it has ended since, or the system keeps no peak
                folder = Path(f"/proc/{process.pid}")
                if reset:
                    (folder / "clear_refs").write_text("5")
                total += int(re.findall(r"VmHWM:\s*(\d+)", (folder / "status").read_text())[0])
        return total / 1024

    def columns(self) -> Row:
        """Return MiB more than before, and in all."""
        return {"extra_mb": self.peak - self.before, "peak_mb": self.peak}


def repeated(
    work: Callable[[], Any], times: int, budget: float = np.inf, *, weighed: bool = False
) -> tuple[list[float], Any, Row]:
    """Repeat a call, as often and as many seconds as told at the most.

    Returns
    -------
    tuple of (list of float, object, dict)
        Seconds of all calls, the last result, and columns of memory of the first if it is weighed.
    """
    seconds: list[float] = []
    memory: Row = {}
    while len(seconds) < times and sum(seconds) < budget:
        with Memory() if weighed and not seconds else nullcontext() as watch:
            taken, result = timed(work)
        seconds.append(taken)
        memory = watch.columns() if watch else memory
    return seconds, result, memory


def touch_memory(size_mb: int = 2048) -> None:
    """Have had the memory that a fit may ask for, as a virtual machine is slow to give it first."""
    np.ones(size_mb << 17)


def apart(work: Callable[[Row], Any], job: Row) -> Any:
    """Do a job in a fresh process.

    Parameters
    ----------
    work : callable
        A function of an experiment, or of this module.
    job : dict
        What it takes, as JSON has it; its ``environment``, if it has one, are more variables of the
        process, and ``timeout`` are seconds after which that is ended.

    Returns
    -------
    object
        What it returned, an empty dictionary after the timeout.
    """
    command = [sys.executable, "-m", "experiments._data", work.__module__, work.__name__]
    process = subprocess.Popen(
        [*command, json.dumps(job)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | job.get("environment", {}),
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=job.get("timeout"))
    except BaseException as error:
        # All of its session, as a worker that fits does not notice that nobody waits any more.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return {}
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return json.loads(printed.splitlines()[-1])


if __name__ == "__main__":
    module, function, given = sys.argv[1:]
    name = module.removeprefix("experiments.")
    found = getattr(load(name), function)(json.loads(given))
    print(json.dumps(plain(found)), flush=True)
