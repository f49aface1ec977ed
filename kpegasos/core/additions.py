"""Additions of many kernel rows to an image at a time.

One row after another, each addition reads and writes the images of all examples. A few rows
together, they are read and written once for the few, while their part of the rows streams by.
"""

from __future__ import annotations

import numpy as np

from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked, require_indices, require_range, require_shape
from kpegasos.utils.compiled import compiled
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for

_MARGINS_TILE = tuning.MARGINS_TILE


def _check(
    values: np.ndarray,
    work: np.ndarray,
    rows: np.ndarray,
    increments: np.ndarray,
    stamps: np.ndarray,
    offset: float,
    first: int,
    last: int,
    image: np.ndarray,
    stamped_image: np.ndarray,
) -> None:
    require_indices("rows", rows, values.shape[0], least=-work.shape[0])
    require_shape("work", work, (work.shape[0], *values.shape[1:]))
    require_shape("increments", increments, rows.shape)
    require_shape("stamps", stamps, rows.shape)
    require_shape("image", image, values.shape[1:])
    if stamped_image.size:
        require_shape("stamped_image", stamped_image, image.shape)
    require_range("first and last", first, last, image.size)


@compiled(inner=True)
def _row(values: np.ndarray, work: np.ndarray, row: int) -> np.ndarray:
    return values[row] if row >= 0 else work[-1 - row]


@compiled(fastmath={"contract"})
def add_range(
    values: np.ndarray,
    work: np.ndarray,
    rows: np.ndarray,
    increments: np.ndarray,
    stamps: np.ndarray,
    offset: float,
    first: int,
    last: int,
    image: np.ndarray,
    stamped_image: np.ndarray,
) -> None:
    """`add_rows_together` for a range of examples; each sum is in the order of the rows.

    For callers that are compiled: nothing is checked.
    """
    stamped = stamped_image.size > 0
    fours = rows.size - rows.size % 4
    for begin in range(first, last, _MARGINS_TILE):
        end = min(last, begin + _MARGINS_TILE)
        sums = image[begin:end]
        stamped_sums = stamped_image[begin:end] if stamped else sums
        for a in range(0, fours, 4):
            p, q = _row(values, work, rows[a]), _row(values, work, rows[a + 1])
            r, s = _row(values, work, rows[a + 2]), _row(values, work, rows[a + 3])
            p, q, r, s = p[begin:end], q[begin:end], r[begin:end], s[begin:end]
            i0, i1, i2, i3 = increments[a], increments[a + 1], increments[a + 2], increments[a + 3]
            if stamped:
                s0, s1, s2, s3 = stamps[a], stamps[a + 1], stamps[a + 2], stamps[a + 3]
                for j in range(sums.size):
                    u, v, w, x = p[j] + offset, q[j] + offset, r[j] + offset, s[j] + offset
                    sums[j] = (((sums[j] + i0 * u) + i1 * v) + i2 * w) + i3 * x
                    total = ((stamped_sums[j] + s0 * u) + s1 * v) + s2 * w
                    stamped_sums[j] = total + s3 * x
            else:
                for j in range(sums.size):
                    u, v, w, x = p[j] + offset, q[j] + offset, r[j] + offset, s[j] + offset
                    sums[j] = (((sums[j] + i0 * u) + i1 * v) + i2 * w) + i3 * x
        for a in range(fours, rows.size):
            p = _row(values, work, rows[a])[begin:end]
            for j in range(sums.size):
                sums[j] += increments[a] * (p[j] + offset)
            if stamped:
                for j in range(sums.size):
                    stamped_sums[j] += stamps[a] * (p[j] + offset)


_checked_range = checked(_check)(add_range)


def add_rows_together(
    values: np.ndarray,
    work: np.ndarray,
    rows: np.ndarray,
    increments: np.ndarray,
    stamps: np.ndarray,
    offset: float,
    image: np.ndarray,
    stamped_image: np.ndarray,
) -> None:
    """Add multiples of some kernel rows to an image, and others to its stamped twin.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_samples), float32 or float64
        Kernel rows that are kept.
    work : ndarray of shape (n_others, n_samples), of the same dtype
        Others.
    rows : ndarray of shape (n_added,), int64
        Which to add, in this order: of those kept, or ``-1 - k`` for number k of the others.
    increments, stamps : ndarray of shape (n_added,), float64
        Their multiples.
    offset : float
        Added to each kernel value.
    image : ndarray of shape (n_samples,), float64
        Modified in place.
    stamped_image : ndarray of shape (n_samples,) or (0,), float64
        Modified in place where there is one.

    Raises
    ------
    ValueError
        If shapes or indices do not fit together.
    """
    if not rows.size:
        return
    threads = threads_for(tuning.MEMORY_WORK * rows.size * image.size)

    def piece(first: int, last: int) -> None:
        _checked_range(
            values, work, rows, increments, stamps, offset, first, last, image, stamped_image
        )

    parallel_for(piece, even_ranges(image.size, threads))
