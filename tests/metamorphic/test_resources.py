"""What a call takes of memory, threads and kernel values, it gives back or uses again."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from kpegasos import PegasosSVC, PegasosSVCCV, make_problem, make_rows, pegasos

N = 1100  # enough for a warm-up of the cached rows


def duplicates():
    rng = np.random.default_rng(2)
    which = rng.integers(6, size=N)
    X = rng.normal(size=(6, 5))[which]
    return X, (which % 2 == 0) ^ (rng.random(N) < 0.2), 1e-2


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
