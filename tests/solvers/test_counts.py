"""Counts of violations: those of the definition, exactly, whatever serves the rows."""

import naive
import numpy as np
import pytest
from conftest import stream
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import (
    DATA,
    FORMATS,
    KERNELS,
    SOURCES,
    M,
    assert_same_result,
    by_the_book,
    each_batch_size,
    each_kernel,
    each_sampling,
    each_source,
    exact_gram,
    make_kernel_rows,
    run_pegasos,
    steps_for,
)

from kpegasos import KernelMatrix, Linear, make_problem, make_rows, pegasos


@each_kernel
@each_batch_size
def test_data_decides_every_way(kernel, batch_size):
    """The exact tests mean something: violators, others, and margins of exactly 1 all occur."""
    expected = by_the_book(kernel, batch_size=batch_size)
    n_draws = steps_for(batch_size) * batch_size
    assert 0.15 * n_draws < sum(expected.counts) < 0.85 * n_draws
    assert 0 in expected.counts
    assert max(expected.counts) > 2
    draws = stream(M, n_draws)
    margins = [
        DATA.y[i] * naive._dot(w, [int(k) for k in exact_gram(kernel)[i]])
        for t, w in enumerate(expected.iterates[:-1], start=1)
        for i in draws[t * batch_size : (t + 1) * batch_size]
    ]
    assert 1 in margins


@pytest.mark.pure_python
@each_kernel
@each_source
@each_sampling
@each_batch_size
@pytest.mark.parametrize("B", [0.0, 2.0])
def test_counts_exact(kernel, source, sampling, batch_size, B):
    rows = make_kernel_rows(source, kernel, intercept_scaling=B)
    result = run_pegasos(rows, batch_size, sampling=sampling)
    expected = by_the_book(kernel, sampling, batch_size, offset=B**2)
    assert_array_equal(result.alpha, expected.counts)
    assert result.n_steps == steps_for(batch_size)


@pytest.mark.pure_python
@each_kernel
@each_source
@each_batch_size
def test_counts_exact_weighted(kernel, source, batch_size):
    result = run_pegasos(make_kernel_rows(source, kernel), batch_size, weighted=True)
    expected = by_the_book(kernel, batch_size=batch_size, weighted=True)
    assert_array_equal(result.alpha, expected.counts)
    assert expected.counts != by_the_book(kernel, batch_size=batch_size).counts


@each_source
@pytest.mark.parametrize("batch_size", [1, 3])
def test_counts_exact_float32(source, batch_size):
    for kernel in KERNELS:
        rows = make_kernel_rows(source, kernel, DATA.X.astype(np.float32))
        result = run_pegasos(rows, batch_size)
        assert_array_equal(result.alpha, by_the_book(kernel, batch_size=batch_size).counts)


@pytest.mark.parametrize("kernel", sorted(naive.KERNELS))
@pytest.mark.parametrize("batch_size", [1, 3])
def test_counts_exact_precomputed_gram(kernel, batch_size):
    """A Gram matrix of floats is exact input to both sides."""
    parameters = {} if kernel == "linear" else {"gamma": 0.25}
    K = naive.gram(DATA.X, DATA.X, kernel, **parameters)
    lam, n_steps = 2.0**-6, 100
    draws = stream(M, n_steps * batch_size)
    expected = naive.pegasos(K, DATA.y, draws, lam, batch_size=batch_size)
    result = pegasos(
        make_problem(DATA.y, lam),
        make_rows(K, "precomputed"),
        n_steps=n_steps,
        batch_size=batch_size,
        random_state=0,
    )
    assert_array_equal(result.alpha, expected.counts)
    assert_allclose(
        result.coef, np.array(naive.average(expected.iterates, "weighted"), float), rtol=1e-12
    )


@each_source
def test_counts_exact_one_example(source):
    rows = SOURCES[source](KernelMatrix(Linear(), np.array([[2.0]])))
    result = pegasos(make_problem([-1], 0.5), rows, n_steps=9, random_state=0)
    expected = naive.pegasos([[4.0]], [-1], [0] * 9, 0.5)
    assert_array_equal(result.alpha, expected.counts)


@each_source
@pytest.mark.parametrize("label", [-1, 1])
def test_counts_exact_one_class(source, label):
    y = np.full(M, label)
    result = pegasos(
        make_problem(y, DATA.lam),
        make_kernel_rows(source),
        n_steps=80,
        random_state=3,
        checkpoints=None,
    )
    expected = naive.pegasos(exact_gram("linear"), y, stream(M, 80, random_state=3), DATA.lam)
    assert_array_equal(result.alpha, expected.counts)


def test_counts_exact_whole_batches():
    """Batches as large as the data: every step is a subgradient step."""
    result = run_pegasos(make_kernel_rows("evicting"), M, n_steps=12)
    expected = naive.pegasos(
        exact_gram("linear"), DATA.y, stream(M, 12 * M), DATA.lam, batch_size=M
    )
    assert_array_equal(result.alpha, expected.counts)


def test_random_state_object_gives_one_seed_a_call():
    """A RandomState gives one seed to each call."""
    generator = np.random.RandomState(4)
    first, second = (
        run_pegasos(make_kernel_rows("cached"), random_state=generator) for _ in range(2)
    )
    assert_same_result(first, run_pegasos(make_kernel_rows("cached"), random_state=4))
    assert not np.array_equal(first.alpha, second.alpha)


@pytest.mark.pure_python
def test_counts_exact_with_duplicate_draws():
    """An example that a batch holds twice counts twice, by the margin before the step."""
    draws = stream(3, 40, sampling="uniform", random_state=1)
    assert any(len(set(batch)) < 2 for batch in draws.reshape(-1, 2).tolist())
    X, y = np.array([[1.0], [-2.0], [1.0]]), [1, -1, -1]
    expected = naive.pegasos(naive.gram(X, X), y, draws, 0.25, batch_size=2)
    for source in SOURCES:
        result = pegasos(
            make_problem(y, 0.25),
            SOURCES[source](KernelMatrix(Linear(), X)),
            n_steps=20,
            batch_size=2,
            sampling="uniform",
            random_state=1,
        )
        assert_array_equal(result.alpha, expected.counts)


@pytest.mark.parametrize("name", [*FORMATS, "csr_integers"])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_kernel_formats_equal_dense(name, cache):
    formats = FORMATS | {"csr_integers": lambda X: sparse.csr_matrix(X.astype(np.int64))}
    X = formats[name](DATA.X)
    result = run_pegasos(make_rows(X, "poly", degree=2, coef0=1.0, cache=cache))
    assert_array_equal(result.alpha, by_the_book("poly").counts)
