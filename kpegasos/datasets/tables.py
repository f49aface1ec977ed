"""Rows and labels in files of several formats, each told by its name or its first bytes.

pandas reads and writes text, Parquet and Arrow (the extra ``tables``), NumPy its own files.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets import svmlight
from kpegasos.datasets._svmlight_reader import as_labels, assembled, read_rows
from kpegasos.datasets.files import is_compressed, number_of, opened, packed, read_arrays
from kpegasos.utils.files import checked_path, is_stream, opened_whole, write_whole
from kpegasos.utils.validation import (
    as_choice,
    as_flag,
    canonical_rows,
    is_number,
    optional,
    refuse_masked,
    refuse_times,
    shown,
    told_of,
)

#: Formats, and the endings of their names.
FORMATS: dict[str, tuple[str, ...]] = {
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "npz": (".npz",),
    "npy": (".npy",),
    "parquet": (".parquet",),
    "arrow": (".arrow", ".feather"),
}
_DELIMITERS = {"csv": ",", "tsv": "\t"}
#: How files begin whose names do not tell.
_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
}
#: Bytes that are looked at.
_HEAD = 2**16
#: A word that follows a label.
_ENTRY = re.compile(rb"(qid|\+?[0-9]+):[^,]")
#: Names of a column that holds labels if nobody says which one does, in letters of either case.
_LABELS = ("label", "target", "class", "y")
#: Fields that stand for a missing value.
_MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
#: Lines that tell what separates columns, and the first number in a field with a decimal mark.
_LOOKED_AT = 8
_DECIMAL = re.compile(
    rb'(?:^|;)[ \t]*"?[+-]?[0-9]*([.,])[0-9]+(?:[eE][+-]?[0-9]+)?"?[ \t\r]*(?=;|$)', re.MULTILINE
)
#: Rows of text that are written at a time.
_ROWS = 4096
#: Arrays of CSR rows, by SciPy's names.
_OF_CSR = ("data", "indices", "indptr", "shape")


class Table(NamedTuple):
    """The result of `read_table`.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float32 or float64
        Features, NaN where a value is missing.
    y : ndarray of shape (n_samples,) or None
        Labels: integers where all are whole, else float64, or texts; None if the file has none.
    feature_names : tuple of str or None
        Names of the features, as far as the file has them.
    label_name : str or None
        Name of the column of labels, if it has one.
    format : str
        Format of the file.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    label_name: str | None
    format: str


