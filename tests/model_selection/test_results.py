"""Scores, tables and choices, made of decisions and outcomes that are given."""

from functools import cache

import numpy as np
import pytest
from covering import each_pair
from search_cases import blobs
from sklearn.base import clone
from sklearn.metrics import make_scorer, matthews_corrcoef

from kpegasos import PegasosSVC
from kpegasos.model_selection.grid import Folds, make_grid
from kpegasos.model_selection.results import (
    GivenDecisions,
    HeldOutScorer,
    KernelOutcome,
    SearchRecord,
    cv_results,
    held_out_decisions,
    make_scorer_of,
)

X = np.arange(12.0).reshape(6, 2)
TESTS = [np.array([0, 1]), np.array([2, 3])]
FOLDS = Folds(np.ones((2, 6)), TESTS)


class FirstDecision:
    """A scorer by which the score of a cell is what its outcome says."""

    def rows(self, test):
        return X[test]

    def __call__(self, test, decisions, rows):
        np.testing.assert_array_equal(rows, X[test])
        return float(decisions[0, 0])


def grid_of(Cs=(1.0, 10.0), gammas=(0.1, 1.0), kernel="rbf"):
    return make_grid(kernel, X, Cs=list(Cs), gammas=list(gammas), degrees=[2, 3], coef0s=[0.0])


def outcome_of(number, scores, done=True, folds=FOLDS):
    """An outcome whose decisions are its scores, of shape (n_folds, n_Cs)."""
    scores = np.array(scores, dtype=float)
    made = KernelOutcome.empty(number, folds, scores.shape[1], 1)
    for fold, row in enumerate(scores):
        made.decisions[fold][:] = row[:, None, None]
    made.done[:] = done
    made.n_support[:] = 5
    return made


def record_of(grid, *outcomes, folds=FOLDS):
    record = SearchRecord(grid, folds)
    for outcome in outcomes:
        record.take(outcome, folds, FirstDecision())
    return record


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        ([[0.5, 0.6]] * 2, [[0.9, 0.1], [0.4, 0.1]], (1, 0)),  # the highest mean
        ([[0.5, 0.7]] * 2, [[0.7, 0.7]] * 2, (1, 0)),  # of equal ones the smallest C
        ([[0.7, 0.7]] * 2, [[0.7, 0.7]] * 2, (0, 0)),  # and then the smallest gamma
    ],
)
def test_choice_is_the_same_whatever_comes_first(first, second, chosen, order):
    outcomes = [outcome_of(0, first), outcome_of(1, second)]
    for values in ({}, {"Cs": (10.0, 1.0), "gammas": (1.0, 0.1)}):
        best = record_of(grid_of(**values), *outcomes[::order]).best
        assert (best.kernel, best.C) == chosen


def test_scores_in_another_order_are_a_tie():
    grid, thirds = grid_of(), np.array([0.1, 0.2, 0.3])
    assert np.mean(thirds) != np.mean(thirds[::-1])
    folds = Folds(np.ones((3, 6)), [*TESTS, np.array([4, 5])])
    outcomes = [
        outcome_of(number, np.column_stack([scores, scores]), folds=folds)
        for number, scores in enumerate([thirds[::-1], thirds])
    ]
    record = record_of(grid, *outcomes, folds=folds)
    assert (record.best.kernel, record.best.C) == (0, 0)
    np.testing.assert_array_equal(cv_results(record, grid)["rank_test_score"], [1, 1, 1, 1])


def test_NaN_is_the_worst_score_and_is_warned_of():
    grid, nans = grid_of(), np.full((2, 2), np.nan)
    worse, better = [[np.nan, -0.6], [0.5, -0.6]], [[-0.7, -0.5], [-0.7, -0.5]]
    for outcomes, means, ranks, chosen in (
        ([worse, better], [np.nan, -0.7, -0.6, -0.5], [4, 3, 2, 1], (1, 1)),
        ([nans, nans], [np.nan] * 4, [1, 1, 1, 1], (0, 0)),
    ):
        made = [outcome_of(number, scores) for number, scores in enumerate(outcomes)]
        record = record_of(grid, *made[::-1])
        with pytest.warns(UserWarning, match="non-finite"):
            table = cv_results(record, grid)
        np.testing.assert_array_equal(table["mean_test_score"], means)
        np.testing.assert_array_equal(table["rank_test_score"], ranks)
        assert (record.best.kernel, record.best.C) == chosen


