"""Products of kernel values with coefficients: decisions on new rows.

A model keeps its support vectors packed; else it would pack all of them whenever it decides on a
single row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.kernels import maps
from kpegasos.kernels.base import InnerProductKernel, Kernel, bounds_rounding, check_finite
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.kernels.pairwise import PairwiseKernel, PlacedKernel
from kpegasos.utils import tuning
from kpegasos.utils.boundary import (
    checked,
    require_indices,
    require_range,
    require_shapes,
)
from kpegasos.utils.compiled import compiled
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for

#: Most bytes of support vectors and coefficients that are kept for one model.
_MOST_BYTES = 64 * tuning.MEBIBYTE
#: Copies of coefficients: to compare with, and to multiply by.
_COPIES = 2


class Kept:
    """What predictions with a model need, made by the first of them; a private attribute of it.

    Its support vectors become read-only, so that no edit goes unnoticed. Other support vectors, or
    edited coefficients, make it anew.
    """

    _made: Any = None

    def of(
        self, kernel: Any, vectors: Any, numbers: tuple[Any, ...], make: Callable[[], Any]
    ) -> Any:
        """Return what ``make`` returns, or has returned for the same parts.

        Parameters
        ----------
        kernel : Kernel or PairwiseKernel
        vectors : ndarray
        numbers : tuple of ndarray or None
            Compared by value.
        make : callable
        """
        known = self._made  # as a whole: calls may come from several threads
        are_same = known is not None and known[0] is kernel and known[1] is vectors
        if are_same and all(map(np.array_equal, known[2], numbers)):
            return known[3]
        made, base = make(), vectors.base
        if not (isinstance(base, np.ndarray) and base.flags.writeable):  # may be edited
            vectors.flags.writeable = False
            copies = tuple(None if each is None else each.copy() for each in numbers)
            self._made = kernel, vectors, copies, made
        return made


def _can_be_kept(kernel: Kernel, support_vectors: Any, coefs: np.ndarray) -> bool:
    """Check whether the support vectors are packed, and they and their coefficients are few."""
    packs = maps.COMPILED and isinstance(kernel, InnerProductKernel)
    if not packs or sparse.issparse(support_vectors):
        return False
    return bool(support_vectors.nbytes + _COPIES * coefs.nbytes <= _MOST_BYTES)


#: Support vectors of one tile. It is fixed, as sums over a tile are rounded together.
_TILE_VECTORS = 512
#: Rows of one tile. Tiles of 64 rows and 1,024 vectors took 10% more time.
_TILE_ROWS = 256
#: Bytes of given kernel values that are gathered at a time.
_GATHERED = 64 * tuning.MEBIBYTE
_EPS = float(np.finfo(np.float64).eps)
#: Largest expected error of a decision up to which float32 rows have values in float32.
MOST_ROUNDING = 1e-3


def _check_products(
    values: np.ndarray,
    first: int,
    coefs: np.ndarray,
    begin: int,
    end: int,
    outputs: np.ndarray,
    result: np.ndarray,
) -> None:
    require_range("begin and end", begin, end, coefs.shape[1])
    require_range("begin and end less first", begin - first, end - first, values.shape[1])
    require_shapes(
        ("outputs", outputs, coefs.shape[:1]),
        ("result", result, (values.shape[0], result.shape[1])),
    )
    require_indices("outputs", outputs, result.shape[1])


@checked(_check_products)
@compiled()
def _add_products(
    values: np.ndarray,
    first: int,
    coefs: np.ndarray,
    begin: int,
    end: int,
    outputs: np.ndarray,
    result: np.ndarray,
) -> None:
    """``result[:, outputs] += values @ coefs[:, begin:end].T``, of values from ``first`` on.

    Each sum has the same order, however many rows there are. Four sums share what is read of a row:
    half the time of one by one for 9 outputs, and no more than packed products for 100.
    """
    together = coefs.shape[0] - coefs.shape[0] % 4
    for j in range(0, together, 4):
        coefs0, coefs1 = coefs[j, begin:end], coefs[j + 1, begin:end]
        coefs2, coefs3 = coefs[j + 2, begin:end], coefs[j + 3, begin:end]
        for i in range(values.shape[0]):
            row = values[i, begin - first : end - first]
            total0 = total1 = total2 = total3 = 0.0
            for k in range(row.size):
                total0 += row[k] * coefs0[k]
                total1 += row[k] * coefs1[k]
                total2 += row[k] * coefs2[k]
                total3 += row[k] * coefs3[k]
            result[i, outputs[j]] += total0
            result[i, outputs[j + 1]] += total1
            result[i, outputs[j + 2]] += total2
            result[i, outputs[j + 3]] += total3
    for j in range(together, coefs.shape[0]):
        part = coefs[j, begin:end]
        for i in range(values.shape[0]):
            row = values[i, begin - first : end - first]
            total = 0.0
            for k in range(row.size):
                total += row[k] * part[k]
            result[i, outputs[j]] += total


def pairs_of_class(number: int, n_classes: int) -> np.ndarray:
    """Return indices of the pairs of a class with all others, in lexicographic order of pairs."""
    others = np.delete(np.arange(n_classes), number)
    i, j = np.minimum(number, others), np.maximum(number, others)
    pairs: np.ndarray = i * n_classes - i * (i + 1) // 2 + j - i - 1
    return pairs


def _n_outputs(coefs: np.ndarray, n_support: np.ndarray | None) -> int:
    """Return rows of coefficients, or pairs of classes where they are in SVC's layout."""
    return coefs.shape[0] if n_support is None else coefs.shape[0] * n_support.size // 2