def read_table(
    path: str | PathLike[str] | BinaryIO,
    *,
    format: str | None = None,
    label: str | int | None = "auto",
    header: bool | None = None,
    n_features: int | None = None,
    dtype: Any = None,
) -> Table:
    """Read rows and labels from a file: SVMLight, CSV, NPZ, NPY, Parquet or Arrow.

    Parameters
    ----------
    path : path-like or binary file
        Text (SVMLight, CSV, TSV) may be compressed, if the name ends in ``.gz``, ``.bz2`` or
        ``.xz``. NPY files are mapped into memory, not read. A pipe, such as ``/dev/stdin``, is read
        to its end.
    format : {"svmlight", "csv", "tsv", "npz", "npy", "parquet", "arrow"}, default=None
        If None, by the ending of the name (``.svm``, ``.svmlight``, ``.libsvm``, ``.csv``,
        ``.tsv``, ``.npz``, ``.npy``, ``.parquet``, ``.arrow``, ``.feather``); for any other by the
        first bytes, where text is SVMLight if a line has a word ``column:value``, else CSV, with
        tabs if its first line has tabs and no comma. An open file needs it.
    label : str, int or None, default="auto"
        Where the labels are. A name or a number, counted from 0 or from the end, is that of a
        column; ``"first"`` and ``"last"`` are positions, unless a column is called so. With
        ``"auto"`` it is the column called label, target, class or y, in letters of either case;
        without such a column there are no labels. None: no column. SVMLight files have labels in
        front, NPZ files in the array y, so there it may only be ``"auto"`` or None.
    header : bool, default=None
        Whether text begins with a line of names. If None, it does if none of the fields of its
        first line is a number or stands for a missing value.
    n_features : int, default=None
        Number of columns of X: of an SVMLight file, whose largest column it is if None. Of all
        others it is checked.
    dtype : {numpy.float32, numpy.float64}, default=None
        Type of the entries of X; if None, float32 where the file has it, else float64.

    Returns
    -------
    Table
        X, y, feature_names, label_name and format. In text, an empty field, ``?``, ``NA``, ``N/A``,
        ``NaN`` and ``null`` stand for a missing value, which is NaN in X. Values are those of the
        nearest float64, then of ``dtype``.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ImportError
        Of a CSV, TSV, Parquet or Arrow file, without pandas and pyarrow (extra ``tables``).
    ValueError
        Naming the file, and line and column where there is one: if it has another format, no
        rows, rows of several lengths, a name of columns twice, text that is not UTF-8, a feature
        that is no number, infinite in text, or beyond ``dtype``, or a row without its label; if a
        parameter is none of its kind, or there is no such column.
    """
    place, source = _opened_or_path(path, format)
    format = optional(as_choice, "format", format, choices=FORMATS)
    label, header = _checked_label(label), optional(as_flag, "header", header)
    wanted = svmlight.checked_form(n_features, np.float64 if dtype is None else dtype)
    format = format or _format_of(place, source)
    if format == "svmlight":
        return _svmlight_table(place, source, label, wanted)
    if format in _DELIMITERS:
        with opened(source) as file:
            table = _read_text(place, file.read(), format, label, header)
    else:
        if isinstance(source, Path):
            source.open("rb").close()  # Python's own error if that cannot be done
        read = {"npy": _read_npy, "npz": _read_npz}.get(format) or _read_arrow
        table = read(place, source, format, label)
    X = canonical_rows(table.X) if dtype is None else _as(place, table.X, wanted.dtype)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"n_features must be {X.shape[1]}, as in {place}, got {n_features}")
    if X.shape[0] == 0:
        raise ValueError(f"{place}: a table must have rows, got none")
    return table._replace(X=X, y=table.y if table.y is None else _as_given(table.y))


def _opened_or_path(path: Any, format: Any) -> tuple[str, Path | bytes]:
    """Return the name of a file, and its path or, of a pipe and an open file, its content."""
    if not callable(getattr(path, "read", None)):
        place = checked_path(path)
        if not is_stream(place):
            return str(place), place
        with opened(place) as file:
            return str(place), file.read()
    if path.read(0) != b"":
        raise TypeError(f"path must be the path of a file, or a binary file, got {shown(path)}")
    if format is None:
        raise ValueError(
            f"format must be given for an open file, one of {tuple(FORMATS)}, got None"
        )
    return str(getattr(path, "name", "<file>")), path.read()


def format_by_name(path: Path) -> str | None:
    """Format that the name of a file says, compressed or not; None if it says none."""
    suffix = Path(path.stem).suffix if is_compressed(path) else path.suffix
    return next((each for each, endings in FORMATS.items() if suffix.lower() in endings), None)


def _format_of(place: str, source: Path | bytes) -> str:
    """Format of a file by its name, or by how it begins."""
    if (named := format_by_name(Path(place))) is not None:
        return named
    with opened(source) as file:
        head = file.read(_HEAD)
    for beginning, format in _BEGINNINGS.items():
        if head.startswith(beginning):
            return format
    rows = (line.partition(b"#")[0].split() for line in head.splitlines())
    if any(len(words) > 1 and _ENTRY.match(words[1]) for words in rows):
        return "svmlight"
    first = head.lstrip().partition(b"\n")[0]
    return "tsv" if b"\t" in first and b"," not in first else "csv"


