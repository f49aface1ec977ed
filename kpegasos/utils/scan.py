"""Looks at all values or indices of a matrix: each a single pass, on all threads where it pays.

`canonical_csr` is the door of sparse matrices: nothing else converts those that come from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.utils.compiled import compiled
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for

#: Below this size NumPy's two passes take less than a function that may have to be compiled.
_SMALL = 1 << 16
#: Entries looked at cost as much as this share of a multiplication's.
_WORK = 0.5


def largest_magnitude(X: Any) -> float:
    """Largest absolute value of an array or CSR matrix, 0 of an empty one, without a copy.

    NaN or infinite where an entry is.
    """
    values = X.data if sparse.issparse(X) else X
    if values.size < _SMALL or not values.flags.c_contiguous or values.dtype.itemsize not in (4, 8):
        return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    # Magnitudes of IEEE numbers are in the order of their bits, NaN above infinity.
    bits = values.reshape(-1).view(f"i{values.dtype.itemsize}")
    pieces = even_ranges(bits.size, threads_for(_WORK * bits.size))
    found = [0] * len(pieces)

    def scan(number: int, first: int, last: int) -> None:
        found[number] = _largest_bits(bits, first, last)

    parallel_for(scan, [(number, *piece) for number, piece in enumerate(pieces)])
    return float(np.array([max(found)], dtype=bits.dtype).view(values.dtype)[0])


@compiled()
def _largest_bits(bits: np.ndarray, first: int, last: int) -> Any:
    """Largest of some numbers without their signs."""
    part = bits[first:last]
    mask = ~(part[0] & 0)  # all ones, of the same type
    mask = mask ^ (mask << (8 * bits.itemsize - 1))
    largest = part[0] & mask
    for position in range(part.size):
        largest = max(largest, part[position] & mask)
    return largest


def real_numbers(X: Any) -> Any:
    """An array or matrix as float32 or float64, copied only if need be.

    Raises
    ------
    ValueError
        If it holds anything but real numbers.
    """
    if X.dtype in (np.float32, np.float64):
        return X
    if X.dtype.kind in "biufO":
        with suppress(TypeError, ValueError, OverflowError):
            return X.astype(np.float64)
    raise ValueError(f"X must hold real numbers, got {X.dtype} instead")


def canonical_csr(X: Any) -> sparse.csr_matrix:
    """CSR rows whose indices are sorted, unique and those of features: compiled loops trust them.

    SciPy trusts indices as well, so nothing is converted before they have been looked at.

    Parameters
    ----------
    X : sparse matrix
        Of any format.

    Raises
    ------
    ValueError
        If an index is no integer, or that of no entry, row or column, or if arrays do not agree.
    """
    if X.format == "dia":
        X = _of_diagonals(X)
    elif X.format == "dok":
        X = X.tocoo()  # by NumPy
    unsorted = _CHECKS[X.format](X)
    rows = sparse.csr_matrix(real_numbers(X))
    given = rows.data, rows.indices, rows.indptr
    arrays = np.ascontiguousarray(rows.data), _whole(rows.indices), _whole(rows.indptr)
    if any(array is not own for array, own in zip(arrays, given, strict=True)):
        rows = sparse.csr_matrix(arrays, shape=rows.shape)
    if X.format != "csr":  # which may have an entry twice
        unsorted = _check_compressed(rows)
    if unsorted:
        rows = rows.copy()
        rows.has_canonical_format = rows.has_sorted_indices = False
        rows.sum_duplicates()
    return rows


def without_empty_columns(*rows: sparse.csr_matrix) -> tuple[sparse.csr_matrix, ...]:
    """CSR rows over the columns that they use together, if they have more columns than entries.

    What is kept for each column, as SciPy's product does, would let a small file take any memory.
    """
    width, n_entries = rows[0].shape[1], sum(part.nnz for part in rows)
    if width <= n_entries:
        return rows
    used = np.unique(np.concatenate([part.indices for part in rows]))
    return tuple(
        sparse.csr_matrix(
            (part.data, np.searchsorted(used, part.indices), part.indptr),
            shape=(part.shape[0], used.size),
        )
        for part in rows
    )


def _check_compressed(X: Any) -> bool:
    """Check a CSR, CSC or BSR matrix; tell whether indices of a line do not increase."""
    height, width = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        _agree(X.data.ndim == 3 and 0 not in X.data.shape[1:])
        high, wide = X.data.shape[1:]
        _agree(height % high == 0 and width % wide == 0)
        height, width = height // high, width // wide
    else:
        _agree(X.data.ndim == 1)
    indices, indptr = _whole(X.indices), _whole(X.indptr)
    _agree(len(X.data) == indices.size and indptr.size == height + 1 and indptr[0] == 0)
    pieces = even_ranges(height, threads_for(_WORK * indices.size))
    found = [0] * len(pieces)

    def scan(number: int, first: int, last: int) -> None:
        found[number] = _index_faults(indices, indptr, width, first, last)

    parallel_for(scan, [(number, *piece) for number, piece in enumerate(pieces)])
    faults = int(np.bitwise_or.reduce(found))
    _agree(not faults & 4)
    if faults & 1:
        _refuse("row" if X.format == "csc" else "column", indices, width)
    return bool(faults & 2)


def _of_diagonals(X: Any) -> sparse.coo_matrix:
    """What SciPy makes of diagonals, whose offsets it trusts."""
    offsets = _whole(X.offsets)
    _agree(X.data.ndim == 2 and len(X.data) == offsets.size)
    columns = np.broadcast_to(np.arange(X.data.shape[1]), X.data.shape)
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < X.shape[0]) & (columns < X.shape[1])
    return sparse.coo_matrix((X.data[inside], (rows[inside], columns[inside])), shape=X.shape)


def _check_coordinates(X: Any) -> bool:
    _agree(X.data.ndim == 1)
    for name, indices, size in zip(("row", "column"), (X.row, X.col), X.shape, strict=True):
        indices = _whole(indices)
        _agree(indices.size == X.data.size)
        _check_range(name, indices, size)
    return False


def _check_lists(X: Any) -> bool:
    _agree(X.rows.shape == X.data.shape == X.shape[:1])
    _agree(all(len(row) == len(data) for row, data in zip(X.rows, X.data, strict=True)))
    columns = np.array(list(chain.from_iterable(X.rows)) or [0])
    _check_range("column", _whole(columns), X.shape[1])
    return False


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "csr": _check_compressed,
    "csc": _check_compressed,
    "bsr": _check_compressed,
    "coo": _check_coordinates,
    "lil": _check_lists,
}


def _whole(indices: Any) -> np.ndarray:
    """Indices as loops take them, which are of two types."""
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        raise ValueError(f"X must have integers as indices, got {indices.dtype} instead")
    _agree(indices.ndim == 1)
    return np.ascontiguousarray(indices, np.int32 if indices.dtype == np.int32 else np.int64)


def _agree(fact: bool) -> None:
    if not fact:
        raise ValueError(
            "X must be a sparse matrix whose data, indices and shape agree, got others instead"
        )


def _check_range(name: str, indices: np.ndarray, size: int) -> None:
    if indices.size and not 0 <= indices.min() <= indices.max() < size:
        _refuse(name, indices, size)


def _refuse(name: str, indices: np.ndarray, size: int) -> None:
    raise ValueError(
        f"X must have {name} indices from 0 to {size - 1}, "
        f"got {indices.min()} to {indices.max()} instead"
    )


@compiled()
def _index_faults(
    indices: np.ndarray, indptr: np.ndarray, n_features: int, first: int, last: int
) -> int:
    """1 if an index lies outside, plus 2 if some of a row do not increase, plus 4 without entry."""
    outside, unsorted = 0, 0
    for row in range(first, last):
        begin, end = indptr[row], indptr[row + 1]
        if begin < 0 or begin > end or end > indices.size:
            return 4
        for position in range(begin, end):
            outside |= indices[position] | (n_features - 1 - indices[position])
        for position in range(begin + 1, end):
            unsorted |= indices[position] - indices[position - 1] - 1
    return (1 if outside < 0 else 0) + (2 if unsorted < 0 else 0)
