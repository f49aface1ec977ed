"""Kernel SVMs side by side: one fit after another in a process of its own, judged alike.

``python -m experiments._kernel_peers '{"problem": ..., "solver": ..., ...}'`` prints one line of
JSON. A process of its own gives each solver the same start and shows its peak memory. Every model
is judged by the objective of kpegasos, with the intercept as the weight of a constant feature, over
the training examples.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from experiments._settings import hinge_objective
from kpegasos import RBF, PegasosSVC
from kpegasos.datasets import load_adult, load_fashion_mnist, load_mnist, load_usps

MEBIBYTE = 1 << 20


class Task(NamedTuple):
    """A classification problem, with the parameters of its SVM."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    gamma: float
    C: float


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)


def _two_classes(data: Any, classes: tuple[int, int]) -> tuple[np.ndarray, ...]:
    train, test = np.isin(data.y_train, classes), np.isin(data.y_test, classes)
    return data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test]


def _against_the_rest(data: Any, number: int) -> tuple[np.ndarray, ...]:
    signs = [np.where(y == number, 1, -1) for y in (data.y_train, data.y_test)]
    return data.X_train, signs[0], data.X_test, signs[1]


def _all(data: Any) -> tuple[np.ndarray, ...]:
    return data.X_train, data.y_train, data.X_test, data.y_test


#: Name: loader, part of the data, gamma, C.
PROBLEMS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], float, float]] = {
    "Fashion-MNIST": (load_fashion_mnist, _all, 0.0102, 10.0),
    "T-shirt or shirt": (load_fashion_mnist, lambda d: _two_classes(d, (0, 6)), 0.0102, 10.0),
    "MNIST 8": (load_mnist, lambda d: _against_the_rest(d, 8), 0.02, 1.0),
    "Adult": (load_adult, _all, 0.05, 1.0),
    "USPS 8": (load_usps, lambda d: _against_the_rest(d, 8), 2.0, 1.0),
}


def load(name: str, n_samples: int | None = None) -> Task:
    """Load a problem, dense and float32, or its first training examples."""
    loader, part, gamma, C = PROBLEMS[name]
    X, y, X_test, y_test = part(loader())
    X, y = X[:n_samples], y[:n_samples]
    return Task(_dense(X), np.asarray(y), _dense(X_test), np.asarray(y_test), gamma, C)


def installed() -> list[str]:
    """Names of the solvers that can be run here."""
    peers = ["kpegasos", "scikit-learn"]
    return peers + ["scikit-learn-intelex"] * (importlib.util.find_spec("sklearnex") is not None)


def make_model(solver: str, task: Task, parameters: dict[str, Any]) -> Any:
    """Estimator of a solver."""
    if solver == "kpegasos":
        return PegasosSVC(task.C, gamma=task.gamma, checkpoints=None, random_state=0, **parameters)
    if solver == "scikit-learn-intelex":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    return SVC(C=task.C, gamma=task.gamma, **parameters)


