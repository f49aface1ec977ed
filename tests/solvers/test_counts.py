"""Counts of violations, iterates and averages: those of the definition, on rows of every kind."""

from itertools import cycle

import naive
import numpy as np
import pytest
from conftest import stream
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import (
    ALL_SOURCES,
    DATA,
    FORMATS,
    SOURCES,
    M,
    assert_same_result,
    by_the_book,
    each_average,
    each_source,
    exact_gram,
    make_any_rows,
    make_kernel_rows,
    run_pegasos,
    steps_for,
)

from kpegasos import (
    FeatureRows,
    KernelMatrix,
    Linear,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.core.averaging import AVERAGES


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
@each_pair(source=list(SOURCES), batch_size=[1, 3, 16], dtype=[np.float32, np.float64])
def test_counts_of_another_kernel_are_exact(source, batch_size, dtype):
    rows = make_kernel_rows(source, "poly", DATA.X.astype(dtype))
    result = run_pegasos(rows, batch_size)
    assert_array_equal(result.alpha, by_the_book("poly", batch_size=batch_size).counts)


@pytest.mark.pure_python
@each_average
@pytest.mark.parametrize("source", ["cached", "uncached_small"])
def test_average_in_history_is_that_of_the_iterates(average, source):
    """At every length, of the last iterate and of the average."""
    points = range(1, 101)
    options = {"n_steps": 100, "checkpoints": points, "average": average}
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
    expected = naive.pegasos(naive.gram(X, X), y, stream(M, n_steps), lam, projection=True)
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
    expected = naive.pegasos(naive.gram(X, X), y, draws, 0.5, batch_size=batch_size)
    assert_array_equal(result.alpha, expected.counts)


def test_random_state_object_gives_one_seed_a_call():
    generator = np.random.RandomState(4)
    first, second = (
        run_pegasos(make_kernel_rows("cached"), random_state=generator) for _ in range(2)
    )
    assert_same_result(first, run_pegasos(make_kernel_rows("cached"), random_state=4))
    assert not np.array_equal(first.alpha, second.alpha)


# --- formats of features ---


@each_pair(name=list(FORMATS), cache=["precomputed", "cached", "streamed"])
def test_kernel_formats_equal_dense(name, cache):
    rows = make_rows(FORMATS[name](DATA.X), "poly", degree=2, coef0=1.0, cache=cache)
    assert_array_equal(run_pegasos(rows).alpha, by_the_book("poly").counts)


@pytest.mark.parametrize(
    "name",
    [
        # which are compiled for by themselves
        pytest.param(name, marks=[pytest.mark.slow] if name in ("fortran", "strided") else [])
        for name in FORMATS
    ],
)
def test_linear_formats_equal_dense(name):
    result, dense = (
        run_pegasos(linear_rows(X, intercept_scaling=1.0), 3, weighted=True, projection=True)
        for X in (FORMATS[name](DATA.X), DATA.X)
    )
    assert_same_result(result, dense)
    assert_array_equal(result.w, dense.w)


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


def test_linear_empty_rows_and_columns():
    X = DATA.X.copy()
    X[::4], X[:, 1] = 0, 0
    draws = stream(M, steps_for(1))
    iterates = naive.linear_pegasos(X, DATA.y, draws, DATA.lam, projection=True).iterates
    for Z in (X, sparse.csr_matrix(X)):
        result = run_pegasos(linear_rows(Z), projection=True)
        assert_allclose(result.w, naive.average(iterates, "weighted")[:-1], rtol=1e-9)


def test_linear_squared_norms_are_float64():
    """Whatever the type and the format of the rows, to the last digit but few."""
    X = np.random.default_rng(0).normal(size=(50, 40)).astype(np.float32)
    expected = (X.astype(np.float64) ** 2).sum(axis=1) + 4.0
    for rows in (X, sparse.csr_matrix(X)):
        norms = linear_rows(rows, intercept_scaling=2.0).squared_norms()
        assert_allclose(norms, expected, rtol=1e-14)
