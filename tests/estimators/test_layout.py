"""Fitted attributes: SVC's layout, counts, objective of the model."""

from itertools import combinations

import numpy as np
import pytest
from models import BOTH, EXACT, counts_of, four_classes, integers, two_classes
from sklearn.base import clone

from kpegasos import RBF, LinearPegasosSVC, PegasosSVC
from kpegasos.solvers.result import History


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
        assert not counts_of(clf)[number, outside].any()
        assert counts_of(clf)[number, ~outside].any()


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
