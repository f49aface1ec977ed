"""Memory, threads and tiles change what a fit costs, never its counts, even where margins tie."""

from __future__ import annotations

import gc
import weakref
from functools import cache

import numpy as np
import pytest
from models import counts_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from kpegasos import PegasosSVC, PegasosSVCCV, make_problem, make_rows, pegasos

N = 1100  # enough for a warm-up of the cached rows


def small_integers():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(N, 3)).astype(float)
    return X, X @ [1.0, -1.0, 1.0] + rng.integers(-2, 3, size=N) > 0, 2.0**-6


def one_hot():
    rng = np.random.default_rng(1)
    column = rng.integers(16, size=N)
    return np.eye(16)[column], rng.random(N) < column / 16, 2.0**-6


def duplicates():
    rng = np.random.default_rng(2)
    which = rng.integers(6, size=N)
    X = rng.normal(size=(6, 5))[which]
    return X, (which % 2 == 0) ^ (rng.random(N) < 0.2), 1e-2


DATA = {f.__name__: f for f in (small_integers, one_hot, duplicates)}
EXACT = ["small_integers", "one_hot"]
VARIANTS = {
    "precomputed": {"cache": "precomputed"},
    "auto": {"cache": "auto"},
    "cached, all rows": {"cache": "cached"},
    "cached, the support": {"cache": "cached", "cache_mb": 6.0},
    "cached, some rows": {"cache": "cached", "cache_mb": 1.0},
    "streamed": {"cache": "streamed"},
    "streamed, small tiles": {"cache": "streamed", "cache_mb": 2.0},
}


def fit(name, **parameters):
    X, y, lam = DATA[name]()
    options = {"kernel": "linear", "fit_intercept": False, "epochs": 2, "random_state": 0}
    return PegasosSVC(**(options | {"lam": lam} | parameters)).fit(X, y)


@cache
def reference(name, **parameters):
    return fit(name, cache="cached", **parameters)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *((name, {"average": average}) for name in DATA for average in ("weighted", None)),
        *(
            (name, other)
            for name in EXACT
            for other in ({"fit_intercept": True}, {"batch_size": 5})
        ),
    ],
    ids=str,
)
def test_counts_do_not_depend_on_the_cache(name, parameters, variant):
    expected = reference(name, **parameters)
    result = fit(name, **parameters, **VARIANTS[variant])
    assert_array_equal(counts_of(result), counts_of(expected))
    assert_allclose(result.objective_, expected.objective_, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.1, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", VARIANTS)
def test_counts_of_duplicated_rows_do_not_depend_on_the_cache(variant, dtype, gamma):
    X, y, lam = duplicates()
    options = {"lam": lam, "gamma": gamma, "epochs": 2, "random_state": 0}
    expected = PegasosSVC(cache="cached", **options).fit(X.astype(dtype), y)
    result = PegasosSVC(**options, **VARIANTS[variant]).fit(X.astype(dtype), y)
    assert_array_equal(counts_of(result), counts_of(expected))


def test_whatever_computes_has_one_thread_of_blas():
    """Whatever the caller has set, which is there again behind the call."""
    seen = []

    def kernel(A, B):
        blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
        seen.append({each["num_threads"] for each in blas})
        return A @ B.T

    X, y = make_blobs(60, centers=3, n_features=3, random_state=0)
    fit, search = PegasosSVC(kernel=kernel), PegasosSVCCV(Cs=[1.0], kernel=kernel, cv=2)
    with threadpool_limits(limits=3, user_api="blas"):
        for call in (
            lambda: fit.fit(X, y),
            lambda: fit.predict(X),
            lambda: search.fit(X, y),
            lambda: pegasos(make_problem(np.where(y > 0, 1.0, -1.0), 0.01), make_rows(X, kernel)),
        ):
            call()
            assert {1} in seen
            seen.clear()
            kernel(X, X)
            assert seen.pop() == {3}


def test_rows_of_a_run_end_with_it():
    """Rows in a cycle would wait for the collector, those of all pairs together."""
    X, y = make_blobs(60, centers=2, n_features=3, random_state=0)
    rows = make_rows(X, "rbf")
    alive = weakref.ref(rows)
    gc.collect()
    gc.disable()
    try:
        pegasos(make_problem(2.0 * y - 1.0, 0.01), rows, epochs=1, random_state=0)
        del rows
        assert alive() is None
    finally:
        gc.enable()


def test_rows_used_again_within_the_first_epoch_are_not_computed_again():
    X, y, lam = duplicates()
    problem = make_problem(np.where(y, 1, -1), lam)
    rows = make_rows(X, "rbf", gamma=2.0, cache="cached")
    first = pegasos(problem, rows, epochs=3, random_state=0)
    once = rows.evaluations
    again = pegasos(problem, rows, epochs=3, random_state=0)
    assert_array_equal(again.alpha, first.alpha)
    assert rows.evaluations - once <= once
    assert again.history["kernel_evaluations"][-1] == rows.evaluations - once
