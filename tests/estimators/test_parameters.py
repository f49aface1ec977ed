"""Parameters of both estimators: what each of them does."""

import cProfile
import warnings
from itertools import combinations

import numpy as np
import pytest
from models import BOTH, EXACT, assert_same_model, counts_of, four_classes, integers, two_classes
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC


@BOTH
def test_lam_wins_over_c(Estimator):
    X, y = integers(2)
    assert Estimator(C=4.0, random_state=0).fit(X, y).lam_ == 2.0**-8
    a = Estimator(C=4.0, random_state=0).fit(X, y)
    b = Estimator(C=123.0, lam=2.0**-8, random_state=0).fit(X, y)
    assert_same_model(a, b, X)


@BOTH
def test_lam_of_pairs(Estimator):
    X, y = four_classes()
    keep = ~((y == 3) & (np.arange(y.size) % 2 == 0))
    X, y = X[keep], y[keep]
    clf = Estimator(C=0.5, epochs=1, random_state=0).fit(X, y)
    sizes = [np.isin(y, pair).sum() for pair in combinations(range(4), 2)]
    np.testing.assert_allclose(clf.lam_, 1 / (0.5 * np.array(sizes)))
    np.testing.assert_array_equal(clf.set_params(lam=0.01).fit(X, y).lam_, [0.01] * 6)


@BOTH
def test_n_steps_and_batch_size(Estimator):
    X, y = two_classes(100)
    assert Estimator(n_steps=17, epochs=50).fit(X, y).n_steps_ == 17
    assert Estimator(epochs=2.5).fit(X, y).n_steps_ == 250
    clf = Estimator(epochs=2, batch_size=8, random_state=0).fit(X, y)
    assert clf.n_steps_ == 25
    assert clf.alpha_.sum() <= 200
    assert Estimator(batch_size=100, epochs=30, random_state=0).fit(X, y).score(X, y) > 0.8


@BOTH
@pytest.mark.parametrize("average", ["weighted", "suffix", "uniform", None])
@pytest.mark.parametrize("sampling", ["permutation", "uniform"])
def test_averages_and_samplings_learn(Estimator, average, sampling):
    X, y = two_classes(200)
    clf = Estimator(average=average, sampling=sampling, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.8


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


@BOTH
@pytest.mark.parametrize(
    ("checkpoints", "expected"),
    [
        ("epoch", [100, 200, 250]),
        ("log", [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 79, 100, 126, 158, 200,
                 250]),
        ([7, 120], [7, 120, 250]),
        (np.array([250, 3, 3, 999]), [3, 250]),
        ((), [250]),
        (None, []),
    ],
)  # fmt: skip
def test_checkpoints_are_recorded(Estimator, checkpoints, expected):
    X, y = two_classes(100)
    history = Estimator(n_steps=250, checkpoints=checkpoints, random_state=0).fit(X, y).history_
    # Without checkpoints only the end may be there.
    found = history["iteration"].tolist()
    assert found == expected or (checkpoints is None and found == [250])


@BOTH
def test_checkpoints_change_nothing(Estimator):
    X, y = two_classes(100)
    models = [
        Estimator(n_steps=333, checkpoints=t, random_state=0).fit(X, y)
        for t in ("epoch", "log", None)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(counts_of(model), counts_of(models[0]))
        np.testing.assert_allclose(model.objective_, models[0].objective_, rtol=1e-12)


@BOTH
def test_history_columns(Estimator):
    X, y = two_classes(100)
    clf = Estimator(epochs=6, checkpoints="epoch", random_state=0).fit(X, y)
    history = clf.history_
    assert len(history) == 6
    assert history["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert np.all(np.diff(history["dual_bound"]) >= 0)
    np.testing.assert_allclose(
        history["gap"], history["objective_average"] - history["dual_bound"], atol=1e-15
    )
    assert history["objective_average"][-1] == clf.objective_
    assert history["gap"][-1] == clf.duality_gap_
    assert history["relative_gap"][-1] == clf.relative_gap_
    assert history["support_size"][-1] == clf.support_.size
    assert list(history.to_dict()) == list(history.columns)
    assert history.to_pandas()["iteration"].tolist() == history["iteration"].tolist()
    with pytest.raises(KeyError, match="nothing"):
        history["nothing"]


@BOTH
def test_checkpoints_cost_the_same_each(Estimator):
    X, y = two_classes(20)

    def calls(epochs):
        profile = cProfile.Profile()
        profile.runcall(Estimator(epochs=epochs, random_state=0).fit, X, y)
        return sum(entry.callcount for entry in profile.getstats())

    calls(10)
    assert calls(4800) < 12 * calls(600)  # 8 times as many checkpoints


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
def test_tol_reached(Estimator, n_classes):
    X, y = make_blobs(200, centers=n_classes, cluster_std=3.0, random_state=0)
    clf = Estimator(C=0.01, tol=0.05, epochs=10_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf.fit(X, y)
    assert np.all(clf.relative_gap_ <= 0.05)
    assert np.all(clf.n_steps_ < 10_000 * 100)


@BOTH
@pytest.mark.parametrize("checkpoints", ["epoch", None])
def test_tol_not_reached(Estimator, checkpoints):
    X, y = two_classes()
    clf = Estimator(tol=1e-9, epochs=2, checkpoints=checkpoints, random_state=0)
    with pytest.warns(ConvergenceWarning, match="gap") as caught:
        clf.fit(X, y)
    (warning,) = caught
    assert f"{clf.relative_gap_:.3g}" in str(warning.message)
    assert Estimator.__name__ in str(warning.message)
    assert clf.n_steps_ == 2 * y.size
    assert clf.predict(X).shape == y.shape


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tol", [None, 1e-4])
def test_polish_reaches_the_gap(Estimator, n_classes, tol):
    X, y = make_blobs(150, centers=n_classes, cluster_std=3.0, random_state=0)
    plain = Estimator(C=0.1, epochs=2, random_state=0).fit(X, y)
    clf = Estimator(C=0.1, epochs=2, polish=True, tol=tol, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf.fit(X, y)
    assert np.all(clf.relative_gap_ <= (tol or 1e-2))
    assert np.all(clf.objective_ <= plain.objective_)
    threaded = clone(clf).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), threaded.predict(X))
    # The objective is that of the model that predicts.
    if Estimator is LinearPegasosSVC and n_classes == 2:
        hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X)).mean()
        w = np.append(clf.coef_[0], clf.intercept_[0])
        assert clf.objective_ == pytest.approx(clf.lam_ / 2 * (w @ w) + hinge, rel=1e-9)


@BOTH
def test_polish_changes_nothing_of_the_run(Estimator):
    X, y = two_classes()
    plain = Estimator(epochs=6, random_state=0).fit(X, y)
    parts = Estimator(epochs=3, random_state=0, polish=True, warm_start=True).fit(X, y)
    assert parts.n_steps_ == 3 * y.size
    parts.set_params(polish=False).fit(X, y)
    assert_same_model(plain, parts, X)


def test_warning_points_at_the_call_of_fit():
    X, y = two_classes()
    with pytest.warns(ConvergenceWarning) as caught:
        PegasosSVC(tol=1e-9, epochs=1).fit(X, y)
    assert caught[0].filename == __file__
