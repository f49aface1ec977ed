"""Class labels: whether they are some, and in which order."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from kpegasos.utils.validation import refuse_masked, shown, told_of


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
