"""What a call takes of memory, threads and kernel values, it gives back or uses again."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from kpegasos import PegasosSVC, PegasosSVCCV, make_problem, make_rows, pegasos


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
