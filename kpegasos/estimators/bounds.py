"""Certified predictions: intervals for the decisions of the exact solution.

The objective is lam-strongly convex, so the exact solution w* lies in a ball around the model:
``lam/2 ‖w − w*‖² <= P(w) − P(w*) <= gap``. A decision is ``<w, φ(x)>``, with the constant feature
within φ, so that of the exact solution is off by no more than ``sqrt(2 gap / lam) ‖φ(x)‖``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kpegasos.fitting.model import fitted, of_one_model
from kpegasos.fitting.pairs import one_vs_rest_bounds
from kpegasos.utils import tuning
from kpegasos.utils.validation import as_array, shown, warn_caller

#: Spacing of float64 at 1.
EPS = float(np.finfo(np.float64).eps)


class Enclosed(NamedTuple):
    """Decisions of a model, and what bounds those of the exact solution.

    Attributes
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        Those that the model predicts by.
    closest, rounding : ndarray of shape (n_samples, n_pairs)
        The same with as little rounding as possible, and a bound on that.
    squared_norms : ndarray of shape (n_samples,)
        Upper bounds of ``‖φ(x)‖²``.
    """

    decisions: np.ndarray
    closest: np.ndarray
    rounding: np.ndarray
    squared_norms: np.ndarray


def squared_constant(estimator: Any) -> float:
    """Return what the constant feature adds to each kernel value of a model."""
    has_one = fitted(estimator, "fit_intercept")
    return float(fitted(estimator, "intercept_scaling")) ** 2 if has_one else 0.0


def _validated(estimator: Any, X: Any, diagonal: Any) -> tuple[Any, np.ndarray | None]:
    """Return X and ``k(x, x)``, checked, for a model with a certificate.

    Raises
    ------
    AttributeError
        If the model has none, or a free intercept.
    ValueError
        Naming the parameter, what was expected and what came.
    """
    check_is_fitted(estimator)
    X = estimator._validate(X, reset=False)
    if not hasattr(estimator, "duality_gap_"):
        raise AttributeError(
            f"{type(estimator).__name__} has no bounds of decisions without duality_gap_, which "
            "models that were trained in parts or read from LIBSVM's format do not have"
        )
    if fitted(estimator, "fit_intercept") == "free":
        raise AttributeError(
            f"{type(estimator).__name__} has no bounds of decisions with fit_intercept='free', as "
            "a gap bounds the distance to the optimum in what is regularised, and not in the rest"
        )
    precomputed = hasattr(estimator, "_kernel") and estimator._kernel is None
    if precomputed == (diagonal is None):
        raise ValueError(
            f"diagonal must be k(x, x) of each row of X with kernel='precomputed', and None with "
            f"others, got {shown(diagonal)} instead"
        )
    if diagonal is None:
        return X, None
    values = as_array("diagonal", diagonal)
    if values.shape != X.shape[:1] or not (np.isfinite(values) & (values >= 0.0)).all():
        raise ValueError(
            f"diagonal must be a finite number, not negative, for each of {X.shape[0]} rows, "
            f"got {shown(diagonal)} instead"
        )
    return X, values


#: Decisions that are bounded together: 64 MiB with temporaries.
_BOUNDED_TOGETHER = 64 * tuning.MEBIBYTE // 128


def bounds_of_pairs(
    estimator: Any, X: Any, diagonal: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield bounds of the decisions of exact solution and model, some rows at a time.

    Parameters
    ----------
    estimator : OneVsOneMixin or RegressionMixin
    X, diagonal
        As the public methods take them.

    Yields
    ------
    lower, upper : ndarray of shape (n_rows, n_pairs)
        Infinite where the gap is NaN.
    """
    X, diagonal = _validated(estimator, X, diagonal)
    radius = np.sqrt(2.0 * np.atleast_1d(estimator.duality_gap_) / np.atleast_1d(estimator.lam_))
    height = max(1, _BOUNDED_TOGETHER // radius.size)
    for top in range(0, max(1, X.shape[0]), height):
        part = slice(top, top + height)
        some = None if diagonal is None else diagonal[part]
        decisions, closest, rounding, squared_norms = estimator._enclosed(X[part], some)
        error = (1.0 + 16.0 * EPS) * np.sqrt(squared_norms)[:, None] * radius + rounding
        error += 4.0 * EPS * (np.abs(closest) + np.abs(estimator.intercept_))
        error[np.isnan(error)] = np.inf
        yield np.minimum(decisions, closest - error), np.maximum(decisions, closest + error)


#: Fewer rows may all be uncertain by chance; a smaller share of certain rows is nearly none.
_FEW_ROWS, _NEARLY_NOTHING = 10, 0.1


def warn_of_gap(
    estimator: Any,
    certain: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    is_decided: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> None:
    """Warn which ``tol`` would make most predictions certain where nearly none is.

    Parameters
    ----------
    estimator : OneVsOneMixin
    certain : ndarray of shape (n_samples,), bool
    ends : tuple of ndarray of shape (n_rows, n_pairs)
        Those of `bounds_of_pairs` for some of the rows.
    is_decided : callable
        ``is_decided(lower, upper)`` is true where all decisions within bounds give the same class.

    Warns
    -----
    UserWarning
        Once, if there is such a ``tol``.
    """
    if certain.size < _FEW_ROWS or certain.mean() >= _NEARLY_NOTHING:
        return
    lower, upper = ends
    if not np.isfinite(upper).all():  # no gap is certified
        return
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    gaps = np.maximum(np.atleast_1d(estimator.relative_gap_), np.finfo(np.float64).tiny)
    for tol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):  # widths go with the square root of the gap
        width = half * np.minimum(1.0, np.sqrt(tol / gaps))
        if is_decided(middle - width, middle + width).mean() > 0.5:
            warn_caller(
                f"{type(estimator).__name__}.is_certified is certain of {certain.mean():.0%} of "
                f"the predictions, with a certified relative gap of {gaps.max():.2g}; with "
                f"polish=True and tol={tol:g} it would be of most."
            )
            return


class BoundsMixin:
    """Intervals for the decisions of the exact solution."""

    @of_one_model
    def decision_bounds(self: Any, X: Any, diagonal: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals that hold the decisions of the exact solution.

        The exact solution is the minimum of the model's objective. Its decisions differ from the
        model's by at most ``sqrt(2 duality_gap_ / lam_) ‖φ(x)‖``, and by rounding. The intervals
        include both, and the model's own decisions. They are infinite where the kernel is not
        positive semi-definite, and the gap NaN.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        diagonal : array-like of shape (n_samples,), default=None
            ``k(x, x)`` of each row, with ``kernel="precomputed"`` only.

        Returns
        -------
        lower, upper : ndarray, float64
            Ends, of the shape of ``decision_function``, or of ``predict`` of a regressor. For
            several classes with ``decision_function_shape="ovr"``, bounds of the votes made
            continuous.

        Raises
        ------
        AttributeError
            If the model was trained in parts or read from LIBSVM's format, and has no certificate;
            or if it has a free intercept, which a gap does not bound.
        ValueError
            Naming the parameter, what was expected and what came.
        """
        classes = getattr(self, "classes_", np.empty(1))
        parts = list(bounds_of_pairs(self, X, diagonal))
        if len(classes) > 2 and self._votes()[0] == "ovr":
            parts = [one_vs_rest_bounds(*ends, len(classes)) for ends in parts]
        lower, upper = map(np.concatenate, zip(*parts, strict=True))
        return (lower, upper) if len(classes) > 2 else (lower[:, 0], upper[:, 0])
