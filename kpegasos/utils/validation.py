"""Checks of arrays and numbers that more than one room makes."""

from __future__ import annotations

import math
from itertools import product
from numbers import Integral
from operator import index
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

#: Kernel values beyond this leave no room for the squares and sums that objectives are made of.
LARGEST_VALUE = 1e100


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """A seed of 31 bits from what scikit-learn calls a random state."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def canonical_rows(X: Any) -> Any:
    """Return rows as the loops want them, copied only if need be.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray or CSR matrix without duplicate entries, float32 as given or float64

    Raises
    ------
    ValueError
        If X does not have two dimensions.
    """
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features, got shape {X.shape}")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def check_magnitude(X: Any) -> None:
    """Check that inner products of the rows stay far from overflow.

    Raises
    ------
    ValueError
        If they may not, or are not finite.
    """
    if X.shape[0] == 0 or X.shape[1] == 0:
        return
    largest = max(float(X.max()), -float(X.min()))
    if not np.isfinite(largest):
        raise ValueError("X must be finite, got NaN or infinity")
    if largest > (largest_value(X.dtype) / X.shape[1]) ** 0.5:
        raise ValueError(too_large("inner products", X.dtype, largest))


def largest_value(dtype: np.dtype) -> float:
    """Largest kernel value that is accepted in a dtype."""
    return min(LARGEST_VALUE, float(np.finfo(dtype).max))


def too_large(what: str, dtype: np.dtype, largest: float) -> str:
    """Say that the features are too large for something."""
    return (
        f"X must be small enough that {what} fit in {dtype} with room to spare, "
        f"got values up to {largest:.3g}; scale the features"
    )


def check_gram(gram: Any) -> np.ndarray:
    """Check that a kernel matrix is square, finite and symmetric (to rounding).

    Raises
    ------
    ValueError
        If it is not.
    """
    gram = np.asarray(gram)
    if gram.dtype not in (np.float32, np.float64):
        gram = gram.astype(np.float64)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f"kernel='precomputed' expects X to be a square kernel matrix, got shape {gram.shape}"
        )
    scale = max(float(gram.max(initial=0.0)), -float(gram.min(initial=0.0)))
    if not math.isfinite(scale):
        raise ValueError(
            "kernel='precomputed' expects X to be a finite kernel matrix, got NaN or infinity"
        )
    tolerance = 100 * float(np.finfo(gram.dtype).eps) * scale
    # Tile by tile: 25 times faster here than a pass over the whole matrix and its transpose.
    for top, left in product(range(0, gram.shape[0], 256), repeat=2):
        tile = gram[top : top + 256, left : left + 256]
        mirrored = gram[left : left + 256, top : top + 256].T
        difference = np.abs(tile - mirrored).max() if left >= top else 0.0
        if difference > tolerance:
            raise ValueError(
                f"kernel='precomputed' expects X to be a symmetric kernel matrix, "
                f"got entries that differ by {difference:.3g} from their mirror images"
            )
    return gram


def as_integer(name: str, value: Any, *, least: int) -> int:
    """Return a whole number as Python's int: numpy's would reach compiled code as another type.

    Raises
    ------
    ValueError
        If it is not a whole number of at least ``least``.
    """
    expected = "a positive integer" if least == 1 else f"an integer of at least {least}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be {expected}, got {value!r} instead")
    return index(value)
