"""Weights of examples and classes, and the seed."""

import numpy as np
import pytest
from models import (
    BOTH,
    assert_same_model,
    counts_of,
    integers,
    two_classes,
)
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils.class_weight import compute_sample_weight

from kpegasos import PegasosSVC


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sample_weight_zero_is_removal(Estimator, n_classes):
    X, y = integers(n_classes)
    weight = np.random.default_rng(0).integers(0, 3, size=y.size).astype(np.float64)
    kept = weight > 0
    clf = Estimator(C=0.5, random_state=0, **({"gamma": 0.1} if Estimator is PegasosSVC else {}))
    a = clone(clf).fit(X, y, sample_weight=weight)
    b = clone(clf).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(counts_of(a)[..., kept], counts_of(b))
    assert not counts_of(a)[..., ~kept].any()
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
