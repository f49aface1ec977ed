"""What has to be known of all data before the first step: classes, and what they weigh.

Totals of parts are added, so the parts may lie in other files or on other machines.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from kpegasos.estimators import LinearPegasosSVC
from kpegasos.estimators._one_vs_one import check_weight_range, class_weights
from kpegasos.estimators._online import are_numbers
from kpegasos.estimators._settings import settings_of
from kpegasos.estimators._sklearn_compat import checked_weight
from kpegasos.utils.labels import check_labels, plain_labels


class Totals(NamedTuple):
    """What the problem of a fit depends on beside the rows: examples and weights of each class.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    counts : ndarray of shape (n_classes,)
        Examples of positive weight.
    weights : ndarray of shape (n_classes,)
        Sum of the weights, without ``class_weight``.
    """

    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


def totals_of(y: Any, sample_weight: Any = None) -> Totals:
    """Totals of one chunk.

    Raises
    ------
    ValueError
        If its labels are no classes, or its weights none.
    """
    y = plain_labels(column_or_1d(y))
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y must have finite labels or strings, got NaN or infinity")
    if y.size and y.dtype.kind not in "biuSU":
        check_labels(y)
    weight = checked_weight(sample_weight, y) if y.size else np.zeros(0)
    check_weight_range(weight)
    classes, labels = np.unique(y, return_inverse=True)
    return Totals(
        classes,
        np.bincount(labels, weight > 0, minlength=classes.size),
        np.bincount(labels, weight, minlength=classes.size),
    )


def add_totals(parts: Iterable[Totals]) -> Totals:
    """Totals of all chunks together; classes of weight zero are absent, as they are to `fit`."""
    parts = [part for part in parts if part.classes.size]
    if not parts:
        raise ValueError("chunks must hold examples, got none")
    if len({are_numbers(part.classes) for part in parts}) > 1:
        raise ValueError("y must be numbers in all chunks, or strings, got both")
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    classes, labels = np.unique(columns[0], return_inverse=True)
    counts, weights = (np.bincount(labels, column) for column in columns[1:])
    present = counts > 0
    if not present.any():
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")
    return Totals(classes[present], counts[present], weights[present])


def pair_lams(estimator: LinearPegasosSVC, totals: Totals) -> np.ndarray:
    """The ``lam`` of each pair with which raw weights make the iterates of `fit`.

    `fit` scales the weights of a pair to mean one. With weights as they are the same iterates
    belong to ``lam`` times their mean, since step and margin test are linear in both.
    """
    with np.errstate(over="ignore", under="ignore"):
        weights = totals.weights * class_weights(
            estimator.class_weight, totals.classes, totals.classes
        )
    check_weight_range(weights / totals.counts)
    settings = settings_of(estimator)
    lams = []
    for i, j in combinations(range(totals.classes.size), 2):
        weight, count = weights[i] + weights[j], totals.counts[i] + totals.counts[j]
        lam = settings.lam if settings.lam is not None else 1.0 / (settings.C * weight)
        lams.append(lam * weight / count)
    return np.array(lams)