def _svmlight_table(place: str, source: Any, label: Any, wanted: Any) -> Table:
    if label not in ("auto", None):
        raise ValueError(
            f"label must be 'auto' or None for {place}, an SVMLight file, "
            f"got {shown(label)} instead"
        )
    with opened(source) as file:
        X, y = assembled(read_rows(place, file, wanted), wanted)
    if not y.size:
        raise ValueError(f"{place}: a table must have rows, got none")
    return Table(X, None if label is None else y, None, None, "svmlight")


def _as(place: str, X: Any, dtype: Any) -> Any:
    """Return rows of a type."""
    X = canonical_rows(X)
    with np.errstate(over="ignore"):
        narrow = X.astype(dtype, copy=False)
    values, before = (each.data if sparse.issparse(X) else each for each in (narrow, X))
    if narrow.dtype != X.dtype and np.isinf(values[np.isfinite(before)]).any():
        raise ValueError(f"{place}: values must be finite in {narrow.dtype}, got larger ones")
    return narrow


def _as_given(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels, as integers where all are whole."""
    if y.dtype.kind in "ub":
        return y.astype(np.int64)
    return as_labels(y.astype(np.float64)) if y.dtype.kind == "f" else y


# --- columns ---


def _checked_label(label: Any) -> str | int | None:
    """Return what says where the labels are, or raise a ValueError."""
    if label is None or isinstance(label, str):
        return label
    if is_number(label, int):
        return int(label)
    raise ValueError(
        f"label must be the name or number of a column, 'first', 'last', 'auto' or None, "
        f"got {shown(label)} instead"
    )


def _label_column(
    place: str, label: str | int | None, names: Sequence[str] | None, n_columns: int
) -> int | None:
    """Find the column that holds the labels; None if none does.

    Raises
    ------
    ValueError
        If the file has no such column, or names repeat, or it has no other column.
    """
    known = list(names or ())
    if len(set(known)) < len(known):
        twice = next(name for at, name in enumerate(known) if name in known[:at])
        raise ValueError(f"{place}: names of columns must differ, got {shown(twice)} twice")
    found: Any = None
    if label == "auto":
        likely = [at for at, name in enumerate(known) if _is_label_name(name)]
        if len(likely) > 1:
            of_them = ", ".join(shown(known[at]) for at in likely)
            raise ValueError(
                f"{place}: label must say which column holds them, as any may: {of_them}"
            )
        found = likely[0] if likely else None
    elif label in known:
        found = known.index(str(label))
    elif label is not None:
        found = {"first": 0, "last": n_columns - 1}.get(str(label), label)
        if isinstance(found, str) or not -n_columns <= found < n_columns:
            raise ValueError(
                f"label must be the name or number of one of the {n_columns} columns of {place}, "
                f"got {shown(label)} instead"
            )
        found %= n_columns
    if n_columns - (found is not None) < 1:
        raise ValueError(f"{place}: there must be a column of features, got labels alone")
    return None if found is None else int(found)


def _is_label_name(name: str) -> bool:
    """Tell whether a column of that name holds labels if nobody says which one does."""
    return name.strip().lower() in _LABELS


def _text_number(word: str) -> float | None:
    """Return the number that a text is, without underscores between its digits, or None."""
    return None if "_" in word or not word.isascii() else number_of(word.encode())


def _without(names: Sequence[str] | None, column: int | None) -> tuple[str, ...] | None:
    """Return names of all columns but one."""
    if names is None:
        return None
    return tuple(name for at, name in enumerate(names) if at != column)


# --- text, Parquet and Arrow ---


def _pandas() -> Any:
    """Import pandas, or raise an ImportError that says how to install it."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "CSV, TSV, Parquet and Arrow files need pandas and pyarrow: "
            "pip install 'kpegasos[tables]'"
        ) from None
    return pandas


