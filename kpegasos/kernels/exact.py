"""Products of the kernel matrix in float64, from the features as they are given.

A certificate is about the exact kernel. Values for training are rounded to ``row_dtype``, often
float32, and mostly computed in it. Here the few sums behind a certificate are computed again, as
exactly as float64 can, with a bound on the rounding that is left.

Each value of the symmetric matrix is computed once, and used for two examples: groups of rows are
combined with blocks of the support, from the diagonal on. Threads share the groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kpegasos.kernels.base import (
    CallableKernel,
    InnerProductKernel,
    bounds_rounding,
    inner_products,
    parts_of,
)
from kpegasos.kernels.decision import KernelExpansion
from kpegasos.kernels.functions import RBF
from kpegasos.kernels.gemm import PackedKernel, PackedMatrix
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.utils import tuning
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import parallel_for, threads_for

_EPS = float(np.finfo(np.float64).eps)
#: Most rows of a group, the steps to fewer of them, and bytes of a group's features.
_GROUP_ROWS, _GROUP_STEP, _GROUP_BYTES = 64, 16, tuning.MEBIBYTE
#: Most rows of a block, a group's at least, and bytes of its features; a group's values with it
#: stay in a core's cache. These numbers fix the order of sums, so none depends on the threads.
_BLOCK_ROWS, _BLOCK_BYTES = 1024, 8 * tuning.MEBIBYTE
#: Most rows of either where rows are not packed.
_UNPACKED_ROWS = 512
#: Groups whose sums of a block's columns are held at a time.
_GROUPS_TOGETHER = 256
#: Bytes of what threads have in work: a group gathered and centred, then packed, and its values.
_THREAD_BYTES = 16 * tuning.MEBIBYTE
#: Where inner products round kernel values more than this on average, differences are taken. A few
#: examples far from all others are no reason: sums of losses hardly see them.
_MOST_ROUNDING = 1e-11
#: Relative rounding from which on it bounds nothing, and the largest value that is taken for zero.
_ROUGH, _UNDERFLOW = 0.1, 1e-37
#: Examples whose sums are computed together.
_TOGETHER = 8192


def exact_products(
    values: KernelMatrix, coef: np.ndarray, wanted: np.ndarray, largest: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """``K @ coef`` for some examples, in float64 whatever the dtype of X.

    Values of a user's own function count as exact.

    Parameters
    ----------
    values : KernelMatrix
    coef : ndarray of shape (n_samples,), float64
    wanted : ndarray of shape (n_samples,), bool
    largest : float
        No kernel value is larger.

    Returns
    -------
    sums : ndarray of shape (n_samples,), float64
        Of the wanted examples and of those with a coefficient.
    rounding : ndarray of shape (n_samples,), float64
        Bounds of their error; infinite where nothing was computed.
    evaluations : int
        Kernel values computed.
    """
    support, others = np.flatnonzero(coef), np.flatnonzero(wanted & (coef == 0.0))
    if values.products is not None:
        members, bounds, additions = np.arange(coef.size), values.work_rounding, support.size + 2.0
        sums, evaluations = _sums_of_products(values, coef, support), support.size * coef.size
    else:
        members = np.concatenate((support, others))
        weights = coef[members]
        direct, norms, bounds = _accuracy(values, members, np.abs(weights), largest)
        sums, evaluations, additions = _sums(values, members, weights, support.size, direct, norms)
    sizes = np.abs(coef[members])
    size = float(sizes.sum())
    total, rounding = np.zeros(coef.size), np.full(coef.size, np.inf)
    total[members] = sums
    rounding[members] = bounds * size + float(sizes @ bounds) + additions * _EPS * size * largest
    return total, rounding, evaluations


def errors_of_sums(
    values: KernelMatrix, sizes: np.ndarray, doubtful: np.ndarray, errors: np.ndarray
) -> int:
    """Tighten bounds on the error of ``Σ c_j k(x_i, x_j)``, if the kernel is a Gaussian.

    The error of a distance multiplies its value, so the values of distant points, as most are, have
    almost no error. The sum of the sizes of its terms therefore bounds the error of a sum.

    Parameters
    ----------
    values : KernelMatrix
    sizes : ndarray of shape (n_samples,), float64
        ``|c_j|``.
    doubtful : ndarray of int
        Examples in doubt.
    errors : ndarray of shape (n_samples,), float64
        Bounds, from the largest error of a value; those of examples in doubt are lowered.

    Returns
    -------
    int
        Kernel values computed.
    """
    support, evaluations = np.flatnonzero(sizes), 0
    if type(values.kernel) is not RBF or not support.size:
        return 0
    each = values.factor_rounding
    if each[support].max() >= _ROUGH:
        return 0
    doubtful = doubtful[each[doubtful] < _ROUGH]
    # Where k(x_i, x_j) may be off by the factor u_i u_j, a computed value differs from the exact
    # one by less than (u_i u_j)² - 1 times another computed value.
    factors = 1.0 / (1.0 - np.minimum(each, _ROUGH)) ** 2
    coefs = np.stack((sizes, sizes * factors))[:, support]
    expansion = KernelExpansion(values.subset(support), coefs)
    for top in range(0, doubtful.size, _TOGETHER):
        some = doubtful[top : top + _TOGETHER]
        plain, multiplied = expansion.decide(values.given(some)).T
        evaluations += some.size * support.size
        lower = factors[some] * multiplied * (1.0 + 4.0 * support.size * _EPS) - plain
        lower += float(sizes.sum()) * _UNDERFLOW
        if float(lower.mean()) > 0.5 * float(errors[some].mean()):
            break  # all points are too close
        errors[some] = np.minimum(errors[some], lower)
    return evaluations


def _sums_of_products(values: KernelMatrix, coef: np.ndarray, support: np.ndarray) -> np.ndarray:
    """``K @ coef`` of values that are made from the products held."""
    total, everybody = np.zeros(coef.size), slice(0, coef.size)
    height = max(1, tuning.MAP_BYTES // (8 * max(1, coef.size)))
    for top in range(0, support.size, height):
        heed()
        part = support[top : top + height]
        total += coef[part] @ values.from_products(part, everybody)
    return total


def _accuracy(
    values: KernelMatrix, members: np.ndarray, sizes: np.ndarray, largest: float
) -> tuple[bool, np.ndarray, np.ndarray]:
    """Choose whether to take differences; return squared norms and each example's bounds, too."""
    kernel, nothing = values.kernel, np.zeros(members.size)
    if not (isinstance(kernel, InnerProductKernel) or bounds_rounding(kernel)):
        return False, nothing, nothing
    n_features, norms = values.X.shape[1], values.exact_norms(members)
    # Both norms and products are sums in float64.
    bounds = kernel.value_rounding(_EPS, norms, 2 * n_features)
    most = _MOST_ROUNDING * max(1, members.size), _MOST_ROUNDING * float(sizes.sum())
    if values.is_centred and (bounds.sum() > most[0] or float(sizes @ bounds) > most[1]):
        # A kernel that falls with the distance, ever more slowly, changes by no more than its value
        # at zero times the relative change of the squared distance. Each map rounds, too.
        relative = (n_features + 8.0 * len(list(parts_of(kernel)))) * _EPS
        return True, nothing, np.full(members.size, 0.5 * relative * largest)
    return False, norms, bounds


