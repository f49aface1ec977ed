"""Counts of violations, iterates and averages: those of the definition, however they are reached.

Rows of every kind and format, slices, budgets, checkpoints, cuts and earlier runs do not matter."""

from itertools import cycle

import naive
import numpy as np
import pytest
from conftest import stream
from covering import each_pair, each_value
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import (
    ALL_SOURCES,
    DATA,
    SOURCES,
    M,
    assert_same_result,
    by_the_book,
    each_source,
    exact_gram,
    make_any_rows,
    make_kernel_rows,
    make_task,
    run_pegasos,
    steps_for,
)

from kpegasos import KernelMatrix, Linear, linear_rows, make_problem, pegasos
from kpegasos.core.state import AVERAGES
from kpegasos.rows.features import FeatureRows
from kpegasos.utils import tuning

# --- every way of a run ---


@pytest.mark.pure_python
@each_pair(
    source=ALL_SOURCES,
    average=AVERAGES,
    batch_size=[1, 3, 16],
    sampling=["permutation", "uniform"],
    weighted=[False, True],
    projection=[False, True],
    B=[0.0, 2.0],
)
def test_runs_are_those_of_the_definition(
    source, average, batch_size, sampling, weighted, projection, B
):
    rows = make_any_rows(source, intercept_scaling=B)
    options = {"average": average, "sampling": sampling, "projection": projection}
    result = run_pegasos(rows, batch_size, weighted, **options)
    expected = by_the_book(
        "linear", sampling, batch_size, weighted, projection=projection, offset=B**2
    )
    if projection:  # the oracle has floats, as there are square roots
        assert_array_equal(result.alpha != 0, np.array(expected.counts) != 0)
    else:
        assert_array_equal(result.alpha, expected.counts)
    coef = np.array(naive.average(expected.iterates, average), float)
    assert_allclose(result.coef, coef, rtol=1e-9, atol=1e-9 * abs(coef).max())
    assert_allclose(result.intercept, B**2 * coef.sum(), rtol=1e-9, atol=1e-9)
    assert_allclose(
        result.margins, exact_gram("linear") @ coef + result.intercept, rtol=1e-9, atol=1e-9
    )
    weight = DATA.omega if weighted else None
    K = exact_gram("linear")
    assert_allclose(
        result.objective, naive.primal(coef, K, DATA.y, DATA.lam, weight, offset=B**2), rtol=1e-9
    )
    if result.w is not None:
        assert_allclose(result.w, DATA.X.T @ coef, rtol=1e-9, atol=1e-9)
    assert result.n_steps == steps_for(batch_size)


@pytest.mark.pure_python
@each_value(average=AVERAGES, source=["cached", "evicting"])
def test_average_in_history_is_that_of_the_iterates(average, source):
    """At every length, of the last iterate and of the average."""
    points = range(1, 41)
    options = {"n_steps": 40, "checkpoints": points, "average": average}
    history = run_pegasos(make_kernel_rows(source), **options).history
    iterates = by_the_book().iterates
    for column, kind in (("objective_last", None), ("objective_average", average)):
        expected = [
            naive.primal(naive.average(iterates[:t], kind), exact_gram("linear"), DATA.y, DATA.lam)
            for t in points
        ]
        assert_allclose(history[column], expected, rtol=1e-12)


@pytest.mark.pure_python
@pytest.mark.parametrize(("source", "average"), list(zip(ALL_SOURCES, cycle(AVERAGES))))
def test_projection_survives_a_vanishing_scale(source, average):
    """Far features and a small lam shrink the scale below any bound, and nothing is lost."""
    X, lam, n_steps = 64 * DATA.X, 2.0**-14, 120
    y = np.resize([1.0, -1.0], M)  # nothing to be learnt: everything violates
    options = {"n_steps": n_steps, "projection": True, "average": average, "random_state": 0}
    result = pegasos(make_problem(y, lam), make_any_rows(source, X=X), **options)
    expected = naive.pegasos(np.inner(X, X), y, stream(M, n_steps), lam, projection=True)
    coef = np.array(naive.average(expected.iterates, average), float)
    # The counts, each times its later projections, add up to far less than the draws.
    assert result.alpha.sum() < 1e-3 * sum(expected.counts)
    assert_allclose(result.coef, coef, rtol=1e-8, atol=1e-9 * abs(coef).max())


# --- special data ---


