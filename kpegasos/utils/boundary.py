"""The boundary to compiled code, which reads whatever lies at the index that it is given.

A compiled function that Python calls has a check before it, made once a call and not once a step:
`checked` puts it there. What contradicts it is an error of the caller, in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.utils.validation import canonical_rows, shown


def checked(check: Callable[..., None]) -> Callable[[Any], Any]:
    """Call a check with the arguments of a compiled function before the function.

    Parameters
    ----------
    check : callable
        Raises a ValueError for arguments that the function would read or write beyond.

    Returns
    -------
    callable
        The decorator, for functions that are called from Python only, by position.
    """

    def decorate(function: Any) -> Any:
        @wraps(function, updated=())
        def entry(*arguments: Any) -> Any:
            check(*arguments)
            return function(*arguments)

        return entry

    return decorate


def require_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Check the shape of an array.

    Raises
    ------
    ValueError
        If it is another.
    """
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape} instead")


def require_shapes(*arrays: tuple[str, np.ndarray, tuple[int, ...]]) -> None:
    """Check the shapes of some arrays, each of them given as `require_shape` takes it.

    Raises
    ------
    ValueError
        Naming one that has another.
    """
    for name, array, shape in arrays:
        if array.shape != shape:
            require_shape(name, array, shape)


def checked_vectors(name: str, vectors: Any, shape: tuple[int, int]) -> Any:
    """Return vectors of a model as loops take them.

    Raises
    ------
    ValueError
        If they have another shape, or their indices are of no feature.
    """
    if not (isinstance(vectors, np.ndarray) or sparse.issparse(vectors)):
        raise ValueError(f"{name} must be an array or a sparse matrix, got {shown(vectors)}")
    if vectors.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {vectors.shape} instead")
    try:
        return canonical_rows(vectors)
    except ValueError as error:
        raise ValueError(name + str(error).removeprefix("X")) from None


def require_numbers(
    name: str, array: Any, shape: tuple[int, ...] | None, kinds: str = "biuf"
) -> Any:
    """Return an array of a shape and of numbers of some kinds; with None any vector.

    Raises
    ------
    ValueError
        If it is another.
    """
    if not isinstance(array, np.ndarray) or (shape is None and array.ndim != 1):
        raise ValueError(f"{name} must be an array, got {shown(array)} instead")
    if shape is not None:
        require_shape(name, array, shape)
        if array.dtype.kind not in kinds:
            raise ValueError(f"{name} must hold numbers, got {array.dtype} instead")
    return array


def require_range(name: str, first: int, last: int, size: int) -> None:
    """Check a range of indices.

    Raises
    ------
    ValueError
        If it does not lie within an array of that size.
    """
    if not 0 <= first <= last <= size:
        raise ValueError(
            f"{name} must be a range within 0 and {size}, got {first} to {last} instead"
        )


def require_indices(
    name: str, indices: np.ndarray, below: int, *, least: int = 0, first: int = 0, last: int = -1
) -> None:
    """Check ``indices[first:last]``, all of them by default.

    Raises
    ------
    ValueError
        If they are no vector of int64 from ``least`` to ``below - 1``.
    """
    if indices.ndim != 1 or indices.dtype != np.int64:
        raise ValueError(
            f"{name} must be a vector of int64, "
            f"got {indices.dtype} of shape {indices.shape} instead"
        )
    found = indices[first : indices.size if last < 0 else last]
    if found.size and not least <= found.min() <= found.max() < below:
        raise ValueError(
            f"{name} must be indices from {least} to {below - 1}, "
            f"got {found.min()} to {found.max()} instead"
        )


def as_indices(name: str, values: Any, below: int) -> np.ndarray:
    """Return indices as a vector of int64.

    Raises
    ------
    ValueError
        If they are none from 0 to ``below - 1``.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a vector of indices, got {shown(values)} instead")
    array = array.astype(np.int64, copy=False)
    require_indices(name, array, below)
    return array
