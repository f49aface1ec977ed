"""Scores of decisions that are given."""

import numpy as np
import pytest
from searches import blobs
from sklearn.base import clone
from sklearn.metrics import make_scorer, matthews_corrcoef

from kpegasos import PegasosSVC
from kpegasos.model_selection.scoring import GivenDecisions, HeldOutScorer, make_scorer_of

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