SPECIAL = {
    "one example": ([[2.0]], [-1], 1),
    "one class": (DATA.X, np.full(M, -1), 1),
    "the other class": (DATA.X, np.full(M, 1), 1),
    "whole batches": (DATA.X, DATA.y, M),
    "examples twice in a batch": ([[1.0], [-2.0], [1.0]], [1, -1, -1], 2),
}


@pytest.mark.pure_python
@each_source
@pytest.mark.parametrize("case", SPECIAL)
def test_counts_of_special_problems_are_exact(source, case):
    """What a batch holds twice counts twice, by the margin before the step."""
    X, y, batch_size = SPECIAL[case]
    options = {"batch_size": batch_size, "random_state": 1, "sampling": "uniform"}
    draws = stream(len(y), 12 * batch_size, sampling="uniform", random_state=1)
    rows = SOURCES[source](KernelMatrix(Linear(), np.array(X)))
    result = pegasos(make_problem(y, 0.5), rows, n_steps=12, **options)
    expected = naive.pegasos(np.inner(X, X), y, draws, 0.5, batch_size=batch_size)
    assert_array_equal(result.alpha, expected.counts)


@each_pair(form=[np.asarray, sparse.csr_matrix], average=AVERAGES, projection=[False, True])
def test_linear_members_equal_subset(form, average, projection):
    members = np.flatnonzero(np.arange(M) % 3 != 1)[::-1].copy()
    X = form(DATA.X)
    part = make_problem(DATA.y[members], DATA.lam, DATA.weight[members])
    options = {"epochs": 5, "average": average, "projection": projection, "random_state": 0}
    result = pegasos(part, FeatureRows(X, members=members, intercept_scaling=2.0), **options)
    subset = pegasos(part, linear_rows(X[members], intercept_scaling=2.0), **options)
    assert_same_result(result, subset)
    assert_array_equal(result.w, subset.w)


@each_pair(source=ALL_SOURCES, average=AVERAGES, first_slice=[1, 5, 50])
def test_slices_do_not_matter(source, average, first_slice, monkeypatch):
    options = {"batch_size": 3, "average": average}
    whole = run_pegasos(make_any_rows(source), **options)
    monkeypatch.setattr(tuning, "FIRST_SLICE", first_slice)
    assert_same_result(run_pegasos(make_any_rows(source), **options), whole)


# --- runs that go on from a state ---


@each_pair(
    source=ALL_SOURCES,
    between=[None, "precomputed", "cached"],
    average=AVERAGES,
    projection=[False, True],
    batch_size=[1, 3],
    cut=[1, 37, 64, 101],
)
def test_resumed_run_equals_one_run(source, between, average, projection, batch_size, cut):
    """And the rows may be of another kind."""
    options = {"batch_size": batch_size, "average": average, "projection": projection}
    options |= {"weighted": True, "checkpoints": "epoch"}
    if between is None or source in ("dense", "csr"):
        between = source
    whole = run_pegasos(make_any_rows(source, intercept_scaling=2.0), **options, n_steps=150)
    state = None
    for n_steps, name in ((cut, source), (110 - cut, between), (40, source)):
        rows = make_any_rows(name, intercept_scaling=2.0)
        result = run_pegasos(rows, **options, n_steps=n_steps, state=state)
        state = result.state
    if between == source:
        assert_same_result(result, whole)
        return
    # Tiles begin elsewhere, and with the projection sums are rounded.
    if not projection:
        assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-9, atol=1e-9)
    assert_allclose(result.objective, whole.objective, rtol=1e-9)


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


#: So many features that a state of theirs is as long as that of kernel rows.
WIDE = np.random.default_rng(0).normal(size=(M, M - 1))


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 2},
        {"sampling": "uniform"},
        {"projection": True},
        {"average": None},
        {"problem": make_problem(DATA.y, 0.5)},
        {"problem": make_problem(DATA.y[:9], DATA.lam), "rows": linear_rows(DATA.X[:9])},
        {"rows": linear_rows(WIDE)},
    ],
    ids=lambda change: "-".join(change),
)
def test_resumed_run_refuses_other_options(change):
    options = {"problem": make_task(), "rows": make_kernel_rows("cached"), "n_steps": 10}
    state = pegasos(**options).state
    with pytest.raises(ValueError, match="state must come from"):
        pegasos(**options | change, state=state)


def test_resumed_run_refuses_features_for_kernel_rows_of_the_same_length():
    features = run_pegasos(linear_rows(WIDE)).state
    assert features.loop.image.size == M
    for rows in (make_kernel_rows("cached"), linear_rows(WIDE[:, 1:])):
        with pytest.raises(ValueError, match="same kind of rows"):
            run_pegasos(rows, state=features)
