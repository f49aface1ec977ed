"""Sums over a symmetric kernel matrix: each value is computed once, and serves two examples.

Strips of rows meet blocks of packed ones, from the diagonal on. Product, map and both sums of a
tile are done while it is in a core's cache, and threads share the strips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kpegasos.kernels.base import InnerProductKernel
from kpegasos.kernels.packed import PackedKernel, aligned_ranges
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked, require_shape
from kpegasos.utils.compiled import compiled
from kpegasos.utils.threads import parallel_for, threads_for

#: Rows of a strip, and bytes of a block's packed features, which hold as many rows at least. Sums
#: go strip by strip, so these do not depend on the machine.
_STRIP_ROWS, _BLOCK_BYTES = 128, 8 * tuning.MEBIBYTE


def _check_tile(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, mirror: np.ndarray
) -> None:
    require_shape("values", values, (left.size, right.size))
    require_shape("sums", sums, left.shape)
    if mirror.size:
        require_shape("mirror", mirror, right.shape)


@checked(_check_tile)
@compiled()
def _add_tile(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, mirror: np.ndarray
) -> None:
    """``sums += values @ right``, and ``mirror += left @ values`` where that is wanted."""
    for i in range(left.size):
        row, total = values[i], 0.0
        for j in range(right.size):
            total += row[j] * right[j]
        sums[i] += total
        for j in range(mirror.size):
            mirror[j] += left[i] * row[j]


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

    def add_all(self, go_on: Callable[[], bool]) -> bool:
        """Compute the sums; returns whether ``go_on`` has always agreed, before each strip."""
        n_support, n_features = self._weights.size, self._features(slice(0, 1)).shape[1]
        strips = _BLOCK_BYTES // (8 * _STRIP_ROWS * max(1, n_features))
        height = _STRIP_ROWS * max(1, strips)
        for begin in range(0, n_support, height):
            end = min(n_support, begin + height)
            if not self._add_block(begin, end, n_features, go_on):
                return False
        return True

    def _add_block(self, begin: int, end: int, n_features: int, go_on: Callable[[], bool]) -> bool:
        """Add the kernel values of a block of the support against all but what is behind it."""
        block = PackedKernel(self._kernel, n_features, np.dtype(float), capacity=end - begin)
        for top in range(begin, end, _STRIP_ROWS):
            part = slice(top, min(end, top + _STRIP_ROWS))
            block.append(self._features(part), self._norms[part])
        strips = list(self._strips(end))
        # One for each strip: they are added in order, whatever thread is first.
        mirrors = np.zeros((-(-end // _STRIP_ROWS), end - begin))
        refused: list[int] = []

        def every(first: int, step: int) -> None:
            for number in range(first, len(strips), step):
                if refused or not go_on():
                    refused.append(number)
                    return
                mirror = mirrors[number] if number < mirrors.shape[0] else mirrors[0, :0]
                self._add_strip(block, strips[number], begin, end, mirror)

        values = self._norms.size * (end - begin)
        threads = threads_for(values * n_features)
        parallel_for(every, [(first, threads) for first in range(threads)])
        for mirror in mirrors:
            self.sums[begin:end] += mirror
        self.evaluations += sum(
            (strip.stop - strip.start) * (end - self._first(strip, begin)) for strip in strips
        )
        return not refused

    def _strips(self, end: int) -> Iterator[slice]:
        """The support's rows up to the end of a block, then the others."""
        for first, last in ((0, end), (self._weights.size, self._norms.size)):
            for top in range(first, last, _STRIP_ROWS):
                yield slice(top, min(last, top + _STRIP_ROWS))

    def _first(self, strip: slice, begin: int) -> int:
        """The first column of a strip: from its own row on, if it is in the block."""
        return max(begin, strip.start) if strip.start < self._weights.size else begin

    def _add_strip(
        self, block: PackedKernel, strip: slice, begin: int, end: int, mirror: np.ndarray
    ) -> None:
        """Add a strip's kernel values to its own sums and, mirrored, to those of the block."""
        products, norms = block.products(self._features(strip)), self._norms[strip]
        n_rows, width = norms.size, block.width
        n_panels = max(1, tuning.HOT_BYTES // (8 * width * _STRIP_ROWS))
        scratch = np.empty(n_rows * n_panels * width)
        own = self._weights[strip] if mirror.size else np.zeros(n_rows)
        first = self._first(strip, begin) - begin
        for left, right in aligned_ranges(first, end - begin, width, n_panels):
            tile = scratch[: n_rows * (right - left)].reshape(n_rows, right - left)
            block.write_tile(products, norms, left, right, tile)
            weights = self._weights[begin + left : begin + right]
            _add_tile(tile, own, weights, self.sums[strip], mirror[left:right])
        # On the diagonal a strip has both halves itself.
        mirror[first : max(first, strip.stop - begin)] = 0.0
