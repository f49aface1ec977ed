"""Record what a search has found so far, choose the best cell, and make the table.

The columns of ``cv_results_`` are those of scikit-learn's `GridSearchCV`, with certified gaps and
sizes of the models beside them. A cell that has not been done is NaN everywhere.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

from kpegasos.estimators import PegasosSVC
from kpegasos.estimators.base import OneVsOneMixin
from kpegasos.fitting.pairs import Targets
from kpegasos.model_selection.grid import Folds, Grid
from kpegasos.utils.bases import BaseEstimator
from kpegasos.utils.validation import is_number, shown, told_of, warn_caller


class PairCells(NamedTuple):
    """Models of a pair of classes in a fold, one value of C after the other.

    Attributes
    ----------
    coefs : ndarray of shape (n_solved, n_members)
        Signed.
    intercepts, relative_gaps, seconds : ndarray of shape (n_solved,)
    """

    coefs: np.ndarray
    intercepts: np.ndarray
    relative_gaps: np.ndarray
    seconds: np.ndarray


@dataclass
class KernelOutcome:
    """Cells of all folds and values of C with one kernel.

    Attributes
    ----------
    kernel : int
        Its index.
    decisions : list of ndarray of shape (n_Cs, n_test, n_pairs)
        For each fold, decisions of all pairs of classes; positive for the first class of a pair,
        or for the second of two classes in all. NaN where a cell is missing.
    relative_gaps : ndarray of shape (n_folds, n_Cs)
        Certified relative gap, that of the worst pair; NaN where there is none.
    n_support : ndarray of shape (n_folds, n_Cs), int64
        Support vectors, each counted once.
    seconds : ndarray of shape (n_folds, n_Cs)
        Of all threads together. The time of a path is divided among its values of C by their
        working sets. That of what all cells of a kernel share, such as its matrix, is divided
        evenly.
    done : ndarray of shape (n_folds, n_Cs), bool
        Cells that have a model, which may not have reached ``tol``, as its gap shows.
    """

    kernel: int
    decisions: list[np.ndarray]
    relative_gaps: np.ndarray
    n_support: np.ndarray
    seconds: np.ndarray
    done: np.ndarray

    @classmethod
    def empty(cls, kernel: int, folds: Folds, n_Cs: int, n_pairs: int) -> KernelOutcome:
        """Begin with nothing done."""
        shape = (len(folds.tests), n_Cs)
        return cls(
            kernel,
            [np.full((n_Cs, test.size, n_pairs), np.nan) for test in folds.tests],
            np.full(shape, np.nan),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros(shape, dtype=bool),
        )


class Chosen(NamedTuple):
    """A cell that is done in all folds.

    Attributes
    ----------
    rank : tuple of float
        Mean score, NaN as -inf. Among equal scores a smaller C ranks higher, then a smaller gamma
        and so on: the flatter model.
    kernel, C : int
        As in `Candidate`.
    decisions : list of ndarray of shape (n_test, n_pairs)
        Of each held-out part.
    """

    rank: tuple[float, ...]
    kernel: int
    C: int
    decisions: list[np.ndarray]


class SearchRecord:
    """Scores, certificates and costs of all cells, and the best of them.

    Parameters
    ----------
    grid : Grid
    folds : Folds

    Attributes
    ----------
    scores, relative_gaps, n_support, fit_seconds, score_seconds : ndarray of shape \
