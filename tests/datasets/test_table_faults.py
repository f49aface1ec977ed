"""What is wrong with a table is said in one sentence, with file, line and column."""

import io
import os
import re
import sys

import numpy as np
import pytest
from scipy import sparse

from kpegasos.datasets import read_table, write_table
from kpegasos.utils import files


def message_of(error):
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 450
    return message


FAULTS = {
    "empty": (b"", ": a table must have rows, got an empty file"),
    "blank": (b"\n\n", ": a table must have rows, got an empty file"),
    "header alone": (b"a,b\n", ": a table must have rows, got its header alone"),
    "few fields": (b"a,b\n1,2\n\n3\n", ", line 4: a line must have 2 fields, as the first, got 1"),
    "many fields": (b"1,2\n3,4,5\n", ", line 2: a line must have 2 fields, as the first, got 3"),
    "name twice": (b"a,b,a\n1,2,3\n", ": names of columns must differ, got 'a' twice"),
    "not UTF-8": (b"a,b\n1,2\n3,\xff\n", ", line 3: text must be in UTF-8, got the byte b'\\xff'"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), ", line 1: text must be in UTF-8, got the byte"),
    "text": (
        b"a,b\n1,2\n3,red\n",
        ", line 3, column 'b': values must be finite numbers, or missing, got 'red'",
    ),
    "no name": (b"1,2\n3,red\n", ", line 2, column 2: values must be finite numbers, or missing,"),
    "infinite": (b"a\n1\n-inf\n", ", line 3, column 'a': values must be finite numbers"),
    "too large": (b"a\n1\n1e400\n", ", line 3, column 'a': values must be finite numbers"),
    "underscore": (b"a\n1\n1_0\n", ", line 3, column 'a': values must be finite numbers"),
    "hexadecimal": (b"a\n1\n0x10\n", ", line 3, column 'a': values must be finite numbers"),
    "decimal comma": (b'a\n1\n"1,5"\n', ", line 3, column 'a': values must be finite numbers"),
    "other digits": ("a\n1\n٣\n".encode(), ", line 3, column 'a': values must be finite numbers"),
    "NUL": (b"a\n1\n2\0\n", ", line 3, column 'a': values must be finite numbers"),
    "after labels": (b"y,b\n1,2\n1,x\n", ", line 3, column 'b': values must be finite numbers"),
    "no label": (b"a,y\n1,2\n3,\n", ", line 3: the label must be given, got none"),
    "two labels": (b"a,y,class\n1,2,3\n", ": label must say which column holds them, as any may"),
    "labels alone": (b"y\n1\n", ": there must be a column of features, got labels alone"),
    "long": (b"a\n" + b"1" * 200_000 + b"x\n", ", line 2: field larger than field limit (131072)"),
    "quote": (b'a,b\n1,2\n"3,4\n5,6\n', ", line 4: a line must have 2 fields, as the first, got 1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_text_fault_names_file_line_and_reason(tmp_path, fault):
    content, expected = FAULTS[fault]
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\S") as error:
        read_table(path)
    assert message_of(error).startswith(f"{path}{expected}"), error.value


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"format": "xls"}, "format must be one of ('svmlight', 'csv', 'tsv', 'npz', 'npy', 'pa"),
        ({"label": "c"}, "label must be the name or number of one of the 2 columns of "),
        ({"label": 2}, "got 2 instead"),
        ({"label": -3}, "got -3 instead"),
        ({"label": 1.5}, "label must be the name or number of a column, 'first', 'last', 'auto'"),
        ({"label": True}, "label must be the name or number of a column"),
        ({"n_features": 3}, "n_features must be 2, as in "),
        ({"n_features": 0}, "n_features must be a positive integer, got 0"),
        ({"header": "yes"}, "header must be True or False, got 'yes'"),
        ({"dtype": int}, "dtype must be numpy.float32 or numpy.float64, got <class 'int'>"),
    ],
)
def test_parameters_of_a_table_are_checked(tmp_path, options, match):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=re.escape(match)) as error:
        read_table(tmp_path / "t.csv", **options)
    message_of(error)


def test_value_beyond_float32_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,1e39\n")
    assert read_table(tmp_path / "t.csv").X[0, 1] == 1e39
    with pytest.raises(ValueError, match=r"t\.csv: values must be finite in float32, got larger"):
        read_table(tmp_path / "t.csv", dtype=np.float32)


