"""Kernel values against packed examples: product and map in one pass, on several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from kpegasos.kernels.functions import InnerProductKernel
from kpegasos.kernels.gemm import PackedMatrix
from kpegasos.utils import tuning
from kpegasos.utils.threads import available_threads, threads_for


class PackedKernel:
    """A kernel against examples that are packed once; more can be added.

    Parameters
    ----------
    kernel : InnerProductKernel
    n_features : int
    dtype : dtype
        float32 or float64.
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
        self._rows = PackedMatrix(n_features, dtype, capacity)
        self._norms = np.empty(0, dtype)
        self._pool: ThreadPoolExecutor | None = None

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return self._rows.n_rows

    def append(self, rows: np.ndarray, squared_norms: np.ndarray) -> None:
        """Add examples behind the others."""
        self._rows.append(rows)
        self._norms = np.concatenate((self._norms, squared_norms.astype(rows.dtype, copy=False)))

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
        out : ndarray of shape (n_rows, last - first)
        first, last : int
            The range, by default all examples.
        """
        last = self.n_samples if last is None else last
        if last == first or rows.shape[0] == 0:
            return
        products = self._rows.products(rows)
        width = self._rows.width
        step = max(1, tuning.HOT_BYTES // (width * rows.shape[0] * rows.itemsize)) * width

        def part(begin: int, end: int) -> None:
            # Of contiguous memory, as the compiler makes vector code for that alone.
            values = np.empty((rows.shape[0], min(step, end - begin)), rows.dtype)
            while begin < end:
                stop = min(end, begin - begin % width + step)
                if stop - begin != values.shape[1]:
                    values = np.empty((rows.shape[0], stop - begin), rows.dtype)
                products.write(begin, stop, values)
                self.kernel.finish(values, squared_norms, self._norms[begin:stop])
                out[:, begin - first : stop - first] = values
                begin = stop

        work = rows.shape[0] * (last - first) * self.n_features
        pieces = threads_for(work, self.threads)
        ends = first + (last - first) * np.arange(pieces + 1) // pieces
        ends[1:-1] -= ends[1:-1] % width
        ends = np.maximum(ends, first)
        if pieces == 1:
            part(first, last)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        others = [self._pool.submit(part, int(a), int(b)) for a, b in pairwise(ends[1:])]
        part(first, int(ends[1]))
        for other in others:
            other.result()
