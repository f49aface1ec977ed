"""Files in LIBSVM's format: read whole and in chunks, number by number, written, and refused."""

import bz2
import gzip
import lzma
import re
import struct
from collections.abc import Sequence
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from rejections import refusal
from row_cases import peak_mb
from scipy import sparse
from scipy.sparse import vstack
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kpegasos.datasets import (
    SvmlightChunks,
    _svmlight_reader,
    iter_svmlight,
    load_svmlight,
    make_text_like,
    write_svmlight,
)


@pytest.fixture(scope="module")
def small():
    return make_text_like(500, 300, 0.02, random_state=0)


@pytest.fixture
def path(small, tmp_path):
    """A file of these rows."""
    dump_svmlight_file(*small, str(tmp_path / "small"), zero_based=False)
    return tmp_path / "small"


PACKED = {".gz": gzip.compress, ".Bz2": bz2.compress, ".XZ": lzma.compress, "": bytes}


@pytest.mark.parametrize("suffix", PACKED)
def test_svmlight_whole_and_in_chunks(small, path, monkeypatch, suffix):
    monkeypatch.setattr(_svmlight_reader, "_BLOCK", 5000)  # chunks are made of parts of several
    content = path.read_bytes()
    path = path.with_suffix(suffix)
    path.write_bytes(PACKED[suffix](content))
    X, y = load_svmlight(path, n_features=300)
    assert X.dtype == np.float32
    assert_allclose(X.toarray(), small[0].toarray(), rtol=1e-6)
    assert y.dtype == np.int64
    assert_array_equal(y, small[1])
    parts = list(iter_svmlight(path, n_features=300, chunk_size=64))
    assert [part.shape[0] for part, _ in parts] == [64] * 7 + [52]
    assert (vstack([part for part, _ in parts]) != X).nnz == 0
    assert_array_equal(np.hstack([labels for _, labels in parts]), y)
    if suffix:
        sentence = "path must be of a plain file"
        assert sentence in refusal(SvmlightChunks, path, n_features=300)


@pytest.mark.parametrize("n_bytes", [50, 777, 10_000, 10**6])
def test_svmlight_chunks_by_number_are_a_partition(small, path, n_bytes):
    """Chunks may be shorter than a line, and then without a row."""
    chunks = SvmlightChunks(path, n_features=300, chunk_mb=n_bytes / 2**20)
    backwards = [chunks[number] for number in reversed(range(len(chunks)))]
    X = vstack([part for part, _ in backwards[::-1]])
    assert_allclose(X.toarray(), small[0].toarray(), rtol=1e-6)
    assert_array_equal(np.hstack([labels for _, labels in backwards[::-1]]), small[1])
    with pytest.raises(IndexError):
        chunks[len(chunks)]


def test_svmlight_chunks_slice_is_a_sequence_of_the_chosen_chunks(tmp_path):
    path = tmp_path / "even"
    path.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(10)))  # six bytes a line
    chunks = SvmlightChunks(path, n_features=1, chunk_mb=12 / 2**20)
    for chosen in (slice(0, 1), slice(None, None, -1), slice(-2, 99), slice(3, 1), slice(None)):
        part = chunks[chosen]
        assert isinstance(part, Sequence)
        expected = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]][chosen]
        assert len(part) == len(expected)
        assert [X.toarray().ravel().tolist() for X, _ in part] == expected


# What is wrong with a file


def whole(path):
    load_svmlight(path, n_features=9)


def in_chunks(path):
    for _ in iter_svmlight(path, n_features=9, chunk_size=2):
        pass


def by_number(path):
    for _ in SvmlightChunks(path, n_features=9, chunk_mb=10 / 2**20):
        pass


READERS = [whole, in_chunks, by_number]

