"""Where a classifier's probabilities come from, as arrays that other programs can be told.

Decisions of the logistic loss are log-odds; a model of LIBSVM has sigmoids of its pairs; and those
of scikit-learn's `CalibratedClassifierCV` may be fitted around an estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators._fitted import fitted
from kpegasos.exports.model import Sigmoids
from kpegasos.losses import Logistic
from kpegasos.utils.validation import shown


def has_log_odds(estimator: Any) -> bool:
    """Whether decisions of a classifier are log-odds."""
    loss = fitted(estimator, "loss")
    return isinstance(loss, Logistic) or (isinstance(loss, str) and loss == "log_loss")


def own_sigmoids(estimator: Any) -> Sigmoids | None:
    """Those of a fitted classifier itself, None if it has none.

    Parameters
    ----------
    estimator : OneVsOneMixin
    """
    of_file = getattr(estimator, "_sigmoids", None)
    if of_file is not None:
        return Sigmoids(*of_file)
    if not has_log_odds(estimator):
        return None
    n_pairs = estimator.intercept_.size
    return Sigmoids(np.ones(n_pairs), np.zeros(n_pairs))


def sigmoids_around(estimator: Any, calibrated: Any) -> Sigmoids:
    """Those that scikit-learn has fitted around an estimator.

    Parameters
    ----------
    estimator : OneVsOneMixin
    calibrated : CalibratedClassifierCV

    Raises
    ------
    TypeError
        If it is none.
    ValueError
        If it has several models, another one, or no sigmoids.
    """
    if not isinstance(calibrated, CalibratedClassifierCV):
        raise TypeError(
            f"calibrated must be a CalibratedClassifierCV or None, got {shown(calibrated)} instead"
        )
    check_is_fitted(calibrated)
    models = calibrated.calibrated_classifiers_
    if len(models) != 1:
        raise ValueError(
            f"calibrated must have one model, as with ensemble=False, got {len(models)} instead"
        )
    inner = models[0].estimator
    if inner is not estimator and getattr(inner, "estimator", None) is not estimator:
        raise ValueError(
            "calibrated must be fitted around this very estimator, as with FrozenEstimator, got "
            "one around another"
        )
    n_classes = estimator.classes_.size
    shape = fitted(estimator, "decision_function_shape")
    if n_classes > 2 and shape != "ovr":
        raise ValueError(
            "calibrated must be of decisions with decision_function_shape='ovr', got "
            f"{shape!r} instead"
        )
    return sigmoids_of(calibrated)


def sigmoids_of(calibrated: CalibratedClassifierCV) -> Sigmoids:
    """Those of a fitted calibration with one model.

    Parameters
    ----------
    calibrated : CalibratedClassifierCV

    Raises
    ------
    ValueError
        If its method is not "sigmoid".
    """
    if calibrated.method != "sigmoid":
        raise ValueError(
            f"calibrated must have the method 'sigmoid', got {shown(calibrated.method)} instead"
        )
    calibrators = calibrated.calibrated_classifiers_[0].calibrators
    slopes, offsets = np.array([[-each.a_, -each.b_] for each in calibrators], dtype=float).T
    return Sigmoids(slopes, offsets, of_pairs=len(calibrators) == 1)
