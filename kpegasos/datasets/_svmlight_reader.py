"""Rows of an open file in LIBSVM's format, block by block, and a sentence for what is none.

The numbers are those of Python's ``float``. What is wrong is looked for only where the compiled
loop stopped, so that an error names the file, the line and the word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets._files import number_of
from kpegasos.datasets._svmlight_loop import MOST_COLUMNS, UNREAD, count, parse, powers_of_five
from kpegasos.utils.threads import parallel_for, threads_for

#: Bytes of a line, beyond which it is no row: two million entries have room.
LONGEST_LINE = 2**26
#: Bytes that are read at a time.
_BLOCK = 2**23
#: A byte costs as much as this many multiplications.
_WORK = 6.0
_WORD = re.compile(rb"[^\s#]*")


class Rows(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), float64
    values : ndarray of shape (n_values,), float32 or float64
    columns : ndarray of shape (n_values,), int32
        Counted from 0; they increase within a row.
    ends : ndarray of shape (n_rows,), int64
        Number of values up to the end of each row.
    """

    labels: NDArray[np.float64]
    values: NDArray[Any]
    columns: NDArray[np.int32]
    ends: NDArray[np.int64]

    def part(self, first: int, last: int) -> Rows:
        """Rows from the first up to, but without, the last."""
        begin = int(self.ends[first - 1]) if first else 0
        end = int(self.ends[last - 1]) if last else 0
        return Rows(
            self.labels[first:last],
            self.values[begin:end],
            self.columns[begin:end],
            self.ends[first:last] - begin,
        )


class Form(NamedTuple):
    """What is asked of rows.

    Attributes
    ----------
    n_features : int or None
        The most columns; None for any number.
    dtype : type
        float32 or float64.
    """

    n_features: int | None
    dtype: Any


def too_long() -> str:
    """What is wrong with a line that does not end."""
    return f"a line must have less than {LONGEST_LINE} bytes"


# --- from a file to rows ---


def read_rows(
    path: Path | str, file: BinaryIO, form: Form, before: Callable[[], int] = int
) -> Iterator[Rows]:
    """Read all rows of an open file, some at a time.

    Parameters
    ----------
    path : Path or str
        Name of the file, for errors.
    file : binary file
    form : Form
    before : callable, default=int
        Gives the number of lines of the file before those of ``file``; none by default.

    Yields
    ------
    Rows

    Raises
    ------
    ValueError
        Naming file and line, after the rows before it.
    """
    n_lines, ended = 0, False
    while not ended:
        block, fault = _next_block(file)
        ended = not block or fault is not None
        for piece in _parsed(block, form):
            if piece.rows.labels.size:
                yield piece.rows
            if piece.fault is not None:
                line, what = piece.fault()
                raise ValueError(f"{path}, line {before() + n_lines + line}: {what}")
            n_lines += piece.n_lines
        if fault is not None:
            raise ValueError(f"{path}, line {before() + n_lines + 1}: {fault}")


def _next_block(file: BinaryIO) -> tuple[bytes, str | None]:
    """Read whole lines, and what is wrong with the line after them."""
    block = file.read(min(_BLOCK, LONGEST_LINE))
    if not block or block.endswith(b"\n"):
        return block, None
    begin = block.rfind(b"\n") + 1
    rest = file.readline(LONGEST_LINE)
    if len(block) - begin + len(rest) >= LONGEST_LINE:
        return block[:begin], too_long()
    block += rest
    return block if block.endswith(b"\n") else block + b"\n", None


class _Piece(NamedTuple):
    """Rows of some lines, up to the first that is wrong, and where and what that is."""

    rows: Rows
    n_lines: int
    fault: Callable[[], tuple[int, str]] | None