def expansion(gamma: float, X: np.ndarray, vectors: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Compute Σ_j coefs_j k(x, vectors_j) for every row of X, in blocks of bounded memory.

    Parameters
    ----------
    gamma : float
        Parameter of the Gaussian kernel.
    X : ndarray of shape (n_samples, n_features)
        Points.
    vectors : ndarray of shape (n_vectors, n_features)
        Support vectors.
    coefs : ndarray of shape (n_vectors,) or (n_vectors, n_outputs)
        Coefficients.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
    """
    kernel = RBF(gamma)
    blocks = gen_batches(X.shape[0], 512)
    return np.concatenate([kernel.block(X[block], vectors) @ coefs for block in blocks])


def _pair_coefficients(model: Any, n_classes: int) -> np.ndarray:
    """Coefficients of each pair of classes over all support vectors, a column each."""
    if n_classes == 2:
        return np.reshape(model.dual_coef_, (-1, 1))
    ends = np.concatenate(([0], np.cumsum(model.n_support_)))
    columns = []
    for i, j in combinations(range(n_classes), 2):
        column = np.zeros(ends[-1])
        for own, row in ((i, j - 1), (j, i)):
            members = slice(ends[own], ends[own + 1])
            column[members] = model.dual_coef_[row, members]
        columns.append(column)
    return np.stack(columns, axis=1)


def _judge(model: Any, task: Task) -> float:
    """Primal objective of a model, the mean over its pairs of classes."""
    n_classes = model.classes_.size
    labels = np.searchsorted(model.classes_, task.y)
    coefs = _pair_coefficients(model, n_classes)
    decisions = expansion(task.gamma, task.X, task.X[model.support_], coefs)
    objectives = []
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        intercept = float(np.ravel(model.intercept_)[number])
        squared_norm = coefs[:, number] @ decisions[model.support_, number] + intercept**2
        members = np.isin(labels, (i, j))
        y = np.where(labels[members] == (j if n_classes == 2 else i), 1.0, -1.0)
        f = decisions[members, number] + intercept
        objectives.append(hinge_objective(y, f, squared_norm, 1 / (task.C * y.size)))
    return float(np.mean(objectives))


class _Memory:
    """Peak of the resident memory while a block of code runs, MiB beyond what it began with."""

    def __enter__(self) -> _Memory:
        import psutil

        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self._peak = self._before
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self._peak = max(self._peak, self._process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def extra(self) -> float:
        """MiB more than before."""
        return (self._peak - self._before) / MEBIBYTE

    @property
    def peak(self) -> float:
        """MiB in all."""
        return self._peak / MEBIBYTE


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Fit and predict ``repeats`` times after a warm-up on a few examples.

    Parameters
    ----------
    job : dict
        ``problem``, ``solver``, ``parameters``, ``repeats``, optionally ``n_samples``, ``C``,
        ``scale`` (features to [0, 1], default False) and ``judge`` (default True).
    """
    task = load(job["problem"], job.get("n_samples"))
    if "C" in job:
        task = task._replace(C=job["C"])
    if job.get("scale"):
        low, high = task.X.min(), task.X.max()
        task = task._replace(
            X=(task.X - low) / (high - low), X_test=(task.X_test - low) / (high - low)
        )
    parameters = job["parameters"]
    few = np.arange(min(3000, len(task.y)))
    warnings.simplefilter("ignore")
    make_model(job["solver"], task, parameters).fit(task.X[few], task.y[few]).predict(task.X[:100])
    fits, predictions = [], []
    for number in range(job["repeats"]):
        model = make_model(job["solver"], task, parameters)
        # Watched in the first fit alone, as watching takes time.
        with _Memory() if number == 0 else _Nothing() as memory:
            begin = time.perf_counter()
            model.fit(task.X, task.y)
            fits.append(time.perf_counter() - begin)
        if number == 0:
            extra_mb, peak_mb = memory.extra, memory.peak
        begin = time.perf_counter()
        predicted = model.predict(task.X_test)
        predictions.append(time.perf_counter() - begin)
    result = {
        "fit_seconds": float(np.median(fits)),
        "fit_seconds_all": fits,
        "predict_seconds": float(np.median(predictions)),
        "test_accuracy": float(np.mean(predicted == task.y_test)),
        "support_vectors": int(model.support_.size),
        "extra_mb": extra_mb,
        "peak_mb": peak_mb,
    }
    if job.get("judge", True):
        result["objective"] = _judge(model, task)
    if job["solver"] == "kpegasos":
        result |= _own(model, task)
    return result


class _Nothing:
    extra = peak = float("nan")

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _own(model: PegasosSVC, task: Task) -> dict[str, Any]:
    """What our models know about themselves."""
    histories = model.history_ if isinstance(model.history_, list) else [model.history_]
    last = [history.records[-1] for history in histories]
    _, counts = np.unique(task.y, return_counts=True)
    sizes = [a + b for k, a in enumerate(counts) for b in counts[k + 1 :]]
    return {
        "max_relative_gap": float(np.max(model.relative_gap_)),
        "dual_bound": float(np.mean([record.dual_bound for record in last])),
        "kernel_evaluations": int(sum(record.kernel_evaluations for record in last)),
        "needed_evaluations": int(
            sum(record.support_size * size for record, size in zip(last, sizes, strict=True))
        ),
    }


def in_a_process(job: dict[str, Any]) -> dict[str, Any]:
    """`measure` in a fresh process."""
    command = [sys.executable, "-m", "experiments._kernel_peers", json.dumps(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
