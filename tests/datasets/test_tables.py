"""Tables are read from files of several formats and written; what is wrong is one sentence."""

import codecs
import gzip
import io
import os
import sys
import threading

import numpy as np
import pytest
from covering import each_value
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from rejections import refusal
from scipy import sparse

from kpegasos.datasets import read_table, write_table
from kpegasos.datasets.tables import FORMATS
from kpegasos.utils import files

X = np.array([[1.5, -2.0], [0.1, 3e-320], [np.float32(0.1), 0.0]])
Y = {"whole": [3, -1, 2], "real": [0.5, 1e-9, 2.0], "text": ["a", "b c", 'd,"\n']}
TEXT = ["csv", "tsv"]
TABLES = [*TEXT, "parquet", "arrow"]


# --- round trips ---


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def place(folder, format):
    """The name of a file, if its format can be read here."""
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    return folder / f"table.{format}"


@pytest.mark.parametrize("kind", Y)
@pytest.mark.parametrize("format", FORMATS)
def test_table_is_read_back(tmp_path, format, kind):
    path = place(tmp_path, format)
    if kind == "text" and format in ("svmlight", "npy"):
        assert "y must hold finite numbers for " in refusal(write_table, path, X, Y[kind])
        assert not path.exists()
        return
    write_table(path, X, Y[kind])
    label = "last" if format == "npy" else "auto"
    table = read_table(path, label=label)
    assert_array_equal(dense(table.X), X)
    assert table.X.dtype == np.float64
    assert_array_equal(table.y, Y[kind])
    assert table.y.dtype.kind == {"whole": "i", "real": "f", "text": "U"}[kind]
    unnamed = path.rename(tmp_path / "rows")
    with pytest.raises(FileNotFoundError) as error:
        read_table(path)
    assert str(error.value.filename) == str(path)
    assert table.format == read_table(unnamed).format == format, "told by its content"
    with open(unnamed, "rb") as file:
        table = read_table(file, format=format, label=label)
    assert_array_equal(dense(table.X), X)
    assert_array_equal(table.y, Y[kind])
    if format in (*TEXT, "svmlight"):
        marked = io.BytesIO(codecs.BOM_UTF8 + unnamed.read_bytes())
        assert_array_equal(dense(read_table(marked, format=format).X), X)
    else:
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
    assume(not {"?", "NA", "nan"} & {*y})  # which are missing, where the others are numbers
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


@pytest.mark.parametrize("format", FORMATS)
def test_sparse_rows_stay_sparse_where_they_can(tmp_path, format):
    rows = sparse.random(30, 8, 0.2, format="csr", random_state=0)
    path = place(tmp_path, format)
    write_table(path, rows, np.arange(30))
    table = read_table(path, n_features=8, label="last" if format == "npy" else "auto")
    assert sparse.issparse(table.X) == (format in ("svmlight", "npz"))
    assert_array_equal(dense(table.X), rows.toarray())
    if format in ("svmlight", "npz"):  # labels are no column there, and can be left out
        assert read_table(path, label=None).y is None
        assert "label must be 'auto'" in refusal(read_table, path, label="last")
    if format == "npz":
        assert_array_equal(sparse.load_npz(path).toarray(), rows.toarray())


@each_value(format=["svmlight", "csv", "tsv"], suffix=[".gz", ".bz2", ".xz"])
def test_text_is_compressed_by_its_name(tmp_path, format, suffix):
    path = tmp_path / f"table.{format}{suffix}"
    write_table(path, X, [1, 2, 3])
    assert b"\n" not in path.read_bytes()[:4]
    assert_array_equal(dense(read_table(path, n_features=2).X), X)
    assert read_table(path).format == format


# --- where the labels are ---


@each_value(format=TABLES, name=["label", "Target", "CLASS", "y"])
def test_column_of_a_likely_name_holds_the_labels(tmp_path, format, name):
    path = place(tmp_path, format)
    write_table(path, [[1, 7, 2], [3, 8, 4]], feature_names=["a", name, "b"])
    table = read_table(path)
    assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert_array_equal(table.y, [7, 8])
    assert (table.feature_names, table.label_name) == (("a", "b"), name)


COLUMN_OF = {"b": 1, "first": 0, "last": 2, 1: 1, -1: 2, None: None}


