"""Linear rows: margins of sparse rows, contiguous draws, rows that are asked for ahead."""

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_array_equal
from scipy import sparse

from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.rows.features import FeatureRows
from kpegasos.utils import threads as threads_module
from kpegasos.utils import tuning

RNG = np.random.default_rng(0)
N = 700
DENSE = np.where(RNG.random((N, 30)) < 0.3, RNG.integers(-3, 4, (N, 30)), 0)
Y = np.where(DENSE[:, :3].sum(axis=1) + RNG.integers(-1, 2, N) > 0, 1, -1)


def as_rows(dtype, index_dtype):
    X = sparse.csr_matrix(DENSE.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(index_dtype)
    return X


@pytest.mark.pure_python
@each_pair(
    dtype=[np.float32, np.float64],
    index_dtype=[np.int32, np.int64],
    threads=[1, 3],
    some=[False, True],
)
def test_sparse_margins_of_any_rows(dtype, index_dtype, threads, some, monkeypatch):
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    monkeypatch.setattr(threads_module, "available_threads", lambda: threads)
    members = RNG.permutation(N)[:123] if some else np.arange(N)
    kept = members if some else None
    rows = FeatureRows(as_rows(dtype, index_dtype), members=kept, intercept_scaling=2.0)
    vectors = RNG.integers(-5, 6, (31, 2)).astype(float)
    expected = DENSE[members] @ vectors[:-1] + 2.0 * vectors[-1]
    assert_array_equal(rows.margins(vectors), expected)


def test_norms_that_fail_leave_a_state_that_is_gone_on_from(monkeypatch):
    problem, rows = make_problem(Y[:60].astype(float), lam=0.1), linear_rows(DENSE[:60])
    options = {"epochs": 1, "projection": True}
    first = pegasos(problem, rows, random_state=0, **options)

    def fail(rows):
        raise MemoryError

    monkeypatch.setattr(FeatureRows, "squared_norms", fail)
    with pytest.raises(MemoryError):
        pegasos(problem, linear_rows(DENSE[:60]), state=first.state, **options)
    monkeypatch.undo()
    assert pegasos(problem, rows, state=first.state, **options).n_steps == 120
