"""Exact inner products of small whole numbers: pixels, counts, one-hot columns, times a scale.

Where all of X is ``scale * m`` for whole numbers m in a range of 256, one instruction
(``vpdpbusd``) adds four products of bytes in each lane, in sums of 32 bits without rounding: four
times the multiplications of a fused product of floats, and little rounding left to bound. A word of
32 bits holds four features, so that the tile of `kpegasos.kernels.gemm` takes words as it takes
floats. Bytes on the left are unsigned. Those on the right are less by 128, which sums of the left
bytes make up for. (AVX2 adds two products of 16 bits, 1.05 times as fast as floats.)
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from kpegasos.kernels import gemm
from kpegasos.utils.boundary import require_shape
from kpegasos.utils.compiled import compiled, target, target_vectors
from kpegasos.utils.patience import heed

#: Most features whose sums, of three terms, stay within 32 bits.
_MOST_FEATURES = 8192
#: Features of a word, and what is subtracted from those on the right.
_NUMBERS, _LESS = 4, 128
#: Values that are looked at to find a scale.
_SAMPLE = 1 << 14
#: Scales below this one have no inverse, or not all of its digits.
_SMALLEST_SCALE = float(np.finfo(np.float64).tiny)


@cache
def can_multiply() -> bool:
    """Check whether the processor that numba compiles for has that instruction, and it is used."""
    is_wide = target_vectors().bytes == 64 and "+avx512vnni" in target()[2].split(",")
    return is_wide and gemm.IMPLEMENTATION == "compiled"


class Grid(NamedTuple):
    """Numbers ``scale * m`` for whole m from ``low`` to ``low + 255``.

    Attributes
    ----------
    scale : float
    low : int
    exact : bool
        Whether values equal these numbers, and are not just the nearest of their dtype.
    """

    scale: float
    low: int
    exact: bool


@compiled(fastmath=False)
def _scan(values: np.ndarray, scale: float, tolerance: float, ends: np.ndarray) -> tuple[int, bool]:
    """Find the first value that is not on a grid, and whether all before it are exactly on it.

    ``ends`` is the range of whole numbers so far.
    """
    low, high, exact = ends[0], ends[1], True
    inverse = 1.0 / scale
    for i in range(values.size):
        value = float(values[i])
        number = np.rint(value * inverse)
        error = abs(value - number * scale)
        if not error <= tolerance * abs(value):
            return i, exact
        exact &= error == 0.0
        low, high = min(low, number), max(high, number)
    ends[0], ends[1] = low, high
    return values.size, exact


def _common_scale(values: np.ndarray, eps: float) -> float:
    """Find the largest number of which all values are multiples, up to rounding; 0 if none is.

    One over a whole number, as in images, is taken exactly.
    """
    sizes = np.unique(np.abs(values[values != 0.0]).astype(np.float64))
    if not 0 < sizes.size <= 255 or not np.isfinite(sizes[-1]):
        return 0.0
    smallest, largest = float(sizes[0]), float(sizes[-1])
    for parts in range(1, 1 + int(255.5 * smallest / largest)):
        steps = round(largest * parts / smallest)
        scale = largest / steps
        if scale < _SMALLEST_SCALE:
            return 0.0
        whole = round(1.0 / scale) if scale < 1.0 else 0
        if whole and abs(whole * scale - 1.0) <= eps:
            scale = 1.0 / whole
        if np.all(np.abs(np.rint(sizes / scale) * scale - sizes) <= eps * sizes):
            return scale
    return 0.0


def find_grid(X: np.ndarray) -> Grid | None:
    """Find the grid of small whole numbers on which all of X lies, if there is one.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    """
    if not (can_multiply() and X.flags.c_contiguous and 0 < X.shape[1] <= _MOST_FEATURES):
        return None
    flat, eps = X.reshape(-1), float(np.finfo(X.dtype).eps)
    sample = flat[:_SAMPLE]
    scale = _common_scale(sample, eps)
    for _ in range(4):  # what lies between the multiples of a scale makes it smaller
        if scale == 0.0:
            return None
        ends, exact, missed = np.zeros(2), True, None
        for begin in range(0, flat.size, 1 << 22):
            heed()
            part = flat[begin : begin + (1 << 22)]
            place, just = _scan(part, scale, eps, ends)
            exact &= just
            if place < part.size:
                missed = part[place : place + _SAMPLE]
                break
        if missed is None:
            low, high = ends.tolist()
            within = high - low <= 255.0 and max(-low, high) <= 255.0
            return Grid(scale, int(low), exact) if within else None
        sample = np.concatenate((sample, missed))
        scale = _common_scale(sample, eps)
    return None


@compiled(fastmath=False)
def _write_numbers(
    rows: np.ndarray, inverse: float, low: int, less: int, out: np.ndarray, sums: np.ndarray
) -> None:
    """Write ``m - low - less`` of rows; ``sums`` gets those of ``m - low`` and of its squares."""
    for i in range(rows.shape[0]):
        total, squares = 0, 0
        for j in range(rows.shape[1]):
            number = int(np.rint(rows[i, j] * inverse)) - low
            out[i, j] = (number - less) & 255
            total += number
            squares += number * number
        sums[0, i], sums[1, i] = total, squares


@compiled(fastmath=False)
def _as_floats(
    sums: np.ndarray, of_rows: np.ndarray, of_columns: np.ndarray, times: int, scale: np.float32
) -> None:
    """``scale * (of_rows + of_columns + times * sums)``, as floats in the memory of the sums."""
    for i in range(sums.shape[0]):
        row, own = sums[i], of_rows[i]
        for j in range(row.size):
            whole = np.int32(own + of_columns[j] + times * row[j])
            row[j] = np.float32(scale * np.float32(whole)).view(np.int32)


class PackedIntegers(gemm.PackedMatrix):
    """Rows on a grid, packed for exact products with blocks of other rows on it.

    Parameters
    ----------
    n_rows, n_features : int
    grid : Grid
    distances : bool
        Whether ``products`` gives ``-‖a − b‖² / 2`` instead of ``<a, b>``: a kernel of distances
        takes it for the product of rows whose norms are zero.
    """

    def __init__(self, n_rows: int, n_features: int, grid: Grid, *, distances: bool) -> None:
        self._grid, self.distances = grid, distances
        super().__init__(n_rows, -(-n_features // _NUMBERS), np.dtype(np.int32))
        self.n_features = n_features
        self._of_columns = np.zeros(n_rows, np.int32)

    def put(self, first: int, rows: np.ndarray) -> None:
        """Pack rows from ``first`` on; several threads may, into different panels."""
        words, sums = self._words(rows, _LESS)
        super().put(first, words)
        own = sums[1] if self.distances else self._grid.low * sums[0]
        self._of_columns[first : first + own.size] = own

    def products(self, rows: np.ndarray) -> gemm.Products:
        """Pack other rows of shape (n_rows, n_features) for products with these."""
        words, sums = self._words(rows, 0)
        multiply = super().products(words)
        scale, low, _ = self._grid
        if self.distances:  # ‖a‖² + ‖b‖² − 2<a, b>, without the shift by _LESS
            of_rows, times, factor = sums[1] - 2 * _LESS * sums[0], -2, -0.5 * scale**2
        else:
            of_rows = (_LESS + low) * sums[0] + self.n_features * low**2
            times, factor = 1, scale**2
        of_rows = of_rows.astype(np.int32)

        def write(first: int, last: int, out: np.ndarray) -> None:
            whole = out.view(np.int32)
            multiply(first, last, whole)
            _as_floats(whole, of_rows, self._of_columns[first:last], times, np.float32(factor))

        return write

    def _words(self, rows: np.ndarray, less: int) -> tuple[np.ndarray, np.ndarray]:
        """Return features in words, and the sums of each row and of its squares."""
        require_shape("rows", rows, (rows.shape[0], self.n_features))
        words = np.zeros((rows.shape[0], _NUMBERS * self._panels.shape[1]), np.uint8)
        sums = np.empty((2, rows.shape[0]), np.int64)
        _write_numbers(rows, 1.0 / self._grid.scale, self._grid.low, less, words, sums)
        return words.view(np.int32), sums