@each_value(label=COLUMN_OF, format=[*TABLES, "npy"])
def test_label_says_which_column(tmp_path, format, label):
    column, path = COLUMN_OF[label], place(tmp_path, format)
    rows = np.arange(12.0).reshape(4, 3) + 0.5
    write_table(path, rows, feature_names=["a", "b", "c"])
    table = read_table(path, label=column if format == "npy" and label == "b" else label)
    kept = [each for each in range(3) if each != column]
    assert_array_equal(table.X, rows[:, kept])
    assert table.y is None if column is None else np.array_equal(table.y, rows[:, column])
    assert read_table(path).y is None, "without a likely name there are no labels"


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
        ("a\n+1\n 2 \n.5\n", [[1], [2], [0.5]], ("a",)),
        ("?,1\n2,3\n", [[np.nan, 1], [2, 3]], None),
        ("a;b\n1,5;2\n;-3\n", [[1.5, 2], [np.nan, -3]], ("a", "b")),
        ("1,70;60,5\n,8;1e3\n", [[1.7, 60.5], [0.8, 1000]], None),
        ("a;b, c\n1.5;2\n", [[1.5, 2]], ("a", "b, c")),
        ("a;b,c,d,e\n1,2,3,4\n", [[1, 2, 3, 4]], ("a;b", "c", "d", "e")),
        ("a;b,c\n1,2\n", [[1, 2]], ("a;b", "c")),
        ("\na;b\n1,5;2\n", [[1.5, 2]], ("a", "b")),
        ('"a; b",c\n1,2\n', [[1, 2]], ("a; b", "c")),
        ('a;b\n"1,5";-2,25e1\n', [[1.5, -22.5]], ("a", "b")),
    ],
)
def test_text_is_read(tmp_path, text, rows, names):
    table = read_text(tmp_path, text)
    assert_array_equal(table.X, rows)
    assert table.feature_names == names


def test_header_and_labels_are_what_the_caller_says(tmp_path):
    assert read_text(tmp_path, "0,1\n2,3\n", header=True).feature_names == ("0", "1")
    assert_array_equal(read_text(tmp_path, "0,1\n2,3\n", header=False).X, [[0, 1], [2, 3]])
    table = read_text(tmp_path, "5.1,3.5,Iris setosa\n4.9,3,other\n", label="last")
    assert_array_equal(table.X, [[5.1, 3.5], [4.9, 3]])
    assert_array_equal(table.y, ["Iris setosa", "other"])
    assert_array_equal(read_text(tmp_path, "1,5;Katze, klein\n", label="last").y, ["Katze, klein"])
    assert read_text(tmp_path, "1,5;2,5\n", label="last").y.tolist() == [2.5]
    table = read_text(tmp_path, "a;y\n1.5;no 1,2\n2.5;2,3,4\n")
    assert_array_equal(table.X, [[1.5], [2.5]])
    assert_array_equal(table.y, ["no 1,2", "2,3,4"])
    assert_array_equal(read_text(tmp_path, "a,y\n1,1\n2,b\n3,NA\n").y, ["1", "b", "NA"])
    assert_array_equal(read_text(tmp_path, "1,2,x;y\n3,4,x;z\n", label="last").y, ["x;y", "x;z"])


def test_wide_lines_with_semicolons_are_told_by_those_that_are_whole(tmp_path):
    rows = np.full((20, 1500), 0.123456)
    text = "\n".join(";".join(map(repr, row)) for row in rows.tolist())
    assert_array_equal(read_text(tmp_path, text).X, rows)
    assert "line 3: a line must have 2 fields" in refusal(read_text, tmp_path, "a;b\n1;2\n3\n")


def test_feature_may_be_called_as_labels_are_where_no_name_tells_them(tmp_path):
    for name in ("t.svm", "t.npz", "t.npy"):
        write_table(tmp_path / name, X, [0, 1, 0], feature_names=("x", "y"))
    assert read_table(tmp_path / "t.npz").feature_names == ("x", "y")


# --- which format ---


CONTENTS = {
    b"1 1:2\n": "svmlight",
    b"# notes, and more\n-1\n1 qid:3 7:0.5\n": "svmlight",
    b"1,2\n": "csv",
    b"a\tb\n1\t2\n": "tsv",
    b"a,b:c\n1,2\n": "csv",
    b"1\n2\n": "csv",
}


@pytest.mark.parametrize("content", CONTENTS)
def test_format_of_text_is_told_by_its_content(tmp_path, content):
    (tmp_path / "rows.txt").write_bytes(content)
    (tmp_path / "rows.dat.gz").write_bytes(gzip.compress(content))
    for path in tmp_path.iterdir():
        assert read_table(path).format == CONTENTS[content]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(("format", "name"), [("svmlight", "pipe"), ("csv", "pipe.csv")])
def test_pipe_is_read_to_its_end(tmp_path, format, name):
    X = np.random.default_rng(0).normal(size=(5000, 4))
    write_table(tmp_path / "file", X, np.arange(5000), format=format)
    os.mkfifo(tmp_path / name)
    content = (tmp_path / "file").read_bytes()
    threading.Thread(target=(tmp_path / name).write_bytes, args=[content], daemon=True).start()
    table = read_table(tmp_path / name)
    assert table.format == format
    assert_array_equal(dense(table.X), X)
    assert_array_equal(table.y, np.arange(5000))


