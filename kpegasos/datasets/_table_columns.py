"""What files with columns have in common: which column holds the labels, and what labels are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kpegasos.datasets._files import number_of
from kpegasos.datasets._svmlight_reader import as_labels
from kpegasos.utils.validation import is_number, shown

#: Names of a column that holds labels if nobody says which one does, in letters of either case.
LABELS = ("label", "target", "class", "y")


class Columns(NamedTuple):
    """What was read of a file.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    feature_names : tuple of str or None
    label_name : str or None
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    label_name: str | None = None


class Layout(NamedTuple):
    """What the caller says of a file.

    Attributes
    ----------
    label : str, int or None
        See `read_table`.
    header : bool or None
        Whether text begins with a line of names; None to look.
    """

    label: str | int | None
    header: bool | None


def checked_label(label: Any) -> str | int | None:
    """Return what says where the labels are, or raise a ValueError."""
    if label is None or isinstance(label, str):
        return label
    if is_number(label, int):
        return int(label)
    raise ValueError(
        f"label must be the name or number of a column, 'first', 'last', 'auto' or None, "
        f"got {shown(label)} instead"
    )


def label_column(
    place: str, label: str | int | None, names: Sequence[str] | None, n_columns: int
) -> int | None:
    """Which column holds the labels; None if none does.

    Raises
    ------
    ValueError
        If the file has no such column, or names repeat, or it has no other column.
    """
    if names is not None and len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"{place}: names of columns must differ, got {shown(twice)} twice")
    found = _found(place, label, names, n_columns)
    if n_columns - (found is not None) < 1:
        raise ValueError(f"{place}: there must be a column of features, got labels alone")
    return found


def _found(
    place: str, label: str | int | None, names: Sequence[str] | None, n_columns: int
) -> int | None:
    if label is None:
        return None
    if label == "auto":
        likely = [at for at, name in enumerate(names or ()) if is_label_name(name)]
        if len(likely) > 1:
            of_them = ", ".join(shown(names[at]) for at in likely) if names else ""
            raise ValueError(
                f"{place}: label must say which column holds them, as any may: {of_them}"
            )
        return likely[0] if likely else None
    if names is not None and label in names:
        return list(names).index(str(label))
    at = {"first": 0, "last": n_columns - 1}.get(label, label) if isinstance(label, str) else label
    if isinstance(at, str) or not -n_columns <= at < n_columns:
        raise ValueError(
            f"label must be the name or number of one of the {n_columns} columns of {place}, "
            f"got {shown(label)} instead"
        )
    return at % n_columns


def is_label_name(name: str) -> bool:
    """Whether a column of that name holds labels if nobody says which one does."""
    return name.strip().lower() in LABELS


def labels_of(words: Sequence[str]) -> NDArray[Any]:
    """Labels of some texts: numbers if all are finite numbers, else the texts."""
    numbers = [text_number(word) for word in words]
    if all(number is not None and np.isfinite(number) for number in numbers):
        return as_labels(np.array(numbers, np.float64))
    return np.array(words, str)


def text_number(word: str) -> float | None:
    """The number that a text is, without underscores between its digits; None if it is none."""
    if "_" in word or not word.isascii():
        return None
    return number_of(word.encode())


def without(names: Sequence[str] | None, column: int | None) -> tuple[str, ...] | None:
    """Names of all columns but one."""
    if names is None:
        return None
    return tuple(name for at, name in enumerate(names) if at != column)


def default_names(n_features: int) -> list[str]:
    """Names of features that have none, as scikit-learn makes them."""
    return [f"x{column}" for column in range(n_features)]
