"""Bad grids, folds and scorers: one clear sentence, and nothing fitted."""

import numpy as np
import pytest
from rejections import assert_nothing_fitted, assert_rejected
from searches import blobs, small
from sklearn.metrics import accuracy_score, make_scorer

EVERYTHING = np.arange(120)
FIRST, SECOND = EVERYTHING[:60], EVERYTHING[60:]

VALUES = [
    ("Cs", 0, "Cs must be a positive integer, got 0"),
    ("Cs", 10**6, "Cs must be at most 1000"),
    ("Cs", True, "Cs must be a positive integer or a sequence of numbers, got True"),
    ("Cs", "all", "Cs must be a positive integer or a sequence of numbers, got 'all'"),
    ("Cs", [], r"Cs must have at least one value, got \[\]"),
    ("Cs", [1.0, 0.0], "each value of Cs must be a positive finite number, got 0.0"),
    ("Cs", [1, 2, 1.0], "Cs must have different values, got 1 twice"),
    ("gammas", [0.1, -1], "each value of gammas must be a positive finite number, got -1"),
    (
        "gammas",
        ["wide"],
        "each value of gammas must be a positive finite number, 'scale' or 'auto'",
    ),
    ("gammas", ["auto", 1 / 3], "gammas must have different values, got 0.333333 twice"),
    ("degrees", [], "degrees must have at least one value"),
    ("degrees", 3, "degrees must be a sequence of numbers, got 3"),
    ("degrees", [2.5], "each value of degrees must be an integer of at least 0, got 2.5"),
    ("coef0s", [np.inf], "each value of coef0s must be a finite number, got inf"),
    ("refit", "yes", "refit must be True or False, got 'yes'"),
    ("warm_start", 1, "warm_start must be True or False, got 1"),
    ("calibration", "temperature", "calibration must be one of .*, got 'temperature'"),
    ("tol", None, "tol must be a positive finite number, got None"),
    ("kernel", "gauss", "^kernel must be"),
    ("random_state", "seed", "^random_state must be"),
]


@pytest.mark.parametrize(("name", "value", "message"), VALUES, ids=str)
def test_values_are_refused_in_a_sentence(name, value, message):
    kernel = {"kernel": "poly"} if name in ("degrees", "coef0s") else {}
    assert_rejected(small(**kernel, **{name: value}), *blobs(), message)


def test_values_that_the_kernel_lacks_are_not_looked_at():
    search = small(kernel="linear", gammas=None, degrees=None, coef0s=None).fit(*blobs())
    assert list(search.best_params_) == ["C"]


FOLDS = [
    ([], "cv must give at least one fold, got none"),
    (True, "cv must be an integer of at least 2, a splitter or pairs .*, got True"),
    ("five", "cv must be an integer of at least 2, a splitter or pairs"),
    (61, "cv must be an integer of at least 2, a splitter or pairs.*n_splits=61"),
    ([3, 4], r"cv must be an integer of at least 2, a splitter or pairs .*, got 3 instead"),
    ([(FIRST, SECOND, FIRST)], "cv must be an integer of at least 2, a splitter or pairs"),
    ([(FIRST / 2, SECOND)], "cv must be .* as the training part of fold 0"),
    ([(FIRST, "b")], "cv must be .*, got 'b' as the test part of fold 0"),
    ([(FIRST, SECOND), (FIRST, SECOND + 1)], "from 0 to 119, got 120 in the test part of fold 1"),
    (
        [(FIRST, SECOND), (FIRST, EVERYTHING[59:])],
        "tests? each fold on other examples than it trains on, got example 59 in both .* fold 1",
    ),
    ([(FIRST, [])], "cv must test each fold on an example of positive sample_weight.*fold 0"),
    ([([], FIRST)], "cv must leave examples of each class to train on, got none of class 0 in"),
]


@pytest.mark.parametrize(("cv", "message"), FOLDS, ids=[message for _, message in FOLDS])
def test_folds_are_refused_in_a_sentence(cv, message):
    assert_rejected(small(cv=cv), *blobs(), message)


def test_fold_without_a_class_is_named():
    X, y = blobs(3)
    names = np.array(["ant", "bee", "cow"])[y]
    splits = [(EVERYTHING[::2], EVERYTHING[1::2])]
    lacking = (np.flatnonzero(names != "bee"), np.flatnonzero(names == "bee"))
    assert_rejected(small(cv=[*splits, lacking]), X, names, "none of class 'bee' in fold 1")
    assert_rejected(small(cv=[*splits, lacking]), X, names.astype(object), "class 'bee' in fold 1")


def test_fold_whose_class_has_no_weight_is_named():
    X, y = blobs()
    weight = np.where((y == 1) & (EVERYTHING < 60), 0.0, 1.0)
    search = small(cv=[(SECOND, FIRST), (FIRST, SECOND)])
    assert_rejected(search, X, y, "none of class 1 in fold 1", sample_weight=weight)
    weight = np.where(EVERYTHING < 60, 0.0, 1.0)
    search = small(cv=[(SECOND, FIRST)])
    assert_rejected(search, X, y, "example of positive sample_weight", sample_weight=weight)


def test_masks_are_folds():
    X, y = blobs()
    masks = small(cv=[(EVERYTHING < 60, EVERYTHING >= 60)]).fit(X, y)
    indices = small(cv=[(FIRST, SECOND)]).fit(X, y)
    np.testing.assert_array_equal(masks.scores_, indices.scores_)


def several(estimator, X, y):
    return {"accuracy": 1.0, "recall": 0.5}


def wordy(estimator, X, y):
    return "good"


def refits(estimator, X, y):
    return estimator.predict(X[:3]).mean()


SCORERS = [
    ("neg_log_loss", "scoring must be of predictions or decisions, got a scorer of probabilities"),
    ("roc_auc_ovr", "scoring must be of predictions or decisions, got a scorer of probabilities"),
    ("f1", "scoring must be of targets as those of y: Target is multiclass"),
    ("roc_auc", "scoring must be of targets as those of y: multi_class must be"),
    (["accuracy"], "scoring must be one score"),
    (several, r"scoring must be one score, got several: \['accuracy', 'recall'\]"),
    (wordy, "scoring must return a number, got 'good'"),
    (refits, "scoring must ask for decisions of the held-out examples, got 3 rows instead of 40"),
    ("closeness", "scoring must be a name of .*, a callable or None, got 'closeness'"),
    (accuracy_score, "scoring must be a scorer: .*metric function"),
]


@pytest.mark.parametrize(
    ("scoring", "message"),
    SCORERS,
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_scorers_are_refused_in_a_sentence(scoring, message):
    assert_rejected(small(scoring=scoring), *blobs(3), message)


def test_errors_of_a_scorer_are_its_own():
    def failing(y, predicted):
        raise ZeroDivisionError("this scorer fails")

    search = small(scoring=make_scorer(failing))
    with pytest.raises(ZeroDivisionError, match="this scorer fails"):
        search.fit(*blobs())
    assert_nothing_fitted(search)


def test_calibration_needs_a_model_and_tests_of_every_class():
    X, y = blobs()
    assert_rejected(small(refit=False, calibration="sigmoid"), X, y, "refit must be True for calib")
    test = np.flatnonzero(y == 1)[:20]
    cv = [(np.setdiff1d(EVERYTHING, test), test)]
    message = "cv must test examples of each class for calibration, got none of class 0"
    assert_rejected(small(calibration="sigmoid", cv=cv), X, y, message)
    assert small(cv=cv).fit(X, y).n_splits_ == 1
