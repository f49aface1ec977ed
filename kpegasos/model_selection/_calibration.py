"""Probabilities from decisions, by scikit-learn's calibration.

`CalibratedClassifierCV` fits its calibrators to the decisions of an estimator. Here these are given
as its features, and the estimator hands them on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from kpegasos.estimators._one_vs_one import one_vs_rest


class DecisionsAsFeatures(ClassifierMixin, BaseEstimator):
    """A classifier whose decisions are the features that it is given."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> DecisionsAsFeatures:
        """Learn the classes."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the features; a vector of the only one."""
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of each example, of shape (n_samples,)."""
        chosen = X.argmax(axis=1) if X.shape[1] > 1 else (X[:, 0] > 0).astype(np.intp)
        predicted: np.ndarray = self.classes_[chosen]
        return predicted


def calibrate(
    method: str, decisions: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
) -> CalibratedClassifierCV:
    """Fit calibrators to held-out decisions.

    Parameters
    ----------
    method : {"sigmoid", "isotonic"}
    decisions : ndarray of shape (n_samples, n_pairs)
        Signs as in `OneVsOneMixin`.
    y : ndarray of shape (n_samples,)
        Examples of each class.
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    CalibratedClassifierCV
        For features that are made by `features_of`.
    """
    everything = np.arange(y.size)
    calibrated = CalibratedClassifierCV(
        DecisionsAsFeatures(), method=method, cv=[(everything, everything)], ensemble=False
    )
    # The stand-in's fit asks for nothing that could be routed.
    with config_context(enable_metadata_routing=False):
        calibrated.fit(features_of(decisions, np.unique(y).size), y, sample_weight)
    return calibrated


def features_of(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """A column for each class, or the only one for two classes.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
    n_classes : int
    """
    return decisions if n_classes == 2 else one_vs_rest(decisions, n_classes)
