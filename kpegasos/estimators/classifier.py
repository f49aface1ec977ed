"""What makes an estimator of binary runs a classifier: targets, pairs of classes, votes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators.exports import has_log_odds, own_sigmoids
from kpegasos.exports.model import check_ties
from kpegasos.fitting.model import fitted, of_one_model
from kpegasos.fitting.pairs import Pairs, Targets, assemble, assemble_counts, one_vs_rest, vote
from kpegasos.fitting.training import FitPlan
from kpegasos.solvers.result import Results
from kpegasos.utils import tuning


def couple(of_pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of the classes.

    Parameters
    ----------
    of_pairs : ndarray of shape (n_samples, n_pairs)
        Of the first class of each pair; with two classes, of the second.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to one.
    """
    if n_classes == 2:
        return np.column_stack((1.0 - of_pairs[:, 0], of_pairs[:, 0]))
    n_samples = len(of_pairs)
    r = np.zeros((n_samples, n_classes, n_classes))
    for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = of_pairs[:, number], 1.0 - of_pairs[:, number]
    other_way = r.transpose(0, 2, 1)
    Q = -other_way * r
    classes = np.arange(n_classes)
    Q[:, classes, classes] = (other_way**2).sum(axis=2)
    # Where the gradient along the simplex is zero: Q p + b = 0 and Σ p = 1.
    system = np.ones((n_samples, n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = Q
    system[:, -1, -1] = 0.0
    right = np.zeros((n_samples, n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(0.0, np.linalg.solve(system, right)[:, :-1, 0])
    return np.asarray(p / p.sum(axis=1, keepdims=True))


#: Decisions that are voted on together: with what the vote makes of each, 64 MiB.
_VOTED_TOGETHER = 64 * tuning.MEBIBYTE // 32


def _gives_probabilities(estimator: Any) -> bool:
    """Whether decisions are log-odds, or a file has said what they are."""
    if has_log_odds(estimator) or hasattr(estimator, "_sigmoids"):
        return True
    raise AttributeError(
        "predict_proba is only available with loss='log_loss'; for other losses see "
        "CalibratedClassifierCV, or PegasosSVCCV(calibration=...)"
    )


class OneVsOneMixin(ClassifierMixin):
    """A binary problem for each pair of classes, attributes in SVC's layout, SVC's vote."""

    classes_: np.ndarray

    # --- fit ---

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Targets:
        return Targets.of(y, weight, self.class_weight)

    def _attributes(self, plan: FitPlan, targets: Targets, results: Results) -> dict[str, Any]:
        """Fitted attributes of the model as it stands."""
        pairs, binary = plan.pairs, targets.classes.size == 2

        def per_pair(name: str) -> Any:
            values = results.column(name)
            return values[0] if binary else np.array(values)

        coefs, labels = results.of_members("coef"), targets.labels
        return {
            "classes_": targets.classes,
            "alpha_": self._counts(pairs, results, labels.size, plan.settings.counts),
            **assemble(pairs, coefs, labels, targets.classes.size),
            "intercept_": np.array(results.column("intercept")),
            "lam_": pairs.lam.item(0) if binary else pairs.lam,
            "n_steps_": per_pair("n_steps"),
            "objective_": per_pair("objective"),
            "duality_gap_": per_pair("gap"),
            "relative_gap_": per_pair("relative_gap"),
            "history_": results.column("history")[0] if binary else results.column("history"),
        }

    @staticmethod
    def _counts(pairs: Pairs, results: Results, n_samples: int, whole: bool) -> Any:
        """Violations of each example: a vector for two classes, else sparse, a row a pair."""
        counts = results.of_members("alpha")
        if whole:
            counts = counts.astype(np.int64)
        if len(pairs) > 1:
            return assemble_counts(pairs, counts, n_samples)
        alpha = np.zeros(n_samples, counts.dtype)
        alpha[pairs.members] = counts
        return alpha

    # --- predict ---

    @of_one_model
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, positive for ``classes_[1]``. For more, by
            ``decision_function_shape``: ``"ovr"`` is the votes made continuous, ``"ovo"`` is one
            column a pair, positive for the first.
        """
        check_is_fitted(self)
        X, n_classes = self._validate(X, reset=False), len(self.classes_)
        if n_classes == 2:
            return self._decide(X)[:, 0]
        if fitted(self, "decision_function_shape") == "ovo":
            return self._decide(X)
        return self._by_blocks(X, lambda d: one_vs_rest(d, n_classes))

    @of_one_model
    def predict(self, X: Any) -> np.ndarray:
        """Class of each example, of shape (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.
        """
        check_is_fitted(self)
        check_ties(fitted(self, "decision_function_shape"), fitted(self, "break_ties"))
        return self._by_blocks(self._validate(X, reset=False), self._vote)

    @available_if(_gives_probabilities)
    @of_one_model
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, with ``loss="log_loss"`` or of a LIBSVM model that has them.

        The sigmoid of a decision is a probability; those of the pairs are coupled as in SVC (Wu,
        Lin, Weng, JMLR 2004). A model that ``svm-train -b 1`` has written has sigmoids of its own.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values against the training examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        n_classes, sigmoids = len(self.classes_), own_sigmoids(self)
        assert sigmoids is not None
        slopes, offsets, _ = sigmoids
        return self._by_blocks(
            self._validate(X, reset=False),
            lambda decisions: couple(expit(slopes * decisions + offsets), n_classes),
        )

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):  # of a probability that is 0
            return np.log(self.predict_proba(X))

    def _decisions_of_pairs(self, X: Any) -> np.ndarray:
        """Decisions of all pairs, whatever the shape that `decision_function` has."""
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False))

    def _by_blocks(self, X: Any, of_decisions: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What is made of the decisions of all pairs, a block of rows at a time."""
        height = max(1, _VOTED_TOGETHER // max(1, np.size(self.intercept_)))
        parts = [
            of_decisions(self._decide(X[top : top + height]))
            for top in range(0, max(1, X.shape[0]), height)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _vote(self, decisions: np.ndarray) -> np.ndarray:
        """Classes by the decisions of all pairs."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            chosen = (decisions[:, 0] > 0).astype(np.intp)
        elif fitted(self, "break_ties"):
            chosen = one_vs_rest(decisions, n_classes).argmax(axis=1)
        else:
            # Of a model that was read: the order of its classes in the file.
            chosen = vote(decisions, n_classes, getattr(self, "_tie_order", None))
        predicted: np.ndarray = self.classes_[chosen]
        return predicted
