"""Probabilities of a model that has been trained: a sigmoid of its decisions (``-b 1``)."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from kpegasos.cli.fitting import Fit, run_fit

#: Parts of the examples whose decisions are held out in turn, as in LIBSVM.
_FOLDS = 5


def calibration_folds(y: np.ndarray, seed: int) -> StratifiedKFold:
    """Folds in which each class is both trained on and held out.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    seed : int

    Raises
    ------
    ValueError
        If a class has one example only.
    """
    classes, counts = np.unique(y, return_counts=True)
    fewest = int(counts.min())
    if fewest < 2:
        raise ValueError(
            f"--probability needs at least two examples of each class, got one of "
            f"{classes[counts.argmin()]}"
        )
    return StratifiedKFold(min(_FOLDS, fewest), shuffle=True, random_state=seed)


def calibrated(
    fit: Fit, X: Any, y: np.ndarray, folds: StratifiedKFold, options: argparse.Namespace
) -> Fit:
    """Fit a model once more, with a sigmoid of the decisions that are held out.

    Parameters
    ----------
    fit : Fit
        Of the model without probabilities, which is what an interrupt leaves.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    folds : StratifiedKFold
    options : argparse.Namespace

    Returns
    -------
    Fit
        Of a `CalibratedClassifierCV`.
    """
    if hasattr(fit.model, "predict_proba"):  # its loss has them
        return fit
    model = CalibratedClassifierCV(fit.model, method="sigmoid", cv=folds, ensemble=False)
    try:
        second = run_fit(model, lambda: model.fit(X, y), subcommand="train", quiet=options.quiet)
    except KeyboardInterrupt:
        return fit._replace(interrupted=True)
    # The folds have served, and no file needs them.
    model.set_params(cv=_FOLDS)
    return second._replace(seconds=fit.seconds + second.seconds)
