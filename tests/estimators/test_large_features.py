"""A linear model that large features keep from its optimum says so, once, and names the cure."""

import warnings

import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from kpegasos import LinearPegasosSVC


def caught(clf, X, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        clf.fit(X, y)
    return found


@pytest.mark.parametrize("form", [lambda X: X, sparse.csr_matrix])
def test_raw_features_are_warned_of_once(form):
    X, y = load_wine(return_X_y=True)
    (warning,) = caught(LinearPegasosSVC(random_state=0), form(X), y)
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__
    text = str(warning.message)
    for part in ("for 3 of 3 pairs", "relative gap of 1", "StandardScaler", "polish=True"):
        assert part in text


@pytest.mark.parametrize("options", [{"polish": True}, {"n_steps": 10}])
def test_neither_the_cure_nor_a_few_steps_are_warned_of(options):
    X, y = load_wine(return_X_y=True)
    assert caught(LinearPegasosSVC(random_state=0, **options), X, y) == []


@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_usual_features_are_not_warned_of(load):
    X, y = load(return_X_y=True)
    if load is load_wine:
        X = StandardScaler().fit_transform(X)
    assert caught(LinearPegasosSVC(random_state=0), X, y) == []


def test_tol_that_is_missed_is_one_warning():
    X, y = load_wine(return_X_y=True)
    (warning,) = caught(LinearPegasosSVC(random_state=0, tol=1e-3), X, y)
    assert "did not reach tol" in str(warning.message)
