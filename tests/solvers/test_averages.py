"""The last iterate and averages of all, with and without projection, by the definition."""

import naive
import numpy as np
import pytest
from conftest import stream
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import (
    DATA,
    M,
    by_the_book,
    each_average,
    each_batch_size,
    each_source,
    every_rows,
    exact_gram,
    make_kernel_rows,
    run_pegasos,
)

from kpegasos import linear_rows, make_problem, pegasos


@pytest.mark.pure_python
@each_source
@each_average
@each_batch_size
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("projection", [False, True])
def test_average_coefficients(source, average, batch_size, weighted, projection):
    expected = by_the_book("poly", batch_size=batch_size, weighted=weighted, projection=projection)
    rows = make_kernel_rows(source, "poly")
    result = run_pegasos(rows, batch_size, weighted, average=average, projection=projection)
    coef = np.array(naive.average(expected.iterates, average), float)
    assert_allclose(result.coef, coef, rtol=1e-9, atol=1e-9 * abs(coef).max())
    assert_allclose(result.margins, exact_gram("poly") @ coef, rtol=1e-9, atol=1e-9)
    weight = DATA.omega if weighted else None
    assert_allclose(
        result.objective,
        naive.primal(coef, exact_gram("poly"), DATA.y, DATA.lam, weight),
        rtol=1e-9,
    )
    assert_array_equal(result.alpha != 0, np.array(expected.counts) != 0)


@pytest.mark.pure_python
@each_average
@pytest.mark.parametrize("n_steps", [1, 2, 3, 4, 7, 8, 9, 16, 31, 63, 64, 100])
def test_average_at_every_length(average, n_steps):
    iterates = by_the_book().iterates[:n_steps]
    coef = np.array(naive.average(iterates, average), float)
    for source in ("precomputed", "uncached_small"):
        result = run_pegasos(make_kernel_rows(source), n_steps=n_steps, average=average)
        assert_allclose(result.coef, coef, rtol=1e-12, atol=1e-12)


@each_average
def test_average_in_history_is_that_of_the_iterates(average):
    """At every checkpoint, of the last iterate and of the average."""
    points = [1, 2, 3, 5, 8, 16, 17, 40, 64, 100]
    history = run_pegasos(
        make_kernel_rows("cached"), n_steps=100, checkpoints=points, average=average
    ).history
    iterates = by_the_book().iterates
    for column, kind in (("objective_last", None), ("objective_average", average)):
        expected = [
            naive.primal(naive.average(iterates[:t], kind), exact_gram("linear"), DATA.y, DATA.lam)
            for t in points
        ]
        assert_allclose(history[column], expected, rtol=1e-12)


@each_source
@each_batch_size
def test_projection_stays_in_the_ball(source, batch_size):
    lam = 2.0**-6
    result = pegasos(
        make_problem(DATA.y, lam),
        make_kernel_rows(source),
        n_steps=5,
        batch_size=batch_size,
        projection=True,
        average=None,
        random_state=0,
    )
    free = pegasos(
        make_problem(DATA.y, lam),
        make_kernel_rows(source),
        n_steps=5,
        batch_size=batch_size,
        average=None,
        random_state=0,
    )
    radius = 1 / np.sqrt(lam)
    assert np.sqrt(result.coef @ exact_gram("linear") @ result.coef) <= radius * (1 + 1e-12)
    assert np.sqrt(free.coef @ exact_gram("linear") @ free.coef) > radius


@pytest.mark.pure_python
@every_rows
@each_average
def test_projection_survives_a_vanishing_scale(source, average):
    """Far features and a small lam shrink the scale below any bound, and nothing is lost."""
    X, lam, n_steps = 64 * DATA.X, 2.0**-14, 120
    y = np.resize([1.0, -1.0], M)  # nothing to be learnt: everything violates
    if source == "dense":
        rows = linear_rows(X)
    elif source == "csr":
        rows = linear_rows(sparse.csr_matrix(X))
    else:
        rows = make_kernel_rows(source, X=X)
    result = pegasos(
        make_problem(y, lam),
        rows,
        n_steps=n_steps,
        projection=True,
        average=average,
        random_state=0,
    )
    expected = naive.pegasos(naive.gram(X, X), y, stream(M, n_steps), lam, projection=True)
    coef = np.array(naive.average(expected.iterates, average), float)
    # The counts, each times its later projections, add up to far less than the draws.
    assert result.alpha.sum() < 1e-3 * sum(expected.counts)
    assert_allclose(result.coef, coef, rtol=1e-8, atol=1e-9 * abs(coef).max())
