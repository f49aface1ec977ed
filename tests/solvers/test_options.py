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
    make_any_rows,
    make_kernel_rows,
    make_task,
    run_pegasos,
    steps_for,
)

from kpegasos import Sigmoid, make_problem, make_rows, pegasos, regularization_path, sdca
from kpegasos.solvers.pegasos import total_steps


@pytest.mark.parametrize(
    ("epochs", "batch_size", "expected"),
    [(1, 1, 37), (2, 1, 74), (1, 3, 13), (3, 37, 3), (0.5, 1, 19), (1e-9, 1, 1), (2, 16, 5)],
)
def test_epochs_are_covered_by_whole_batches(epochs, batch_size, expected):
    result = run_pegasos(make_kernel_rows("cached"), batch_size, n_steps=None, epochs=epochs)
    assert result.n_steps == expected


@given(st.integers(1, 500), st.integers(1, 10_000), st.integers(1, 50))
def test_epochs_in_tenths_are_exact(tenths, n_samples, batch_size):
    """2.2 · 25 is 55.00000000000001 in floats, which used to make 56 steps."""
    expected = -(-tenths * n_samples // (10 * batch_size))
    assert total_steps(None, tenths / 10, n_samples, batch_size) == expected
    assert total_steps(None, 2.2, 25, 1) == 55


def test_n_steps_wins_over_epochs():
    assert run_pegasos(make_kernel_rows("cached"), n_steps=5, epochs=7).n_steps == 5


# --- what is refused ---

#: A call by its solver and arguments, and the sentence that it gets.
POSITIVE = "must be a positive integer, got"
REFUSED = [
    *[
        (solve, {name: value}, f"{name} {POSITIVE} {re.escape(repr(value))} instead$")
        for solve, name in ((pegasos, "batch_size"), (pegasos, "n_steps"), (sdca, "max_epochs"))
        for value in (0, -1, 2.0, True, np.True_, np.float64(3), "3", [3])
    ],
    *[
        (sdca, {name: value}, f"{name} must be a non-negative finite number, got")
        for name in ("tol", "max_time")
        for value in (np.nan, np.inf, -1, "1", True, 10**400)
    ],
    *[
        (pegasos, {"checkpoints": [value]}, rf"each of checkpoints {POSITIVE}")
        for value in ([1, 2], True, 0)
    ],
    (pegasos, {"checkpoints": "steps"}, "checkpoints must be .* got 'steps'"),
    (pegasos, {"checkpoints": 5}, "checkpoints must be .* got 5"),
    (pegasos, {"checkpoints": iter([2])}, "checkpoints must be .* a sequence of steps .* got <"),
    (pegasos, {"batch_size": M + 1}, f"batch_size must be at most the number of examples, {M}"),
    (pegasos, {"n_steps": 10**30}, f"n_steps must be at most {2**53}, got {10**30}"),
    (pegasos, {"epochs": 0}, "epochs must be a positive finite number, got 0"),
    (pegasos, {"epochs": None}, "epochs must be a positive finite number, got None"),
    (pegasos, {"epochs": np.nan}, "epochs must be a positive finite number"),
    (pegasos, {"epochs": "2"}, "epochs must be a positive finite number, got '2'"),
    (pegasos, {"epochs": 1e308}, "epochs must be at most .* got 1e.308"),
    (pegasos, {"epochs": 10**5000}, "epochs must be .* got a value of type int instead$"),
    (pegasos, {"average": "mean"}, "average must be one of .* got 'mean'"),
    (pegasos, {"average": ["suffix"]}, "average must be one of .* got .'suffix'."),
    (pegasos, {"sampling": "cyclic"}, "sampling must be .* got 'cyclic'"),
    (pegasos, {"tol": np.nan}, "tol must be a non-negative finite number, got nan"),
    (pegasos, {"max_time": np.inf}, "max_time must be a non-negative finite number, got inf"),
    (pegasos, {"projection": "no"}, "projection must be True or False, got 'no'"),
    (pegasos, {"random_state": "seed"}, "random_state must be an integer, .* got 'seed'"),
    (pegasos, {"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
    (pegasos, {"random_state": 2**32}, f"random_state must be at most {2**32 - 1}, got {2**32}"),
    (pegasos, {"step": lambda t, lam: 11.0 / t}, "step must return sizes above 0 and at most 1/l"),
    (pegasos, {"step": lambda t, lam: np.ones(3)}, "step must return a size for each"),
    (
        pegasos,
        {"tol": 0.1, "rows": make_rows(DATA.X, Sigmoid())},
        r"tol .*needs? a positive semi-definite kernel",
    ),
]
WRONG_TYPES = [
    ({"problem": DATA.y}, "problem must be a Problem, .* got array"),
    ({"rows": DATA.X}, "rows must be a RowSource, .* got array"),
    ({"state": 3}, "state must be a State, .* got 3 instead"),
    ({"monitor": "yes"}, "monitor must be a function or None, got 'yes' instead"),
    ({"monitor": lambda run: np.zeros(2)}, "monitor must return True, False or None, got .* inst"),
    ({"step": 0.1}, "step must be None"),
]


@pytest.mark.parametrize(
    ("solve", "arguments", "sentence"),
    REFUSED,
    ids=[f"{row[0].__name__}-{row[2][:40]}" for row in REFUSED],
)
def test_values_are_checked(solve, arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}") as caught:
        solve(**{"problem": make_task(), "rows": make_kernel_rows("cached")} | arguments)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("arguments", "sentence"), WRONG_TYPES, ids=lambda value: "-".join(value))
def test_objects_are_checked(arguments, sentence):
    with pytest.raises(TypeError, match=f"^{sentence}"):
        pegasos(**{"problem": make_task(), "rows": make_kernel_rows("cached")} | arguments)


@pytest.mark.parametrize("source", ["cached", "uncached", "dense"])
@pytest.mark.parametrize("solve", [pegasos, sdca, lambda *each: regularization_path(*each, [1.0])])
def test_rows_must_fit_the_problem(solve, source):
    for n_labels in (M - 1, M + 1):
        task = make_problem(np.resize([1.0, -1.0], n_labels), 1.0)
        match = rf"^rows must belong to the {n_labels} examples .* got {M} instead"
        with pytest.raises(ValueError, match=match):
            solve(task, make_any_rows(source))


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

    options = {"sampling": sampling, "checkpoints": None, "n_steps": None}
    result = run_pegasos(make_kernel_rows("cached"), epochs=100, **options)
    assert len(set(asked)) == len(asked)
    assert 100 <= len(asked) <= 103
    assert result.history.records[-1].seconds >= 0.1
    asked.clear()
    result = run_pegasos(make_kernel_rows("cached"), epochs=10**5, max_time=0.3, **options)
    assert result.status == "max_time"
    assert len(asked) * 1e-3 < 0.8


@pytest.mark.parametrize(
    "draws",
    [
        np.arange(M - 1),
        np.arange(M)[:, None],
        np.arange(M) - 1,
        np.arange(M) + 1,
        np.arange(M, dtype=float),
        np.ones(M, dtype=bool),
        None,
        np.full(M, 2**63, dtype=np.uint64),
        np.arange(M).astype(object),
        [[1], [1, 2]],
        np.ma.masked_array(np.arange(M), mask=np.arange(M) == 3),
    ],
    ids=str,
)
def test_sampling_by_a_function_is_checked(draws):
    """Compiled loops index by what it returns."""
    with pytest.raises(ValueError, match=r"^sampling must return 37 indices from 0 to 36, got "):
        run_pegasos(make_kernel_rows("cached"), sampling=lambda rng, n_samples: draws)
