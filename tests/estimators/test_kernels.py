"""Kernels and losses by name and as objects: against scikit-learn where problems are the same."""

import numpy as np
import pytest
from models import BOTH, EXACT, assert_close_model, integers
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_classification, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.utils import get_tags

from kpegasos import (
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVR,
    losses,
)


@pytest.mark.parametrize("ours", [PegasosSVC(10.0), LinearPegasosSVC(1.0, epochs=50)], ids=str)
def test_accuracy_of_a_plain_fit_is_that_of_svc(ours):
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 600), slice(600, 1200)
    theirs = SVC(C=10.0) if isinstance(ours, PegasosSVC) else SVC(C=1.0, kernel="linear")
    own, its = (
        model.fit(X[train] / 16, y[train]).score(X[test] / 16, y[test])
        for model in (clone(ours).set_params(random_state=0), theirs)
    )
    assert its > 0.9
    assert abs(own - its) <= 0.02


@pytest.mark.parametrize("weighted", [False, True])
def test_precomputed_is_the_name(weighted):
    X, y = integers(3)
    train, test = slice(0, None, 2), slice(1, None, 2)
    weight = np.resize([0.0, 1.0, 2.0], y[train].size) if weighted else None
    options = {"gamma": 0.5, "degree": 2, "coef0": 1.0}
    gram = polynomial_kernel(X, **options)
    named = PegasosSVC(kernel="poly", **options, **EXACT).fit(X[train], y[train], weight)
    given = PegasosSVC(kernel="precomputed", **EXACT)
    given.fit(gram[train, train].astype(np.float32 if weighted else float), y[train], weight)
    assert_close_model(named, given, X[test], gram[test, train], rtol=1e-5)
    assert_array_equal(named.predict(X[test]), given.predict(gram[test, train]))
    assert_array_equal(named.support_, given.support_)
    assert get_tags(given).input_tags.pairwise


def data():
    return make_classification(300, 6, n_informative=4, class_sep=0.7, random_state=0)


def linear_of(Estimator, **parameters):
    kernel = {} if Estimator.__name__.startswith("Linear") else {"kernel": "linear"}
    return Estimator(**kernel, polish=True, random_state=0, **parameters)


@BOTH
def test_squared_hinge_is_that_of_linear_svc(Estimator):
    X, y = data()
    ours = linear_of(Estimator, C=0.03, loss="squared_hinge", tol=1e-7).fit(X, y)
    peer = LinearSVC(C=0.03, loss="squared_hinge", tol=1e-10, max_iter=100_000).fit(X, y)
    assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=2e-3, atol=2e-3)


@BOTH
def test_log_loss_is_that_of_logistic_regression(Estimator):
    X, y = data()
    ours = linear_of(Estimator, C=1.0, loss="log_loss", fit_intercept=False, tol=1e-8).fit(X, y)
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=5e-4)


@BOTH
def test_probabilities_of_several_classes_sum_to_one_and_agree_with_the_vote(Estimator):
    X, y = make_blobs(300, centers=4, cluster_std=1.5, random_state=0)
    model = linear_of(Estimator, loss="log_loss").fit(X, y)
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
        assert_array_equal(other.alpha_, default.alpha_)
        assert other.alpha_.dtype == np.int64
        assert other.objective_ == default.objective_


def test_stream_takes_the_loss():
    X, y = data()
    model = LinearPegasosSVC(loss="log_loss", lam=0.01, polish=True, tol=1e-6)
    whole = model.fit(X, y).predict_proba(X)
    for _ in range(30):
        model.partial_fit(X, y)
    assert_allclose(model.predict_proba(X), whole, atol=0.1)


REGRESSORS = pytest.mark.parametrize("Estimator", [PegasosSVR, LinearPegasosSVR])


def numbers():
    X, y = make_friedman1(120, 6, noise=0.5, random_state=0)
    return X, (y - y.mean()) / y.std()


@REGRESSORS
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_model_is_that_of_linear_svr(Estimator, loss):
    X, y = numbers()
    options = {"C": 0.5, "loss": loss, "fit_intercept": False}
    ours = linear_of(Estimator, tol=1e-7, **options).fit(X, y)
    peer = LinearSVR(epsilon=0.1, tol=1e-10, max_iter=10**6, **options).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), atol=3e-3)


@REGRESSORS
def test_intercept_follows_a_shift_of_the_targets(Estimator):
    X, y = (values[:40] for values in numbers())
    model = Estimator(polish=True, tol=1e-6, random_state=0)
    expected = model.fit(X, y).predict(X)
    assert_allclose(model.fit(X, y + 1000.0).predict(X) - 1000.0, expected, atol=1e-4)


@REGRESSORS
def test_weights_of_zero_leave_examples_out(Estimator):
    X, y = numbers()
    kept = np.arange(120) < 90
    options = {"random_state": 0} | ({"gamma": 0.1} if Estimator is PegasosSVR else {})
    some = Estimator(**options).fit(X, np.where(kept, y, 1e3), sample_weight=kept.astype(float))
    few = Estimator(**options).fit(X[kept], y[kept])
    assert_allclose(some.predict(X), few.predict(X))


@REGRESSORS
def test_constant_targets_are_met_exactly_without_support(Estimator):
    X, _ = numbers()
    model = Estimator(random_state=0).fit(X, np.full(120, 3.5))
    assert_allclose(model.predict(X), 3.5)
    assert model.relative_gap_ == 0.0
    assert model.support_.size == 0
    assert_allclose(model.decision_bounds(X), 3.5, atol=1e-6)
