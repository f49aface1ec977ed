"""Products of the kernel matrix in float64, from the features as they are given.

A certificate is about the kernel of the formula; values that are handed out for training are
rounded to ``row_dtype``, often float32, and mostly computed in it. Here the few sums that a
certificate is made of are computed once more, as well as float64 can, with a bound on what is left
of rounding.

Sums over packed rows compute each value of the symmetric matrix once, and use it for two examples:
groups of rows meet blocks of packed ones, from the diagonal on. Product, map and both sums of a
tile are done while it is in a core's cache, and threads share the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kpegasos.kernels import maps
from kpegasos.kernels.base import (
    CallableKernel,
    InnerProductKernel,
    bounds_rounding,
    inner_products,
    parts_of,
)
from kpegasos.kernels.decision import KernelExpansion
from kpegasos.kernels.functions import RBF
from kpegasos.kernels.gemm import PackedKernel, PackedMatrix, aligned_ranges, panel_width
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked, require_shape, require_shapes
from kpegasos.utils.compiled import compiled
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import parallel_for, threads_for

_EPS = float(np.finfo(np.float64).eps)
#: Most rows of a group, the steps to fewer of them, and bytes of a group's features.
_GROUP_ROWS, _GROUP_STEP, _GROUP_BYTES = 128, 16, tuning.MEBIBYTE
#: Most rows of a block, a group's at least, and bytes of its features and of sums of its columns.
#: The order of sums follows from them, so none depends on the machine.
_BLOCK_ROWS, _BLOCK_BYTES, _COLUMN_BYTES = 8192, 8 * tuning.MEBIBYTE, 2 * tuning.MEBIBYTE
#: Columns of a tile, whole panels of a group: a row's sum over them is rounded on its own.
_TILE_COLUMNS = 256
#: Bytes of what threads have in work: a group gathered and centred, then packed, and a tile.
_THREAD_BYTES = 16 * tuning.MEBIBYTE


def _check_tile(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, columns: np.ndarray
) -> None:
    require_shapes(("values", values, (left.size, right.size)), ("sums", sums, left.shape))
    if columns.size:
        require_shape("columns", columns, right.shape)


@compiled()
def _add_compiled(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, columns: np.ndarray
) -> None:
    """``sums += values @ right``, and ``columns += left @ values`` where that is wanted."""
    for i in range(left.size):
        row, total = values[i], 0.0
        for j in range(right.size):
            total += row[j] * right[j]
        sums[i] += total
        for j in range(columns.size):
            columns[j] += left[i] * row[j]


def _add_numpy(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, columns: np.ndarray
) -> None:
    """Add a tile as `_add_compiled` does, by numpy."""
    sums += values @ right
    if columns.size:
        columns += left @ values


_add_tile = checked(_check_tile)(_add_compiled if maps.COMPILED else _add_numpy)


def _heights(n_features: int) -> tuple[int, int]:
    """Return rows of a group and of a block: by the features alone."""
    bytes_each = 8 * max(1, n_features)
    group = _GROUP_BYTES // bytes_each // _GROUP_STEP * _GROUP_STEP
    group = min(_GROUP_ROWS, max(_GROUP_STEP, group))
    block = min(_BLOCK_ROWS, _BLOCK_BYTES // bytes_each)
    return group, max(1, block // group) * group


def roundings(n_support: int, n_features: int) -> int:
    """Count how often a sum of `SymmetricSums` is rounded at the most, its products among them."""
    group, block = _heights(n_features)
    width = panel_width(np.dtype(float))
    columns = _panels_of_a_tile() * width
    # A row adds a sum of each tile, which begins and ends at a panel or at an end of its block.
    whole, rest = divmod(n_support, block)
    tiles = whole * -(-block // columns) + -(-rest // columns)
    # A product, the sum of a tile's row or of a group's column, then tiles and groups.
    return 1 + min(n_support, max(columns, group)) + tiles + -(-n_support // group)


def _panels_of_a_tile() -> int:
    return max(1, _TILE_COLUMNS // panel_width(np.dtype(float)))


class SymmetricSums:
    """``K @ weights`` for a support and for others, in the dtype of the features.

    Parameters
    ----------
    kernel : InnerProductKernel
    features : callable
        ``features(rows)`` gives those of a slice of the examples, the support first.
    norms : ndarray of shape (n_rows,)
        Their squared norms.
    weights : ndarray of shape (n_support,), float64
        Of the support; the others have none.

    Attributes
    ----------
    sums : ndarray of shape (n_rows,), float64
    evaluations : int
        Kernel values computed.
    """

    def __init__(
        self,
        kernel: InnerProductKernel,
        features: Callable[[slice], np.ndarray],
        norms: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        self.sums = np.zeros(norms.size)
        self.evaluations = 0
        self._kernel = kernel
        self._features = features
        self._norms = norms
        self._weights = weights
        self._n_features = features(slice(0, 1)).shape[1]
        self._group, self._block = _heights(self._n_features)

    def add_all(self) -> None:
        """Compute the sums."""
        n_support = self._weights.size
        for begin in range(0, n_support, self._block):
            self._add_block(begin, min(n_support, begin + self._block))

    def _add_block(self, begin: int, end: int) -> None:
        """Add a block of the support against the support up to its end, and the others."""

        def own(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            part = slice(begin + rows.start, begin + rows.stop)
            return self._features(part), self._norms[part]

        matrix = PackedMatrix(end - begin, self._n_features, np.dtype(float))
        block = PackedKernel(self._kernel, matrix, own)
        groups = list(self._groups(end))
        together = max(1, _COLUMN_BYTES // (8 * (end - begin)))
        # Columns of each group have sums of their own, whose order does not depend on the threads.
        n_inner = sum(group.start < end for group in groups)
        sums = np.empty((min(together, n_inner), end - begin))
        for first in range(0, len(groups), together):
            some = groups[first : first + together]
            self._add_groups(block, some, begin, end, sums[: max(0, n_inner - first)])

    def _add_groups(
        self, block: PackedKernel, groups: list[slice], begin: int, end: int, sums: np.ndarray
    ) -> None:
        """Add some groups against a block, as many as there is room for sums of columns."""
        sums[:] = 0.0

        def every(first: int, step: int) -> None:
            for number in range(first, len(groups), step):
                heed(self._group * (end - begin))
                columns = sums[number] if number < len(sums) else np.empty(0)
                self._add_group(block, groups[number], begin, end, columns)

        n_rows = sum(group.stop - group.start for group in groups)
        threads = self._threads_for(n_rows * (end - begin) * self._n_features)
        parallel_for(every, [(first, threads) for first in range(threads)])
        for columns in sums:
            self.sums[begin:end] += columns
        self.evaluations += sum(
            (group.stop - group.start) * (end - self._first(group, begin)) for group in groups
        )

    def _threads_for(self, multiplications: float) -> int:
        """Threads that are worth it, and that there is room for."""
        each = 8 * self._group * (2 * self._n_features + _TILE_COLUMNS)
        return min(threads_for(multiplications), max(1, _THREAD_BYTES // each))

    def _groups(self, end: int) -> Iterator[slice]:
        """Return the support's rows up to the end of a block, then the others."""
        for first, last in ((0, end), (self._weights.size, self._norms.size)):
            for top in range(first, last, self._group):
                yield slice(top, min(last, top + self._group))

    def _first(self, group: slice, begin: int) -> int:
        """Return the first column of a group: from its own row on, if it is in the block."""
        return max(begin, group.start) if group.start < self._weights.size else begin

    def _add_group(
        self, block: PackedKernel, group: slice, begin: int, end: int, columns: np.ndarray
    ) -> None:
        """Add a group's kernel values to its own sums and, as columns, to those of the block."""
        products, norms = block.products(self._features(group)), self._norms[group]
        n_rows, width = norms.size, block.width
        n_panels = _panels_of_a_tile()
        scratch = np.empty(n_rows * n_panels * width)
        own = self._weights[group] if columns.size else np.zeros(n_rows)
        first = self._first(group, begin) - begin
        for left, right in aligned_ranges(first, end - begin, width, n_panels):
            tile = scratch[: n_rows * (right - left)].reshape(n_rows, right - left)
            block.write_tile(products, norms, left, right, tile)
            weights = self._weights[begin + left : begin + right]
            _add_tile(tile, own, weights, self.sums[group], columns[left:right])
        # On the diagonal a group has both halves itself.
        columns[first : max(first, group.stop - begin)] = 0.0


