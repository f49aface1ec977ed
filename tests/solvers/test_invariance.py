"""What must not matter to the model: slices, tiles, budgets, checkpoints, cuts, earlier runs."""

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import (
    ALL_SOURCES,
    DATA,
    KERNELS,
    SOURCES,
    M,
    assert_same_result,
    by_the_book,
    make_any_rows,
    make_kernel_rows,
    make_task,
    run_pegasos,
)

from kpegasos import (
    RBF,
    CachedRows,
    GramRows,
    KernelMatrix,
    UncachedRows,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.core.averaging import AVERAGES
from kpegasos.utils import tuning


@each_pair(source=ALL_SOURCES, average=AVERAGES, first_slice=[1, 5, 50])
def test_slices_do_not_matter(source, average, first_slice, monkeypatch):
    options = {"batch_size": 3, "average": average}
    whole = run_pegasos(make_any_rows(source), **options)
    monkeypatch.setattr(tuning, "FIRST_SLICE", first_slice)
    assert_same_result(run_pegasos(make_any_rows(source), **options), whole)


@pytest.mark.parametrize("n_rows", [20, 21, 25, 30, 40, 60, 80, 1000])
def test_cache_size_does_not_matter(n_rows):
    values = KernelMatrix(RBF(0.3), DATA.X)
    whole = run_pegasos(GramRows.from_values(values), 3)
    result = run_pegasos(CachedRows(values, cache_mb=n_rows * 8 * M / 2**20), 3)
    assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "checkpoints", ["epoch", "log", np.array([1, 2, 50]), range(1, 100, 7)], ids=str
)
def test_checkpoints_do_not_matter(checkpoints):
    whole = run_pegasos(make_kernel_rows("cached"), checkpoints=None)
    assert_same_result(run_pegasos(make_kernel_rows("cached"), checkpoints=checkpoints), whole)


def test_inputs_are_left_alone():
    X, y, weight = DATA.X.copy(), DATA.y.copy(), DATA.weight.copy()
    for source in SOURCES:
        rows = SOURCES[source](KernelMatrix(RBF(1.0), X))
        pegasos(make_problem(y, 0.1, weight), rows, epochs=2, projection=True)
    pegasos(make_problem(y, 0.1, weight), linear_rows(X), epochs=2, projection=True)
    assert_array_equal(X, DATA.X)
    assert_array_equal(y, DATA.y)
    assert_array_equal(weight, DATA.weight)


# --- runs that go on from a state ---


@each_pair(
    source=ALL_SOURCES,
    average=AVERAGES,
    projection=[False, True],
    batch_size=[1, 3],
    cut=[1, 37, 64, 101],
)
def test_resumed_run_equals_one_run(source, average, projection, batch_size, cut):
    options = {"batch_size": batch_size, "average": average, "projection": projection}
    options |= {"weighted": True, "checkpoints": "epoch"}
    whole = run_pegasos(make_any_rows(source), **options, n_steps=150)
    first = run_pegasos(make_any_rows(source), **options, n_steps=cut)
    second = run_pegasos(make_any_rows(source), **options, n_steps=150 - cut, state=first.state)
    if projection and source.startswith("uncached"):
        # Tiles begin elsewhere, and with the projection sums are rounded.
        assert_allclose(second.coef, whole.coef, rtol=1e-9, atol=1e-12)
    else:
        assert_same_result(second, whole)


@pytest.mark.pure_python
def test_resumed_run_keeps_certificate_and_history():
    options = {"checkpoints": [10, 20, 30, 40, 50, 60]}
    whole = run_pegasos(make_kernel_rows("cached"), n_steps=60, **options)
    first = run_pegasos(make_kernel_rows("cached"), n_steps=30, **options)
    second = run_pegasos(make_kernel_rows("cached"), n_steps=30, state=first.state, **options)
    for column in ("iteration", "epoch", "objective_average", "dual_bound", "gap", "support_size"):
        assert_array_equal(
            np.concatenate([first.history[column], second.history[column]]), whole.history[column]
        )
    assert second.dual_bound == whole.dual_bound
    assert first.history["seconds"][-1] <= second.history["seconds"][0]


@each_pair(
    before=["precomputed", "evicting", "uncached_small"],
    after=["precomputed", "cached", "uncached"],
    average=AVERAGES,
    projection=[False, True],
)
def test_resumed_run_takes_rows_of_another_kind(before, after, average, projection):
    """From margins that are held to margins that are not, and back."""
    options = {"batch_size": 3, "average": average, "projection": projection, "weighted": True}

    def rows(source):
        return make_kernel_rows(source, "poly", intercept_scaling=2.0)

    state = None
    for n_steps, source in ((20, before), (25, after), (5, before)):
        result = run_pegasos(rows(source), **options, n_steps=n_steps, state=state)
        state = result.state
    whole = run_pegasos(rows("precomputed"), **options, n_steps=50)
    if not projection:
        assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-9, atol=1e-9)
    assert_allclose(result.objective, whole.objective, rtol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 2},
        {"sampling": "uniform"},
        {"projection": True},
        {"average": None},
        {"problem": make_problem(DATA.y, 0.5)},
        {"problem": make_problem(DATA.y[:9], DATA.lam), "rows": linear_rows(DATA.X[:9])},
    ],
    ids=lambda change: "-".join(change),
)
def test_resumed_run_refuses_other_options(change):
    options = {"problem": make_task(), "rows": make_kernel_rows("cached"), "n_steps": 10}
    state = pegasos(**options).state
    with pytest.raises(ValueError, match="state must come from"):
        pegasos(**options | change, state=state)


def test_resumed_run_refuses_features_for_kernel_rows_of_the_same_length():
    wide = np.random.default_rng(0).normal(size=(20, 19))
    problem = make_problem(np.resize([1.0, -1.0], 20), 1e-2)
    sources = [linear_rows(wide), make_rows(wide, "linear")]
    states = [pegasos(problem, rows, epochs=2, random_state=0).state for rows in sources]
    assert states[0].loop.image.size == 20
    for rows, state in (
        (sources[1], states[0]),
        (make_rows(wide, "linear", cache="streamed"), states[0]),
        (sources[0], states[1]),
    ):
        with pytest.raises(ValueError, match="same kind of rows"):
            pegasos(problem, rows, epochs=1, state=state)