def _read_text(
    place: str, content: bytes, format: str, label: str | int | None, header: bool | None
) -> Table:
    """Read a table whose columns are separated by commas, semicolons or tabs.

    pandas tells neither a short line nor the line of a fault, so that Python's own reader looks for
    what is wrong where something is, or may be.
    """
    pandas, (delimiter, decimal) = _pandas(), separators(content, format)
    first = next(_lines(place, content, delimiter, decimal), ("", []))[1]
    if not first:
        raise ValueError(f"{place}: a table must have rows, got an empty file")
    if header is None:  # none of the fields of names is a number or missing
        header = not any(
            field in _MISSING[1:] or _text_number(field) is not None for field in first
        )
    names = first if header else None
    column = _label_column(place, label, names, len(first))
    features = [each for each in range(len(first)) if each != column]

    def tell_fault() -> None:
        hint = "; a column of labels must be named by label"
        rows = islice(_lines(place, content, delimiter, decimal), int(header or False), None)
        _tell_fault(rows, len(first), column, names, hint * (label == "auto" and column is None))

    # Python's own numbers, which later versions always read.
    early = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    try:
        frame = pandas.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            decimal=decimal,
            header=0 if header else None,
            dtype=dict.fromkeys(features, np.float64) | ({} if column is None else {column: str}),
            na_values=dict.fromkeys(features, _MISSING),
            keep_default_na=False,
            low_memory=False,
            **({"float_precision": "round_trip"} if early else {}),
        )
    except (ValueError, OverflowError) as error:
        tell_fault()
        raise told_of(error, f"{place} must be a table of numbers") from None
    whole = frame.shape[1] == len(first) and isinstance(frame.index, pandas.RangeIndex)
    if not whole:
        tell_fault()
    frame.columns = range(frame.shape[1])
    X = frame[features].to_numpy(np.float64)
    # What a line lacks at its end is made up.
    doubtful = np.isinf(X).any() or frame.iloc[:, -1].isna().any()
    if column is not None:
        doubtful = doubtful or (frame[column].isna() | (frame[column] == "")).any()
    if doubtful:
        tell_fault()
    if frame.shape[0] == 0:
        raise ValueError(f"{place}: a table must have rows, got its header alone")
    if column is None:
        return Table(X, None, _without(names, None), None, format)
    codes, words = pandas.factorize(frame[column])
    labels = _text_labels(place, codes, words, decimal)
    called = names[column] if names else None
    return Table(X, labels, _without(names, column), called, format)


def separators(content: bytes, format: str) -> tuple[str, str]:
    """Find what separates the columns of a text table, and the digits of its numbers.

    Parameters
    ----------
    content : bytes
        The text, or its beginning.
    format : {"csv", "tsv"}

    Returns
    -------
    tuple of (str, str)
        A CSV file has commas or semicolons, whichever give its first lines the same number of
        fields, or else more fields that are numbers, with decimal commas too. Beside semicolons
        the first number with a decimal mark tells which it is.
    """
    delimiter = _DELIMITERS[format]
    head = content[:_HEAD]
    if len(head) < len(content) and b"\n" in head:
        head = head[: head.rindex(b"\n")]  # whole lines
    text = head.decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()][:_LOOKED_AT]
    widths = {mark: len(next(csv.reader(lines, delimiter=mark), [])) for mark in ",;"}
    if format == "tsv" or widths[";"] < 2:
        return delimiter, "."
    if widths[","] > 1 and _fit(lines, ";") < _fit(lines, ","):
        return delimiter, "."
    mark = _DECIMAL.search(content)
    return ";", "." if mark is None else mark[1].decode()


def _fit(lines: list[str], delimiter: str) -> tuple[bool, float]:
    """Tell whether all lines have as many fields, and the share of these that are numbers."""
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    numbers = [field in _MISSING or _is_number(field) for row in rows for field in row]
    return len({len(row) for row in rows}) == 1, float(np.mean(numbers))


