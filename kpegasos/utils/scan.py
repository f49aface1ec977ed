"""Looks at all values or indices of a matrix: each a single pass, on all threads where it pays."""

from __future__ import annotations

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


def canonical_csr(X: Any) -> sparse.csr_matrix:
    """CSR rows whose indices are sorted, unique and those of features: compiled loops trust them.

    Raises
    ------
    ValueError
        If an index is that of no feature.
    """
    X = sparse.csr_matrix(X)
    outside, unsorted = index_faults(X)
    if outside:
        raise ValueError(
            f"X must have column indices from 0 to {X.shape[1] - 1}, "
            f"got {X.indices.min()} to {X.indices.max()} instead"
        )
    if unsorted:
        X = X.copy()
        X.has_canonical_format = X.has_sorted_indices = False
        X.sum_duplicates()
    return X


def index_faults(X: sparse.csr_matrix) -> tuple[bool, bool]:
    """Whether a CSR matrix has indices of no entry or feature, and whether rows are unsorted.

    Parameters
    ----------
    X : CSR matrix

    Returns
    -------
    bool, bool
        The second is true if indices of a row do not strictly increase.
    """
    pieces = even_ranges(X.shape[0], threads_for(_WORK * X.indices.size))
    found = [0] * len(pieces)

    def scan(number: int, first: int, last: int) -> None:
        found[number] = _index_faults(X.indices, X.indptr, X.shape[1], first, last)

    parallel_for(scan, [(number, *piece) for number, piece in enumerate(pieces)])
    return any(fault & 1 for fault in found), any(fault & 2 for fault in found)


@compiled()
def _index_faults(
    indices: np.ndarray, indptr: np.ndarray, n_features: int, first: int, last: int
) -> int:
    """1 if an index lies outside, plus 2 if indices of a row do not increase."""
    outside, unsorted = 0, 0
    for row in range(first, last):
        begin, end = indptr[row], indptr[row + 1]
        if begin < 0 or begin > end or end > indices.size:
            return 1
        for position in range(begin, end):
            outside |= indices[position] | (n_features - 1 - indices[position])
        for position in range(begin + 1, end):
            unsorted |= indices[position] - indices[position - 1] - 1
    return (1 if outside < 0 else 0) + (2 if unsorted < 0 else 0)
