"""The readable steps are those of the definition and of the compiled solver."""

import naive
import numpy as np
import pytest
from conftest import stream
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import LAM, N_STEPS, K, X, Y, compiled
from scipy import sparse
from solver_cases import DATA, KERNELS, M, by_the_book, exact_gram, steps_for

from kpegasos import linear_rows, make_rows
from kpegasos.reference import (
    index_stream,
    kernel_iterates,
    linear_iterates,
    pegasos_kernel,
    pegasos_linear,
)


def backwards(rng, n_samples):
    return np.arange(n_samples)[::-1]


def assert_equal_runs(reference, last, average, y=Y, *, linear, factor):
    """Iterates to rounding, counts exactly; ``factor`` is lam k T."""

    def iterate(result):
        return result.w if linear else result.coef * y

    scale = np.abs(iterate(last)).max()
    assert_allclose(reference.last, iterate(last), rtol=1e-12, atol=1e-12 * scale)
    assert_allclose(reference.average, iterate(average), rtol=1e-10, atol=1e-10 * scale)
    if not last.state.options.projection:
        assert_array_equal(reference.alpha, last.alpha)
    elif not linear:  # the compiled counts are real then
        assert_allclose(factor * reference.last, last.alpha, rtol=1e-10, atol=1e-10)
    assert_array_equal(reference.alpha != 0, last.alpha != 0)
    assert reference.t == last.n_steps


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


# --- equal to the compiled solver ---


@each_pair(
    sampling=["permutation", "uniform", "contiguous", backwards],
    projection=[False, True],
    batch_size=[1, 7],
    linear=[False, True],
)
def test_reference_equals_compiled(sampling, projection, batch_size, linear):
    options = {"batch_size": batch_size, "projection": projection}
    draws = index_stream(Y.size, N_STEPS * batch_size, sampling)
    steps, given = (pegasos_linear, X) if linear else (pegasos_kernel, K)
    rows = linear_rows(X) if linear else make_rows(X, "rbf", gamma=0.5)
    runs = compiled(rows, sampling=sampling, **options)
    factor = LAM * batch_size * N_STEPS
    reference = steps(given, Y, LAM, draws, **options)
    assert_equal_runs(reference, *runs, linear=linear, factor=factor)


def test_constant_feature_is_a_column_or_added_to_the_kernel():
    draws = index_stream(Y.size, N_STEPS)
    _, expected = compiled(linear_rows(X, intercept_scaling=2.0))
    found = pegasos_linear(np.column_stack([X, np.full(Y.size, 2.0)]), Y, LAM, draws)
    assert_allclose(found.average[:-1], expected.w, rtol=1e-10)
    assert_allclose(2.0 * found.average[-1], expected.intercept, rtol=1e-10)
    _, expected = compiled(make_rows(X, "rbf", gamma=0.5, intercept_scaling=2.0))
    found = pegasos_kernel(K + 4.0, Y, LAM, draws)
    assert_allclose(found.average * Y, expected.coef, rtol=1e-10, atol=1e-12)


def test_sparse_rows_equal_dense():
    draws = index_stream(Y.size, 200)
    dense = pegasos_linear(X, Y, LAM, draws, batch_size=2, projection=True)
    for form in (sparse.csr_matrix, sparse.csc_array):
        found = pegasos_linear(form(X), Y, LAM, draws, batch_size=2, projection=True)
        assert_allclose(found.last, dense.last, rtol=1e-12)
        assert_array_equal(found.alpha, dense.alpha)


@pytest.mark.parametrize("n_samples", [5, 3000])
def test_index_stream_is_that_of_a_seed(n_samples):
    assert_array_equal(
        index_stream(n_samples, 7001, "uniform", 3),
        stream(n_samples, 7001, sampling="uniform", random_state=3),
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

#: Of the steps on features or of those on a kernel matrix, and of a stream of indices.
LINEAR, KERNEL = {"X": X, "y": Y, "lam": LAM}, {"K": K, "y": Y, "lam": LAM}
BOTH = [
    ({"y": np.arange(120)}, "y must "),
    ({"lam": 0.0}, "lam must be a positive finite number, got 0.0"),
    ({"draws": [0.5]}, "draws must be a vector of row numbers"),
    ({"draws": []}, "draws must be a vector of row numbers"),
    ({"draws": [0, 120]}, "draws must be rows from 0 to 119 of X or K, got 0 to 120"),
    ({"draws": [-1]}, "draws must be rows from 0"),
    ({"draws": [0, 1, 2], "batch_size": 2}, r"batches of batch_size=2, got shape \(3,\)"),
    ({"batch_size": 0}, "batch_size must be a positive integer"),
    ({"projection": 1}, "projection must be True or False"),
]
OF_FEATURES = [
    ({"X": X[:-1]}, "X must have a row for each of the 120 labels of y, got 119"),
    ({"X": np.full_like(X, np.nan)}, "X must be finite"),
    ({"start": np.zeros(1)}, "start must have a number for each of .* features, got shape"),
    ({"start": np.full(3, 1e6)}, "start must have a norm of 1/sqrt"),
    ({"start": np.full(3, np.nan)}, "start must have a norm of 1/sqrt"),
    ({"start": "zero"}, "start must hold real numbers"),
]
OF_A_KERNEL = [
    ({"K": K[:-1]}, "K must have a row and a column for each of the 120 labels of y"),
    ({"K": np.full_like(K, np.inf)}, "K must hold finite values"),
    ({"K": "K"}, "K must hold real numbers"),
]
OF_A_STREAM = [
    ({"n_samples": 0}, "n_samples must be a positive integer"),
    ({"n_draws": -1}, "n_draws must be"),
    ({"sampling": "sorted"}, "sampling must be one of"),
    ({"random_state": "a"}, "random_state must be"),
]


@pytest.mark.parametrize(
    ("call", "given", "changes", "match"),
    [
        *[(pegasos_linear, LINEAR | {"draws": [0, 1]}, *row) for row in [*BOTH, *OF_FEATURES]],
        *[(pegasos_kernel, KERNEL | {"draws": [0, 1]}, *row) for row in [*BOTH, *OF_A_KERNEL]],
        *[(index_stream, {"n_samples": 5, "n_draws": 9}, *row) for row in OF_A_STREAM],
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_steps_say_what_is_wrong(call, given, changes, match):
    with pytest.raises(ValueError, match=match):
        call(**given | changes)
