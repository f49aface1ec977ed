"""Input and output: examples, models, files that are written, JSON.

A file is there whole or not at all; devices and pipes, which cannot be, are written as they come,
and so is the standard output, named ``-``. A model's file is LIBSVM's text or skops' archive, told
apart by its content. scikit-learn reads examples in LIBSVM's format, pandas tables.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

import kpegasos
from kpegasos.cli.main import STANDARD, UsageError
from kpegasos.exports.libsvm import CLASSIFIERS, REGRESSORS
from kpegasos.exports.native import require_skops
from kpegasos.utils.files import is_stream, is_writable, write_whole
from kpegasos.utils.validation import shown

#: How the name of a model ends that skops writes, and how its content begins.
_SKOPS, _ZIP = ".skops", b"PK"

#: Endings of the names of tables, and what separates the columns of those that are text.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".parquet": None}
#: Names of a column that holds labels if nobody says which one does, in letters of either case.
_LABELS = ("label", "target", "class", "y")
_COMPRESSED = (".gz", ".bz2", ".xz")

# --- examples ---


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
    """Return labels that are numbers, as integers where all are whole."""
    return y.astype(np.int64) if _is_whole(y).all() else y


def _is_whole(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers are whole, and not beyond those that float64 has one by one."""
    return (np.floor(y) == y) & (np.abs(y) <= 2**53)


def read_examples(options: argparse.Namespace, least_columns: int = 1) -> Examples:
    """Read the examples that options name.

    X is dense where at least half of its entries are not zero, as it takes no more memory then, and
    has zeros behind the columns that a file in LIBSVM's format names.

    Raises
    ------
    OSError, ValueError
        Naming the file, the place and what is wrong there.
    """
    if table_ending(options.data):
        return read_table(options.data, options.label)
    X, y = read_svmlight(options.data, zero_based=options.zero_based)
    X.resize(X.shape[0], max(X.shape[1], least_columns))
    return Examples(X.toarray() if X.nnz >= X.shape[0] * X.shape[1] / 2 else X, y)


def read_svmlight(path: str, *, zero_based: bool = False) -> Examples:
    """Read a file in LIBSVM's format, "label column:value ..."; a pipe is read to its end.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        Naming the file, the line and what is wrong there, or if there are no examples.
    """
    source: Any = path
    if path == STANDARD:
        source, path = io.BytesIO(sys.stdin.buffer.read()), "standard input"
    elif is_stream(path):
        source = io.BytesIO(Path(path).read_bytes())
    with _blamed(path):
        try:
            X, y = load_svmlight_file(source, zero_based=zero_based)
        except (ValueError, OverflowError) as error:
            raise ValueError(_fault(source, zero_based=zero_based) or str(error)) from None
        finite = np.isfinite(y)
        finite[np.repeat(np.arange(y.size), np.diff(X.indptr))[~np.isfinite(X.data)]] = False
        if not finite.all():
            row = int(finite.argmin()) + 1
            raise ValueError(f"example {row}: label and features must be finite numbers")
        if not y.size:
            raise ValueError("there must be examples, got none")
    return Examples(X, as_labels(y))


def _fault(source: Any, *, zero_based: bool) -> str | None:
    """Find by halves the first line that the loader does not take, and say what it says of it."""
    if isinstance(source, str) and source.endswith(_COMPRESSED):
        return None
    content = source.getvalue() if isinstance(source, io.BytesIO) else Path(source).read_bytes()
    lines = content.split(b"\n")
    good, bad, fault = 0, len(lines), None
    while good < bad:
        middle = (good + bad) // 2
        try:
            load_svmlight_file(
                io.BytesIO(b"\n".join(lines[good : middle + 1])), zero_based=zero_based
            )
            good = middle + 1
        except (ValueError, OverflowError) as error:
            what, text = str(error).rstrip("."), lines[middle][:40].decode("ascii", "replace")
            bad, fault = middle, f"line {middle + 1}: {what}, got {text!r}"
    return fault


def read_kernel_values(options: argparse.Namespace) -> tuple[Examples, np.ndarray]:
    """Read values of a precomputed kernel, whose lines are "label 0:number 1:value 2:value ...".

    Returns
    -------
    tuple of (Examples, ndarray of shape (n_samples,))
        Kernel values with the examples of the training, and the numbers, from 1 on.
    """
    X, y = read_svmlight(options.data, zero_based=True)
    if X.shape[1] < 2:
        raise ValueError(f"{options.data}: lines must be label 0:number 1:value 2:value ...")
    values = X.toarray()
    return Examples(values[:, 1:].copy(), y), values[:, 0]


