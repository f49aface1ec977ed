"""What a search has found so far, and the tables that are made of it.

The columns of ``cv_results_`` are those of scikit-learn's `GridSearchCV`, with certified gaps and
sizes of the models beside them. A cell that has not been done is NaN everywhere.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from kpegasos.model_selection._grid import Grid
from kpegasos.model_selection._scoring import HeldOutScorer
from kpegasos.model_selection.surface import Folds, KernelOutcome


class Chosen(NamedTuple):
    """A cell that is done in all folds.

    Attributes
    ----------
    rank : tuple of float
        Mean score, NaN as -inf, and `Grid.flatness`.
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
    unfinished : dict of int to KernelOutcome
        Outcomes of kernels that were begun, to go on from.
    evaluations : ndarray of shape (n_kernels,), int64
        Kernel values computed.
    best : Chosen or None
    """

    def __init__(self, grid: Grid, folds: Folds) -> None:
        shape = (len(folds.tests), len(grid.kernels), grid.Cs.size)
        self.scores = np.full(shape, np.nan)
        self.relative_gaps = np.full(shape, np.nan)
        self.n_support = np.full(shape, np.nan)
        self.fit_seconds = np.full(shape, np.nan)
        self.score_seconds = np.full(shape, np.nan)
        self.done = np.zeros(shape, dtype=bool)
        self.unfinished: dict[int, KernelOutcome] = {}
        self.evaluations = np.zeros(shape[1], dtype=np.int64)
        self.best: Chosen | None = None

    def take(self, outcome: KernelOutcome, grid: Grid, folds: Folds, score: HeldOutScorer) -> None:
        """Score the cells of a kernel that are new.

        Parameters
        ----------
        outcome : KernelOutcome
            With its place among all kernels.
        grid : Grid
        folds : Folds
        score : HeldOutScorer
        """
        number = outcome.number
        for fold, test in enumerate(folds.tests):
            new = np.flatnonzero(outcome.done[fold] & ~self.done[fold, number])
            rows = score.rows(test) if new.size else None
            for C in new.tolist():
                begin = time.perf_counter()
                cell = (fold, number, C)
                self.scores[cell] = score(test, outcome.decisions[fold][C], rows)
                self.score_seconds[cell] = time.perf_counter() - begin
                self.relative_gaps[cell] = outcome.relative_gaps[fold, C]
                self.n_support[cell] = outcome.n_support[fold, C]
                self.fit_seconds[cell] = outcome.seconds[fold, C]
                self.done[cell] = True
        self.evaluations[number] = outcome.evaluations
        for C in np.flatnonzero(self.done[:, number].all(axis=0)).tolist():
            mean = mean_score(self.scores[:, number, C])
            place = (-math.inf if math.isnan(mean) else mean, *grid.flatness(number, C))
            if self.best is None or place > self.best.rank:
                decisions = [each[C].copy() for each in outcome.decisions]
                self.best = Chosen(place, number, C, decisions)
        if outcome.done.all():
            self.unfinished.pop(number, None)
        else:
            self.unfinished[number] = outcome


def mean_score(scores: np.ndarray) -> float:
    """Mean over folds, the same for the same scores in another order: a tie stays one."""
    if not np.isfinite(scores).all():
        with np.errstate(invalid="ignore"):
            return float(np.mean(scores))
    return math.fsum(scores) / scores.size


def cv_results(record: SearchRecord, grid: Grid) -> dict[str, Any]:
    """``cv_results_``: a row for each candidate.

    Parameters
    ----------
    record : SearchRecord
    grid : Grid

    Warns
    -----
    UserWarning
        If a mean score of cells that are done is not finite.
    """
    kernels = np.array([candidate.kernel for candidate in grid.candidates])
    Cs = np.array([candidate.C for candidate in grid.candidates])

    def rows(of_cells: np.ndarray) -> np.ndarray:
        """Of shape (n_candidates, n_folds)."""
        return np.ascontiguousarray(of_cells[:, kernels, Cs].T)

    results: dict[str, Any] = {}
    for name, seconds in (("fit", record.fit_seconds), ("score", record.score_seconds)):
        results[f"mean_{name}_time"] = rows(seconds).mean(axis=1)
        results[f"std_{name}_time"] = rows(seconds).std(axis=1)
    for name in grid.candidates[0].parameters:
        values = [candidate.parameters[name] for candidate in grid.candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=np.zeros(len(values), dtype=bool))
    results["params"] = [dict(candidate.parameters) for candidate in grid.candidates]
    scores = rows(record.scores)
    results.update(_by_split("test_score", scores))
    results["mean_test_score"] = means = np.array([mean_score(row) for row in scores])
    with np.errstate(invalid="ignore"):
        results["std_test_score"] = scores.std(axis=1)
    results["rank_test_score"] = _ranks(means)
    gaps, sizes = rows(record.relative_gaps), rows(record.n_support)
    results.update(_by_split("relative_gap", gaps))
    results["max_relative_gap"] = gaps.max(axis=1)
    results.update(_by_split("n_support", sizes))
    results["mean_n_support"] = sizes.mean(axis=1)
    if not np.isfinite(means[rows(record.done).all(axis=1)]).all():
        warnings.warn(
            f"One or more of the test scores are non-finite: {means}",
            UserWarning,
            stacklevel=6,  # the caller of fit, beyond its decorator
        )
    return results


def _by_split(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"split{fold}_{name}": values[:, fold].copy() for fold in range(values.shape[1])}


def _ranks(means: np.ndarray) -> np.ndarray:
    """Ranks of the scores, ties the least; NaN ranks with the worst, as in `GridSearchCV`."""
    if np.isnan(means).all():
        return np.ones(means.size, dtype=np.int32)
    filled = np.where(np.isnan(means), np.nanmin(means) - 1, means)
    return rankdata(-filled, method="min").astype(np.int32)


def missing_cells(record: SearchRecord, grid: Grid) -> list[dict[str, Any]]:
    """Parameters and fold of each cell that is not done."""
    return [
        {**candidate.parameters, "fold": fold}
        for candidate in grid.candidates
        for fold in range(record.done.shape[0])
        if not record.done[fold, candidate.kernel, candidate.C]
    ]


def held_out_decisions(chosen: Chosen, folds: Folds, n_samples: int) -> np.ndarray:
    """Decisions of each example, of shape (n_samples, n_pairs).

    NaN for examples that are never tested; the mean of those that are tested more than once.
    """
    n_pairs = chosen.decisions[0].shape[1]
    total, times = np.zeros((n_samples, n_pairs)), np.zeros(n_samples)
    for test, decisions in zip(folds.tests, chosen.decisions, strict=True):
        np.add.at(total, test, decisions)
        np.add.at(times, test, 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / times[:, None])


class OfTheBest:
    """An attribute of a search that has chosen a cell; says why there is none."""

    def __get__(self, search: Any, owner: type) -> Any:
        """Only called where an instance has not got the attribute."""
        if search is None:
            return self
        if "status_" not in vars(search):
            raise AttributeError(f"{owner.__name__} has chosen nothing before it is fitted")
        raise AttributeError(
            f"{owner.__name__} has chosen nothing, since the search ended before any cell was done "
            f"in all folds (status_ is {search.status_!r})"
        )
