"""Parameters of the estimators: what each of them does, and what is left to us by "auto"."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from models import (
    BOTH,
    EXACT,
    assert_close_model,
    assert_same_model,
    counts_of,
    four_classes,
    integers,
    two_classes,
    with_duplicates,
)
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import PegasosSVC
from kpegasos.fitting.inputs import POLISH_DRAWS, POLISH_EPOCHS


@BOTH
def test_lam_is_that_of_each_pair(Estimator):
    X, y = four_classes()
    keep = ~((y == 3) & (np.arange(y.size) % 2 == 0))
    X, y = X[keep], y[keep]
    clf = Estimator(C=0.5, epochs=1, random_state=0).fit(X, y)
    sizes = [np.isin(y, pair).sum() for pair in combinations(range(4), 2)]
    np.testing.assert_allclose(clf.lam_, 1 / (0.5 * np.array(sizes)))
    np.testing.assert_array_equal(clf.set_params(lam=0.01).fit(X, y).lam_, [0.01] * 6)


@BOTH
def test_steps_are_counted_in_batches(Estimator):
    X, y = two_classes(100)
    assert Estimator(n_steps=7, epochs=50, polish=True).fit(X, y).n_steps_ == 7
    assert Estimator(epochs=2.5).fit(X, y).n_steps_ == 250
    clf = Estimator(epochs=2, batch_size=8, random_state=0).fit(X, y)
    assert clf.n_steps_ == 25


@BOTH
@pytest.mark.parametrize("intercept_scaling", [1.0, 3.0])
def test_intercept_is_a_constant_feature(Estimator, intercept_scaling):
    X, y = integers(2)
    X = X + 1.0
    kind = {"kernel": "linear"} if Estimator is PegasosSVC else {}
    a = Estimator(intercept_scaling=intercept_scaling, **kind, **EXACT).fit(X, y)
    Z = np.column_stack((X, np.full(y.size, intercept_scaling)))
    b = Estimator(fit_intercept=False, **kind, **EXACT).fit(Z, y)
    np.testing.assert_array_equal(counts_of(a), counts_of(b))
    assert b.intercept_.tolist() == [0.0]
    assert a.intercept_[0] == pytest.approx(b.coef_[0, -1] * intercept_scaling, rel=1e-10)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(Z), rtol=1e-9)


# --- history ---


@BOTH
def test_history_ends_with_the_model(Estimator):
    X, y = two_classes(100)
    clf = Estimator(epochs=6, checkpoints="epoch", random_state=0).fit(X, y)
    history = clf.history_
    assert history["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert np.all(np.diff(history["dual_bound"]) >= 0)
    np.testing.assert_allclose(
        history["gap"], history["objective_average"] - history["dual_bound"], atol=1e-15
    )
    last = history[-1]
    assert (last.objective_average, last.gap) == (clf.objective_, clf.duality_gap_)
    assert (last.relative_gap, last.support_size) == (clf.relative_gap_, clf.support_.size)


def test_history_is_sparse_where_nobody_waits_and_gaps_are_looked_at_each_epoch():
    X, y = two_classes(60)
    plain = PegasosSVC(random_state=0).fit(X, y)
    assert plain.n_steps_ == 20 * 60
    assert plain.history_["epoch"].tolist() == [1, 2, 5, 10, 20]
    every = PegasosSVC(checkpoints="epoch", epochs=200, random_state=0).fit(X, y).history_
    tol = float(every["relative_gap"][6])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf = PegasosSVC(tol=tol, epochs=200, random_state=0).fit(X, y)
    first = np.flatnonzero(every["relative_gap"] <= tol)[0]
    assert clf.history_["epoch"].tolist() == list(range(1, first + 2))


# --- tol and polish ---


@BOTH
@pytest.mark.parametrize("checkpoints", ["epoch", None])
def test_tol_that_is_not_reached_is_told_at_the_call_of_fit(Estimator, checkpoints):
    X, y = two_classes()
    clf = Estimator(tol=1e-9, epochs=2, checkpoints=checkpoints, random_state=0)
    with pytest.warns(ConvergenceWarning, match="gap") as caught:
        clf.fit(X, y)
    (warning,) = caught
    assert f"{clf.relative_gap_:.3g}" in str(warning.message)
    assert Estimator.__name__ in str(warning.message)
    assert warning.filename == __file__
    assert clf.n_steps_ == 2 * y.size


@BOTH
@pytest.mark.parametrize("n_samples", [60, 2000])
def test_polished_fit_begins_with_few_draws(Estimator, n_samples):
    X, y = two_classes(n_samples)
    clf = Estimator(polish=True, random_state=0).fit(X, y)
    assert clf.n_steps_ == min(POLISH_EPOCHS * n_samples, POLISH_DRAWS)
    assert clf.relative_gap_ <= 1e-2


def test_each_pair_has_its_own_number_of_draws():
    X, y = four_classes(200)
    kept = (y > 0) | (np.arange(200) % 4 == 0)
    clf = PegasosSVC(polish=True, random_state=0).fit(X[kept], y[kept])
    sizes = np.bincount(y[kept])
    pairs = [sizes[i] + sizes[j] for i, j in combinations(range(4), 2)]
    np.testing.assert_array_equal(clf.n_steps_, np.ceil(POLISH_EPOCHS * np.array(pairs)))


@BOTH
@pytest.mark.parametrize(("n_classes", "n_jobs", "tol"), [(2, None, 1e-4), (3, 2, None)])
def test_polish_reaches_the_gap(Estimator, n_classes, n_jobs, tol):
    X, y = make_blobs(150, centers=n_classes, cluster_std=3.0, random_state=0)
    plain = Estimator(C=0.1, epochs=2, random_state=0).fit(X, y)
    clf = Estimator(C=0.1, epochs=2, polish=True, tol=tol, n_jobs=n_jobs, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf.fit(X, y)
    assert np.all(clf.relative_gap_ <= (tol or 1e-2))
    assert np.all(clf.objective_ <= plain.objective_)


# --- what a fit leaves alone, and shows ---


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
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_verbose_shows_the_gap(Estimator, n_jobs, capsys):
    X, y = four_classes()
    a = Estimator(verbose=True, n_jobs=n_jobs, epochs=3, random_state=0).fit(X, y)
    shown = capsys.readouterr().out
    for part in ("gap", "100%", Estimator.__name__):
        assert part in shown
    b = Estimator(n_jobs=n_jobs, epochs=3, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""
    assert_close_model(a, b, X)
