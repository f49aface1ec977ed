"""Tables as NumPy's files: ``.npy`` with one array, ``.npz`` with X, y and names."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kpegasos.datasets._files import array_names, read_arrays
from kpegasos.datasets._table_frames import Columns, Layout, label_column
from kpegasos.utils.validation import canonical_rows, shown, told_of

#: Arrays of CSR rows, by SciPy's names.
_OF_CSR = ("data", "indices", "indptr", "shape")


def read_npy(place: str, source: Path | BinaryIO, layout: Layout) -> Columns:
    """Read an array of two dimensions, mapped into memory if it has a path.

    Raises
    ------
    ValueError
        Naming the file, if it holds something else.
    """
    array: NDArray[Any]
    try:
        if isinstance(source, PathLike):
            array = np.lib.format.open_memmap(source, mode="r")
        else:
            array = np.lib.format.read_array(io.BytesIO(source.read()), allow_pickle=False)
    except Exception:  # damaged headers raise whatever comes of their nonsense
        raise ValueError(f"{place} must be a whole .npy file of numbers, got another") from None
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        raise ValueError(
            f"{place} must hold numbers of shape (n_samples, n_columns), "
            f"got {array.dtype} of shape {array.shape}"
        )
    label = label_column(place, layout.label, None, array.shape[1])
    if label is None:
        return Columns(array, None)
    y = np.array(array[:, label])
    if label == 0:
        return Columns(array[:, 1:], y)
    if label == array.shape[1] - 1:
        return Columns(array[:, :-1], y)
    return Columns(np.delete(array, label, axis=1), y)


def read_npz(place: str, source: Path | BinaryIO, layout: Layout) -> Columns:
    """Read the arrays X, or those of CSR rows, y and feature_names, as far as they are there.

    Raises
    ------
    ValueError
        Naming the file, if it does not hold them.
    """
    if layout.label not in ("auto", "y", None):
        raise ValueError(
            f"label must be 'auto', 'y' or None for {place}, an NPZ file, "
            f"got {shown(layout.label)} instead"
        )
    content = source if isinstance(source, PathLike) else io.BytesIO(source.read())
    there = array_names(place, content)
    is_csr = "data" in there
    wanted = [*(_OF_CSR if is_csr else ["X"])]
    wanted += [name for name in ("y", "feature_names", "format") if name in there]
    arrays = dict(zip(wanted, read_arrays(content, wanted, place), strict=True))
    X = _csr(place, arrays) if is_csr else arrays["X"]
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
    y = None if layout.label is None else arrays.get("y")
    if y is None and layout.label == "y":
        raise ValueError(f"label must be that of an array in {place}, got 'y', and there is none")
    if y is not None and (y.dtype.kind not in "biufU" or y.shape != X.shape[:1]):
        raise ValueError(
            f"y in {place} must have one label for each of {X.shape[0]} rows, "
            f"got {y.dtype} of shape {y.shape}"
        )
    return Columns(
        X, y, None if names is None else tuple(names.tolist()), None if y is None else "y"
    )


def _csr(place: str, arrays: dict[str, NDArray[Any]]) -> sparse.csr_matrix:
    """CSR rows of their arrays."""
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


def write_npy(file: BinaryIO, X: Any, y: NDArray[Any] | None) -> None:
    """Write rows as one array, the labels in its last column."""
    X = X.toarray() if sparse.issparse(X) else X
    np.save(file, X if y is None else np.column_stack([X, y]), allow_pickle=False)


def write_npz(
    file: BinaryIO, X: Any, y: NDArray[Any] | None, names: tuple[str, ...] | None
) -> None:
    """Write rows, labels and names as arrays; sparse rows as `scipy.sparse.load_npz` reads them."""
    arrays: dict[str, Any] = {"X": X}
    if sparse.issparse(X):
        parts = (X.data, X.indices, X.indptr, np.array(X.shape))
        arrays = dict(zip(_OF_CSR, parts, strict=True)) | {"format": np.array(b"csr")}
    if y is not None:
        arrays["y"] = y
    if names is not None:
        arrays["feature_names"] = np.array(names, str)
    np.savez(file, **arrays)
