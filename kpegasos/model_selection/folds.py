"""Folds: splits made into weights, and checked.

A fold is a vector of weights over all examples, zero for those that it does not train on, so that
folds share whatever is computed between examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from kpegasos.fitting.pairs import Targets
from kpegasos.utils.validation import is_number, shown, told_of

_EXPECTED = "cv must be an integer of at least 2, a splitter or pairs of index arrays (train, test)"


class Folds(NamedTuple):
    """The training and test examples of each fold.

    Attributes
    ----------
    weights : ndarray of shape (n_folds, n_samples), float64
        Weights of the examples, class weights included; zero for those that a fold is not trained
        on.
    tests : list of ndarray of int
        Examples that each fold is tested on; all have weight zero there.
    """

    weights: np.ndarray
    tests: list[np.ndarray]


def make_folds(
    cv: Any,
    X: Any,
    groups: Any,
    y: np.ndarray,
    weight: np.ndarray,
    whole: Targets,
    targets_of: Callable[[np.ndarray, np.ndarray], Targets],
) -> Folds:
    """Return weights and tests of all folds.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As in `sklearn.model_selection.check_cv`.
    X : array-like of shape (n_samples, n_features)
        For the splitter.
    groups : array-like of shape (n_samples,) or None
        For the splitter.
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
        Without class weights. Examples of weight zero are in no training part and in no test.
    whole : Targets
        Of all examples.
    targets_of : callable
        ``targets_of(y, weight)``, with the class weights of the examples of positive weight.

    Returns
    -------
    Folds
        An example that a training part has more than once counts as often.

    Raises
    ------
    ValueError
        If there are no folds, or one is empty, lacks a class, or is tested on what it trains on.
    """
    weights, tests = [], []
    for fold, (train, test) in enumerate(_splits(cv, X, y, groups)):
        train = _indices(f"the training part of fold {fold}", train, y.size)
        test = _indices(f"the test part of fold {fold}", test, y.size)
        train, test = train[weight[train] > 0], test[weight[test] > 0]
        both = np.intersect1d(train, test)
        if both.size:
            raise ValueError(
                f"cv must test each fold on other examples than it trains on, got example "
                f"{both[0]} in both parts of fold {fold}"
            )
        if test.size == 0:
            raise ValueError(
                f"cv must test each fold on an example of positive sample_weight, got none in "
                f"fold {fold}"
            )
        counts = np.bincount(whole.labels[train], minlength=whole.classes.size)
        if counts.min() == 0:
            raise ValueError(
                f"cv must leave examples of each class to train on, got none of class "
                f"{_first_without(counts, whole)} in fold {fold}"
            )
        own = np.zeros(y.size)
        np.add.at(own, train, weight[train])
        weights.append(targets_of(y, own).weight)
        tests.append(test)
    if not tests:
        raise ValueError("cv must give at least one fold, got none")
    return Folds(np.array(weights), tests)


def check_all_classes_are_tested(folds: Folds, whole: Targets) -> None:
    """Check that decisions of each class can be calibrated.

    Raises
    ------
    ValueError
        If a class is in no test.
    """
    counts = np.bincount(whole.labels[np.concatenate(folds.tests)], minlength=whole.classes.size)
    if counts.min() == 0:
        raise ValueError(
            f"cv must test examples of each class for calibration, got none of class "
            f"{_first_without(counts, whole)}"
        )


def _first_without(counts: np.ndarray, whole: Targets) -> str:
    """Return the first class without examples."""
    return shown(whole.classes[counts == 0].tolist()[0])


def _splits(cv: Any, X: Any, y: np.ndarray, groups: Any) -> list[tuple[Any, Any]]:
    """Training and test part of each fold, as they come."""
    splitter = not isinstance(cv, str) and hasattr(cv, "split")
    if not (cv is None or is_number(cv, Integral) or splitter or isinstance(cv, Iterable)):
        raise ValueError(f"{_EXPECTED}, got {shown(cv)} instead")
    try:
        made = isinstance(cv, Iterable) and not splitter
        splits = list(cv if made else check_cv(cv, y, classifier=True).split(X, y, groups))
    except (TypeError, ValueError) as error:
        raise told_of(error, _EXPECTED) from None
    for split in splits:
        if not isinstance(split, tuple | list) or len(split) != 2:
            raise ValueError(f"{_EXPECTED}, got {shown(split)} instead")
    return [(train, test) for train, test in splits]


def _indices(what: str, given: Any, n_samples: int) -> np.ndarray:
    """Return indices of examples; a mask of all examples is taken as well."""
    try:
        indices = np.asarray(given)
    except ValueError:
        indices = np.array(None)
    if indices.dtype.kind == "b" and indices.shape == (n_samples,):
        return np.flatnonzero(indices)
    if indices.size == 0 and indices.ndim == 1:
        return np.zeros(0, dtype=np.intp)
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise ValueError(f"{_EXPECTED}, got {shown(given)} as {what}")
    wrong = indices[(indices < 0) | (indices >= n_samples)]
    if wrong.size:
        raise ValueError(
            f"cv must have indices from 0 to {n_samples - 1}, got {wrong[0]} in {what}"
        )
    return indices.astype(np.intp)