FAULTS = {
    "word as label": (b"one 1:2", r"the label must be a finite number, got 'one'"),
    "label beyond float64": (b"1e400 1:2", "label and values must be finite in float32"),
    "infinite value": (b"1 1:-Infinity", "entries must be column:value.* got '1:-Infinity'"),
    "value beyond float32": (b"1 1:1e39", "label and values must be finite in float32"),
    "column beyond C": (b"1 9223372036854775808:2", "columns must increase .* 2147483647 at most"),
    "column 0": (b"1 0:2", "columns must increase .* got '0' after 0; .* zero_based=False"),
    "columns not sorted": (b"1 3:2 2:2", "columns must increase .* got '2' after 3"),
    "column too large": (b"1 1:1 12:2", "columns must be at most n_features = 9, got 12"),
    "query nan": (b"1 qid:nan 1:2", "qid must be a whole number, got 'nan'"),
    "old ends of lines": (b"1 1:2\r-1 2:3", "entries must be column:value.* got '-1'"),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_svmlight_error_names_file_line_and_fault(tmp_path, read, fault):
    row, expected = FAULTS[fault]
    path = tmp_path / "file"
    path.write_bytes(b"# a comment: nan\n1 1:2\r\n\n-1 2:0.5 # more\n" + row + b"\n1 1:1\n")
    message = refusal(read, path)
    assert message.startswith(f"{path}, line 5: ")
    assert re.search(expected, message), message


CONTENTS = {b"": [], b"# nothing\n\n # here\n": [], b"\xef\xbb\xbf1 1:2\n-1 2:3\n": [1, -1]}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_svmlight_without_rows_or_with_a_mark_is_read_as_such(tmp_path, content, suffix):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    X, y = load_svmlight(path, n_features=3)
    assert X.shape == (len(y), 3)
    read = [[(X, y)], iter_svmlight(path, n_features=3)]
    read += [] if suffix else [SvmlightChunks(path, n_features=3)]
    for parts in read:
        assert [label for _, labels in parts for label in labels] == CONTENTS[content]


def test_svmlight_that_is_no_such_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_svmlight_reader, "LONGEST_LINE", 2**16)
    path = tmp_path / "file"
    with open(path, "wb") as file:
        file.write(b"1 1:2\n1 ")
        file.truncate(2**16 + 10)
    for read in READERS:
        assert "a line must have less than 65536 bytes" in refusal(read, path)
        with pytest.raises(FileNotFoundError, match="nowhere"):
            read(tmp_path / "nowhere")
    for read in (whole, in_chunks):
        assert f"{path}, line 2: a line must have less" in refusal(read, path)
        with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
            read(tmp_path)


# --- numbers ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers")


REPRS = st.floats(allow_nan=False, allow_infinity=False).map(repr)


EDGES = [
    *("0", "-0", "-0.0e9", ".5", "5.", "+5", "00000000000000000000000001", "1e-400"),
    *("4.9e-324", "2.4703282292062327e-324", "2.2250738585072011e-308", "1e23"),
    *("2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993"),
    *("9007199254740991e22", "1e22", "1e-22", "8.5e-325", "9223372036854775808e-10"),
    *("18446744073709551615", "18446744073709551616", "123456789012345678901234567890e-30"),
    *("7.2057594037927933e16", "9007199254740993." + "0" * 900 + "1", "0." + "0" * 500 + "1e501"),
    f"1{'0' * 400}e-400",
]


def decimals(rng):
    """A number of up to 40 digits, and one between two doubles, exactly."""
    digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 40))))
    point = rng.integers(0, len(digits) + 1)
    yield f"{digits[:point]}.{digits[point:]}e{rng.integers(-400, 250)}"
    between = 2 * Decimal(int(rng.integers(2**52, 2**53))) + 1
    yield f"{between * Decimal(2) ** int(rng.integers(-20, 13)):f}"


def test_numbers_are_rounded_as_python_rounds_them(folder):
    words = [f"1e{power}" for power in range(-345, 309)]
    words += [repr(struct.unpack("d", struct.pack("Q", 1 << bit))[0]) for bit in range(63)]
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 10_000, dtype=np.uint64).view(np.float64)
    words += EDGES + [repr(number) for number in numbers[np.isfinite(numbers)].tolist()]
    for _ in range(1000):
        words += decimals(rng)
    for dtype, largest in ((np.float64, np.inf), (np.float32, 1e38)):
        words = [word for word in words if abs(float(word)) < largest]
        (folder / "numbers").write_text("".join(f"0 1:{word}\n" for word in words))
        read = load_svmlight(folder / "numbers", dtype=dtype)[0].data
        expected = np.array([float(word) for word in words]).astype(dtype)
        bits = f"u{expected.itemsize}"
        assert_array_equal(read.view(bits), expected.view(bits))


