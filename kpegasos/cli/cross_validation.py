"""Cross-validation as ``svm-train -v`` does it: predictions of all held-out examples together."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from kpegasos.cli.reports import print_json, warnings_as_lines
from kpegasos.cli.scores import cross_validation_lines, scores_of


def folds_for(y: np.ndarray, n_folds: int, seed: int, *, regression: bool = False) -> Any:
    """Folds of shuffled examples, with equal shares of the classes.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    n_folds : int
    seed : int
    regression : bool, default=False

    Raises
    ------
    ValueError
        If a class, or all of the examples, are fewer than the folds.
    """
    fewest = y.size if regression else int(np.unique(y, return_counts=True)[1].min())
    if fewest < n_folds:
        of = "examples" if regression else "examples of each class"
        raise ValueError(f"--folds must be at most the number of {of}, {fewest}, got {n_folds}")
    kind = KFold if regression else StratifiedKFold
    return kind(n_folds, shuffle=True, random_state=seed)


def cross_validate(estimator: Any, X: Any, y: np.ndarray, options: argparse.Namespace) -> int:
    """Print the score of held-out predictions; returns the exit status.

    Parameters
    ----------
    estimator : BaseEstimator
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    options : argparse.Namespace
    """
    begin = time.perf_counter()
    folds = folds_for(y, options.folds, options.seed, regression=bool(options.regression))
    with warnings_as_lines("train", quiet=options.quiet):
        predicted = cross_val_predict(estimator, X, y, cv=folds)
    scores = scores_of(y, predicted, regression=bool(options.regression))
    if options.json:
        seconds = time.perf_counter() - begin
        print_json({**scores, "folds": options.folds, "seconds": seconds})
    else:
        for line in cross_validation_lines(scores):
            print(line)
    return 0