def _is_number(field: str) -> bool:
    """Tell whether a field is a number, with a point or a comma."""
    return _text_number(field.replace(",", ".", 1)) is not None


def _text_labels(
    place: str, codes: NDArray[Any], words: NDArray[Any], decimal: str
) -> NDArray[Any]:
    """Return labels as numbers if all are finite numbers, else as texts.

    Raises
    ------
    ValueError
        If one is missing among numbers.
    """
    missing = [word for word in words if word in _MISSING]
    numbers = [_text_number(word.replace(decimal, ".")) for word in words if word not in _MISSING]
    if not numbers or None in numbers:
        return np.array(words, str)[codes]
    if missing:
        raise ValueError(f"{place}: each label must be given, got {shown(missing[0])}")
    found = np.array(numbers, np.float64)
    return (as_labels(found) if np.isfinite(found).all() else np.array(words, str))[codes]


def _lines(
    place: str, content: bytes, delimiter: str, decimal: str
) -> Iterator[tuple[str, list[str]]]:
    """Give fields of the lines that are not empty, each with its place; numbers with a point."""
    file = io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")
    reader = csv.reader(file, delimiter=delimiter)
    try:
        for fields in reader:
            if fields:
                if decimal == ",":
                    pointed = ((field, field.replace(",", ".")) for field in fields)
                    fields = [field if _text_number(new) is None else new for field, new in pointed]
                yield f"{place}, line {reader.line_num}", fields
    except csv.Error as error:
        raise ValueError(f"{place}, line {reader.line_num}: {error}") from None
    except UnicodeDecodeError:  # its places are those of a buffer
        good = content.decode(errors="surrogateescape")
        at = next(at for at, letter in enumerate(good) if "\ud800" <= letter <= "\udfff")
        line, byte = good.count("\n", 0, at) + 1, good[at].encode(errors="surrogateescape")
        fault = f"line {line}: text must be in UTF-8, got the byte {byte!r}"
        raise ValueError(f"{place}, {fault}") from None


def _tell_fault(
    rows: Iterable[tuple[str, list[str]]],
    n_columns: int,
    column: int | None,
    names: Sequence[str] | None,
    hint: str,
) -> None:
    """Raise a ValueError for the first line that is wrong, if there is one.

    Parameters
    ----------
    rows : iterable of (str, list of str)
        Place and fields of the lines, that of names left out.
    n_columns : int
    column : int or None
        That of the labels.
    names : sequence of str or None
    hint : str
        What may help if a feature is no number.
    """
    for place, fields in rows:
        if len(fields) != n_columns:
            raise ValueError(
                f"{place}: a line must have {n_columns} fields, as the first, got {len(fields)}"
            )
        if column is not None and not fields[column]:
            raise ValueError(f"{place}: the label must be given, got none")
        for at, field in enumerate(fields):
            number = np.nan if field in _MISSING else _text_number(field)
            if at != column and (number is None or np.isinf(number)):
                called = shown(names[at]) if names else at + 1
                raise ValueError(
                    f"{place}, column {called}: values must be finite numbers, or missing, "
                    f"got {shown(field)}{hint}"
                )


def _read_arrow(place: str, source: Any, kind: str, label: str | int | None) -> Table:
    """Read a Parquet or Arrow file.

    Raises
    ------
    ImportError
        Without pandas and pyarrow.
    ValueError
        Naming the file, if it is no such file; naming column and row, if a value is no number.
    """
    pandas = _pandas()
    from pyarrow import ArrowException, BufferReader, feather, parquet

    content = BufferReader(source) if isinstance(source, bytes) else str(source)
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
    column = _label_column(place, label, names, len(names))
    features = _without(names, column) or ()
    for name in features:
        _check_numbers(pandas, place, frame[name])
    single = all(frame[name].dtype == np.float32 for name in features)
    X = frame[list(features)].to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    if column is None:
        return Table(X, None, features, None, kind)
    y = frame[names[column]]
    if y.isna().any():
        row = int(y.isna().argmax()) + 1
        raise ValueError(
            f"{place}, column {shown(names[column])}, row {row}: the label must be given, got none"
        )
    texts = all(isinstance(value, str) for value in y.unique())
    if not texts:
        _check_numbers(pandas, place, y)
    return Table(X, y.to_numpy(str if texts else None), features, names[column], kind)


