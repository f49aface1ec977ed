"""What the displays read from fitted estimators and from labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kpegasos.plotting import checks
from kpegasos.solvers.history import History
from kpegasos.utils.validation import shown


def check_classifier(estimator: Any, *methods: str) -> None:
    """Check that an estimator is a fitted classifier.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    ValueError
        If it is no classifier, or lacks a method.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ValueError(f"estimator must be a fitted classifier, got {shown(estimator)} instead")
    check_is_fitted(estimator)
    for name in ("classes_", *methods):
        if not hasattr(estimator, name):
            raise ValueError(
                f"estimator must be a fitted classifier with {name}, got "
                f"{type(estimator).__name__} instead"
            )


def histories(estimator: Any) -> list[History]:
    """Return the histories of all pairs of classes of a fitted estimator."""
    found = getattr(estimator, "history_", None)
    if found is None:
        raise ValueError(
            f"estimator must have been fitted with fit and keep a history_, got "
            f"{type(estimator).__name__} without one"
        )
    return found if isinstance(found, list) else [found]


def pair_number(classes: np.ndarray, pair: tuple[Any, Any] | None) -> int:
    """Return the position of a pair among all pairs, in lexicographic order."""
    labels = np.asarray(classes).tolist()
    if pair is None:
        if len(labels) == 2:
            return 0
        raise ValueError(f"pair must name two of the {len(labels)} classes {labels}, got None")
    try:
        i, j = sorted(labels.index(label) for label in pair)
    except (TypeError, ValueError):
        i = j = 0
    if i == j:
        raise ValueError(f"pair must name two of the classes {labels}, got {shown(pair)}")
    return i * len(labels) - i * (i + 1) // 2 + j - i - 1


def two_classes(y: ArrayLike) -> np.ndarray:
    """Return the two classes of labels, in ascending order."""
    classes = np.unique(checks.labels("y", y))
    if classes.size != 2:
        raise ValueError(f"y must hold labels of two classes, got {classes.tolist()}")
    return classes


def support_of(
    estimator: Any, points: np.ndarray, support: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return support vectors and their counts, summed over all pairs of classes.

    The support vectors are the rows ``support`` of the points, or else the estimator's own.
    """
    counts = _counts(getattr(estimator, "alpha_", None))
    if support is not None:
        rows = checks.indices("support", support, len(points))
        known = counts is not None and counts.size == len(points)
        return points[rows], counts[rows] if known and counts is not None else None
    vectors = _dense(getattr(estimator, "support_vectors_", np.empty((0, 2))))
    if not len(vectors):
        return vectors, None
    if counts is not None:
        own = counts[estimator.support_]
        return vectors, own if own.all() else None  # a polished model is not one of counts
    if hasattr(estimator, "dual_coef_"):  # of another package
        return vectors, np.abs(_dense(estimator.dual_coef_)).sum(axis=0)
    return vectors, None


def _counts(alpha: Any) -> np.ndarray | None:
    """Return the counts of each example, from those of each pair of classes, dense or sparse."""
    if alpha is None or alpha.ndim == 1:
        return alpha
    return np.ravel(alpha.sum(axis=0))


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
