"""Files in LIBSVM's format: read whole and in chunks, number by number, written, and refused."""

import bz2
import gzip
import lzma
import re
import struct
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
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

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


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
            packed = COMPRESS[suffix.lower()](path.read_bytes())
            path = path.with_suffix(suffix)
            path.write_bytes(packed)
        return path

    return write


@pytest.mark.parametrize("suffix", ["", ".gz", ".Bz2", ".XZ"])
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


@pytest.mark.parametrize(
    "chosen",
    [slice(0, 1), slice(1, 4), slice(None), slice(None, None, -1), slice(-2, 99), slice(3, 1)],
    ids=str,
)
def test_svmlight_chunks_slice_is_a_sequence_of_the_chosen_chunks(tmp_path, chosen):
    path = tmp_path / "even"
    path.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(10)))  # six bytes a line
    chunks = SvmlightChunks(path, n_features=1, chunk_mb=12 / 2**20)
    part = chunks[chosen]
    assert isinstance(part, Sequence)
    expected = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]][chosen]
    assert len(part) == len(expected)
    assert [X.toarray().ravel().tolist() for X, _ in part] == expected
    assert len(chunks) == 5, "the whole stays as it is"


def test_svmlight_chunk_without_a_row_is_empty(tmp_path):
    (tmp_path / "long").write_text("1 " + " ".join(f"{j}:1" for j in range(1, 100)) + "\n")
    chunks = SvmlightChunks(tmp_path / "long", n_features=99, chunk_mb=100 / 2**20)
    assert [X.shape for X, _ in chunks] == [(1, 99)] + [(0, 99)] * (len(chunks) - 1)
    assert len(chunks) > 1


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


@READERS
@pytest.mark.parametrize("fault", FAULTS)
def test_svmlight_error_names_file_line_and_fault(tmp_path, read, fault):
    row, expected = FAULTS[fault]
    path = tmp_path / "file"
    path.write_bytes(b"# a comment: nan\n1 1:2\r\n\n-1 2:0.5 # more\n" + row + b"\n1 1:1\n")
    message = refusal(read, path)
    assert message.startswith(f"{path}, line 5: ")
    assert re.search(expected, message), message


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_svmlight_mark_of_utf_8_is_passed_over(tmp_path, suffix):
    path, content = tmp_path / f"file{suffix}", "1 1:2\n-1 2:3\n".encode("utf-8-sig")
    path.write_bytes(gzip.compress(content) if suffix else content)
    read = [load_svmlight(path), next(iter_svmlight(path, n_features=2))]
    read += [] if suffix else SvmlightChunks(path, n_features=2)
    assert [y.tolist() for _, y in read] == [[1, -1]] * len(read)


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n # here\n"])
def test_svmlight_without_rows_is_read_as_such(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert [part.shape for part in load_svmlight(path, n_features=3)] == [(0, 3), (0,)]
    assert list(iter_svmlight(path, n_features=3)) == []
    assert sum(y.size for _, y in SvmlightChunks(path, n_features=3)) == 0


def test_svmlight_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_svmlight_reader, "LONGEST_LINE", 2**16)
    path = tmp_path / "file"
    with open(path, "wb") as file:
        file.write(b"1 1:2\n1 ")
        file.truncate(2**16 + 10)
    for read in (whole, in_chunks):
        assert "line 2: a line must have less than 65536 bytes" in refusal(read, path)
    chunks = SvmlightChunks(path, n_features=9, chunk_mb=0.01)
    assert "a line must have less than 65536 bytes" in refusal(chunks.__getitem__, 0)


@READERS
def test_svmlight_that_cannot_be_opened_is_named(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="path must be the path of a file, got None"):
        read(None)
    if read is not by_number:
        with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
            read(tmp_path)


def test_svmlight_arguments_are_checked_at_once(svmlight):
    path, packed = svmlight(), svmlight(".gz")

    def first(*arguments, **options):
        next(iter_svmlight(*arguments, **{"n_features": 300} | options))

    for read in (load_svmlight, SvmlightChunks, first):
        sentence = "n_features must be a positive integer, got 0"
        assert sentence in refusal(read, path, n_features=0)
        sentence = "dtype must be numpy.float32 or numpy.float64, got"
        assert sentence in refusal(read, path, n_features=300, dtype=int)
    assert "chunk_size must be a positive integer, got 0" in refusal(first, path, chunk_size=0)
    chunks = partial(SvmlightChunks, n_features=300)
    assert len(chunks(path, chunk_mb=np.int8(1))) == 1
    assert "path must be of a plain file" in refusal(chunks, packed)
    assert "chunk_mb must be a positive finite number" in refusal(chunks, path, chunk_mb=0)


# --- numbers ---


