"""Input and output: examples, files that are written, lines, JSON.

The formats are the affair of `kpegasos.datasets`. A file is there whole or not at all; devices and
pipes, which cannot be, are written as they come, and so is the standard output, named ``-``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from kpegasos.cli import STANDARD, UsageError
from kpegasos.datasets import Table, read_table
from kpegasos.datasets.tables import format_by_name
from kpegasos.utils import memory
from kpegasos.utils.files import checked_path, is_stream, is_writable, write_whole
from kpegasos.utils.tuning import MEBIBYTE
from kpegasos.utils.validation import shown, without_empty_columns

# --- what comes in ---


def _source_of(path: str) -> str | io.BytesIO:
    """Return a path, or all of the standard input, with a name for errors."""
    if path != STANDARD:
        return path
    content = io.BytesIO(sys.stdin.buffer.read())
    content.name = "standard input"
    return content


def read_given(options: argparse.Namespace, dtype: Any = None) -> Table:
    """Read the examples that options name, of the type that the file has unless one is given.

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    format, label = options.data_format, options.label
    if format is None and options.data == STANDARD:
        format = "svmlight"
    if label == "none":
        label = None
    elif re.fullmatch("-?[0-9]+", label):
        label = int(label)
    width = vars(options).get("n_features")
    source = _source_of(options.data)
    return read_table(source, format=format, label=label, n_features=width, dtype=dtype)


