"""Tables of results: percentiles over the seeds, and rows by what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def shortened(values: Any, digits: int) -> Any:
    """Keep some significant digits, more than which nobody knows or sees; of nested lists too.

    Digits, and not decimals: level lines stay smooth where a decision is nearly 0.
    """
    if np.ndim(values) == 0:
        return float(f"{values:.{digits}g}")
    return [shortened(value, digits) for value in values]


def percentiles(values: Any, axis: int = 0) -> np.ndarray:
    """Return the 20%, 50% and 80% percentiles along an axis, that of the seeds."""
    return np.percentile(np.asarray(values, dtype=float), [20, 50, 80], axis=axis)


def summary(key: str, values: Any) -> dict[str, float]:
    """Return the columns of a row for the values of all seeds: ``key``, ``key_20``, ``key_80``."""
    low, median, high = percentiles(values).tolist()
    return {key: median, f"{key}_20": low, f"{key}_80": high}


def ranged(key: str, values: list[float]) -> dict[str, float]:
    """Return the columns of a row for some values: median, least and most."""
    return {key: float(np.median(values)), f"{key}_min": min(values), f"{key}_max": max(values)}


def spread(rows: Iterable[dict[str, Any]], key: str) -> np.ndarray:
    """Return what `summary` wrote into some rows, as an array of shape (3, n_rows)."""
    columns = (f"{key}_20", key, f"{key}_80")
    return np.array([[row[column] for column in columns] for row in rows], dtype=float).T


def select(rows: Iterable[dict[str, Any]], **values: Any) -> list[dict[str, Any]]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]
