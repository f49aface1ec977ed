"""The solver against the oracle: counts, averages, continued runs, histories, optima."""

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import naive
import numpy as np
import pytest
from conftest import make_integers, stream
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from kpegasos import (
    RBF,
    CachedRows,
    FeatureRows,
    GramRows,
    KernelMatrix,
    Linear,
    Polynomial,
    Sigmoid,
    UncachedRows,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.core.averaging import AVERAGES, combination, suffix_start
from kpegasos.core.state import PegasosOptions
from kpegasos.rows.budget import cached_mb_needed
from kpegasos.solvers.checkpoints import Checkpoints
from kpegasos.solvers.dual_ascent import polish
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

DATA = make_integers()
M = DATA.y.size
#: Kernels that are integers on integers: ours, the oracle's name, the oracle's parameters.
KERNELS = {
    "linear": (Linear(), "linear", {}),
    "poly": (Polynomial(1.0, 2, 1.0), "poly", {"gamma": 1.0, "degree": 2, "coef0": 1.0}),
}


def smallest_cache(blocks, **kwargs):
    mb = cached_mb_needed(blocks)
    return CachedRows(blocks, cache_mb=mb, **kwargs)


#: Every way to come by kernel rows; ``evicting`` holds 16 rows of 37.
SOURCES = {
    "precomputed": lambda blocks, **kw: GramRows.from_values(blocks, **kw),
    "cached": CachedRows,
    "cached_one_by_one": lambda blocks, **kw: CachedRows(blocks, tile_rows=1, **kw),
    "cached_opening": lambda blocks, **kw: CachedRows(blocks, warmup_draws=4, **kw),
    "evicting": smallest_cache,
    "streamed": UncachedRows,
    "streamed_small": lambda blocks, **kw: UncachedRows(blocks, tile_rows=5, **kw),
}
each_source = pytest.mark.parametrize("source", SOURCES)
each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_sampling = pytest.mark.parametrize("sampling", ["permutation", "uniform"])
each_average = pytest.mark.parametrize("average", AVERAGES)
each_batch_size = pytest.mark.parametrize("batch_size", [1, 3, 16])


def kernel_rows(source, kernel="linear", X=DATA.X, **kwargs):
    return SOURCES[source](KernelMatrix(KERNELS[kernel][0], X), **kwargs)


def any_rows(source, **kwargs):
    """Rows of the linear kernel by name of the source, primal ones among them."""
    if source == "dense":
        return linear_rows(DATA.X, **kwargs)
    if source == "csr":
        return linear_rows(sparse.csr_matrix(DATA.X), **kwargs)
    return kernel_rows(source, **kwargs)


every_rows = pytest.mark.parametrize("source", [*SOURCES, "dense", "csr"])


def problem(weighted=False):
    return make_problem(DATA.y, DATA.lam, DATA.weight if weighted else None)


def steps_for(batch_size):
    """More than four epochs, and no whole number of them."""
    return 4 * M // batch_size + 3


@cache
def gram(kernel):
    _, name, parameters = KERNELS[kernel]
    return naive.gram(DATA.X, DATA.X, name, **parameters)


@cache
def by_the_book(kernel="linear", sampling="permutation", batch_size=1, weighted=False, **options):
    draws = stream(M, steps_for(batch_size) * batch_size, sampling=sampling)
    return naive.pegasos(
        gram(kernel),
        DATA.y,
        draws,
        DATA.lam,
        batch_size=batch_size,
        weight=DATA.omega if weighted else None,
        **options,
    )


@cache
def optimum(weighted, offset=0.0):
    weight = DATA.omega if weighted else None
    return naive.optimum(gram("linear"), DATA.y, DATA.lam, weight, offset=offset, gap=1e-10)[0]


def run(rows, batch_size=1, weighted=False, **options):
    options = {"n_steps": steps_for(batch_size), "checkpoints": None, "random_state": 0} | options
    return pegasos(problem(weighted), rows, batch_size=batch_size, **options)


def assert_same_result(a, b):
    assert_array_equal(a.alpha, b.alpha)
    assert_array_equal(a.coef, b.coef)
    assert_array_equal(a.margins, b.margins)
    assert (a.objective, a.intercept, a.n_steps) == (b.objective, b.intercept, b.n_steps)


# --- counts -------------------------------------------------------------------------------------


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
        DATA.y[i] * naive._dot(w, [int(k) for k in gram(kernel)[i]])
        for t, w in enumerate(expected.iterates[:-1], start=1)
        for i in draws[t * batch_size : (t + 1) * batch_size]
    ]
    assert 1 in margins


@each_kernel
@each_source
@each_sampling
@each_batch_size
@pytest.mark.parametrize("B", [0.0, 2.0])
def test_counts_exact(kernel, source, sampling, batch_size, B):
    rows = kernel_rows(source, kernel, intercept_scaling=B)
    result = run(rows, batch_size, sampling=sampling)
    expected = by_the_book(kernel, sampling, batch_size, offset=B**2)
    assert_array_equal(result.alpha, expected.counts)
    assert result.n_steps == steps_for(batch_size)


