"""Checks of what displays are given: one sentence that names the parameter, not matplotlib's.

What is read from a fitted estimator is checked too.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kpegasos.utils.validation import as_array, shown


def numbers(name: str, values: Any, *, ndim: int | None = None) -> NDArray[np.float64]:
    """Return real numbers as an array of float64.

    Raises
    ------
    ValueError
        If they are no real numbers, or have another number of dimensions.
    """
    array = as_array(name, values, expected="be an array of real numbers")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(
            f"{name} must be an array of {ndim} dimension{'s' if ndim > 1 else ''}, "
            f"got shape {array.shape} instead"
        )
    return array


def finite(name: str, values: Any, *, ndim: int | None = None) -> NDArray[np.float64]:
    """Return finite numbers as an array of float64, at least one.

    Raises
    ------
    ValueError
        If they are none, or NaN or infinite.
    """
    array = numbers(name, values, ndim=ndim)
    unfit = int((~np.isfinite(array)).sum())
    if unfit or not array.size:
        came = f"{unfit} that are not" if unfit else "none"
        raise ValueError(f"{name} must be finite numbers, got {came}")
    return array


def one_for_each(name: str, values: Any, size: int, what: str) -> NDArray[np.float64]:
    """Return real numbers as a vector of float64, one for each of some things.

    Raises
    ------
    ValueError
        If they are no real numbers, or have another shape.
    """
    array = numbers(name, values)
    if array.shape != (size,):
        raise ValueError(
            f"{name} must have an entry for each of the {size} {what}, got shape {array.shape}"
        )
    return array


def increasing(name: str, values: Any, *, least: int = 2) -> NDArray[np.float64]:
    """Return increasing positive numbers, as many as are needed at least.

    Raises
    ------
    ValueError
        If they are not.
    """
    array = finite(name, values, ndim=1)
    if array.size < least or (array <= 0).any() or (np.diff(array) <= 0).any():
        raise ValueError(
            f"{name} must be increasing positive numbers, {least} at least, got {shown(values)}"
        )
    return array


def indices(name: str, values: Any, size: int) -> NDArray[np.intp]:
    """Return numbers of rows as an array.

    Raises
    ------
    ValueError
        If one is that of no row.
    """
    array = numbers(name, values, ndim=1)
    rows = np.nan_to_num(array, nan=-1.0).clip(-1, size).astype(np.intp)
    if (rows != array).any() or (rows < 0).any() or (rows >= size).any():
        raise ValueError(f"{name} must be rows from 0 to {size - 1}, got {shown(values)} instead")
    return rows


def labels(name: str, values: Any) -> NDArray[Any]:
    """Return labels as a vector.

    Raises
    ------
    ValueError
        If they are none.
    """
    try:
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind in "biufUSO":
            np.unique(array)  # which compares them
            return array
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} must be a vector of labels, got {shown(values)} instead")


def names(name: str, values: Any) -> list[str]:
    """Return a name, or several, as a list.

    Raises
    ------
    ValueError
        If there is anything but a string.
    """
    if isinstance(values, str):
        return [values]
    # NumPy makes an array of what is one, such as an index of pandas.
    values = np.asarray(values) if hasattr(values, "__array__") else values
    several = isinstance(values, Sequence | Set) or getattr(values, "ndim", 0) == 1
    if not several or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} must be a string or several, got {shown(values)} instead")
    return [str(value) for value in values]


def name(name: str, value: Any) -> str:
    """Return a name as Python's str.

    Raises
    ------
    ValueError
        If it is no string.
    """
    if isinstance(value, str):
        return str(value)
    raise ValueError(f"{name} must be a string, got {shown(value)} instead")


def points(name: str, values: Any) -> NDArray[np.float64]:
    """Return points of the plane as an array of shape (n, 2), without any if there is None.

    Raises
    ------
    ValueError
        If they are none, or not finite.
    """
    array = np.empty((0, 2)) if values is None else numbers(name, values)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} must have shape (n, 2), got {array.shape}")
    return finite(name, array) if array.size else array


def examples(name: str, values: Any) -> NDArray[np.float64]:
    """Return points of the plane, at least one, as an array of shape (n, 2).

    Raises
    ------
    ValueError
        If they are none, or not finite.
    """
    array = points(name, values)
    if not array.size:
        raise ValueError(f"{name} must have examples, got {shown(values)} instead")
    return array


def axes(ax: Any) -> Axes:
    """Return the axes to draw on.

    Raises
    ------
    ValueError
        If they are none of matplotlib's.
    """
    if not isinstance(ax, Axes):
        raise ValueError(f"ax must be matplotlib's Axes, got {shown(ax)} instead")
    return ax


def fitted_classifier(estimator: Any) -> None:
    """Check that an estimator is a fitted classifier.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    ValueError
        If it is no classifier.
    """
    if not isinstance(estimator, type) and hasattr(estimator, "predict"):
        check_is_fitted(estimator)
        if hasattr(estimator, "classes_"):
            return
    raise ValueError(f"estimator must be a fitted classifier, got {shown(estimator)} instead")
