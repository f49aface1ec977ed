"""Fitted attributes: SVC's layout, counts, objective of the model."""

from itertools import combinations

import numpy as np
import pytest
from models import BOTH, EXACT, counts_of, four_classes, integers
from scipy import sparse
from sklearn.base import clone

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.solvers.result import History


def coefs_of_pairs(clf, y):
    """Coefficients of the support vectors in each pair, by SVC's rule."""
    owner, n_classes = y[clf.support_], clf.classes_.size
    for i, j in combinations(range(n_classes), 2):
        coef = np.where(owner == i, clf.dual_coef_[j - 1], clf.dual_coef_[i % (n_classes - 1)])
        yield np.where((owner == i) | (owner == j), coef, 0.0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_decisions_are_those_of_the_coefficients(n_classes):
    X, y = four_classes()
    X, y = X[y < n_classes], y[y < n_classes]
    clf = PegasosSVC(gamma=0.1, decision_function_shape="ovo", random_state=0).fit(X, y)
    owner = y[clf.support_]
    np.testing.assert_array_equal(clf.support_vectors_, X[clf.support_])
    assert clf.n_support_.tolist() == np.bincount(owner, minlength=n_classes).tolist()
    assert np.all(np.diff(owner) >= 0)
    Z = X + 0.5
    K = np.exp(-0.1 * ((Z[:, None] - clf.support_vectors_[None]) ** 2).sum(axis=2))
    by_hand = np.column_stack([K @ coef for coef in coefs_of_pairs(clf, y)]) + clf.intercept_
    found = clf.decision_function(Z).reshape(by_hand.shape)
    np.testing.assert_allclose(found, by_hand, atol=1e-9)
    if n_classes == 2:  # coefficients push towards the own class
        assert np.all(np.sign(clf.dual_coef_[0]) == np.where(owner == 1, 1, -1))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "clf", [LinearPegasosSVC(random_state=0), PegasosSVC(kernel="linear", random_state=0)], ids=str
)
def test_dual_coef_linear_makes_coef(clf, n_classes):
    X, y = four_classes()
    X, y = X[y < n_classes], y[y < n_classes]
    clf = clone(clf).fit(X, y)
    coef = np.array(list(coefs_of_pairs(clf, y)))
    assert clf.intercept_.shape == coef.shape[:1]
    np.testing.assert_allclose(coef @ X[clf.support_], clf.coef_, rtol=1e-8)


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
@pytest.mark.parametrize("projection", [False, True])
def test_alpha_of_several_pairs_is_sparse(Estimator, projection):
    X, y = integers(3)
    clf = Estimator(projection=projection, **EXACT).fit(X, y)
    assert isinstance(clf.alpha_, sparse.csr_array)
    assert clf.alpha_.shape == (3, y.size)
    assert clf.alpha_.dtype == (np.float64 if projection else np.int64)
    assert clf.alpha_.has_canonical_format
    assert np.all(clf.alpha_.data > 0)
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
