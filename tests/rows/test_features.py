"""Linear rows: margins of sparse rows, contiguous draws, rows that are asked for ahead."""

from __future__ import annotations

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split

from kpegasos import LinearPegasosSVC
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


# --- stopping early -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_ends_when_the_score_no_longer_rises(n_classes):
    X, y = make_blobs(2000, centers=n_classes, cluster_std=4.0, random_state=0)
    options = {"epochs": 500, "early_stopping": True, "n_iter_no_change": 3, "random_state": 0}
    scores = LinearPegasosSVC(**options).fit(X, y).validation_scores_
    assert 3 < len(scores) < 500
    assert max(scores[-3:]) <= max(scores[:-3])
    # And no earlier: before the last checkpoint one of the last three was the best.
    assert max(scores[-4:-1]) > max(scores[:-4], default=-1)


def test_early_stopping_trains_on_the_other_examples_alone():
    X, y = make_blobs(2000, centers=2, cluster_std=4.0, random_state=0)
    options = {"validation_fraction": 0.25, "n_iter_no_change": 50, "random_state": 0}
    clf = LinearPegasosSVC(epochs=3, early_stopping=True, **options).fit(X, y)
    assert clf.alpha_.size == y.size
    assert clf.history_["iteration"].tolist() == [1500, 3000, 4500]
    _, aside = train_test_split(np.arange(y.size), test_size=0.25, stratify=y, random_state=0)
    assert not clf.alpha_[aside].any()
    assert not np.isin(clf.support_, aside).any()
    assert clf.validation_scores_[-1] == clf.score(X[aside], y[aside])


def test_early_stopping_is_not_for_warm_starts():
    with pytest.raises(ValueError, match="early_stopping must be False with warm_start=True"):
        LinearPegasosSVC(early_stopping=True, warm_start=True).fit(DENSE, Y)
