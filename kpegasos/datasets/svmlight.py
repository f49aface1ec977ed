"""Files in LIBSVM's format: the whole, chunks from the beginning on, or chunks in any order.

The parser is scikit-learn's. What it refuses, and what it should, is looked at once more here, so
that an error names the file, the line and what is wrong there.
"""

from __future__ import annotations

import copy
import io
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from kpegasos.datasets._files import (
    UTF_8_MARK,
    checked_dtype,
    checked_path,
    is_compressed,
    number_of,
    opened,
)
from kpegasos.utils.validation import as_integer, as_number

#: Bytes of a line, beyond which it is no row: two million entries have room.
_LONGEST_LINE = 2**26
#: Columns are C integers to the parser.
_MOST_COLUMNS = 2**31 - 1
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
    n_features, dtype = _checked_shape(n_features, dtype)
    with opened(place) as file:
        return parse_svmlight(Lines(place, file), n_features, dtype)


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
    _, dtype = _checked_shape(n_features, dtype)
    chunk_size = as_integer("chunk_size", chunk_size, least=1)
    with opened(place) as file:
        lines = Lines(place, file, at_once=chunk_size)
        while not lines.ended:
            X, y = parse_svmlight(lines, n_features, dtype)
            if y.size:
                yield X, y


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
        _, self.dtype = _checked_shape(self.n_features, dtype)
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
        lines = Lines(self.path, io.BytesIO(content), before=lambda: _count_lines(self.path, first))
        return parse_svmlight(lines, self.n_features, self.dtype)


def _next_line(file: Any, position: int) -> int:
    """Return where the first line at or after a position begins."""
    if position == 0:
        return 0
    file.seek(position - 1)
    if len(file.readline(_LONGEST_LINE)) == _LONGEST_LINE:
        raise ValueError(f"{file.name}: {_too_long()}")
    return int(file.tell())


def _too_long() -> str:
    return f"a line must have less than {_LONGEST_LINE} bytes"


def _count_lines(path: Path, position: int) -> int:
    """Number of lines that end before a position."""
    with open(path, "rb") as file:
        ends = sum(
            file.read(min(2**20, position - at)).count(b"\n") for at in range(0, position, 2**20)
        )
    return ends


class Lines:
    """The rows of an open file, as the parser takes them: without comments, and counted.

    Parameters
    ----------
    path : Path
        Of the file, for errors.
    file : binary file
    at_once : int, default=None
        Rows that one iteration gives; all if None.
    before : callable, default=None
        Gives the number of lines of the file before the first of ``file``.

    Attributes
    ----------
    numbers : array of int
        Of the line of each row of the last iteration, counted from 1.
    row : bytes
        The last row.
    ended : bool
        Whether the file has no more lines.
    """

    def __init__(
        self,
        path: Path,
        file: Any,
        *,
        at_once: int | None = None,
        before: Callable[[], int] | None = None,
    ) -> None:
        self.path = path
        self.numbers = array("q")
        self.row = b""
        self.ended = False
        self._file = file
        self._most = math.inf if at_once is None else at_once
        self._before = before
        self._number = 0

    def __iter__(self) -> Iterator[bytes]:
        self.numbers = array("q")
        while len(self.numbers) < self._most:
            line = self._file.readline(_LONGEST_LINE)
            if not line:
                self.ended = True
                return
            self._number += 1
            if len(line) == _LONGEST_LINE:
                self.row = b""
                raise ValueError(self.at(self._number, _too_long()))
            self.row = line.partition(b"#")[0].strip()
            if self.row:
                self.numbers.append(self._number)
                # The parser takes what Python takes for numbers: "nan", "inf" and "1_0" as well.
                if b"n" in self.row or b"N" in self.row or b"_" in self.row:
                    raise ValueError
                yield self.row

    def read(self) -> bytes:
        """The parser takes for a file what has this method; it iterates."""
        raise io.UnsupportedOperation

    def at(self, number: int, what: str) -> str:
        """What is wrong in a line, in a sentence."""
        before = 0 if self._before is None else self._before()
        return f"{self.path}, line {before + number}: {what}"


def parse_svmlight(
    lines: Lines, n_features: int | None, dtype: Any
) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """Read X and y of the rows of a file; labels are integers where all are whole.

    Raises
    ------
    ValueError
        Naming file and line.
    """
    try:
        X, y = load_svmlight_file(lines, dtype=dtype, zero_based=False)
    except (ValueError, OverflowError):
        fault = _fault(lines.row)
        if fault is None:  # the file is at fault, not the row
            raise
        raise ValueError(lines.at(lines.numbers[-1], fault)) from None
    if n_features is not None and X.shape[1] > n_features:
        row = _row_of(X, X.indices >= n_features)
        what = f"columns must be at most n_features = {n_features}, got {X[row].indices[-1] + 1}"
        raise ValueError(lines.at(lines.numbers[row], what))
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        row = _row_of(X, ~np.isfinite(X.data)) if np.isfinite(y).all() else np.isfinite(y).argmin()
        what = f"label and values must be finite in {X.dtype}, got larger ones"
        raise ValueError(lines.at(lines.numbers[row], what))
    if n_features is not None:
        X.resize((X.shape[0], n_features))
    whole = bool(np.all((np.trunc(y) == y) & (np.abs(y) < 2**53)))
    return X, y.astype(np.int64) if whole else y


def _row_of(X: sparse.csr_matrix, wrong: NDArray[np.bool_]) -> int:
    """Row of the first entry that is wrong."""
    return int(np.searchsorted(X.indptr, np.argmax(wrong), "right")) - 1


def _fault(row: bytes) -> str | None:
    """What is wrong with a row, None if nothing is."""
    if not row:
        return None
    label, *entries = row.split()
    if not _is_number(label):
        return f"the label must be a finite number, got {_shown(label)}"
    query = b"0"
    if entries and entries[0].startswith(b"qid:"):
        query = entries.pop(0)[4:]
    last = 0
    for entry in entries:
        column, colon, value = entry.partition(b":")
        if not (colon and column.isdigit()) or not _is_number(value):
            return f"entries must be column:value, two numbers, got {_shown(entry)}"
        number = int(column[:20])  # whose digits Python limits
        if not last < number <= _MOST_COLUMNS:
            return (
                f"columns must increase from 1 to {_MOST_COLUMNS} at most, "
                f"got {_shown(column)} after {last}"
            )
        last = number
    if not query.lstrip(b"-").isdigit():
        return f"qid must be a whole number, got {_shown(query)}"
    return None


def _is_number(text: bytes) -> bool:
    number = number_of(text)
    return number is not None and math.isfinite(number) and b"_" not in text


def _shown(text: bytes) -> str:
    """Some bytes of a file, not too many."""
    return repr(text[:32])[1:] + ("..." if len(text) > 32 else "")


def _checked_shape(n_features: Any, dtype: Any) -> tuple[int | None, Any]:
    """Number of columns and type of entries, or a ValueError."""
    if n_features is not None:
        n_features = as_integer("n_features", n_features, least=1)
        if n_features > _MOST_COLUMNS:
            raise ValueError(f"n_features must be at most {_MOST_COLUMNS}, got {n_features}")
    return n_features, checked_dtype(dtype)
