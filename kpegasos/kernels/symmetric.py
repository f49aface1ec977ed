"""Sums over a symmetric kernel matrix: each value is computed once, and serves two examples.

Strips of rows meet blocks of packed ones, from the diagonal on. Product, map and both sums of a
tile are done while it is in a core's cache, and threads share the strips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kpegasos.kernels import maps
from kpegasos.kernels.base import InnerProductKernel
from kpegasos.kernels.gemm import panel_width
from kpegasos.kernels.packed import PackedKernel, aligned_ranges
from kpegasos.utils import tuning
from kpegasos.utils.boundary import checked, require_shape
from kpegasos.utils.compiled import compiled
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import parallel_for, threads_for

#: Most rows of a strip, the steps to fewer of them, and bytes of a strip's features.
_STRIP_ROWS, _STRIP_STEP, _STRIP_BYTES = 128, 16, tuning.MEBIBYTE
#: Most rows of a block, a strip's at least, and bytes of its features and of a wave's mirrors.
#: Sums go by strips and waves, so none of these depends on the machine.
_BLOCK_ROWS, _BLOCK_BYTES, _MIRROR_BYTES = 8192, 8 * tuning.MEBIBYTE, 2 * tuning.MEBIBYTE
#: Columns of a tile, whole panels of a strip: a row's sum over them is rounded on its own.
_TILE_COLUMNS = 256
#: Bytes of what threads have in work: a strip gathered and centred, then packed, and a tile.
_THREAD_BYTES = 16 * tuning.MEBIBYTE


def _check_tile(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, mirror: np.ndarray
) -> None:
    require_shape("values", values, (left.size, right.size))
    require_shape("sums", sums, left.shape)
    if mirror.size:
        require_shape("mirror", mirror, right.shape)


@compiled()
def _add_compiled(
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


def _add_numpy(
    values: np.ndarray, left: np.ndarray, right: np.ndarray, sums: np.ndarray, mirror: np.ndarray
) -> None:
    """The same without a compiler."""
    sums += values @ right
    if mirror.size:
        mirror += left @ values


_add_tile = checked(_check_tile)(_add_compiled if maps.COMPILED else _add_numpy)


def _heights(n_features: int) -> tuple[int, int]:
    """Rows of a strip and of a block: by the features alone."""
    bytes_each = 8 * max(1, n_features)
    strip = _STRIP_BYTES // bytes_each // _STRIP_STEP * _STRIP_STEP
    strip = min(_STRIP_ROWS, max(_STRIP_STEP, strip))
    block = min(_BLOCK_ROWS, _BLOCK_BYTES // bytes_each)
    return strip, max(1, block // strip) * strip


def roundings(n_support: int, n_features: int) -> int:
    """How often a sum of `SymmetricSums` is rounded at the most, its products among them."""
    strip, block = _heights(n_features)
    width = panel_width(np.dtype(float))
    columns = _panels_of_a_tile() * width
    # A row adds a sum of each tile, which begins and ends at a panel or at an end of its block.
    whole, rest = divmod(n_support, block)
    tiles = whole * -(-block // columns) + -(-rest // columns)
    # A product, the sum of a tile's row or of a mirror's column, then tiles and mirrors.
    return 1 + min(n_support, max(columns, strip)) + tiles + -(-n_support // strip)


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
    threads : int, default=None
        The most; None for as many as OpenMP would use.

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
        threads: int | None = None,
    ) -> None:
        self.sums = np.zeros(norms.size)
        self.evaluations = 0
        self._kernel = kernel
        self._features = features
        self._norms = norms
        self._weights = weights
        self._threads = threads
        self._n_features = features(slice(0, 1)).shape[1]
        self._strip, self._block = _heights(self._n_features)

    def add_all(self) -> None:
        """Compute the sums."""
        n_support = self._weights.size
        for begin in range(0, n_support, self._block):
            self._add_block(begin, min(n_support, begin + self._block))

    def _add_block(self, begin: int, end: int) -> None:
        """Add a block of the support against the support up to its end, and the others."""
        block = PackedKernel(self._kernel, self._n_features, np.dtype(float), capacity=end - begin)
        for top in range(begin, end, self._strip):
            heed()
            part = slice(top, min(end, top + self._strip))
            block.append(self._features(part), self._norms[part])
        strips = list(self._strips(end))
        together = max(1, _MIRROR_BYTES // (8 * (end - begin)))
        for first in range(0, len(strips), together):
            self._add_wave(block, strips[first : first + together], begin, end)

    def _add_wave(self, block: PackedKernel, strips: list[slice], begin: int, end: int) -> None:
        """Add some strips against a block, as many as there is room for mirrors."""
        # A mirror for each strip, so that the order of the sums does not depend on the threads.
        n_mirrors = sum(strip.start < end for strip in strips)
        mirrors = np.zeros((n_mirrors, end - begin))

        def every(first: int, step: int) -> None:
            for number in range(first, len(strips), step):
                heed(self._strip * (end - begin))
                mirror = mirrors[number] if number < n_mirrors else np.empty(0)
                self._add_strip(block, strips[number], begin, end, mirror)

        n_rows = sum(strip.stop - strip.start for strip in strips)
        threads = self._threads_for(n_rows * (end - begin) * self._n_features)
        parallel_for(every, [(first, threads) for first in range(threads)])
        for mirror in mirrors:
            self.sums[begin:end] += mirror
        self.evaluations += sum(
            (strip.stop - strip.start) * (end - self._first(strip, begin)) for strip in strips
        )

    def _threads_for(self, multiplications: float) -> int:
        """Threads that are worth it, and that there is room for."""
        each = 8 * self._strip * (2 * self._n_features + _TILE_COLUMNS)
        return min(threads_for(multiplications, self._threads), max(1, _THREAD_BYTES // each))

    def _strips(self, end: int) -> Iterator[slice]:
        """The support's rows up to the end of a block, then the others."""
        for first, last in ((0, end), (self._weights.size, self._norms.size)):
            for top in range(first, last, self._strip):
                yield slice(top, min(last, top + self._strip))

    def _first(self, strip: slice, begin: int) -> int:
        """The first column of a strip: from its own row on, if it is in the block."""
        return max(begin, strip.start) if strip.start < self._weights.size else begin

    def _add_strip(
        self, block: PackedKernel, strip: slice, begin: int, end: int, mirror: np.ndarray
    ) -> None:
        """Add a strip's kernel values to its own sums and, mirrored, to those of the block."""
        products, norms = block.products(self._features(strip)), self._norms[strip]
        n_rows, width = norms.size, block.width
        n_panels = _panels_of_a_tile()
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
