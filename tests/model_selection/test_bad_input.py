"""Bad grids, folds and scorers: one clear sentence, and nothing fitted."""

import numpy as np
import pytest
from rejections import assert_rejected
from searches import blobs, small
from sklearn.metrics import accuracy_score

EVERYTHING = np.arange(120)
FIRST, SECOND = EVERYTHING[:60], EVERYTHING[60:]


def several(estimator, X, y):
    return {"accuracy": 1.0, "recall": 0.5}


def wordy(estimator, X, y):
    return "good"


def refits(estimator, X, y):
    return estimator.predict(X[:3]).mean()


POLY = {"kernel": "poly"}
OF_PROBABILITIES = "of predictions or decisions, got a scorer of probabilities"
WRONG = [
    ({"Cs": 0}, "Cs must be a positive integer, got 0"),
    ({"Cs": 10**6}, "Cs must be at most 1000"),
    ({"Cs": []}, r"Cs must have at least one value, got \[\]"),
    ({"Cs": [1.0, 0.0]}, "each value of Cs must be a positive finite number, got 0.0"),
    ({"Cs": [1, 2, 1.0]}, "Cs must have different values, got 1 twice"),
    ({"gammas": ["wide"]}, "each value of gammas must be a positive finite .*, 'scale' or 'auto'"),
    ({"gammas": ["auto", 1 / 3]}, "gammas must have different values, got 0.333333 twice"),
    ({"degrees": 3, **POLY}, "degrees must be a sequence of numbers, got 3"),
    ({"degrees": [2.5], **POLY}, "each value of degrees must be an integer of at least 0, got 2.5"),
    ({"coef0s": [np.inf], **POLY}, "each value of coef0s must be a finite number, got inf"),
    ({"calibration": "temperature"}, "calibration must be one of .*, got 'temperature'"),
    ({"refit": False, "calibration": "sigmoid"}, "refit must be True for calib"),
    ({"tol": None}, "tol must be a positive finite number, got None"),
    ({"cv": []}, "cv must give at least one fold, got none"),
    ({"cv": 61}, "cv must be an integer of at least 2, a splitter or pairs.*n_splits=61"),
    ({"cv": [3, 4]}, r"cv must be an integer of at least 2, a splitter or pairs .*, got 3 instead"),
    ({"cv": [(FIRST, SECOND, FIRST)]}, "cv must be an integer of at least 2, a splitter or pairs"),
    ({"cv": [(FIRST / 2, SECOND)]}, "cv must be .* as the training part of fold 0"),
    ({"cv": [(FIRST, "b")]}, "cv must be .*, got 'b' as the test part of fold 0"),
    (
        {"cv": [(FIRST, SECOND), (FIRST, SECOND + 1)]},
        "from 0 to 119, got 120 in the test part of fold 1",
    ),
    (
        {"cv": [(FIRST, SECOND), (FIRST, EVERYTHING[59:])]},
        "tests? each fold on other examples than it trains on, got example 59 in both .* fold 1",
    ),
    ({"cv": [(FIRST, [])]}, "test each fold on an example of positive sample_weight.*fold 0"),
    ({"cv": [([], FIRST)]}, "leave examples of each class to train on, got none of class 0 in"),
    ({"scoring": "neg_log_loss"}, OF_PROBABILITIES),
    ({"scoring": "roc_auc_ovr"}, OF_PROBABILITIES),
    ({"scoring": "f1"}, "scoring must be of targets as those of y: Target is multiclass"),
    ({"scoring": "roc_auc"}, "scoring must be of targets as those of y: multi_class must be"),
    ({"scoring": several}, r"must be one score, got several: \['accuracy', 'recall'\]"),
    ({"scoring": wordy}, "scoring must return a number, got 'good'"),
    ({"scoring": refits}, "decisions of the held-out examples, got 3 rows instead of 40"),
    ({"scoring": "closeness"}, "scoring must be a name of .*, a callable or None, got 'closeness'"),
    ({"scoring": accuracy_score}, "scoring must be a scorer: .*metric function"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG, ids=[message for _, message in WRONG])
def test_bad_values_folds_and_scorers_are_refused_in_a_sentence(settings, message):
    assert_rejected(small(**settings), *blobs(3), message)


def test_values_that_the_kernel_lacks_are_not_looked_at():
    search = small(kernel="linear", gammas=None, degrees=None, coef0s=None).fit(*blobs())
    assert list(search.best_params_) == ["C"]


def test_fold_without_a_class_is_named():
    X, y = blobs(3)
    names = np.array(["ant", "bee", "cow"])[y]
    lacking = (np.flatnonzero(names != "bee"), np.flatnonzero(names == "bee"))
    search = small(cv=[(EVERYTHING[::2], EVERYTHING[1::2]), lacking])
    for labels in (names, names.astype(object)):
        assert_rejected(search, X, labels, "none of class 'bee' in fold 1")


def test_fold_whose_class_has_no_weight_is_named():
    X, y = blobs()
    search = small(cv=[(SECOND, FIRST), (FIRST, SECOND)])
    weight = np.where((y == 1) & (EVERYTHING < 60), 0.0, 1.0)
    assert_rejected(search, X, y, "none of class 1 in fold 1", sample_weight=weight)
    weight = np.where(EVERYTHING < 60, 0.0, 1.0)
    assert_rejected(search, X, y, "example of positive sample_weight", sample_weight=weight)


def test_masks_are_folds():
    X, y = blobs()
    masks = small(cv=[(EVERYTHING < 60, EVERYTHING >= 60)]).fit(X, y)
    indices = small(cv=[(FIRST, SECOND)]).fit(X, y)
    np.testing.assert_array_equal(masks.scores_, indices.scores_)


def test_calibration_needs_tests_of_every_class():
    X, y = blobs()
    test = np.flatnonzero(y == 1)[:20]
    search = small(cv=[(np.setdiff1d(EVERYTHING, test), test)])
    assert search.fit(X, y).n_splits_ == 1
    message = "cv must test examples of each class for calibration, got none of class 0"
    assert_rejected(small(cv=search.cv, calibration="sigmoid"), X, y, message)
