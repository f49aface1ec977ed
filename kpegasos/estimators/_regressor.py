"""What makes an estimator a regressor: one problem, whose targets are numbers."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kpegasos.core.problem import Problem
from kpegasos.estimators._one_model import of_one_model
from kpegasos.estimators._one_vs_one import Pair, Pairs, check_weight_range, lam_of_weights
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._sklearn_compat import Interval
from kpegasos.estimators._training import FitPlan
from kpegasos.solvers.result import Results
from kpegasos.utils.validation import LARGEST


class Numbers(NamedTuple):
    """Targets of the examples, and what they count.

    Attributes
    ----------
    values : ndarray of shape (n_samples,), float64
        Less the offset.
    weight : ndarray of shape (n_samples,)
        Zero for examples that take no part.
    offset : float
        What is taken off the targets, and added to predictions.
    """

    values: np.ndarray
    weight: np.ndarray
    offset: float


class RegressionMixin(RegressorMixin):
    """One problem over all examples, attributes in SVR's layout."""

    #: Those of its own parameters.
    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, LARGEST, closed="both")],
    }
    _has_labels: ClassVar[bool] = False
    fit_intercept: bool

    if TYPE_CHECKING:  # of the estimator

        def _validate(self, X: Any, y: Any = ..., *, reset: bool) -> Any: ...
        def _decide(self, X: Any) -> np.ndarray: ...

    def _check_targets(self, y: np.ndarray) -> None:
        """Nothing more: `validated_rows` takes numbers of a size that will do, and no others."""

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Numbers:
        """Targets about their weighted median, as the intercept is regularised like a weight."""
        check_weight_range(weight)
        offset = _median(y, weight) if self.fit_intercept else 0.0
        return Numbers(y - offset, weight, offset)

    def _arrays(self, targets: Numbers) -> tuple[np.ndarray, np.ndarray]:
        return targets.values, targets.weight

    def _problems(self, targets: Numbers, settings: Settings) -> Pairs:
        """The problem, over the examples that count."""
        members = np.flatnonzero(targets.weight > 0)
        k = settings.options.batch_size
        if k > members.size:
            raise ValueError(
                f"batch_size must be at most the number of examples, {members.size}, "
                f"got {k} instead"
            )
        loss = settings.loss
        pair = the_pair(targets.values, targets.weight, settings.lam, settings.C, loss)
        return Pairs.alone(pair)

    def _attributes(self, plan: FitPlan, targets: Numbers, results: Results) -> dict[str, Any]:
        """Fitted attributes of the model as it stands."""
        members, result = plan.pairs[0].members, results[0]
        coef, alpha = np.zeros((2, targets.values.size))
        coef[members], alpha[members] = result.coef, result.alpha
        support = np.flatnonzero(coef)
        return {
            "alpha_": alpha,
            "support_": support,
            "n_support_": np.array([support.size], dtype=np.int32),
            "dual_coef_": coef[None, support],
            "intercept_": np.array([result.intercept + targets.offset]),
            "lam_": plan.pairs[0].problem.lam,
            "n_steps_": result.n_steps,
            "objective_": result.objective,
            "duality_gap_": result.gap,
            "relative_gap_": result.relative_gap,
            "history_": result.history,
        }

    @of_one_model
    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        """
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False))[:, 0]


def the_pair(
    values: np.ndarray,
    weight: np.ndarray,
    lam: float | None,
    C: float,
    loss: Any,
    *,
    normalise: bool = True,
) -> Pair:
    """The one problem of a regression.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Targets, less the offset.
    weight : ndarray of shape (n_samples,)
        Examples of weight zero are left out.
    lam : float or None
        None for ``1 / (C · Σ weights)``.
    C : float
    loss : Loss
    normalise : bool, default=True
        Whether weights are scaled to mean one; a chunk of a stream keeps its own.
    """
    members = np.flatnonzero(weight > 0)
    own = weight[members]
    lam = lam_of_weights(C, own) if lam is None else lam
    scaled = own / own.mean() if normalise else own
    return Pair(0, (0, 0), members, Problem(values[members], scaled, lam, loss))


def _median(y: np.ndarray, weight: np.ndarray) -> float:
    """A weighted median."""
    order = np.argsort(y, kind="stable")
    sums = np.cumsum(weight[order])
    return float(y[order[np.searchsorted(sums, 0.5 * sums[-1])]])
