"""Distances ``‖a − b‖₁`` between rows.

scikit-learn's own of sparse rows are computed on threads of OpenMP, which a forked process waits
for in vain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from kpegasos.utils import tuning
from kpegasos.utils.compiled import compiled
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for


def city_block(A: Any, B: Any) -> np.ndarray:
    """``‖a − b‖₁``, of shape (n_a, n_b): float64 sums of differences in the dtype of the rows.

    Parameters
    ----------
    A, B : ndarray or sparse matrix of shape (n_a, n_features) and (n_b, n_features)

    Raises
    ------
    ValueError
        If they have not as many features.
    """
    if not (sparse.issparse(A) or sparse.issparse(B)):
        return np.asarray(manhattan_distances(A, B))
    A, B = _canonical(A), _canonical(B)
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"A and B must have equally many features, got {A.shape[1]} and {B.shape[1]} instead"
        )
    result = np.empty((A.shape[0], B.shape[0]))
    parts = A.data, A.indices, A.indptr, B.data, B.indices, B.indptr
    work = tuning.MEMORY_WORK * (A.nnz * B.shape[0] + B.nnz * A.shape[0])
    parallel_for(
        lambda first, last: _write_distances(*parts, first, last, result),
        even_ranges(A.shape[0], threads_for(work)),
    )
    return result


def _canonical(rows: Any) -> Any:
    """CSR rows with each column at most once, in order."""
    rows = sparse.csr_array(rows)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


@compiled(fastmath=False)
def _write_distances(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    other_data: np.ndarray,
    other_indices: np.ndarray,
    other_indptr: np.ndarray,
    first: int,
    last: int,
    result: np.ndarray,
) -> None:
    """Write the distances of some rows to all others."""
    for i in range(first, last):
        for j in range(result.shape[1]):
            a, b = indptr[i], other_indptr[j]
            a_end, b_end = indptr[i + 1], other_indptr[j + 1]
            total = 0.0
            while a < a_end and b < b_end:
                if indices[a] == other_indices[b]:
                    total += abs(data[a] - other_data[b])
                    a, b = a + 1, b + 1
                elif indices[a] < other_indices[b]:
                    total += abs(data[a])
                    a += 1
                else:
                    total += abs(other_data[b])
                    b += 1
            for k in range(a, a_end):
                total += abs(data[k])
            for k in range(b, b_end):
                total += abs(other_data[k])
            result[i, j] = total
