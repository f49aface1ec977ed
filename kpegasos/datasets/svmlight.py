"""Files in LIBSVM's format: the whole, chunks from the beginning on, or chunks in any order."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets import _svmlight_reader
from kpegasos.datasets._files import UTF_8_MARK, checked_dtype, is_compressed, opened
from kpegasos.datasets._svmlight_reader import (
    MOST_COLUMNS,
    Form,
    Rows,
    assembled,
    read_rows,
    too_long,
)
from kpegasos.utils.files import checked_path
from kpegasos.utils.validation import as_integer, as_number, optional

#: MiB of a chunk at the most.
_MOST_CHUNK_MB = 2.0**20


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
    OSError
        If the file cannot be opened.
    ValueError
        Naming file and line, if the file has another format, a label or value is not finite, a
        column is beyond ``n_features`` or columns do not increase; naming the file, if it is
        compressed and damaged, or holds more than 200 times its size (and 64 MiB).
    """
    place = checked_path(path)
    form = checked_form(n_features, dtype)
    with opened(place) as file:
        return whole_file(place, file, form)


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
    OSError, ValueError
        As `load_svmlight`, or if ``chunk_size`` is not positive.
    """
    place = checked_path(path)
    n_features = as_integer("n_features", n_features, least=1)
    form = checked_form(n_features, dtype)
    chunk_size = as_integer("chunk_size", chunk_size, least=1)
    with opened(place) as file:
        for rows in _regrouped(read_rows(place, file, form), chunk_size):
            yield assembled(rows, form)


def _regrouped(parts: Iterable[Rows], size: int) -> Iterator[list[Rows]]:
    """Cut and put together rows, so that there are so many each time but for the last."""
    waiting: list[Rows] = []
    missing = size
    for part in parts:
        first, n_rows = 0, part.labels.size
        while n_rows - first >= missing:
            yield [*waiting, part.part(first, first + missing)]
            first += missing
            waiting, missing = [], size
        if first < n_rows:
            waiting.append(part.part(first, n_rows))
            missing -= n_rows - first
    if waiting:
        yield waiting


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
        If the file is compressed, or ``chunk_mb`` not positive or more than 2**20.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        n_features: int,
        chunk_mb: float = 32.0,
        dtype: Any = np.float32,
    ) -> None:
        if is_compressed(checked_path(path)):
            raise ValueError(
                f"path must be of a plain file (iter_svmlight reads compressed ones), got {path}"
            )
        chunk_mb = as_number("chunk_mb", chunk_mb, positive=True, most=_MOST_CHUNK_MB)
        self.path = Path(path)
        self.n_features = as_integer("n_features", n_features, least=1)
        self.dtype = checked_form(self.n_features, dtype).dtype
        self._length = max(1, round(chunk_mb * 2**20))
        self._begins = range(0, self.path.stat().st_size, self._length)

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
            content = file.read(last - first)
        if first == 0:
            content = content.removeprefix(UTF_8_MARK)
        form = Form(self.n_features, self.dtype)
        before = partial(_count_lines, self.path, first)
        return assembled(read_rows(self.path, io.BytesIO(content), form, before), form)


def _next_line(file: Any, position: int) -> int:
    """Return where the first line at or after a position begins."""
    if position == 0:
        return 0
    file.seek(position - 1)
    if len(file.readline(_svmlight_reader.LONGEST_LINE)) == _svmlight_reader.LONGEST_LINE:
        raise ValueError(f"{file.name}: {too_long()}")
    return int(file.tell())


def _count_lines(path: Path, position: int) -> int:
    """Number of lines that end before a position."""
    with open(path, "rb") as file:
        ends = sum(
            file.read(min(2**20, position - at)).count(b"\n") for at in range(0, position, 2**20)
        )
    return ends


def whole_file(
    path: Path | str, file: BinaryIO, form: Form
) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """Read X and y from an open file; its path is for errors."""
    return assembled(read_rows(path, file, form), form)


def checked_form(n_features: Any, dtype: Any) -> Form:
    """Number of columns and type of entries, or a ValueError."""
    n_features = optional(as_integer, "n_features", n_features, least=1, most=MOST_COLUMNS)
    return Form(n_features, checked_dtype(dtype))
