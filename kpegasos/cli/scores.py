"""What predictions are worth, in the words of LIBSVM's ``svm-predict``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error


def squared_correlation(y: np.ndarray, predicted: np.ndarray) -> float:
    """Squared correlation coefficient; NaN if either is constant.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)
    """
    a, b = y - np.mean(y), predicted - np.mean(predicted)
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.square(a @ b) / ((a @ a) * (b @ b)))


def scores_of(y: np.ndarray, predicted: np.ndarray, *, regression: bool) -> dict[str, Any]:
    """Scores of predictions.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)
    regression : bool

    Returns
    -------
    dict
        "accuracy", "correct" and "n_samples" of a classifier; "mean_squared_error",
        "squared_correlation" and "n_samples" of a regression.
    """
    if regression:
        return {
            "mean_squared_error": float(mean_squared_error(y, predicted)),
            "squared_correlation": squared_correlation(y, predicted),
            "n_samples": y.size,
        }
    correct = int((predicted == y).sum())
    return {"accuracy": correct / y.size, "correct": correct, "n_samples": y.size}


def score_lines(scores: dict[str, Any]) -> Iterator[str]:
    """What ``svm-predict`` prints of them.

    Parameters
    ----------
    scores : dict
        Of `scores_of`.
    """
    if "accuracy" in scores:
        share = f"{scores['correct']}/{scores['n_samples']}"
        yield f"Accuracy = {100.0 * scores['accuracy']:g}% ({share}) (classification)"
    else:
        yield f"Mean squared error = {scores['mean_squared_error']:g} (regression)"
        found = f"{scores['squared_correlation']:g}"
        yield f"Squared correlation coefficient = {found} (regression)"


def cross_validation_lines(scores: dict[str, Any]) -> Iterator[str]:
    """What ``svm-train -v`` prints of them.

    Parameters
    ----------
    scores : dict
        Of `scores_of`.
    """
    if "accuracy" in scores:
        yield f"Cross Validation Accuracy = {100.0 * scores['accuracy']:g}%"
    else:
        yield f"Cross Validation Mean squared error = {scores['mean_squared_error']:g}"
        found = f"{scores['squared_correlation']:g}"
        yield f"Cross Validation Squared correlation coefficient = {found}"