def labels_of(examples: Examples, path: str, *, numbers: bool) -> np.ndarray:
    """Return the labels of a regression or of classes, or raise a ValueError."""
    y = examples.y
    if y is None:
        raise ValueError(f"{path}: the examples must have labels; --label names their column")
    if numbers and y.dtype.kind == "U":
        raise ValueError(f"{path}: labels must be numbers for -s 3, got {shown(str(y[0]))}")
    if not numbers and y.dtype.kind == "f":
        got = float(y[~_is_whole(y)][0])
        raise ValueError(f"{path}: labels must be texts or whole to 2**53, but for -s 3, got {got}")
    if (y == y[0]).all() and not numbers:
        raise ValueError(f"{path}: labels must be of two classes or more, got {y[0]} alone")
    return y


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
        If the file is a pipe, or, naming the example and the column, something there is no finite
        number.
    """
    if is_stream(path):
        raise ValueError(f"{path}: a table must be a plain file, as it may be read twice")
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
    return Examples(X, as_labels(y) if y.dtype.kind in "iuf" else y.astype(str))


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
        if np.isfinite(pandas.to_numeric(frame.columns, errors="coerce")).any():
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


# --- models ---


def place_of(options: argparse.Namespace) -> str:
    """Find out where a model goes, before it is trained.

    LIBSVM's text is written unless the name ends in ``.skops``, or there is no name and the model
    has what LIBSVM's format has not.

    Raises
    ------
    UsageError
        If LIBSVM's format has no place for the model.
    ImportError
        If skops is to write it, and is not there.
    """
    named = "stdin" if options.data == STANDARD else os.path.basename(options.data)
    has_columns = table_ending(options.data) is not None
    needs = "scaling" if options.scale else "names of columns" if has_columns else None
    path = str(options.model or f"{named}{_SKOPS if needs else '.model'}")
    if path.endswith(_SKOPS):
        require_skops()
    elif needs:
        raise UsageError(f"LIBSVM's format has no {needs}: let MODEL end in {_SKOPS}, got {path}")
    return path


def write_model(path: str, model: Any) -> None:
    """Write a fitted model, whole or not at all."""
    native = path.endswith(_SKOPS)
    write_by(path, lambda name: kpegasos.save(model, name) if native else model.to_libsvm(name))


def read_model(path: str, n_features: int | None = None) -> tuple[Any, list[int] | None]:
    """Read a model, whose format its content tells.

    Parameters
    ----------
    path : str
    n_features : int, default=None
        Columns of the data, of which a LIBSVM file says nothing.

    Returns
    -------
    tuple of (BaseEstimator, list of int or None)
        A fitted estimator of this package, or a pipeline with it, and the classes in the order of
        a LIBSVM file; None of one of skops.

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    with open(path, "rb") as file:
        is_archive = file.peek().startswith(_ZIP)
        lines = () if is_archive else takewhile(_is_of_header, file)
        header = {words[0]: words[1:] for words in map(bytes.split, lines) if words}
    if is_archive:
        model = kpegasos.load(path)
        if not (hasattr(model, "predict") and hasattr(model, "n_features_in_")):
            raise ValueError(f"{path}: must hold a fitted estimator, got {shown(model)}")
        return model, None
    kind = b" ".join(header.get(b"svm_type", [])).decode("ascii", "replace")
    estimators: Any = dict.fromkeys(CLASSIFIERS, kpegasos.PegasosSVC)
    estimators |= dict.fromkeys(REGRESSORS, kpegasos.PegasosSVR)
    if kind not in estimators:
        known = ", ".join(estimators)
        raise ValueError(f"{path}: must be a model of skops, or of LIBSVM with svm_type {known}")
    return estimators[kind].from_libsvm(path, n_features), [*map(int, header.get(b"label", []))]


def _is_of_header(line: bytes) -> bool:
    """Check whether a line may name a fact of LIBSVM's; rows of data begin with numbers."""
    return line.lstrip()[:1].isalpha() and line.split() != [b"SV"]


def core_of(model: Any) -> Any:
    """Find the estimator of this package behind a scaling."""
    return model[-1] if hasattr(model, "steps") else model


# --- what goes out ---


def check_output(name: str, path: str | None, *inputs: str) -> None:
    """Find out before long work whether a file can be written, and replaces none that is read.

    Raises
    ------
    UsageError
        If the output is an input.
    OSError
        If it cannot be written.
    """
    if path is None or path == STANDARD:
        return
    place = Path(path)
    for each in inputs:
        if each != STANDARD and os.path.realpath(each) == os.path.realpath(place):
            raise UsageError(f"{name} must be another file than {each}, which is read")
    folder = place.parent.is_dir() and os.access(place.parent, os.W_OK)
    taken = place.exists() and not is_stream(place) and not is_writable(place)
    if place.is_dir() or taken or not folder:
        raise OSError(f"{path}: no file can be written there")


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines of text, each with its end."""
    write_by(path, lambda name: write_whole(name, (line.encode() for line in lines)))


def write_by(path: str, write: Callable[[str], None]) -> None:
    """Let a function write a file that may be a device, or the standard output.

    Parameters
    ----------
    path : str
    write : callable
        ``write(name)`` writes a plain file of that name, whole or not at all.
    """
    if path != STANDARD and not is_stream(path):
        write(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        write(str(copy))
        try:
            with nullcontext(sys.stdout.buffer) if path == STANDARD else open(path, "wb") as stream:
                sys.stdout.flush()
                stream.write(copy.read_bytes())
                stream.flush()
        except OSError as error:
            error.filename = error.filename or path  # as of a full disk
            raise


def print_json(value: dict[str, Any], file: Any) -> None:
    """Print an object in one line; numbers that are not finite become null."""
    text = json.dumps(value, default=lambda each: each.tolist())
    print(json.dumps(json.loads(text, parse_constant=lambda _: None)), file=file)
