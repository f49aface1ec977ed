"""Problems from labels of any two classes, and from C in place of lam."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.preprocessing import LabelEncoder
from sklearn.svm import LinearSVC

from kpegasos import LinearPegasosSVC, Problem, linear_rows, make_problem, sdca

SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
BOTH = {
    "signs": [1, -1, -1, 1],
    "floats": [1.0, -1.0, -1.0, 1.0],
    "int8": np.array([1, -1, -1, 1], np.int8),
    "zero and one": [1, 0, 0, 1],
    "unsigned": np.array([7, 3, 3, 7], np.uint8),
    "negative": [-1, -5, -5, -1],
    "booleans": [True, False, False, True],
    "strings": ["spam", "ham", "ham", "spam"],
    "bytes": [b"y", b"n", b"n", b"y"],
    "objects": np.array(["spam", "ham", "ham", "spam"], object),
    "numbers as objects": np.array([2, 1.0, 1, 2], object),
    "series": pd.Series(["b", "a", "a", "b"]),
    "nullable": pd.Series([True, False, False, True], dtype="boolean"),
    "categories": pd.Series(["b", "a", "a", "b"], dtype="category"),
}


@pytest.mark.parametrize("kind", BOTH)
def test_problem_has_signs_for_any_two_labels(kind):
    problem = make_problem(BOTH[kind], 0.5)
    assert problem.y.dtype == np.float64
    assert_array_equal(problem.y, SIGNS)


@pytest.mark.parametrize("kind", BOTH)
def test_problem_sorts_classes_as_scikit_learn_does(kind):
    labels = np.asarray(BOTH[kind])
    if kind == "numbers as objects":
        labels = labels.astype(float)
    problem = make_problem(BOTH[kind], 0.5)
    assert_array_equal(problem.classes, LabelEncoder().fit(labels).classes_)
    assert_array_equal(problem.classes[(problem.y > 0).astype(int)], labels)


@given(st.lists(st.sampled_from(["b", "aa"]), min_size=1).filter(lambda y: len(set(y)) == 2))
def test_problem_labels_round_trip(labels):
    problem = make_problem(labels, 1.0)
    assert problem.classes[(problem.y > 0).astype(int)].tolist() == labels


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("kind", [int, float, np.int8])
def test_problem_of_one_sign_keeps_it(sign, kind):
    problem = make_problem(np.full(3, sign, kind), 1.0)
    assert_array_equal(problem.y, np.full(3, float(sign)))
    assert_array_equal(problem.classes, [-1, 1])


def test_problem_of_unsigned_ones_has_a_negative_class():
    assert_array_equal(make_problem(np.ones(3, np.uint8), 1.0).classes, [-1, 1])


@pytest.mark.parametrize(
    ("y", "found"),
    [
        ([0, 0], r"1 of them, \[0\]"),
        (["a"], r"1 of them, \['a'\]"),
        ([True, True], r"1 of them, \[True\]"),
        ([0, 1, 2], r"3 of them, \[0, 1, 2\]"),
        (["a", "b", "c"], r"3 of them, \['a', 'b', 'c'\]"),
        (np.arange(100), r"100 of them, \[0, 1, 2, 3, 4\]"),
        ([0.5, 1.5, 2.5], r"3 of them, \[0.5, 1.5, 2.5\]"),
    ],
    ids=str,
)
def test_problem_refuses_other_numbers_of_classes(y, found):
    with pytest.raises(ValueError, match=rf"^y must hold labels of two classes, got {found}"):
        make_problem(y, 0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_problem_refuses_labels_that_are_missing(value):
    for y in ([1, -1, value], np.array([1, 0, value], object)):
        with pytest.raises(ValueError, match=r"^y must hold a label for each example, got NaN"):
            make_problem(y, 0.1)


def test_problem_refuses_labels_without_an_order():
    for y in (np.array(["a", 1], object), np.array(["a", np.nan], object), pd.Series(["a", None])):
        with pytest.raises(ValueError, match=r"^y must hold labels of one kind"):
            make_problem(y, 0.1)


def test_problem_refuses_masked_labels():
    with pytest.raises(ValueError, match=r"^y must have no masked entries, got 1 of 2"):
        make_problem(np.ma.array([1, -1], mask=[True, False]), 0.1)


# --- C --------------------------------------------------------------------------------------------


def test_problem_of_c_is_that_of_svc():
    assert make_problem(SIGNS, C=0.5).lam == 1 / (0.5 * 4)
    weighted = make_problem(SIGNS, sample_weight=[1, 2, 3, 4], C=0.5)
    assert weighted.lam == 1 / (0.5 * 10)
    assert_array_equal(weighted.weight, [0.4, 0.8, 1.2, 1.6])


@pytest.mark.parametrize("weight", [None, np.resize([1.0, 3.0, 0.5], 60)])
def test_problem_of_c_has_the_optimum_of_linear_svc(weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, "yes", "no")
    result = sdca(make_problem(y, sample_weight=weight, C=0.7), linear_rows(X), tol=1e-8)
    svc = LinearSVC(C=0.7, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6)
    svc.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(result.w, svc.coef_[0], atol=1e-3)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.25, 4.0]])
def test_problem_of_c_has_the_lam_of_the_estimators(weight):
    X = np.arange(8.0).reshape(4, 2)
    model = LinearPegasosSVC(C=3.0, random_state=0).fit(X, SIGNS, weight)
    assert make_problem(SIGNS, sample_weight=weight, C=3.0).lam == pytest.approx(model.lam_)


def test_problem_needs_lam_or_c():
    with pytest.raises(ValueError, match=r"^lam must be given unless C is, got None instead"):
        make_problem(SIGNS)
    with pytest.raises(ValueError, match=r"^C must be None where lam is given, got 1.0 instead"):
        make_problem(SIGNS, 0.1, C=1.0)


@pytest.mark.parametrize("C", [0, -1, np.nan, np.inf, "1", True, [1], 1e-200, 1e200], ids=repr)
def test_problem_refuses_c(C):
    with pytest.raises(ValueError, match=r"^C must be (at least|at most|a positive finite)"):
        make_problem(SIGNS, C=C)


@pytest.mark.parametrize(("C", "size"), [(1e-100, 1e-100), (1e100, 1e100)])
def test_problem_refuses_c_beyond_its_weights(C, size):
    with pytest.raises(ValueError, match=r"^C times the mean of sample_weight must be between"):
        make_problem(SIGNS, sample_weight=np.full(4, size), C=C)


# --- records --------------------------------------------------------------------------------------


def test_problem_without_classes_is_one_of_signs():
    assert Problem(SIGNS, np.ones(4), 0.1).classes is None


def test_problem_round_trip():
    problem = make_problem(BOTH["strings"], C=2.0)
    loaded = pickle.loads(pickle.dumps(problem._replace(lam=0.25)))
    assert loaded.lam == 0.25
    assert loaded.classes.tolist() == ["ham", "spam"]
    assert_array_equal(loaded.y, problem.y)
