"""Tables that pandas reads and writes: text, Parquet and Arrow; the extra ``tables``.

Also what all files with columns have in common: which column holds the labels, and what labels are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets._files import number_of
from kpegasos.datasets._svmlight_reader import as_labels
from kpegasos.utils.validation import is_number, shown, told_of

#: Names of a column that holds labels if nobody says which one does, in letters of either case.
LABELS = ("label", "target", "class", "y")


class Columns(NamedTuple):
    """What was read of a file.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    feature_names : tuple of str or None
    label_name : str or None
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    label_name: str | None = None


class Layout(NamedTuple):
    """What the caller says of a file.

    Attributes
    ----------
    label : str, int or None
        See `read_table`.
    header : bool or None
        Whether text begins with a line of names; None to look.
    """

    label: str | int | None
    header: bool | None


def checked_label(label: Any) -> str | int | None:
    """Return what says where the labels are, or raise a ValueError."""
    if label is None or isinstance(label, str):
        return label
    if is_number(label, int):
        return int(label)
    raise ValueError(
        f"label must be the name or number of a column, 'first', 'last', 'auto' or None, "
        f"got {shown(label)} instead"
    )


def label_column(
    place: str, label: str | int | None, names: Sequence[str] | None, n_columns: int
) -> int | None:
    """Which column holds the labels; None if none does.

    Raises
    ------
    ValueError
        If the file has no such column, or names repeat, or it has no other column.
    """
    if names is not None and len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"{place}: names of columns must differ, got {shown(twice)} twice")
    found = _found(place, label, names, n_columns)
    if n_columns - (found is not None) < 1:
        raise ValueError(f"{place}: there must be a column of features, got labels alone")
    return found


def _found(
    place: str, label: str | int | None, names: Sequence[str] | None, n_columns: int
) -> int | None:
    if label is None:
        return None
    if label == "auto":
        likely = [at for at, name in enumerate(names or ()) if is_label_name(name)]
        if len(likely) > 1:
            of_them = ", ".join(shown(names[at]) for at in likely) if names else ""
            raise ValueError(
                f"{place}: label must say which column holds them, as any may: {of_them}"
            )
        return likely[0] if likely else None
    if names is not None and label in names:
        return list(names).index(str(label))
    at = {"first": 0, "last": n_columns - 1}.get(label, label) if isinstance(label, str) else label
    if isinstance(at, str) or not -n_columns <= at < n_columns:
        raise ValueError(
            f"label must be the name or number of one of the {n_columns} columns of {place}, "
            f"got {shown(label)} instead"
        )
    return at % n_columns


def is_label_name(name: str) -> bool:
    """Whether a column of that name holds labels if nobody says which one does."""
    return name.strip().lower() in LABELS


def labels_of(words: Sequence[str]) -> NDArray[Any]:
    """Labels of some texts: numbers if all are finite numbers, else the texts."""
    numbers = [text_number(word) for word in words]
    if all(number is not None and np.isfinite(number) for number in numbers):
        return as_labels(np.array(numbers, np.float64))
    return np.array(words, str)


def text_number(word: str) -> float | None:
    """The number that a text is, without underscores between its digits; None if it is none."""
    if "_" in word or not word.isascii():
        return None
    return number_of(word.encode())


def without(names: Sequence[str] | None, column: int | None) -> tuple[str, ...] | None:
    """Names of all columns but one."""
    if names is None:
        return None
    return tuple(name for at, name in enumerate(names) if at != column)


def default_names(n_features: int) -> list[str]:
    """Names of features that have none, as scikit-learn makes them."""
    return [f"x{column}" for column in range(n_features)]


#: Fields that stand for a missing value.
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
#: Rows that are written at a time.
_ROWS = 4096


