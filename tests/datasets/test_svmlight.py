"""Files in LIBSVM's format are read alike, whole and in chunks, plain and compressed."""

import bz2
import gzip
import lzma
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import vstack
from sklearn.datasets import dump_svmlight_file

from kpegasos.datasets import (
    SvmlightChunks,
    _svmlight_reader,
    iter_svmlight,
    load_svmlight,
    make_text_like,
)
from kpegasos.utils import files

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


@pytest.mark.parametrize("suffix", [".GZ", ".Bz2", ".XZ"])
def test_svmlight_suffix_of_a_compression_may_have_capitals(small, svmlight, tmp_path, suffix):
    path = tmp_path / f"capital{suffix}"
    Path(svmlight(suffix.lower())).rename(path)
    assert_array_equal(load_svmlight(path, n_features=300)[1], small[1])
    with pytest.raises(ValueError, match="path must be of a plain file"):
        SvmlightChunks(path, n_features=300)


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
    with pytest.raises(ValueError, match="chunk_mb must be a positive finite number, got 0"):
        SvmlightChunks(svmlight(), n_features=300, chunk_mb=0)
    with pytest.raises(ValueError, match="chunk_size must be a positive integer, got 0"):
        next(iter_svmlight(svmlight(), n_features=300, chunk_size=0))
    with pytest.raises(ValueError, match="n_features"):
        load_svmlight(svmlight(), n_features=10)


# What is wrong with a file


def whole(path):
    load_svmlight(path, n_features=9)


def in_chunks(path):
    for _ in iter_svmlight(path, n_features=9, chunk_size=2):
        pass


def by_number(path):
    for _ in SvmlightChunks(path, n_features=9, chunk_mb=10 / 2**20):
        pass


READERS = pytest.mark.parametrize("read", [whole, in_chunks, by_number])

FAULTS = {
    "word as label": (b"one 1:2", r"the label must be a finite number, got 'one'"),
    "label nan": (b"nan 1:2", r"the label must be a finite number, got 'nan'"),
    "label beyond float64": (b"1e400 1:2", "label and values must be finite in float32"),
    "two labels": (b"1,2 1:2", r"the label must be a finite number, got '1,2'"),
    "no label": (b"1:2 3:4", r"the label must be a finite number, got '1:2'"),
    "NUL": (b"1\x00 1:2", r"the label must be a finite number, got '1\\x00'"),
    "word as value": (b"1 1:x", "entries must be column:value, two numbers, got '1:x'"),
    "infinite value": (b"1 1:-Infinity", "entries must be column:value.* got '1:-Infinity'"),
    "value beyond float32": (b"1 1:1e39", "label and values must be finite in float32"),
    "no value": (b"1 1:2 3:", "entries must be column:value, two numbers, got '3:'"),
    "no colon": (b"1 1:2 3", "entries must be column:value, two numbers, got '3'"),
    "number with underscore": (b"1 1:1_0", "entries must be column:value.* got '1:1_0'"),
    "column with a point": (b"1 1.0:2", "entries must be column:value.* got '1.0:2'"),
    "negative column": (b"1 -3:2", "entries must be column:value, two numbers, got '-3:2'"),
    "column zero": (b"1 0:2", "columns must increase from 1 .* got '0' after 0"),
    "column beyond C": (b"1 9223372036854775808:2", "columns must increase .* 2147483647 at most"),
    "long column": (b"1 " + 5000 * b"9" + b":2", "columns must increase"),
    "column twice": (b"1 3:2 3:2", "columns must increase .* got '3' after 3"),
    "columns not sorted": (b"1 3:2 2:2", "columns must increase .* got '2' after 3"),
    "column too large": (b"1 1:1 12:2", "columns must be at most n_features = 9, got 12"),
    "old ends of lines": (b"1 1:2\r-1 2:3", "entries must be column:value.* got '-1'"),
}


@READERS
@pytest.mark.parametrize("fault", FAULTS)
def test_svmlight_error_names_file_line_and_fault(tmp_path, read, fault):
    row, expected = FAULTS[fault]
    path = tmp_path / "file"
    path.write_bytes(b"# a comment: nan\n1 1:2\r\n\n-1 2:0.5 # more\n" + row + b"\n1 1:1\n")
    with pytest.raises(ValueError, match=r"\S") as error:
        read(path)
    message = str(error.value)
    assert message.startswith(f"{path}, line 5: ")
    assert re.search(expected, message), message
    assert len(message) < 300
    assert "\n" not in message


