"""Tables as text, separated by commas or tabs.

pyarrow reads them where it is installed, some ten times faster than Python's own module, which
reads them elsewhere. What pyarrow refuses is read by that module, too, for it knows the lines:
so the numbers and the sentences are the same with pyarrow and without.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets._table_columns import (
    Columns,
    Layout,
    label_column,
    labels_of,
    text_number,
    without,
)
from kpegasos.utils.validation import shown

#: Fields that stand for a missing value.
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
#: Rows that are written at a time.
_ROWS = 4096


class _Text(NamedTuple):
    """The text of a table, what it is called, and how it is to be read."""

    place: str
    content: bytes
    delimiter: str
    layout: Layout


def read_text(place: str, content: bytes, delimiter: str, layout: Layout) -> Columns:
    """Read a table.

    Parameters
    ----------
    place : str
        Name of the file, for errors.
    content : bytes
    delimiter : str
    layout : Layout

    Raises
    ------
    ValueError
        Naming file, line and column.
    """
    text = _Text(place, content, delimiter, layout)
    line, first = next(_lines(text), (0, []))
    if not first:
        raise ValueError(f"{place}: a table must have rows, got an empty file")
    names = first if _has_header(layout.header, first) else None
    label = label_column(place, layout.label, names, len(first))
    read = _read_quickly(text, len(first), label, 0 if names is None else line)
    X, y = read or _read_slowly(text, len(first), label, names)
    if X.shape[0] == 0:
        raise ValueError(f"{place}: a table must have rows, got its header alone")
    label_name = None if names is None or label is None else names[label]
    return Columns(X, y, without(names, label), label_name)


def _has_header(said: bool | None, first: Sequence[str]) -> bool:
    """Whether the first line holds names: none of its fields is a number or missing."""
    if said is not None:
        return said
    return not any(field in MISSING[1:] or text_number(field) is not None for field in first)


def _lines(text: _Text) -> Iterator[tuple[int, list[str]]]:
    """Fields of the lines that are not empty, each with the number of its line."""
    file = io.TextIOWrapper(io.BytesIO(text.content), "utf-8", newline="")
    reader = csv.reader(file, delimiter=text.delimiter)
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        what = f"fields must be shorter than {csv.field_size_limit()} characters"
        fault = what if "limit" in str(error) else f"fields must be quoted as in CSV: {error}"
        raise ValueError(f"{text.place}, line {reader.line_num}: {fault}") from None
    except UnicodeDecodeError:
        raise ValueError(_not_utf_8(text)) from None


def _not_utf_8(text: _Text) -> str:
    try:
        text.content.decode()
    except UnicodeDecodeError as error:
        line = text.content.count(b"\n", 0, error.start) + 1
        byte = text.content[error.start : error.start + 1]
        return f"{text.place}, line {line}: text must be in UTF-8, got the byte {byte!r}"
    raise AssertionError(text.place)


# --- with pyarrow ---


def _read_quickly(
    text: _Text, n_columns: int, label: int | None, n_lines: int
) -> tuple[NDArray[np.float64], NDArray[Any] | None] | None:
    """Read what follows some lines by pyarrow; None if it is not there, or refuses anything."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    names = [str(column) for column in range(n_columns)]
    kinds = {name: pa.float64() for name in names}
    if label is not None:
        kinds[names[label]] = pa.string()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text.content),
            arrow_csv.ReadOptions(column_names=names, skip_rows=n_lines),
            arrow_csv.ParseOptions(
                delimiter=text.delimiter, newlines_in_values=b'"' in text.content
            ),
            arrow_csv.ConvertOptions(column_types=kinds, null_values=MISSING),
        )
    except pa.ArrowInvalid:
        return None
    X = np.empty((table.num_rows, n_columns - (label is not None)))
    for place, column in enumerate(at for at in range(n_columns) if at != label):
        X[:, place] = table.column(column).to_numpy()
    if np.isinf(X).any():
        return None
    if label is None:
        return X, None
    words = table.column(label).combine_chunks().dictionary_encode()
    different = words.dictionary.to_pylist()
    if "" in different:
        return None
    return X, labels_of(different)[words.indices.to_numpy()]


# --- with Python's own module ---


def _read_slowly(
    text: _Text, n_columns: int, label: int | None, names: Sequence[str] | None
) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """Read numbers and labels, and say which line is wrong."""
    numbers: list[list[float]] = []
    words: list[str] = []
    lines = _lines(text)
    if names is not None:
        next(lines)
    for line, fields in lines:
        if len(fields) != n_columns:
            raise ValueError(
                f"{text.place}, line {line}: a line must have {n_columns} fields, as the first, "
                f"got {len(fields)}"
            )
        if label is not None:
            words.append(fields.pop(label))
            if not words[-1]:
                raise ValueError(f"{text.place}, line {line}: the label must be given, got none")
        row = [_number(field) for field in fields]
        if None in row:
            column = row.index(None)
            called = str(column + (label is not None and column >= label) + 1)
            if names is not None:
                called = shown((without(names, label) or ())[column])
            raise ValueError(
                f"{text.place}, line {line}, column {called}: values must be finite numbers, or "
                f"missing, got {shown(fields[column])}{_hint(text, label)}"
            )
        numbers.append(row)  # type: ignore[arg-type]  # None is not in it
    X = np.array(numbers, np.float64).reshape(len(numbers), n_columns - (label is not None))
    return X, None if label is None else labels_of(words)


def _hint(text: _Text, label: int | None) -> str:
    """How a column is told to hold labels, if none was found."""
    unnamed = label is None and text.layout.label == "auto"
    return "; a column of labels must be named by label" if unnamed else ""


def _number(field: str) -> float | None:
    """A number, NaN if it is missing, None if the field is something else."""
    if field in MISSING or (field := field.strip()) in MISSING:
        return np.nan
    number = text_number(field)
    return None if number is None or np.isinf(number) else number


# --- writing ---


def text_parts(
    X: Any, y: NDArray[Any] | None, names: Sequence[str], delimiter: str
) -> Iterator[bytes]:
    """Lines of a table, some rows at a time: names, then numbers that are read back as they were.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
        Goes into the last column.
    names : sequence of str
        Of all columns.
    delimiter : str
    """
    yield _line(map(_quoted, names), delimiter)
    for first in range(0, X.shape[0], _ROWS):
        rows = X[first : first + _ROWS]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        fields = [[_word(number) for number in row] for row in rows.tolist()]
        if y is not None:
            for row, label in zip(fields, y[first : first + _ROWS].tolist(), strict=True):
                row.append(_quoted(label) if isinstance(label, str) else _word(label))
        yield b"".join(_line(row, delimiter) for row in fields)


def _word(number: float) -> str:
    return "" if number != number else repr(number).removesuffix(".0")


def _quoted(text: str) -> str:
    # Python's own writer leaves a carriage return bare, which ends a line.
    if text and not set(text) & set('",\t\r\n'):
        return text
    return '"{}"'.format(text.replace('"', '""'))


def _line(fields: Iterable[str], delimiter: str) -> bytes:
    line = delimiter.join(fields)
    return ((line or '""') + "\n").encode()  # an empty line would be none
