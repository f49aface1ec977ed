"""The readable steps are those of the definition."""

import naive
import numpy as np
import pytest
from conftest import stream
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from solver_cases import DATA, KERNELS, M, by_the_book, exact_gram, noisy, steps_for

from kpegasos import linear_rows, make_problem, pegasos, sdca
from kpegasos.core.draws import IndexStream
from kpegasos.reference import (
    index_stream,
    kernel_iterates,
    linear_history,
    linear_iterates,
    pegasos_kernel,
    pegasos_linear,
)
from kpegasos.utils.validation import draw_seed

X, Y = noisy()
#: An RBF kernel with γ = 0.5.
K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
LAM, N_STEPS = 0.02, 500


def compiled(rows, y=Y, lam=LAM, n_steps=N_STEPS, **options):
    """The compiled run: the last iterate, and the average."""
    options = {"n_steps": n_steps, "random_state": 0, "checkpoints": None} | options
    return [
        pegasos(make_problem(y, lam), rows, average=average, **options)
        for average in (None, "weighted")
    ]


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


# --- histories measure any sequence of iterates as the solver measures its own --------------------


def test_linear_history_is_that_of_the_compiled_run():
    options = {"checkpoints": "epoch", "batch_size": 7, "n_steps": 90}
    last, average = (run.history for run in compiled(linear_rows(X), **options))
    steps = linear_iterates(X, Y, LAM, index_stream(Y.size, 7 * 90), batch_size=7)
    found = linear_history(steps, X, Y, LAM, batch_size=7, checkpoints="epoch")
    for column in ("iteration", "epoch", "support_size"):
        assert_array_equal(found[column], average[column])
    for column in ("objective_last", "objective_average"):
        assert_allclose(found[column], average[column], rtol=1e-12)
    # From the counts alone: that of the last iterates.
    assert_allclose(found["dual_bound"], last["dual_bound"], rtol=1e-9, atol=1e-12)
    assert_array_equal(found["gap"], found["objective_average"] - found["dual_bound"])


def test_history_of_bare_iterates_has_objectives_only():
    steps = [(step.t, step.last) for step in linear_iterates(X, Y, LAM, index_stream(Y.size, 40))]
    assert len(linear_history([], X, Y, LAM)) == 0
    assert_array_equal(linear_history(steps, X, Y, LAM, checkpoints=None)["iteration"], [40])
    history = linear_history(steps, X, Y, LAM, checkpoints=[3, 17])
    assert_array_equal(history["iteration"], [3, 17, 40])
    expected = [
        LAM / 2 * w @ w + np.maximum(0, 1 - Y * (X @ w)).mean()
        for _, w in (steps[2], steps[16], steps[39])
    ]
    assert_allclose(history["objective_last"], expected, rtol=1e-13)
    assert_array_equal(history["objective_average"], history["objective_last"])
    for column in ("dual_bound", "gap", "relative_gap", "rounding"):
        assert np.isnan(history[column]).all()


def test_dual_bound_is_below_the_optimum_whatever_the_iterates():
    """Weak duality asks nothing of where coefficients come from."""
    optimum = sdca(make_problem(Y, LAM), linear_rows(X), tol=1e-8, max_epochs=5000).objective
    rng = np.random.default_rng(0)
    steps = []
    for t in range(1, 200):
        last, average = rng.normal(size=(2, X.shape[1])) * 10.0 ** rng.uniform(-3, 3)
        steps.append((t, last, average, rng.normal(size=Y.size)))
    history = linear_history(steps, X, Y, LAM, checkpoints="log")
    assert (history["dual_bound"] <= optimum).all()
    assert history["dual_bound"][-1] > 0
    assert (np.diff(history["dual_bound"]) >= 0).all()
    assert (history["objective_last"] >= optimum).all()


def test_negative_coefficients_count_as_zero_in_the_dual_bound():
    c, w = np.random.default_rng(0).normal(size=Y.size), np.zeros(X.shape[1])
    bounds = [
        linear_history([(1, w, w, each)], X, Y, LAM)["dual_bound"] for each in (c, np.fmax(c, 0))
    ]
    assert bounds[0] == bounds[1] > 0


def test_error_of_the_iterates_themselves_is_not_disguised():
    def broken():
        yield 1, np.zeros(3)
        raise ValueError("of my own")

    with pytest.raises(ValueError, match="of my own"):
        linear_history(broken(), X, Y, LAM)