def read_data(options: argparse.Namespace, *, finite: bool = True) -> Table:
    """Read the examples that options name as the estimators are fast on them.

    Parameters
    ----------
    options : argparse.Namespace
    finite : bool, default=True
        Whether missing and infinite features are refused.

    Returns
    -------
    Table
        X is dense where at least half of its entries are not zero, as it takes no more memory then,
        else CSR; float64.

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    table = read_given(options, np.float64)
    X = table.X
    if sparse.issparse(X) and X.nnz >= X.shape[0] * X.shape[1] / 2:
        table = table._replace(X=X.toarray())
    if finite:
        _refuse_missing(table, options.data)
    return table


def _refuse_missing(table: Table, path: str) -> None:
    """Check that all features are finite; an error names the first example and the column."""
    X = table.X
    if np.isfinite(X.data if sparse.issparse(X) else X).all():
        return
    rows = X.tocoo() if sparse.issparse(X) else sparse.coo_array(X)
    first = int(np.argmin(np.isfinite(rows.data)))
    row, column, value = (each[first] for each in (rows.row, rows.col, rows.data))
    names = table.feature_names
    name = f"feature {column + 1}" if names is None else f"column {names[column]}"
    got = "none" if np.isnan(value) else float(value)
    raise ValueError(f"{path}, example {row + 1}, {name}: a finite number must be there, got {got}")


def read_kernel_values(options: argparse.Namespace) -> tuple[np.ndarray, Any, np.ndarray]:
    """Read values of a precomputed kernel.

    In LIBSVM's format a line is "label 0:number 1:value 2:value ...", where the number is that of
    the example, from 1 on; tables hold labels and values only.

    Returns
    -------
    K : ndarray of shape (n_samples, n_train)
    y : ndarray of shape (n_samples,)
    numbers : ndarray of shape (n_samples,)
        Of the examples, from 1 on.
    """
    from sklearn.datasets import load_svmlight_file

    path = options.data
    if (options.data_format or format_by_name(Path(path)) or "svmlight") != "svmlight":
        table = read_data(options, finite=False)
        y = labels_of(table, path)
        K = table.X.toarray() if sparse.issparse(table.X) else np.asarray(table.X)
        return K, y, np.arange(1, y.size + 1)
    try:
        X, y = load_svmlight_file(_source_of(path), zero_based=True)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {error}") from None
    if X.shape[1] < 2:
        raise ValueError(f"{path}: kernel values must have the form 0:number 1:value 2:value ...")
    whole = bool((np.trunc(y) == y).all())
    values = X.toarray()
    return values[:, 1:].copy(), y.astype(np.int64) if whole else y, values[:, 0]


def labels_of(table: Table, path: str) -> Any:
    """Return the labels of examples, or raise a ValueError if there are none."""
    if table.y is None:
        raise ValueError(f"{path}: the examples must have labels; --label names their column")
    return table.y


def refuse_one_class(y: np.ndarray, path: str) -> None:
    """Check that there are labels of two classes; an error names the class that there is."""
    if (y == y[0]).all():
        got = shown(y[:1].tolist()[0])
        raise ValueError(f"{path}: labels must be of at least two classes, got {got} alone")


def with_zeros(X: Any, n_features: int) -> Any:
    """Return the same rows with columns of zeros behind them."""
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))


def check_room(n_bytes: int, what: str, advice: str = "") -> None:
    """Check that memory has room for something, of which a small file may ask for any amount."""
    free = memory.free_memory()
    if free is not None and n_bytes > free:
        raise ValueError(
            f"{what} take {n_bytes / MEBIBYTE:,.0f} MiB, and {free / MEBIBYTE:,.0f} MiB of memory "
            f"are free{advice}"
        )


# --- what examples are like ---

#: Widths of columns that differ by more than this leave the narrow ones without a say.
UNEVEN = 100.0
#: Entries of a block of rows, 32 MiB of them: a memory-mapped file need not fit into memory.
_ENTRIES = 2**22


def facts_of(X: Any, y: np.ndarray | None) -> dict[str, Any]:
    """Look at a table: sizes, classes, duplicates, missing values, ranges.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None

    Returns
    -------
    dict
        By name, among them "density", the part of the entries that are not zero; "n_duplicates",
        rows that are the same as an earlier one; "n_conflicts", rows that share their features with
        one of another label; "n_constant", columns of one value; "lowest" and "highest" of all
        finite entries; "unevenness", see `unevenness_of`; "targets", see `targets_of`.
    """
    (n_samples, n_features), held = X.shape, X.tocsr() if sparse.issparse(X) else X
    X = _narrow(held)
    low = high = np.full(X.shape[1], np.nan)
    n_nonzero = n_missing = n_infinite = 0
    digests: list[bytes] = []
    for begin in range(0, n_samples, height := _height(X)):
        block = X[begin : begin + height]
        if sparse.issparse(block):
            block = block.copy()
            block.sum_duplicates()
            block.eliminate_zeros()
        values = block.data if sparse.issparse(block) else block
        n_nonzero += int(np.count_nonzero(values))
        n_missing += int(np.isnan(values).sum())
        n_infinite += int(np.isinf(values).sum())
        least, most = column_ranges(block)
        low, high = np.fmin(low, least), np.fmax(high, most)
        digests += _digests(block)
    n_duplicates, n_conflicts = _repeated(digests, y)
    n_empty = n_features - X.shape[1]
    ends = np.concatenate([low, high, [0.0] * min(1, n_empty)])
    ends = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.array([np.nan])
    arrays = [held.data, held.indices, held.indptr] if sparse.issparse(held) else [held]
    return {
        "n_samples": n_samples,
        "n_features": n_features,
        "storage": "sparse" if sparse.issparse(held) else "dense",
        "dtype": str(held.dtype),
        "mebibytes": sum(array.nbytes for array in arrays) / MEBIBYTE,
        "density": n_nonzero / max(1, n_samples * n_features),
        "n_duplicates": n_duplicates,
        "n_conflicts": n_conflicts,
        "n_missing": n_missing,
        "n_infinite": n_infinite,
        "n_constant": n_empty + int((low == high).sum()),
        "lowest": float(ends.min()),
        "highest": float(ends.max()),
        "unevenness": _unevenness(low, high),
        "targets": None if y is None else targets_of(y),
    }


def unevenness_of(X: Any) -> float:
    """Divide the width of the widest column by that of the narrowest that is not constant.

    Of the rows so many are looked at as are a block.
    """
    X = _narrow(X)
    return _unevenness(*column_ranges(X[: _height(X)]))


def targets_of(y: np.ndarray) -> dict[str, Any]:
    """Count the examples of each class, or find the range of numbers that are no classes.

    Integers, in whatever type, and texts are classes.
    """
    if y.dtype.kind == "f" and not (np.isfinite(y).all() and (y == np.rint(y)).all()):
        finite = y[np.isfinite(y)] if np.isfinite(y).any() else np.array([np.nan])
        return {"classes": None, "lowest": float(finite.min()), "highest": float(finite.max())}
    names, counts = np.unique(y, return_counts=True)
    texts = [f"{name:.0f}" if names.dtype.kind == "f" else str(name) for name in names]
    classes = dict(zip(texts, counts.tolist(), strict=True))
    return {"classes": classes, "lowest": math.nan, "highest": math.nan}


def _narrow(X: Any) -> Any:
    """Leave out columns of zeros, of which a small file may name any number."""
    return without_empty_columns(X)[0] if sparse.issparse(X) else X


def _height(X: Any) -> int:
    return max(1, _ENTRIES // max(1, X.shape[1]))


def column_ranges(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """Find the least and the largest finite entry of each column, NaN where there is none."""
    infinite = np.isinf(block.data if sparse.issparse(block) else block)
    if infinite.any():
        block = block.copy()
        (block.data if sparse.issparse(block) else block)[infinite] = np.nan
    if sparse.issparse(block):
        low, high = min_max_axis(block, axis=0, ignore_nan=True)
        return low, high
    return np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)


def _unevenness(low: np.ndarray, high: np.ndarray) -> float:
    widths = high - low
    wide = widths[widths > 0]
    return float(wide.max() / wide.min()) if wide.size else 1.0


def _digests(block: Any) -> list[bytes]:
    """Make a digest of each row, the same for the same numbers."""
    if sparse.issparse(block):
        rows = (
            block.indices[begin:end].tobytes() + block.data[begin:end].tobytes()
            for begin, end in pairwise(block.indptr.tolist())
        )
    else:
        rows = ((row + 0.0).tobytes() for row in block)  # no -0.0
    return [hashlib.blake2b(row, digest_size=16).digest() for row in rows]


def _repeated(digests: list[bytes], y: np.ndarray | None) -> tuple[int, int]:
    """Count rows that are the same as an earlier one, and rows that have more than one label."""
    _, row, sizes = np.unique(np.array(digests, "S16"), return_inverse=True, return_counts=True)
    if y is None:
        return len(digests) - sizes.size, 0
    labels = np.unique(y, return_inverse=True)[1]
    of_pairs = np.unique(np.column_stack([row, labels]), axis=0)[:, 0]
    several = np.bincount(of_pairs, minlength=sizes.size) > 1
    return len(digests) - sizes.size, int(sizes[several].sum())


# --- files that are written ---


def check_outputs(outputs: dict[str, str | None], *inputs: str) -> None:
    """Find out before long work whether files can be written, each to a place of its own.

    Parameters
    ----------
    outputs : dict of str to (str or None)
        Paths by their names in the help; ``-`` is the standard output, None is not asked for.
    *inputs : str
        What is read, and would be replaced.

    Raises
    ------
    UsageError
        If two outputs, or an output and an input, are the same file.
    OSError
        If a folder is not there or cannot be written to.
    ValueError
        If an output is a folder.
    """
    taken = {os.path.realpath(each): f"{each}, which is read" for each in inputs}
    taken.pop(os.path.realpath(STANDARD), None)
    for name, path in outputs.items():
        if path is None:
            continue
        place = STANDARD if path == STANDARD else os.path.realpath(path)
        if place in taken:
            raise UsageError(f"{name} must be another file than {taken[place]}")
        if path != STANDARD:
            _check_writable(path)
        if not is_stream(place):  # /dev/null takes everything
            taken[place] = f"{name}, {path}"


def _check_writable(path: str) -> None:
    """Check that a file can be written, as far as that can be known."""
    place = checked_path(path)
    if place.is_dir():
        raise ValueError(f"{path}: is a folder, expected the name of a file")
    if is_stream(place):
        writable = os.access(place, os.W_OK)
    elif place.parent.is_dir():
        writable = os.access(place.parent, os.W_OK) and (not place.exists() or is_writable(place))
    else:
        raise FileNotFoundError(f"{path}: its folder does not exist")
    if not writable:
        raise PermissionError(f"{path}: cannot be written")


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines of text, each with its end."""
    parts = (line.encode("utf-8") for line in lines)
    if path == STANDARD or is_stream(path):
        with _opened_stream(path) as file:
            file.writelines(parts)
    else:
        write_whole(path, parts)


