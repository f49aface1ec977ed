"""Files in LIBSVM's format: the whole, chunks from the beginning on or in any order; written."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets import _svmlight_reader
from kpegasos.datasets._svmlight_reader import (
    MOST_COLUMNS,
    Form,
    Rows,
    assembled,
    read_rows,
    too_long,
)
from kpegasos.datasets.files import UTF_8_MARK, checked_dtype, is_compressed, opened, packed
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.validation import (
    as_array,
    as_integer,
    as_number,
    canonical_rows,
    largest_magnitude,
    optional,
    refuse_times,
)

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
        return assembled(read_rows(place, file, form), form)


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
    """Return the number of lines that end before a position."""
    with open(path, "rb") as file:
        ends = sum(
            file.read(min(2**20, position - at)).count(b"\n") for at in range(0, position, 2**20)
        )
    return ends


def checked_form(n_features: Any, dtype: Any) -> Form:
    """Return the number of columns and type of entries, or a ValueError."""
    n_features = optional(as_integer, "n_features", n_features, least=1, most=MOST_COLUMNS)
    return Form(n_features, checked_dtype(dtype))


# --- writing ---

#: Rows that are written at a time.
_ROWS = 4096


def write_svmlight(path: str | PathLike[str], X: Any, y: Any) -> None:
    """Write rows and labels as a file in LIBSVM's format, "label column:value ...".

    The file is written whole or not at all. `load_svmlight` with ``dtype=numpy.float64`` reads back
    the same numbers, and X itself given ``n_features``.

    Parameters
    ----------
    path : path-like
        The file is compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, finite; columns are counted from 1 in the file. Zeros of a dense X are left out.
    y : array-like of shape (n_samples,)
        Labels, finite numbers.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If X or y does not hold finite numbers, or they do not have as many rows.
    """
    place = checked_path(path)
    refuse_times("X", X)
    X = canonical_rows(X)
    if not np.isfinite(largest_magnitude(X)):
        raise ValueError("X must hold finite numbers, got NaN or infinity")
    refuse_times("y", y)
    y = as_array("y", y, expected="hold real numbers", kinds="biuf")
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must have shape {X.shape[:1]}, as X has rows, got {y.shape} instead")
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers, got NaN or infinity")
    write_whole(place, packed(place, _parts(X, y)))


def _parts(X: Any, y: NDArray[np.float64]) -> Iterator[bytes]:
    """Return lines of some rows at a time."""
    for first in range(0, y.size, _ROWS):
        part = slice(first, first + _ROWS)
        lines = rows_as_text(X[part], map(_word, y[part].tolist()), _word)
        yield "".join(f"{line}\n" for line in lines).encode()


def rows_as_text(X: Any, labels: Iterable[str], word: Callable[[float], str]) -> Iterator[str]:
    """Make "label column:value ..." of each row, where ``word(value)`` says a value."""
    rows = sparse.csr_matrix(X)
    columns, values = (rows.indices + 1).tolist(), rows.data.tolist()
    words = [f" {column}:{word(value)}" for column, value in zip(columns, values, strict=True)]
    for label, (begin, end) in zip(labels, pairwise(rows.indptr.tolist()), strict=True):
        yield f"{label}{''.join(words[begin:end])}"


def _word(number: float) -> str:
    """Return the shortest decimal number that is read as this one."""
    return repr(number).removesuffix(".0")
