"""Data that the program reads, from files or from the standard input.

The formats are the affair of `kpegasos.datasets`. Here names become what it takes, and data become
what the estimators are fast on.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from kpegasos.cli.output_files import STANDARD
from kpegasos.datasets import Table, read_table
from kpegasos.datasets.table_files import format_by_name
from kpegasos.utils.validation import shown

#: Share of the entries from which on a dense matrix takes no more memory than a sparse one.
_FULL = 0.5


def read_data(
    path: str, *, format: str | None = None, label: str = "auto", n_features: int | None = None
) -> Table:
    """Read examples.

    Parameters
    ----------
    path : str
        ``-`` is the standard input, in LIBSVM's format unless ``format`` says another.
    format : str, default=None
        Of `kpegasos.datasets.read_table`.
    label : str, default="auto"
        Column of the labels: a name, a number, "first", "last" or "none".
    n_features : int, default=None
        Columns of a file in LIBSVM's format; the largest that it names if None.

    Returns
    -------
    Table
        X is dense where at least half of its entries are not zero, else CSR; float64.

    Raises
    ------
    OSError, ValueError
        Naming file, line and what is wrong there.
    """
    options = {"label": label_of(label), "n_features": n_features, "dtype": np.float64}
    table = read_table(source_of(path), format=format_of(path, format), **options)
    return table._replace(X=dense_if_full(table.X))


def read_kernel_values(
    path: str, format: str | None = None, label: str = "auto"
) -> tuple[np.ndarray, Any, np.ndarray]:
    """Read values of a precomputed kernel.

    Parameters
    ----------
    path : str
        In LIBSVM's format "label 0:number 1:value 2:value ...", where the number is that of the
        example, from 1 on; tables hold labels and values only.
    format, label : str
        As `read_data` takes them.

    Returns
    -------
    K : ndarray of shape (n_samples, n_train)
    y : ndarray of shape (n_samples,)
    numbers : ndarray of shape (n_samples,)
        Of the examples, from 1 on.
    """
    format = format_of(path, format) or format_by_name(Path(path)) or "svmlight"
    if format != "svmlight":
        table = read_data(path, format=format, label=label)
        y = labels_of(table, path)
        return np.asarray(table.X), y, np.arange(1, y.size + 1)
    try:
        X, y = load_svmlight_file(source_of(path), zero_based=True)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {error}") from None
    if X.shape[1] < 2:
        raise ValueError(f"{path}: kernel values must have the form 0:number 1:value 2:value ...")
    whole = bool((np.trunc(y) == y).all())
    values = X.toarray()
    return values[:, 1:].copy(), y.astype(np.int64) if whole else y, values[:, 0]


def labels_of(table: Table, path: str) -> Any:
    """The labels of examples.

    Raises
    ------
    ValueError
        If there are none.
    """
    if table.y is None:
        raise ValueError(f"{path}: the examples must have labels; --label names their column")
    return table.y


def refuse_one_class(y: np.ndarray, path: str) -> None:
    """Check that there are labels of two classes.

    Raises
    ------
    ValueError
        Naming the class that there is.
    """
    if (y == y[0]).all():
        got = shown(y[:1].tolist()[0])
        raise ValueError(f"{path}: labels must be of at least two classes, got {got} alone")


def refuse_missing(table: Table, path: str) -> None:
    """Check that no feature is missing or infinite.

    Raises
    ------
    ValueError
        Naming the first example and the column.
    """
    X = table.X.tocsr() if sparse.issparse(table.X) else table.X
    if np.isfinite(X.data if sparse.issparse(X) else X).all():
        return
    if sparse.issparse(X):
        first = int(np.argmin(np.isfinite(X.data)))
        row, column = int(np.searchsorted(X.indptr, first, "right")) - 1, int(X.indices[first])
        value = float(X.data[first])
    else:
        row, column = (int(each) for each in np.argwhere(~np.isfinite(X))[0])
        value = float(X[row, column])
    name = column + 1 if table.feature_names is None else table.feature_names[column]
    got = "none" if np.isnan(value) else value
    raise ValueError(
        f"{path}, example {row + 1}, column {name}: a finite number must be there, got {got}"
    )


def dense_if_full(X: Any) -> Any:
    """A dense array instead of a sparse matrix that takes no less memory.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    if sparse.issparse(X) and X.nnz >= _FULL * X.shape[0] * X.shape[1]:
        return X.toarray()
    return X


def with_zeros(X: Any, n_features: int) -> Any:
    """The same rows with columns of zeros behind them.

    Parameters
    ----------
    X : ndarray or CSR matrix
    n_features : int
        As many as X has, or more.
    """
    if sparse.issparse(X):
        return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))


def source_of(path: str) -> str | io.BytesIO:
    """What `read_table` reads: a path, or all of the standard input, with a name for errors.

    Parameters
    ----------
    path : str
        ``-`` is the standard input.
    """
    if path != STANDARD:
        return path
    content = io.BytesIO(sys.stdin.buffer.read())
    content.name = "standard input"
    return content


def format_of(path: str, format: str | None) -> str | None:
    """The format that is asked for; LIBSVM's of the standard input unless another is.

    Parameters
    ----------
    path : str
    format : str or None
    """
    return "svmlight" if format is None and path == STANDARD else format


def label_of(text: str) -> Any:
    """What `read_table` takes as the column of the labels.

    Parameters
    ----------
    text : str
        As it stands on the command line.
    """
    if text == "none":
        return None
    return int(text) if re.fullmatch("-?[0-9]+", text) else text