def write_csv(path: str, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_lines(path, [text.getvalue()])


def write_by(path: str, write: Callable[[str], None], suffix: str = "") -> None:
    """Let a function write a file that may be a device, or the standard output.

    Parameters
    ----------
    path : str
    write : callable
        ``write(name)`` writes a plain file of that name, whole or not at all.
    suffix : str, default=""
        How the name of a file ends that is copied to a device.
    """
    if path != STANDARD and not is_stream(path):
        write(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, f"copy{suffix}")
        write(copy)
        with open(copy, "rb") as file, _opened_stream(path) as stream:
            shutil.copyfileobj(file, stream)


@contextmanager
def _opened_stream(path: str) -> Iterator[Any]:
    """Open a device or the standard output; an error, as of a full disk, names it."""
    try:
        if path == STANDARD:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with open(path, "wb") as file:
                yield file
    except OSError as error:
        if error.filename is None:
            error.filename = "standard output" if path == STANDARD else path
        raise


# --- words ---


def counted(number: int, name: str) -> str:
    """Say how many there are of something, such as "1 row" and "3,000 rows"."""
    return f"{number:,} {name}{'s' if number != 1 else ''}"


def shown_size(n_samples: int, n_features: int) -> str:
    """Say how large a table is, such as "1 row, 13 features"."""
    return f"{counted(n_samples, 'row')}, {counted(n_features, 'feature')}"


def shown_seconds(seconds: float) -> str:
    """Say seconds with two digits, or whole ones from ten on."""
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"


def percent(share: float) -> str:
    """Say a share as a percentage of two digits, rounded up so that what it bounds is true."""
    if not share > 0.0:
        return "0%"
    exact = Decimal(share) * 100
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), ROUND_CEILING)
    return f"{rounded:f}%" if rounded >= 100 else f"{float(rounded):.2g}%"


def table_lines(rows: Sequence[Sequence[str]], *, left: Collection[int] = ()) -> Iterator[str]:
    """Make lines of a table of text.

    Parameters
    ----------
    rows : sequence of sequence of str
        The first one has the titles.
    left : collection of int
        Columns that begin at one place; others end at one, as numbers do.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.ljust(width) if at in left else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def print_json(value: dict[str, Any], file: Any = None) -> None:
    """Print an object in one line; numbers that are not finite become null."""
    print(json.dumps(plain(value), allow_nan=False), file=file or sys.stdout)


def plain(value: Any) -> Any:
    """Return what JSON can say of a value."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