def _heights(n_features: int) -> tuple[int, int]:
    """Return rows of a group and of a block: by the features alone."""
    bytes_each = 8 * max(1, n_features)
    group = _GROUP_BYTES // bytes_each // _GROUP_STEP * _GROUP_STEP
    group = min(_GROUP_ROWS, max(_GROUP_STEP, group))
    block = min(_BLOCK_ROWS, _BLOCK_BYTES // bytes_each)
    return group, max(1, block // group) * group


def _sums(
    values: KernelMatrix,
    members: np.ndarray,
    weights: np.ndarray,
    n_support: int,
    direct: bool,
    norms: np.ndarray,
) -> tuple[np.ndarray, int, float]:
    """``K @ weights`` for some examples, the support first.

    Returns
    -------
    sums : ndarray of shape (n_members,)
    evaluations : int
    additions : float
        How often a sum is rounded at the most.
    """
    group, height = _heights(values.X.shape[1])
    if not values.can_pack:
        group = height = min(height, _UNPACKED_ROWS)
    sums, evaluations = np.zeros(members.size), 0

    def own(rows: slice) -> tuple[Any, np.ndarray]:
        return values.exact_features(members[rows], centred=not direct), norms[rows]

    for right in _slices(0, n_support, height):
        block = _block_of(values, own, right, direct)
        # From the diagonal on.
        groups = _slices(right.start, n_support, group) + _slices(n_support, members.size, group)
        for top in range(0, len(groups), _GROUPS_TOGETHER):
            some = groups[top : top + _GROUPS_TOGETHER]
            evaluations += _add_groups(values, block, some, right, weights[:n_support], sums)
    additions = min(n_support, height) + n_support / group + n_support / height + 4
    return sums, evaluations, additions


def _slices(first: int, last: int, height: int) -> list[slice]:
    return [slice(top, min(last, top + height)) for top in range(first, last, height)]


#: ``block(left, first)`` returns values of some rows with a block's columns from ``first`` on.
_Block = Callable[[slice, int], np.ndarray]


def _add_groups(
    values: KernelMatrix,
    block: _Block,
    groups: list[slice],
    right: slice,
    weights: np.ndarray,
    sums: np.ndarray,
) -> int:
    """Add kernel values of some groups with a block to the sums of both; return how many."""
    # Columns of each group have sums of their own, whose order does not depend on the threads.
    columns, counts = np.zeros((len(groups), right.stop - right.start)), [0] * len(groups)

    def every(begin: int, step: int) -> None:
        for number in range(begin, len(groups), step):
            left, behind = groups[number], columns[number]
            is_inside = left.start < right.stop
            first = left.start - right.start if is_inside else 0
            counts[number] = (left.stop - left.start) * (behind.size - first)
            values.heed(counts[number])
            tile = block(left, first)
            sums[left] += tile @ weights[right][first:]
            if left.start < weights.size:
                behind[first:] = weights[left] @ tile
            if is_inside:  # on the diagonal a group has both halves itself
                behind[: left.stop - right.start] = 0.0

    threads = 1
    if values.can_pack:
        n_features, rows = values.X.shape[1], groups[0].stop - groups[0].start
        each = 8 * rows * (2 * n_features + columns.shape[1])
        threads = min(threads_for(rows * columns.size * n_features), max(1, _THREAD_BYTES // each))
    parallel_for(every, [(begin, threads) for begin in range(threads)])
    sums[right] += columns.sum(axis=0)
    return sum(counts)


def _block_of(
    values: KernelMatrix,
    own: Callable[[slice], tuple[Any, np.ndarray]],
    right: slice,
    direct: bool,
) -> _Block:
    """Return a function for values of a slice of the rows with a block, from a column on."""
    kernel, size = values.kernel, right.stop - right.start
    if isinstance(kernel, InnerProductKernel) and values.can_pack and not direct:

        def put(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            return own(slice(right.start + rows.start, right.start + rows.stop))

        matrix = PackedMatrix(size, values.X.shape[1], np.dtype(float))
        packed = PackedKernel(kernel, matrix, put)

        def of_packed(left: slice, first: int) -> np.ndarray:
            rows, norms = own(left)
            tile = np.empty((norms.size, size - first))
            packed.write_tile(packed.products(rows), norms, first, size, tile)
            return tile

        return of_packed
    B, norms_b = own(right)

    def of_rows(left: slice, first: int) -> np.ndarray:
        A, norms_a = own(left)
        if isinstance(kernel, InnerProductKernel):
            # Norms are zero where differences are taken.
            from scipy.spatial.distance import cdist

            if direct:
                tile = -0.5 * cdist(A, B[first:], "sqeuclidean")
            else:
                tile = inner_products(A, B[first:])
            kernel.apply(tile, norms_a, norms_b[first:])
            return tile
        function = kernel.function if isinstance(kernel, CallableKernel) else kernel.block
        return values.pace.call(
            lambda A, B: np.asarray(function(A, B), dtype=np.float64), A, B[first:]
        )

    return of_rows
