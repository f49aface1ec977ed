"""The classification problems of the kernel benchmarks: dense data, and the parameters of the SVM.

Small ones are made here, others are read where `kpegasos.datasets` finds them. All are made in
float64 or float32, as asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.preprocessing import StandardScaler, normalize

from kpegasos.datasets import (
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_usps,
)

#: Examples, labels, test examples, test labels (None if there are none).
Split = tuple[Any, Any, Any, Any]


class Task(NamedTuple):
    """A classification problem, with the parameters of its SVM."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: Any  # None without labels
    gamma: float
    C: float


class Problem(NamedTuple):
    """How a problem is made; gamma is a number, or "scale" for scikit-learn's default."""

    make: Callable[[], Split]
    gamma: float | str
    C: float


def _two_classes(data: Any, classes: tuple[int, int]) -> Split:
    train, test = np.isin(data.y_train, classes), np.isin(data.y_test, classes)
    return data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test]


def _against_the_rest(data: Any, number: int) -> Split:
    signs = [np.where(y == number, 1, -1) for y in (data.y_train, data.y_test)]
    return data.X_train, signs[0], data.X_test, signs[1]


def usps_split(seed: int, number: int = 7, scale: Callable[[Any], Any] = normalize) -> Split:
    """Split the 9,298 digits of USPS at random, in the journal paper's sizes; one against the rest.

    The paper's split is not known; its sizes are not those of the usual files. LIBSVM's file calls
    the digits 1 to 10, so that an "8" of it is a seven.
    """
    data = load_usps()
    X = scale(np.vstack((data.X_train, data.X_test)))
    y = np.where(np.concatenate((data.y_train, data.y_test)) == number, 1, -1)
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[:7329], order[7329:]
    return X[train], y[train], X[test], y[test]


def _all(data: Any) -> Split:
    return data.X_train, data.y_train, data.X_test, data.y_test


def _covertype() -> Split:
    """Take the first 20,000 of the training and of the test examples, columns standardised."""
    data = load_covtype()
    scaler = StandardScaler()
    X = scaler.fit_transform(data.X_train[:20_000])
    X_test = scaler.transform(data.X_test[:20_000])
    return X, data.y_train[:20_000], X_test, data.y_test[:20_000]


def _moons(n_samples: int) -> Split:
    return (
        *make_moons(n_samples, noise=0.25, random_state=0),
        *make_moons(1000, noise=0.25, random_state=1),
    )


def _four_classes(n_samples: int) -> Split:
    X, y = make_classification(
        n_samples + 1000, 20, n_informative=10, n_classes=4, random_state=0, flip_y=0.05
    )
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


def _digits() -> Split:
    """Fit and predict all digits, as there are few; so there is no test accuracy."""
    X, y = load_digits(return_X_y=True)
    return X, y, X, None


SMALL: dict[str, Problem] = {
    **{
        f"moons {n:,}": Problem(lambda n=n: _moons(n), "scale", 1.0)  # type: ignore[misc]
        for n in (100, 500, 2000, 5000)
    },
    **{
        f"4 classes {n:,}": Problem(lambda n=n: _four_classes(n), "scale", 1.0)  # type: ignore[misc]
        for n in (100, 500, 2000)
    },
    "digits 1,797": Problem(_digits, "scale", 1.0),
}
LARGE: dict[str, Problem] = {
    "Fashion-MNIST": Problem(lambda: _all(load_fashion_mnist()), 0.0102, 10.0),
    "T-shirt or shirt": Problem(lambda: _two_classes(load_fashion_mnist(), (0, 6)), 0.0102, 10.0),
    "MNIST 8": Problem(lambda: _against_the_rest(load_mnist(), 8), 0.02, 1.0),
    "Adult": Problem(lambda: _all(load_adult()), 0.05, 1.0),
    "USPS 7": Problem(lambda: usps_split(0), 2.0, 1.0),
    "Covertype 20,000": Problem(_covertype, "scale", 1.0),
    "Covertype, C = 10": Problem(_covertype, 0.5, 10.0),
    "Covertype, C = 100": Problem(_covertype, 0.5, 100.0),
}
PROBLEMS = LARGE | SMALL


def _dense(X: Any, dtype: str) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=dtype)


@lru_cache(maxsize=1)
def _made(name: str) -> Split:
    return PROBLEMS[name].make()


def load(name: str, n_samples: int | None = None, dtype: str = "float32") -> Task:
    """Load a problem, dense, or its first training examples.

    Parameters
    ----------
    name : str
        A key of `PROBLEMS`.
    n_samples : int or None, default None
        How many training examples; all of them if None.
    dtype : {"float32", "float64"}, default "float32"
        Type of the features.

    Returns
    -------
    Task
    """
    _, gamma, C = PROBLEMS[name]
    X, y, X_test, y_test = _made(name)
    X, y = _dense(X[:n_samples], dtype), np.asarray(y[:n_samples])
    if isinstance(gamma, str):
        gamma = 1.0 / (X.shape[1] * X.var(dtype=np.float64))
    labels = None if y_test is None else np.asarray(y_test)
    return Task(X, y, _dense(X_test, dtype), labels, float(gamma), C)
