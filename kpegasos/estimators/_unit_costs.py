"""Seconds that a unit of work takes at full size, measured on a little of it.

A kernel value costs more in a long row than in a short one, and an addition more where the rows are
beyond the processor's caches. So both are measured at the width that a fit will have.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.additions import add_rows_together
from kpegasos.kernels.functions import Kernel
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.utils import tuning

#: Rows that are computed to see what a value costs; and the first, which have all examples packed.
_ROWS, _FIRST_ROWS = tuning.ROWS_AT_ONCE, 8
#: Kernel values, at the most, of such rows: fewer rows of many examples will do.
_MOST_VALUES = 1 << 23
#: Bytes of kernel rows that no processor's cache holds.
_BEYOND_CACHES = 64 * tuning.MEBIBYTE
#: Bytes of memory that are asked for to see what it costs, and those of a page.
_FRESH_BYTES, _PAGE = 32 * tuning.MEBIBYTE, 4096


class RowCosts(NamedTuple):
    """What kernel rows cost.

    Attributes
    ----------
    preparing : float
        Seconds before the first row: all examples are packed.
    value : float
        Seconds for a value of a row.
    """

    preparing: float
    value: float


def row_costs(kernel: Kernel, X: Any, width: int, dtype: str | None) -> RowCosts:
    """Time some rows of so many examples, in memory that is at hand.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    width : int
        Examples of a row.
    dtype : str or None
        Of kernel values.
    """
    begin = time.perf_counter()
    matrix = KernelMatrix(kernel, X, row_dtype=dtype)
    few = np.arange(min(width, _FIRST_ROWS))
    matrix.write_rows(few, np.empty((few.size, width), matrix.dtype), 0, width)
    first = time.perf_counter() - begin
    many = np.arange(min(width, _ROWS, max(2 * _FIRST_ROWS, _MOST_VALUES // width)))
    out = np.empty((many.size, width), matrix.dtype)
    out.fill(0.0)  # what fresh memory costs is another question
    begin = time.perf_counter()
    matrix.write_rows(many, out, 0, width)
    value = (time.perf_counter() - begin) / (many.size * width)
    return RowCosts(max(0.0, first - value * few.size * width), value)


def seconds_of_an_addition(width: int, n_rows: float, dtype: Any) -> float:
    """Time additions of kernel rows to margins.

    Parameters
    ----------
    width : int
        Examples of a row.
    n_rows : float
        Rows that are kept; more than a processor's cache holds are not needed here.
    dtype : dtype
        Of kernel values.
    """
    row_bytes = width * np.dtype(dtype).itemsize
    number = max(4, int(min(n_rows, 1 + _BEYOND_CACHES / row_bytes)))
    rows = np.ones((number, width), dtype)
    order = np.random.default_rng(0).permutation(number)
    image, counts, nothing = np.zeros(width), np.ones(number), np.empty(0)
    group = tuning.SMALL_WORKING_SET
    seconds = np.inf
    for _ in range(2):
        begin = time.perf_counter()
        for first in range(0, number, group):
            part = order[first : first + group]
            add_rows_together(
                rows, rows[:0], part, counts[: part.size], counts[: part.size], 0.0, image, nothing
            )
        seconds = min(seconds, time.perf_counter() - begin)
    return seconds / (number * width)


def seconds_of_fresh_memory() -> float:
    """Time the first touch of a MiB."""
    memory = np.empty(_FRESH_BYTES, dtype=np.uint8)
    begin = time.perf_counter()
    memory[::_PAGE] = 1
    return (time.perf_counter() - begin) / (_FRESH_BYTES / tuning.MEBIBYTE)
