"""Regressors: against scikit-learn where the problems are the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR, LinearSVR

from kpegasos import LinearPegasosSVR, PegasosSVR

BOTH = pytest.mark.parametrize("Estimator", [PegasosSVR, LinearPegasosSVR])


def data(n_samples=200):
    X, y = make_friedman1(n_samples, 6, noise=0.5, random_state=0)
    return X, (y - y.mean()) / y.std()


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_kernel_model_is_that_of_svr(C):
    """SVR's intercept is not regularised: a large constant feature comes to the same."""
    X, y = data()
    ours = PegasosSVR(
        C=C, gamma=0.5, intercept_scaling=30.0, polish=True, tol=1e-5, random_state=0
    ).fit(X, y)
    peer = SVR(C=C, gamma=0.5, tol=1e-6).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), atol=0.02)


@BOTH
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_model_is_that_of_linear_svr(Estimator, loss):
    X, y = data()
    kernel = {"kernel": "linear"} if Estimator is PegasosSVR else {}
    ours = Estimator(
        C=0.5, loss=loss, fit_intercept=False, polish=True, tol=1e-7, random_state=0, **kernel
    ).fit(X, y)
    peer = LinearSVR(
        C=0.5, epsilon=0.1, loss=loss, fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(X, y)
    assert_allclose(ours.predict(X), peer.predict(X), atol=3e-3)


@BOTH
def test_intercept_follows_a_shift_of_the_targets(Estimator):
    X, y = data()
    one = Estimator(polish=True, tol=1e-6, random_state=0).fit(X, y)
    other = Estimator(polish=True, tol=1e-6, random_state=0).fit(X, y + 1000.0)
    assert_allclose(other.predict(X) - 1000.0, one.predict(X), atol=1e-4)


@BOTH
def test_weights_of_zero_leave_examples_out(Estimator):
    X, y = data()
    kept = np.arange(200) < 150
    options = {"random_state": 0} | ({"gamma": 0.1} if Estimator is PegasosSVR else {})
    some = Estimator(**options).fit(X, np.where(kept, y, 1e3), sample_weight=kept.astype(float))
    few = Estimator(**options).fit(X[kept], y[kept])
    assert_allclose(some.predict(X), few.predict(X))


@BOTH
def test_constant_targets_are_met_exactly(Estimator):
    X, _ = data()
    model = Estimator(polish=True, random_state=0).fit(X, np.full(200, 3.5))
    assert_allclose(model.predict(X), 3.5)
    assert model.relative_gap_ == 0.0
