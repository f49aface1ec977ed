"""Scores, tables and choices, made of decisions and outcomes that are given."""

import numpy as np
import pytest
from searches import blobs
from sklearn.base import clone
from sklearn.metrics import make_scorer, matthews_corrcoef

from kpegasos import PegasosSVC
from kpegasos.model_selection.folds import Folds
from kpegasos.model_selection.grid import make_grid
from kpegasos.model_selection.results import (
    KernelOutcome,
    SearchRecord,
    cv_results,
    held_out_decisions,
    missing_cells,
)
from kpegasos.model_selection.scoring import GivenDecisions, HeldOutScorer, make_scorer_of

X = np.arange(12.0).reshape(6, 2)
TESTS = [np.array([0, 1]), np.array([2, 3])]
FOLDS = Folds(np.ones((2, 6)), TESTS)


class ScoreIsTheFirstDecision:
    """The score of a cell is what its outcome says."""

    def rows(self, test):
        return X[test]

    def __call__(self, test, decisions, rows):
        np.testing.assert_array_equal(rows, X[test])
        return float(decisions[0, 0])


def grid_of(Cs=(1.0, 10.0), gammas=(0.1, 1.0), kernel="rbf"):
    return make_grid(kernel, X, Cs=list(Cs), gammas=list(gammas), degrees=[2, 3], coef0s=[0.0])


def outcome_of(number, scores, done=True):
    """An outcome whose decisions are its scores, of shape (n_folds, n_Cs)."""
    scores = np.array(scores, dtype=float)
    made = KernelOutcome.empty(number, FOLDS, scores.shape[1], 1)
    for fold, row in enumerate(scores):
        made.decisions[fold][:] = row[:, None, None]
    made.done[:] = done
    made.relative_gaps[:] = 0.001 * (1 + np.arange(scores.size).reshape(scores.shape))
    made.n_support[:] = 5
    made.evaluations = 7
    return made


def record_of(grid, *outcomes):
    record = SearchRecord(grid, FOLDS)
    for outcome in outcomes:
        record.take(outcome, grid, FOLDS, ScoreIsTheFirstDecision())
    return record


def chosen(grid, *outcomes):
    best = record_of(grid, *outcomes).best
    return best.kernel, best.C


@pytest.mark.parametrize("order", [1, -1])
def test_highest_mean_is_chosen_whatever_comes_first(order):
    outcomes = [outcome_of(0, [[0.5, 0.6], [0.5, 0.6]]), outcome_of(1, [[0.9, 0.1], [0.4, 0.1]])]
    assert chosen(grid_of(), *outcomes[::order]) == (1, 0)


@pytest.mark.parametrize("order", [1, -1])
def test_of_equal_cells_the_smallest_C_is_chosen_and_then_gamma(order):
    both = [outcome_of(0, [[0.5, 0.7], [0.5, 0.7]]), outcome_of(1, [[0.7, 0.7], [0.7, 0.7]])]
    assert chosen(grid_of(), *both[::order]) == (1, 0)
    same = [outcome_of(number, [[0.7, 0.7], [0.7, 0.7]]) for number in (0, 1)]
    assert chosen(grid_of(), *same[::order]) == (0, 0)
    # The values may come in another order.
    assert chosen(grid_of(Cs=(10.0, 1.0), gammas=(1.0, 0.1)), *same[::order]) == (0, 0)


def test_scores_in_another_order_are_a_tie():
    grid = grid_of()
    thirds = [0.1, 0.2, 0.3]
    folds = Folds(np.ones((3, 6)), [*TESTS, np.array([4, 5])])
    record = SearchRecord(grid, folds)
    for number, scores in enumerate([thirds[::-1], thirds]):
        outcome = KernelOutcome.empty(number, folds, 2, 1)
        for fold, score in enumerate(scores):
            outcome.decisions[fold][:] = score
        outcome.done[:] = True
        record.take(outcome, grid, folds, ScoreIsTheFirstDecision())
    assert np.mean(thirds) != np.mean(thirds[::-1])
    table = cv_results(record, grid)
    assert (record.best.kernel, record.best.C) == (0, 0)
    np.testing.assert_array_equal(table["rank_test_score"], [1, 1, 1, 1])


def test_NaN_is_the_worst_score_and_is_warned_of():
    grid = grid_of()
    record = record_of(
        grid,
        outcome_of(0, [[np.nan, -0.6], [0.5, -0.6]]),
        outcome_of(1, [[-0.7, -0.5], [-0.7, -0.5]]),
    )
    with pytest.warns(UserWarning, match="non-finite"):
        table = cv_results(record, grid)
    np.testing.assert_array_equal(table["mean_test_score"], [np.nan, -0.7, -0.6, -0.5])
    np.testing.assert_array_equal(table["rank_test_score"], [4, 3, 2, 1])
    assert (record.best.kernel, record.best.C) == (1, 1)
    nans = np.full((2, 2), np.nan)
    record = record_of(grid, outcome_of(1, nans), outcome_of(0, nans))
    with pytest.warns(UserWarning, match="non-finite"):
        np.testing.assert_array_equal(cv_results(record, grid)["rank_test_score"], [1, 1, 1, 1])
    assert (record.best.kernel, record.best.C) == (0, 0)


