"""A variant is a copy of the steps with one line changed, and its history is drawn beside ours."""

import inspect

import numpy as np
from numpy.testing import assert_allclose
from reference_cases import LAM, X, Y

from kpegasos import linear_rows, make_problem, sdca
from kpegasos.reference import index_stream, linear_history, linear_iterates


def copied(**changes):
    """The linear steps with some text replaced, as somebody would who copies them."""
    source = inspect.getsource(linear_iterates)
    for old, new in changes.values():
        assert source.count(old) == 1
        source = source.replace(old, new)
    namespace = dict(vars(inspect.getmodule(linear_iterates)))
    exec(source, namespace)
    return namespace["linear_iterates"]


STEP = ("eta = 1.0 / (lam * t)", "eta = 1.0 / np.sqrt(t)")
LOSS = ("slopes = -1.0 * (margins < 1.0 - TIE)", "slopes = -1.0 / (1.0 + np.exp(margins))")


def logistic(margins):
    return np.log1p(np.exp(-margins))


def test_step_is_one_line():
    """A step of c/√t comes to the same optimum."""
    variant = copied(step=STEP)
    draws = index_stream(Y.size, 8_000)
    history = linear_history(variant(X, Y, LAM, draws), X, Y, LAM)
    optimum = sdca(make_problem(Y, LAM), linear_rows(X), tol=1e-8, max_epochs=5000).objective
    assert (history["objective_average"] > optimum).all()
    assert history["objective_average"][-1] < 1.02 * optimum
    assert 0 < history["dual_bound"][-1] < optimum
    usual = linear_history(linear_iterates(X, Y, LAM, draws[:100]), X, Y, LAM)
    assert not np.isclose(usual["objective_last"][1], history["objective_last"][1])


def test_loss_is_one_line():
    """The gradient of the logistic objective vanishes where its variant arrives."""
    variant = copied(loss=LOSS)
    *_, final = variant(X, Y, LAM, index_stream(Y.size, 8_000))

    def gradient(w):
        return LAM * w - (Y / (1 + np.exp(Y * (X @ w)))) @ X / Y.size

    assert np.linalg.norm(gradient(final.average)) < 0.02 * np.linalg.norm(gradient(np.zeros(3)))
    history = linear_history([final], X, Y, LAM, loss=logistic)
    expected = LAM / 2 * final.average @ final.average + logistic(Y * (X @ final.average)).mean()
    assert_allclose(history["objective_average"], expected, rtol=1e-13)
    assert np.isnan(history["dual_bound"]).all()