def test_cell_that_is_missing_in_a_fold_is_not_chosen(recwarn):
    grid, scores = grid_of(), [[0.5, 0.9], [0.5, 0.9]]
    record = record_of(grid, outcome_of(0, scores, done=[[True, True], [True, False]]))
    assert (record.best.kernel, record.best.C) == (0, 0)
    table = cv_results(record, grid)
    np.testing.assert_array_equal(table["split0_test_score"], [0.5, np.nan, 0.9, np.nan])
    np.testing.assert_array_equal(table["mean_test_score"], [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(table["mean_n_support"], [5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(table["rank_test_score"], [1, 2, 2, 2])
    assert np.isnan(table["mean_fit_time"][1:]).all()
    assert len(recwarn) == 0  # missing is not non-finite


def test_held_out_decisions_are_means_over_tests():
    folds = Folds(np.ones((2, 4)), [np.array([0, 1]), np.array([1, 2])])
    grid = grid_of(Cs=(1.0,), kernel="linear")
    outcome = KernelOutcome.empty(0, folds, 1, 1)
    outcome.decisions[0][0] = [[1.0], [2.0]]
    outcome.decisions[1][0] = [[4.0], [5.0]]
    outcome.done[:] = True
    found = held_out_decisions(record_of(grid, outcome, folds=folds).best, folds, 4)
    np.testing.assert_array_equal(found[:, 0], [1.0, 3.0, 5.0, np.nan])


TEST = np.arange(10, 90, 3)


@cache
def model_of(n_classes, break_ties=False, shape="ovr"):
    X, y = blobs(n_classes, cluster_std=9.0)
    names = np.array(["ant", "bee", "cow", "dog"])[y]
    votes = {"break_ties": break_ties, "decision_function_shape": shape}
    return X, names, PegasosSVC(epochs=1, random_state=0, **votes).fit(X, names)


def scorer_of(scoring, X, y, model, weight=None):
    shape, break_ties = model.decision_function_shape, model.break_ties
    return HeldOutScorer(
        scoring,
        X,
        y,
        weight,
        model.classes_,
        decision_function_shape=shape,
        break_ties=break_ties,
    )


@each_pair(
    n_classes=[2, 4],
    votes=[(False, "ovr"), (True, "ovr"), (False, "ovo")],
    scoring=[None, "accuracy", "f1_macro", "balanced_accuracy", make_scorer(matthews_corrcoef)],
    weighted=[False, True],
)
def test_score_is_that_of_the_model_with_these_decisions(n_classes, votes, scoring, weighted):
    X, y, model = model_of(n_classes, *votes)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, y.size) if weighted else None
    held_out = scorer_of(scoring, X, y, model, weight)
    options = {"sample_weight": weight[TEST]} if weighted else {}
    expected = make_scorer_of(scoring)(model, X[TEST], y[TEST], **options)
    score = held_out(TEST, model._decide(X[TEST]), held_out.rows(TEST))
    assert score == pytest.approx(expected)
    assert 0.0 < score < 1.0


def test_callable_sees_rows_labels_and_a_model_and_accuracy_does_not():
    X, y, model = model_of(4)

    def scoring(estimator, rows, labels):
        np.testing.assert_array_equal(rows, X[TEST])
        np.testing.assert_array_equal(labels, y[TEST])
        np.testing.assert_array_equal(estimator.classes_, model.classes_)
        found, expected = (each.decision_function(rows) for each in (estimator, model))
        np.testing.assert_array_equal(found, expected)
        assert not hasattr(estimator, "predict_proba")
        return np.float32(isinstance(clone(estimator), GivenDecisions))

    held_out = scorer_of(scoring, X, y, model)
    assert held_out(TEST, model._decide(X[TEST]), held_out.rows(TEST)) == 1.0
    assert scorer_of(None, X, y, model).rows(TEST) is None