@pytest.mark.parametrize("label", [None, "last", "first"])
def test_npy_is_mapped_into_memory(tmp_path, label):
    write_table(tmp_path / "rows.npy", X, [1, 2, 3])
    base = read_table(tmp_path / "rows.npy", label=label).X
    while not isinstance(base, np.memmap):
        base = base.base
        assert base is not None


# --- what is wrong with a file ---


FAULTS = {
    "empty": (b"", ": a table must have rows, got an empty file"),
    "header alone": (b"a,b\n", ": a table must have rows, got its header alone"),
    "few fields": (b"a,b\n1,2\n\n3\n", ", line 4: a line must have 2 fields, as the first, got 1"),
    "many fields": (b"y,b\n1,2,x\n2,3\n", ", line 2: a line must have 2 fields, as the first, "),
    "name twice": (b"a,b,a\n1,2,3\n", ": names of columns must differ, got 'a' twice"),
    "not UTF-8": (b"a,b\n1,2\n3,\xff\n", ", line 3: text must be in UTF-8, got the byte b'\\xff'"),
    "text": (b"a,b\n1,2\n3,red\n", ", line 3, column 'b': values must be finite numbers, or miss"),
    "no label": (b"a,y\n1,2\n3,\n", ", line 3: the label must be given, got none"),
    "no number": (b"a,y\n1,1\n2,NA\n", ": each label must be given, got 'NA'"),
    "two labels": (b"a,y,class\n1,2,3\n", ": label must say which column holds them, as any may"),
    "labels alone": (b"y\n1\n", ": there must be a column of features, got labels alone"),
    "long": (b"a\n" + b"1" * 200_000 + b"x\n", ", line 2: field larger than field limit (131072)"),
    "quote": (b'a,b\n1,2\n"3,4\n5,6\n', ", line 4: a line must have 2 fields, as the first, got 1"),
}


@pytest.mark.parametrize(("content", "expected"), FAULTS.values(), ids=FAULTS)
def test_text_fault_names_file_line_and_reason(tmp_path, content, expected):
    message = refusal(read_text, tmp_path, content)
    assert message.startswith(f"{tmp_path / 'table.csv'}{expected}")


@each_value(
    field=["-inf", "1e400", "1_0", "0x10", '"1,5"', "٣", "2\0", "true", "1 2"], head=["", "a,b\n"]
)
def test_field_that_is_no_finite_number_is_refused(tmp_path, field, head):
    column = "'b'" if head else "2"
    with pytest.raises(ValueError, match=rf"line \d, column {column}: values must be finite num"):
        read_text(tmp_path, f"{head}1,2\n3,{field}\n")


def test_parameters_of_a_table_are_checked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,1e39\n")
    assert read_table(path).X[0, 1] == 1e39
    for options, match in (
        ({"label": "c"}, "label must be the name or number of one of the 2 columns of "),
        ({"n_features": 3}, "n_features must be 2, as in "),
        ({"dtype": np.float32}, "t.csv: values must be finite in float32, got larger"),
    ):
        assert match in refusal(read_table, path, **options)


# --- binary files ---


