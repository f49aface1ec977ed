"""Totals of all data, known before the first step: classes or a mean, and their weights.

Totals of parts are added, so the parts may lie in other files or on other machines. Numbers are
all of one class here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from kpegasos.estimators import LinearPegasosSVR
from kpegasos.fitting.inputs import checked_weight, settings_of
from kpegasos.fitting.pairs import check_weight_range, class_weights
from kpegasos.fitting.streams import (
    OnlineClassifier,
    OnlineModel,
    OnlineRegressor,
    are_numbers,
    unique_classes,
)
from kpegasos.utils.validation import check_labels, numbers_of, plain_labels, shown


class Totals(NamedTuple):
    """Facts on which the problems depend beside the rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        A zero of numbers.
    counts : ndarray of shape (n_classes,)
        Examples of positive weight.
    weights : ndarray of shape (n_classes,)
        Sum of the weights, without ``class_weight``.
    weighted : ndarray of shape (n_classes,)
        Sum of the numbers times their weights; 0 of labels.
    """

    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    weighted: np.ndarray

    @classmethod
    def of(cls, y: Any, sample_weight: Any = None, *, numbers: bool) -> Totals:
        """Return totals of one chunk, whose targets are numbers or labels.

        Raises
        ------
        ValueError
            If its targets are neither, or its weights none.
        """
        y = numbers_of(y) if numbers else plain_labels(column_or_1d(y))
        if not numbers and y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y must have finite labels or strings, got NaN or infinity")
        if not numbers and y.size and y.dtype.kind not in "biuSU":
            check_labels(y)
        weight = checked_weight(sample_weight, y) if y.size else np.zeros(0)
        check_weight_range(weight)
        if numbers:
            sums = [[np.count_nonzero(weight)], [weight.sum()], [weight @ y]]
            return cls(*(np.array(column[: y.size], dtype=float) for column in ([0.0], *sums)))
        classes, labels = np.unique(y, return_inverse=True)
        counts = np.bincount(labels, weight > 0, minlength=classes.size)
        weights = np.bincount(labels, weight, minlength=classes.size)
        return cls(classes, counts, weights, np.zeros(classes.size))

    @classmethod
    def sum(cls, parts: Iterable[Totals]) -> Totals:
        """Add totals of all chunks; classes of weight zero are absent, as they are to `fit`.

        Raises
        ------
        ValueError
            If nothing has weight, or kinds of labels differ.
        """
        parts = [part for part in parts if part.classes.size]
        if not parts:
            raise ValueError("chunks must hold examples, got none")
        if len({are_numbers(part.classes) for part in parts}) > 1:
            raise ValueError("y must be numbers in all chunks, or strings, got both")
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        classes, labels = np.unique(columns[0], return_inverse=True)
        sums = [np.bincount(labels, column) for column in columns[1:]]
        present = sums[0] > 0
        if not present.any():
            raise ValueError("sample_weight must have a positive entry, got zeros only instead")
        return cls(classes[present], *(column[present] for column in sums))

    def begin(self, estimator: Any, classes: Any = None) -> OnlineModel:
        """Return the stream of an estimator on all data, for weights as they are.

        Parameters
        ----------
        estimator : LinearPegasosSVC or LinearPegasosSVR
        classes : array-like of shape (n_classes,), default=None
            What the user takes for the classes.

        Raises
        ------
        ValueError
            If these are not the classes.
        """
        if isinstance(estimator, LinearPegasosSVR):
            mean = float(self.weighted[0] / self.weights[0])
            return OnlineRegressor(estimator, self.lams(estimator), mean)
        if classes is not None and not np.array_equal(unique_classes(classes), self.classes):
            raise ValueError(
                f"classes must be those of the chunks, {self.classes.tolist()}, "
                f"got {unique_classes(classes).tolist()} instead"
            )
        return OnlineClassifier(estimator, self.classes, self.lams(estimator))

    def lams(self, estimator: Any) -> np.ndarray:
        """Return the ``lam`` of each problem with which raw weights make the iterates of `fit`.

        `fit` scales weights to mean one. With weights as they are the same iterates belong to
        ``lam`` times their mean, since a step is linear in both, and the decisions that it tests
        are the same.
        """
        settings, weights = settings_of(estimator), self.weights
        if not isinstance(estimator, LinearPegasosSVR):
            with np.errstate(over="ignore", under="ignore"):
                weights = weights * class_weights(
                    estimator.class_weight, self.classes, self.classes
                )
            check_weight_range(weights / self.counts)
        weights, counts = self._by_problem(weights), self._by_problem(self.counts)
        lam = 1.0 / (settings.C * weights) if settings.lam is None else settings.lam
        return np.asarray(lam * weights / counts)

    def sizes(self, parts: Sequence[Totals]) -> np.ndarray:
        """Tell how many examples of weight there are of each problem in each part."""
        counts = np.zeros((self.classes.size, len(parts)))
        for number, part in enumerate(parts):
            present = np.isin(part.classes, self.classes)  # others have no weight anywhere
            rows = np.searchsorted(self.classes, part.classes[present])
            counts[rows, number] = part.counts[present]
        return self._by_problem(counts)

    def _by_problem(self, of_classes: np.ndarray) -> np.ndarray:
        """Return sums over the classes of each pair; what there is of numbers."""
        pairs = list(combinations(of_classes, 2))
        return np.array([one + other for one, other in pairs]) if pairs else of_classes


def begin_without(estimator: Any, classes: Any) -> OnlineModel | str:
    """Return the stream of an estimator that needs no totals, or what is missing in words."""
    if isinstance(estimator, LinearPegasosSVR):
        if classes is not None:
            raise ValueError(f"classes must be None for a regressor, got {shown(classes)} instead")
        return "lam is" if estimator.lam is None else OnlineRegressor(estimator)
    if classes is None or estimator.lam is None:
        return "classes or lam are"
    return OnlineClassifier(estimator, classes)