@each_kernel
@each_source
@each_batch_size
def test_counts_exact_weighted(kernel, source, batch_size):
    result = run(kernel_rows(source, kernel), batch_size, weighted=True)
    expected = by_the_book(kernel, batch_size=batch_size, weighted=True)
    assert_array_equal(result.alpha, expected.counts)
    assert expected.counts != by_the_book(kernel, batch_size=batch_size).counts


@each_source
@pytest.mark.parametrize("batch_size", [1, 3])
def test_counts_exact_float32(source, batch_size):
    for kernel in KERNELS:
        rows = kernel_rows(source, kernel, DATA.X.astype(np.float32))
        result = run(rows, batch_size)
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
        make_problem(y, DATA.lam), kernel_rows(source), n_steps=80, random_state=3, checkpoints=None
    )
    expected = naive.pegasos(gram("linear"), y, stream(M, 80, random_state=3), DATA.lam)
    assert_array_equal(result.alpha, expected.counts)


def test_counts_exact_whole_batches():
    """Batches as large as the data: every step is a subgradient step."""
    result = run(kernel_rows("evicting"), M, n_steps=12)
    expected = naive.pegasos(gram("linear"), DATA.y, stream(M, 12 * M), DATA.lam, batch_size=M)
    assert_array_equal(result.alpha, expected.counts)


def test_counts_random_state_object():
    """A RandomState gives one seed to each call."""
    generator = np.random.RandomState(4)
    first, second = (run(kernel_rows("cached"), random_state=generator) for _ in range(2))
    assert_same_result(first, run(kernel_rows("cached"), random_state=4))
    assert not np.array_equal(first.alpha, second.alpha)


def test_counts_nan_nowhere_with_duplicate_draws():
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


# --- iterates and averages ----------------------------------------------------------------------


@each_source
@each_average
@each_batch_size
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("projection", [False, True])
def test_average_coefficients(source, average, batch_size, weighted, projection):
    expected = by_the_book("poly", batch_size=batch_size, weighted=weighted, projection=projection)
    rows = kernel_rows(source, "poly")
    result = run(rows, batch_size, weighted, average=average, projection=projection)
    coef = np.array(naive.average(expected.iterates, average), float)
    assert_allclose(result.coef, coef, rtol=1e-9, atol=1e-9 * abs(coef).max())
    assert_allclose(result.margins, gram("poly") @ coef, rtol=1e-9, atol=1e-9)
    weight = DATA.omega if weighted else None
    assert_allclose(
        result.objective, naive.primal(coef, gram("poly"), DATA.y, DATA.lam, weight), rtol=1e-9
    )
    assert_array_equal(result.alpha != 0, np.array(expected.counts) != 0)


@each_average
@pytest.mark.parametrize("n_steps", [1, 2, 3, 4, 7, 8, 9, 16, 31, 63, 64, 100])
def test_average_at_every_length(average, n_steps):
    iterates = by_the_book().iterates[:n_steps]
    coef = np.array(naive.average(iterates, average), float)
    for source in ("precomputed", "streamed_small"):
        result = run(kernel_rows(source), n_steps=n_steps, average=average)
        assert_allclose(result.coef, coef, rtol=1e-12, atol=1e-12)


@each_average
def test_average_in_history_is_that_of_the_iterates(average):
    """At every checkpoint, of the last iterate and of the average."""
    points = [1, 2, 3, 5, 8, 16, 17, 40, 64, 100]
    history = run(kernel_rows("cached"), n_steps=100, checkpoints=points, average=average).history
    iterates = by_the_book().iterates
    for column, kind in (("objective_last", None), ("objective_average", average)):
        expected = [
            naive.primal(naive.average(iterates[:t], kind), gram("linear"), DATA.y, DATA.lam)
            for t in points
        ]
        assert_allclose(history[column], expected, rtol=1e-12)


@pytest.mark.parametrize("t", [*range(1, 40), 1023, 1024, 1025, 2**20])
def test_suffix_start_by_the_book(t):
    assert suffix_start(t) == naive.suffix_start(t)


def test_average_unknown():
    with pytest.raises(ValueError, match=r"average must be one of .*'mean'"):
        combination("mean", 1, 1.0, 0.0, 1.0, 1)


@each_source
@each_batch_size
def test_projection_stays_in_the_ball(source, batch_size):
    lam = 2.0**-6
    result = pegasos(
        make_problem(DATA.y, lam),
        kernel_rows(source),
        n_steps=5,
        batch_size=batch_size,
        projection=True,
        average=None,
        random_state=0,
    )
    free = pegasos(
        make_problem(DATA.y, lam),
        kernel_rows(source),
        n_steps=5,
        batch_size=batch_size,
        average=None,
        random_state=0,
    )
    radius = 1 / np.sqrt(lam)
    assert np.sqrt(result.coef @ gram("linear") @ result.coef) <= radius * (1 + 1e-12)
    assert np.sqrt(free.coef @ gram("linear") @ free.coef) > radius


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
        rows = kernel_rows(source, X=X)
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


