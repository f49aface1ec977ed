"""Records of a run, and why it ended: tolerance, deadline, monitor."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import (
    DATA,
    SOURCES,
    M,
    assert_same_result,
    by_the_book,
    each_average,
    every_rows,
    exact_gram,
    make_any_rows,
    make_kernel_rows,
    make_task,
    run_pegasos,
)

from kpegasos import History, Sigmoid, make_rows, sdca


@every_rows
@each_average
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


def test_history_kernel_evaluations_and_hits():
    n_uses = sum(by_the_book().counts)
    n_support = np.count_nonzero(by_the_book().counts)

    def last(source):
        record = run_pegasos(make_any_rows(source)).history.records[-1]
        return record.kernel_evaluations, record.cache_hits

    assert last("precomputed") == (M * M, n_uses)
    assert last("dense") == (0, 0)
    # A row that stays is computed once; each use but its first is a hit.
    assert last("cached_one_by_one") == (n_support * M, n_uses - n_support)
    evaluations, hits = last("cached")
    assert n_support * M <= evaluations <= M * M
    assert hits == n_uses - n_support
    evaluations, hits = last("evicting")
    assert evaluations > M * M
    assert 0 <= hits < n_uses - n_support
    for source in ("uncached", "uncached_small"):
        assert last(source)[0] > 0


@pytest.mark.parametrize("source", SOURCES)
def test_history_evaluations_of_nested_runs_add_up(source):
    """A monitor that trains on the same rows pays for itself: no kernel value is counted twice."""
    rows, inner = make_kernel_rows(source, "poly"), []

    def monitor(running):
        if not running.finished:
            inner.append(run_pegasos(rows, n_steps=40, random_state=running.state.steps))
            inner.append(sdca(make_task(), rows, max_epochs=2, random_state=running.state.steps))

    checkpoints = [5, 30, 80, 150]
    outer = run_pegasos(rows, n_steps=150, checkpoints=checkpoints, monitor=monitor)
    runs = [outer, *inner]
    assert len(runs) == 7
    evaluations = [run.history["kernel_evaluations"][-1] for run in runs]
    assert sum(evaluations) == rows.evaluations
    assert evaluations[0] > 0
    if source in ("cached_one_by_one", "evicting", "uncached", "uncached_small"):
        assert max(evaluations[1:]) > 0  # the others have all rows by then
    alone = run_pegasos(make_kernel_rows(source, "poly"), n_steps=150)
    assert_array_equal(outer.alpha, alone.alpha)


def test_history_evaluations_of_a_gram_matrix():
    result = run_pegasos(make_rows(exact_gram("linear"), "precomputed"))
    assert result.history["kernel_evaluations"][-1] == 0


def test_history_of_an_indefinite_kernel():
    result = run_pegasos(make_rows(DATA.X, Sigmoid(0.5, -1.0)), checkpoints="epoch")
    for column in ("dual_bound", "gap", "relative_gap"):
        assert np.isnan(result.history[column]).all()
    assert np.isnan([result.dual_bound, result.gap, result.relative_gap]).all()
    assert np.isfinite(result.history["objective_average"]).all()


@every_rows
def test_max_time_leaves_a_model(source):
    result = run_pegasos(make_any_rows(source), n_steps=10**7, max_time=1e-9, checkpoints="epoch")
    assert result.status == "max_time"
    assert 1 <= result.n_steps < 10**7
    assert len(result.history) >= 1
    assert result.history["iteration"][-1] == result.n_steps
    again = run_pegasos(make_any_rows(source), n_steps=result.n_steps)
    assert_same_result(result, again)


def test_max_time_can_be_resumed():
    first = run_pegasos(make_kernel_rows("cached"), n_steps=10**7, max_time=1e-9)
    second = run_pegasos(make_kernel_rows("cached"), n_steps=77, state=first.state)
    assert second.status == "completed"
    assert_same_result(second, run_pegasos(make_kernel_rows("cached"), n_steps=first.n_steps + 77))


def test_monitor_that_returns_an_array_is_refused():
    with pytest.raises(TypeError, match=r"monitor must return True, False or None, got .* instead"):
        run_pegasos(make_kernel_rows("cached"), n_steps=50, monitor=lambda run: np.zeros(2))


def test_monitor_stops():
    seen = []

    def monitor(running):
        seen.append(running.state.steps)
        return len(seen) == 3

    result = run_pegasos(
        make_kernel_rows("cached"), n_steps=100, checkpoints=[10, 20, 30, 40], monitor=monitor
    )
    assert seen == [10, 20, 30]
    assert result.n_steps == 30
    assert result.status not in ("completed", "running")
    assert_same_result(result, run_pegasos(make_kernel_rows("cached"), n_steps=30))


def test_monitor_sees_the_model():
    models = []
    run_pegasos(
        make_kernel_rows("cached"),
        n_steps=60,
        checkpoints=[20, 60],
        monitor=lambda running: models.append(running.result()),
    )
    for model, n_steps in zip(models, (20, 60), strict=True):
        assert_same_result(model, run_pegasos(make_kernel_rows("cached"), n_steps=n_steps))


@every_rows
@pytest.mark.parametrize("checkpoints", ["epoch", None, [50, 100, 400]])
def test_tol_stops(source, checkpoints):
    tol = 0.3
    result = run_pegasos(make_any_rows(source), n_steps=10**5, tol=tol, checkpoints=checkpoints)
    assert result.status == "tolerance"
    assert result.n_steps < 10**5
    assert result.relative_gap <= tol
    assert (result.history["relative_gap"][:-1] > tol).all()


def test_tol_out_of_reach():
    result = run_pegasos(make_kernel_rows("cached"), n_steps=100, tol=1e-12)
    assert result.status == "completed"
    assert result.n_steps == 100
    assert result.relative_gap > 1e-12


# --- records one by one ---------------------------------------------------------------------------


def four_records():
    options = {"n_steps": 40, "checkpoints": [10, 20, 30, 40]}
    return run_pegasos(make_kernel_rows("cached"), **options).history


def test_history_goes_through_its_records():
    history = four_records()
    assert [record.iteration for record in history] == [10, 20, 30, 40]
    assert list(history) == history.records
    assert [record.gap for record in history] == history["gap"].tolist()
    assert next(reversed(history)).iteration == 40


@pytest.mark.parametrize("number", [0, 3, -1, -4, np.int8(2), np.uint64(1)])
def test_history_has_records_by_number(number):
    history = four_records()
    assert history[number] is history.records[int(number)]


@pytest.mark.parametrize(
    "part", [slice(1, 3), slice(None), slice(-2, None), slice(None, None, -1), slice(3, 1)], ids=str
)
def test_history_has_slices(part):
    history = four_records()
    some = history[part]
    assert type(some) is History
    assert list(some) == history.records[part]
    assert_array_equal(some["gap"], history["gap"][part])
    assert len(some) == len(range(4)[part])


def test_slice_of_a_history_is_one_of_its_own():
    history = four_records()
    history[:2].append(history[3])
    assert len(history) == 4


def test_history_says_what_it_does_not_have():
    history = four_records()
    with pytest.raises(KeyError, match=r"history has the columns .*'gap'.*, not 'gape'"):
        history["gape"]
    for number in (4, -5, 10**30):
        with pytest.raises(IndexError, match=rf"^history has 4 records, none of them at {number}$"):
            history[number]
    for key in (1.5, None, (0, 1), [0]):
        with pytest.raises(TypeError, match=r"^history must be indexed by a column's name, an int"):
            history[key]


def test_history_in_words_is_short():
    assert repr(four_records()[:0]) == "History(empty)"
    assert repr(four_records()).startswith("History(4 checkpoints, iteration 40, objective ")


def test_history_as_a_frame():
    history = four_records()
    frame = history.to_pandas()
    assert list(frame.columns) == list(history.columns)
    assert_array_equal(frame["gap"], history["gap"])
    assert_array_equal(frame.iloc[1], [float(value) for value in history[1]])


def test_history_as_a_frame_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_pandas needs pandas: install pandas, or use to_"):
        four_records().to_pandas()
