"""Numbers and rows of files in LIBSVM's format are those of Python and of scikit-learn's loader."""

import re
import struct
import tracemalloc
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file

from kpegasos.datasets import _svmlight_reader, iter_svmlight, load_svmlight


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


@settings(max_examples=50)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=60))
def test_float32_is_rounded_from_float64(folder, numbers):
    words = [repr(number) for number in numbers]
    assert_array_equal(bits_read(folder, words, np.float32), bits_of(words, np.float32))


def test_many_random_doubles_are_read_back(folder):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 30_000, dtype=np.uint64).view(np.float64)
    words = [repr(number) for number in numbers[np.isfinite(numbers)].tolist()]
    assert_array_equal(bits_read(folder, words), bits_of(words))


@pytest.mark.parametrize(
    "word",
    [
        *("0", "-0", "-0.0e9", ".5", "5.", "+5", "00000000000000000000000001", "1e-400"),
        *("4.9e-324", "2.4703282292062327e-324", "2.2250738585072011e-308", "1e23"),
        *("2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993"),
        *("9007199254740991e22", "1e22", "1e-22", "8.5e-325", "9223372036854775808e-10"),
        *("18446744073709551615", "18446744073709551616", "123456789012345678901234567890e-30"),
        *(
            "7.2057594037927933e16",
            "9007199254740993." + "0" * 900 + "1",
            "0." + "0" * 500 + "1e501",
        ),
        f"1{'0' * 400}e-400",
    ],
)
def test_number_at_an_edge_is_rounded_as_python_rounds_it(folder, word):
    assert_array_equal(bits_read(folder, [word]), bits_of([word]))


def test_every_power_of_ten_and_of_two_is_read(folder):
    words = [f"1e{power}" for power in range(-345, 309)]
    words += [repr(struct.unpack("d", struct.pack("Q", 1 << bit))[0]) for bit in range(63)]
    assert_array_equal(bits_read(folder, words), bits_of(words))


# --- rows ---

BLANKS = st.sampled_from([" ", "  ", "\t", " \v", "\f "])
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " \n", " # more 1:2\n", "#\n", "\n# nothing\n"])
NUMBERS = st.one_of(REPRS, st.integers(-9, 9).map(str), st.just("1e0"))


@st.composite
def files(draw):
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
        with pytest.raises(ValueError, match="label and values must be finite in float32"):
            load_svmlight(path, dtype=dtype)


@settings(max_examples=200)
@given(files(), st.sampled_from([np.float32, np.float64]), st.sampled_from([16, 50, 2**23]))
def test_rows_are_those_of_scikit_learn(folder, text, dtype, block):
    path = folder / "rows"
    path.write_bytes(text.encode())
    with mock.patch.object(_svmlight_reader, "_BLOCK", block):
        both(path, dtype)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_rows_are_the_same_on_any_number_of_threads(folder, threads, monkeypatch):
    rng = np.random.default_rng(0)
    path = folder / "many"
    lines = [f"{i % 3} " + " ".join(f"{j}:{rng.normal()}" for j in range(1, 9)) for i in range(500)]
    path.write_text("\n".join(lines))
    monkeypatch.setattr(_svmlight_reader, "threads_for", lambda work: threads)
    monkeypatch.setattr(_svmlight_reader, "_BLOCK", 10_000)
    assert_same(
        load_svmlight(path, dtype=np.float64), load_svmlight_file(str(path), zero_based=False)
    )


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("wrong", [1, 250, 499])
def test_line_is_counted_on_any_number_of_threads(folder, threads, wrong, monkeypatch):
    path = folder / "wrong"
    path.write_text("".join(f"1 1:{'x' if line == wrong else 2}\n" for line in range(1, 501)))
    monkeypatch.setattr(_svmlight_reader, "threads_for", lambda work: threads)
    with pytest.raises(ValueError, match=rf"line {wrong}: entries must be column:value.* '1:x'"):
        load_svmlight(path)


# --- what is refused ---

WORDS = st.sampled_from(
    [
        *(
            "1",
            "-1",
            "+1",
            ".5",
            "5.",
            ".",
            "1e5",
            "1e",
            "1e+",
            "e5",
            "0x1p3",
            "1_0",
            "nan",
            "-inf",
        ),
        *(
            "1:1",
            "2:1",
            "+3:.5",
            "3:",
            ":3",
            "3:4:5",
            "-1:1",
            "0:1",
            "--1",
            "1-",
            "+",
            "1e5.",
            "1..2",
        ),
        *("2147483647:1", "2147483648:1", "9223372036854775808:1", "007:1", "++7:1", "1 2", "8:1e"),
        *(
            "qid:1",
            "qid:-1",
            "qid:--1",
            "qid:",
            "qid:x",
            "qid:1.5",
            "qid",
            "qidx:1",
            "#",
            "#x",
            "1#",
            "1:1#",
            "é",
        ),
        *("8:1e400", "9:1E-7", "9:1e-400", "\0", "1\0", "1:\x1c1", "\x85", "infinity", "9:٣"),
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
        with pytest.raises(ValueError, match=r"line 1: .* must ") as error:
            load_svmlight(path, dtype=np.float64)
        assert "a row must be" not in str(error.value), "the reason is another's"


# --- memory ---


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_file_is_read_in_little_more_memory_than_its_rows(folder, monkeypatch):
    monkeypatch.setattr(_svmlight_reader, "_BLOCK", 2**16)
    path = folder / "large"
    line = "1 " + " ".join(f"{column}:0.{column}" for column in range(1, 40)) + "\n"
    path.write_text(20_000 * line)
    rows = load_svmlight(path)[0]
    of_rows = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    assert of_rows < peak_of(lambda: load_svmlight(path)) < 2.2 * of_rows
    chunks = iter_svmlight(path, n_features=39, chunk_size=100)
    assert peak_of(lambda: [None for _ in chunks]) < 0.2 * of_rows