@pytest.mark.parametrize("name", ["t.csv", "t.svm", "t.npz", "t.npy", "t.parquet", "t.arrow", "t"])
def test_file_that_is_not_there_is_named_by_python(tmp_path, name):
    with pytest.raises(FileNotFoundError) as error:
        read_table(tmp_path / name)
    assert error.value.filename == str(tmp_path / name) or error.value.filename == tmp_path / name


@pytest.mark.parametrize("path", [None, 3, b"t.csv", io.StringIO("1,2")])
def test_path_that_is_none_is_refused(path):
    with pytest.raises(TypeError, match="path must be the path of a file"):
        read_table(path, format="csv")


def test_open_file_needs_a_format():
    with pytest.raises(ValueError, match="format must be given for an open file, one of"):
        read_table(io.BytesIO(b"1,2\n"))


@pytest.mark.parametrize("suffix", ["svm", "npz"])
def test_label_of_svmlight_and_npz_is_no_column(tmp_path, suffix):
    write_table(tmp_path / f"t.{suffix}", [[1.0]], [1])
    with pytest.raises(ValueError, match="label must be 'auto'"):
        read_table(tmp_path / f"t.{suffix}", label="last")


# --- binary files ---


@pytest.mark.parametrize("format", ["npz", "npy", "parquet", "arrow"])
@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:-9], lambda b: b"nothing" * 9])
def test_damaged_binary_file_is_named(tmp_path, format, damage):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"table.{format}"
    write_table(path, np.arange(12.0).reshape(4, 3), [1, 2, 3, 4])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match="must be") as error:
        read_table(path)
    assert message_of(error).startswith(str(path))