def _groups(
    coefs: np.ndarray, n_support: np.ndarray | None
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Return ranges of support vectors, each with its outputs: of all, or of a class."""
    if n_support is None:
        yield 0, coefs.shape[1], np.arange(coefs.shape[0])
        return
    ends = np.concatenate(([0], np.cumsum(n_support))).tolist()
    for number, (first, last) in enumerate(pairwise(ends)):
        yield first, last, pairs_of_class(number, n_support.size)


def _points_for(
    kernel: Kernel, support_vectors: Any, coefs: np.ndarray, n_support: np.ndarray | None
) -> KernelMatrix:
    """Return support vectors in the precision that the coefficients need.

    Errors of kernel values count as independent, so that the squares of their effects on a decision
    add up. Values of a user's own function count as exact.
    """
    points = KernelMatrix(kernel, support_vectors, predicts=True)
    if support_vectors.dtype == np.float64 or not bounds_rounding(kernel):
        return points
    each = points.expected_rounding
    squares = np.square(each + each.max())
    error = np.zeros(_n_outputs(coefs, n_support))
    for first, last, outputs in _groups(coefs, n_support):
        part = coefs[:, first:last]
        error[outputs] += np.einsum("ij,ij,j->i", part, part, squares[first:last])
    if error.max() <= MOST_ROUNDING**2:
        return points
    return KernelMatrix(kernel, support_vectors, predicts=True, row_dtype="float64")


class KernelExpansion:
    """``x -> K(x, support vectors) @ coefs.T``, summed in float64.

    Dense support vectors of a kernel of inner products are packed when they are first needed.

    Parameters
    ----------
    points : KernelMatrix
        The support vectors.
    coefs : ndarray of shape (n_outputs, n_support_vectors)
        If ``n_support`` is given, of shape (n_classes - 1, n_support_vectors) in SVC's layout: the
        outputs are the pairs of classes, whose coefficients are mostly zeros.
    n_support : ndarray of shape (n_classes,), default=None
        Support vectors of each class, which come class by class.
    """

    def __init__(
        self, points: KernelMatrix, coefs: np.ndarray, n_support: np.ndarray | None = None
    ) -> None:
        self.points = points
        self.n_outputs = _n_outputs(coefs, n_support)
        self._coefs = coefs.astype(np.float64, order="C")
        self._groups = list(_groups(coefs, n_support))

    def decide(self, X: Any) -> np.ndarray:
        """Return values of all outputs for the rows of X; see `kernel_decision`."""
        points, n_rows = self.points, X.shape[0]
        result = np.zeros((n_rows, self.n_outputs))
        threads, height = 1, tuning.FEATURE_ROWS
        if points.can_pack:
            points.packed()
            threads, height = threads_for(n_rows * points.n_samples * X.shape[1]), _TILE_ROWS
        parallel_for(
            lambda top, bottom: self._add_blocks(X, result, top, bottom, height),
            even_ranges(n_rows, min(n_rows, threads)),
        )
        check_finite(result)
        return result

    def _add_blocks(self, X: Any, result: np.ndarray, top: int, bottom: int, height: int) -> None:
        """Add the sums of some rows, at most ``height`` of them at a time, on one thread."""
        points = self.points
        width = min(points.n_samples, _TILE_VECTORS)
        scratch = np.empty(min(height, bottom - top) * width, points.work_dtype)
        for begin, end in even_ranges(bottom - top, -(-(bottom - top) // height)):
            block = slice(top + begin, top + end)
            rows, n_rows = points.others(X[block]), end - begin
            products = points.packed().products(rows[0]) if points.can_pack else None
            for first in range(0, points.n_samples, width):
                heed()
                last = min(points.n_samples, first + width)
                values = scratch[: n_rows * (last - first)].reshape(n_rows, last - first)
                if products is None:
                    points.write(rows, values, first, last)
                else:
                    points.packed().write_tile(products, rows[1], first, last, values)
                self._add_tile(values, first, last, result[block])

    def _add_tile(self, values: np.ndarray, first: int, last: int, result: np.ndarray) -> None:
        """Add the sums of a tile of kernel values, of all outputs or of those of each class."""
        for begin, end, outputs in self._groups:
            begin, end = max(begin, first), min(end, last)
            if begin < end:
                _add_products(values, first, self._coefs, begin, end, outputs, result)


def kernel_decision(
    kernel: Kernel,
    X: Any,
    support_vectors: Any,
    coefs: np.ndarray,
    *,
    n_support: np.ndarray | None = None,
    kept: Kept | None = None,
) -> np.ndarray:
    """``K(X, support vectors) @ coefs.T`` in bounded memory; see `KernelExpansion`.

    Beside the result it takes a packed copy of dense support vectors, two of the coefficients, some
    MiB of kernel values, and the features of up to 1024 rows.

    A kernel of inner products on dense rows decides to the same bits however many rows are given.
    Kernel values of float32 support vectors are computed in float32, unless a decision is then
    expected to be off by more than `MOST_ROUNDING`.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    support_vectors, coefs, n_support
        See `KernelExpansion`.
    kept : Kept, default=None
        Of the model, for its packed support vectors, if they and coefficients take up to 64 MiB.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs), float64

    Raises
    ------
    ValueError
        If X overflows the dtype, a kernel value is NaN or infinite, or shapes do not agree.
    """
    expected = (coefs.shape[1], X.shape[1])
    if support_vectors.shape != expected:  # of a model that was edited
        raise ValueError(
            f"support_vectors_ must have the shape {expected}, as dual_coef_ and X have it, got "
            f"{support_vectors.shape} instead"
        )
    if support_vectors.shape[0] == 0 or X.shape[0] == 0:
        return np.zeros((X.shape[0], _n_outputs(coefs, n_support)))

    def make() -> KernelExpansion:
        points = _points_for(kernel, support_vectors, coefs, n_support)
        return KernelExpansion(points, coefs, n_support)

    if kept is None or not _can_be_kept(kernel, support_vectors, coefs):
        return make().decide(X)
    expansion: KernelExpansion = kept.of(kernel, support_vectors, (coefs, n_support), make)
    return expansion.decide(X)


def decision_rounding(
    kernel: Kernel,
    X: Any,
    support_vectors: Any,
    coefs: np.ndarray,
    constant: float,
    n_support: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Bound the rounding of a `kernel_decision` between rows of float64.

    Values of a user's own function count as exact.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite, so that no value is larger than those of its rows with themselves.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    support_vectors, coefs
        See `KernelExpansion`.
    constant : float
        What is added to each kernel value, in the intercept.
    n_support : ndarray, default=None
        See `KernelExpansion`.

    Returns
    -------
    rounding : ndarray of shape (n_samples, n_outputs)
    diagonal : ndarray of shape (n_samples,)
        No ``k(x, x) + constant`` is larger.
    """
    n_rows, n_vectors = X.shape[0], support_vectors.shape[0]
    rounding, diagonal = np.zeros((n_rows, _n_outputs(coefs, n_support))), np.empty(n_rows)
    if not n_rows:
        return rounding, diagonal
    points = KernelMatrix(kernel, support_vectors if n_vectors else X, predicts=True)
    largest, added = 0.0, (n_vectors + 8.0) * _EPS
    for top in range(0, n_vectors, tuning.FEATURE_ROWS):
        own = kernel.diag(points.features(slice(top, top + tuning.FEATURE_ROWS)))
        largest = max(largest, float(own.max()))
    for top in range(0, n_rows, tuning.FEATURE_ROWS):
        heed()
        part = slice(top, min(n_rows, top + tuning.FEATURE_ROWS))
        of_vectors, of_rows = points.roundings_with(X[part])
        values = np.maximum(kernel.diag(X[part]), 0.0) + 2.0 * of_rows
        diagonal[part] = values + constant
        of_rows += added * (np.sqrt(largest * values) + constant)
        for first, last, outputs in _groups(coefs, n_support):
            sizes = np.abs(coefs[:, first:last])
            rounding[part, outputs] += np.outer(of_rows, sizes.sum(axis=1))
            rounding[part, outputs] += sizes @ of_vectors[first:last]
    return rounding, diagonal


