"""Options of a run: what they mean, and what is refused."""

import re
import time

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
        ({"n_steps": 10**30}, f"n_steps must be at most {2**53}, got {10**30}"),
        ({"n_steps": None, "epochs": 1e308}, "epochs must be at most .* got 1e.308"),
        ({"epochs": "2"}, "epochs must be a positive finite number, got '2'"),
        ({"tol": np.nan}, "tol must be a non-negative finite number, got nan"),
        ({"tol": "small"}, "tol must be a non-negative finite number, got 'small'"),
        ({"max_time": np.inf}, "max_time must be a non-negative finite number, got inf"),
        ({"projection": "no"}, "projection must be True or False, got 'no'"),
        ({"average": ["suffix"]}, "average must be one of .* got .'suffix'."),
        ({"random_state": "seed"}, "random_state must be an integer, .* got 'seed'"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        ({"random_state": 2**32}, f"random_state must be at most {2**32 - 1}, got {2**32}"),
        ({"checkpoints": 5}, "checkpoints must be .* got 5"),
        ({"checkpoints": iter([2])}, "checkpoints must be .* a sequence of steps .* got <"),
        ({"checkpoints": [[1, 2]]}, "each of checkpoints must be a positive integer, got .1, 2."),
        ({"checkpoints": [True]}, "each of checkpoints must be a positive integer, got True"),
        ({"checkpoints": [0, 4]}, "each of checkpoints must be a positive integer, got 0"),
    ],
    # No addresses: every process must find the same names.
    ids=lambda value: re.sub(" object at 0x[0-9a-f]+", "", str(value)),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"problem": DATA.y}, "problem must be a Problem, .* got array"),
        ({"rows": DATA.X}, "rows must be a RowSource, .* got array"),
        ({"state": 3}, "state must be a State, .* got 3 instead"),
        ({"monitor": "yes"}, "monitor must be a function or None, got 'yes' instead"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_objects_are_checked(arguments, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        pegasos(**{"problem": make_task(), "rows": make_kernel_rows("cached")} | arguments)


@pytest.mark.parametrize("name", ["tol", "max_time"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1, "1", True, 10**400], ids=repr)
def test_numbers_of_dual_ascent_are_checked(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a non-negative finite number, got"):
        sdca(make_task(), make_kernel_rows("cached"), **{name: value})


def test_values_in_messages_are_short():
    with pytest.raises(ValueError, match=r"^epochs must be .* got 1000") as caught:
        run_pegasos(make_kernel_rows("cached"), n_steps=None, epochs=10**4000)
    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match=r"^epochs must be .* got a value of type int instead$"):
        run_pegasos(make_kernel_rows("cached"), n_steps=None, epochs=10**5000)


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
    epochs = []

    def sampling(rng, n_samples):
        epochs.append(rng.permutation(n_samples).astype(np.int32))
        return epochs[-1]

    first, second = (run_pegasos(make_kernel_rows("cached"), sampling=sampling) for _ in range(2))
    assert_same_result(first, second)
    assert len({tuple(epoch) for epoch in epochs}) == len(epochs) / 2 > 1


def test_sampling_by_a_function_is_asked_once_an_epoch_and_timed():
    """Its time counts as that of a slice, or slices would grow beyond any deadline."""
    asked = []

    def sampling(rng, n_samples):
        asked.append(int(rng.integers(2**62)))
        time.sleep(1e-3)
        return rng.permutation(n_samples)

    options = {"sampling": sampling, "checkpoints": None}
    result = run_pegasos(make_kernel_rows("cached"), epochs=100, n_steps=None, **options)
    assert len(set(asked)) == len(asked)
    assert 100 <= len(asked) <= 103
    assert result.history.records[-1].seconds >= 0.1
    asked.clear()
    result = run_pegasos(
        make_kernel_rows("cached"), epochs=10**5, n_steps=None, max_time=0.3, **options
    )
    assert result.status == "max_time"
    assert len(asked) * 1e-3 < 0.8


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
        np.full(M, 2**63, dtype=np.uint64),
        np.arange(M).astype(object),
    ],
    ids=lambda draws: f"{np.asarray(draws).dtype}{np.shape(draws)}",
)
def test_sampling_by_a_function_is_checked(draws):
    """Compiled loops index by what it returns."""
    message = (
        r"^sampling must return 37 indices from 0 to 36, "
        r"got \w+ of shape \(.*\)( from -?\d+ to \d+)? instead$"
    )
    with pytest.raises(ValueError, match=message):
        run_pegasos(make_kernel_rows("cached"), sampling=lambda rng, n_samples: draws)


@pytest.mark.parametrize(
    "draws",
    [[[1], [1, 2]], np.ma.masked_array(np.arange(M), mask=np.arange(M) == 3)],
    ids=["ragged", "masked"],
)
def test_sampling_by_a_function_returns_an_array(draws):
    with pytest.raises(ValueError, match=r"^sampling must return 37 indices from 0 to 36, got"):
        run_pegasos(make_kernel_rows("cached"), sampling=lambda rng, n_samples: draws)


@pytest.mark.parametrize("kind", ["u1", "i2", ">i4", "u8"])
def test_sampling_by_a_function_of_any_integers(kind):
    def as_kind(rng, n_samples):
        return np.arange(n_samples).astype(kind)

    assert_same_result(
        run_pegasos(make_kernel_rows("cached"), sampling=as_kind),
        run_pegasos(make_kernel_rows("cached"), sampling=lambda rng, n: np.arange(n)),
    )
