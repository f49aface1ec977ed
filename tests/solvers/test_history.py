"""Options of a run, its records, when they are made, and why it ended."""

import time
from itertools import cycle

import numpy as np
import pandas
import pytest
from covering import each_value
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import (
    ALL_SOURCES,
    DATA,
    M,
    assert_same_result,
    by_the_book,
    every_rows,
    exact_gram,
    make_any_rows,
    make_kernel_rows,
    run_pegasos,
)

from kpegasos import History, Sigmoid, make_problem, make_rows, pegasos, regularization_path, sdca
from kpegasos.core.state import AVERAGES
from kpegasos.solvers.pegasos import Checkpoints, growing_steps, total_steps


@pytest.mark.parametrize(
    ("epochs", "batch_size", "expected"),
    [(1, 1, 37), (2, 1, 74), (1, 3, 13), (3, 37, 3), (0.5, 1, 19), (1e-9, 1, 1), (2, 16, 5)],
)
def test_epochs_are_covered_by_whole_batches(epochs, batch_size, expected):
    result = run_pegasos(make_kernel_rows("cached"), batch_size, n_steps=None, epochs=epochs)
    assert result.n_steps == expected
    assert run_pegasos(make_kernel_rows("cached"), n_steps=5, epochs=epochs).n_steps == 5


