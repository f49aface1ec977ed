"""Warm starts: exactly one run in several fits, or a refusal."""

import numpy as np
import pytest
from models import (
    BOTH,
    assert_close_model,
    assert_same_model,
    integers,
    two_classes,
)
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import RBF, LinearPegasosSVC, PegasosSVC

CONTINUED = pytest.mark.parametrize(
    "clf",
    [
        PegasosSVC(random_state=0),
        PegasosSVC(random_state=0, cache="cached", batch_size=7),
        PegasosSVC(random_state=0, cache="streamed", average="suffix"),
        PegasosSVC(random_state=0, projection=True, average="uniform"),
        LinearPegasosSVC(random_state=0),
        LinearPegasosSVC(random_state=0, batch_size=7, average="suffix"),
        LinearPegasosSVC(random_state=0, projection=True, average=None),
    ],
    ids=["kernel", "cached", "streamed", "projected", "linear", "suffix", "linear projected"],
)


@CONTINUED
@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_goes_on_exactly(clf, n_classes):
    X, y = make_blobs(105, centers=n_classes, cluster_std=4.0, random_state=0)
    whole = clone(clf).set_params(epochs=40).fit(X, y)
    parts = clone(clf).set_params(epochs=20, warm_start=True).fit(X, y)
    half = parts.decision_function(X)
    n_steps = clone(clf).set_params(epochs=20).fit(X, y).n_steps_
    np.testing.assert_array_equal(parts.n_steps_, n_steps)
    parts.fit(X, y)
    assert np.any(parts.decision_function(X) != half)
    if np.all(2 * n_steps == whole.n_steps_):
        assert_close_model(whole, parts, X, rtol=1e-12)
        np.testing.assert_array_equal(whole.n_steps_, parts.n_steps_)
    else:  # epochs end inside a batch
        whole = clone(clf).set_params(n_steps=int(np.max(parts.n_steps_))).fit(X, y)
        assert np.max(parts.n_steps_) == np.min(parts.n_steps_)
        assert_close_model(whole, parts, X, rtol=1e-12)


@BOTH
def test_warm_start_binary_is_bit_identical(Estimator):
    X, y = two_classes()
    whole = Estimator(epochs=40, random_state=0).fit(X, y)
    parts = Estimator(epochs=20, random_state=0, warm_start=True).fit(X, y).fit(X, y)
    assert_same_model(whole, parts, X)
    assert parts.n_steps_ == 40 * y.size


@BOTH
def test_warm_start_needs_no_fixed_seed(Estimator):
    X, y = two_classes()
    clf = Estimator(epochs=3, random_state=None, warm_start=True).fit(X, y).fit(X, y)
    assert clf.n_steps_ == 6 * y.size
    assert clf.alpha_.max() <= 6


@BOTH
def test_warm_start_off_starts_anew(Estimator):
    X, y = two_classes()
    clf = Estimator(epochs=3, random_state=0).fit(X, y)
    once = clone(clf).fit(X, y)
    assert_same_model(clf.fit(X, y), once, X)
    clf.set_params(warm_start=True).fit(X, y)
    clf.set_params(warm_start=False).fit(X, y)
    assert_same_model(clf, once, X)


@BOTH
def test_warm_start_changed_classes(Estimator):
    X, y = integers(3)
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start.*\by\b|\by\b.*warm_start"):
        clf.fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"X has 4 features.*expecting 5"):
        clf.fit(X[:, :4], y)


@BOTH
def test_warm_start_changed_number_of_examples(Estimator):
    X, y = integers(2)
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start|[Xx] must"):
        clf.fit(X[:-6], y[:-6])


@BOTH
@pytest.mark.parametrize("change", [{"C": 2.0}, {"batch_size": 2}, {"average": None}], ids=str)
def test_warm_start_changed_parameter(Estimator, change):
    X, y = integers(2)
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start"):
        clf.set_params(**change).fit(X, y)


def consistent(clf, X, y):
    """Whether the reported objective is that of the model that predicts."""
    sv, coef = clf.support_vectors_, clf.dual_coef_[0]
    offset = clf.intercept_scaling**2 if clf.fit_intercept else 0.0
    squared_norm = coef @ (RBF(clf.gamma).block(sv, sv) + offset) @ coef
    hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X)).mean()
    return clf.objective_ == pytest.approx(clf.lam_ / 2 * squared_norm + hinge, rel=1e-6)


@pytest.mark.parametrize("change", ["gamma", "fit_intercept", "X", "y", "sample_weight"])
def test_warm_start_is_refused_or_consistent(change):
    """What the state was made from has changed: an error, or at least a true certificate."""
    X, y = integers(2)
    clf = PegasosSVC(gamma=0.01, epochs=2, warm_start=True, random_state=0, lam=0.01).fit(X, y)
    assert consistent(clf, X, y)
    weight = np.ones(y.size)
    if change == "X":
        X = X[::-1].copy()
    elif change == "y":
        y = 1 - y
    elif change == "sample_weight":
        weight[0] = 50.0
    else:
        clf.set_params(**{change: {"gamma": 1.0, "fit_intercept": False}[change]})
    try:
        clf.fit(X, y, sample_weight=weight if change == "sample_weight" else None)
    except ValueError as error:
        assert "warm_start" in str(error)  # noqa: PT017
        return
    if change == "sample_weight":
        omega = weight / weight.mean()
        sv, coef = clf.support_vectors_, clf.dual_coef_[0]
        squared_norm = coef @ (RBF(clf.gamma).block(sv, sv) + 1.0) @ coef
        hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * clf.decision_function(X))
        expected = clf.lam_ / 2 * squared_norm + (omega * hinge).mean()
        assert clf.objective_ == pytest.approx(expected, rel=1e-6)
    else:
        assert consistent(clf, X, y)


def test_warm_start_cache_may_change():
    """A cache is no part of the model: changing it must go on, or say what is wrong."""
    X, y = integers(2)
    clf = PegasosSVC(epochs=2, warm_start=True, random_state=0, cache="cached").fit(X, y)
    try:
        clf.set_params(cache="streamed").fit(X, y)
    except ValueError as error:
        assert "cache" in str(error)  # noqa: PT017


# --- kernels that share their code ----------------------------------------------------------------


def closure(gamma):
    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


class Changing:
    """A kernel object without a ``repr``, whose parameter may be changed."""

    positive_definite = True

    def __init__(self, gamma):
        self.gamma = gamma

    def block(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma)

    def diag(self, A):
        return np.ones(A.shape[0])


def test_warm_start_refuses_a_closure_over_another_value():
    """Functions of the same code have another problem: the bound of one is false for the other."""
    X, y = two_classes()
    clf = PegasosSVC(kernel=closure(0.01), C=10, epochs=5, warm_start=True, random_state=0)
    clf.fit(X, y).fit(X, y)
    steps = clf.n_steps_
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
        clf.set_params(kernel=closure(50.0)).fit(X, y)
    assert clf.n_steps_ == steps
    assert clf.set_params(kernel=closure(0.01)).fit(X, y).n_steps_ == steps + 5 * y.size


def test_warm_start_refuses_an_object_that_was_changed():
    X, y = two_classes()
    kernel = Changing(0.01)
    clf = PegasosSVC(kernel=kernel, epochs=2, warm_start=True, random_state=0).fit(X, y).fit(X, y)
    kernel.gamma = 50.0
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
        clf.fit(X, y)
    clf.set_params(kernel=Changing(0.01)).fit(X, y)
    assert clf.n_steps_ == 6 * y.size