# --- products of any kernel -----------------------------------------------------------------------


#: Bytes of a block's features on either side, and most rows of one.
_TILE_BYTES, _TILE_ROWS = 4 * tuning.MEBIBYTE, 512
#: Where inner products round kernel values more than this on average, differences are taken. A few
#: examples far from all others are no reason: sums of losses hardly see them.
_MOST_ROUNDING = 1e-11
#: Share of a value from which on its rounding says nothing, and the largest that is taken for zero.
_ROUGH, _UNDERFLOW = 0.1, 1e-37
#: Examples whose sums are looked at together.
_TOGETHER = 8192


def exact_products(
    values: KernelMatrix, coef: np.ndarray, wanted: np.ndarray, largest: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """``K @ coef`` for some examples, in float64 whatever the dtype of X.

    Values of functions of a user's own are taken as they are returned.

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
    """Lower bounds on the error of ``Σ c_j k(x_i, x_j)``, if the kernel is a Gaussian.

    A distance that is off multiplies its value: those of points that are far from each other, as
    most are, are off by next to nothing. So the sum of the sizes of its terms bounds a sum's error.

    Parameters
    ----------
    values : KernelMatrix
    sizes : ndarray of shape (n_samples,), float64
        ``|c_j|``.
    doubtful : ndarray of int
        Examples in doubt.
    errors : ndarray of shape (n_samples,), float64
        Bounds, by the largest error of a value; those of examples in doubt are lowered.

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
    # With u_i u_j for the factor that k(x_i, x_j) may be off by, a value that was computed is less
    # than another such value times (u_i u_j)² - 1 away from the kernel's.
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
            break  # all points are close
        errors[some] = np.minimum(errors[some], lower)
    return evaluations


def _sums_of_products(values: KernelMatrix, coef: np.ndarray, support: np.ndarray) -> np.ndarray:
    """``K @ coef`` of values that are made of products which somebody holds."""
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
    kernel = values.kernel
    if isinstance(kernel, InnerProductKernel) and not (direct or values.is_sparse):
        symmetric = SymmetricSums(
            kernel, lambda part: values.exact_features(members[part]), norms, weights[:n_support]
        )
        symmetric.add_all()
        additions = roundings(n_support, values.X.shape[1])
        return symmetric.sums, symmetric.evaluations, additions
    sums, evaluations = np.zeros(members.size), 0
    top, features = -1, None
    for left, right in _blocks(n_support, members.size, values.X.shape[1]):
        size = (left.stop - left.start) * (right.stop - right.start)
        values.heed(size)
        if left.start != top:
            top, features = left.start, values.exact_features(members[left], centred=not direct)
        opposite = features
        if left != right:
            opposite = values.exact_features(members[right], centred=not direct)
        block = _block(values, (features, norms[left]), (opposite, norms[right]), direct)
        evaluations += size
        sums[left] += block @ weights[right]
        if left != right and left.start < n_support:
            sums[right] += weights[left] @ block
    return sums, evaluations, min(n_support, _TILE_ROWS) + n_support / 16 + 4


def _blocks(n_support: int, n_rows: int, n_features: int) -> Iterator[tuple[slice, slice]]:
    """Return blocks of rows against support: the support's own half, then the others."""
    height = min(_TILE_ROWS, max(16, _TILE_BYTES // (8 * max(1, n_features))))

    def ranges(first: int, last: int) -> list[slice]:
        return [slice(top, min(last, top + height)) for top in range(first, last, height)]

    own = ranges(0, n_support)
    for number, left in enumerate(own):
        for right in own[number:]:
            yield left, right
    for left in ranges(n_support, n_rows):
        for right in own:
            yield left, right


def _block(
    values: KernelMatrix,
    left: tuple[Any, np.ndarray],
    right: tuple[Any, np.ndarray],
    direct: bool,
) -> np.ndarray:
    (A, norms_a), (B, norms_b) = left, right
    kernel = values.kernel
    if isinstance(kernel, InnerProductKernel):
        # Norms are zero where differences are taken.
        from scipy.spatial.distance import cdist

        block = -0.5 * cdist(A, B, "sqeuclidean") if direct else inner_products(A, B)
        kernel.apply(block, norms_a, norms_b)
        return block
    own = kernel.function if isinstance(kernel, CallableKernel) else kernel.block
    return values.pace.call(lambda A, B: np.asarray(own(A, B), dtype=np.float64), A, B)
