"""A run that goes on from a state is the run that was never cut."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import (
    DATA,
    assert_same_result,
    each_average,
    every_rows,
    make_any_rows,
    make_kernel_rows,
    run_pegasos,
)

from kpegasos import make_problem, pegasos


@every_rows
@each_average
@pytest.mark.parametrize("projection", [False, True])
def test_resume_equals_one_run(source, average, projection):
    options = {"batch_size": 3, "average": average, "projection": projection, "n_steps": None}
    options |= {"epochs": 20, "checkpoints": "epoch"}
    whole = run_pegasos(make_any_rows(source), **options | {"epochs": 40})
    first = run_pegasos(make_any_rows(source), **options)
    second = run_pegasos(make_any_rows(source), **options, state=first.state)
    if projection and source.startswith("uncached"):
        # Tiles begin elsewhere, and with the projection sums are rounded.
        assert_allclose(second.coef, whole.coef, rtol=1e-9, atol=1e-12)
        assert_allclose(second.gap, whole.gap, rtol=1e-6)
        return
    assert_same_result(second, whole)


@every_rows
@each_average
@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("cut", [1, 37, 64, 101])
def test_resume_anywhere(source, average, batch_size, cut):
    options = {"batch_size": batch_size, "average": average, "weighted": True}
    whole = run_pegasos(make_any_rows(source), **options, n_steps=150)
    first = run_pegasos(make_any_rows(source), **options, n_steps=cut)
    second = run_pegasos(make_any_rows(source), **options, n_steps=150 - cut, state=first.state)
    assert_same_result(second, whole)


@pytest.mark.pure_python
def test_resume_keeps_certificate_and_history():
    checkpoints = [10, 20, 30, 40, 50, 60]
    whole = run_pegasos(make_kernel_rows("cached"), n_steps=60, checkpoints=checkpoints)
    first = run_pegasos(make_kernel_rows("cached"), n_steps=30, checkpoints=checkpoints)
    second = run_pegasos(
        make_kernel_rows("cached"), n_steps=30, checkpoints=checkpoints, state=first.state
    )
    for column in ("iteration", "epoch", "objective_average", "dual_bound", "gap", "support_size"):
        assert_array_equal(
            np.concatenate([first.history[column], second.history[column]]), whole.history[column]
        )
    assert second.dual_bound == whole.dual_bound
    assert first.history["seconds"][-1] <= second.history["seconds"][0]


def test_resume_with_other_rows_of_the_same_kind():
    """A state may go on with another cache, as long as margins are held alike."""
    whole = run_pegasos(make_kernel_rows("cached"), n_steps=100)
    first = run_pegasos(make_kernel_rows("evicting"), n_steps=40)
    assert_same_result(
        run_pegasos(make_kernel_rows("precomputed"), n_steps=60, state=first.state), whole
    )


@pytest.mark.parametrize("before", ["precomputed", "evicting", "uncached_small"])
@pytest.mark.parametrize("after", ["precomputed", "cached", "uncached"])
@each_average
@pytest.mark.parametrize("projection", [False, True])
def test_resume_with_rows_of_another_kind(before, after, average, projection):
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
        {"average": "suffix"},
    ],
    ids=str,
)
def test_resume_refuses_other_options(change):
    first = run_pegasos(make_kernel_rows("cached"), n_steps=10)
    with pytest.raises(ValueError, match="state must come from"):
        run_pegasos(make_kernel_rows("cached"), n_steps=10, state=first.state, **change)


def test_resume_refuses_other_problems():
    first = run_pegasos(make_kernel_rows("cached"), n_steps=10)
    with pytest.raises(ValueError, match="state must come from"):
        pegasos(make_problem(DATA.y, 0.5), make_kernel_rows("cached"), state=first.state)
    with pytest.raises(ValueError, match="state must come from"):
        pegasos(
            make_problem(DATA.y[:9], DATA.lam),
            make_kernel_rows("cached", X=DATA.X[:9]),
            state=first.state,
        )


@pytest.mark.parametrize("average", ["weighted", "suffix", None])
def test_resume_with_other_rows_equals_one_run(average):
    """Margins that the next source maintains, or does not, are made from the counts."""
    options = {"average": average, "n_steps": 100}
    whole = run_pegasos(make_kernel_rows("cached"), **options | {"n_steps": 300})
    state = run_pegasos(make_kernel_rows("cached"), **options).state
    state = run_pegasos(make_kernel_rows("uncached"), **options, state=state).state
    result = run_pegasos(make_kernel_rows("precomputed"), **options, state=state)
    assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-9, atol=1e-9)
