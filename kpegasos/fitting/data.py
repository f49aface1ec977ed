"""Check what a fit is given: rows, targets and weights."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from kpegasos.core.problem import check_weights
from kpegasos.utils.validation import (
    as_number,
    canonical_rows,
    numbers_of,
    plain_labels,
    refuse_masked,
    refuse_times,
    sorted_labels,
    told_of,
)


def checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the rows of X as float64, ones if None: one non-negative number for each row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    refuse_masked("sample_weight", sample_weight)
    refuse_times("sample_weight", sample_weight)
    if isinstance(sample_weight, Number):
        sample_weight = as_number("sample_weight", sample_weight)
    # Later scikit-learn refuses weights that are all zero, as those of a chunk may be.
    known = signature(_check_sample_weight).parameters
    zeros = {"allow_all_zero_weights": True} if "allow_all_zero_weights" in known else {}
    weight: np.ndarray
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, **zeros)
    except (TypeError, ValueError) as error:
        raise told_of(error, "sample_weight must be a number for each row of X") from None
    if weight.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight must not be negative, got a minimum of {weight.min():g} instead"
        )
    check_weights("sample_weight", weight)
    return weight


def takes_sample_weight(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer, one of scikit-learn's or a user's own, takes ``sample_weight``."""
    try:
        return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
    except ValueError:  # compiled functions may have none
        return False


def validated_rows(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool,
    accept_sparse: bool = True,
) -> Any:
    """Return X (and y) as C-ordered or canonical CSR rows of floats, copied only if need be.

    Parameters
    ----------
    estimator : BaseEstimator
        Which learns number and names of the features if ``reset``, else they must be its own. Of a
        regressor y are numbers, else labels of classes.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default="no_validation"
    reset : bool
    accept_sparse : bool, default=True
    """
    labels = not isinstance(estimator, RegressorMixin)
    refuse_masked("X", X)
    refuse_masked("y", y)
    refuse_times("X", X)
    is_sparse = sparse.issparse(X) and accept_sparse
    if is_sparse:
        X = canonical_rows(X)  # before scikit-learn touches it, which trusts indices
    if not (labels or y is None or isinstance(y, str)):
        y = numbers_of(y)
    kinds: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "dtype": [np.float64, np.float32],
        "order": "C",
    }
    try:
        checked = validate_data(estimator, X, y, reset=reset, **kinds)
    except (TypeError, ValueError) as error:
        raise _told(error, X, kinds) from None
    X, y = checked if isinstance(checked, tuple) else (checked, None)
    X = X if is_sparse else canonical_rows(X)
    if y is None or not labels:
        return X if y is None else (X, y)
    y = plain_labels(y)
    if y.dtype.kind == "O":
        sorted_labels("y", y)
    return X, y


def _told(error: Exception, X: Any, kinds: dict[str, Any]) -> Exception:
    """An error that names X or y, where scikit-learn's or NumPy's does not."""
    text = str(error)
    if "feature names" in text or (re.search(r"\b[Xy]\b", text) and "\n" not in text):
        return error
    try:
        check_array(X, **kinds)
    except (TypeError, ValueError):
        return told_of(error, "X must be a matrix of real numbers")
    return told_of(error, "y must be a vector with an entry for each row of X")


def some_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the examples, not all of them zero."""
    weight = checked_weight(sample_weight, X)
    if not weight.any():
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")
    return weight
