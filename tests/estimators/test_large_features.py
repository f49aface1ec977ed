"""Features of unfit scales are told of, once, with the cure: of linear models, and of distances."""

import warnings

import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from kpegasos import LinearPegasosSVC, PegasosSVC


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


def test_column_that_hides_the_others_from_distances_is_told():
    X, y = load_wine(return_X_y=True)
    (warning,) = caught(PegasosSVC(polish=True, random_state=0), X, y)
    assert warning.category is UserWarning
    assert warning.filename == __file__
    assert "little but column 12 of X, which has 99.8% of the variance" in str(warning.message)
    for model, rows in (
        (PegasosSVC(polish=True, random_state=0), StandardScaler().fit_transform(X)),
        (PegasosSVC(kernel="linear", polish=True, random_state=0), X),
        (PegasosSVC(polish=True, random_state=0), X[:, 12:]),
    ):
        assert not any(warning.category is UserWarning for warning in caught(model, rows, y))


@pytest.mark.parametrize("load", [load_digits, load_iris])
def test_columns_of_like_spread_are_not_told_of(load):
    X, y = load(return_X_y=True)
    assert caught(PegasosSVC(polish=True, random_state=0), X, y) == []