def _check_numbers(pandas: Any, place: str, column: Any) -> None:
    """Raise a ValueError unless all values of a column are numbers or missing."""
    if pandas.api.types.is_numeric_dtype(column) or column.isna().all():
        return
    row = int(column.notna().argmax())
    raise ValueError(
        f"{place}, column {shown(column.name)}, row {row + 1}: values must be numbers, or "
        f"missing, got {shown(column.iloc[row])} of type {column.dtype}"
    )


# --- NumPy's files ---


def _read_npy(place: str, source: Any, format: str, label: str | int | None) -> Table:
    """Read an array of two dimensions, mapped into memory if it has a path.

    Raises
    ------
    ValueError
        Naming the file, if it holds something else.
    """
    array: NDArray[Any]
    try:
        if isinstance(source, bytes):
            array = np.lib.format.read_array(io.BytesIO(source), allow_pickle=False)
        else:
            array = np.lib.format.open_memmap(source, mode="r")
    except Exception:  # damaged headers raise whatever comes of their nonsense
        raise ValueError(f"{place} must be a whole .npy file of numbers, got another") from None
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        raise ValueError(
            f"{place} must hold numbers of shape (n_samples, n_columns), "
            f"got {array.dtype} of shape {array.shape}"
        )
    column = _label_column(place, label, None, array.shape[1])
    if column is None:
        return Table(array, None, None, None, format)
    # Mapped rows stay so if the labels are at an end.
    X = {0: array[:, 1:], array.shape[1] - 1: array[:, :-1]}.get(column)
    X = np.delete(array, column, axis=1) if X is None else X
    return Table(X, np.array(array[:, column]), None, None, format)


def _read_npz(place: str, source: Any, format: str, label: str | int | None) -> Table:
    """Read the arrays X, or those of CSR rows, y and feature_names, as far as they are there.

    Raises
    ------
    ValueError
        Naming the file, if it does not hold them.
    """
    if label not in ("auto", "y", None):
        raise ValueError(
            f"label must be 'auto', 'y' or None for {place}, an NPZ file, "
            f"got {shown(label)} instead"
        )
    arrays = read_arrays(place, source, _wanted_arrays)
    X = arrays["X"] if "X" in arrays else _csr(place, arrays)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"X in {place} must be numbers of shape (n_samples, n_features), "
            f"got {X.dtype} of shape {X.shape}"
        )
    names = arrays.get("feature_names")
    if names is not None and (names.dtype.kind != "U" or names.shape != X.shape[1:]):
        raise ValueError(
            f"feature_names in {place} must be {X.shape[1]} texts, "
            f"got {names.dtype} of shape {names.shape}"
        )
    y = None if label is None else arrays.get("y")
    if y is None and label == "y":
        raise ValueError(f"label must be that of an array in {place}, got 'y', and there is none")
    if y is not None and (y.dtype.kind not in "biufU" or y.shape != X.shape[:1]):
        raise ValueError(
            f"y in {place} must have one label for each of {X.shape[0]} rows, "
            f"got {y.dtype} of shape {y.shape}"
        )
    known = None if names is None else tuple(names.tolist())
    return Table(X, y, known, None if y is None else "y", format)


def _wanted_arrays(there: Collection[str]) -> list[str]:
    """Choose what is read of the arrays of a file."""
    rows = _OF_CSR if "data" in there else ("X",)
    return [*rows, *(name for name in ("y", "feature_names", "format") if name in there)]


