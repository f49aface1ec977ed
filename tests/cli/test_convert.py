"""``kpegasos convert``: the same numbers in every format, and a sentence for what is at fault."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from scipy import sparse
from shell_cases import blobs, write_blobs, write_csv

from kpegasos.cli.main import main
from kpegasos.datasets import read_table, write_table

FILES = [
    "a.svm",
    "a.svm.gz",
    "a.libsvm.xz",
    "a.csv",
    "a.tsv.bz2",
    "a.npz",
    "a.npy",
    "a.parquet",
    "a.feather",
]


class Stream:
    """A standard stream with bytes under its text."""

    def __init__(self, content=b""):
        self.buffer = io.BytesIO(content)

    def flush(self):
        pass


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_the_same_there_and_back(tmp_path, name, capsys):
    if name.endswith((".parquet", ".feather")):
        pytest.importorskip("pyarrow")
    data, there, back = write_blobs(tmp_path / "data"), str(tmp_path / name), tmp_path / "back.svm"
    assert main(["convert", data, there]) == 0
    label = ["--label", "last"] if name.endswith(".npy") else []
    assert main(["convert", there, str(back), *label]) == 0
    X, y = blobs()
    found = read_table(back)
    np.testing.assert_array_equal(found.X.toarray(), X)
    np.testing.assert_array_equal(found.y, y)
    assert capsys.readouterr().out.startswith(f"{there}: 120 rows, 3 features, labels, ")


def test_names_and_texts_go_with_the_columns(tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("width,kind,height\n1,cat,2\n3,dog,4\n")
    assert main(["convert", str(table), str(tmp_path / "a.npz"), "--label", "kind", "-q"]) == 0
    found = read_table(tmp_path / "a.npz")
    assert found.feature_names == ("width", "height")
    assert found.y.tolist() == ["cat", "dog"]


def test_standard_streams_are_files(tmp_path, monkeypatch):
    X, y = blobs()
    data = write_blobs(tmp_path / "data")
    with open(data, "rb") as file:
        monkeypatch.setattr(sys, "stdin", Stream(file.read()))
    monkeypatch.setattr(sys, "stdout", out := Stream())
    assert main(["convert", "-", "-", "--to", "npz", "-q"]) == 0
    (tmp_path / "out.npz").write_bytes(out.buffer.getvalue())
    found = read_table(tmp_path / "out.npz")
    np.testing.assert_array_equal(found.X.toarray(), X)
    np.testing.assert_array_equal(found.y, y)


def test_format_may_be_told_and_width_may_be_more(tmp_path):
    data = write_blobs(tmp_path / "data.txt")
    assert main(["convert", data, str(tmp_path / "b"), "--to", "csv", "--n-features", "5"]) == 0
    found = read_table(tmp_path / "b")
    assert found.X.shape == (120, 5)
    assert not found.X[:, 3:].any()


def test_dense_form_that_memory_has_no_room_for_is_refused(tmp_path, capsys, monkeypatch):
    X = sparse.csr_matrix(([1.0, 2.0], ([0, 99], [0, 99_999])), shape=(100, 100_000))
    write_table(tmp_path / "wide.npz", X, np.arange(100))
    monkeypatch.setattr("kpegasos.utils.memory.free_memory", lambda: 79 * 10**6)
    for name in ("wide.csv", "wide.parquet", "wide.npy"):
        assert main(["convert", str(tmp_path / "wide.npz"), str(tmp_path / name)]) == 1
        err = capsys.readouterr().err
        assert "wide.npz: 100 x 100000 entries take 76 MiB" in err
        assert "75 MiB of memory are free; npz and svmlight keep sparse data" in err
        assert not (tmp_path / name).exists()
    assert main(["convert", str(tmp_path / "wide.npz"), str(tmp_path / "wide.svm")]) == 0
    assert main(["convert", str(tmp_path / "wide.svm"), str(tmp_path / "back.npz")]) == 0
    assert (read_table(tmp_path / "back.npz").X != X).nnz == 0


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.svm", b"", "a.svm: a table must have rows"),
        ("a.svm", b"1 1:1\n1 1:2 1:3\n", "a.svm, line 2"),
        ("a.svm", b"1 0:1\n", "a.svm, line 1"),
        ("a.svm", b"1 99999999999999:1\n", "a.svm, line 1"),
        ("a.svm", b"1 1:1\n\x00\x01\x02\n", "a.svm, line 2"),
        ("a.csv", b"a,b,y\n1,2,0\n1,2\n", "a.csv, line 3"),
        ("a.csv", b"a,b,y\n1,x,0\n", "a.csv, line 2"),
        ("a.csv", b"a,a,y\n1,2,0\n", "a.csv"),
        ("a.csv", b"a,b\n1,2\n", "must have labels for svmlight; --label names"),
        ("a.csv", b"a,\xff,y\n1,2,0\n", "a.csv"),
        ("a.npz", b"PK\x03\x04 and no more", "a.npz"),
        ("a.npy", b"\x93NUMPY", "a.npy"),
        ("a.svm.gz", b"no gzip", "a.svm.gz"),
        ("a.parquet", b"PAR1 and no more", "a.parquet"),
    ],
)
def test_broken_files_are_one_line(tmp_path, capsys, name, content, expected):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    assert main(["convert", str(tmp_path / name), str(tmp_path / "b.svm")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("kpegasos convert: ")
    assert err.count("\n") == 1
    assert expected in err
    assert not (tmp_path / "b.svm").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["b"], "--to must be given unless OUT ends in"),
        (["-"], "--to must be given"),
        (["b.csv", "--from", "xls"], "invalid choice: 'xls'"),
        ([], "required: OUT"),
    ],
)
def test_arguments_at_fault_are_usage_errors(tmp_path, capsys, arguments, expected):
    data = write_csv(tmp_path / "a.csv", *blobs())
    try:
        status = main(["convert", data, *arguments])
    except SystemExit as end:
        status = end.code
    assert status == 2
    assert expected in capsys.readouterr().err


def test_package_that_is_not_there_is_named_with_its_extra(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert main(["convert", str(tmp_path / "a.parquet"), str(tmp_path / "a.csv")]) == 1
    err = capsys.readouterr().err
    assert "kpegasos[tables]" in err
    assert err.count("\n") == 1


def test_output_is_not_the_input(tmp_path, capsys):
    data = write_csv(tmp_path / "a.csv", *blobs())
    assert main(["convert", data, data]) == 2
    assert "OUT" in capsys.readouterr().err


def test_folder_of_the_output_must_be_there(tmp_path, capsys):
    data = write_csv(tmp_path / "a.csv", *blobs())
    assert main(["convert", data, str(tmp_path / "nowhere" / "b.svm")]) == 1
    assert "its folder does not exist" in capsys.readouterr().err
