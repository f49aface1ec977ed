"""Tables are read from files of several formats, and written so that they are read back."""

import gzip
import io
import os
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse

from kpegasos.datasets import load_svmlight, read_table, write_table
from kpegasos.datasets.tables import FORMATS

X = np.array([[1.5, -2.0], [0.1, 3e-320], [np.float32(0.1), 0.0]])
Y = {"whole": [3, -1, 2], "real": [0.5, 1e-9, 2.0], "text": ["a", "b c", 'd,"\n']}
TEXT = ["csv", "tsv"]
TABLES = [*TEXT, "parquet", "arrow"]


def needs(format):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


# --- round trips ---


@pytest.mark.parametrize("kind", Y)
@pytest.mark.parametrize("format", FORMATS)
def test_table_is_read_back(tmp_path, format, kind):
    needs(format)
    path = tmp_path / f"table.{format}"
    if kind == "text" and format in ("svmlight", "npy"):
        with pytest.raises(ValueError, match=f"y must hold finite numbers for {format}, got"):
            write_table(path, X, Y[kind])
        assert not path.exists()
        return
    write_table(path, X, Y[kind])
    table = read_table(path, label="last" if format == "npy" else "auto")
    assert table.format == format
    assert_array_equal(dense(table.X), X)
    assert table.X.dtype == np.float64
    assert_array_equal(table.y, Y[kind])
    assert table.y.dtype.kind == {"whole": "i", "real": "f", "text": "U"}[kind]


@pytest.mark.parametrize("format", ["npz", "npy", "parquet", "arrow"])
def test_float32_stays_float32(tmp_path, format):
    needs(format)
    path = tmp_path / f"table.{format}"
    write_table(path, X.astype(np.float32))
    assert read_table(path).X.dtype == np.float32
    assert_array_equal(read_table(path).X, X.astype(np.float32))
    assert read_table(path, dtype=np.float64).X.dtype == np.float64


CELLS = st.floats(allow_infinity=False)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(TABLES),
    arrays(float, (4, 3), elements=CELLS),
    st.lists(NAMES, min_size=3, max_size=3, unique=True),
    st.lists(NAMES.filter(bool), min_size=4, max_size=4),
)
def test_any_table_is_read_back(tmp_path, format, X, names, y):
    assume(not any(name.strip().lower() in ("label", "target", "class", "y") for name in names))
    path = tmp_path / f"table.{format}"
    write_table(path, X, y, feature_names=names)
    table = read_table(path, header=True if format in TEXT else None)
    assert_array_equal(table.X, X)
    assert table.feature_names == tuple(names)
    assert table.label_name == "label"
    expected = np.array(y)
    if table.y.dtype.kind != "U":  # texts that are all numbers are taken for them
        expected = expected.astype(float)
    assert_array_equal(table.y, expected)


def test_sparse_rows_stay_sparse_where_they_can(tmp_path):
    rows = sparse.random(30, 8, 0.2, format="csr", random_state=0)
    for format in FORMATS:
        needs(format)
        path = tmp_path / f"table.{format}"
        write_table(path, rows, np.arange(30))
        table = (
            read_table(path, n_features=8, label="last" if format == "npy" else "auto")
            if format != "svmlight"
            else read_table(path, n_features=8)
        )
        assert sparse.issparse(table.X) == (format in ("svmlight", "npz"))
        assert_array_equal(dense(table.X), rows.toarray())
    assert_array_equal(sparse.load_npz(tmp_path / "table.npz").toarray(), rows.toarray())


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("format", ["svmlight", "csv", "tsv"])
def test_text_is_compressed_by_its_name(tmp_path, format, suffix):
    path = tmp_path / f"table.{format}{suffix}"
    write_table(path, X, [1, 2, 3])
    assert b"\n" not in path.read_bytes()[:4]
    assert_array_equal(dense(read_table(path, n_features=2).X), X)
    assert read_table(path).format == format


