"""Examples in files: the numbers that are there, or one sentence with the file and the place."""

import bz2
import gzip
import io
import os
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from rejections import refusal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from kpegasos.cli.files import read_svmlight, read_table

pandas = pytest.importorskip("pandas")

# --- LIBSVM's format ---

X = np.array([[0.1, 0.0, -3e-320], [0.0, 2.5, 0.0], [1e300, 0.0, 7.0]])


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_rows_are_read_to_the_last_bit(tmp_path, zero_based, pack):
    path = tmp_path / f"rows{ {gzip.compress: '.gz', bz2.compress: '.bz2'}.get(pack, '') }"
    content = io.BytesIO()
    dump_svmlight_file(X, [1, -1, 2], content, zero_based=zero_based)
    path.write_bytes(pack(content.getvalue()))
    found = read_svmlight(str(path), zero_based=zero_based)
    assert sparse.issparse(found.X)
    assert_array_equal(found.X.toarray(), X)
    assert_array_equal(found.y, [1, -1, 2])
    assert found.y.dtype == np.int64


def test_labels_that_are_not_whole_or_no_int64_stay_what_they_are(tmp_path):
    for label in (1.5, 1e19):
        path = written(tmp_path / "rows", f"{label} 1:1\n2 1:1\n")
        assert read_svmlight(str(path)).y.tolist() == [label, 2.0]


FAULTS = {
    "label": (b"one 1:2", "line 4: could not convert string to float: b'one', got 'one 1:2'"),
    "value": (b"1 1:x", "line 4: could not convert string to float: b'x', got '1 1:x'"),
    "column 0": (b"1 0:2", r"line 4: Invalid index 0 .*, got '1 0:2'"),
    "columns not sorted": (
        b"1 3:2 2:2",
        "line 4: Feature indices .* sorted and unique, got '1 3:2 2:2'",
    ),
    "not a number": (b"1 1:nan", "example 2: label and features must be finite numbers"),
    "old ends of lines": (b"1 1:2\r-1 2:3", "line 4: "),
    "another alphabet": (b"1 1:2\n-1 2:3".decode().encode("utf-16"), "line 4: "),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("source", ["file", "standard input"])
def test_fault_is_named_with_file_and_line(tmp_path, monkeypatch, fault, source):
    row, expected = FAULTS[fault]
    content = b"# a comment: nan\n1 1:2\r\n\n" + row + b"\n1 1:1\n"
    path = tmp_path / "rows"
    path.write_bytes(content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    message = refusal(read_svmlight, str(path) if source == "file" else "-")
    name = str(path) if source == "file" else source
    assert re.match(f"{re.escape(name)}: {expected}", message), message


def test_damaged_archive_is_named(tmp_path):
    path = tmp_path / "rows.gz"
    whole = gzip.compress(b"1 1:2\n" * 99)
    for content in (whole[:-9], b"text", whole[:20] + b"abc" + whole[23:]):
        path.write_bytes(content)
        assert refusal(read_svmlight, str(path)).startswith(f"{path}: ")
    with pytest.raises(FileNotFoundError):
        read_svmlight(str(tmp_path / "nothing"))


# --- tables ---


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["table.csv", "table.tsv", "table.csv.gz", "table.parquet"])
def test_columns_are_features_and_one_has_the_labels(tmp_path, kind):
    frame = pandas.DataFrame({"width": [0.1, 3e-320], "Class": ["cat", "dog"], "grün": [1, -2]})
    path = tmp_path / kind
    if kind.endswith("parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in kind else ",")
    found = read_table(path)
    assert list(found.X.columns) == ["width", "grün"]
    assert_array_equal(found.X.to_numpy(), [[0.1, 1.0], [3e-320, -2.0]])
    assert found.y.tolist() == ["cat", "dog"]


def test_labels_are_in_the_column_that_is_named(tmp_path):
    path = written(tmp_path / "a.csv", "a,y,b\n1,2,3\n4,5,6.5\n")
    for label, y in {"auto": [2, 5], "a": [1, 4], "2": [3.0, 6.5], "none": None}.items():
        found = read_table(path, label)
        assert (None if found.y is None else found.y.tolist()) == y
        assert found.X.shape == (2, 3 if y is None else 2)


def test_first_line_with_a_number_is_no_line_of_names(tmp_path):
    found = read_table(written(tmp_path / "a.csv", "1,2,2\n3,4,5\n"), "0")
    assert isinstance(found.X, np.ndarray)
    assert_array_equal(found.X, [[2, 2], [4, 5]])
    assert found.y.tolist() == [1, 3]
    found = read_table(written(tmp_path / "b.csv", "inf,y\n1,2\n3,4\n"))
    assert (list(found.X.columns), found.y.tolist()) == (["inf"], [2, 4])


def test_labels_true_and_false_are_the_words_of_the_table(tmp_path):
    found = read_table(written(tmp_path / "a.csv", "a,y\n1,True\n2,False\n"))
    assert found.y.tolist() == ["True", "False"]


def test_table_in_a_pipe_is_refused_as_it_may_be_read_twice(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    assert "a.csv: a table must be a plain file" in refusal(read_table, tmp_path / "a.csv")


NUMBER = "a finite number must be there, got "
WRONG = {
    "text": ("a,b\n1,2\n3,good\n", f"example 2, column 'b': {NUMBER}'good'; texts and gaps need"),
    "gap": ("a,b\n1,2\n,4\n", f"example 2, column 'a': {NUMBER}nothing"),
    "long row": ("a,b\n1,2\n3,4,5\n", ""),
    "no label": ("a,y\n1,2\n3,\n", "example 2: a label must be in column 'y'"),
    "two labels": ("a,y,label\n1,2,3\n", "the column of labels must be one of"),
    "no features": ("y\n1\n2\n", "there must be rows, and columns of features, got (2, 0)"),
    "no rows": ("a,y\n", "there must be rows"),
    "empty": ("", "No columns to parse"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_in_a_table_is_one_sentence(tmp_path, wrong):
    content, expected = WRONG[wrong]
    path = written(tmp_path / "a.csv", content)
    assert refusal(read_table, path).startswith(f"{path}: {expected}")


def test_table_that_is_no_text_or_has_no_such_column_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,y\n\xff\xfe,1\n")
    assert "utf-8" in refusal(read_table, path)
    path = written(tmp_path / "b.csv", "a,b\n1,2\n")
    assert "must be one of ['a', 'b'], got 'two'" in refusal(read_table, path, "two")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "no.csv")


def test_table_without_pandas_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'kpegasos\[tables\]'"):
        read_table(written(tmp_path / "a.csv", "a,y\n1,2\n"))
