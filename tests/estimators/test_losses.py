"""Classifiers with other losses: against scikit-learn where the problems are the same."""

import numpy as np
import pytest
from models import BOTH
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from kpegasos import LinearPegasosSVC, PegasosSVC, losses


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