# --- the linear solver --------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["dense", "csr"])
@each_sampling
@each_batch_size
@pytest.mark.parametrize("B", [0.0, 2.0])
def test_linear_counts_exact(source, sampling, batch_size, B):
    result = run(any_rows(source, intercept_scaling=B), batch_size, sampling=sampling)
    draws = stream(M, steps_for(batch_size) * batch_size, sampling=sampling)
    expected = naive.linear_pegasos(
        DATA.X, DATA.y, draws, DATA.lam, batch_size=batch_size, intercept_scaling=B
    )
    assert_array_equal(result.alpha, expected.counts)


@pytest.mark.parametrize("source", ["dense", "csr"])
@each_average
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("B", [0.0, 0.5])
def test_linear_vector(source, average, projection, weighted, B):
    rows = any_rows(source, intercept_scaling=B)
    result = run(rows, 3, weighted, average=average, projection=projection)
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
    dual = run(kernel_rows(source, intercept_scaling=B), **options)
    primal = run(linear_rows(DATA.X, intercept_scaling=B), **options)
    assert_allclose(primal.alpha, dual.alpha, rtol=1e-9 if projection else 0)
    assert_allclose(primal.coef, dual.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(primal.w, DATA.X.T @ dual.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(primal.intercept, dual.intercept, rtol=1e-9, atol=1e-12)
    assert_allclose(primal.objective, dual.objective, rtol=1e-9)
    assert_allclose(primal.gap, dual.gap, rtol=1e-6, atol=1e-12)


def as_csr64(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMATS = {
    "csr": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csr_int64": as_csr64,
    "csc": sparse.csc_matrix,
    "float32": lambda X: X.astype(np.float32),
    "csr_float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "integers": lambda X: X.astype(np.int64),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("projection", [False, True])
def test_linear_formats_equal_dense(name, projection):
    options = {"projection": projection, "batch_size": 3, "weighted": True}
    X = FORMATS[name](DATA.X)
    result = run(linear_rows(X, intercept_scaling=1.0), **options)
    dense = run(linear_rows(DATA.X, intercept_scaling=1.0), **options)
    assert_array_equal(result.alpha, dense.alpha)
    assert_array_equal(result.w, dense.w)
    assert result.intercept == dense.intercept


@pytest.mark.parametrize("name", [*FORMATS, "csr_integers"])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_kernel_formats_equal_dense(name, cache):
    formats = FORMATS | {"csr_integers": lambda X: sparse.csr_matrix(X.astype(np.int64))}
    X = formats[name](DATA.X)
    result = run(make_rows(X, "poly", degree=2, coef0=1.0, cache=cache))
    assert_array_equal(result.alpha, by_the_book("poly").counts)


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
        run(linear_rows(halves), projection=True), run(linear_rows(X), projection=True)
    )
    assert_array_equal(halves.data, kept.data)


def test_linear_empty_rows_and_columns():
    X = DATA.X.copy()
    X[::4], X[:, 1] = 0, 0
    results = [run(linear_rows(Z), projection=True) for Z in (X, sparse.csr_matrix(X))]
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


# --- going on -----------------------------------------------------------------------------------


@every_rows
@each_average
@pytest.mark.parametrize("projection", [False, True])
def test_resume_equals_one_run(source, average, projection):
    options = {"batch_size": 3, "average": average, "projection": projection, "n_steps": None}
    options |= {"epochs": 20, "checkpoints": "epoch"}
    whole = run(any_rows(source), **options | {"epochs": 40})
    first = run(any_rows(source), **options)
    second = run(any_rows(source), **options, state=first.state)
    if projection and source.startswith("streamed"):
        # Blocks begin elsewhere, and with the projection sums are rounded.
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
    whole = run(any_rows(source), **options, n_steps=150)
    first = run(any_rows(source), **options, n_steps=cut)
    second = run(any_rows(source), **options, n_steps=150 - cut, state=first.state)
    assert_same_result(second, whole)


def test_resume_keeps_certificate_and_history():
    checkpoints = [10, 20, 30, 40, 50, 60]
    whole = run(kernel_rows("cached"), n_steps=60, checkpoints=checkpoints)
    first = run(kernel_rows("cached"), n_steps=30, checkpoints=checkpoints)
    second = run(kernel_rows("cached"), n_steps=30, checkpoints=checkpoints, state=first.state)
    for column in ("iteration", "epoch", "objective_average", "dual_bound", "gap", "support_size"):
        assert_array_equal(
            np.concatenate([first.history[column], second.history[column]]), whole.history[column]
        )
    assert second.dual_bound == whole.dual_bound
    assert first.history["seconds"][-1] <= second.history["seconds"][0]


def test_resume_with_other_rows_of_the_same_kind():
    """A state may go on with another cache, as long as margins are held alike."""
    whole = run(kernel_rows("cached"), n_steps=100)
    first = run(kernel_rows("evicting"), n_steps=40)
    assert_same_result(run(kernel_rows("precomputed"), n_steps=60, state=first.state), whole)


@pytest.mark.parametrize("before", ["precomputed", "evicting", "streamed_small"])
@pytest.mark.parametrize("after", ["precomputed", "cached", "streamed"])
@each_average
@pytest.mark.parametrize("projection", [False, True])
def test_resume_with_rows_of_another_kind(before, after, average, projection):
    """From margins that are held to margins that are not, and back."""
    options = {"batch_size": 3, "average": average, "projection": projection, "weighted": True}

    def rows(source):
        return kernel_rows(source, "poly", intercept_scaling=2.0)

    state = None
    for n_steps, source in ((20, before), (25, after), (5, before)):
        result = run(rows(source), **options, n_steps=n_steps, state=state)
        state = result.state
    whole = run(rows("precomputed"), **options, n_steps=50)
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
    first = run(kernel_rows("cached"), n_steps=10)
    with pytest.raises(ValueError, match="state must come from"):
        run(kernel_rows("cached"), n_steps=10, state=first.state, **change)


def test_resume_refuses_other_problems():
    first = run(kernel_rows("cached"), n_steps=10)
    with pytest.raises(ValueError, match="state must come from"):
        pegasos(make_problem(DATA.y, 0.5), kernel_rows("cached"), state=first.state)
    with pytest.raises(ValueError, match="state must come from"):
        pegasos(
            make_problem(DATA.y[:9], DATA.lam),
            kernel_rows("cached", X=DATA.X[:9]),
            state=first.state,
        )


@pytest.mark.parametrize("average", ["weighted", "suffix", None])
def test_resume_with_other_rows_equals_one_run(average):
    """Margins that the next source maintains, or does not, are made from the counts."""
    options = {"average": average, "n_steps": 100}
    whole = run(kernel_rows("cached"), **options | {"n_steps": 300})
    state = run(kernel_rows("cached"), **options).state
    state = run(kernel_rows("streamed"), **options, state=state).state
    result = run(kernel_rows("precomputed"), **options, state=state)
    assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-9, atol=1e-9)


# --- what must not matter -----------------------------------------------------------------------


@every_rows
@each_average
@pytest.mark.parametrize("first_slice", [1, 5, 50])
def test_slices_do_not_matter(source, average, first_slice, monkeypatch):
    options = {"batch_size": 3, "average": average}
    whole = run(any_rows(source), **options)
    monkeypatch.setattr(tuning, "FIRST_SLICE", first_slice)
    assert_same_result(run(any_rows(source), **options), whole)


@pytest.mark.parametrize("Rows", [CachedRows, UncachedRows])
@pytest.mark.parametrize("tile_rows", [1, 2, 16, 36, 37, 256])
def test_block_rows_do_not_matter(Rows, tile_rows):
    for batch_size in (1, 3):
        rows = Rows(KernelMatrix(KERNELS["poly"][0], DATA.X), tile_rows=tile_rows)
        result = run(rows, batch_size)
        assert_array_equal(result.alpha, by_the_book("poly", batch_size=batch_size).counts)


@pytest.mark.parametrize("n_rows", [20, 21, 25, 30, 40, 60, 80, 1000])
def test_cache_size_does_not_matter(n_rows):
    blocks = KernelMatrix(RBF(0.3), DATA.X)
    whole = run(GramRows.from_values(blocks), 3)
    rows = CachedRows(blocks, cache_mb=n_rows * 8 * M / 2**20)
    result = run(rows, 3)
    assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cache_does_not_matter_on_floats(dtype):
    """Rounding in the products does not tell, as margins of just 1 do not occur."""
    X = np.random.default_rng(1).normal(size=(300, 4)).astype(dtype)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    task, options = make_problem(y, 1e-3), {"epochs": 4, "batch_size": 7, "random_state": 0}
    results = [
        pegasos(task, make_rows(X, "rbf", cache=name, cache_mb=mb), **options)
        for name, mb in (("precomputed", 10), ("cached", 10), ("cached", 0.1), ("streamed", 0.1))
    ]
    for result in results[1:]:
        assert_array_equal(result.alpha, results[0].alpha)
        assert_allclose(result.objective, results[0].objective, rtol=1e-6)


def test_rows_can_be_used_again():
    """Rows that another run has left full give the same model."""
    rows = kernel_rows("evicting", "poly")
    run(rows, random_state=7)
    sdca(problem(), rows, max_epochs=3, random_state=0)
    assert_array_equal(run(rows).alpha, by_the_book("poly").counts)


def test_trace_does_not_matter():
    whole = run(kernel_rows("cached"), checkpoints=None)
    for checkpoints in ("epoch", "log", [1, 2, 50], range(1, 100, 7)):
        assert_same_result(run(kernel_rows("cached"), checkpoints=checkpoints), whole)


def test_inputs_are_left_alone():
    X, y, weight = DATA.X.copy(), DATA.y.copy(), DATA.weight.copy()
    for name in SOURCES:
        for kernel in (Linear(), RBF(1.0)):
            rows = SOURCES[name](KernelMatrix(kernel, X))
            pegasos(make_problem(y, 0.1, weight), rows, epochs=2, projection=True)
    pegasos(make_problem(y, 0.1, weight), linear_rows(X), epochs=2, projection=True)
    assert_array_equal(X, DATA.X)
    assert_array_equal(y, DATA.y)
    assert_array_equal(weight, DATA.weight)


# --- history and stopping -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checkpoints", "expected"),
    [
        ("epoch", [13, 25, 37, 50, 62, 63]),
        ("log", [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63]),
        ([40, 2, 2, 700], [2, 40, 63]),
        (np.array([63, 5]), [5, 63]),
        ([], [63]),
        (None, [63]),
    ],
    ids=str,
)
def test_history_checkpoints(checkpoints, expected):
    history = run(kernel_rows("cached"), 3, n_steps=63, checkpoints=checkpoints).history
    assert_array_equal(history["iteration"], expected)
    assert_allclose(history["epoch"], 3 * np.array(expected) / M)


def expected_checkpoints(checkpoints, first, last, n_samples, batch_size):
    """Each step by itself: is it a checkpoint?"""
    if checkpoints == "epoch":
        chosen = {-(-e * n_samples // batch_size) for e in range(1, last * batch_size + 1)}
    elif checkpoints == "log":
        chosen = {round(10 ** (j / 10)) for j in range(60)}
    else:
        chosen = set(checkpoints or [])
    return [t for t in range(first + 1, last + 1) if t in chosen or t == last]


@given(
    st.none() | st.sampled_from(["epoch", "log"]) | st.lists(st.integers(1, 120), max_size=5),
    st.integers(0, 80),
    st.integers(1, 80),
    st.integers(1, 12),
    st.data(),
)
def test_checkpoints_one_by_one(checkpoints, first, n_steps, n_samples, data):
    """All of them from anywhere on, also when some are jumped over, and as many as announced."""
    batch_size = data.draw(st.integers(1, n_samples))
    arguments = checkpoints, first, first + n_steps, n_samples, batch_size
    expected = expected_checkpoints(*arguments)
    points = Checkpoints(*arguments)
    assert len(points) == len(expected)
    reached, step = [], first
    while step < points.last:
        step = points.after(step)
        reached.append(step)
    assert reached == expected
    assert len(points) == len(expected)
    points = Checkpoints(*arguments)
    for step in sorted(data.draw(st.lists(st.integers(first, first + n_steps - 1), max_size=5))):
        assert points.after(step) == min(t for t in expected if t > step)


@every_rows
@each_average
def test_history_columns_are_consistent(source, average):
    result = run(any_rows(source), 3, checkpoints="log", average=average, sampling="uniform")
    history = result.history
    assert (np.diff(history["dual_bound"]) >= 0).all()
    assert (history["dual_bound"] >= 0).all()
    assert (history["dual_bound"] <= history["objective_last"]).all()
    gap = history["objective_average"] - history["dual_bound"]
    assert_allclose(history["gap"], gap, rtol=1e-12, atol=1e-15)
    assert_allclose(history["relative_gap"], gap / history["objective_average"], atol=1e-15)
    for column in ("iteration", "epoch", "seconds", "kernel_evaluations", "cache_hits"):
        assert (np.diff(history[column]) >= 0).all()
    assert (np.diff(history["support_size"]) >= 0).all()
    assert history["support_size"][-1] == np.count_nonzero(result.alpha)
    if average is None:
        assert_array_equal(history["objective_last"], history["objective_average"])
    last = history.records[-1]
    assert (result.objective, result.dual_bound) == (last.objective_average, last.dual_bound)
    assert (result.gap, result.relative_gap) == (last.gap, last.relative_gap)


def test_history_kernel_evaluations_and_hits():
    n_uses = sum(by_the_book().counts)
    n_support = np.count_nonzero(by_the_book().counts)

    def last(source):
        record = run(any_rows(source)).history.records[-1]
        return record.kernel_evaluations, record.cache_hits

    assert last("precomputed") == (M * M, n_uses)
    assert last("dense") == (0, 0)
    # A row that stays is computed once; each use but its first is a hit.
    assert last("cached_one_by_one") == (n_support * M, n_uses - n_support)
    evaluations, hits = last("cached")
    assert n_support * M <= evaluations <= M * M
    assert hits == n_uses - n_support
    evaluations, hits = last("evicting")
    assert evaluations > M * M
    assert 0 <= hits < n_uses - n_support
    for source in ("streamed", "streamed_small"):
        assert last(source)[0] > 0


def test_history_evaluations_of_a_gram_matrix():
    result = run(make_rows(gram("linear"), "precomputed"))
    assert result.history["kernel_evaluations"][-1] == 0


def test_history_of_an_indefinite_kernel():
    result = run(make_rows(DATA.X, Sigmoid(0.5, -1.0)), checkpoints="epoch")
    for column in ("dual_bound", "gap", "relative_gap"):
        assert np.isnan(result.history[column]).all()
    assert np.isnan([result.dual_bound, result.gap, result.relative_gap]).all()
    assert np.isfinite(result.history["objective_average"]).all()


@every_rows
def test_max_time_leaves_a_model(source):
    result = run(any_rows(source), n_steps=10**7, max_time=1e-9, checkpoints="epoch")
    assert result.status == "max_time"
    assert 1 <= result.n_steps < 10**7
    assert len(result.history) >= 1
    assert result.history["iteration"][-1] == result.n_steps
    again = run(any_rows(source), n_steps=result.n_steps)
    assert_same_result(result, again)


def test_max_time_can_be_resumed():
    first = run(kernel_rows("cached"), n_steps=10**7, max_time=1e-9)
    second = run(kernel_rows("cached"), n_steps=77, state=first.state)
    assert second.status == "completed"
    assert_same_result(second, run(kernel_rows("cached"), n_steps=first.n_steps + 77))


def test_monitor_stops():
    seen = []

    def monitor(running):
        seen.append(running.state.steps)
        return len(seen) == 3

    result = run(kernel_rows("cached"), n_steps=100, checkpoints=[10, 20, 30, 40], monitor=monitor)
    assert seen == [10, 20, 30]
    assert result.n_steps == 30
    assert result.status not in ("completed", "running")
    assert_same_result(result, run(kernel_rows("cached"), n_steps=30))


def test_monitor_sees_the_model():
    models = []
    run(
        kernel_rows("cached"),
        n_steps=60,
        checkpoints=[20, 60],
        monitor=lambda running: models.append(running.result()),
    )
    for model, n_steps in zip(models, (20, 60), strict=True):
        assert_same_result(model, run(kernel_rows("cached"), n_steps=n_steps))


def test_interrupt_leaves_a_model():
    handler = signal.getsignal(signal.SIGINT)

    def monitor(running):
        if not running.finished:
            os.kill(os.getpid(), signal.SIGINT)

    result = run(kernel_rows("cached"), n_steps=10**7, checkpoints=[10, 10**7], monitor=monitor)
    assert result.status == "interrupted"
    assert 10 < result.n_steps < 10**7
    assert signal.getsignal(signal.SIGINT) is handler
    assert_same_result(result, run(kernel_rows("cached"), n_steps=result.n_steps))


@every_rows
@pytest.mark.parametrize("checkpoints", ["epoch", None, [50, 100, 400]])
def test_tol_stops(source, checkpoints):
    tol = 0.3
    result = run(any_rows(source), n_steps=10**5, tol=tol, checkpoints=checkpoints)
    assert result.status == "tolerance"
    assert result.n_steps < 10**5
    assert result.relative_gap <= tol
    assert (result.history["relative_gap"][:-1] > tol).all()


def test_tol_out_of_reach():
    result = run(kernel_rows("cached"), n_steps=100, tol=1e-12)
    assert result.status == "completed"
    assert result.n_steps == 100
    assert result.relative_gap > 1e-12


@pytest.mark.parametrize(
    ("epochs", "batch_size", "expected"),
    [(1, 1, 37), (2, 1, 74), (1, 3, 13), (3, 37, 3), (0.5, 1, 19), (1e-9, 1, 1), (2, 16, 5)],
)
def test_epochs_are_covered_by_whole_batches(epochs, batch_size, expected):
    result = run(kernel_rows("cached"), batch_size, n_steps=None, epochs=epochs)
    assert result.n_steps == expected


def test_n_iter_wins_over_epochs():
    assert run(kernel_rows("cached"), n_steps=5, epochs=7).n_steps == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a positive integer, got 0"),
        ({"batch_size": -3}, "batch_size must be a positive integer, got -3"),
        ({"batch_size": 2.0}, "batch_size must be a positive integer, got 2.0"),
        ({"batch_size": M + 1}, f"batch_size must be at most the number of examples, {M}"),
        ({"average": "mean"}, "average must be one of .* got 'mean'"),
        ({"sampling": "cyclic"}, "sampling must be .* got 'cyclic'"),
        ({"n_steps": 0}, "n_steps must be a positive integer, got 0"),
        ({"n_steps": 1.5}, "n_steps must be a positive integer, got 1.5"),
        ({"n_steps": None, "epochs": 0}, "epochs must be a positive number, got 0"),
        ({"n_steps": None, "epochs": None}, "epochs must be a positive number, got None"),
        ({"n_steps": None, "epochs": float("nan")}, "epochs must be a positive number"),
        ({"n_steps": None, "epochs": float("inf")}, "epochs must be a positive number"),
        ({"checkpoints": "steps"}, "checkpoints must be .* got 'steps'"),
        ({"checkpoints": [0, 4]}, "checkpoints must list iterations from 1 on, got 0"),
    ],
    ids=str,
)
def test_options_are_checked(options, message):
    options = {"n_steps": 5} | options
    with pytest.raises(ValueError, match=message):
        pegasos(problem(), kernel_rows("cached"), **options)


def test_rows_must_fit_the_problem():
    with pytest.raises(ValueError, match=r"rows must belong to the 37 examples .* got 36"):
        run(kernel_rows("cached", X=DATA.X[1:]))


def test_tol_needs_a_certificate():
    with pytest.raises(ValueError, match=r"tol .*needs? a positive semi-definite kernel"):
        run(make_rows(DATA.X, Sigmoid()), tol=0.1)


# --- optima -------------------------------------------------------------------------------------


def noisy(n_samples=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=n_samples) > 0.3, 1, -1)


