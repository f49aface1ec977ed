"""Early stopping: examples that are set aside, and when their accuracy no longer rises."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

from kpegasos.estimators._sklearn_compat import CheckpointObserver, Model
from kpegasos.utils.validation import as_integer


def draw_aside(y: np.ndarray, weight: np.ndarray, fraction: float, random_state: Any) -> np.ndarray:
    """Examples to set aside, the same share of each class, among those that count.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
        Examples of weight zero are as good as absent.
    fraction : float
        Share of the examples.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray of shape (n_aside,), int

    Raises
    ------
    ValueError
        If a class has a single example, or the share is less than one example of each class.
    """
    counting = np.flatnonzero(weight > 0)
    classes, counts = np.unique(y[counting], return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"early_stopping needs at least two examples (of positive sample_weight) of each "
            f"class, got one of {classes[counts < 2].tolist()}"
        )
    n_aside = math.ceil(fraction * counting.size)
    if not classes.size <= n_aside <= counting.size - classes.size:
        raise ValueError(
            f"validation_fraction must set one example of each of the {classes.size} classes aside "
            f"and leave another, got {fraction:g} of {counting.size} examples of positive "
            f"sample_weight"
        )
    aside: np.ndarray = train_test_split(
        counting, test_size=fraction, stratify=y[counting], random_state=random_state
    )[1]
    return aside


class EarlyStopping(CheckpointObserver):
    """Stops a fit when the accuracy on examples set aside has not risen for some checkpoints.

    Parameters
    ----------
    estimator : LinearPegasosSVC
    X, y, weight : array-like
        The examples that were set aside, validated.
    """

    def __init__(self, estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        self._estimator = estimator
        self._data = X, y, weight
        self._patience = as_integer("n_iter_no_change", estimator.n_iter_no_change, least=1)
        self.scores: list[float] = []

    def on_checkpoint(self, model: Model) -> bool:
        """Score the model; true if it has been no better for long enough."""
        X, y, weight = self._data
        fitted = copy.copy(self._estimator)
        vars(fitted).update(model())
        predicted = fitted._by_blocks(X, fitted._vote)
        self.scores.append(float(accuracy_score(y, predicted, sample_weight=weight)))
        recent, before = self.scores[-self._patience :], self.scores[: -self._patience]
        return bool(before) and max(recent) <= max(before)

    def attributes(self) -> dict[str, Any]:
        """The scores, as ``validation_scores_``."""
        return {"validation_scores_": self.scores}
