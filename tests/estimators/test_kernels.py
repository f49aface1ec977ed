"""Kernels and losses by name and as objects: against scikit-learn where problems are the same."""

import numpy as np
import pytest
from models import BOTH, EXACT, assert_close_model, assert_same_model, integers
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_classification, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, polynomial_kernel
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils import get_tags

from kpegasos import (
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    losses,
)

POLY = {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}
# --- names ---


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
@pytest.mark.parametrize("Estimator", [PegasosSVC, PegasosSVCCV])
def test_every_name_of_sklearn_is_a_kernel(name, Estimator):
    X, y = integers(2)
    X = np.abs(X)
    options = {"Cs": [1.0], "gammas": [0.1], "cv": 2} if Estimator is PegasosSVCCV else {}
    model = Estimator(**options, kernel=name, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    if name not in ("sigmoid", "additive_chi2"):
        assert model.score(X, y) > 0.6
    if name == "chi2" and options:
        assert model.best_params_.keys() == {"C", "gamma"}


@pytest.mark.parametrize(("kernel", "C"), [("rbf", 10.0), ("poly", 10.0), ("primal", 1.0)])
def test_accuracy_is_that_of_svc(kernel, C):
    X, y = load_digits(return_X_y=True)
    X, y = X[:1200] / 16, y[:1200]
    if kernel == "primal":
        clf, svc = LinearPegasosSVC(C, epochs=50, random_state=0), SVC(C=C, kernel="linear")
    else:
        clf, svc = PegasosSVC(C, kernel=kernel, random_state=0), SVC(C=C, kernel=kernel)
    ours = clf.fit(X[:600], y[:600]).score(X[600:], y[600:])
    theirs = svc.fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert theirs > 0.9
    assert abs(ours - theirs) <= 0.02


# --- functions, and matrices ---


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_is_the_name(n_classes, dtype, tmp_path):
    X, y = integers(n_classes)
    train, test = slice(0, None, 2), slice(1, None, 2)
    gram = polynomial_kernel(X, degree=2, gamma=0.5, coef0=1.0).astype(dtype)
    a = PegasosSVC(**POLY, **EXACT).fit(X[train], y[train])
    b = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train])
    assert_close_model(a, b, X[test], gram[test, train], rtol=1e-5)
    assert_array_equal(a.predict(X[test]), b.predict(gram[test, train]))
    assert_array_equal(a.support_, b.support_)
    np.save(tmp_path / "gram.npy", gram[train, train])
    mapped = np.load(tmp_path / "gram.npy", mmap_mode="r")
    c = PegasosSVC(kernel="precomputed", **EXACT).fit(mapped, y[train])
    assert_same_model(b, c, gram[test, train])
    weight = np.tile([0.0, 1.0, 2.0], y.size)[: y[train].size]
    d = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train], weight)
    e = clone(a).fit(X[train], y[train], weight)
    assert_close_model(d, e, gram[test, train], X[test], rtol=1e-5)
    assert get_tags(d).input_tags.pairwise


def data(n_classes=2):
    return make_classification(
        300, 6, n_informative=4, n_classes=n_classes, class_sep=0.7, random_state=0
    )


def linear_of(Estimator, **parameters):
    kernel = {"kernel": "linear"} if Estimator is PegasosSVC else {}
    return Estimator(**kernel, **parameters, random_state=0)


@BOTH
@pytest.mark.parametrize("C", [0.03, 1.0])
def test_squared_hinge_is_that_of_linear_svc(Estimator, C):
    X, y = data()
    ours = linear_of(Estimator, C=C, loss="squared_hinge", polish=True, tol=1e-7).fit(X, y)
    peer = LinearSVC(C=C, loss="squared_hinge", tol=1e-10, max_iter=100_000).fit(X, y)
    assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=2e-3, atol=2e-3)


@BOTH
@pytest.mark.parametrize("C", [0.03, 1.0])
def test_log_loss_is_that_of_logistic_regression(Estimator, C):
    X, y = data()
    ours = linear_of(
        Estimator, C=C, loss="log_loss", fit_intercept=False, polish=True, tol=1e-8
    ).fit(X, y)
    peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=5e-4)