ARRAYS = {
    "objects": ({"X": np.array([[{}]])}, "must be a whole .npz file of the numbers X"),
    "no X": ({"Z": np.ones((2, 2))}, "must be a whole .npz file of the numbers X"),
    "one dimension": ({"X": np.ones(2)}, "must be numbers of shape (n_samples, n_features)"),
    "texts": ({"X": np.array([["a"]])}, "must be numbers of shape (n_samples, n_features)"),
    "few labels": ({"X": np.ones((2, 2)), "y": np.ones(3)}, "must have one label for each of 2"),
    "names": ({"X": np.ones((2, 2)), "feature_names": np.array(["a"])}, "must be 2 texts, got"),
    "no rows": ({"X": np.ones((0, 2))}, "a table must have rows, got none"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_npz_of_other_arrays_is_refused(tmp_path, kind):
    given, expected = ARRAYS[kind]
    np.savez(tmp_path / "t.npz", **given)
    with pytest.raises(ValueError, match=re.escape(expected)) as error:
        read_table(tmp_path / "t.npz")
    assert str(tmp_path / "t.npz") in message_of(error)


def test_sparse_npz_of_another_form_is_refused(tmp_path):
    rows = sparse.eye(3)
    sparse.save_npz(tmp_path / "t.npz", rows.tocsc())
    with pytest.raises(ValueError, match="must hold sparse rows in CSR form, got 'csc'"):
        read_table(tmp_path / "t.npz")
    rows = rows.tocsr()
    for indices in (rows.indices + 1, rows.indices[:-1], rows.indices + 0.5):
        np.savez(
            tmp_path / "t.npz", data=rows.data, indices=indices, indptr=rows.indptr, shape=[3, 3]
        )
        with pytest.raises(ValueError, match=r"t\.npz must hold the arrays of CSR rows"):
            read_table(tmp_path / "t.npz")


def test_npz_that_expands_too_far_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_HARMLESS", 2**16)
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((2**10, 2**10)))
    with pytest.raises(ValueError, match="hold at most"):
        read_table(tmp_path / "t.npz")


class Payload:
    """What would run if it were unpickled."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


@pytest.mark.parametrize("suffix", ["npz", "npy"])
def test_nothing_in_a_table_is_unpickled(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    array = np.array([[Payload()]], object)
    np.save("t.npy", array) if suffix == "npy" else np.savez("t.npz", X=array)
    with pytest.raises(ValueError, match=rf"t\.{suffix} must be a whole"):
        read_table(f"t.{suffix}")
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize(
    "array", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones(2, [("a", int)])]
)
def test_npy_of_another_array_is_refused(tmp_path, array):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(ValueError, match=r"must hold numbers of shape \(n_samples, n_columns\)"):
        read_table(tmp_path / "t.npy")


COLUMNS = {
    "text": (
        {"a": [1, 2], "b": [None, "red"]},
        ", column 'b', row 2: values must be numbers, or missing, got 'red' of type str",
    ),
    "category": (
        {"a": np.array(["u", "v"], object)},
        ", column 'a', row 1: values must be numbers",
    ),
    "date": ({"a": np.array(["2020-01-01", "2021-01-01"], "M8[D]")}, ", column 'a', row 1: values"),
    "list": ({"a": [[1], [2]]}, ", column 'a', row 1: values must be numbers"),
    "no label": ({"a": [1, 2], "y": [1, None]}, ", column 'y', row 2: the label must be given"),
    "no rows": ({"a": []}, ": a table must have rows and columns, got an empty one"),
    "labels alone": ({"y": [1]}, ": there must be a column of features, got labels alone"),
}


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_column_that_is_no_feature_is_named(tmp_path, format, kind):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    columns, expected = COLUMNS[kind]
    path = tmp_path / f"t.{format}"
    write = parquet.write_table if format == "parquet" else feather.write_feather
    write(arrow.table(columns), path)
    with pytest.raises(ValueError, match=r"\S") as error:
        read_table(path)
    assert message_of(error).startswith(f"{path}{expected}"), error.value


def test_columns_of_any_numbers_are_read(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"i": [1, None], "f": [0.5, 2.5], "b": [True, False], "n": [None, None]}
    labels = arrow.array(["u", "v"]).dictionary_encode()
    parquet.write_table(arrow.table(columns | {"class": labels}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(table.X, [[1, 0.5, 1, np.nan], [np.nan, 2.5, 0, np.nan]])
    np.testing.assert_array_equal(table.y, ["u", "v"])


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_without_a_library_the_extra_is_named(tmp_path, monkeypatch, format, library):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / f"t.{format}"
    with pytest.raises(
        ImportError, match=r"need pandas and pyarrow: pip install 'kpegasos\[tables\]'"
    ):
        write_table(path, [[1.0]])
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"PAR1")
    with pytest.raises(
        ImportError, match=r"need pandas and pyarrow: pip install 'kpegasos\[tables\]'"
    ):
        read_table(path)


# --- what cannot be written ---


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"X": [[np.inf]]}, "X must hold finite or missing values for csv, got infinite ones"),
        ({"X": [1.0]}, "X must have two dimensions, rows and features, got shape (1,)"),
        ({"y": [1, 2]}, "y must have shape (1,), as X has rows, got (2,) instead"),
        ({"y": [np.nan]}, "y must hold finite numbers or texts for csv, got [nan] instead"),
        ({"y": [None]}, "y must hold finite numbers or texts for csv, got [None] instead"),
        ({"y": [-(2**53)]}, "y must hold integers below 9007199254740992 for csv, got"),
        ({"y": [2**63], "path": "t.npz"}, "y must hold integers below 9223372036854775808 for npz"),
        ({"y": [""]}, "y must hold texts that are not empty, got ''"),
        ({"y": ["\ud800"]}, "y must hold texts of Unicode, got '\\ud800'"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 1 different texts, one for each"),
        ({"feature_names": "a"}, "feature_names must be 1 different texts, one for each"),
        ({"feature_names": [1]}, "feature_names must be 1 different texts, one for each"),
        ({"feature_names": ["\ud800"]}, "feature_names must hold texts of Unicode, got"),
        ({"feature_names": ["Y"], "y": [1]}, "feature_names must not have what labels are called"),
        ({"format": "xls"}, "format must be one of ("),
        ({"path": "t.xls"}, "format must be given unless path ends in one of ('.svm', "),
        ({"path": "t.svm"}, "y must be given for the format svmlight, got None"),
        ({"path": "t.svm", "X": [[np.nan]], "y": [1]}, "X must hold finite numbers, got NaN"),
    ],
)
def test_table_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, arguments, match):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(match)) as error:
        write_table(**({"path": "t.csv", "X": [[1.0]]} | arguments))
    assert type(error.value) is ValueError
    message_of(error)
    assert list(tmp_path.iterdir()) == []