@given(st.integers(1, 500), st.integers(1, 10_000), st.integers(1, 50))
def test_epochs_in_tenths_are_exact(tenths, n_samples, batch_size):
    """2.2 · 25 is 55.00000000000001 in floats, which used to make 56 steps."""
    expected = -(-tenths * n_samples // (10 * batch_size))
    assert total_steps(None, tenths / 10, n_samples, batch_size) == expected
    assert total_steps(None, 2.2, 25, 1) == 55


# --- what is refused ---


@pytest.mark.parametrize("source", ["cached", "dense"])
@pytest.mark.parametrize("solve", [pegasos, sdca, lambda *each: regularization_path(*each, [1.0])])
def test_rows_must_fit_the_problem(solve, source):
    for n_labels in (M - 1, M + 1):
        task = make_problem(np.resize([1.0, -1.0], n_labels), 1.0)
        match = rf"^rows must belong to the {n_labels} examples .* got {M} instead"
        with pytest.raises(ValueError, match=match):
            solve(task, make_any_rows(source))


# --- sampling ---


@pytest.mark.parametrize("source", ["precomputed", "evicting"])
def test_sampling_by_a_function_goes_on_with_the_generator_of_the_epoch(source):
    """The same draws for the same seed, and others in every epoch."""
    epochs = {}

    def sampling(rng, n_samples):
        draws = rng.permutation(n_samples).astype(np.int32)
        epochs[draws.tobytes()] = draws
        return draws

    result = run_pegasos(make_kernel_rows(source), sampling=sampling, n_steps=3 * M)
    first = run_pegasos(make_kernel_rows(source), sampling=sampling, n_steps=20)
    rest = {"sampling": sampling, "n_steps": 3 * M - 20, "state": first.state}
    assert_same_result(run_pegasos(make_kernel_rows(source), **rest), result)
    assert len(epochs) >= 3


def test_sampling_by_a_function_is_asked_once_an_epoch_and_timed():
    """Its time counts as that of a slice, or slices would grow beyond any deadline."""
    asked = []

    def sampling(rng, n_samples):
        asked.append(int(rng.integers(2**62)))
        time.sleep(1e-3)
        return rng.permutation(n_samples)

    options = {"sampling": sampling, "n_steps": None, "epochs": 10**5, "max_time": 0.3}
    result = run_pegasos(make_kernel_rows("cached"), **options)
    assert result.status == "max_time"
    assert result.history.records[-1].seconds >= 1e-3 * (len(asked) - 3)  # those ahead
    assert len(asked) * 1e-3 < 0.8
    assert len(set(asked)) == len(asked), "an epoch is asked for once"


@pytest.mark.parametrize(
    "draws",
    [
        np.arange(M - 1),
        np.arange(M)[:, None],
        np.arange(M) - 1,
        np.arange(M) + 1,
        np.arange(M, dtype=float),
        np.full(M, 2**63, dtype=np.uint64),
        [[1], [1, 2]],
        np.ma.masked_array(np.arange(M), mask=np.arange(M) == 3),
    ],
    ids=str,
)
def test_sampling_by_a_function_is_checked(draws):
    """Compiled loops index by what it returns."""
    with pytest.raises(ValueError, match=r"^sampling must return 37 indices from 0 to 36, got "):
        run_pegasos(make_kernel_rows("cached"), sampling=lambda rng, n_samples: draws)


@pytest.mark.parametrize(("source", "average"), list(zip(ALL_SOURCES, cycle(AVERAGES))))
def test_history_columns_are_consistent(source, average):
    result = run_pegasos(
        make_any_rows(source), 3, checkpoints="log", average=average, sampling="uniform"
    )
    history = result.history
    assert (np.diff(history["dual_bound"]) >= 0).all()
    assert (history["dual_bound"] >= 0).all()
    assert (history["dual_bound"] <= history["objective_last"]).all()
    objective, gap = history["objective_average"], history["gap"]
    # What rounding may have taken off the objective is part of the gap.
    added = gap + history["dual_bound"] - objective
    assert (added >= -1e-15).all()
    assert (added <= 1e-8 * objective).all()
    assert (history["rounding"] == 0.0).all()
    assert_allclose(history["relative_gap"], gap / objective, rtol=1e-15)
    for column in ("iteration", "epoch", "seconds", "kernel_evaluations", "cache_hits"):
        assert (np.diff(history[column]) >= 0).all()
    assert (np.diff(history["support_size"]) >= 0).all()
    assert history["support_size"][-1] == np.count_nonzero(result.alpha)
    if average is None:
        assert_array_equal(history["objective_last"], history["objective_average"])
    last = history.records[-1]
    assert (result.objective, result.dual_bound) == (last.objective_average, last.dual_bound)
    assert (result.gap, result.relative_gap) == (last.gap, last.relative_gap)


def test_history_of_an_indefinite_kernel():
    result = run_pegasos(make_rows(DATA.X, Sigmoid(0.5, -1.0)), checkpoints="epoch")
    for column in ("dual_bound", "gap", "relative_gap"):
        assert np.isnan(result.history[column]).all()
    assert np.isnan([result.dual_bound, result.gap, result.relative_gap]).all()
    assert np.isfinite(result.history["objective_average"]).all()


# --- kernel values ---


@pytest.mark.pure_python
@pytest.mark.parametrize("batch_size", [1, 3])
def test_history_kernel_evaluations_and_hits(batch_size):
    counts = by_the_book(batch_size=batch_size).counts
    n_uses, n_support = sum(counts), np.count_nonzero(counts)

    def last(rows):
        record = run_pegasos(rows, batch_size).history.records[-1]
        return record.kernel_evaluations, record.cache_hits

    assert last(make_rows(exact_gram("linear"), "precomputed"))[0] == 0
    assert last(make_any_rows("precomputed")) == (M * M, n_uses)
    assert last(make_any_rows("dense")) == (0, 0)
    # A row that stays is computed once; each use but its first is a hit.
    assert last(make_any_rows("cached_one_by_one")) == (n_support * M, n_uses - n_support)
    evaluations, hits = last(make_any_rows("cached"))
    assert n_support * M <= evaluations <= M * M
    assert hits == n_uses - n_support
    evaluations, hits = last(make_any_rows("evicting"))
    assert evaluations > M * M
    assert 0 <= hits < n_uses - n_support


# --- checkpoints ---


def test_checkpoints_are_not_counted_one_by_one():
    assert len(Checkpoints("epoch", 0, 40 * 10**15, 40, 1)) == 10**15


def expected_checkpoints(checkpoints, first, last, n_samples, batch_size):
    """Each step by itself: is it a checkpoint?"""
    if checkpoints == "epoch":
        chosen = {-(-e * n_samples // batch_size) for e in range(1, last * batch_size + 1)}
    elif checkpoints == "auto":
        epochs = [d * 10**e for e in range(5) for d in (1, 2, 5)]
        chosen = {-(-e * n_samples // batch_size) for e in epochs}
    elif checkpoints == "log":
        chosen = {round(10 ** (j / 10)) for j in range(60)}
    else:
        chosen = set(checkpoints or [])
    return [t for t in range(first + 1, last + 1) if t in chosen or t == last]


@given(
    st.none()
    | st.sampled_from(["auto", "epoch", "log"])
    | st.lists(st.integers(1, 120), max_size=5),
    st.integers(0, 80),
    st.integers(1, 80),
    st.integers(1, 12),
    st.data(),
)
def test_checkpoints_one_by_one(checkpoints, first, n_steps, n_samples, data):
    """All of them from anywhere on, as many as announced, as often as they are asked for."""
    batch_size = data.draw(st.integers(1, n_samples))
    arguments = checkpoints, first, first + n_steps, n_samples, batch_size
    expected = expected_checkpoints(*arguments)
    points = Checkpoints(*arguments)
    assert len(points) == len(expected)
    assert list(points) == expected
    assert list(points) == expected  # and again


@pytest.mark.parametrize(
    "checkpoints", ["epoch", "auto", "log", [40, 2, 2, 700], [], None], ids=str
)
def test_history_is_recorded_at_the_checkpoints(checkpoints):
    options = {"n_steps": 63, "checkpoints": checkpoints}
    result = run_pegasos(make_kernel_rows("cached"), 3, **options)
    history = result.history
    expected = expected_checkpoints(checkpoints, 0, 63, M, 3)
    assert_array_equal(history["iteration"], expected)
    assert_allclose(history["epoch"], 3 * np.array(expected) / M)
    assert_same_result(result, run_pegasos(make_kernel_rows("cached"), 3, n_steps=63))


def test_growing_steps_begin_at_an_eighth_of_an_epoch_of_batches():
    assert growing_steps(0, 100, 10_000 / 100)[0] == 12
    assert growing_steps(5, 10**5, 8000.0)[:2] == [1005, 1505]


# --- ends ---


@every_rows
def test_max_time_leaves_a_model(source):
    result = run_pegasos(make_any_rows(source), n_steps=10**7, max_time=1e-9, checkpoints="epoch")
    assert result.status == "max_time"
    assert 1 <= result.n_steps < 10**7
    assert result.history["iteration"][-1] == result.n_steps
    again = run_pegasos(make_any_rows(source), n_steps=result.n_steps)
    assert_same_result(result, again)


def test_monitor_sees_the_model_and_stops():
    models = []

    def monitor(running):
        models.append(running.result())
        return len(models) == 3

    checkpoints = [10, 20, 30, 40]
    result = run_pegasos(
        make_kernel_rows("cached"), n_steps=100, checkpoints=checkpoints, monitor=monitor
    )
    assert result.status not in ("completed", "running")
    for model, n_steps in zip([*models, result], [10, 20, 30, 30], strict=True):
        assert_same_result(model, run_pegasos(make_kernel_rows("cached"), n_steps=n_steps))


@each_value(source=ALL_SOURCES, checkpoints=["epoch", None])
def test_tol_stops(source, checkpoints):
    options = {"n_steps": 10**5, "checkpoints": checkpoints}
    result = run_pegasos(make_any_rows(source), tol=0.3, **options)
    assert result.status == "tolerance"
    assert result.n_steps < 10**5
    assert result.relative_gap <= 0.3
    assert (result.history["relative_gap"][:-1] > 0.3).all()


# --- records one by one ---


OPTIONS = {"n_steps": 40, "checkpoints": [10, 20, 30, 40]}


def test_history_is_a_sequence_of_records():
    four_records = run_pegasos(make_kernel_rows("cached"), **OPTIONS).history
    records = four_records.records
    assert [record.iteration for record in four_records] == [10, 20, 30, 40]
    assert next(reversed(four_records)).iteration == 40
    assert four_records["gap"].tolist() == [record.gap for record in records]
    for number in (0, 3, -1, -4, np.int8(2), np.uint64(1)):
        assert four_records[number] is records[int(number)]
    for part in (slice(1, 3), slice(None), slice(-2, None), slice(None, None, -1), slice(3, 1)):
        some = four_records[part]
        assert type(some) is History
        assert list(some) == records[part]
        assert_array_equal(some["gap"], four_records["gap"][part])
    four_records[:2].append(four_records[3])
    assert len(four_records) == 4


@pytest.mark.parametrize(
    ("key", "error", "match"),
    [
        ("gape", KeyError, "history has the columns .*'gap'.*, not 'gape'"),
        (4, IndexError, "^history has 4 records, none of them at 4$"),
        (-5, IndexError, "^history has 4 records, none of them at -5$"),
        (10**30, IndexError, f"^history has 4 records, none of them at {10**30}$"),
        (1.5, TypeError, "^history must be indexed by a column's name, an int"),
    ],
)
def test_history_says_what_it_does_not_have(key, error, match):
    with pytest.raises(error, match=match):
        run_pegasos(make_kernel_rows("cached"), **OPTIONS).history[key]


def test_history_as_columns_makes_a_frame():
    four_records = run_pegasos(make_kernel_rows("cached"), **OPTIONS).history
    frame = pandas.DataFrame(four_records.to_dict())
    assert list(frame.columns) == list(four_records.columns)
    assert_array_equal(frame["gap"], four_records["gap"])
    assert_array_equal(frame.iloc[1], [float(value) for value in four_records[1]])