def _parsed(block: bytes, form: Form) -> Iterable[_Piece]:
    """Read the lines of a block, on some threads."""
    n_pieces = threads_for(_WORK * len(block))
    cuts = {block.find(b"\n", len(block) * piece // n_pieces) + 1 for piece in range(1, n_pieces)}
    begins = sorted({0, len(block), *cuts})
    texts = [np.frombuffer(block, np.uint8, end - begin, begin) for begin, end in pairwise(begins)]
    pieces: dict[int, _Piece] = {}

    def work(number: int, text: NDArray[np.uint8]) -> None:
        pieces[number] = _piece(text, form)

    if texts:
        parallel_for(work, enumerate(texts))
    return (pieces[number] for number in range(len(texts)))


def _piece(text: NDArray[np.uint8], form: Form) -> _Piece:
    n_lines, n_colons = count(text)
    labels, values = np.empty(n_lines, np.uint64), np.empty(n_colons, np.uint64)
    columns, ends = np.empty(n_colons, np.int32), np.empty(n_lines, np.int64)
    n_rows, n_values, whole = parse(text, powers_of_five(), labels, values, columns, ends)
    with np.errstate(over="ignore"):
        rows = Rows(
            _numbers(labels[:n_rows], text),
            _numbers(values[:n_values], text).astype(form.dtype, copy=False),
            columns[:n_values],
            ends[:n_rows],
        )
    faults = dict(_unfit(rows, form.n_features))
    if not whole:
        faults.setdefault(n_rows, "")
    if not faults:
        return _Piece(rows, n_lines, None)
    row = min(faults)

    def fault() -> tuple[int, str]:
        line, words = _line_of(text.tobytes(), row)
        return line, faults[row] or _fault(words)

    return _Piece(rows.part(0, row), n_lines, fault)


def _numbers(bits: NDArray[np.uint64], text: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The numbers of some bits, with those that the loop left to Python."""
    numbers = bits.view(np.float64)
    for place in np.flatnonzero(np.isnan(numbers)):
        found = _WORD.match(text, int(bits[place]) ^ UNREAD)  # type: ignore[call-overload]
        numbers[place] = float(found.group())
    return numbers


def assembled(parts: Iterable[Rows], form: Form) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """Put rows together; labels are integers where all are whole."""
    # One array after the other: only one of them is in memory twice at a time.
    empty = Rows(*(np.empty(0, kind) for kind in (float, form.dtype, np.int32, np.int64)))
    of_labels, of_values, of_columns, of_ends = map(list, zip(empty, *parts, strict=True))
    y = _joined(of_labels)
    sizes = [ends[-1] if ends.size else 0 for ends in of_ends]
    begins = np.cumsum([0, *sizes[:-1]])
    nnz = int(sum(sizes))
    # SciPy has one type for both arrays of indices.
    kind: Any = np.int32 if nnz <= np.iinfo(np.int32).max else np.int64
    indptr = np.concatenate(
        [[0], *(ends + begin for ends, begin in zip(of_ends, begins, strict=True))]
    ).astype(kind)
    values = _joined(of_values)
    columns = _joined(of_columns).astype(kind, copy=False)
    n_features = form.n_features or int(columns.max(initial=0)) + 1
    X = sparse.csr_matrix((values, columns, indptr), shape=(y.size, n_features))
    X.has_canonical_format = True
    return X, as_labels(y)


def _joined(parts: list[Any]) -> NDArray[Any]:
    """Concatenate arrays, and let go of them."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def as_labels(y: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers as integers where all are whole and exact."""
    whole = bool(np.all((np.trunc(y) == y) & (np.abs(y) < 2**53)))
    return y.astype(np.int64) if whole else y


# --- what is wrong ---


def _unfit(rows: Rows, n_features: int | None) -> Iterator[tuple[int, str]]:
    """First rows of numbers that are too large, or have too large columns, and what is wrong."""
    what = f"label and values must be finite in {rows.values.dtype}, got larger ones"
    finite = np.isfinite(rows.values)
    if not finite.all():
        yield _row_of(rows, ~finite), what
    finite = np.isfinite(rows.labels)
    if not finite.all():
        yield int(np.argmin(finite)), what
    if n_features is not None and rows.columns.max(initial=-1) >= n_features:
        row = _row_of(rows, rows.columns >= n_features)
        largest = rows.columns[rows.ends[row] - 1] + 1
        yield row, f"columns must be at most n_features = {n_features}, got {largest}"


def _row_of(rows: Rows, wrong: NDArray[np.bool_]) -> int:
    """Row of the first value that is wrong."""
    return int(np.searchsorted(rows.ends, np.argmax(wrong), "right"))


def _line_of(text: bytes, row: int) -> tuple[int, bytes]:
    """Number of the line of a row, counted from 1, and the row."""
    for number, line in enumerate(text.split(b"\n"), 1):
        words = line.partition(b"#")[0].strip()
        if words:
            if row == 0:
                return number, words
            row -= 1
    raise IndexError(row)


def _fault(row: bytes) -> str:
    """What is wrong with a row."""
    label, *entries = row.split()
    if not _is_number(label):
        return f"the label must be a finite number, got {_shown(label)}"
    if entries and entries[0].startswith(b"qid:"):
        query = entries.pop(0)[4:]
        if not query.removeprefix(b"-").isdigit():
            return f"qid must be a whole number, got {_shown(query)}"
    last = 0
    for entry in entries:
        column, colon, value = entry.partition(b":")
        if not (colon and column.removeprefix(b"+").isdigit()) or not _is_number(value):
            return f"entries must be column:value, two numbers, got {_shown(entry)}"
        number = int(column[:20])  # whose digits Python limits
        if not last < number <= MOST_COLUMNS:
            return (
                f"columns must increase from 1 to {MOST_COLUMNS} at most, "
                f"got {_shown(column)} after {last}"
            )
        last = number
    return f"a row must be a label and entries column:value, got {_shown(row)}"


def _is_number(text: bytes) -> bool:
    # To Python "nan", "inf" and "1_0" are numbers as well.
    return number_of(text) is not None and not re.search(rb"[nN_]", text)


def _shown(text: bytes) -> str:
    """Some bytes of a file, not too many."""
    return repr(text[:32])[1:] + ("..." if len(text) > 32 else "")