@every_rows
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("B", [0.0, 2.0])
def test_sdca_reaches_the_optimum(source, weighted, B):
    result = sdca(
        problem(weighted),
        any_rows(source, intercept_scaling=B),
        tol=1e-7,
        max_epochs=300,
        random_state=0,
    )
    weight = DATA.omega if weighted else None
    best = optimum(weighted, B**2)
    assert result.status == "tolerance"
    assert result.relative_gap <= 1e-7
    assert result.dual_bound <= best + 1e-9
    assert best <= result.objective + 1e-9
    assert_allclose(result.objective, best, rtol=2e-7)
    assert (result.alpha >= 0).all()
    assert (result.alpha <= 1).all()
    assert_allclose(
        result.objective,
        naive.primal(result.coef, gram("linear"), DATA.y, DATA.lam, weight, offset=B**2),
        rtol=1e-9,
    )
    assert_allclose(
        result.dual_bound,
        naive.dual(result.alpha, gram("linear"), DATA.y, DATA.lam, weight, offset=B**2),
        rtol=1e-6,
    )
    if result.w is not None:
        assert_allclose(result.w, DATA.X.T @ result.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(
        result.margins, gram("linear") @ result.coef + result.intercept, rtol=1e-9, atol=1e-9
    )
    assert_allclose(result.intercept, B**2 * result.coef.sum(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("lam", [0.01, 0.3, 3.0])
def test_sdca_steps_are_exact(source, lam):
    """Orthogonal points do not touch each other: one epoch of exact steps ends at the optimum."""
    X = np.diag(np.arange(1.0, M + 1) / 9)
    task = make_problem(DATA.y, lam, DATA.weight)
    rows = SOURCES[source](KernelMatrix(Linear(), X))
    result = sdca(task, rows, tol=1e-12, max_epochs=1, random_state=0)
    # dD/dβ_i = ω_i/m (1 - ω_i β_i K_ii / (λm))
    beta = np.minimum(1, lam * M / (DATA.omega * X.diagonal() ** 2))
    assert_allclose(result.alpha, beta, rtol=1e-12)
    assert result.status == "tolerance"


def test_sdca_streamed_beyond_one_block():
    """UncachedRows rows see part of the examples at a time, the dual steps are those of them all."""
    X, y = noisy()
    blocks, task = KernelMatrix(RBF(0.5), X), make_problem(y, 0.02)
    options = {"tol": 1e-5, "max_epochs": 500, "random_state": 0}
    whole = sdca(task, GramRows.from_values(blocks), **options)
    for tile_rows in (16, 64, 120):
        result = sdca(task, UncachedRows(blocks, tile_rows=tile_rows), **options)
        assert result.status == "tolerance"
        assert_allclose(result.objective, whole.objective, rtol=1e-5)


def test_sdca_history_and_limits():
    X, y = noisy()
    task, rows = make_problem(y, 1e-3), make_rows(X, "rbf")
    result = sdca(task, rows, tol=1e-12, max_epochs=7, random_state=0)
    assert result.status == "completed"
    assert_array_equal(result.history["iteration"], y.size * np.arange(1, 8))
    assert (np.diff(result.history["dual_bound"]) >= 0).all()
    assert result.n_steps == 7 * y.size
    result = sdca(task, rows, tol=1e-12, max_epochs=10**6, max_time=1e-9)
    assert result.status == "max_time"
    assert result.n_steps >= 1
    with pytest.raises(ValueError, match="positive semi-definite"):
        sdca(task, make_rows(X, Sigmoid()))


@every_rows
@each_average
@pytest.mark.parametrize("weighted", [False, True])
def test_polish_finishes_a_run(source, average, weighted):
    """Dual ascent goes on from a run to the optimum; counts and state stay those of the run."""
    task, rows = problem(weighted), any_rows(source)
    options = PegasosOptions(batch_size=3, average=average)
    running = make_run(
        task, rows, options, n_steps=30, epochs=None, checkpoints=None, tol=None, seed=0
    )
    running.advance(Stopper())
    before = running.result()
    result = polish(running, tol=1e-8, max_epochs=200)
    best = optimum(weighted)
    assert result.status == "tolerance"
    assert result.dual_bound <= best + 1e-10
    assert_allclose(result.objective, best, rtol=2e-8)
    assert_allclose(
        result.objective,
        naive.primal(
            result.coef, gram("linear"), DATA.y, DATA.lam, DATA.omega if weighted else None
        ),
        rtol=1e-9,
    )
    assert_array_equal(result.alpha, before.alpha)
    assert result.n_steps == 30
    assert (np.diff(result.history["dual_bound"]) >= 0).all()
    # Going on from the state is as if nothing had been polished.
    more = {"batch_size": 3, "average": average, "n_steps": 20, "weighted": weighted}
    whole = make_run(
        task, any_rows(source), options, n_steps=50, epochs=None, checkpoints=None, tol=None, seed=0
    )
    whole.advance(Stopper())
    assert_same_result(run(any_rows(source), **more, state=result.state), whole.result())


def test_polish_leaves_a_good_run_alone():
    running = make_run(
        problem(),
        any_rows("cached"),
        PegasosOptions(),
        n_steps=100,
        epochs=None,
        checkpoints=None,
        tol=None,
        seed=0,
    )
    running.advance(Stopper())
    before = running.result()
    assert_same_result(polish(running, tol=before.relative_gap), before)


@pytest.mark.parametrize("B", [1.0, 0.5, 10.0])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_linear_optimum_is_that_of_linear_svc(B, C):
    """LinearSVC penalises its bias as we do: lam = 1 / (C m), the same constant feature."""
    X, y = noisy()
    lam = 1 / (C * y.size)
    svc = LinearSVC(
        C=C, loss="hinge", intercept_scaling=B, tol=1e-9, max_iter=10**6, random_state=0
    ).fit(X, y)
    w = [*svc.coef_[0], svc.intercept_[0] / B]
    theirs = naive.linear_primal(w, X, y, lam, intercept_scaling=B)
    task, rows = make_problem(y, lam), linear_rows(X, intercept_scaling=B)
    best = sdca(task, rows, tol=1e-7, max_epochs=20_000, random_state=0)
    assert_allclose(best.objective, theirs, rtol=1e-6)
    assert best.dual_bound <= theirs * (1 + 1e-12)
    for average in AVERAGES:
        ours = pegasos(task, rows, epochs=60, average=average, random_state=0)
        assert ours.objective - theirs <= ours.gap + 1e-12
        assert ours.objective >= best.dual_bound - 1e-12
    weighted = pegasos(task, rows, epochs=300, random_state=0)
    assert weighted.objective - theirs < 0.05 * theirs


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_kernel_optimum_is_that_of_svc(kernel, C):
    """SVC has a bias that costs nothing, and we none.

    On a set with -x labelled -y for every x labelled y, and an odd kernel expansion, f and -f(-·)
    have the same objective. So by convexity an optimum with bias is odd, hence has bias 0, and is
    the optimum without.
    """
    X, y = noisy(60)
    X, y = np.concatenate([X, -X]), np.concatenate([y, -y])
    parameters = {"linear": {}, "rbf": {"gamma": 0.5}, "poly": {"gamma": 1.0, "degree": 3}}[kernel]
    K = naive.gram(X, X, kernel, **parameters)
    svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    coef = np.zeros(y.size)
    coef[svc.support_] = svc.dual_coef_[0]
    task = make_problem(y, 1 / (C * y.size))
    theirs = naive.primal(coef, K, y, task.lam)
    rows = make_rows(X, kernel, **parameters)
    best = sdca(task, rows, tol=1e-6, max_epochs=20_000, random_state=0)
    assert best.status == "tolerance"
    assert_allclose(best.objective, theirs, rtol=1e-5)
    for average in AVERAGES:
        ours = pegasos(task, rows, epochs=30, average=average, random_state=0)
        assert ours.objective - theirs <= ours.gap + 1e-9
        assert ours.dual_bound <= theirs + 1e-9


# --- without compilation ------------------------------------------------------------------------


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this is the inner run")
def test_pure_python_passes_the_exact_tests():
    """The loops are plain Python too: some of this file with compilation switched off."""
    here = Path(__file__)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(here)]
    chosen = "(counts_exact and linear) or (sdca_reaches and cached)"
    outcome = subprocess.run(
        [*command, "-k", chosen],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=here.parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert outcome.returncode == 0, outcome.stdout
    assert " passed" in outcome.stdout