def bits_read(folder, words, dtype=np.float64):
    path = folder / "numbers"
    path.write_text("".join(f"0 1:{word}\n" for word in words))
    X, _ = load_svmlight(path, dtype=dtype)
    return X.data.view(f"u{X.data.itemsize}")


def bits_of(words, dtype=np.float64):
    numbers = np.array([float(word) for word in words]).astype(dtype)
    return numbers.view(f"u{numbers.itemsize}")


def halfway(mantissa, power):
    """The number between two doubles, exactly."""
    return f"{(2 * Decimal(mantissa) + 1) * Decimal(2) ** power:f}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers")


DIGITS = st.text("0123456789", min_size=1, max_size=25)
DECIMALS = st.builds(
    lambda sign, whole, decimals, power: f"{sign}{whole}{decimals}{power}",
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.one_of(st.just(""), st.just("."), DIGITS.map(".{}".format)),
    st.one_of(st.just(""), st.integers(-400, 250).map("e{}".format), st.just("E+07")),
)
HALFWAY = st.builds(halfway, st.integers(2**52, 2**53 - 1), st.integers(-20, 12))
REPRS = st.floats(allow_nan=False, allow_infinity=False).map(repr)


@settings(max_examples=150)
@given(st.lists(st.one_of(DECIMALS, HALFWAY, REPRS), min_size=1, max_size=60))
def test_numbers_are_rounded_as_python_rounds_them(folder, words):
    words = [word for word in words if abs(float(word)) < np.inf]
    assert_array_equal(bits_read(folder, words), bits_of(words))


EDGES = [
    *("0", "-0", "-0.0e9", ".5", "5.", "+5", "00000000000000000000000001", "1e-400"),
    *("4.9e-324", "2.4703282292062327e-324", "2.2250738585072011e-308", "1e23"),
    *("2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993"),
    *("9007199254740991e22", "1e22", "1e-22", "8.5e-325", "9223372036854775808e-10"),
    *("18446744073709551615", "18446744073709551616", "123456789012345678901234567890e-30"),
    *("7.2057594037927933e16", "9007199254740993." + "0" * 900 + "1", "0." + "0" * 500 + "1e501"),
    f"1{'0' * 400}e-400",
]


def test_numbers_at_edges_and_any_others_are_read(folder):
    words = [f"1e{power}" for power in range(-345, 309)]
    words += [repr(struct.unpack("d", struct.pack("Q", 1 << bit))[0]) for bit in range(63)]
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 10_000, dtype=np.uint64).view(np.float64)
    words += EDGES + [repr(number) for number in numbers[np.isfinite(numbers)].tolist()]
    assert_array_equal(bits_read(folder, words), bits_of(words))
    words = [word for word in words if abs(float(word)) < 1e38]
    assert_array_equal(bits_read(folder, words, np.float32), bits_of(words, np.float32))


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


def both(path, dtype):
    with np.errstate(over="ignore"):
        theirs = load_svmlight_file(str(path), dtype=dtype, zero_based=False)
    if np.isfinite(theirs[0].data).all():
        assert_same(load_svmlight(path, dtype=dtype), theirs)
    else:
        assert "values must be finite in float32" in refusal(load_svmlight, path, dtype=dtype)


@settings(max_examples=200)
@given(texts(), st.sampled_from([np.float32, np.float64]), st.sampled_from([16, 50, 2**23]))
def test_rows_are_those_of_scikit_learn(folder, text, dtype, block):
    path = folder / "rows"
    path.write_bytes(text.encode())
    with mock.patch.object(_svmlight_reader, "_BLOCK", block):
        both(path, dtype)


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


@settings(max_examples=400)
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
    monkeypatch.setattr(_svmlight_reader, "_BLOCK", 2**16)
    path = folder / "large"
    line = "1 " + " ".join(f"{column}:0.{column}" for column in range(1, 40)) + "\n"
    path.write_text(20_000 * line)
    rows = load_svmlight(path)[0]
    of_rows = (rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes) / 2**20
    assert of_rows < peak_mb(lambda: load_svmlight(path)) < 2.2 * of_rows
    chunks = iter_svmlight(path, n_features=39, chunk_size=100)
    assert peak_mb(lambda: [None for _ in chunks]) < 0.2 * of_rows


# --- what is written ---

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=80)
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
        ([[1.0], [2.0]], [1], "y must have shape (2,), as X has rows, got (1,) instead"),
        ([1.0, 2.0], [1, 2], "X must have two dimensions, rows and features, got shape (2,)"),
    ],
)
def test_rows_that_are_none_are_refused_and_the_file_stays(tmp_path, X, y, match):
    path = tmp_path / "rows"
    path.write_text("1 1:1\n")
    assert match in refusal(write_svmlight, path, X, y)
    assert path.read_text() == "1 1:1\n"
    assert list(tmp_path.iterdir()) == [path]
