"""Fitted attributes: SVC's layout, counts, objective of the model."""

from itertools import combinations

import numpy as np
import pytest
from models import BOTH, EXACT, counts_of, four_classes, integers
from scipy import sparse

from kpegasos.solvers.result import History


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
def test_attributes_of_multiclass_are_per_pair(Estimator):
    X, y = four_classes()
    clf = Estimator(random_state=0, epochs=3).fit(X, y)
    for name in ("lam_", "n_steps_", "objective_", "duality_gap_", "relative_gap_"):
        assert getattr(clf, name).shape == (6,), name
    assert [type(history) for history in clf.history_] == [History] * 6
