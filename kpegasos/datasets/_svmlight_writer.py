"""Files in LIBSVM's format are written: every number is read back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets._files import packed
from kpegasos.utils.files import checked_path, write_whole
from kpegasos.utils.scan import largest_magnitude
from kpegasos.utils.validation import as_array, canonical_rows, refuse_times

#: Rows that are written at a time.
_ROWS = 4096


def write_svmlight(path: str | PathLike[str], X: Any, y: Any) -> None:
    """Write rows and labels as a file in LIBSVM's format, "label column:value ...".

    The file is written whole or not at all. `load_svmlight` with ``dtype=numpy.float64`` reads back
    the same numbers, and X itself given ``n_features``.

    Parameters
    ----------
    path : path-like
        The file is compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, finite; columns are counted from 1 in the file. Zeros of a dense X are left out.
    y : array-like of shape (n_samples,)
        Labels, finite numbers.

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If X or y does not hold finite numbers, or they do not have as many rows.
    """
    place = checked_path(path)
    refuse_times("X", X)
    X = canonical_rows(X)
    if not np.isfinite(largest_magnitude(X)):
        raise ValueError("X must hold finite numbers, got NaN or infinity")
    refuse_times("y", y)
    y = as_array("y", y, expected="hold real numbers", kinds="biuf")
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must have shape {X.shape[:1]}, as X has rows, got {y.shape} instead")
    if not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers, got NaN or infinity")
    write_whole(place, packed(place, _parts(X, y)))


def _parts(X: Any, y: NDArray[np.float64]) -> Iterator[bytes]:
    """Lines of some rows at a time."""
    for first in range(0, y.size, _ROWS):
        rows = sparse.csr_matrix(X[first : first + _ROWS])
        columns, values = (rows.indices + 1).tolist(), rows.data.tolist()
        words = [f" {column}:{_word(value)}" for column, value in zip(columns, values, strict=True)]
        labels = map(_word, y[first : first + _ROWS].tolist())
        lines = (
            f"{label}{''.join(words[begin:end])}\n"
            for label, (begin, end) in zip(labels, pairwise(rows.indptr.tolist()), strict=True)
        )
        yield "".join(lines).encode()


def _word(number: float) -> str:
    """The shortest decimal number that is read as this one."""
    return repr(number).removesuffix(".0")