(n_folds, n_kernels, n_Cs)
        float64, NaN for cells that are not done.
    done : ndarray of shape (n_folds, n_kernels, n_Cs), bool
    best : Chosen or None
    """

    def __init__(self, grid: Grid, folds: Folds) -> None:
        shape = (len(folds.tests), len(grid.kernels), grid.Cs.size)
        self.scores, self.relative_gaps, self.n_support = np.full((3, *shape), np.nan)
        self.fit_seconds, self.score_seconds = np.full((2, *shape), np.nan)
        self.done = np.zeros(shape, dtype=bool)
        self.best: Chosen | None = None

    def take(self, outcome: KernelOutcome, folds: Folds, score: HeldOutScorer) -> None:
        """Score the cells of a kernel that are done.

        Parameters
        ----------
        outcome : KernelOutcome
        folds : Folds
        score : HeldOutScorer
        """
        kernel = outcome.kernel
        for fold, test in enumerate(folds.tests):
            done = np.flatnonzero(outcome.done[fold])
            rows = score.rows(test) if done.size else None
            for C in done.tolist():
                begin = time.perf_counter()
                cell = (fold, kernel, C)
                self.scores[cell] = score(test, outcome.decisions[fold][C], rows)
                self.score_seconds[cell] = time.perf_counter() - begin
                self.relative_gaps[cell] = outcome.relative_gaps[fold, C]
                self.n_support[cell] = outcome.n_support[fold, C]
                self.fit_seconds[cell] = outcome.seconds[fold, C]
                self.done[cell] = True
        for C in np.flatnonzero(self.done[:, kernel].all(axis=0)).tolist():
            mean = _mean_score(self.scores[:, kernel, C])
            # C and kernel are places among increasing values.
            rank = (-math.inf if math.isnan(mean) else mean, -C, -kernel)
            if self.best is None or rank > self.best.rank:
                decisions = [each[C].copy() for each in outcome.decisions]
                self.best = Chosen(rank, kernel, C, decisions)


def _mean_score(scores: np.ndarray) -> float:
    """Return the mean over folds, whatever the order of the scores: a tie stays one."""
    if not np.isfinite(scores).all():
        with np.errstate(invalid="ignore"):
            return float(np.mean(scores))
    return math.fsum(scores) / scores.size


def cv_results(record: SearchRecord, grid: Grid) -> dict[str, Any]:
    """Make ``cv_results_``, a row for each candidate.

    Parameters
    ----------
    record : SearchRecord
    grid : Grid

    Warns
    -----
    UserWarning
        If a mean score of cells that are done is not finite.
    """
    kernels, Cs = np.array([(each.kernel, each.C) for each in grid.candidates]).T

    def rows(of_cells: np.ndarray) -> np.ndarray:
        """Of shape (n_candidates, n_folds)."""
        return np.ascontiguousarray(of_cells[:, kernels, Cs].T)

    def splits(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
        return {f"split{fold}_{name}": column.copy() for fold, column in enumerate(values.T)}

    results: dict[str, Any] = {}
    for name, seconds in (("fit", record.fit_seconds), ("score", record.score_seconds)):
        results[f"mean_{name}_time"] = rows(seconds).mean(axis=1)
        results[f"std_{name}_time"] = rows(seconds).std(axis=1)
    for name in grid.candidates[0].parameters:
        values = [candidate.parameters[name] for candidate in grid.candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=np.zeros(len(values), dtype=bool))
    results["params"] = [dict(candidate.parameters) for candidate in grid.candidates]
    scores, gaps, sizes = map(rows, (record.scores, record.relative_gaps, record.n_support))
    results.update(splits("test_score", scores))
    results["mean_test_score"] = means = np.array([_mean_score(row) for row in scores])
    with np.errstate(invalid="ignore"):
        results["std_test_score"] = scores.std(axis=1)
    # NaN ranks last, as in `GridSearchCV`.
    worst = 0.0 if np.isnan(means).all() else np.nanmin(means) - 1
    ranks = rankdata(-np.where(np.isnan(means), worst, means), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results.update(splits("relative_gap", gaps))
    results["max_relative_gap"] = gaps.max(axis=1)
    results.update(splits("n_support", sizes))
    results["mean_n_support"] = sizes.mean(axis=1)
    if not np.isfinite(means[rows(record.done).all(axis=1)]).all():
        warn_caller(f"One or more of the test scores are non-finite: {means}")
    return results


def held_out_decisions(chosen: Chosen, folds: Folds, n_samples: int) -> np.ndarray:
    """Collect the decisions of each example, of shape (n_samples, n_pairs).

    NaN for examples that are never tested; the mean of those that are tested more than once.
    """
    n_pairs = chosen.decisions[0].shape[1]
    total, times = np.zeros((n_samples, n_pairs)), np.zeros(n_samples)
    for test, decisions in zip(folds.tests, chosen.decisions, strict=True):
        np.add.at(total, test, decisions)
        np.add.at(times, test, 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / times[:, None])


# --- scores of held-out decisions -----------------------------------------------------------------
#
# A scorer asks an estimator for predictions or decisions. Those of a held-out part are known
# without an estimator; the stand-in here returns them.


@dataclass(eq=False, repr=False)
class GivenDecisions(OneVsOneMixin, BaseEstimator):
    """A fitted classifier that returns given decisions, for their rows alone.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        Signs as in `OneVsOneMixin`; constant terms are included.
    classes : ndarray of shape (n_classes,)
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    """

    decisions: Any
    classes: Any
    #: Whether probabilities have been asked for.
    asked_for_probabilities = False

    def __post_init__(self) -> None:
        self.classes_, self.intercept_ = self.classes, np.zeros(np.shape(self.decisions)[1])

    @property
    def predict_proba(self) -> Any:
        """Refuse, as decisions are no probabilities, and note that they were asked for."""
        self.asked_for_probabilities = True
        raise AttributeError("held-out decisions are no probabilities")

    def fit(self, X: Any, y: Any) -> GivenDecisions:
        """Do nothing: the decisions are given."""
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
        """Score correct decisions, so that an unusable scorer is found early.

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
        """Return rows of X of some examples; None if the scorer does not use them."""
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
            # scikit-learn takes a millisecond for the same number, as long as a small fit.
            right = stand_in._vote(decisions) == self._y[test]
            weights = None if self._weight is None else self._weight[test]
            return float(np.average(right, weights=weights))
        return self._ask(stand_in, rows, test)

    def _ask(self, stand_in: GivenDecisions, rows: Any, test: np.ndarray) -> float:
        """Return the score of the stand-in."""
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
