"""One look at all values tells the largest, at all indices whether loops may trust them."""

import numpy as np
import pytest
from scipy import sparse

from kpegasos.utils import tuning
from kpegasos.utils.scan import index_faults, largest_magnitude


@pytest.mark.parametrize("work", [1e3, 1e9])
@pytest.mark.parametrize("size", [10, 1 << 17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_largest_magnitude_is_numpys(dtype, size, work, monkeypatch):
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", work)
    values = np.random.default_rng(0).normal(size=size).astype(dtype)
    assert largest_magnitude(values) == np.abs(values).max()
    values[7] = -100.0
    assert largest_magnitude(values.reshape(2, -1)) == 100.0
    assert largest_magnitude(values[::2]) == np.abs(values[::2]).max()
    values[3] = -np.inf
    assert largest_magnitude(values) == np.inf
    values[5] = np.nan
    assert np.isnan(largest_magnitude(values))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_largest_magnitude_of_nothing_is_zero(shape):
    assert largest_magnitude(np.empty(shape)) == 0.0
    assert largest_magnitude(sparse.csr_matrix(shape)) == 0.0


@pytest.mark.parametrize("work", [1e2, 1e9])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_faults_of_indices_are_found(index_dtype, work, monkeypatch):
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", work)

    def made():
        X = sparse.random(50, 40, density=0.5, format="csr", random_state=0)
        X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(index_dtype)
        return X

    X = made()
    assert index_faults(X) == (False, False)
    begin = X.indptr[30]
    X.indices[begin : begin + 2] = X.indices[begin : begin + 2][::-1].copy()
    assert index_faults(X) == (False, True)
    X = made()
    X.indices[begin + 1] = X.indices[begin]
    assert index_faults(X) == (False, True)
    for index in (-1, 40):
        X = made()
        X.indices[-1] = index
        assert index_faults(X)[0]
