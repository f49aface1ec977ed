"""What has to be known of all data before the first step: classes or a mean, and what they weigh.

Totals of parts are added, so the parts may lie in other files or on other machines. There are two
kinds, of labels and of numbers; `kind_of_totals` says which one an estimator has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from kpegasos.estimators import LinearPegasosSVR
from kpegasos.estimators._one_vs_one import check_weight_range, class_weights
from kpegasos.estimators._online import (
    OnlineClassifier,
    OnlineRegressor,
    are_numbers,
    unique_classes,
)
from kpegasos.estimators._settings import settings_of
from kpegasos.estimators._sklearn_compat import checked_weight
from kpegasos.utils.labels import check_labels, plain_labels
from kpegasos.utils.validation import numbers_of, shown


class ClassTotals(NamedTuple):
    """What the problems of classes depend on beside the rows.

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

    @staticmethod
    def missing(estimator: Any, classes: Any) -> str:
        """What has to be read off the data, as a message says it; empty if nothing has."""
        return "classes or lam are" if classes is None or estimator.lam is None else ""

    @staticmethod
    def begin_without(estimator: Any, classes: Any) -> OnlineClassifier:
        """The stream of an estimator for which nothing is missing."""
        return OnlineClassifier(estimator, classes)

    @classmethod
    def of(cls, y: Any, sample_weight: Any = None) -> ClassTotals:
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
        weight = _weight_of(y, sample_weight)
        classes, labels = np.unique(y, return_inverse=True)
        return cls(
            classes,
            np.bincount(labels, weight > 0, minlength=classes.size),
            np.bincount(labels, weight, minlength=classes.size),
        )

    @classmethod
    def sum(cls, parts: Iterable[ClassTotals]) -> ClassTotals:
        """Totals of all chunks together; classes of weight zero are absent, as they are to `fit`.

        Raises
        ------
        ValueError
            If nothing has weight, or kinds of labels differ.
        """
        parts = [part for part in parts if part.classes.size]
        _check_examples(len(parts))
        if len({are_numbers(part.classes) for part in parts}) > 1:
            raise ValueError("y must be numbers in all chunks, or strings, got both")
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        classes, labels = np.unique(columns[0], return_inverse=True)
        counts, weights = (np.bincount(labels, column) for column in columns[1:])
        present = counts > 0
        _check_weights(present.any())
        return cls(classes[present], counts[present], weights[present])

    def begin(self, estimator: Any, classes: Any = None) -> OnlineClassifier:
        """The stream of an estimator on all data, for weights as they are.

        Parameters
        ----------
        estimator : LinearPegasosSVC
        classes : array-like of shape (n_classes,), default=None
            What the user takes for the classes.

        Raises
        ------
        ValueError
            If these are not the classes.
        """
        if classes is not None and not np.array_equal(unique_classes(classes), self.classes):
            raise ValueError(
                f"classes must be those of the chunks, {self.classes.tolist()}, "
                f"got {unique_classes(classes).tolist()} instead"
            )
        return OnlineClassifier(estimator, self.classes, self.lams(estimator))

    def lams(self, estimator: Any) -> np.ndarray:
        """The ``lam`` of each pair with which raw weights make the iterates of `fit`."""
        with np.errstate(over="ignore", under="ignore"):
            by_class = class_weights(estimator.class_weight, self.classes, self.classes)
            weights = self.weights * by_class
        check_weight_range(weights / self.counts)
        pairs = combinations(range(self.classes.size), 2)
        return np.array(
            [
                _lam(estimator, weights[i] + weights[j], self.counts[i] + self.counts[j])
                for i, j in pairs
            ]
        )

    def sizes(self, parts: Sequence[ClassTotals]) -> np.ndarray:
        """How many examples there are of each pair in each part: (n_pairs, n_parts)."""
        counts = np.zeros((self.classes.size, len(parts)))
        for number, part in enumerate(parts):
            present = np.isin(part.classes, self.classes)  # others have no weight anywhere
            rows = np.searchsorted(self.classes, part.classes[present])
            counts[rows, number] = part.counts[present]
        pairs = combinations(range(self.classes.size), 2)
        return np.array([counts[i] + counts[j] for i, j in pairs])


