"""Warm starts: exactly one run in several fits, or a refusal."""

from itertools import product

import numpy as np
import pytest
from models import BOTH, assert_same_model, integers, two_classes
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import RBF, Linear, LinearPegasosSVC, PegasosSVC


@BOTH
def test_warm_start_needs_no_fixed_seed(Estimator):
    X, y = two_classes()
    clf = Estimator(epochs=3, random_state=None, warm_start=True).fit(X, y).fit(X, y)
    assert clf.n_steps_ == 6 * y.size
    assert clf.alpha_.max() <= 6


@BOTH
def test_warm_start_knows_a_number_by_its_value(Estimator):
    X, y = two_classes()
    clf = Estimator(C=np.float32(0.5), batch_size=np.int8(2), epochs=1, warm_start=True).fit(X, y)
    assert clf.set_params(C=0.5, batch_size=2).fit(X, y).n_steps_ == 120


def test_warm_start_goes_on_with_another_cache():
    X, y = integers(2)
    clf = PegasosSVC(epochs=2, warm_start=True, random_state=0, cache="cached").fit(X, y)
    assert clf.set_params(cache="streamed").fit(X, y).n_steps_ == 4 * y.size


X, Y = integers(3)
CHANGES = {
    "C": ({"C": 2.0}, X, Y, None),
    "batch_size": ({"batch_size": 2}, X, Y, None),
    "average": ({"average": None}, X, Y, None),
    "loss": ({"loss": "log_loss"}, X, Y, None),
    "fit_intercept": ({"fit_intercept": False}, X, Y, None),
    "gamma": ({"gamma": 1.0}, X, Y, None),
    "order": ({}, X[::-1].copy(), Y, None),
    "labels": ({}, X, Y[::-1].copy(), None),
    "weights": ({}, X, Y, np.where(np.arange(Y.size), 1.0, 50.0)),
    "classes": ({}, X[Y < 2], Y[Y < 2], None),
    "examples": ({}, X[:-6], Y[:-6], None),
}


@pytest.mark.parametrize(
    ("Estimator", "change"),
    [
        *product([PegasosSVC], CHANGES),
        *product([LinearPegasosSVC], sorted(CHANGES.keys() - {"gamma"})),
    ],
)
def test_warm_start_refuses_another_problem(Estimator, change):
    parameters, rows, labels, weight = CHANGES[change]
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, Y)
    decisions = clf.decision_function(X)
    with pytest.raises(ValueError, match="warm_start"):
        clf.set_params(**parameters).fit(rows, labels, weight)
    np.testing.assert_array_equal(clf.decision_function(X), decisions)
    with pytest.raises(ValueError, match=r"X has 4 features.*expecting 5"):
        clf.fit(X[:, :4], Y)


# --- kernels that share their code ---


def closure(gamma):
    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


class Width:
    """A kernel object without a representation of its own, whose parameter may be changed."""

    positive_definite = True

    def __init__(self, gamma):
        self.gamma = gamma

    def block(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma).astype(A.dtype)

    def diag(self, A):
        return np.ones(A.shape[0])


KINDS = {
    "closure": closure,
    "object": Width,
    "composed": lambda gamma: RBF(0.1) + gamma * Linear(),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_warm_start_refuses_another_kernel_of_the_same_code(make):
    """The bound of one is false for the other."""
    X, y = two_classes()
    clf = PegasosSVC(kernel=make(0.01), C=10, epochs=5, warm_start=True, random_state=0)
    clf.fit(X, y).fit(X, y)
    steps = clf.n_steps_
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
        clf.set_params(kernel=make(50.0)).fit(X, y)
    assert clf.n_steps_ == steps
    assert clf.set_params(kernel=make(0.01)).fit(X, y).n_steps_ == steps + 5 * y.size