# --- where the labels are ---


@pytest.mark.parametrize("format", TABLES)
@pytest.mark.parametrize("name", ["label", "Target", "CLASS", "y"])
def test_column_of_a_likely_name_holds_the_labels(tmp_path, format, name):
    needs(format)
    path = tmp_path / f"table.{format}"
    write_table(path, [[1, 7, 2], [3, 8, 4]], feature_names=["a", name, "b"])
    table = read_table(path)
    assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert_array_equal(table.y, [7, 8])
    assert table.feature_names == ("a", "b")
    assert table.label_name == name


@pytest.mark.parametrize(
    ("label", "column"),
    [("a", 0), ("b", 1), ("c", 2), ("first", 0), ("last", 2), (1, 1), (-1, 2), (None, None)],
)
@pytest.mark.parametrize("format", [*TABLES, "npy"])
def test_label_says_which_column(tmp_path, format, label, column):
    needs(format)
    path = tmp_path / f"table.{format}"
    rows = np.arange(12.0).reshape(4, 3) + 0.5
    write_table(path, rows, feature_names=["a", "b", "c"])
    if format == "npy" and label in ("a", "b", "c"):
        label = column
    table = read_table(path, label=label)
    kept = [each for each in range(3) if each != column]
    assert_array_equal(table.X, rows[:, kept])
    assert table.y is None if column is None else np.array_equal(table.y, rows[:, column])


@pytest.mark.parametrize("format", [*TABLES, "npy"])
def test_without_a_likely_name_there_are_no_labels(tmp_path, format):
    needs(format)
    write_table(tmp_path / f"table.{format}", X)
    table = read_table(tmp_path / f"table.{format}")
    assert table.y is None
    assert table.X.shape == X.shape


def test_name_goes_before_the_position_of_that_name(tmp_path):
    (tmp_path / "t.csv").write_text("last,b\n1,2\n")
    assert_array_equal(read_table(tmp_path / "t.csv", label="last").y, [1])


def test_labels_of_svmlight_and_npz_can_be_left_out(tmp_path):
    for format in ("svmlight", "npz"):
        write_table(tmp_path / f"t.{format}", X, [1, 2, 3])
        assert read_table(tmp_path / f"t.{format}", label=None).y is None


# --- text ---


def read_text(folder, text, **options):
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **options)


@pytest.mark.parametrize(
    ("text", "rows", "names"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]], None),
        ("a,b\n3,4", [[3, 4]], ("a", "b")),
        ("\ufeffa,b\r\n3,4\r\n", [[3, 4]], ("a", "b")),
        ('"a, ""x""","b"\n\n"3",4\n\n', [[3, 4]], ('a, "x"', "b")),
        (",b\n1,2\n", [[1, 2]], ("", "b")),
        ("a\n1\n\n2\n", [[1], [2]], ("a",)),
        ("a,b\n,NA\n?,nan\nNaN, 1\n", [[np.nan] * 2, [np.nan] * 2, [np.nan, 1]], ("a", "b")),
        ("a\n+1\n 2 \n.5\n1e400e\n"[:-7], [[1], [2], [0.5]], ("a",)),
        ("?,1\n2,3\n", [[np.nan, 1], [2, 3]], None),
    ],
)
def test_text_is_read(tmp_path, text, rows, names):
    table = read_text(tmp_path, text)
    assert_array_equal(table.X, rows)
    assert table.feature_names == names


def test_header_is_what_the_caller_says(tmp_path):
    assert read_text(tmp_path, "0,1\n2,3\n", header=True).feature_names == ("0", "1")
    assert_array_equal(read_text(tmp_path, "0,1\n2,3\n", header=False).X, [[0, 1], [2, 3]])


def test_labels_may_be_texts_in_a_table_without_names(tmp_path):
    table = read_text(tmp_path, "5.1,3.5,Iris setosa\n4.9,3,other\n", label="last")
    assert_array_equal(table.X, [[5.1, 3.5], [4.9, 3]])
    assert_array_equal(table.y, ["Iris setosa", "other"])


