"""The estimators in scikit-learn's hands: clone, search, pipelines, names, progress."""

import numpy as np
import pytest
from models import BOTH, assert_close_model, four_classes, integers, two_classes, with_duplicates
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@BOTH
def test_clone_keeps_every_parameter(Estimator):
    clf = Estimator(C=2.0, lam=0.1, epochs=3, average="suffix", checkpoints=[1, 5], n_jobs=2)
    assert clone(clf).get_params() == clf.get_params()
    assert not hasattr(clone(clf.fit(*two_classes())), "alpha_")


@BOTH
def test_fit_leaves_parameters_alone(Estimator):
    X, y = two_classes()
    clf = Estimator(random_state=0, checkpoints=[5, 1])
    before = dict(clf.get_params())
    clf.fit(X, y)
    assert clf.get_params() == before
    assert clf.fit(X, y) is clf


@BOTH
def test_fit_leaves_data_alone(Estimator):
    X, y = integers(2)
    weight = np.ones(y.size)
    copies = X.copy(), y.copy(), weight.copy()
    Estimator(class_weight="balanced").fit(X, y, sample_weight=weight)
    for given, copy in zip((X, y, weight), copies, strict=True):
        np.testing.assert_array_equal(given, copy)
    Z = with_duplicates(X)
    n_stored = Z.nnz
    Estimator(epochs=1).fit(Z, y).predict(Z)
    assert Z.nnz == n_stored


@BOTH
def test_grid_search_and_pipeline(Estimator):
    X, y = four_classes()
    pipeline = make_pipeline(StandardScaler(), Estimator(epochs=5, random_state=0))
    name = Estimator.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__C": [0.01, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    assert search.predict(X).shape == y.shape
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5


@BOTH
def test_feature_names(Estimator):
    import pandas as pd

    X, y = integers(2)
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = Estimator(epochs=1, random_state=0).fit(frame, y)
    assert clf.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[list("edcba")])


@BOTH
def test_predict_needs_fit(Estimator):
    X, _ = integers(2)
    with pytest.raises(NotFittedError):
        Estimator().predict(X)
    with pytest.raises(NotFittedError):
        Estimator().decision_function(X)


@BOTH
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_verbose_shows_the_gap(Estimator, n_jobs, capsys):
    X, y = four_classes()
    a = Estimator(verbose=True, n_jobs=n_jobs, epochs=3, random_state=0).fit(X, y)
    shown = capsys.readouterr().out
    assert "gap" in shown
    assert "100%" in shown
    assert Estimator.__name__ in shown
    b = Estimator(n_jobs=n_jobs, epochs=3, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""
    assert_close_model(a, b, X)
