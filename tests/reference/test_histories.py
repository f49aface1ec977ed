"""Histories measure any sequence of iterates as the solver measures its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import LAM, N_STEPS, K, X, Y, compiled

from kpegasos import linear_rows, make_problem, make_rows, sdca
from kpegasos.reference import (
    index_stream,
    kernel_history,
    kernel_iterates,
    linear_history,
    linear_iterates,
)


@pytest.mark.parametrize("projection", [False, True])
def test_kernel_history_is_that_of_the_compiled_run(projection):
    _, expected = compiled(make_rows(X, "rbf", gamma=0.5), checkpoints="log", projection=projection)
    steps = kernel_iterates(K, Y, LAM, index_stream(Y.size, N_STEPS), projection=projection)
    found = kernel_history(steps, K, Y, LAM)
    for column in ("iteration", "epoch", "support_size"):
        assert_array_equal(found[column], expected.history[column])
    for column in ("objective_last", "objective_average"):
        assert_allclose(found[column], expected.history[column], rtol=1e-12)
    for column in ("dual_bound", "gap", "relative_gap"):  # the solver's have their rounding in them
        assert_allclose(found[column], expected.history[column], rtol=1e-6, atol=1e-12)


def test_linear_history_is_that_of_the_compiled_run():
    options = {"checkpoints": "epoch", "batch_size": 7, "n_steps": 90}
    last, average = (run.history for run in compiled(linear_rows(X), **options))
    steps = linear_iterates(X, Y, LAM, index_stream(Y.size, 7 * 90), batch_size=7)
    found = linear_history(steps, X, Y, LAM, batch_size=7, checkpoints="epoch")
    for column in ("iteration", "epoch", "support_size"):
        assert_array_equal(found[column], average[column])
    for column in ("objective_last", "objective_average"):
        assert_allclose(found[column], average[column], rtol=1e-12)
    # From the counts alone: that of the last iterates.
    assert_allclose(found["dual_bound"], last["dual_bound"], rtol=1e-9, atol=1e-12)
    assert_array_equal(found["gap"], found["objective_average"] - found["dual_bound"])


def test_history_of_bare_iterates_has_objectives_only():
    steps = [(step.t, step.last) for step in linear_iterates(X, Y, LAM, index_stream(Y.size, 40))]
    assert len(linear_history([], X, Y, LAM)) == 0
    assert_array_equal(linear_history(steps, X, Y, LAM, checkpoints=None)["iteration"], [40])
    history = linear_history(steps, X, Y, LAM, checkpoints=[3, 17])
    assert_array_equal(history["iteration"], [3, 17, 40])
    expected = [
        LAM / 2 * w @ w + np.maximum(0, 1 - Y * (X @ w)).mean()
        for _, w in (steps[2], steps[16], steps[39])
    ]
    assert_allclose(history["objective_last"], expected, rtol=1e-13)
    assert_array_equal(history["objective_average"], history["objective_last"])
    for column in ("dual_bound", "gap", "relative_gap", "rounding"):
        assert np.isnan(history[column]).all()


def test_dual_bound_is_below_the_optimum_whatever_the_iterates():
    """Weak duality asks nothing of where coefficients come from."""
    problem = make_problem(Y, LAM)
    optimum = sdca(problem, make_rows(K, "precomputed"), tol=1e-8, max_epochs=5000).objective
    rng = np.random.default_rng(0)
    steps = [(t, *rng.normal(size=(3, Y.size)) * 10.0 ** rng.uniform(-3, 3)) for t in range(1, 200)]
    history = kernel_history(steps, K, Y, LAM, checkpoints="log")
    assert (history["dual_bound"] <= optimum).all()
    assert history["dual_bound"][-1] > 0
    assert (np.diff(history["dual_bound"]) >= 0).all()
    assert (history["objective_last"] >= optimum).all()


def test_negative_coefficients_count_as_zero_in_the_dual_bound():
    c = np.random.default_rng(0).normal(size=Y.size)
    bounds = [kernel_history([(1, each)], K, Y, LAM)["dual_bound"] for each in (c, np.fmax(c, 0))]
    assert bounds[0] == bounds[1] > 0


@pytest.mark.parametrize(
    ("iterates", "match"),
    [
        (5, "iterates must be tuples .*, got 5"),
        ([np.zeros(3)], "iterates must be tuples"),
        ([(1, np.zeros(4))], "vectors of size 3"),
        ([(1, np.zeros(3), np.zeros(3), np.zeros(3))], "a number alpha for each example"),
        ([(2, np.zeros(3)), (2, np.zeros(3))], "increasing steps t > 0, got 2 after 2"),
        ([(0, np.zeros(3))], "increasing steps t > 0, got 0 after 0"),
    ],
)
def test_history_says_what_is_wrong_with_iterates(iterates, match):
    with pytest.raises(ValueError, match=match):
        linear_history(iterates, X, Y, LAM)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"loss": "hinge"}, "loss must be a function of margins or None, got 'hinge'"),
        ({"loss": np.mean}, "loss must return a number for each of 120 margins, got shape \\(\\)"),
        ({"loss": lambda m: "no"}, "loss must return real numbers"),
        ({"checkpoints": "often"}, "checkpoints must be"),
        ({"batch_size": 0.5}, "batch_size must be a positive integer"),
    ],
)
def test_history_says_what_is_wrong_with_options(options, match):
    with pytest.raises((TypeError, ValueError), match=match):
        linear_history([(1, np.zeros(3))], X, Y, LAM, **options)


def test_error_of_the_iterates_themselves_is_not_disguised():
    def broken():
        yield 1, np.zeros(3)
        raise ValueError("of my own")

    with pytest.raises(ValueError, match="of my own"):
        linear_history(broken(), X, Y, LAM)