# --- rows ---

BLANKS = st.sampled_from([" ", "  ", "\t", " \v", "\f "])
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " \n", " # more 1:2\n", "#\n", "\n# nothing\n"])
NUMBERS = st.one_of(REPRS, st.integers(-9, 9).map(str), st.just("1e0"))


@st.composite
def texts(draw):
    """The text of a file, as careless programs write it."""
    lines = []
    for _ in range(draw(st.integers(0, 12))):
        columns = sorted(draw(st.sets(st.integers(1, 30), max_size=5)))
        words = [draw(NUMBERS)]
        if draw(st.booleans()):
            words.append(f"qid:{draw(st.integers(-5, 5))}")
        words += [f"{draw(st.sampled_from(['', '+', '0']))}{c}:{draw(NUMBERS)}" for c in columns]
        lines.append(draw(BLANKS).join(words) + draw(ENDS))
    text = "".join(lines)
    return text.rstrip("\n") if draw(st.booleans()) else text


def assert_same(ours, theirs):
    (X, y), (X_theirs, y_theirs) = ours, theirs
    assert X.shape == X_theirs.shape
    assert X.dtype == X_theirs.dtype
    bits = f"u{X.dtype.itemsize}"
    assert_array_equal(X.data.view(bits), X_theirs.data.view(bits))
    assert_array_equal(X.indices, X_theirs.indices)
    assert_array_equal(X.indptr, X_theirs.indptr)
    assert_array_equal(y, y_theirs)


@settings(max_examples=100)
@given(texts(), st.sampled_from([np.float32, np.float64]), st.sampled_from([16, 50, 2**23]))
def test_rows_are_those_of_scikit_learn(folder, text, dtype, block):
    path = folder / "rows"
    path.write_bytes(text.encode())
    with np.errstate(over="ignore"):
        theirs = load_svmlight_file(str(path), dtype=dtype, zero_based=False)
    with mock.patch.object(_svmlight_reader, "_BLOCK", block):
        if np.isfinite(theirs[0].data).all():
            assert_same(load_svmlight(path, dtype=dtype), theirs)
        else:
            assert "values must be finite in float32" in refusal(load_svmlight, path, dtype=dtype)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_rows_and_wrong_lines_are_the_same_on_any_number_of_threads(folder, threads, monkeypatch):
    rng = np.random.default_rng(0)
    path = folder / "many"
    lines = [f"{i % 3} " + " ".join(f"{j}:{rng.normal()}" for j in range(1, 9)) for i in range(500)]
    path.write_text("\n".join(lines))
    monkeypatch.setattr(_svmlight_reader, "threads_for", lambda work: threads)
    monkeypatch.setattr(_svmlight_reader, "_BLOCK", 10_000)
    assert_same(
        load_svmlight(path, dtype=np.float64), load_svmlight_file(str(path), zero_based=False)
    )
    for wrong in (1, 250, 499):
        path.write_text("\n".join([*lines[: wrong - 1], "1 1:x", *lines[wrong:]]))
        assert f"line {wrong}: entries must be column:value" in refusal(load_svmlight, path)


# --- what is refused ---

WORDS = st.sampled_from(
    [
        *("1", "-1", "+1", ".5", "5.", ".", "1e5", "1e", "1e+", "e5", "0x1p3", "1_0", "nan"),
        *("-inf", "1:1", "2:1", "+3:.5", "3:", ":3", "3:4:5", "-1:1", "0:1", "--1", "1-", "+"),
        *("1e5.", "1..2", "2147483647:1", "2147483648:1", "9223372036854775808:1", "007:1"),
        *("++7:1", "8:1e", "qid:1", "qid:-1", "qid:--1", "qid:", "qid:x", "qid:1.5", "qid"),
        *("qidx:1", "#", "#x", "1#", "1:1#", "é", "8:1e400", "9:1E-7", "9:1e-400", "infinity"),
        *("9:٣", "1 2", "\0", "1\0", "1:\x1c1", "\x85", "1,2", "1:1_0", "1.0:2", "qid:1_0"),
        "qid:nan",
    ]
)


