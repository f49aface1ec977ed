"""What makes an estimator a regressor: one problem, whose targets are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kpegasos.fitting.model import of_one_model
from kpegasos.fitting.pairs import Numbers
from kpegasos.fitting.training import FitPlan
from kpegasos.solvers.result import Results


class RegressionMixin(RegressorMixin):
    """One problem over all examples, attributes in SVR's layout."""

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Numbers:
        """Targets about their weighted median, as the intercept is regularised like a weight."""
        return Numbers.of(y, weight, centred=self.fit_intercept)

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