def test_cell_that_is_missing_in_a_fold_cannot_be_chosen(recwarn):
    grid = grid_of()
    record = record_of(
        grid, outcome_of(0, [[0.5, 0.9], [0.5, 0.9]], done=[[True, True], [True, False]])
    )
    assert (record.best.kernel, record.best.C) == (0, 0)
    table = cv_results(record, grid)
    np.testing.assert_array_equal(table["split0_test_score"], [0.5, np.nan, 0.9, np.nan])
    np.testing.assert_array_equal(table["mean_test_score"], [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(table["mean_n_support"], [5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(table["rank_test_score"], [1, 2, 2, 2])
    assert np.isnan(table["mean_fit_time"][1:]).all()
    assert missing_cells(record, grid) == [
        {"C": 1.0, "gamma": 1.0, "fold": 0},
        {"C": 1.0, "gamma": 1.0, "fold": 1},
        {"C": 10.0, "gamma": 0.1, "fold": 1},
        {"C": 10.0, "gamma": 1.0, "fold": 0},
        {"C": 10.0, "gamma": 1.0, "fold": 1},
    ]
    assert list(record.unfinished) == [0]
    assert len(recwarn) == 0  # missing is not non-finite


def test_record_of_missing_cells_goes_on():
    grid, scores = grid_of(), [[0.5, 0.9], [0.5, 0.9]]
    record = record_of(grid, outcome_of(0, scores, done=[[True, False], [True, False]]))
    rest = record.unfinished[0]
    rest.decisions[0][0] = rest.decisions[1][0] = 0.0  # scored already
    rest.done[:] = True
    record.take(rest, grid, FOLDS, ScoreIsTheFirstDecision())
    np.testing.assert_array_equal(record.scores[:, 0], scores)
    assert record.unfinished == {}
    assert (record.best.kernel, record.best.C) == (0, 1)
    assert record.evaluations.tolist() == [7, 0]


def test_held_out_decisions_are_means_over_tests():
    folds = Folds(np.ones((2, 4)), [np.array([0, 1]), np.array([1, 2])])
    grid = make_grid("linear", X, Cs=[1.0], gammas=1, degrees=[2], coef0s=[0.0])
    outcome = KernelOutcome.empty(0, folds, 1, 1)
    outcome.decisions[0][0] = [[1.0], [2.0]]
    outcome.decisions[1][0] = [[4.0], [5.0]]
    outcome.done[:] = True
    record = SearchRecord(grid, folds)
    record.take(outcome, grid, folds, ScoreIsTheFirstDecision())
    np.testing.assert_array_equal(
        held_out_decisions(record.best, folds, 4)[:, 0], [1.0, 3.0, 5.0, np.nan]
    )


TEST = np.arange(10, 90, 3)


def model_of(n_classes, **votes):
    X, y = blobs(n_classes, cluster_std=9.0)
    names = np.array(["ant", "bee", "cow", "dog"])[y]
    return X, names, PegasosSVC(epochs=1, random_state=0, **votes).fit(X, names)


def scorer_of(scoring, X, y, model, weight=None):
    return HeldOutScorer(
        scoring,
        X,
        y,
        weight,
        model.classes_,
        decision_function_shape=model.decision_function_shape,
        break_ties=model.break_ties,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "scoring",
    [None, "accuracy", "f1_macro", "balanced_accuracy", make_scorer(matthews_corrcoef)],
    ids=str,
)
@pytest.mark.parametrize("votes", [{}, {"break_ties": True}, {"decision_function_shape": "ovo"}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_score_is_that_of_the_model_with_these_decisions(n_classes, votes, scoring, weighted):
    X, y, model = model_of(n_classes, **votes)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, y.size) if weighted else None
    held_out = scorer_of(scoring, X, y, model, weight)
    options = {"sample_weight": weight[TEST]} if weighted else {}
    expected = make_scorer_of(scoring)(model, X[TEST], y[TEST], **options)
    score = held_out(TEST, model._decide(X[TEST]), held_out.rows(TEST))
    assert score == pytest.approx(expected)
    assert 0.0 < score < 1.0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_callable_sees_rows_labels_and_a_model(n_classes):
    X, y, model = model_of(n_classes)
    seen = []

    def scoring(estimator, rows, labels):
        np.testing.assert_array_equal(rows, X[TEST])
        np.testing.assert_array_equal(labels, y[TEST])
        np.testing.assert_array_equal(
            estimator.decision_function(rows), model.decision_function(rows)
        )
        np.testing.assert_array_equal(estimator.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(estimator.classes_, model.classes_)
        assert not hasattr(estimator, "predict_proba")
        seen.append(clone(estimator))
        return np.float32(len(seen))

    held_out = scorer_of(scoring, X, y, model)
    assert held_out(TEST, model._decide(X[TEST]), held_out.rows(TEST)) == 1.0
    assert isinstance(seen[0], GivenDecisions)


def test_accuracy_does_not_look_at_rows():
    X, y, model = model_of(2)
    assert scorer_of(None, X, y, model).rows(TEST) is None
    np.testing.assert_array_equal(scorer_of("f1_macro", X, y, model).rows(TEST), X[TEST])
