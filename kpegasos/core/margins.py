"""Inner products of rows of features with a few vectors, in float64 and without a copy of a row."""

from __future__ import annotations

import numpy as np

from kpegasos.core.boundary import check_dense_margins, check_margins
from kpegasos.core.views import CsrView, DenseView
from kpegasos.utils.boundary import checked
from kpegasos.utils.compiled import compiled


@checked(check_dense_margins)
@compiled()
def dense_margins(
    view: DenseView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """``<v, (x_i, B)>`` of the examples ``first`` to ``last`` for each row of ``vectors``.

    Parameters
    ----------
    view : DenseView
    vectors : ndarray of shape (n_vectors, n_features + 1), float64
    first, last : int
    out : ndarray of shape (n_samples, n_vectors), float64
    """
    width = vectors.shape[1] - 1
    for i in range(first, last):
        x = view.X[view.members[i]]
        for k in range(vectors.shape[0]):
            vector = vectors[k]
            total = view.intercept_scaling * vector[width]
            for j in range(width):
                total += x[j] * vector[j]
            out[i, k] = total


@checked(check_margins)
@compiled()
def sparse_margins(
    view: CsrView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """``<v, (x_i, B)>`` of the examples ``first`` to ``last`` for each column of ``vectors``.

    Parameters
    ----------
    view : CsrView
    vectors : ndarray of shape (n_features + 1, n_vectors), float64
    first, last : int
    out : ndarray of shape (n_samples, n_vectors), float64
    """
    last_feature = vectors.shape[0] - 1
    n_vectors = vectors.shape[1]
    for i in range(first, last):
        row = view.members[i]
        # Two sums at a time stay in registers.
        for k in range(0, n_vectors - 1, 2):
            one = view.intercept_scaling * vectors[last_feature, k]
            other = view.intercept_scaling * vectors[last_feature, k + 1]
            for p in range(view.indptr[row], view.indptr[row + 1]):
                value, feature = view.data[p], view.indices[p]
                one += value * vectors[feature, k]
                other += value * vectors[feature, k + 1]
            out[i, k], out[i, k + 1] = one, other
        if n_vectors % 2 == 1:
            k = n_vectors - 1
            one = view.intercept_scaling * vectors[last_feature, k]
            for p in range(view.indptr[row], view.indptr[row + 1]):
                one += view.data[p] * vectors[view.indices[p], k]
            out[i, k] = one
