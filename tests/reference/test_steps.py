"""The readable steps are those of the definition."""

import naive
import numpy as np
import pytest
from conftest import stream
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import LAM, K, X, Y
from scipy import sparse
from solver_cases import DATA, KERNELS, M, by_the_book, exact_gram, steps_for

from kpegasos.core.draws import IndexStream
from kpegasos.reference import (
    index_stream,
    kernel_iterates,
    linear_iterates,
    pegasos_kernel,
    pegasos_linear,
)
from kpegasos.utils.validation import draw_seed


def backwards(rng, n_samples):
    return np.arange(n_samples)[::-1]


# --- equal to the definition ---


@each_pair(
    kernel=list(KERNELS),
    sampling=["permutation", "uniform"],
    batch_size=[1, 3, 16],
    projection=[False, True],
)
def test_iterates_are_those_of_the_definition(kernel, sampling, batch_size, projection):
    expected = by_the_book(kernel, sampling, batch_size, projection=projection)
    draws = stream(M, steps_for(batch_size) * batch_size, sampling=sampling)
    options = {"batch_size": batch_size, "projection": projection}
    found = list(kernel_iterates(exact_gram(kernel), DATA.y, DATA.lam, draws, **options))
    assert_array_equal(found[-1].alpha, expected.counts)
    final = pegasos_kernel(exact_gram(kernel), DATA.y, DATA.lam, draws, **options)
    assert_array_equal(final.average, found[-1].average)
    assert [step.t for step in found] == list(range(1, len(expected.iterates) + 1))
    coefs = np.array(expected.iterates, float) * DATA.y
    assert_allclose([step.last for step in found], coefs, rtol=1e-12, atol=1e-12)
    for t in (1, 2, 7, len(found)):
        average = np.array(naive.average(expected.iterates[:t], "weighted"), float) * DATA.y
        assert_allclose(found[t - 1].average, average, rtol=1e-12, atol=1e-12)
    if kernel == "linear":
        primal = list(linear_iterates(DATA.X, DATA.y, DATA.lam, draws, **options))
        assert_array_equal(primal[-1].alpha, expected.counts)
        for name in ("last", "average"):
            vectors = [DATA.X.T @ (getattr(step, name) * DATA.y) for step in found]
            own = [getattr(step, name) for step in primal]
            assert_allclose(own, vectors, rtol=1e-12, atol=1e-12)


def test_sparse_rows_equal_dense():
    draws = index_stream(Y.size, 200)
    dense = pegasos_linear(X, Y, LAM, draws, batch_size=2, projection=True)
    for form in (sparse.csr_matrix, sparse.csc_array):
        found = pegasos_linear(form(X), Y, LAM, draws, batch_size=2, projection=True)
        assert_allclose(found.last, dense.last, rtol=1e-12)
        assert_array_equal(found.alpha, dense.alpha)


@pytest.mark.parametrize("n_samples", [5, 3000])
def test_index_stream_is_that_of_a_seed(n_samples):
    for sampling in ("permutation", "uniform", "contiguous", backwards):
        assert_array_equal(
            index_stream(n_samples, 7001, sampling, 3),
            stream(n_samples, 7001, sampling=sampling, random_state=3),
        )
    assert_array_equal(
        index_stream(n_samples, 99, random_state=3, pair=2),
        IndexStream(n_samples, "permutation", draw_seed(3), (2,)).take(0, 99),
    )
    generator = np.random.RandomState(3)
    assert_array_equal(
        index_stream(n_samples, 99, random_state=generator), stream(n_samples, 99, random_state=3)
    )
    assert not np.array_equal(
        index_stream(n_samples, 99, random_state=generator), stream(n_samples, 99, random_state=3)
    )


# --- a start other than zero ---


def test_start_is_forgotten_but_for_the_first_draw():
    draws = index_stream(M, 5 * M, random_state=3)
    first = X[draws[0]] * Y[draws[0]]
    radius = 1.0 / np.sqrt(LAM)
    towards = 0.5 * radius * first / np.linalg.norm(first)
    violates = first @ towards < 1.0
    zero = list(linear_iterates(X, Y, LAM, draws))
    for start, same in ((towards, violates), (-towards, True)):
        moved = list(linear_iterates(X, Y, LAM, draws, start=start))
        assert_array_equal(moved[0].last, zero[0].last if same else 0.0 * first)
        if same:
            assert_array_equal(moved[-1].alpha, zero[-1].alpha)
            assert_array_equal(moved[-1].average, zero[-1].average)


# --- bad input ---

LINEAR = {"X": X, "y": Y, "lam": LAM, "draws": [0, 1]}
KERNEL = {"K": K, "y": Y, "lam": LAM, "draws": [0, 1]}
STREAM = {"n_samples": 5, "n_draws": 9}
BOTH = {
    "y": [np.arange(120)],
    "lam": [0.0],
    "draws": [[0.5], [], [0, 120], [-1]],
    "batch_size": [0],
    "projection": [1],
}
REFUSED = [
    (pegasos_linear, LINEAR, BOTH | {"X": [X[:-1], np.full_like(X, np.nan)]}),
    (pegasos_linear, LINEAR, {"start": [np.zeros(1), [1e6] * 3, [np.nan] * 3, "zero"]}),
    (pegasos_kernel, KERNEL, BOTH | {"K": [K[:-1], np.full_like(K, np.inf), "K"]}),
    (index_stream, STREAM, {"n_samples": [0], "n_draws": [-1], "sampling": ["sorted"]}),
    (index_stream, STREAM, {"pair": [-1]}),
]


@pytest.mark.parametrize(("call", "usual", "refused"), REFUSED)
def test_steps_name_what_is_wrong(call, usual, refused):
    for name, values in refused.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} must "):
                call(**usual | {name: value})


@pytest.mark.parametrize(("call", "usual"), [(pegasos_linear, LINEAR), (pegasos_kernel, KERNEL)])
def test_draws_must_fill_their_batches(call, usual):
    with pytest.raises(ValueError, match=r"batches of batch_size=2, got shape \(3,\)"):
        call(**usual | {"draws": [0, 1, 2], "batch_size": 2})
