"""The estimators as classifiers: votes, layouts, equivalences, continued fits, streams."""

import pickle
import time
import tracemalloc
import warnings
from itertools import combinations

import joblib
import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from kpegasos import RBF, Laplacian, Linear, LinearPegasosSVC, PegasosSVC, Polynomial, Sigmoid
from kpegasos.estimators._one_vs_one import vote
from kpegasos.solvers.history import History

BOTH = pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])


def two_classes(n_samples=120):
    return make_moons(n_samples, noise=0.2, random_state=0)


def four_classes(n_samples=160):
    return make_blobs(n_samples, centers=4, n_features=3, cluster_std=4.0, random_state=1)


def integers(n_classes, n_per_class=32):
    """Small integers: with lam a power of two and an integer kernel, every sum is exact."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), n_per_class)
    X = rng.integers(-3, 4, size=(y.size, 5)) + 2 * (y[:, None] == np.arange(5))
    order = rng.permutation(y.size)
    return X[order].astype(np.float64), y[order]


EXACT = {"lam": 2.0**-6, "random_state": 0, "epochs": 5}


def assert_same_model(a, b, X):
    """The same counts and, exactly, the same decisions."""
    np.testing.assert_array_equal(a.alpha_, b.alpha_)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.objective_, b.objective_)
    np.testing.assert_array_equal(a.duality_gap_, b.duality_gap_)


def assert_close_model(a, b, X, Z=None, rtol=1e-9):
    """The same counts, and decisions up to rounding."""
    np.testing.assert_array_equal(a.alpha_, b.alpha_)
    decisions = a.decision_function(X)
    np.testing.assert_allclose(
        decisions,
        b.decision_function(X if Z is None else Z),
        atol=rtol * np.abs(decisions).max(),
        rtol=0,
    )


# --- classes and votes ----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("n_classes", "kind"),
    [(n, kind) for n in (2, 3, 4) for kind in ("number", "string", "negative")] + [(2, "bool")],
)
def test_predict_labels(Estimator, n_classes, kind):
    X, numbers = make_blobs(150, centers=n_classes, cluster_std=0.5, random_state=4)
    names = {
        "number": np.arange(n_classes),
        "string": np.array(["ant", "bee", "cow", "dog"])[:n_classes],
        "negative": -np.arange(n_classes)[::-1] - 1,
        "bool": np.array([False, True]),
    }[kind]
    y = names[numbers]
    clf = Estimator(random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.classes_, names)
    assert clf.predict(X).dtype == y.dtype
    assert clf.score(X, y) > 0.97
    # The names of the classes change nothing but the names.
    numbered = Estimator(random_state=0).fit(X, numbers)
    np.testing.assert_array_equal(clf.predict(X), names[numbered.predict(X)])


@BOTH
def test_decision_function_binary_sign(Estimator):
    X, y = two_classes()
    clf = Estimator(random_state=0).fit(X, y)
    for shape in ("ovr", "ovo"):
        decisions = clf.set_params(decision_function_shape=shape).decision_function(X)
        assert decisions.shape == (X.shape[0],)
        np.testing.assert_array_equal(clf.predict(X), clf.classes_[(decisions > 0).astype(int)])


@BOTH
def test_decision_function_ovo_sign(Estimator):
    X, y = make_blobs(150, centers=3, cluster_std=0.3, random_state=4)
    clf = Estimator(decision_function_shape="ovo", random_state=0).fit(X, y)
    decisions = clf.decision_function(X)
    for number, (i, j) in enumerate(combinations(range(3), 2)):
        assert (decisions[y == i, number] > 0).mean() > 0.97
        assert (decisions[y == j, number] < 0).mean() > 0.97


def with_arrays_of(svc, X, y, **parameters):
    """A PegasosSVC that holds the model of an SVC."""
    clf = PegasosSVC(gamma=svc._gamma, epochs=1, random_state=0, **parameters).fit(X, y)
    clf.support_, clf.support_vectors_ = svc.support_, svc.support_vectors_
    clf.n_support_, clf.dual_coef_ = svc.n_support_, svc.dual_coef_
    clf.intercept_ = svc.intercept_
    return clf


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_layout_and_votes_are_those_of_svc(n_classes, shape):
    """SVC's arrays inside our estimator give SVC's decisions and predictions."""
    X, y = make_blobs(200, centers=n_classes, n_features=2, cluster_std=4.0, random_state=2)
    svc = SVC(decision_function_shape=shape, gamma=0.3).fit(X, y)
    clf = with_arrays_of(svc, X, y, decision_function_shape=shape)
    Z = np.random.default_rng(0).uniform(-15, 15, size=(500, 2))
    np.testing.assert_allclose(clf.decision_function(Z), svc.decision_function(Z), atol=1e-9)
    np.testing.assert_array_equal(clf.predict(Z), svc.predict(Z))


def test_break_ties_is_that_of_svc():
    X, y = make_blobs(200, centers=5, n_features=2, cluster_std=4.0, random_state=2)
    Z = np.random.default_rng(0).uniform(-15, 15, size=(4000, 2))
    svc = SVC(gamma=0.3, break_ties=True).fit(X, y)
    clf = with_arrays_of(svc, X, y, break_ties=True)
    broken = clf.predict(Z)
    np.testing.assert_array_equal(broken, svc.predict(Z))
    np.testing.assert_array_equal(broken, clf.decision_function(Z).argmax(axis=1))
    # There are ties to break, or the test would show nothing.
    assert np.any(broken != clf.set_params(break_ties=False).predict(Z))


def test_linear_votes_are_those_of_svc():
    X, y = four_classes()
    svc = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    clf = LinearPegasosSVC(decision_function_shape="ovo", epochs=1).fit(X, y)
    clf.coef_, clf.intercept_ = svc.coef_, svc.intercept_
    np.testing.assert_allclose(clf.decision_function(X), svc.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(clf.predict(X), svc.predict(X))


def test_vote_tie_goes_to_lowest_class():
    # 0 beats 1, 1 beats 2, 2 beats 0: one vote each. And a decision of zero is a vote for j.
    assert vote(np.array([[1.0, -1.0, 1.0]]), 3).tolist() == [0]
    assert vote(np.array([[0.0, 0.0, 0.0]]), 3).tolist() == [2]
    # 1 and 2 have two votes each of six.
    decisions = np.array([[-1.0, -1.0, 1.0, 1.0, -1.0, 1.0]])
    assert vote(decisions, 4).tolist() == [1]


# --- layout ---------------------------------------------------------------------------------------


def kernel_values(clf, Z):
    return np.exp(-clf.gamma * ((Z[:, None] - clf.support_vectors_[None]) ** 2).sum(axis=2))


def test_dual_coef_binary_by_hand():
    X, y = two_classes()
    clf = PegasosSVC(gamma=2.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.support_vectors_, X[clf.support_])
    assert clf.dual_coef_.shape == (1, clf.support_.size)
    assert clf.n_support_.tolist() == [(y[clf.support_] == c).sum() for c in (0, 1)]
    assert np.all(np.diff(y[clf.support_]) >= 0)
    assert clf.intercept_.shape == (1,)
    Z = X + 0.1
    by_hand = kernel_values(clf, Z) @ clf.dual_coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(clf.decision_function(Z), by_hand, atol=1e-10)
    # Coefficients push towards the own class.
    assert np.all(np.sign(clf.dual_coef_[0]) == np.where(y[clf.support_] == 1, 1, -1))


def test_dual_coef_multiclass_by_hand():
    X, y = four_classes()
    clf = PegasosSVC(gamma=0.1, decision_function_shape="ovo", random_state=0).fit(X, y)
    owner = y[clf.support_]
    assert clf.dual_coef_.shape == (3, clf.support_.size)
    assert clf.n_support_.tolist() == np.bincount(owner, minlength=4).tolist()
    assert np.all(np.diff(owner) >= 0)
    assert clf.intercept_.shape == (6,)
    Z = X + 0.5
    K = kernel_values(clf, Z)
    by_hand = np.zeros((Z.shape[0], 6))
    for number, (i, j) in enumerate(combinations(range(4), 2)):
        by_hand[:, number] = clf.intercept_[number]
        for s in range(clf.support_.size):
            if owner[s] == i:
                by_hand[:, number] += clf.dual_coef_[j - 1, s] * K[:, s]
            elif owner[s] == j:
                by_hand[:, number] += clf.dual_coef_[i, s] * K[:, s]
    np.testing.assert_allclose(clf.decision_function(Z), by_hand, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_dual_coef_linear_makes_coef(n_classes):
    X, y = four_classes()
    X, y = X[y < n_classes], y[y < n_classes]
    for clf in (LinearPegasosSVC(random_state=0), PegasosSVC(kernel="linear", random_state=0)):
        clf.fit(X, y)
        n_pairs = n_classes * (n_classes - 1) // 2
        assert clf.coef_.shape == (n_pairs, X.shape[1])
        assert clf.intercept_.shape == (n_pairs,)
        owner = y[clf.support_]
        for number, (i, j) in enumerate(combinations(range(n_classes), 2)):
            coef = np.where(owner == i, clf.dual_coef_[j - 1], clf.dual_coef_[i])
            coef[(owner != i) & (owner != j)] = 0.0
            np.testing.assert_allclose(coef @ X[clf.support_], clf.coef_[number], rtol=1e-8)


@BOTH
def test_alpha_counts(Estimator):
    X, y = integers(2)
    clf = Estimator(average=None, **EXACT).fit(X, y)
    assert clf.alpha_.dtype == np.int64
    assert clf.alpha_.shape == y.shape
    assert clf.alpha_.min() >= 0
    assert clf.alpha_.max() <= 5  # a permutation draws each example once an epoch
    np.testing.assert_array_equal(np.flatnonzero(clf.alpha_), np.sort(clf.support_))
    # w_{T+1} = Σ alpha y φ / (lam T), and the model of average=None is the last iterate.
    expected = clf.alpha_ * np.where(y == 1, 1, -1) / (clf.lam_ * clf.n_steps_)
    np.testing.assert_allclose(clf.dual_coef_[0], expected[clf.support_], rtol=1e-12)


@BOTH
def test_alpha_multiclass(Estimator):
    X, y = integers(3)
    clf = Estimator(**EXACT).fit(X, y)
    assert clf.alpha_.shape == (3, y.size)
    assert clf.alpha_.dtype == np.int64
    for number, (i, j) in enumerate(combinations(range(3), 2)):
        outside = (y != i) & (y != j)
        assert not clf.alpha_[number, outside].any()
        assert clf.alpha_[number, ~outside].any()


@BOTH
def test_alpha_with_projection_is_real(Estimator):
    X, y = integers(2)
    clf = Estimator(projection=True, **EXACT).fit(X, y)
    assert clf.alpha_.dtype == np.float64
    assert np.any(clf.alpha_ != np.round(clf.alpha_))
    # The iterates stay in the ball of radius 1/sqrt(lam), hence their averages too.
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X)).mean()
    assert clf.objective_ - slack <= 0.5 + 1e-9


@BOTH
def test_attributes_of_multiclass_are_per_pair(Estimator):
    X, y = four_classes()
    clf = Estimator(random_state=0, epochs=3).fit(X, y)
    for name in ("lam_", "n_steps_", "objective_", "duality_gap_", "relative_gap_"):
        assert getattr(clf, name).shape == (6,), name
    assert [type(history) for history in clf.history_] == [History] * 6
    assert not hasattr(PegasosSVC(random_state=0).fit(X, y), "coef_")


@BOTH
def test_objective_is_that_of_the_model(Estimator):
    """Objective and bound against the definition, from public attributes alone."""
    X, y = integers(2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=y.size)
    clf = Estimator(C=0.1, random_state=0, **({"gamma": 0.1} if Estimator is PegasosSVC else {}))
    clf.fit(X, y, sample_weight=weight)
    sv, coef = X[clf.support_], clf.dual_coef_[0]
    K = sv @ sv.T if Estimator is LinearPegasosSVC else RBF(0.1).block(sv, sv)
    squared_norm = coef @ (K + 1.0) @ coef  # with the constant feature
    hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X))
    lam = 1 / (0.1 * weight.sum())
    assert clf.lam_ == pytest.approx(lam)
    objective = lam / 2 * squared_norm + (weight @ hinge) / weight.sum()
    assert clf.objective_ == pytest.approx(objective, rel=1e-10)
    assert 0 < clf.duality_gap_ < clf.objective_
    assert clf.relative_gap_ == pytest.approx(clf.duality_gap_ / clf.objective_)
    better = clone(clf).set_params(epochs=2000).fit(X, y, sample_weight=weight)
    assert better.objective_ >= clf.objective_ - clf.duality_gap_
    assert better.relative_gap_ < 0.05


# --- parameters -----------------------------------------------------------------------------------


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
def test_n_iter_and_batch_size(Estimator):
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
    np.testing.assert_array_equal(a.alpha_, b.alpha_)
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
def test_trace(Estimator, checkpoints, expected):
    X, y = two_classes(100)
    history = Estimator(n_steps=250, checkpoints=checkpoints, random_state=0).fit(X, y).history_
    # Without a checkpoints only the end may be there.
    found = history["iteration"].tolist()
    assert found == expected or (checkpoints is None and found == [250])


@BOTH
def test_trace_changes_nothing(Estimator):
    X, y = two_classes(100)
    models = [
        Estimator(n_steps=333, checkpoints=t, random_state=0).fit(X, y)
        for t in ("epoch", "log", None)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.alpha_, models[0].alpha_)
        np.testing.assert_allclose(model.objective_, models[0].objective_, rtol=1e-12)


@BOTH
def test_history_columns(Estimator):
    X, y = two_classes(100)
    clf = Estimator(epochs=6, random_state=0).fit(X, y)
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
def test_trace_costs_the_same_at_each_checkpoint(Estimator):
    X, y = two_classes(20)

    def seconds(epochs):
        begin = time.perf_counter()
        Estimator(epochs=epochs, random_state=0).fit(X, y)
        return time.perf_counter() - begin

    seconds(10)
    short = min(seconds(600) for _ in range(3))
    assert seconds(4800) < 20 * short  # 8 times as many; 64 times the time if all were scanned


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


# --- the same model by other ways -----------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("average", ["weighted", "suffix", None])
@pytest.mark.parametrize("batch_size", [1, 6])
def test_linear_kernel_equals_linear_estimator(n_classes, average, batch_size):
    X, y = integers(n_classes)
    common = {"average": average, "batch_size": batch_size, **EXACT}
    a = PegasosSVC(kernel="linear", **common).fit(X, y)
    b = LinearPegasosSVC(**common).fit(X, y)
    np.testing.assert_array_equal(a.alpha_, b.alpha_)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.n_support_, b.n_support_)
    np.testing.assert_allclose(a.dual_coef_, b.dual_coef_, rtol=1e-12)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.duality_gap_, b.duality_gap_, rtol=1e-6)
    for clf in (a, b):
        clf.set_params(decision_function_shape="ovo")  # a vote may hang on a rounded zero
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-9)


@BOTH
def test_n_jobs_equivalence(Estimator):
    X, y = four_classes()
    a = Estimator(n_jobs=1, random_state=0).fit(X, y)
    b = Estimator(n_jobs=2, random_state=0).fit(X, y)
    assert_close_model(a, b, X)
    for one, two in zip(a.history_, b.history_, strict=True):
        np.testing.assert_allclose(one["gap"], two["gap"], rtol=1e-9)


@pytest.mark.parametrize(
    "memory",
    [{"cache": "cached"}, {"cache": "cached", "cache_mb": 0.5}, {"cache": "precomputed"}, {}],
    ids=str,
)
def test_n_jobs_share_no_memory_in_use(memory):
    """Several pairs at once, each with rows of its own: exactly the model of one after another."""
    X, y = integers(5, 100)
    poly = {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}
    a = PegasosSVC(n_jobs=1, **poly, **memory, **EXACT).fit(X, y)
    for _ in range(3):
        b = PegasosSVC(n_jobs=4, **poly, **memory, **EXACT).fit(X, y)
        assert_close_model(a, b, X, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "other",
    [
        {"cache": "precomputed"},
        {"cache": "cached"},
        {"cache": "cached", "cache_mb": 0.02},
        {"cache": "streamed"},
        {"cache": "streamed", "cache_mb": 0.02},
    ],
    ids=str,
)
def test_cache_equivalence_exact(kernel, n_classes, other):
    X, y = integers(n_classes, 64)
    parameters = {"kernel": kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0, **EXACT}
    a = PegasosSVC(**parameters).fit(X, y)
    b = PegasosSVC(**parameters, **other).fit(X, y)
    assert_close_model(a, b, X)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_cache_equivalence_predictions(kernel, cache):
    X, y = four_classes()
    a = PegasosSVC(kernel=kernel, random_state=0).fit(X, y)
    b = PegasosSVC(kernel=kernel, cache=cache, random_state=0).fit(X, y)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-4)


def with_duplicates(X):
    """CSR with every entry stored as two halves, columns out of order."""
    plain = sparse.csr_matrix(X)
    data = np.repeat(plain.data / 2, 2)
    made = sparse.csr_matrix((data, np.repeat(plain.indices, 2), plain.indptr * 2), shape=X.shape)
    for row in range(X.shape[0]):
        part = slice(made.indptr[row], made.indptr[row + 1])
        made.indices[part] = made.indices[part][::-1].copy()
        made.data[part] = made.data[part][::-1].copy()
    made.has_sorted_indices = made.has_canonical_format = False
    return made


def wide(X):
    made = sparse.csr_matrix(X)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


FORMATS = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X: X.tolist(),
    "int": lambda X: X.astype(np.int32),
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "big-endian": lambda X: X.astype(">f8"),
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr int64": wide,
    "csr duplicates": with_duplicates,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "clf",
    [
        PegasosSVC(kernel="linear", **EXACT),
        PegasosSVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0, **EXACT),
        LinearPegasosSVC(**EXACT),
    ],
    ids=["kernel", "poly", "linear"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_formats_exact(clf, name, n_classes):
    X, y = integers(n_classes)
    Z = FORMATS[name](X)
    clf = clone(clf).set_params(decision_function_shape="ovo")
    rtol = 1e-4 if "float32" in name else 1e-10
    assert_close_model(clone(clf).fit(X, y), clone(clf).fit(Z, y), X, Z, rtol=rtol)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_formats_of_distance_kernels(name, kernel):
    X, y = integers(2)
    Z = FORMATS[name](X)
    clf = PegasosSVC(kernel=kernel, gamma=0.1, random_state=0)
    a, b = clone(clf).fit(X, y), clone(clf).fit(Z, y)
    # A margin on the edge may be rounded over it, hence no more digits.
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(Z), atol=2e-3)
    # Predicting rows of another format than those of the fit.
    np.testing.assert_allclose(b.decision_function(Z), b.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(a.decision_function(Z), a.decision_function(X), atol=1e-4)


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["np.memmap", "joblib", "joblib csr"])
def test_read_only_memory_map(Estimator, n_classes, dtype, how, tmp_path):
    X, y = integers(n_classes)
    X = X.astype(dtype)
    path = tmp_path / "X"
    if how == "np.memmap":
        np.memmap(path, dtype=dtype, mode="w+", shape=X.shape)[:] = X
        mapped = np.memmap(path, dtype=dtype, mode="r", shape=X.shape)
        assert not mapped.flags.writeable
    else:
        joblib.dump(X if how == "joblib" else sparse.csr_matrix(X), path)
        mapped = joblib.load(path, mmap_mode="r")
        assert not (mapped if how == "joblib" else mapped.data).flags.writeable
    for n_jobs in (None, 2):
        clf = Estimator(n_jobs=n_jobs, **EXACT)
        a, b = clone(clf).fit(X, y), clone(clf).fit(mapped, y)
        assert_close_model(a, b, X, mapped, rtol=1e-5)


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sample_weight_zero_is_removal(Estimator, n_classes):
    X, y = integers(n_classes)
    weight = np.random.default_rng(0).integers(0, 3, size=y.size).astype(np.float64)
    kept = weight > 0
    clf = Estimator(C=0.5, random_state=0, **({"gamma": 0.1} if Estimator is PegasosSVC else {}))
    a = clone(clf).fit(X, y, sample_weight=weight)
    b = clone(clf).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(a.alpha_[..., kept], b.alpha_)
    assert not a.alpha_[..., ~kept].any()
    np.testing.assert_array_equal(np.flatnonzero(kept)[b.support_], a.support_)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


@BOTH
def test_sample_weight_zero_removes_a_class(Estimator):
    X, y = integers(3)
    weight = (y != 1).astype(np.float64)
    kept = y != 1
    clf = Estimator(random_state=0, **({"gamma": 0.1} if Estimator is PegasosSVC else {}))
    a, b = clone(clf).fit(X, y, sample_weight=weight), clone(clf).fit(X[kept], y[kept])
    assert a.classes_.tolist() == [0, 2]
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert a.alpha_.shape == y.shape
    np.testing.assert_array_equal(X[a.support_], X[kept][b.support_])


@BOTH
def test_sample_weight_scale_is_that_of_c(Estimator):
    X, y = two_classes(128)
    a = Estimator(C=4.0, random_state=0).fit(X, y)
    b = Estimator(C=1.0, random_state=0).fit(X, y, sample_weight=np.full(y.size, 4.0))
    assert_same_model(a, b, X)
    # With lam, a common factor of the weights means nothing.
    a = Estimator(lam=0.01, random_state=0).fit(X, y)
    b = Estimator(lam=0.01, random_state=0).fit(X, y, sample_weight=np.full(y.size, 4.0))
    assert_same_model(a, b, X)


@BOTH
def test_sample_weight_moves_the_boundary(Estimator):
    X, y = make_blobs(200, centers=2, cluster_std=5.0, random_state=0)
    recalls = []
    for factor in (0.1, 1.0, 10.0):
        weight = np.where(y == 1, factor, 1.0)
        clf = Estimator(random_state=0, epochs=50).fit(X, y, sample_weight=weight)
        recalls.append(clf.predict(X)[y == 1].mean())
    assert recalls[0] < recalls[1] < recalls[2]


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weight_is_sample_weight(Estimator, n_classes):
    X, y = integers(n_classes)
    names = np.array(["a", "b", "c"])[y]
    keep = (y != 0) | (np.arange(y.size) % 3 == 0)
    X, y, names = X[keep], y[keep], names[keep]
    weights = {"a": 3.0, "b": 0.5, "c": 1.25}
    given = {name: weights[name] for name in np.unique(names)}
    own = np.random.default_rng(0).uniform(0.5, 1.5, size=y.size)
    for class_weight in (given, "balanced"):
        expected = compute_sample_weight(class_weight, names)
        a = Estimator(class_weight=class_weight, random_state=0).fit(X, names)
        b = Estimator(random_state=0).fit(X, names, sample_weight=expected)
        assert_same_model(a, b, X)
    a = Estimator(class_weight=given, random_state=0).fit(X, names, sample_weight=own)
    b = Estimator(random_state=0).fit(
        X, names, sample_weight=own * compute_sample_weight(given, names)
    )
    assert_same_model(a, b, X)


@BOTH
def test_class_weight_dict_may_leave_classes_out(Estimator):
    X, y = integers(3)
    a = Estimator(class_weight={2: 3.0}, random_state=0).fit(X, y)
    b = Estimator(class_weight={0: 1.0, 1: 1.0, 2: 3.0}, random_state=0).fit(X, y)
    assert_same_model(a, b, X)


@BOTH
def test_random_state(Estimator):
    X, y = two_classes()
    fit = lambda state: Estimator(random_state=state, epochs=2).fit(X, y)  # noqa: E731
    assert_same_model(fit(3), fit(3), X)
    assert_same_model(fit(3), fit(np.random.RandomState(3)), X)
    assert np.any(fit(3).alpha_ != fit(4).alpha_)
    shared = np.random.RandomState(3)
    assert np.any(fit(shared).alpha_ != fit(shared).alpha_)
    assert np.any(fit(None).alpha_ != fit(None).alpha_)
    np.random.seed(0)  # noqa: NPY002
    first = fit(None)
    np.random.seed(0)  # noqa: NPY002
    assert_same_model(first, fit(None), X)


# --- kernels --------------------------------------------------------------------------------------


def degree_two(A, B):
    return (0.5 * np.asarray(A @ B.T) + 1.0) ** 2


def test_kernel_objects_equal_names():
    X, y = integers(2)
    parameters = {"gamma": 0.5, "degree": 2, "coef0": 1.0, **EXACT}
    for name, kernel in {
        "linear": Linear(),
        "poly": Polynomial(0.5, 2, 1.0),
        "rbf": RBF(0.5),
        "sigmoid": Sigmoid(0.5, 1.0),
        "laplacian": Laplacian(0.5),
    }.items():
        a = PegasosSVC(kernel=name, **parameters).fit(X, y)
        b = PegasosSVC(kernel=kernel, **EXACT).fit(X, y)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
        if name != "sigmoid":
            assert a.score(X, y) > 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_kernel_callable_equals_name(n_classes, cache):
    X, y = integers(n_classes)
    a = PegasosSVC(kernel="poly", gamma=0.5, degree=2, coef0=1.0, cache=cache, **EXACT).fit(X, y)
    b = PegasosSVC(kernel=degree_two, cache=cache, **EXACT).fit(X, y)
    assert_close_model(a, b, X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_precomputed_equals_name(n_classes, dtype, tmp_path):
    X, y = integers(n_classes)
    train, test = slice(0, None, 2), slice(1, None, 2)
    gram = polynomial_kernel(X, degree=2, gamma=0.5, coef0=1.0).astype(dtype)
    a = PegasosSVC(kernel="poly", gamma=0.5, degree=2, coef0=1.0, **EXACT).fit(X[train], y[train])
    b = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train])
    assert_close_model(a, b, X[test], gram[test, train], rtol=1e-5)
    np.testing.assert_array_equal(a.predict(X[test]), b.predict(gram[test, train]))
    np.testing.assert_array_equal(a.support_, b.support_)
    np.save(tmp_path / "gram.npy", gram[train, train])
    mapped = np.load(tmp_path / "gram.npy", mmap_mode="r")
    c = PegasosSVC(kernel="precomputed", **EXACT).fit(mapped, y[train])
    assert_same_model(b, c, gram[test, train])
    weight = np.tile([0.0, 1.0, 2.0], y.size)[: y[train].size]
    d = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train], weight)
    e = clone(a).fit(X[train], y[train], weight)
    assert_close_model(d, e, gram[test, train], X[test], rtol=1e-5)


def test_kernel_precomputed_cross_validation():
    X, y = two_classes(100)
    gram = RBF(2.0).block(X, X)
    a = cross_val_score(PegasosSVC(kernel="precomputed", random_state=0), gram, y, cv=3)
    b = cross_val_score(PegasosSVC(gamma=2.0, random_state=0), X, y, cv=3)
    np.testing.assert_allclose(a, b)


def test_kernel_sigmoid_has_no_certificate():
    X, y = two_classes()
    clf = PegasosSVC(kernel="sigmoid", gamma=0.5, random_state=0).fit(X, y)
    assert np.isnan(clf.duality_gap_)
    assert np.isnan(clf.relative_gap_)
    assert np.isfinite(clf.objective_)
    assert np.isnan(clf.history_["gap"]).all()
    assert np.isfinite(clf.decision_function(X)).all()
    with pytest.raises(ValueError, match=r"tol.*positive semi-definite"):
        clf.set_params(tol=0.1).fit(X, y)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_gamma_names(gamma, as_sparse):
    X, y = integers(2)
    value = 1 / (5 * X.var()) if gamma == "scale" else 1 / 5
    a = PegasosSVC(kernel="sigmoid", gamma=gamma, random_state=0)
    b = PegasosSVC(kernel="sigmoid", gamma=value, random_state=0)
    Z = sparse.csr_matrix(X) if as_sparse else X
    np.testing.assert_allclose(
        a.fit(Z, y).decision_function(Z), b.fit(Z, y).decision_function(Z), rtol=1e-9
    )


def test_coef_only_of_linear_kernel():
    X, y = integers(2)
    with pytest.raises(AttributeError, match="kernel='linear'"):
        PegasosSVC(epochs=1).fit(X, y).coef_  # noqa: B018


@pytest.mark.parametrize(
    ("kernel", "C"), [("rbf", 10.0), ("poly", 10.0), ("linear", 1.0), ("primal", 1.0)]
)
def test_accuracy_is_that_of_svc(kernel, C):
    X, y = load_digits(return_X_y=True)
    X, y = X[:1200] / 16, y[:1200]
    if kernel == "primal":
        clf, svc = LinearPegasosSVC(C, epochs=50, random_state=0), SVC(C=C, kernel="linear")
    else:
        clf = PegasosSVC(C, kernel=kernel, random_state=0)
        svc = SVC(C=C, kernel=kernel)
    ours = clf.fit(X[:600], y[:600]).score(X[600:], y[600:])
    theirs = svc.fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert theirs > 0.9
    assert abs(ours - theirs) <= 0.02


# --- continued fits -------------------------------------------------------------------------------


CONTINUED = pytest.mark.parametrize(
    "clf",
    [
        PegasosSVC(random_state=0),
        PegasosSVC(random_state=0, cache="cached", batch_size=7),
        PegasosSVC(random_state=0, cache="streamed", average="suffix"),
        PegasosSVC(random_state=0, projection=True, average="uniform"),
        LinearPegasosSVC(random_state=0),
        LinearPegasosSVC(random_state=0, batch_size=7, average="suffix"),
        LinearPegasosSVC(random_state=0, projection=True, average=None),
    ],
    ids=["kernel", "cached", "streamed", "projected", "linear", "suffix", "linear projected"],
)


@CONTINUED
@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_goes_on_exactly(clf, n_classes):
    X, y = make_blobs(105, centers=n_classes, cluster_std=4.0, random_state=0)
    whole = clone(clf).set_params(epochs=40).fit(X, y)
    parts = clone(clf).set_params(epochs=20, warm_start=True).fit(X, y)
    half = parts.decision_function(X)
    n_steps = clone(clf).set_params(epochs=20).fit(X, y).n_steps_
    np.testing.assert_array_equal(parts.n_steps_, n_steps)
    parts.fit(X, y)
    assert np.any(parts.decision_function(X) != half)
    if np.all(2 * n_steps == whole.n_steps_):
        assert_close_model(whole, parts, X, rtol=1e-12)
        np.testing.assert_array_equal(whole.n_steps_, parts.n_steps_)
    else:  # epochs end inside a batch
        whole = clone(clf).set_params(n_steps=int(np.max(parts.n_steps_))).fit(X, y)
        assert np.max(parts.n_steps_) == np.min(parts.n_steps_)
        assert_close_model(whole, parts, X, rtol=1e-12)


@BOTH
def test_warm_start_binary_is_bit_identical(Estimator):
    X, y = two_classes()
    whole = Estimator(epochs=40, random_state=0).fit(X, y)
    parts = Estimator(epochs=20, random_state=0, warm_start=True).fit(X, y).fit(X, y)
    assert_same_model(whole, parts, X)
    assert parts.n_steps_ == 40 * y.size


@BOTH
def test_warm_start_needs_no_fixed_seed(Estimator):
    X, y = two_classes()
    clf = Estimator(epochs=3, random_state=None, warm_start=True).fit(X, y).fit(X, y)
    assert clf.n_steps_ == 6 * y.size
    assert clf.alpha_.max() <= 6


@BOTH
def test_warm_start_off_starts_anew(Estimator):
    X, y = two_classes()
    clf = Estimator(epochs=3, random_state=0).fit(X, y)
    once = clone(clf).fit(X, y)
    assert_same_model(clf.fit(X, y), once, X)
    clf.set_params(warm_start=True).fit(X, y)
    clf.set_params(warm_start=False).fit(X, y)
    assert_same_model(clf, once, X)


@BOTH
def test_warm_start_changed_classes(Estimator):
    X, y = integers(3)
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start.*\by\b|\by\b.*warm_start"):
        clf.fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"X has 4 features.*expecting 5"):
        clf.fit(X[:, :4], y)


@BOTH
def test_warm_start_changed_number_of_examples(Estimator):
    X, y = integers(2)
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start|[Xx] must"):
        clf.fit(X[:-6], y[:-6])


@BOTH
@pytest.mark.parametrize("change", [{"C": 2.0}, {"batch_size": 2}, {"average": None}], ids=str)
def test_warm_start_changed_parameter(Estimator, change):
    X, y = integers(2)
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start"):
        clf.set_params(**change).fit(X, y)


def consistent(clf, X, y):
    """Whether the reported objective is that of the model that predicts."""
    sv, coef = clf.support_vectors_, clf.dual_coef_[0]
    offset = clf.intercept_scaling**2 if clf.fit_intercept else 0.0
    squared_norm = coef @ (RBF(clf.gamma).block(sv, sv) + offset) @ coef
    hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X)).mean()
    return clf.objective_ == pytest.approx(clf.lam_ / 2 * squared_norm + hinge, rel=1e-6)


@pytest.mark.parametrize("change", ["gamma", "fit_intercept", "X", "y", "sample_weight"])
def test_warm_start_is_refused_or_consistent(change):
    """What the state was made from has changed: an error, or at least a true certificate."""
    X, y = integers(2)
    clf = PegasosSVC(gamma=0.01, epochs=2, warm_start=True, random_state=0, lam=0.01).fit(X, y)
    assert consistent(clf, X, y)
    weight = np.ones(y.size)
    if change == "X":
        X = X[::-1].copy()
    elif change == "y":
        y = 1 - y
    elif change == "sample_weight":
        weight[0] = 50.0
    else:
        clf.set_params(**{change: {"gamma": 1.0, "fit_intercept": False}[change]})
    try:
        clf.fit(X, y, sample_weight=weight if change == "sample_weight" else None)
    except ValueError as error:
        assert "warm_start" in str(error)  # noqa: PT017
        return
    if change == "sample_weight":
        omega = weight / weight.mean()
        sv, coef = clf.support_vectors_, clf.dual_coef_[0]
        squared_norm = coef @ (RBF(clf.gamma).block(sv, sv) + 1.0) @ coef
        hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X))
        expected = clf.lam_ / 2 * squared_norm + (omega * hinge).mean()
        assert clf.objective_ == pytest.approx(expected, rel=1e-6)
    else:
        assert consistent(clf, X, y)


def test_warm_start_cache_may_change():
    """A cache is no part of the model: changing it must go on, or say what is wrong."""
    X, y = integers(2)
    clf = PegasosSVC(epochs=2, warm_start=True, random_state=0, cache="cached").fit(X, y)
    try:
        clf.set_params(cache="streamed").fit(X, y)
    except ValueError as error:
        assert "cache" in str(error)  # noqa: PT017


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", ["weighted", "suffix", "uniform", None])
@pytest.mark.parametrize("projection", [False, True])
def test_partial_fit_is_pegasos_over_the_chunks(average, projection):
    """Chunks of one example leave no choice of order: Pegasos by the book on the sequence."""
    X, y = integers(2)
    draws = np.random.default_rng(0).integers(y.size, size=150)
    clf = LinearPegasosSVC(
        lam=0.125, average=average, projection=projection, intercept_scaling=2.0, random_state=0
    )
    for i in draws:
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    run = naive.linear_pegasos(
        X, np.where(y == 1, 1, -1), draws, 0.125, projection=projection, intercept_scaling=2.0
    )
    w = np.array([float(v) for v in naive.average(run.iterates, average)])
    np.testing.assert_allclose(clf.coef_[0], w[:-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(clf.intercept_[0], 2.0 * w[-1], rtol=1e-9, atol=1e-12)
    assert clf.n_steps_ == 150


def test_partial_fit_weights_by_the_book():
    X, y = integers(2)
    weight = np.random.default_rng(1).integers(1, 4, size=y.size).astype(np.float64)
    clf = LinearPegasosSVC(lam=0.125, class_weight={1: 2.0}, average=None)
    for i in range(y.size):
        row = slice(i, i + 1)
        clf.partial_fit(X[row], y[row], classes=[0, 1], sample_weight=weight[row])
    run = naive.linear_pegasos(
        X,
        np.where(y == 1, 1, -1),
        np.arange(y.size),
        0.125,
        weight=weight * np.where(y == 1, 2.0, 1.0),
        intercept_scaling=1.0,
    )
    w = np.array([float(v) for v in run.iterates[-1]])
    np.testing.assert_allclose(clf.coef_[0], w[:-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("batch_size", [1, 16])
def test_partial_fit_learns(batch_size):
    X, y = make_blobs(1200, centers=3, cluster_std=1.2, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    clf = LinearPegasosSVC(C=0.1, batch_size=batch_size, random_state=0)
    first = None
    for _ in range(6):
        for part in np.array_split(np.arange(y.size), 4):
            clf.partial_fit(X[part], names[part], classes=["a", "b", "c"])
            first = clf.score(X, names) if first is None else first
    reference = LinearPegasosSVC(C=0.1, random_state=0).fit(X, names).score(X, names)
    assert clf.score(X, names) >= reference - 0.02
    assert clf.score(X, names) >= first
    assert clf.predict(X).dtype == names.dtype


def test_partial_fit_draws_anew_in_each_chunk():
    # On orthogonal examples a weight is zero until its example is drawn.
    X, y = np.eye(40), np.arange(40) % 2
    clf = LinearPegasosSVC(lam=1.0, sampling="uniform", fit_intercept=False, random_state=0)
    clf.partial_fit(X, y, classes=[0, 1])
    first = clf.coef_[0] != 0
    assert 15 < first.sum() < 35  # 40 (1 - 1/e) are expected
    clf.partial_fit(X, y)
    assert (clf.coef_[0] != 0)[~first].any()
    # A permutation reaches everything at once.
    fresh = LinearPegasosSVC(lam=1.0, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    assert fresh.coef_.all()


def test_partial_fit_makes_whole_batches():
    X, y = integers(2)
    clf = LinearPegasosSVC(batch_size=10, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert clf.n_steps_ == 7  # of 64 examples
    assert clf.partial_fit(X[:3], y[:3]).n_steps_ == 8


def test_partial_fit_is_reproducible_and_goes_on_after_pickling():
    X, y = integers(3)
    a, b = (LinearPegasosSVC(random_state=0) for _ in range(2))
    for clf in (a, b):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    b = pickle.loads(pickle.dumps(b))
    np.testing.assert_array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)


def test_partial_fit_sparse_equals_dense():
    X, y = integers(3)
    a, b, c = (LinearPegasosSVC(lam=2.0**-6, random_state=0) for _ in range(3))
    for part in np.array_split(np.arange(y.size), 5):
        a.partial_fit(X[part], y[part], classes=[0, 1, 2])
        b.partial_fit(sparse.csc_matrix(X[part]), y[part], classes=[0, 1, 2])
        c.partial_fit(with_duplicates(X[part]), y[part], classes=[0, 1, 2])
    for other in (b, c):
        np.testing.assert_allclose(a.coef_, other.coef_, rtol=1e-9)
        np.testing.assert_allclose(a.intercept_, other.intercept_, rtol=1e-9)


def test_partial_fit_takes_lists():
    X, y = integers(2)
    a = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1])
    b = LinearPegasosSVC(random_state=0).partial_fit(X.tolist(), y.tolist(), classes=(1, 0))
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_partial_fit_chunks_that_lack_classes():
    X, y = make_blobs(900, centers=3, cluster_std=1.0, random_state=0)
    clf = LinearPegasosSVC(C=0.1, random_state=0)
    first = y == 0
    clf.partial_fit(X[first][:30], y[first][:30], classes=[0, 1, 2])
    # The pair (1, 2) has seen nothing: it says nothing.
    assert not clf.coef_[2].any()
    assert clf.n_steps_.tolist() == [30, 30, 0]
    assert np.isfinite(clf.decision_function(X)).all()
    for _ in range(10):
        for pair in ((0, 1), (1, 2), (0, 2)):
            part = np.isin(y, pair)
            clf.partial_fit(X[part], y[part])
    assert clf.score(X, y) > 0.8 * LinearPegasosSVC(C=0.1, random_state=0).fit(X, y).score(X, y)
    assert clf.classes_.tolist() == [0, 1, 2]


def test_partial_fit_lam_of_the_first_chunk():
    X, y = integers(2)
    a, b = LinearPegasosSVC(C=0.5, random_state=0), LinearPegasosSVC(random_state=0)
    b.set_params(lam=1 / (0.5 * 40))
    for part in (slice(0, 40), slice(40, 64)):
        for clf in (a, b):
            clf.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12)


@pytest.mark.parametrize("average", ["weighted", "suffix"])
def test_partial_fit_memory_is_flat(average):
    X, y = integers(2, 500)
    clf = LinearPegasosSVC(random_state=0, average=average)
    for _ in range(5):
        clf.partial_fit(X, y, classes=[0, 1])
    size = len(pickle.dumps(clf))
    tracemalloc.start()
    clf.partial_fit(X, y)
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(60):
        clf.partial_fit(X, y)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 60 chunks of 1000 examples: 8 bytes kept for each would be 480 kB.
    assert after - before < 100_000
    assert len(pickle.dumps(clf)) < size + 20_000


def test_partial_fit_errors():
    X, y = integers(3)
    new = LinearPegasosSVC
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        new().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes must hold at least two"):
        new().partial_fit(X[y == 1], y[y == 1], classes=[1])
    with pytest.raises(ValueError, match=r"y must have classes among \[0, 1\], got \[2\]"):
        new().partial_fit(X, y, classes=[0, 1])
    clf = new(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match=r"classes must be those of the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"y must have classes among"):
        clf.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="X has 4 features"):
        clf.partial_fit(X[:, :4], y)
    with pytest.raises(ValueError, match="class_weight"):
        new(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(clf.coef_, coef)


def test_fit_after_partial_fit_starts_anew():
    X, y = integers(3)
    clf = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1, 2, 3])
    clf.fit(X[y < 2], y[y < 2])
    fresh = LinearPegasosSVC(random_state=0).fit(X[y < 2], y[y < 2])
    assert_same_model(clf, fresh, X)
    assert clf.classes_.tolist() == [0, 1]


def test_partial_fit_after_fit_knows_the_classes():
    X, y = integers(3)
    clf = LinearPegasosSVC(lam=0.01, random_state=0).fit(X, y)
    score = clf.score(X, y)
    for _ in range(20):
        clf.partial_fit(X, y)
    assert clf.score(X, y) > score - 0.05


def test_partial_fit_after_fit_leaves_no_stale_certificate():
    """What belongs to the model of fit must not be read off the model of the stream."""
    X, y = integers(3)
    clf = LinearPegasosSVC(lam=0.01, random_state=0).fit(X, y)
    clf.partial_fit(X, y, classes=[0, 1, 2])
    fresh = LinearPegasosSVC(lam=0.01, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    stale = [name for name in vars(clf) if name.endswith("_") and name not in vars(fresh)]
    assert stale == []


# --- in scikit-learn's hands ----------------------------------------------------------------------


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
