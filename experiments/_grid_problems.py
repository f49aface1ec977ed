"""The searches of the experiment `grid_search`: data, folds, γ and C.

γ are powers of 4 times SVC's "scale" of all data, the same numbers for every fold and tool, and C
are powers of 10: five of each are the default grid of `PegasosSVCCV`. The problems of TorchKM are
told in `experiments._torchkm`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from experiments import _torchkm as torchkm
from kpegasos.datasets import load_adult, load_fashion_mnist, make_toy

#: Examples and labels.
Data = tuple[np.ndarray, np.ndarray]
#: Training and test indices of each fold.
Splits = list[tuple[np.ndarray, np.ndarray]]


class Search(NamedTuple):
    """A search as every tool is given it."""

    X: np.ndarray
    y: np.ndarray
    gammas: np.ndarray
    Cs: np.ndarray
    splits: Splits


class Problem(NamedTuple):
    """How a search is made.

    Attributes
    ----------
    make : callable
        Makes at most as many examples as it is told, all of them if None.
    gammas : callable
        Makes the values of γ for the examples.
    Cs : ndarray of shape (n_Cs,)
        Values of C, increasing.
    n_splits : int
        Number of folds.
    slow : tuple of str
        Tools that take more than ten minutes or so, which are run only when they are asked for.
    """

    make: Callable[[int | None], Data]
    gammas: Callable[[np.ndarray], np.ndarray]
    Cs: np.ndarray
    n_splits: int = 5
    slow: tuple[str, ...] = ()


def _digits(n_samples: int | None) -> Data:
    X, y = load_digits(return_X_y=True)
    return X[:n_samples], y[:n_samples]


def _moons(n_samples: int | None) -> Data:
    return make_toy("moons", n_samples or 2000, noise=0.3, random_state=0)


def _two_garments(most: int | None, n_samples: int | None) -> Data:
    """Take the first T-shirts (0) and shirts (6)."""
    data = load_fashion_mnist()
    chosen = np.flatnonzero(np.isin(data.y_train, (0, 6)))[: n_samples or most]
    return data.X_train[chosen], data.y_train[chosen]


def _adult(n_samples: int | None) -> Data:
    data = load_adult()
    first = slice(n_samples or 8000)
    return data.X_train[first].toarray(), data.y_train[first]


def _mixture(n_features: int, n_samples: int | None) -> Data:
    return torchkm.make_mixture(n_samples or torchkm.N_SAMPLES, n_features)


def _around_scale(exponents: range, X: np.ndarray) -> np.ndarray:
    scale = 1.0 / (X.shape[1] * X.var(dtype=np.float64))
    return scale * 4.0 ** np.array(exponents)


def _kernlab(X: np.ndarray) -> np.ndarray:
    return np.array([torchkm.kernel_gamma(X)])


_FIVE_GAMMAS = partial(_around_scale, range(-2, 3))
_FIVE_CS = np.logspace(-1, 3, 5)

#: With peers.
COMPARED: dict[str, Problem] = {
    "digits": Problem(_digits, _FIVE_GAMMAS, _FIVE_CS),
    "moons 2,000": Problem(_moons, _FIVE_GAMMAS, _FIVE_CS),
    "T-shirt or shirt 4,000": Problem(
        partial(_two_garments, 4000), partial(_around_scale, range(-1, 3)), np.logspace(-1, 2, 4)
    ),
    "T-shirt or shirt 12,000": Problem(
        partial(_two_garments, None),
        _FIVE_GAMMAS,
        _FIVE_CS,
        slow=("SVC",),
    ),
    "Adult 8,000": Problem(_adult, _FIVE_GAMMAS, _FIVE_CS, slow=("SVC",)),
}
#: Number of features of each problem of TorchKM, and its grid.
SIMULATED: dict[str, tuple[int, str]] = {
    f"TorchKM {n_features:,} features, grid of the {grid}": (n_features, grid)
    for n_features in torchkm.PUBLISHED
    for grid in ("paper", "script")
}
PROBLEMS: dict[str, Problem] = COMPARED | {
    name: Problem(partial(_mixture, n_features), _kernlab, torchkm.grid(grid), torchkm.N_FOLDS)
    for name, (n_features, grid) in SIMULATED.items()
}


def load(
    name: str, n_samples: int | None = None, n_values: int | None = None, dtype: str = "float32"
) -> Search:
    """Make a search.

    Parameters
    ----------
    name : str
        A key of `PROBLEMS`.
    n_samples : int or None, default None
        How many examples; all of them if None.
    n_values : int or None, default None
        How many γ and C at most, about the middle of the grid; all of them if None.
    dtype : {"float32", "float64"}, default "float32"
        Type of the features.

    Returns
    -------
    Search
    """
    problem = PROBLEMS[name]
    X, y = problem.make(n_samples)
    X, y = np.ascontiguousarray(X, dtype=dtype), np.asarray(y)

    def middle(values: np.ndarray) -> np.ndarray:
        surplus = 0 if n_values is None else max(0, values.size - n_values)
        return values[surplus // 2 : values.size - (surplus - surplus // 2)]

    folds = StratifiedKFold(problem.n_splits, shuffle=True, random_state=0)
    splits: Any = list(folds.split(X, y))
    return Search(X, y, middle(problem.gammas(X)), middle(problem.Cs), splits)
