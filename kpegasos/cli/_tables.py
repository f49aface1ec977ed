"""Stands in for `kpegasos.datasets.read_table` until that is merged: LIBSVM's format and CSV."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import dump_svmlight_file

from kpegasos.datasets import load_svmlight


class Table(NamedTuple):
    X: Any
    y: Any
    feature_names: Any = None
    format: str = "svmlight"


def read_table(
    source: Any,
    *,
    format: str | None = None,
    label: Any = "auto",
    n_features: int | None = None,
    dtype: Any = np.float64,
) -> Table:
    if not isinstance(source, str):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "stdin"
            copy.write_bytes(source.read())
            return read_table(
                str(copy), format=format, label=label, n_features=n_features, dtype=dtype
            )
    if (format or ("csv" if source.endswith(".csv") else "svmlight")) == "svmlight":
        X, y = load_svmlight(source, n_features=n_features, dtype=dtype)
        return Table(X, y)
    rows = np.loadtxt(source, delimiter=",", ndmin=2)
    if label is None:
        return Table(rows, None, format="csv")
    return Table(rows[:, :-1], rows[:, -1].astype(int), format="csv")


def write_table(
    path: Any, X: Any, y: Any = None, *, format: str | None = None, feature_names: Any = None
) -> None:
    if (format or ("csv" if str(path).endswith(".csv") else "svmlight")) == "svmlight":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        np.savetxt(path, X if y is None else np.column_stack([X, y]), delimiter=",")
