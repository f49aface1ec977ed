"""Score held-out decisions by any of scikit-learn's scorers.

A scorer asks an estimator for predictions or decisions. Those of a held-out part are there before
any estimator is; the stand-in here answers with them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

from kpegasos.estimators import PegasosSVC
from kpegasos.estimators.base import OneVsOneMixin
from kpegasos.fitting.pairs import Targets
from kpegasos.utils.bases import BaseEstimator
from kpegasos.utils.validation import is_number, shown, told_of


@dataclass(eq=False, repr=False)
class GivenDecisions(OneVsOneMixin, BaseEstimator):
    """A fitted classifier for the rows that its decisions are of, and for no others.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        Signs as in `OneVsOneMixin`; they have their constant terms.
    classes : ndarray of shape (n_classes,)
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    """

    decisions: Any
    classes: Any
    #: Whether somebody looked for probabilities.
    asked_for_probabilities = False

    def __post_init__(self) -> None:
        self.classes_, self.intercept_ = self.classes, np.zeros(np.shape(self.decisions)[1])

    @property
    def predict_proba(self) -> Any:
        """Refuse, as decisions are no probabilities, and remember that somebody asked."""
        self.asked_for_probabilities = True
        raise AttributeError("held-out decisions are no probabilities")

    def fit(self, X: Any, y: Any) -> GivenDecisions:
        """Do nothing: the decisions are there."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _validate(self, X: Any, y: Any = None, *, reset: bool) -> np.ndarray:
        if X.shape[0] != self.decisions.shape[0]:
            raise ValueError(
                f"scoring must ask for decisions of the held-out examples, got "
                f"{X.shape[0]} rows instead of {self.decisions.shape[0]}"
            )
        return np.asarray(self.decisions)

    def _decide(self, X: Any) -> np.ndarray:
        return np.asarray(X)


class HeldOutScorer:
    """A scorer of held-out decisions.

    Parameters
    ----------
    scoring : str, callable or None
        As in `PegasosSVCCV`.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,) or None
        For scorers that take it.
    classes : ndarray of shape (n_classes,)
    **votes
        ``decision_function_shape`` and ``break_ties``.

    Attributes
    ----------
    lacks_weight : bool
        Whether there are weights and the scorer takes none.

    Raises
    ------
    ValueError
        If there is no such scorer.
    """

    def __init__(
        self,
        scoring: Any,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        classes: np.ndarray,
        **votes: Any,
    ) -> None:
        self._X, self._y, self._classes, self._votes = X, y, classes, votes
        self._scorer, self._name = make_scorer_of(scoring), scoring
        self._weight = weight if _takes_weights(self._scorer) else None
        self.lacks_weight = weight is not None and self._weight is None

    def _stand_in(self, decisions: np.ndarray) -> GivenDecisions:
        return GivenDecisions(decisions, self._classes, **self._votes)

    def try_out(self, test: np.ndarray, targets: Targets) -> None:
        """Score decisions that are right, so that a scorer that cannot be used is known early.

        Parameters
        ----------
        test : ndarray of int
            Examples of a held-out part.
        targets : Targets

        Raises
        ------
        ValueError
            If the scorer needs probabilities, or returns something else than a number.
        """
        labels, n_classes = targets.labels[test], targets.classes.size
        pairs = list(combinations(range(n_classes), 2))
        right = np.array([np.where(labels == i, 1.0, -1.0) for i, _ in pairs]).T
        stand_in = self._stand_in(-right if n_classes == 2 else right)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._ask(stand_in, self._X[test], test)
        except (TypeError, ValueError) as error:
            if not isinstance(self._name, str) or str(error).startswith("scoring must"):
                raise
            raise told_of(error, "scoring must be of targets as those of y") from None

    @property
    def _is_accuracy(self) -> bool:
        return self._name is None or (isinstance(self._name, str) and self._name == "accuracy")

    def rows(self, test: np.ndarray) -> Any:
        """Take rows of X of some examples; None if the scorer does not look at them."""
        return None if self._is_accuracy else self._X[test]

    def __call__(self, test: np.ndarray, decisions: np.ndarray, rows: Any) -> float:
        """Score the decisions of the examples ``test``.

        Parameters
        ----------
        test : ndarray of shape (n_test,), int
        decisions : ndarray of shape (n_test, n_pairs)
        rows : ndarray, CSR matrix of shape (n_test, n_features) or None
            As `rows` gives them.

        Raises
        ------
        ValueError
            If the scorer needs probabilities, or returns something else than a number.
        """
        stand_in = self._stand_in(decisions)
        if self._is_accuracy:
            # scikit-learn's way to the same number takes a millisecond, as long as a small fit.
            right = stand_in._vote(decisions) == self._y[test]
            weights = None if self._weight is None else self._weight[test]
            return float(np.average(right, weights=weights))
        return self._ask(stand_in, rows, test)

    def _ask(self, stand_in: GivenDecisions, rows: Any, test: np.ndarray) -> float:
        """Return what the scorer says of the stand-in."""
        weights = {} if self._weight is None else {"sample_weight": self._weight[test]}
        try:
            score = self._scorer(stand_in, rows, self._y[test], **weights)
        except AttributeError as error:
            if stand_in.asked_for_probabilities:
                raise ValueError(
                    "scoring must be of predictions or decisions, got a scorer of probabilities, "
                    "which GridSearchCV takes"
                ) from error
            raise
        if isinstance(score, dict):
            raise ValueError(f"scoring must be one score, got several: {sorted(map(str, score))}")
        if isinstance(score, np.generic | np.ndarray) and np.ndim(score) == 0:
            score = score.item()
        if not is_number(score, Real):
            raise ValueError(f"scoring must return a number, got {shown(score)} instead")
        return float(score)


def _takes_weights(scorer: Callable[..., Any]) -> bool:
    """Return whether a scorer, one of scikit-learn's or a user's own, takes ``sample_weight``."""
    try:
        return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
    except ValueError:  # compiled functions may have none
        return False


def make_scorer_of(scoring: Any) -> Any:
    """Make the scorer that scikit-learn has for a name or a callable; that of accuracy if None.

    Parameters
    ----------
    scoring : str, callable or None

    Raises
    ------
    ValueError
        If there is none, or there are several.
    """
    if scoring is None:
        return get_scorer("accuracy")
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring must be one scorer, got several: {shown(scoring)}")
    if not callable(scoring) and not (isinstance(scoring, str) and scoring in get_scorer_names()):
        raise ValueError(
            f"scoring must be a name of sklearn.metrics.get_scorer_names(), a callable or None, "
            f"got {shown(scoring)} instead"
        )
    try:
        return check_scoring(PegasosSVC(), scoring=scoring)
    except (TypeError, ValueError) as error:
        raise told_of(error, "scoring must be a scorer") from None
