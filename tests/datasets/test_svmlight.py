"""Files in LIBSVM's format are read alike, whole and in chunks, plain and compressed."""

import bz2
import gzip
import lzma
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import vstack
from sklearn.datasets import dump_svmlight_file

from kpegasos.datasets import SvmlightChunks, iter_svmlight, load_svmlight, make_text_like

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@pytest.fixture(scope="module")
def small():
    X, y = make_text_like(500, 300, 0.02, random_state=0)
    return X, y


@pytest.fixture
def svmlight(small, tmp_path):
    """The path of a file, plain or compressed."""

    def write(suffix=""):
        path = tmp_path / "small"
        dump_svmlight_file(*small, str(path), zero_based=False)
        if suffix:
            with OPENERS[suffix](f"{path}{suffix}", "wb") as packed:
                packed.write(path.read_bytes())
        return f"{path}{suffix}"

    return write


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_svmlight_whole_and_in_chunks(small, svmlight, suffix):
    path = svmlight(suffix)
    X, y = load_svmlight(path, n_features=300)
    assert X.dtype == np.float32
    assert_allclose(X.toarray(), small[0].toarray(), rtol=1e-6)
    assert y.dtype == np.int64
    assert_array_equal(y, small[1])
    parts = list(iter_svmlight(path, n_features=300, chunk_size=64))
    assert [part.shape[0] for part, _ in parts] == [64] * 7 + [52]
    assert (vstack([part for part, _ in parts]) != X).nnz == 0
    assert_array_equal(np.hstack([labels for _, labels in parts]), y)


@pytest.mark.parametrize("n_bytes", [50, 777, 10_000, 10**6])
def test_svmlight_chunks_by_number_are_a_partition(small, svmlight, n_bytes):
    chunks = SvmlightChunks(svmlight(), n_features=300, chunk_mb=n_bytes / 2**20)
    backwards = [chunks[number] for number in reversed(range(len(chunks)))]
    X = vstack([part for part, _ in backwards[::-1]])
    assert_allclose(X.toarray(), small[0].toarray(), rtol=1e-6)
    assert_array_equal(np.hstack([labels for _, labels in backwards[::-1]]), small[1])
    with pytest.raises(IndexError):
        chunks[len(chunks)]


def two_rows_a_chunk(folder):
    """Rows 0 to 9 in five chunks."""
    path = folder / "even"
    path.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(10)))  # six bytes a line
    return SvmlightChunks(path, n_features=1, chunk_mb=12 / 2**20)


def features_of(chunks):
    return np.vstack([X.toarray() for X, _ in chunks])[:, 0].tolist()


@pytest.mark.parametrize(
    "chosen",
    [slice(0, 1), slice(1, 4), slice(None), slice(None, None, -1), slice(-2, 99), slice(3, 1)],
    ids=str,
)
def test_svmlight_chunks_slice_is_a_sequence_of_the_chosen_chunks(tmp_path, chosen):
    chunks = two_rows_a_chunk(tmp_path)
    part = chunks[chosen]
    assert isinstance(part, Sequence)
    expected = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]][chosen]
    assert len(part) == len(expected)
    assert [features_of([chunk]) for chunk in part] == expected
    assert len(chunks) == 5, "the whole stays as it is"


def test_svmlight_chunk_starts_with_a_whole_line(tmp_path):
    assert features_of(two_rows_a_chunk(tmp_path)) == list(range(10))


def test_svmlight_chunk_without_a_row_is_empty(tmp_path):
    (tmp_path / "long").write_text("1 " + " ".join(f"{j}:1" for j in range(1, 100)) + "\n")
    chunks = SvmlightChunks(tmp_path / "long", n_features=99, chunk_mb=100 / 2**20)
    assert [X.shape for X, _ in chunks] == [(1, 99)] + [(0, 99)] * (len(chunks) - 1)
    assert len(chunks) > 1


def test_svmlight_labels_that_are_not_whole_stay(tmp_path):
    (tmp_path / "file").write_text("0.5 1:1\n-1 2:1\n")
    assert_array_equal(load_svmlight(tmp_path / "file")[1], [0.5, -1])


def test_svmlight_refuses_what_does_not_fit(svmlight, tmp_path):
    with pytest.raises(ValueError, match="path must be of a plain file"):
        SvmlightChunks(svmlight(".gz"), n_features=300)
    with pytest.raises(ValueError, match="chunk_mb must be positive, got 0"):
        SvmlightChunks(svmlight(), n_features=300, chunk_mb=0)
    with pytest.raises(ValueError, match="chunk_size must be at least 1, got 0"):
        next(iter_svmlight(svmlight(), n_features=300, chunk_size=0))
    with pytest.raises(ValueError, match="n_features"):
        load_svmlight(svmlight(), n_features=10)
