"""What the reference is given, checked: one sentence that names the parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.core.problem import make_problem
from kpegasos.utils.validation import (
    LARGEST_VALUE,
    as_array,
    as_integer,
    canonical_rows,
    check_magnitude,
    shown,
)


def labels(y: Any, lam: float) -> tuple[np.ndarray, float]:
    """Return labels ±1 and λ as floats.

    Raises
    ------
    ValueError
        If they are none.
    """
    problem = make_problem(y, lam)
    return problem.y, problem.lam


def features(X: Any, y: np.ndarray) -> Any:
    """Return features as an array or CSR matrix with a row for each label.

    Raises
    ------
    ValueError
        If they are none.
    """
    X = canonical_rows(X)
    check_magnitude(X)
    if X.shape[0] != y.size:
        raise ValueError(
            f"X must have a row for each of the {y.size} labels of y, got {X.shape[0]} instead"
        )
    return X


def kernel_values(K: ArrayLike, y: np.ndarray) -> np.ndarray:
    """Return kernel values as a square array of float64 with a row for each label.

    Raises
    ------
    ValueError
        If they are none.
    """
    K = as_array("K", K)
    if K.shape != (y.size, y.size):
        raise ValueError(
            f"K must have a row and a column for each of the {y.size} labels of y, "
            f"got shape {K.shape} instead"
        )
    if not np.abs(K).max() <= LARGEST_VALUE:  # nor NaN
        raise ValueError(f"K must hold finite values up to {LARGEST_VALUE:g}, got others")
    return K


def batches(draws: ArrayLike, batch_size: int, n_samples: int) -> np.ndarray:
    """Return draws as one row for each batch, int64 of shape (n_steps, batch_size).

    Raises
    ------
    ValueError
        If they are no rows of the examples, or not a whole number of batches.
    """
    k = as_integer("batch_size", batch_size, least=1)
    drawn = as_array("draws", draws, expected="be a vector of row numbers", kinds="iu")
    if drawn.ndim != 1 or drawn.size == 0 or drawn.size % k:
        raise ValueError(
            f"draws must be a vector of one or more batches of batch_size={k}, "
            f"got shape {drawn.shape} instead"
        )
    if drawn.min() < 0 or drawn.max() >= n_samples:
        raise ValueError(
            f"draws must be rows from 0 to {n_samples - 1} of X or K, "
            f"got {drawn.min():.0f} to {drawn.max():.0f} instead"
        )
    return drawn.astype(np.int64).reshape(-1, k)


def start(values: ArrayLike | None, size: int, radius: float) -> np.ndarray:
    """Return the first iterate: zeros unless given.

    Raises
    ------
    ValueError
        If it is no vector of that size, or longer than the radius of the ball.
    """
    if values is None:
        return np.zeros(size)
    found = as_array("start", values)
    if found.shape != (size,):
        raise ValueError(
            f"start must have a number for each of {size} features, got shape {found.shape} instead"
        )
    norm = float(np.linalg.norm(found))
    if not norm <= radius * (1.0 + 1e-12):  # nor NaN
        raise ValueError(
            f"start must have a norm of 1/sqrt(lam) = {radius:g} at most, got {norm:g} instead"
        )
    return found


def losses(values: Any, n_samples: int) -> np.ndarray:
    """Return what a loss made of the margins.

    Raises
    ------
    ValueError
        If it is not a number for each.
    """
    found = as_array("loss", values, expected="return real numbers")
    if found.shape != (n_samples,):
        raise ValueError(
            f"loss must return a number for each of {n_samples} margins, "
            f"got shape {found.shape} instead"
        )
    return found


def vector(values: Any, size: int) -> np.ndarray:
    """Return numbers as a vector of a size.

    Raises
    ------
    ValueError
        If they are none.
    """
    found = as_array("iterates", values)
    if found.shape != (size,):
        raise ValueError(f"iterates must have {size} numbers, got shape {found.shape} instead")
    return found


def not_iterates(came: Any, size: int) -> ValueError:
    """Say what a sequence of iterates is made of."""
    return ValueError(
        f"iterates must be tuples (t, last), (t, last, average) or (t, last, average, alpha) of a "
        f"step, vectors of size {size} and a number alpha for each example, "
        f"got {shown(came)} instead"
    )
