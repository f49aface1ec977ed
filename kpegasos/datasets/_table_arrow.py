"""Parquet and Arrow files by pyarrow, the extra ``tables``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets._table_columns import Columns, Layout, label_column, without
from kpegasos.utils.validation import shown, told_of


def _arrow() -> Any:
    """pyarrow, or an ImportError that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "Parquet and Arrow files need pyarrow: pip install 'kpegasos[tables]'"
        ) from None
    return pyarrow


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
        Without pyarrow.
    ValueError
        Naming the file, if it is no such file; naming column and row, if a value is no number.
    """
    arrow = _arrow()
    try:
        table = _table(arrow, source, kind)
        table.validate(full=True)  # offsets of damaged files would be followed anywhere
    except (arrow.ArrowException, OSError, ValueError) as error:
        what = {"parquet": "a Parquet file", "arrow": "an Arrow or Feather file"}[kind]
        raise told_of(error, f"{place} must be {what}") from None
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"{place}: a table must have rows and columns, got an empty one")
    names = table.column_names
    label = label_column(place, layout.label, names, len(names))
    features = without(names, label) or ()
    columns = [at for at in range(len(names)) if at != label]
    kinds = {str(table.schema.types[at]) for at in columns}
    X = np.empty((table.num_rows, len(columns)), np.float32 if kinds == {"float"} else np.float64)
    for number, at in enumerate(columns):
        X[:, number] = _numbers(arrow, f"{place}, column {shown(names[at])}", table.column(at))
    if label is None:
        return Columns(X, None, features, None)
    name = names[label]
    y = _labels(arrow, f"{place}, column {shown(name)}", table.column(label))
    return Columns(X, y, features, name)


def _table(arrow: Any, source: Any, kind: str) -> Any:
    if kind == "parquet":
        from pyarrow import parquet

        with _source(arrow, source) as file:
            return parquet.ParquetFile(file).read()
    with _source(arrow, source) as file:
        try:
            return arrow.ipc.open_file(file).read_all()
        except arrow.ArrowInvalid:
            file.seek(0)
            return arrow.ipc.open_stream(file).read_all()


def _source(arrow: Any, source: Any) -> Any:
    """A file that pyarrow can go back in."""
    if hasattr(source, "read"):
        return arrow.BufferReader(source.read())
    return arrow.memory_map(str(source))


def _is_text(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _is_number(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    checks = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    return any(check(kind) for check in checks)


def _numbers(arrow: Any, place: str, column: Any) -> NDArray[Any]:
    """Values of a feature, NaN where they are missing."""
    if not _is_number(arrow, column.type):
        row = next((at for at, value in enumerate(column) if value.is_valid), 0)
        raise ValueError(
            f"{place}, row {row + 1}: values must be numbers, or missing, "
            f"got {shown(column[row].as_py())} of type {column.type}"
        )
    if arrow.types.is_floating(column.type):
        return column.to_numpy()
    return column.cast(arrow.float64(), safe=False).to_numpy()


def _labels(arrow: Any, place: str, column: Any) -> NDArray[Any]:
    if column.null_count:
        row = next(at for at, value in enumerate(column) if not value.is_valid)
        raise ValueError(f"{place}, row {row + 1}: the label must be given, got none")
    if _is_text(arrow, column.type):
        return np.array(column.to_pylist(), str)
    if arrow.types.is_integer(column.type) or arrow.types.is_boolean(column.type):
        return column.cast(arrow.int64()).to_numpy()
    return _numbers(arrow, place, column).astype(np.float64)


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
    arrow = _arrow()
    if sparse.issparse(X):
        by_column = X.tocsc()
        arrays = [by_column[:, [at]].toarray().ravel() for at in range(X.shape[1])]
    else:
        arrays = [np.ascontiguousarray(X[:, at]) for at in range(X.shape[1])]
    if y is not None:
        arrays.append(y)
    # NaN stays what it is; no value of these is missing.
    table = arrow.table([arrow.array(array) for array in arrays], names=list(names))
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, file)
    else:
        with arrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
