"""Kernel values against packed examples: product and map in one pass, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kpegasos.kernels.base import InnerProductKernel
from kpegasos.kernels.gemm import PackedMatrix, PackedProducts
from kpegasos.utils import tuning
from kpegasos.utils.boundary import require_range, require_shape
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import available_threads, parallel_for, threads_for


def aligned_ranges(first: int, last: int, width: int, n_panels: int) -> Iterator[tuple[int, int]]:
    """Cut ``[first, last)`` at multiples of a panel's width.

    Parameters
    ----------
    first, last : int
    width : int
        Examples of a panel.
    n_panels : int
        Panels that a range touches at the most.

    Yields
    ------
    begin, end : int
        Ranges that are not empty, in order.
    """
    for panel in range(first // width, -(-last // width), n_panels):
        begin, end = max(first, panel * width), min(last, (panel + n_panels) * width)
        if begin < end:
            yield begin, end


class PackedKernel:
    """A kernel against examples that are packed once; more can be added.

    Parameters
    ----------
    kernel : InnerProductKernel
    n_features : int
    dtype : dtype
        float32 or float64: that of the arithmetic.
    capacity : int, default=0
        How many examples to make room for at once.
    threads : int, default=None
        None for as many as OpenMP would use.
    """

    def __init__(
        self,
        kernel: InnerProductKernel,
        n_features: int,
        dtype: np.dtype,
        *,
        capacity: int = 0,
        threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.threads = available_threads() if threads is None else threads
        self._matrix = PackedMatrix(n_features, dtype, capacity)
        self._norms = np.empty(0, dtype)

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return self._matrix.n_rows

    @property
    def width(self) -> int:
        """Examples of a panel."""
        return self._matrix.width

    def append(self, rows: np.ndarray, squared_norms: np.ndarray) -> None:
        """Add examples behind the others."""
        require_shape("squared_norms", squared_norms, rows.shape[:1])
        self._matrix.append(rows)
        self._norms = np.concatenate((self._norms, squared_norms.astype(rows.dtype, copy=False)))

    def fill(self, n_rows: int, own: Callable[[slice], tuple[np.ndarray, np.ndarray]]) -> None:
        """Pack the first examples, on several threads.

        Parameters
        ----------
        n_rows : int
            As many as there is room for at the most.
        own : callable
            ``own(rows)`` gives features and squared norms of a slice of them.
        """
        norms = np.empty(n_rows, self._norms.dtype)

        def piece(begin: int, end: int) -> None:
            for top in range(begin, end, tuning.FEATURE_ROWS):
                part = slice(top, min(end, top + tuning.FEATURE_ROWS))
                rows, norms[part] = own(part)
                self._matrix.put(top, rows)

        threads = threads_for(tuning.MEMORY_WORK * n_rows * self.n_features, self.threads)
        n_panels = -(-n_rows // self.width)
        if n_rows:
            parallel_for(piece, aligned_ranges(0, n_rows, self.width, -(-n_panels // threads)))
        self._matrix.n_rows, self._norms = n_rows, norms

    def write(
        self,
        rows: np.ndarray,
        squared_norms: np.ndarray,
        out: np.ndarray,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """Write the kernel values of some rows against a range of the examples.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
        squared_norms : ndarray of shape (n_rows,)
        out : ndarray of shape (n_rows, last - first), float32 or float64
        first, last : int
            The range, by default all examples.

        Raises
        ------
        ValueError
            If shapes do not fit together.
        """
        last = self.n_samples if last is None else last
        require_range("first and last", first, last, self.n_samples)
        require_shape("squared_norms", squared_norms, rows.shape[:1])
        require_shape("out", out, (rows.shape[0], last - first))
        if last == first or rows.shape[0] == 0:
            return
        products = self._matrix.products(rows)

        def piece(begin: int, end: int) -> None:
            columns = out[:, begin - first : end - first]
            self._write_piece(products, squared_norms, begin, end, columns)

        width = self._matrix.width
        n_panels = -(-last // width) - first // width
        threads = threads_for(rows.shape[0] * (last - first) * self.n_features, self.threads)
        parallel_for(piece, aligned_ranges(first, last, width, -(-n_panels // threads)))

    def _write_piece(
        self,
        products: PackedProducts,
        squared_norms: np.ndarray,
        first: int,
        last: int,
        out: np.ndarray,
    ) -> None:
        """Write a range on one thread, by tiles that stay in a processor's cache."""
        n_rows, width = squared_norms.size, self._matrix.width
        n_panels = max(1, tuning.HOT_BYTES // (width * n_rows * self._norms.itemsize))
        # An odd number: rows a power of two apart compete for the same few lines of a cache.
        n_panels -= n_panels % 2 == 0
        scratch = np.empty(n_rows * min(n_panels * width, last - first), self._norms.dtype)
        for begin, end in aligned_ranges(first, last, width, n_panels):
            # Contiguous, as the compiler makes vector code for that alone.
            heed(n_rows * (end - begin))
            tile = scratch[: n_rows * (end - begin)].reshape(n_rows, end - begin)
            self.write_tile(products, squared_norms, begin, end, tile)
            out[:, begin - first : end - first] = tile

    def products(self, rows: np.ndarray) -> PackedProducts:
        """Products of the examples with some rows, for `write_tile`."""
        return self._matrix.products(rows)

    def write_tile(
        self,
        products: PackedProducts,
        squared_norms: np.ndarray,
        first: int,
        last: int,
        tile: np.ndarray,
    ) -> None:
        """Write kernel values against a range of the examples, on the calling thread.

        Parameters
        ----------
        products : PackedProducts
            From `products`.
        squared_norms : ndarray of shape (n_rows,)
        first, last : int
            The range.
        tile : ndarray of shape (n_rows, last - first)
            Contiguous, of the dtype of the arithmetic.
        """
        products.write(first, last, tile)
        self.kernel.apply(tile, squared_norms, self._norms[first:last])