class Payload:
    """What would run if it were unpickled."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


PAYLOAD = np.array([[Payload()]], object)


ARRAYS = {
    "objects": ({"X": PAYLOAD}, "must be a whole .npz file of the numbers X"),
    "no X": ({"Z": np.ones((2, 2))}, "must be a whole .npz file of the numbers X"),
    "one dimension": ({"X": np.ones(2)}, "must be numbers of shape (n_samples, n_features)"),
    "texts": ({"X": np.array([["a"]])}, "must be numbers of shape (n_samples, n_features)"),
    "few labels": ({"X": np.ones((2, 2)), "y": np.ones(3)}, "must have one label for each of 2"),
    "names": ({"X": np.ones((2, 2)), "feature_names": np.array(["a"])}, "must be 2 texts, got"),
    "no rows": ({"X": np.ones((0, 2))}, "a table must have rows, got none"),
}


@pytest.mark.parametrize(("arrays", "expected"), ARRAYS.values(), ids=ARRAYS)
def test_npz_of_other_arrays_is_refused_and_nothing_is_unpickled(
    tmp_path, monkeypatch, arrays, expected
):
    monkeypatch.chdir(tmp_path)
    np.savez("t.npz", **arrays)
    message = refusal(read_table, "t.npz")
    assert expected in message
    assert "t.npz" in message
    assert not (tmp_path / "unpickled").exists()


def test_sparse_npz_of_another_form_is_refused(tmp_path):
    path, rows = tmp_path / "t.npz", sparse.eye(3)
    sparse.save_npz(path, rows.tocsc())
    assert "must hold sparse rows in CSR form, got 'csc'" in refusal(read_table, path)
    rows = rows.tocsr()
    for indices in (rows.indices + 1, rows.indices[:-1], rows.indices + 0.5):
        np.savez(path, data=rows.data, indices=indices, indptr=rows.indptr, shape=[3, 3])
        assert "t.npz must hold the arrays of CSR rows" in refusal(read_table, path)


def test_npz_that_expands_too_far_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_HARMLESS", 2**16)
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((2**10, 2**10)))
    assert "hold at most" in refusal(read_table, tmp_path / "t.npz")


@pytest.mark.parametrize(
    "array", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones(2, [("a", int)]), PAYLOAD]
)
def test_npy_of_another_array_is_refused_and_nothing_is_unpickled(tmp_path, monkeypatch, array):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", array)
    expected = "be a whole" if array is PAYLOAD else "hold numbers of shape (n_samples, n_columns)"
    assert f"t.npy must {expected}" in refusal(read_table, "t.npy")
    assert not (tmp_path / "unpickled").exists()


COLUMNS = {
    "text": ({"a": [1, 2], "b": [None, "red"]}, ", column 'b', row 2: values must be numbers, or"),
    "list": ({"a": [[1], [2]]}, ", column 'a', row 1: values must be numbers"),
    "no label": ({"a": [1, 2], "y": [1, None]}, ", column 'y', row 2: the label must be given"),
    "no rows": ({"a": []}, ": a table must have rows and columns, got an empty one"),
    "labels alone": ({"y": [1]}, ": there must be a column of features, got labels alone"),
}


@each_value(format=["parquet", "arrow"], kind=COLUMNS)
def test_column_that_is_no_feature_is_named(tmp_path, format, kind):
    columns, expected = COLUMNS[kind]
    path = place(tmp_path, format)
    from pyarrow import feather, parquet, table

    write = parquet.write_table if format == "parquet" else feather.write_feather
    write(table(columns), path)
    assert refusal(read_table, path).startswith(f"{path}{expected}")


def test_columns_of_any_numbers_are_read(tmp_path):
    path = place(tmp_path, "parquet")
    import pyarrow
    from pyarrow import parquet

    columns = {"i": [1, None], "f": [0.5, 2.5], "b": [True, False], "n": [None, None]}
    labels = pyarrow.array(["u", "v"]).dictionary_encode()
    parquet.write_table(pyarrow.table(columns | {"class": labels}), path)
    table = read_table(path)
    assert_array_equal(table.X, [[1, 0.5, 1, np.nan], [np.nan, 2.5, 0, np.nan]])
    assert_array_equal(table.y, ["u", "v"])


@each_value(library=["pandas", "pyarrow"], format=["csv", "parquet", "arrow"])
def test_without_a_library_the_extra_is_named(tmp_path, monkeypatch, format, library):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / f"t.{format}"
    sentence = r"need pandas and pyarrow: pip install 'kpegasos\[tables\]'"
    with pytest.raises(ImportError, match=sentence):
        write_table(path, [[1.0]])
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=sentence):
        read_table(path)


# --- what cannot be written ---


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"X": [[np.inf]]}, "X must hold finite or missing values for csv, got infinite ones"),
        ({"X": [1.0]}, "X must have two dimensions, rows and features, got shape (1,)"),
        ({"y": [1, 2]}, "y must have shape (1,), as X has rows, got (2,) instead"),
        ({"y": [np.nan]}, "y must hold finite numbers or texts for csv, got [nan] instead"),
        ({"y": [-(2**53)]}, "y must hold integers below 9007199254740992 for csv, got"),
        ({"y": [2**63], "path": "t.npz"}, "y must hold integers below 9223372036854775808 for npz"),
        ({"y": [""]}, "y must hold texts that are not empty, got ''"),
        ({"y": ["\ud800"]}, "y must hold texts of Unicode, got '\\ud800'"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 1 different texts, one for each"),
        ({"feature_names": ["\ud800"]}, "feature_names must hold texts of Unicode, got"),
        ({"feature_names": ["Y"], "y": [1]}, "feature_names must not have what labels are called"),
        ({"path": "t.xls"}, "format must be given unless path ends in one of ('.svm', "),
        ({"path": "t.svm"}, "y must be given for the format svmlight, got None"),
        ({"path": "t.svm", "X": [[np.nan]], "y": [1]}, "X must hold finite numbers, got NaN"),
    ],
)
def test_table_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, arguments, match):
    monkeypatch.chdir(tmp_path)
    assert match in refusal(write_table, **({"path": "t.csv", "X": [[1.0]]} | arguments))
    assert list(tmp_path.iterdir()) == []