def is_row(words):
    """Whether a line is a row, by Python's own conversions."""
    label, *entries = words
    if entries and entries[0].startswith("qid:"):
        query = entries.pop(0)
        if not re.fullmatch(r"qid:-?[0-9]+", query):
            return False
    if any(re.search("[nN_]", word) or not word.isascii() for word in [label, *entries]):
        return False
    try:
        pairs = [entry.split(":", 1) for entry in entries]
        columns = [int(column) for column, _ in pairs]
        numbers = [float(label.encode()), *(float(value.encode()) for _, value in pairs)]
    except ValueError:
        return False
    return (
        columns == sorted(set(columns))
        and all(0 < column < 2**31 for column in columns)
        and bool(np.isfinite(numbers).all())
    )


@settings(max_examples=250)
@given(st.lists(WORDS, min_size=1, max_size=4))
def test_row_is_read_if_it_is_one_and_what_is_wrong_is_said_otherwise(folder, words):
    path = folder / "words"
    path.write_bytes(" ".join(words).encode())
    kept = " ".join(words).partition("#")[0].encode().split()
    words = [word.decode() for word in kept]
    if not words or is_row(words):
        assert load_svmlight(path, dtype=np.float64)[1].size == bool(words)
    else:
        message = refusal(load_svmlight, path, dtype=np.float64)
        assert re.search("line 1: .* must ", message)
        assert "a row must be" not in message, "the reason is another's"


# --- memory ---


def test_file_is_read_in_little_more_memory_than_its_rows(folder, monkeypatch):
    monkeypatch.setattr(_svmlight_reader, "_BLOCK", 2**14)
    path = folder / "large"
    line = "1 " + " ".join(f"{column}:0.{column}" for column in range(1, 40)) + "\n"
    path.write_text(5_000 * line)
    rows = load_svmlight(path)[0]
    of_rows = (rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes) / 2**20
    assert of_rows < peak_mb(lambda: load_svmlight(path)) < 2.2 * of_rows
    chunks = iter_svmlight(path, n_features=39, chunk_size=25)
    assert peak_mb(lambda: [None for _ in chunks]) < 0.2 * of_rows


# --- what is written ---

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=40)
@given(arrays(float, (5, 3), elements=FINITE), arrays(float, 5, elements=FINITE))
def test_rows_are_read_back_as_they_were(folder, X, y):
    write_svmlight(folder / "rows", X, y)
    X_read, y_read = load_svmlight(folder / "rows", n_features=3, dtype=np.float64)
    assert_array_equal(X_read.toarray(), X)
    assert_array_equal(y_read, y)
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    X[~np.isfinite(X)] = 1
    write_svmlight(folder / "rows", X, y)
    for dtype in (np.float32, np.float64):
        X_read, _ = load_svmlight(folder / "rows", n_features=3, dtype=dtype)
        assert_array_equal(X_read.toarray(), X)


def test_stored_zeros_and_the_sign_of_zero_stay_and_whole_numbers_are_short(tmp_path):
    X = sparse.csr_matrix(([0.0, -0.0, 3.0], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    write_svmlight(tmp_path / "rows", X, [1, 0.5])
    assert (tmp_path / "rows").read_text() == "1 1:0 3:-0\n0.5 2:3\n"
    read = load_svmlight(tmp_path / "rows", n_features=3)[0]
    assert_array_equal(read.indices, [0, 2, 1])
    assert_array_equal(np.signbit(read.data), [False, True, False])


def test_rows_that_are_none_are_refused_and_the_file_stays(tmp_path):
    path = tmp_path / "rows"
    path.write_text("1 1:1\n")
    for X, y, match in (
        ([[1.0], [2.0]], [1, np.inf], "y must hold finite numbers, got NaN or infinity"),
        ([[1.0], [2.0]], [1], "y must have shape (2,), as X has rows, got (1,) instead"),
        ([1.0, 2.0], [1, 2], "X must have two dimensions, rows and features, got shape (2,)"),
    ):
        assert match in refusal(write_svmlight, path, X, y)
    assert path.read_text() == "1 1:1\n"
    assert list(tmp_path.iterdir()) == [path]