def _pandas() -> Any:
    """pandas, or an ImportError that says how to install it."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "CSV, TSV, Parquet and Arrow files need pandas and pyarrow: "
            "pip install 'kpegasos[tables]'"
        ) from None
    return pandas


# --- text ---


class _Text(NamedTuple):
    """The text of a table, what it is called, and how it is to be read."""

    place: str
    content: bytes
    delimiter: str
    layout: Layout


def read_text(place: str, content: bytes, delimiter: str, layout: Layout) -> Columns:
    """Read a table whose columns are separated by commas or tabs.

    Parameters
    ----------
    place : str
        Name of the file, for errors.
    content : bytes
    delimiter : str
    layout : Layout

    Raises
    ------
    ImportError
        Without pandas.
    ValueError
        Naming file, line and column.
    """
    pandas, text = _pandas(), _Text(place, content, delimiter, layout)
    _, first = next(_lines(text), (0, []))
    if not first:
        raise ValueError(f"{place}: a table must have rows, got an empty file")
    names = first if _has_header(layout.header, first) else None
    label = label_column(place, layout.label, names, len(first))
    features = [column for column in range(len(first)) if column != label]
    # Python's own numbers, which later versions always read.
    early = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    precision = {"float_precision": "round_trip"} if early else {}
    try:
        frame = pandas.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            header=None if names is None else 0,
            dtype=dict.fromkeys(features, np.float64) | ({} if label is None else {label: str}),
            na_values=dict.fromkeys(features, MISSING),
            keep_default_na=False,
            low_memory=False,
            **precision,
        )
    except (ValueError, OverflowError) as error:
        _tell_fault(text, len(first), label, names)
        raise told_of(error, f"{place} must be a table of numbers") from None
    whole = frame.shape[1] == len(first) and isinstance(frame.index, pandas.RangeIndex)
    frame.columns = range(frame.shape[1])
    if not whole or _is_doubtful(frame, features, label):
        _tell_fault(text, len(first), label, names)
    if frame.shape[0] == 0:
        raise ValueError(f"{place}: a table must have rows, got its header alone")
    X = frame[features].to_numpy(np.float64)
    if label is None:
        return Columns(X, None, without(names, label), None)
    codes, words = pandas.factorize(frame[label])
    return Columns(
        X, labels_of(words)[codes], without(names, label), names[label] if names else None
    )


def _is_doubtful(frame: Any, features: Sequence[int], label: int | None) -> bool:
    """Whether pandas may have made up what a line lacks, or read what is no finite number."""
    if np.isinf(frame[features].to_numpy()).any():
        return True
    if label is not None and (frame[label].isna() | (frame[label] == "")).any():
        return True
    return bool(frame.iloc[:, -1].isna().any())


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
        raise ValueError(f"{text.place}, line {reader.line_num}: {error}") from None
    except UnicodeDecodeError:  # its places are those of a buffer
        good = text.content.decode(errors="surrogateescape")
        at = next(at for at, letter in enumerate(good) if "\ud800" <= letter <= "\udfff")
        line, byte = good.count("\n", 0, at) + 1, good[at].encode(errors="surrogateescape")
        fault = f"line {line}: text must be in UTF-8, got the byte {byte!r}"
        raise ValueError(f"{text.place}, {fault}") from None


def _tell_fault(
    text: _Text, n_columns: int, label: int | None, names: Sequence[str] | None
) -> None:
    """Raise a ValueError for the first line that is wrong, if there is one."""
    for line, fields in list(_lines(text))[names is not None :]:
        place = f"{text.place}, line {line}"
        if len(fields) != n_columns:
            raise ValueError(
                f"{place}: a line must have {n_columns} fields, as the first, got {len(fields)}"
            )
        if label is not None and not fields[label]:
            raise ValueError(f"{place}: the label must be given, got none")
        for column, field in enumerate(fields):
            if column != label and not _is_number(field):
                called = shown(names[column]) if names else column + 1
                hint = "; a column of labels must be named by label"
                raise ValueError(
                    f"{place}, column {called}: values must be finite numbers, or missing, "
                    f"got {shown(field)}{hint * (label is None and text.layout.label == 'auto')}"
                )


def _is_number(field: str) -> bool:
    """Whether a field is a finite number or stands for a missing one."""
    number = np.nan if field in MISSING else text_number(field)
    return number is not None and not np.isinf(number)


# --- Parquet and Arrow ---


def read_arrow(place: str, source: Any, kind: str, layout: Layout) -> Columns:
    """Read a Parquet or Arrow file.

    Parameters
    ----------
    place : str
        Name of the file, for errors.
    source : path or binary file
    kind : {"parquet", "arrow"}
    layout : Layout

    Raises
    ------
    ImportError
        Without pandas and pyarrow.
    ValueError
        Naming the file, if it is no such file; naming column and row, if a value is no number.
    """
    pandas = _pandas()
    from pyarrow import ArrowException, BufferReader, feather, parquet

    content = BufferReader(source.read()) if hasattr(source, "read") else str(source)
    try:
        table = (parquet if kind == "parquet" else feather).read_table(content, memory_map=True)
        table.validate(full=True)  # offsets of damaged files would be followed anywhere
        frame = table.to_pandas(ignore_metadata=True)
    except (ArrowException, OSError, ValueError) as error:
        what = {"parquet": "a Parquet file", "arrow": "an Arrow or Feather file"}[kind]
        raise told_of(error, f"{place} must be {what}") from None
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"{place}: a table must have rows and columns, got an empty one")
    names = table.column_names
    label = label_column(place, layout.label, names, len(names))
    features = without(names, label) or ()
    for name in features:
        _check_numbers(pandas, place, frame[name])
    single = all(frame[name].dtype == np.float32 for name in features)
    X = frame[list(features)].to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    if label is None:
        return Columns(X, None, features, None)
    y = frame[names[label]]
    if y.isna().any():
        row = int(y.isna().argmax()) + 1
        raise ValueError(
            f"{place}, column {shown(names[label])}, row {row}: the label must be given, got none"
        )
    if not all(isinstance(value, str) for value in y.unique()):
        _check_numbers(pandas, place, y)
        return Columns(X, y.to_numpy(), features, names[label])
    return Columns(X, y.to_numpy(str), features, names[label])


def _check_numbers(pandas: Any, place: str, column: Any) -> None:
    """Raise a ValueError unless all values of a column are numbers or missing."""
    if pandas.api.types.is_numeric_dtype(column) or column.isna().all():
        return
    row = int(column.notna().argmax())
    raise ValueError(
        f"{place}, column {shown(column.name)}, row {row + 1}: values must be numbers, or "
        f"missing, got {shown(column.iloc[row])} of type {column.dtype}"
    )


# --- writing ---


def _frame(X: Any, y: NDArray[Any] | None, names: Sequence[str]) -> Any:
    """A data frame of rows, and of labels in its last column."""
    frame = _pandas().DataFrame(X.toarray() if sparse.issparse(X) else X)
    if y is not None:
        frame[frame.shape[1]] = y
    frame.columns = list(names)
    return frame


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
    texts = [*names, *([] if y is None or y.dtype.kind != "U" else y.tolist())]
    # Python's writer leaves a carriage return bare, which ends a line.
    bare = any("\r" in text for text in texts)
    for first in range(0, X.shape[0], _ROWS):
        part = slice(first, first + _ROWS)
        frame = _frame(X[part].astype(np.float64), None if y is None else y[part], names)
        yield frame.to_csv(
            sep=delimiter,
            index=False,
            header=first == 0,
            lineterminator="\n",
            float_format=lambda number: float.__repr__(number).removesuffix(".0"),
            quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL,
        ).encode()


def write_arrow(
    file: BinaryIO, kind: str, X: Any, y: NDArray[Any] | None, names: Sequence[str]
) -> None:
    """Write columns as a Parquet or Arrow file.

    Parameters
    ----------
    file : binary file
    kind : {"parquet", "arrow"}
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
        Goes into the last column.
    names : sequence of str
        Of all columns.
    """
    frame = _frame(X, y, names)
    if kind == "parquet":
        frame.to_parquet(file, index=False)
    else:
        frame.to_feather(file)
