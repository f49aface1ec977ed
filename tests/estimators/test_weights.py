"""Weights of examples and classes, and the seed."""

import numpy as np
import pytest
from models import BOTH, assert_same_model, integers, two_classes
from sklearn.datasets import make_blobs
from sklearn.utils.class_weight import compute_sample_weight

from kpegasos import LinearPegasosSVC, PegasosSVC


@BOTH
@pytest.mark.parametrize("class_weight", [{"a": 3.0, "b": 0.5, "c": 1.25}, {"c": 3.0}, "balanced"])
def test_class_weight_is_sample_weight(Estimator, class_weight):
    X, y = integers(3)
    keep = (y != 0) | (np.arange(y.size) % 3 == 0)
    X, names = X[keep], np.array(["a", "b", "c"])[y[keep]]
    own = np.random.default_rng(0).uniform(0.5, 1.5, size=names.size)
    # What is balanced is counts of classes, of whatever weight.
    for weight in (np.ones(names.size), *([] if class_weight == "balanced" else [own])):
        expected = weight * compute_sample_weight(class_weight, names)
        a = Estimator(class_weight=class_weight, random_state=0).fit(X, names, weight)
        b = Estimator(random_state=0).fit(X, names, expected)
        assert_same_model(a, b, X)


@BOTH
def test_random_state(Estimator):
    X, y = two_classes()
    fit = lambda state: Estimator(random_state=state, epochs=2).fit(X, y)  # noqa: E731
    assert_same_model(fit(3), fit(np.random.RandomState(3)), X)
    assert np.any(fit(3).alpha_ != fit(4).alpha_)
    assert np.any(fit(None).alpha_ != fit(None).alpha_)


X, Y = make_blobs(120, centers=3, cluster_std=2.0, random_state=0)


@pytest.mark.parametrize("cache", ["auto", "cached", "streamed"])
def test_fit_does_not_see_an_outlier_of_weight_zero(cache):
    far = np.vstack([X, [1e9, -1e9]])
    weight = np.append(np.ones(len(X)), 0.0)
    options = {"gamma": 0.1, "cache": cache, "epochs": 3, "random_state": 0}
    expected = PegasosSVC(**options).fit(X, Y)
    clf = PegasosSVC(**options).fit(far, np.append(Y, 0), weight)
    np.testing.assert_array_equal(clf.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(clf.objective_, expected.objective_)
    np.testing.assert_array_equal(clf.decision_function(X), expected.decision_function(X))
    if cache != "streamed":  # whose parts follow the clock
        evaluations = [h["kernel_evaluations"][-1] for h in clf.history_]
        assert evaluations == [h["kernel_evaluations"][-1] for h in expected.history_]


@pytest.mark.parametrize("C", [1e-50, 1e45])
def test_decisions_of_float32_survive_extreme_coefficients(C):
    two = Y < 2
    options = {"C": C, "gamma": 0.1, "fit_intercept": False, "epochs": 2, "random_state": 0}
    wide = PegasosSVC(**options).fit(X[two], Y[two])
    narrow = PegasosSVC(**options).fit(X[two].astype(np.float32), Y[two])
    expected = wide.decision_function(X)
    np.testing.assert_allclose(
        narrow.decision_function(X), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max()
    )


def test_early_stopping_passes_over_weight_zero():
    """Examples of weight zero are as good as absent: they are not set aside either."""
    X, y = make_blobs(200, centers=3, cluster_std=2.0, random_state=0)
    weight = np.where(np.arange(200) % 3 == 0, 0.0, 1.0)
    weight[y == 2] = 0.0
    kept = weight > 0
    clf, alone = (
        LinearPegasosSVC(early_stopping=True, epochs=20, random_state=0) for _ in range(2)
    )
    clf.fit(X, y, sample_weight=weight)
    alone.fit(X[kept], y[kept])
    assert clf.validation_scores_ == alone.validation_scores_
    np.testing.assert_array_equal(clf.alpha_[kept], alone.alpha_)
    assert not clf.alpha_[~kept].any()
