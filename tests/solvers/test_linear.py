"""Pegasos on feature rows: the primal vector of the definition, in every format of rows."""

import naive
import numpy as np
import pytest
from conftest import stream
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import (
    DATA,
    FORMATS,
    M,
    assert_same_result,
    each_average,
    each_batch_size,
    each_sampling,
    each_source,
    make_any_rows,
    make_kernel_rows,
    run_pegasos,
    steps_for,
)

from kpegasos import FeatureRows, linear_rows, make_problem, pegasos


@pytest.mark.pure_python
@pytest.mark.parametrize("source", ["dense", "csr"])
@each_sampling
@each_batch_size
@pytest.mark.parametrize("B", [0.0, 2.0])
def test_linear_counts_exact(source, sampling, batch_size, B):
    result = run_pegasos(make_any_rows(source, intercept_scaling=B), batch_size, sampling=sampling)
    draws = stream(M, steps_for(batch_size) * batch_size, sampling=sampling)
    expected = naive.linear_pegasos(
        DATA.X, DATA.y, draws, DATA.lam, batch_size=batch_size, intercept_scaling=B
    )
    assert_array_equal(result.alpha, expected.counts)


@pytest.mark.pure_python
@pytest.mark.parametrize("source", ["dense", "csr"])
@each_average
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("B", [0.0, 0.5])
def test_linear_vector(source, average, projection, weighted, B):
    rows = make_any_rows(source, intercept_scaling=B)
    result = run_pegasos(rows, 3, weighted, average=average, projection=projection)
    expected = naive.linear_pegasos(
        DATA.X,
        DATA.y,
        stream(M, 3 * steps_for(3)),
        DATA.lam,
        batch_size=3,
        projection=projection,
        weight=DATA.omega if weighted else None,
        intercept_scaling=B,
    )
    *w, last = np.array(naive.average(expected.iterates, average), float)
    assert_allclose(result.w, w, rtol=1e-9, atol=1e-9)
    assert_allclose(result.intercept, B * last, rtol=1e-9, atol=1e-12)
    assert_allclose(result.margins, DATA.X @ w + B * last, rtol=1e-9, atol=1e-9)
    weight = DATA.omega if weighted else None
    assert_allclose(
        result.objective,
        naive.linear_primal([*w, last], DATA.X, DATA.y, DATA.lam, weight, intercept_scaling=B),
        rtol=1e-9,
    )


@each_source
@each_average
@pytest.mark.parametrize("B", [0.0, 2.0])
@pytest.mark.parametrize("projection", [False, True])
def test_linear_solver_equals_linear_kernel(source, average, B, projection):
    options = {"batch_size": 3, "average": average, "projection": projection}
    dual = run_pegasos(make_kernel_rows(source, intercept_scaling=B), **options)
    primal = run_pegasos(linear_rows(DATA.X, intercept_scaling=B), **options)
    assert_allclose(primal.alpha, dual.alpha, rtol=1e-9 if projection else 0)
    assert_allclose(primal.coef, dual.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(primal.w, DATA.X.T @ dual.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(primal.intercept, dual.intercept, rtol=1e-9, atol=1e-12)
    assert_allclose(primal.objective, dual.objective, rtol=1e-9)
    assert_allclose(primal.gap, dual.gap, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("projection", [False, True])
def test_linear_formats_equal_dense(name, projection):
    options = {"projection": projection, "batch_size": 3, "weighted": True}
    X = FORMATS[name](DATA.X)
    result = run_pegasos(linear_rows(X, intercept_scaling=1.0), **options)
    dense = run_pegasos(linear_rows(DATA.X, intercept_scaling=1.0), **options)
    assert_array_equal(result.alpha, dense.alpha)
    assert_array_equal(result.w, dense.w)
    assert result.intercept == dense.intercept


@pytest.mark.parametrize("source", ["dense", "csr"])
@each_average
@pytest.mark.parametrize("projection", [False, True])
def test_linear_members_equal_subset(source, average, projection):
    members = np.flatnonzero(np.arange(M) % 3 != 1)[::-1].copy()
    X = DATA.X if source == "dense" else sparse.csr_matrix(DATA.X)
    part = make_problem(DATA.y[members], DATA.lam, DATA.weight[members])
    options = {"epochs": 5, "average": average, "projection": projection, "random_state": 0}
    result = pegasos(part, FeatureRows(X, members=members, intercept_scaling=2.0), **options)
    subset = pegasos(part, linear_rows(X[members], intercept_scaling=2.0), **options)
    assert_same_result(result, subset)
    assert_array_equal(result.w, subset.w)


def test_linear_csr_with_duplicates():
    """Entries stored twice add up, also in the norms of the projection."""
    X = sparse.csr_matrix(DATA.X)
    halves = sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    assert not halves.has_canonical_format
    kept = halves.copy()
    assert_same_result(
        run_pegasos(linear_rows(halves), projection=True),
        run_pegasos(linear_rows(X), projection=True),
    )
    assert_array_equal(halves.data, kept.data)


def test_linear_empty_rows_and_columns():
    X = DATA.X.copy()
    X[::4], X[:, 1] = 0, 0
    results = [run_pegasos(linear_rows(Z), projection=True) for Z in (X, sparse.csr_matrix(X))]
    assert_same_result(*results)
    draws = stream(M, steps_for(1))
    assert_allclose(
        results[0].w,
        naive.average(
            naive.linear_pegasos(X, DATA.y, draws, DATA.lam, projection=True).iterates, "weighted"
        )[:-1],
        rtol=1e-9,
    )


def test_linear_squared_norms_are_float64():
    """Whatever the type and the format of the rows, to the last digit but few."""
    X = np.random.default_rng(0).normal(size=(50, 40)).astype(np.float32)
    expected = (X.astype(np.float64) ** 2).sum(axis=1) + 4.0
    for rows in (X, sparse.csr_matrix(X)):
        norms = linear_rows(rows, intercept_scaling=2.0).squared_norms()
        assert_allclose(norms, expected, rtol=1e-14)