@BOTH
def test_probabilities_of_several_classes_sum_to_one_and_agree_with_the_vote(Estimator):
    X, y = make_blobs(300, centers=4, cluster_std=1.5, random_state=0)
    model = linear_of(Estimator, loss="log_loss", polish=True).fit(X, y)
    probability = model.predict_proba(X)
    assert probability.shape == (300, 4)
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(model.classes_[probability.argmax(axis=1)] == model.predict(X)) > 0.97
    assert_allclose(model.predict_log_proba(X), np.log(probability))


@BOTH
def test_hinge_by_name_and_as_an_object_are_the_default(Estimator):
    X, y = data()
    default = Estimator(epochs=3, random_state=0).fit(X, y)
    for loss in ("hinge", losses.Hinge()):
        other = Estimator(epochs=3, loss=loss, random_state=0).fit(X, y)
        np.testing.assert_array_equal(other.alpha_, default.alpha_)
        assert other.alpha_.dtype == np.int64
        assert other.objective_ == default.objective_


def test_stream_takes_the_loss():
    X, y = data()
    whole = LinearPegasosSVC(loss=losses.Logistic(), lam=0.01, polish=True, random_state=0).fit(
        X, y
    )
    stream = LinearPegasosSVC(loss="log_loss", lam=0.01, random_state=0)
    for _ in range(30):
        stream.partial_fit(X, y, classes=[0, 1])
    assert_allclose(stream.predict_proba(X), whole.predict_proba(X), atol=0.1)


REGRESSORS = pytest.mark.parametrize("Estimator", [PegasosSVR, LinearPegasosSVR])


def numbers(n_samples=200):
    X, y = make_friedman1(n_samples, 6, noise=0.5, random_state=0)
    return X, (y - y.mean()) / y.std()


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_kernel_model_is_that_of_svr(C):
    """SVR's intercept is not regularised: a large constant feature comes to the same."""
    X, y = numbers()
    ours = PegasosSVR(
        C=C, gamma=0.5, intercept_scaling=30.0, polish=True, tol=1e-5, random_state=0
    ).fit(X, y)
    peer = SVR(C=C, gamma=0.5, tol=1e-6).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), atol=0.02)


@REGRESSORS
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_model_is_that_of_linear_svr(Estimator, loss):
    X, y = numbers()
    kernel = {"kernel": "linear"} if Estimator is PegasosSVR else {}
    ours = Estimator(
        C=0.5, loss=loss, fit_intercept=False, polish=True, tol=1e-7, random_state=0, **kernel
    ).fit(X, y)
    peer = LinearSVR(
        C=0.5, epsilon=0.1, loss=loss, fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), atol=3e-3)


@REGRESSORS
def test_intercept_follows_a_shift_of_the_targets(Estimator):
    X, y = numbers()
    one = Estimator(polish=True, tol=1e-6, random_state=0).fit(X, y)
    other = Estimator(polish=True, tol=1e-6, random_state=0).fit(X, y + 1000.0)
    assert_allclose(other.predict(X) - 1000.0, one.predict(X), atol=1e-4)


@REGRESSORS
def test_weights_of_zero_leave_examples_out(Estimator):
    X, y = numbers()
    kept = np.arange(200) < 150
    options = {"random_state": 0} | ({"gamma": 0.1} if Estimator is PegasosSVR else {})
    some = Estimator(**options).fit(X, np.where(kept, y, 1e3), sample_weight=kept.astype(float))
    few = Estimator(**options).fit(X[kept], y[kept])
    assert_allclose(some.predict(X), few.predict(X))


@REGRESSORS
def test_constant_targets_are_met_exactly(Estimator):
    X, _ = numbers()
    model = Estimator(polish=True, random_state=0).fit(X, np.full(200, 3.5))
    assert_allclose(model.predict(X), 3.5)
    assert model.relative_gap_ == 0.0
