"""Files in LIBSVM's format: the whole, chunks from the beginning on, or chunks in any order.

The parser is scikit-learn's.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def load_svmlight(
    path: str | PathLike[str], *, n_features: int | None = None, dtype: Any = np.float32
) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """Load a whole file in LIBSVM's format, "label column:value ...", columns counted from 1.

    Parameters
    ----------
    path : path-like
        File, plain, or compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    n_features : int, default=None
        Number of columns; the largest in the file if None.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the entries of X.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels, int64 where all are whole, else float64.

    Raises
    ------
    ValueError
        If the file has another format, or a column beyond ``n_features``.
    """
    with _OPENERS.get(Path(path).suffix, open)(path, "rb") as file:
        return parse_svmlight(file, n_features, dtype)


def iter_svmlight(
    path: str | PathLike[str],
    *,
    n_features: int,
    chunk_size: int = 65_536,
    dtype: Any = np.float32,
) -> Iterator[tuple[sparse.csr_matrix, NDArray[Any]]]:
    """Read a file in LIBSVM's format from its beginning, some rows at a time.

    Memory does not grow with the file, compressed or not.

    Parameters
    ----------
    path : path-like
        File, plain, or compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    n_features : int
        Number of columns.
    chunk_size : int, default=65_536
        Number of rows of a chunk.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the entries of X.

    Yields
    ------
    X : CSR matrix of shape (n_rows, n_features)
        Features of a chunk of at most ``chunk_size`` rows.
    y : ndarray of shape (n_rows,)
        Labels of the chunk, int64 where all are whole, else float64.

    Raises
    ------
    ValueError
        If ``chunk_size`` is not positive, the file has another format, or a column is beyond
        ``n_features``.
    """
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size!r}")
    with _OPENERS.get(Path(path).suffix, open)(path, "rb") as file:
        while lines := b"".join(islice(file, chunk_size)):
            yield parse_svmlight(io.BytesIO(lines), n_features, dtype)


class SvmlightChunks(Sequence[Any]):
    """A plain file in LIBSVM's format as a sequence of chunks, each read when it is asked for.

    ``chunks[i]`` is a pair ``(X, y)`` as from `load_svmlight`; a slice is a sequence of the same
    kind.

    Parameters
    ----------
    path : path-like
        File that is not compressed, so that any chunk can be read without those before it.
    n_features : int
        Number of columns.
    chunk_mb : float, default=32
        Size of a chunk of the file in MiB.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the entries of X.

    Raises
    ------
    ValueError
        If the file is compressed, or ``chunk_mb`` not positive.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        n_features: int,
        chunk_mb: float = 32.0,
        dtype: Any = np.float32,
    ) -> None:
        if Path(path).suffix in _OPENERS:
            raise ValueError(
                f"path must be of a plain file (iter_svmlight reads compressed ones), got {path}"
            )
        if not chunk_mb > 0:
            raise ValueError(f"chunk_mb must be positive, got {chunk_mb!r}")
        self.path = path
        self.n_features = n_features
        self.dtype = dtype
        self._length = max(1, round(chunk_mb * 2**20))
        self._begins = range(0, Path(path).stat().st_size, self._length)

    def __len__(self) -> int:
        return len(self._begins)

    def __getitem__(self, number: Any) -> Any:
        """Give X and y of one chunk, or the chunks of a slice as a sequence of the same kind.

        A row belongs to the chunk in whose bytes it begins.
        """
        if isinstance(number, slice):
            part = copy.copy(self)
            part._begins = self._begins[number]
            return part
        begin = self._begins[number]
        with open(self.path, "rb") as file:
            first, last = (_next_line(file, end) for end in (begin, begin + self._length))
            file.seek(first)
            lines = file.read(last - first)
        return parse_svmlight(io.BytesIO(lines), self.n_features, self.dtype)


def _next_line(file: Any, position: int) -> int:
    """Return where the first line at or after a position begins."""
    if position == 0:
        return 0
    file.seek(position - 1)
    file.readline()
    return int(file.tell())


def parse_svmlight(
    file: Any, n_features: int | None, dtype: Any
) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """Read X and y from an open file; labels are integers where all are whole."""
    X, y = load_svmlight_file(file, n_features=n_features, dtype=dtype, zero_based=False)
    whole = y.astype(np.int64)
    return X, whole if np.array_equal(whole, y) else y