def test_numbers_are_those_of_python(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    words = [repr(number) for number in numbers[np.isfinite(numbers)].tolist()]
    words += [f"{number:.25g}" for number in numbers[np.isfinite(numbers)].tolist()]
    X = read_text(tmp_path, "\n".join(words)).X
    assert_array_equal(X[:, 0].view(np.uint64), np.array(list(map(float, words))).view(np.uint64))


# --- which format ---


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"1 1:2\n", "svmlight"),
        (b"# notes, and more\n-1\n1 qid:3 7:0.5\n", "svmlight"),
        (b"1,2\n", "csv"),
        (b"a\tb\n1\t2\n", "tsv"),
        (b"a,b:c\n1,2\n", "csv"),
        (b"1\n2\n", "csv"),
    ],
)
@pytest.mark.parametrize("name", ["rows.txt", "rows", "rows.dat.gz"])
def test_format_of_text_is_told_by_its_content(tmp_path, content, format, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert read_table(path).format == format


@pytest.mark.parametrize("format", ["npz", "npy", "parquet", "arrow"])
def test_format_of_a_binary_file_is_told_by_its_content(tmp_path, format):
    needs(format)
    write_table(tmp_path / "rows", X, format=format)
    assert read_table(tmp_path / "rows").format == format


@pytest.mark.parametrize("format", FORMATS)
def test_open_file_is_read_with_its_format(tmp_path, format):
    needs(format)
    write_table(tmp_path / "rows", X, [1, 2, 3], format=format)
    with open(tmp_path / "rows", "rb") as file:
        table = read_table(file, format=format, label="auto" if format != "npy" else -1)
    assert_array_equal(dense(table.X), X)
    assert_array_equal(table.y, [1, 2, 3])
    pipe = io.BytesIO((tmp_path / "rows").read_bytes())
    assert_array_equal(dense(read_table(pipe, format=format).X)[:, :2], X)


@pytest.mark.parametrize(("format", "text"), [("csv", "1,2\n"), ("svmlight", "1 1:2\n")])
def test_mark_of_utf_8_is_passed_over_in_an_open_file(format, text):
    table = read_table(io.BytesIO(text.encode("utf-8-sig")), format=format)
    assert table.X[0, 0] == (1 if format == "csv" else 2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    ("format", "name"),
    [("svmlight", "pipe"), ("csv", "pipe"), ("csv", "pipe.csv"), ("npz", "pipe")],
)
def test_pipe_is_read_to_its_end(tmp_path, format, name):
    X, y = np.random.default_rng(0).normal(size=(5000, 4)), np.arange(5000) % 2
    write_table(tmp_path / "file", X, y, format=format)
    os.mkfifo(tmp_path / name)
    content = (tmp_path / "file").read_bytes()
    threading.Thread(target=(tmp_path / name).write_bytes, args=[content], daemon=True).start()
    table = read_table(tmp_path / name)
    assert table.format == format
    assert_array_equal(table.X.toarray() if format == "svmlight" else table.X, X)
    assert_array_equal(table.y, y)


def test_npy_is_mapped_into_memory(tmp_path):
    write_table(tmp_path / "rows.npy", X, [1, 2, 3])
    for label in (None, "last", "first"):
        base = read_table(tmp_path / "rows.npy", label=label).X
        while isinstance(base.base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)


def test_svmlight_is_read_as_by_its_own_reader(tmp_path):
    write_table(tmp_path / "rows.svm", X, [1, 2, 3])
    expected = load_svmlight(tmp_path / "rows.svm", n_features=5, dtype=np.float32)[0]
    assert_array_equal(
        read_table(tmp_path / "rows.svm", n_features=5, dtype="float32").X.toarray(),
        expected.toarray(),
    )
