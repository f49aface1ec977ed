"""What makes an estimator of binary runs a classifier: targets, pairs of classes, votes."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators import _one_vs_one as one_vs_one
from kpegasos.estimators._coupling import couple
from kpegasos.estimators._fitted import fitted
from kpegasos.estimators._one_model import of_one_model
from kpegasos.estimators._one_vs_one import Pairs
from kpegasos.estimators._probabilities import has_log_odds, own_sigmoids
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._sklearn_compat import Interval, StrOptions
from kpegasos.estimators._training import FitPlan
from kpegasos.exports.model import check_ties
from kpegasos.solvers.result import Results
from kpegasos.utils import tuning
from kpegasos.utils.labels import check_labels

#: Decisions that are voted on together: with what the vote makes of each, 64 MiB.
_VOTED_TOGETHER = 64 * tuning.MEBIBYTE // 32


class Targets(NamedTuple):
    """Classes of the examples, and what they count.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int
        Class numbers.
    weight : ndarray of shape (n_samples,)
        With class weights; zero for examples that take no part.
    classes : ndarray of shape (n_classes,)
    """

    labels: np.ndarray
    weight: np.ndarray
    classes: np.ndarray


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

    #: Those of its own parameters.
    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "n_jobs": [Interval(Integral, None, None, closed="neither"), None],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    class_weight: Any
    decision_function_shape: str
    break_ties: bool
    projection: bool
    classes_: np.ndarray

    if TYPE_CHECKING:  # of the estimator

        def _validate(self, X: Any, y: Any = ..., *, reset: bool) -> Any: ...
        def _decide(self, X: Any) -> np.ndarray: ...

    # --- fit ---

    def _check_targets(self, y: np.ndarray) -> None:
        check_labels(y)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> Targets:
        """Class numbers, and weights with the class weights; classes of weight zero are absent."""
        classes, labels = np.unique(y, return_inverse=True)
        kept = weight > 0
        present = np.flatnonzero(np.bincount(labels[kept], minlength=classes.size))
        if present.size < 2:
            raise ValueError(
                f"y must have at least two classes (with positive weight), got "
                f"{present.size} class: {classes[present].tolist()}"
            )
        if present.size < classes.size:
            classes = classes[present]
            in_class = np.isin(labels, present)
            labels = np.where(in_class, np.searchsorted(present, labels), 0)
        by_class = one_vs_one.class_weights(
            self.class_weight, classes, classes[labels[kept]], weight[kept]
        )
        weight = weight * by_class[labels]
        one_vs_one.check_weight_range(weight)
        return Targets(labels, weight, classes)

    def _arrays(self, targets: Targets) -> tuple[np.ndarray, np.ndarray]:
        return targets.labels, targets.weight

    def _problems(self, targets: Targets, settings: Settings) -> Pairs:
        """Binary problems of all pairs of classes."""
        labels, weight, classes = targets
        pairs = one_vs_one.make_pairs(
            labels,
            classes.size,
            weight,
            settings.lam,
            settings.C,
            # Neighbours in X are to stay neighbours.
            grouped=settings.options.sampling != "contiguous",
            loss=settings.loss,
        )
        k = settings.options.batch_size
        for pair in (pairs[number] for number in np.flatnonzero(k > pairs.sizes)):
            raise ValueError(
                f"batch_size must be at most the number of examples of each pair of classes, "
                f"{pair.members.size} for classes {classes[list(pair.classes)].tolist()}, "
                f"got {k} instead"
            )
        return pairs

    def _attributes(self, plan: FitPlan, targets: Targets, results: Results) -> dict[str, Any]:
        """Fitted attributes of the model as it stands."""
        pairs, binary = plan.pairs, targets.classes.size == 2

        def per_pair(name: str) -> Any:
            values = results.column(name)
            return values[0] if binary else np.array(values)

        coefs, n_classes = results.of_members("coef"), targets.classes.size
        chosen = one_vs_one.assemble(pairs, coefs, targets.labels, n_classes)
        return {
            "classes_": targets.classes,
            "alpha_": self._counts(pairs, results, targets.labels.size, plan.settings.counts),
            "support_": chosen.support,
            "n_support_": chosen.n_support,
            "dual_coef_": chosen.dual_coef,
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
            return one_vs_one.assemble_counts(pairs, counts, n_samples)
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
        return self._by_blocks(X, lambda d: one_vs_one.one_vs_rest(d, n_classes))

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
            chosen = one_vs_one.one_vs_rest(decisions, n_classes).argmax(axis=1)
        else:
            # Of a model that was read: the order of its classes in the file.
            chosen = one_vs_one.vote(decisions, n_classes, getattr(self, "_tie_order", None))
        predicted: np.ndarray = self.classes_[chosen]
        return predicted