def gram_decision(
    X: np.ndarray, support: np.ndarray, coefs: np.ndarray, n_support: np.ndarray | None = None
) -> np.ndarray:
    """`kernel_decision` for kernel values that are given: ``X[:, support] @ coefs.T``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_train)
        Kernel values against the training examples.
    support : ndarray of shape (n_support_vectors,), int
    coefs, n_support : ndarray
        See `kernel_decision`.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs), float64
    """
    result = np.zeros((X.shape[0], _n_outputs(coefs, n_support)))
    height = max(1, _GATHERED // max(1, support.size * X.itemsize))
    for top in range(0, X.shape[0], height):
        values = X[top : top + height][:, support]
        for first, last, outputs in _groups(coefs, n_support):
            products = values[:, first:last] @ coefs[:, first:last].T
            result[top : top + height, outputs] += products
    return result


def object_decision(
    kernel: PairwiseKernel,
    X: np.ndarray,
    support_vectors: np.ndarray,
    coefs: np.ndarray,
    n_support: np.ndarray | None = None,
    *,
    kept: Kept,
) -> np.ndarray:
    """`kernel_decision` of a `PairwiseKernel`: a kernel value for each object and support vector.

    Parameters
    ----------
    kernel : PairwiseKernel
    X : ndarray of shape (n_samples,), object
    support_vectors : ndarray of shape (n_support_vectors,), object
    coefs, n_support : ndarray
        See `kernel_decision`.
    kept : Kept
        Of the model.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs), float64
    """
    size = support_vectors.size
    if not (size and X.size):
        return np.zeros((X.size, _n_outputs(coefs, n_support)))
    place = partial(PlacedKernel, kernel, is_fitted=False)
    support: PlacedKernel = kept.of(kernel, support_vectors, (), partial(place, support_vectors))
    parts = []
    height = max(1, _GATHERED // (8 * size))
    for top in range(0, X.size, height):
        new = place(X[top : top + height])
        values = new.between(new.places, support, support.places)
        parts.append(gram_decision(values, np.arange(size), coefs, n_support))
    return np.concatenate(parts)
