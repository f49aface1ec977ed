"""Classes and votes: signs, ties and names are those of SVC."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from kpegasos import LinearPegasosSVC, PegasosSVC


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
    assert np.any(broken != with_arrays_of(svc, X, y, break_ties=False).predict(Z))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_linear_votes_are_those_of_svc(n_classes):
    X, y = make_blobs(160, centers=n_classes, n_features=3, cluster_std=4.0, random_state=1)
    X /= 10.0  # or the fit warns of large features
    svc = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    clf = LinearPegasosSVC(decision_function_shape="ovo", epochs=1).fit(X, y)
    clf.coef_, clf.intercept_ = svc.coef_, svc.intercept_
    np.testing.assert_allclose(clf.decision_function(X), svc.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(clf.predict(X), svc.predict(X))
