"""Rows that are written in LIBSVM's format are read back to the last bit."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from kpegasos.datasets import load_svmlight, make_text_like, write_svmlight

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@settings(max_examples=80)
@given(arrays(float, (5, 3), elements=FINITE), arrays(float, 5, elements=FINITE))
def test_rows_are_read_back_as_they_were(folder, X, y):
    write_svmlight(folder / "rows", X, y)
    X_read, y_read = load_svmlight(folder / "rows", n_features=3, dtype=np.float64)
    assert_array_equal(X_read.toarray(), X)
    assert_array_equal(y_read, y)


@settings(max_examples=40)
@given(arrays(np.float32, (4, 2), elements=st.floats(width=32, allow_nan=False)), st.booleans())
def test_float32_rows_are_the_same_in_either_type(folder, X, as_float64):
    X[~np.isfinite(X)] = 1
    write_svmlight(folder / "rows", X, np.ones(4))
    dtype = np.float64 if as_float64 else np.float32
    assert_array_equal(load_svmlight(folder / "rows", n_features=2, dtype=dtype)[0].toarray(), X)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".XZ"])
def test_sparse_rows_and_compressed_files_are_written(tmp_path, suffix):
    X, y = make_text_like(5_000, 300, 0.02, random_state=0)
    path = tmp_path / f"rows{suffix}"
    write_svmlight(path, X, y)
    X_read, y_read = load_svmlight(path, n_features=300)
    assert_array_equal(X_read.data, X.data)
    assert_array_equal(X_read.indices, X.indices)
    assert_array_equal(X_read.indptr, X.indptr)
    assert_array_equal(y_read, y)
    if suffix != ".XZ":
        assert_array_equal(load_svmlight_file(str(path), n_features=300)[0].indptr, X.indptr)


def test_stored_zeros_and_the_sign_of_zero_stay(tmp_path):
    X = sparse.csr_matrix(([0.0, -0.0, 1.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    write_svmlight(tmp_path / "rows", X, [1, -1])
    read = load_svmlight(tmp_path / "rows", n_features=3)[0]
    assert_array_equal(read.indices, [0, 2, 1])
    assert_array_equal(np.signbit(read.data), [False, True, False])


def test_whole_numbers_are_short(tmp_path):
    write_svmlight(tmp_path / "rows", [[1, 0, -2], [0, 0, 0]], [3, 0.5])
    assert (tmp_path / "rows").read_text() == "3 1:1 3:-2\n0.5\n"


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([[1.0], [np.nan]], [1, 2], "X must hold finite numbers, got NaN or infinity"),
        ([[1.0], [2.0]], [1, np.inf], "y must hold finite numbers, got NaN or infinity"),
        ([[1.0], [2.0]], ["a", "b"], "y must hold real numbers, got ['a', 'b'] instead"),
        ([[1.0], [2.0]], [1], "y must have shape (2,), as X has rows, got (1,) instead"),
        ([1.0, 2.0], [1, 2], "X must have two dimensions, rows and features, got shape (2,)"),
        ([["a"]], [1], "X must hold real numbers, got"),
    ],
)
def test_rows_that_are_none_are_refused_and_the_file_stays(tmp_path, X, y, match):
    path = tmp_path / "rows"
    path.write_text("1 1:1\n")
    with pytest.raises(ValueError, match=re.escape(match)):
        write_svmlight(path, X, y)
    assert path.read_text() == "1 1:1\n"
    assert list(tmp_path.iterdir()) == [path]
