"""Options of a run: what they mean, and what is refused."""

import re

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from solver_cases import (
    DATA,
    M,
    assert_same_result,
    exact_gram,
    make_kernel_rows,
    make_task,
    run_pegasos,
    steps_for,
)

from kpegasos import Sigmoid, make_problem, make_rows, pegasos, sdca
from kpegasos.solvers.pegasos import total_steps


@pytest.mark.parametrize(
    ("epochs", "batch_size", "expected"),
    [(1, 1, 37), (2, 1, 74), (1, 3, 13), (3, 37, 3), (0.5, 1, 19), (1e-9, 1, 1), (2, 16, 5)],
)
def test_epochs_are_covered_by_whole_batches(epochs, batch_size, expected):
    result = run_pegasos(make_kernel_rows("cached"), batch_size, n_steps=None, epochs=epochs)
    assert result.n_steps == expected


def test_epochs_are_not_rounded_up_by_an_error():
    """2.2 · 25 is 55.00000000000001 in floats, which used to make 56 steps."""
    assert total_steps(None, 2.2, 25, 1) == 55
    rows = make_kernel_rows("cached", X=DATA.X[:25])
    result = pegasos(make_problem(DATA.y[:25], DATA.lam), rows, epochs=2.2, random_state=0)
    assert result.n_steps == 55


@given(st.integers(1, 500), st.integers(1, 10_000), st.integers(1, 50))
def test_epochs_in_tenths_are_exact(tenths, n_samples, batch_size):
    expected = -(-tenths * n_samples // (10 * batch_size))
    assert total_steps(None, tenths / 10, n_samples, batch_size) == expected


def test_n_steps_wins_over_epochs():
    assert run_pegasos(make_kernel_rows("cached"), n_steps=5, epochs=7).n_steps == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a positive integer, got 0"),
        ({"batch_size": -3}, "batch_size must be a positive integer, got -3"),
        ({"batch_size": 2.0}, "batch_size must be a positive integer, got 2.0"),
        ({"batch_size": M + 1}, f"batch_size must be at most the number of examples, {M}"),
        ({"average": "mean"}, "average must be one of .* got 'mean'"),
        ({"sampling": "cyclic"}, "sampling must be .* got 'cyclic'"),
        ({"n_steps": 0}, "n_steps must be a positive integer, got 0"),
        ({"n_steps": 1.5}, "n_steps must be a positive integer, got 1.5"),
        ({"n_steps": None, "epochs": 0}, "epochs must be a positive finite number, got 0"),
        ({"n_steps": None, "epochs": None}, "epochs must be a positive finite number, got None"),
        ({"n_steps": None, "epochs": float("nan")}, "epochs must be a positive finite number"),
        ({"n_steps": None, "epochs": float("inf")}, "epochs must be a positive finite number"),
        ({"checkpoints": "steps"}, "checkpoints must be .* got 'steps'"),
        ({"checkpoints": [0, 4]}, "each of checkpoints must be a positive integer, got 0"),
    ],
    ids=str,
)
def test_options_are_checked(options, message):
    options = {"n_steps": 5} | options
    with pytest.raises(ValueError, match=message):
        pegasos(make_task(), make_kernel_rows("cached"), **options)


def test_rows_must_fit_the_problem():
    with pytest.raises(ValueError, match=r"rows must belong to the 37 examples .* got 36"):
        run_pegasos(make_kernel_rows("cached", X=DATA.X[1:]))


def test_tol_needs_a_certificate():
    with pytest.raises(ValueError, match=r"tol .*needs? a positive semi-definite kernel"):
        run_pegasos(make_rows(DATA.X, Sigmoid()), tol=0.1)


@pytest.mark.parametrize("kind", [np.int16, np.uint8, np.int32, np.int64, np.uint64])
def test_integers_of_numpy_are_integers(kind):
    """As a grid over an array gives them; np.int16 used to crash compiled code."""
    options = {"projection": True, "random_state": 0}
    expected = pegasos(
        make_task(), make_kernel_rows("cached"), n_steps=200, batch_size=7, **options
    )
    result = pegasos(
        make_task(), make_kernel_rows("cached"), n_steps=kind(200), batch_size=kind(7), **options
    )
    assert_same_result(result, expected)
    assert_array_equal(result.history["epoch"], expected.history["epoch"])
    ascent = sdca(make_task(), make_kernel_rows("cached"), max_epochs=kind(9), random_state=0)
    assert_same_result(
        ascent, sdca(make_task(), make_kernel_rows("cached"), max_epochs=9, random_state=0)
    )


@pytest.mark.parametrize("name", ["batch_size", "n_steps", "max_epochs"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, np.True_, np.float64(3), "3", [3]], ids=repr)
def test_integers_are_checked(name, value):
    solve = sdca if name == "max_epochs" else pegasos
    message = re.escape(f"{name} must be a positive integer, got {value!r} instead")
    with pytest.raises(ValueError, match=f"^{message}$"):
        solve(make_task(), make_kernel_rows("cached"), **{name: value})


# --- sampling ---


def backwards(rng, n_samples):
    return np.arange(n_samples)[::-1]


@pytest.mark.parametrize("source", ["precomputed", "evicting", "uncached_small"])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_sampling_by_a_function(source, batch_size):
    """A permutation of one's own each epoch, as any array of integers."""
    n_steps = steps_for(batch_size)
    result = run_pegasos(make_kernel_rows(source), batch_size, sampling=backwards)
    draws = np.resize(backwards(None, M), n_steps * batch_size)
    expected = naive.pegasos(exact_gram("linear"), DATA.y, draws, DATA.lam, batch_size=batch_size)
    assert_array_equal(result.alpha, expected.counts)
    first = run_pegasos(make_kernel_rows(source), batch_size, sampling=backwards, n_steps=20)
    rest = {"sampling": backwards, "n_steps": n_steps - 20, "state": first.state}
    assert_array_equal(
        run_pegasos(make_kernel_rows(source), batch_size, **rest).alpha, result.alpha
    )


def test_sampling_by_a_function_with_its_generator():
    """It is that of the epoch: the same draws for the same seed, others in every epoch."""

    def as_named(rng, n_samples):
        return rng.permutation(n_samples).astype(np.int32)

    assert_same_result(
        run_pegasos(make_kernel_rows("cached"), sampling=as_named),
        run_pegasos(make_kernel_rows("cached"), sampling="permutation"),
    )


@pytest.mark.parametrize(
    "draws",
    [
        np.arange(M - 1),
        np.arange(M + 1),
        np.arange(M)[:, None],
        np.arange(M) - 1,
        np.arange(M) + 1,
        np.arange(M, dtype=float),
        np.ones(M, dtype=bool),
        None,
        [],
    ],
    ids=lambda draws: f"{np.asarray(draws).dtype}{np.shape(draws)}",
)
def test_sampling_by_a_function_is_checked(draws):
    """Compiled loops index by what it returns."""
    message = r"^sampling must return 37 indices from 0 to 36, got \w+ of shape \(.*\)( from -?\d+ to \d+)? instead$"
    with pytest.raises(ValueError, match=message):
        run_pegasos(make_kernel_rows("cached"), sampling=lambda rng, n_samples: draws)


def test_sampling_block_is_the_old_name_of_contiguous():
    with pytest.warns(FutureWarning, match="'block' is now called 'contiguous'") as caught:
        old = run_pegasos(make_kernel_rows("cached"), sampling="block")
    assert len(caught) == 1
    assert_same_result(old, run_pegasos(make_kernel_rows("cached"), sampling="contiguous"))
