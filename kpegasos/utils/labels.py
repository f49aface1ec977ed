"""Class labels: whether they are some, and in which order."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from kpegasos.utils.validation import refuse_masked, shown, told_of

#: NumPy's kinds of arrays that may hold labels: numbers, strings of any sort, objects.
_KINDS = "biufUSTO"


def sorted_labels(name: str, labels: Any) -> np.ndarray:
    """Labels in order, each once.

    Raises
    ------
    ValueError
        If they have no order.
    """
    refuse_masked(name, labels)
    try:
        return np.unique(np.asarray(labels))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold labels of one kind, such as integers or strings, "
            f"got {shown(labels)} instead"
        ) from None


def plain_labels(labels: np.ndarray) -> np.ndarray:
    """Labels that are numbers one by one, as in mixed columns of a frame, as an array of them."""
    if labels.dtype.kind == "O":
        with suppress(TypeError, ValueError, OverflowError):
            plain = np.array(labels.tolist())
            if plain.dtype.kind in "biuf" and plain.shape == labels.shape:
                return plain
    return labels


def check_labels(y: np.ndarray) -> None:
    """Check that targets are those of a classification.

    Raises
    ------
    ValueError
        If they are not.
    """
    if y.ndim == 1 and y.dtype.kind in "biu" and _are_few(y):
        return  # sklearn looks for other kinds, and warns where nearly each example is a class
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise told_of(error, "y must be class labels") from None


def _are_few(y: np.ndarray) -> bool:
    """Whether integers have at most half as many values as there are."""
    if y.size and 2 * (int(y.max()) - int(y.min()) + 1) <= y.size:
        return True  # without a look at which they are
    return 2 * np.unique(y).size <= y.size


def signs_of(name: str, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels of two classes as -1 and +1, the latter for the class that is sorted last.

    Labels that are -1 or +1 already may all be the same.

    Parameters
    ----------
    name : str
    labels : array-like of shape (n_samples,)
        Integers, floats, truth values or strings.

    Returns
    -------
    signs : ndarray of shape (n_samples,), float64
    classes : ndarray of shape (2,)
        The labels that became -1 and +1, of the labels' own kind.

    Raises
    ------
    ValueError
        If they are no vector, no labels, or not of two classes.
    """
    array = _vector_of_labels(name, labels)
    if array.dtype.kind in "iuf":
        positive = array == 1
        if (positive | (array == -1)).all():
            classes = np.array([-1, 1], dtype=np.result_type(array.dtype, np.int8))
            return np.where(positive, 1.0, -1.0), classes
    classes = sorted_labels(name, array)
    if classes.size != 2:
        raise ValueError(
            f"{name} must hold labels of two classes, got {classes.size} of them, "
            f"{shown(classes[:5].tolist())}, instead"
        )
    return np.where(array == classes[1], 1.0, -1.0), classes


def _vector_of_labels(name: str, labels: Any) -> np.ndarray:
    """Labels as a vector of a kind that can be told apart.

    Raises
    ------
    ValueError
        If they are none.
    """
    refuse_masked(name, labels)
    try:
        array = plain_labels(np.asarray(labels))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name} must be a non-empty vector of labels of two classes, got {shown(labels)} "
            f"instead"
        )
    if array.dtype.kind not in _KINDS:
        raise ValueError(
            f"{name} must hold labels such as integers or strings, got {array.dtype} instead"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} must hold a label for each example, got NaN or infinity")
    return array