class NumberTotals(NamedTuple):
    """What the problem of a regression depends on beside the rows.

    Attributes
    ----------
    n_examples : int
        Examples of any weight.
    n_weighty : int
        Those of positive weight.
    weight : float
        Sum of the weights.
    weighted : float
        Sum of the targets, times their weights.
    """

    n_examples: int
    n_weighty: int
    weight: float
    weighted: float

    @staticmethod
    def missing(estimator: Any, classes: Any) -> str:
        """What has to be read off the data, as a message says it; empty if nothing has."""
        _check_no_classes(classes)
        return "lam is" if estimator.lam is None else ""

    @staticmethod
    def begin_without(estimator: Any, classes: Any) -> OnlineRegressor:
        """The stream of an estimator for which nothing is missing."""
        return OnlineRegressor(estimator)

    @classmethod
    def of(cls, y: Any, sample_weight: Any = None) -> NumberTotals:
        """Totals of one chunk.

        Raises
        ------
        ValueError
            If its targets are no numbers, or its weights none.
        """
        y = numbers_of(y)
        weight = _weight_of(y, sample_weight)
        n_weighty = int(np.count_nonzero(weight))
        return cls(y.size, n_weighty, float(weight.sum()), float(weight @ y))

    @classmethod
    def sum(cls, parts: Iterable[NumberTotals]) -> NumberTotals:
        """Totals of all chunks together.

        Raises
        ------
        ValueError
            If nothing has weight.
        """
        columns = list(zip(*parts, strict=True)) or [(), (), (), ()]
        n_examples, n_weighty = sum(columns[0]), sum(columns[1])
        _check_examples(n_examples)
        _check_weights(n_weighty > 0)
        return cls(n_examples, n_weighty, sum(columns[2]), sum(columns[3]))

    def begin(self, estimator: Any, classes: Any = None) -> OnlineRegressor:
        """The stream of an estimator on all data, for weights as they are."""
        _check_no_classes(classes)
        lams = np.array([_lam(estimator, self.weight, self.n_weighty)])
        return OnlineRegressor(estimator, lams, self.weighted / self.weight)

    def sizes(self, parts: Sequence[NumberTotals]) -> np.ndarray:
        """How many examples of weight there are in each part: (1, n_parts)."""
        return np.array([[part.n_weighty for part in parts]], dtype=np.float64)


Totals = ClassTotals | NumberTotals


def kind_of_totals(estimator: Any) -> Any:
    """The kind of totals that an estimator's targets have."""
    return NumberTotals if isinstance(estimator, LinearPegasosSVR) else ClassTotals


def _weight_of(y: np.ndarray, sample_weight: Any) -> np.ndarray:
    """Weights of targets; none of an empty part."""
    weight = checked_weight(sample_weight, y) if y.size else np.zeros(0)
    check_weight_range(weight)
    return weight


def _lam(estimator: Any, weight: float, n_examples: float) -> float:
    """The ``lam`` with which raw weights make the iterates of `fit`.

    `fit` scales weights to mean one. With weights as they are the same iterates belong to ``lam``
    times their mean, since a step is linear in both, and the decisions that it tests are the same.
    """
    settings = settings_of(estimator)
    lam = settings.lam if settings.lam is not None else 1.0 / (settings.C * weight)
    return float(lam * weight / n_examples)


def _check_examples(n_examples: int) -> None:
    if not n_examples:
        raise ValueError("chunks must hold examples, got none")


def _check_weights(are_there: Any) -> None:
    if not are_there:
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")


def _check_no_classes(classes: Any) -> None:
    if classes is not None:
        raise ValueError(f"classes must be None for a regressor, got {shown(classes)} instead")