def _csr(place: str, arrays: dict[str, NDArray[Any]]) -> sparse.csr_matrix:
    """Make CSR rows of their arrays."""
    kind = str(arrays["format"].astype(str)) if "format" in arrays else "csr"
    if kind != "csr":
        raise ValueError(f"{place} must hold sparse rows in CSR form, got {shown(kind)}")
    data, indices, indptr, shape = (arrays[name] for name in _OF_CSR)
    if any(array.dtype.kind not in "iu" for array in (indices, indptr, shape)):
        raise ValueError(
            f"{place} must hold the arrays of CSR rows, got indices that are not whole"
        )
    try:
        return canonical_rows(
            sparse.csr_matrix((data, indices, indptr), shape=tuple(shape.tolist()))
        )
    except (ValueError, TypeError, IndexError) as error:
        raise told_of(error, f"{place} must hold the arrays of CSR rows") from None


# --- writing ---


def write_table(
    path: str | PathLike[str],
    X: Any,
    y: Any = None,
    *,
    format: str | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write rows and labels to a file, whole or not at all; `read_table` reads them back exactly.

    But texts that are numbers come back as numbers, if they are all the labels of a text table.

    Parameters
    ----------
    path : path-like
        SVMLight, CSV and TSV files are compressed if the name ends in ``.gz``, ``.bz2`` or ``.xz``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features. NaN, which stands for a missing value, is in all formats but SVMLight; infinite
        values are in NPZ, NPY, Parquet and Arrow files alone. SVMLight and NPZ files keep sparse
        rows.
    y : array-like of shape (n_samples,), default=None
        Labels: finite numbers, or texts in all formats but SVMLight and NPY. Integers are below
        2**63 in NPZ, Parquet and Arrow files, else below 2**53. SVMLight files need labels. They
        are called ``label``; in an NPY file they are the last column.
    format : {"svmlight", "csv", "tsv", "npz", "npy", "parquet", "arrow"}, default=None
        By the ending of the name if None, as for `read_table`.
    feature_names : sequence of str, default=None
        Names of the columns; x0, x1 and so on if None. SVMLight and NPY files have none.
        Text with a name that is a number, or stands for a missing value, is to be read with
        ``header=True``.

    Raises
    ------
    OSError
        If the file cannot be written.
    ImportError
        Of a CSV, TSV, Parquet or Arrow file, without pandas and pyarrow (extra ``tables``).
    ValueError
        If the format is none or cannot hold the values, y does not have a label for each row,
        or names are not those of as many different columns.
    """
    place = checked_path(path)
    format = optional(as_choice, "format", format, choices=FORMATS) or format_by_name(place)
    if format is None:
        endings = tuple(each for of_format in FORMATS.values() for each in of_format)
        raise ValueError(
            f"format must be given unless path ends in one of {endings}, got {place.name}"
        )
    refuse_times("X", X)
    X, y = canonical_rows(X), _checked_labels(y, format)
    if y is not None and y.shape != X.shape[:1]:
        raise ValueError(f"y must have shape {X.shape[:1]}, as X has rows, got {y.shape} instead")
    # In text and Parquet a name alone tells which column holds the labels.
    by_name = y is not None and format not in ("svmlight", "npz", "npy")
    names = _checked_names(feature_names, X.shape[1], by_name)
    if format == "svmlight":
        svmlight.write_svmlight(place, X, y)
        return
    all_names = [
        *(names or (f"x{at}" for at in range(X.shape[1]))),
        *(["label"] if y is not None else []),
    ]
    if format in _DELIMITERS:
        if np.isinf(X.data if sparse.issparse(X) else X).any():
            raise ValueError(
                f"X must hold finite or missing values for {format}, got infinite ones"
            )
        write_whole(place, packed(place, _text_parts(X, y, all_names, _DELIMITERS[format])))
        return
    with opened_whole(place) as file:
        if format == "npy":
            dense = X.toarray() if sparse.issparse(X) else X
            array = dense if y is None else np.column_stack([dense, y])
            np.save(file, array, allow_pickle=False)
        elif format == "npz":
            np.savez(file, **_npz_arrays(X, y, names))
        elif format == "parquet":
            _frame(X, y, all_names).to_parquet(file, index=False)
        else:
            _frame(X, y, all_names).to_feather(file)


def _checked_labels(y: Any, format: str) -> NDArray[Any] | None:
    """Return labels that a format can hold, or raise a ValueError."""
    if y is None:
        if format == "svmlight":
            raise ValueError("y must be given for the format svmlight, got None")
        return None
    refuse_times("y", y)
    refuse_masked("y", y)
    try:
        labels = np.asarray(y)
    except ValueError:
        labels = np.empty(0, object)
    if labels.dtype.kind in "OT" and all(isinstance(label, str) for label in labels.flat):
        labels = labels.astype(str)
    if labels.dtype.kind == "U" and format not in ("svmlight", "npy"):
        _check_texts("y", labels.flat)
        if (labels == "").any():
            raise ValueError("y must hold texts that are not empty, got ''")
        return labels
    if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
        texts = "" if format in ("svmlight", "npy") else " or texts"
        raise ValueError(f"y must hold finite numbers{texts} for {format}, got {shown(y)} instead")
    if labels.dtype.kind in "iu" and labels.size:
        most = 2**63 if format in ("npz", "parquet", "arrow") else 2**53
        largest = max(-int(labels.min()), int(labels.max()))
        if largest >= most:
            raise ValueError(f"y must hold integers below {most} for {format}, got {largest}")
    return _as_given(labels)


def _checked_names(names: Any, n_features: int, has_labels: bool) -> tuple[str, ...] | None:
    if names is None:
        return None
    try:
        array = np.asarray(names, dtype=object)
    except ValueError:
        array = np.empty(0, object)
    texts = tuple(array) if array.ndim == 1 else ()
    good = all(isinstance(name, str) for name in texts) and len(set(texts)) == len(texts)
    if not good or len(texts) != n_features:
        raise ValueError(
            f"feature_names must be {n_features} different texts, one for each column of X, "
            f"got {shown(names)} instead"
        )
    if has_labels and any(_is_label_name(name) for name in texts):
        raise ValueError(
            "feature_names must not have what labels are called (label, target, class, y), "
            f"got {shown(names)}"
        )
    _check_texts("feature_names", texts)
    return tuple(str(name) for name in texts)


def _check_texts(name: str, texts: Iterable[str]) -> None:
    """Refuse texts that no file can hold."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} must hold texts of Unicode, got {shown(str(text))}") from None


def _frame(X: Any, y: NDArray[Any] | None, names: Sequence[str]) -> Any:
    """Make a data frame of rows, and of labels in its last column."""
    frame = _pandas().DataFrame(X.toarray() if sparse.issparse(X) else X)
    if y is not None:
        frame[frame.shape[1]] = y
    frame.columns = list(names)
    return frame


def _text_parts(
    X: Any, y: NDArray[Any] | None, names: Sequence[str], delimiter: str
) -> Iterator[bytes]:
    """Make lines of a table, some rows at a time; numbers are read back as they were."""
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


def _npz_arrays(X: Any, y: NDArray[Any] | None, names: tuple[str, ...] | None) -> dict[str, Any]:
    """Name rows, labels and names; sparse rows as `scipy.sparse.load_npz` reads them."""
    arrays: dict[str, Any] = {"X": X}
    if sparse.issparse(X):
        parts = (X.data, X.indices, X.indptr, np.array(X.shape))
        arrays = dict(zip(_OF_CSR, parts, strict=True)) | {"format": np.array(b"csr")}
    if y is not None:
        arrays["y"] = y
    if names is not None:
        arrays["feature_names"] = np.array(names, str)
    return arrays
