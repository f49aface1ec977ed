"""Examples in files: LIBSVM's format by scikit-learn, tables by pandas, errors in one sentence."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from kpegasos.utils.files import checked_path, is_stream

#: Endings of the names of tables, and what separates the columns of those that are text.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".parquet": None}
#: Names of a column that holds labels if nobody says which one does, in letters of either case.
_LABELS = ("label", "target", "class", "y")
_COMPRESSED = (".gz", ".bz2", ".xz")


class Examples(NamedTuple):
    """Features and labels of a file.

    Attributes
    ----------
    X : CSR matrix, DataFrame or ndarray of shape (n_samples, n_features), float64
        A DataFrame where the columns have names. All numbers are finite.
    y : ndarray of shape (n_samples,) or None
        int64 where all labels are whole numbers, else float64 or texts.
    """

    X: Any
    y: NDArray[Any] | None


@contextmanager
def _blamed(name: Any) -> Iterator[None]:
    """Name the file in an error of its content, which the libraries do not."""
    try:
        yield
    except Exception as error:  # damaged archives raise whatever comes of their nonsense
        if isinstance(error, ImportError | MemoryError) or getattr(error, "errno", None):
            raise
        what = " ".join(str(error).split())[:200]
        raise ValueError(f"{name}: {what}") from None


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels, as integers where all are whole."""
    is_whole = y.dtype.kind in "biu" or (y.dtype.kind == "f" and (np.trunc(y) == y).all())
    return y.astype(np.int64) if is_whole else y


# --- LIBSVM's format ---


def read_svmlight(source: Any, **options: Any) -> Examples:
    """Read a file in LIBSVM's format, "label column:value ...".

    Parameters
    ----------
    source : str, path-like or io.BytesIO
        The content of a file has its name; a pipe is read to its end.
    **options
        Of scikit-learn's ``load_svmlight_file``; columns count from 1 unless ``zero_based=True``.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        Naming the file, the line and what is wrong there.
    """
    name, options = source, {"zero_based": False, **options}
    if isinstance(source, io.BytesIO):
        name = source.name
    else:
        path = checked_path(source)
        source = io.BytesIO(path.read_bytes()) if is_stream(path) else str(path)
    with _blamed(name):
        try:
            X, y = load_svmlight_file(source, **options)
        except (ValueError, OverflowError) as error:
            raise ValueError(_fault(source, options) or str(error)) from None
        finite = np.isfinite(y)
        finite[np.repeat(np.arange(y.size), np.diff(X.indptr))[~np.isfinite(X.data)]] = False
        if not finite.all():
            row = int(finite.argmin()) + 1
            raise ValueError(f"example {row}: label and features must be finite numbers")
    return Examples(X, as_labels(y))


def _fault(source: Any, options: dict[str, Any]) -> str | None:
    """Find by halves the first line that the loader does not take, and say what it says of it."""
    if isinstance(source, str) and source.endswith(_COMPRESSED):
        return None
    content = source.getvalue() if isinstance(source, io.BytesIO) else Path(source).read_bytes()
    lines = content.split(b"\n")
    good, bad, fault = 0, len(lines), None
    while good < bad:
        middle = (good + bad) // 2
        try:
            load_svmlight_file(io.BytesIO(b"\n".join(lines[good : middle + 1])), **options)
            good = middle + 1
        except (ValueError, OverflowError) as error:
            what, text = str(error).rstrip("."), lines[middle][:40].decode("ascii", "replace")
            bad, fault = middle, f"line {middle + 1}: {what}, got {text!r}"
    return fault


# --- tables ---


def table_ending(path: Any) -> str | None:
    """Return the ending of a table's name, compressed or not; None of another file."""
    endings = [each.lower() for each in Path(path).suffixes if each.lower() not in _COMPRESSED]
    return endings[-1] if endings and endings[-1] in _SEPARATORS else None


def read_table(path: Any, label: str = "auto") -> Examples:
    """Read a table from a CSV, TSV or Parquet file; a column is a feature, or has the labels.

    Parameters
    ----------
    path : str or path-like
    label : str, default="auto"
        Name of the column of labels, or its number from 0 on; the one that is called label, target,
        class or y by default; "none" if there is none.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ImportError
        Without pandas.
    ValueError
        Naming the file, the example and the column, if something there is no finite number.
    """
    frame = _frame(path)
    with _blamed(path):
        names = [str(name) for name in frame.columns]
        place = _label_place(names, label)
        X = _numbers(frame.drop(columns=frame.columns[[] if place is None else [place]]))
        if place is None:
            return Examples(X, None)
        labels = frame.iloc[:, place]
        if labels.isna().any():
            row = int(labels.isna().to_numpy().argmax()) + 1
            raise ValueError(f"example {row}: a label must be in column {names[place]!r}")
    y = labels.to_numpy()
    return Examples(X, as_labels(y) if y.dtype.kind in "biuf" else y.astype(str))


def _frame(path: Any) -> Any:
    """Read a file by pandas; a first line with a number is no line of names."""
    try:
        import pandas
    except ImportError:
        raise ImportError("tables need pandas: pip install 'kpegasos[tables]'") from None
    separator = _SEPARATORS[table_ending(path) or ".csv"]
    options: Any = {"sep": separator, "index_col": False, "low_memory": False}
    with _blamed(path), warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # of data that would be lost
        if separator is None:
            return pandas.read_parquet(path)
        frame = pandas.read_csv(path, **options)
        if pandas.to_numeric(frame.columns, errors="coerce").notna().any():
            frame = pandas.read_csv(path, header=None, **options)
        return frame


def _label_place(names: list[str], label: str) -> int | None:
    """Find the column of labels; None if there is none."""
    if label == "none":
        return None
    places = [at for at, name in enumerate(names) if name.strip().lower() in _LABELS]
    if label != "auto":
        places = [at for at, name in enumerate(names) if label in (name, str(at))][:1]
    if len(places) > 1 or (not places and label != "auto"):
        raise ValueError(f"the column of labels must be one of {names[:20]}, got {label!r}")
    return places[0] if places else None


def _numbers(frame: Any) -> Any:
    """Return columns of finite numbers, without names that are no texts."""
    import pandas

    def numbers(column: Any) -> Any:
        is_numeric = pandas.api.types.is_numeric_dtype(column)
        return column if is_numeric else pandas.to_numeric(column.astype(str), errors="coerce")

    X = frame.apply(numbers).astype(np.float64)
    if not all(X.shape):
        raise ValueError(f"there must be rows, and columns of features, got {X.shape}")
    wrong = np.argwhere(~np.isfinite(X.to_numpy()))
    if wrong.size:
        row, column = wrong[0].tolist()
        value = frame.iat[row, column]
        got = "nothing" if pandas.isna(value) else f"'{value}'"
        raise ValueError(
            f"example {row + 1}, column {str(X.columns[column])!r}: a finite number must be there, "
            f"got {got}; texts and gaps need Python, as ColumnTransformer and SimpleImputer do"
        )
    return X if all(isinstance(name, str) for name in X.columns) else X.to_numpy()
