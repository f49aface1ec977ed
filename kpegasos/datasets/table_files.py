"""Rows and labels in files of several formats, each told by its name or its first bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets import svmlight
from kpegasos.datasets._files import UTF_8_MARK, Pipe, is_compressed, opened, packed
from kpegasos.datasets._svmlight_reader import as_labels
from kpegasos.datasets._svmlight_writer import write_svmlight
from kpegasos.datasets._table_arrays import read_npy, read_npz, write_npy, write_npz
from kpegasos.datasets._table_frames import (
    Columns,
    Layout,
    checked_label,
    default_names,
    is_label_name,
    read_arrow,
    read_text,
    text_parts,
    write_arrow,
)
from kpegasos.utils.files import checked_path, is_stream, opened_whole, write_whole
from kpegasos.utils.validation import (
    as_choice,
    as_flag,
    canonical_rows,
    optional,
    refuse_masked,
    refuse_times,
    shown,
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


class Table(NamedTuple):
    """What `read_table` returns.

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
    source = _checked_source(path)
    format = optional(as_choice, "format", format, choices=FORMATS)
    layout = Layout(checked_label(label), optional(as_flag, "header", header))
    wanted = svmlight.checked_form(n_features, np.float64 if dtype is None else dtype)
    place = str(source) if isinstance(source, Path) else str(getattr(source, "name", "<file>"))
    if format is None:
        format = _format_of(source)
    if format == "svmlight":
        return _svmlight_table(place, source, layout, wanted)
    columns = _columns(place, source, format, layout)
    X = canonical_rows(columns.X) if dtype is None else _as(place, columns.X, wanted.dtype)
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"n_features must be {X.shape[1]}, as in {place}, got {n_features}")
    if X.shape[0] == 0:
        raise ValueError(f"{place}: a table must have rows, got none")
    y = columns.y if columns.y is None else _as_given(columns.y)
    return Table(X, y, columns.feature_names, columns.label_name, format)


def _checked_source(path: Any) -> Any:
    """Return the path of a plain file, or an open binary file."""
    if not callable(getattr(path, "read", None)):
        place = checked_path(path)
        return Pipe(place) if is_stream(place) else place
    if path.read(0) != b"":
        raise TypeError(f"path must be the path of a file, or a binary file, got {shown(path)}")
    return path


def format_by_name(path: Path) -> str | None:
    """Format that the name of a file says, compressed or not; None if it says none."""
    suffix = Path(path.stem).suffix if is_compressed(path) else path.suffix
    return next((each for each, endings in FORMATS.items() if suffix.lower() in endings), None)


def _format_of(source: Any) -> str:
    """Format of a file by its name, or by how it begins."""
    if not isinstance(source, Path | Pipe):
        raise ValueError(
            f"format must be given for an open file, one of {tuple(FORMATS)}, got None"
        )
    place = source if isinstance(source, Path) else Path(source.name)
    if (named := format_by_name(place)) is not None:
        return named
    if isinstance(source, Pipe):
        head = bytes(source.getbuffer()[:_HEAD])
    else:
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


def _svmlight_table(place: str, source: Any, layout: Layout, wanted: Any) -> Table:
    if layout.label not in ("auto", None):
        raise ValueError(
            f"label must be 'auto' or None for {place}, an SVMLight file, "
            f"got {shown(layout.label)} instead"
        )
    with _text(source) as file:
        X, y = svmlight.whole_file(place, file, wanted)
    if not y.size:
        raise ValueError(f"{place}: a table must have rows, got none")
    return Table(X, None if layout.label is None else y, None, None, "svmlight")


def _text(source: Any) -> AbstractContextManager[BinaryIO]:
    """A file of text, without a mark of UTF-8."""
    if isinstance(source, Path):
        return opened(source)
    return nullcontext(io.BytesIO(source.read().removeprefix(UTF_8_MARK)))


def _columns(place: str, source: Any, format: str, layout: Layout) -> Columns:
    """What a file holds that is not SVMLight."""
    if format in _DELIMITERS:
        with _text(source) as file:
            return read_text(place, file.read(), _DELIMITERS[format], layout)
    if isinstance(source, Path):
        source.open("rb").close()  # Python's own error if that cannot be done
    if format == "npy":
        return read_npy(place, source, layout)
    if format == "npz":
        return read_npz(place, source, layout)
    return read_arrow(place, source, format, layout)


def _as(place: str, X: Any, dtype: Any) -> Any:
    """Rows of a type."""
    X = canonical_rows(X)
    with np.errstate(over="ignore"):
        narrow = X.astype(dtype, copy=False)
    values, before = (each.data if sparse.issparse(X) else each for each in (narrow, X))
    if narrow.dtype != X.dtype and np.isinf(values[np.isfinite(before)]).any():
        raise ValueError(f"{place}: values must be finite in {narrow.dtype}, got larger ones")
    return narrow


def _as_given(y: NDArray[Any]) -> NDArray[Any]:
    """Labels, as integers where all are whole."""
    if y.dtype.kind in "ub":
        return y.astype(np.int64)
    return as_labels(y.astype(np.float64)) if y.dtype.kind == "f" else y


def write_table(
    path: str | PathLike[str],
    X: Any,
    y: Any = None,
    *,
    format: str | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write rows and labels to a file, whole or not at all; `read_table` reads them back exactly.

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
    format = optional(as_choice, "format", format, choices=FORMATS) or _format_to_write(place)
    refuse_times("X", X)
    X, y = canonical_rows(X), _checked_labels(y, format)
    if y is not None and y.shape != X.shape[:1]:
        raise ValueError(f"y must have shape {X.shape[:1]}, as X has rows, got {y.shape} instead")
    names = _checked_names(feature_names, X.shape[1], y is not None)
    if format == "svmlight":
        write_svmlight(place, X, y)
        return
    all_names = [*(names or default_names(X.shape[1])), *(["label"] if y is not None else [])]
    if format in _DELIMITERS:
        if np.isinf(X.data if sparse.issparse(X) else X).any():
            raise ValueError(
                f"X must hold finite or missing values for {format}, got infinite ones"
            )
        write_whole(place, packed(place, text_parts(X, y, all_names, _DELIMITERS[format])))
        return
    with opened_whole(place) as file:
        if format == "npy":
            write_npy(file, X, y)
        elif format == "npz":
            write_npz(file, X, y, names)
        else:
            write_arrow(file, format, X, y, all_names)


def _format_to_write(place: Path) -> str:
    if (named := format_by_name(place)) is not None:
        return named
    endings = tuple(each for of_format in FORMATS.values() for each in of_format)
    raise ValueError(f"format must be given unless path ends in one of {endings}, got {place.name}")


def _checked_labels(y: Any, format: str) -> NDArray[Any] | None:
    """Labels that a format can hold, or a ValueError."""
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
    if has_labels and any(is_label_name(name) for name in texts):
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