@READERS
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_svmlight_in_another_encoding_is_refused(tmp_path, read, encoding):
    path = tmp_path / "file"
    path.write_text("1 1:2\n-1 2:3\n", encoding)
    with pytest.raises(ValueError, match="line 1: the label must be a finite number, got '"):
        read(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_svmlight_mark_of_utf_8_is_passed_over(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    with OPENERS.get(suffix, open)(path, "wb") as file:
        file.write("1 1:2\n-1 2:3\n".encode("utf-8-sig"))
    assert_array_equal(load_svmlight(path)[1], [1, -1])
    assert_array_equal(next(iter_svmlight(path, n_features=2))[1], [1, -1])
    if not suffix:
        assert_array_equal(SvmlightChunks(path, n_features=2)[0][1], [1, -1])


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n # here\n"])
def test_svmlight_without_rows_is_read_as_such(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    X, y = load_svmlight(path, n_features=3)
    assert X.shape == (0, 3)
    assert y.shape == (0,)
    assert list(iter_svmlight(path, n_features=3)) == []
    assert sum(y.size for _, y in SvmlightChunks(path, n_features=3)) == 0


def test_svmlight_qid_is_passed_over(tmp_path):
    (tmp_path / "file").write_text("1 qid:7 2:3\n")
    assert_array_equal(load_svmlight(tmp_path / "file")[0].toarray(), [[0, 3]])


@pytest.mark.parametrize("query", ["nan", "1_0", "n", "-n"])
def test_svmlight_qid_that_is_no_number_is_named(tmp_path, query):
    (tmp_path / "file").write_text(f"1 1:1\n1 qid:{query} 1:2\n")
    expected = f"line 2: qid must be a whole number, got '{query}'"
    with pytest.raises(ValueError, match=expected):
        load_svmlight(tmp_path / "file")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize(
    "damage", [lambda b: b[:-9], lambda b: b"1 1:2\n", lambda b: b[:40] + b[41:]]
)
def test_svmlight_damaged_archive_is_named(svmlight, suffix, damage):
    path = svmlight(suffix)
    with open(path, "rb") as file:
        content = damage(file.read())
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(ValueError, match=r"is not a whole (gzip|bzip2|xz) file: ") as error:
        load_svmlight(path)
    assert str(error.value).startswith(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_svmlight_file_that_expands_too_far_is_refused(tmp_path, monkeypatch, suffix, compress):
    monkeypatch.setattr(files, "_HARMLESS", 2**20)
    path = tmp_path / f"bomb{suffix}"
    path.write_bytes(compress(b"\n" * (2**20 + 1)))
    assert path.stat().st_size < 2**12
    with pytest.raises(ValueError, match="must hold at most 1048576 bytes, 200 times its size"):
        load_svmlight(path)


def test_svmlight_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_svmlight_reader, "LONGEST_LINE", 2**16)
    path = tmp_path / "file"
    with open(path, "wb") as file:
        file.write(b"1 1:2\n1 ")
        file.truncate(2**16 + 10)
    for read in (whole, in_chunks):
        with pytest.raises(ValueError, match="line 2: a line must have less than 65536 bytes"):
            read(path)
    with pytest.raises(ValueError, match="a line must have less than 65536 bytes"):
        SvmlightChunks(path, n_features=9, chunk_mb=0.01)[0]


@pytest.mark.parametrize("read", [whole, in_chunks, by_number])
def test_svmlight_that_cannot_be_opened_is_named(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="path must be the path of a file, got None"):
        read(None)


@pytest.mark.parametrize("read", [whole, in_chunks])
def test_svmlight_folder_is_no_file(tmp_path, read):
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        read(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n_features": 2.5}, "n_features must be a positive integer, got 2.5"),
        ({"n_features": 0}, "n_features must be a positive integer, got 0"),
        ({"n_features": 2**31}, "n_features must be at most 2147483647, got 2147483648"),
        ({"n_features": 300, "dtype": int}, "dtype must be numpy.float32 or numpy.float64, got"),
        ({"n_features": 300, "dtype": "nonsense"}, "dtype must be numpy.float32 or"),
    ],
)
def test_svmlight_arguments_are_checked_at_once(svmlight, arguments, match):
    path = svmlight()
    for read in (load_svmlight, SvmlightChunks, lambda *a, **k: next(iter_svmlight(*a, **k))):
        with pytest.raises(ValueError, match=match):
            read(path, **arguments)
    assert len(SvmlightChunks(path, n_features=300, chunk_mb=np.int8(1))) == 1
    for chunk_mb in (np.inf, np.nan, "1", 1j, np.timedelta64(1)):
        with pytest.raises(ValueError, match="chunk_mb must be a positive finite number"):
            SvmlightChunks(path, n_features=300, chunk_mb=chunk_mb)
