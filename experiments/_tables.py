"""Tables of results: percentiles over the seeds, and rows by what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np

#: A row of a table, or what else JSON has by names.
Row = dict[str, Any]


def shortened(values: Any, digits: int) -> Any:
    """Keep some significant digits, more than which nobody knows or sees; of nested lists too.

    Digits, and not decimals: level lines stay smooth where a decision is nearly 0.
    """
    if np.ndim(values) == 0:
        return float(f"{values:.{digits}g}")
    return [shortened(value, digits) for value in values]


def percentiles(values: Any, **options: Any) -> np.ndarray:
    """Return the 20%, 50% and 80% percentiles along the first axis, that of the seeds."""
    return np.percentile(np.asarray(values, dtype=float), [20, 50, 80], **{"axis": 0, **options})


def summary(key: str, values: Any, **options: Any) -> dict[str, float]:
    """Return the columns of a row for the values of all seeds: ``key``, ``key_20``, ``key_80``."""
    low, median, high = percentiles(values, **options).tolist()
    return {key: median, f"{key}_20": low, f"{key}_80": high}


def columns(rows: Iterable[Row], *keys: str) -> np.ndarray:
    """Return columns of some rows, as an array of shape (n_keys, n_rows); NaN for None."""
    table = np.array([[row[key] for key in keys] for row in rows], dtype=float)
    return table.reshape(-1, len(keys)).T


def grouped(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Sort rows by what they have in a column, or by the tuple of several."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(itemgetter(*keys)(row), []).append(row)
    return found


def ranged(key: str, values: list[float]) -> dict[str, float]:
    """Return the columns of a row for some values: median, least and most."""
    return {key: float(np.median(values)), f"{key}_min": min(values), f"{key}_max": max(values)}


def range_of(row: Row, key: str) -> tuple[float, float]:
    """Return the least and most that `ranged` wrote; a row without them has its median twice."""
    low, high = (row[name if name in row else key] for name in (f"{key}_min", f"{key}_max"))
    return low, high


def spread(rows: Iterable[Row], key: str) -> np.ndarray:
    """Return what `summary` wrote into some rows, as an array of shape (3, n_rows)."""
    return columns(rows, f"{key}_20", key, f"{key}_80")


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]
