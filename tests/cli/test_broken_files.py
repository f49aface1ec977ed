"""Broken data and models: one line with file, line and reason, status 1, nothing written."""

import gzip

import numpy as np
import pytest
from cli_cases import examples
from scipy.sparse import csr_matrix

from kpegasos.datasets import write_table

DATA = {
    "empty": (b"", "must have rows"),
    "binary": (bytes(range(256)) * 20, "line 2: text must be in UTF-8"),
    "cut.svm.gz": (gzip.compress(b"1 1:2\n-1 1:1\n" * 99)[:-9], "cut.svm.gz"),
    "cut.npz": (b"PK\x03\x04cut", "cut.npz"),
    "text.tsv": (b"a\tkind\n1\tgood\n", "'good'; a column of labels must be named by label"),
}


@pytest.mark.parametrize("name", DATA)
def test_broken_data_are_one_sentence(refusal, tmp_path, name):
    content, reason = DATA[name]
    (tmp_path / name).write_bytes(content)
    commands = [("train",), ("info", "--no-forecast"), ("convert", "out.svm")]
    if name == "text.tsv":  # of which `info` tells the columns
        del commands[1]
    for command, *more in commands:
        sentence = refusal(command, name, *more)
        assert name in sentence
        assert reason in sentence or command == "info"  # to which binary data are broken models


#: Arguments, files by name, and the sentence.
WRONG = [
    (("train", "data"), "1 1:2\n1 1:3\n", "data: labels must be of at least two classes, got 1"),
    (("tune", "data"), "1 1:1\n1 1:2\n2 1:3\n", "--folds must be at most the number of examples"),
    (("train", "data.csv"), "a,b,label\n1,2,1\n1,,-1\n", "data.csv, example 2, column b: a finite"),
    (("train", "-s3", "data.csv"), "a,label\n1,yes\n2,no\n", "must be numbers for --regression, g"),
    (("train", "--label", "two", "data.csv"), "a,b\n1,2\n", "columns of data.csv, got 'two' inst"),
    (("train", "data.csv"), "a,b\n1,2\n", "--label names their column\n"),
    (("convert", "data.csv", "b.svm"), "a,b\n1,2\n", "must have labels for svmlight; --label"),
    (("convert", "-", "out.csv"), "1 1:2\n1 2:1 1:2\n", "standard input, line 2: columns must"),
    (("train", "."), "", ".: "),
    (("playground", "no.csv"), "", "no.csv"),
    (("playground", "data.csv"), "1,2,3,4,5,0\n", "data.csv: table must have two columns"),
    (("export", "data", "b.skops"), "1 1:2\n", "must be a model of kpegasos or LIBSVM"),
    (("info", "data"), "svm_type one_class\n", "svm_type must be one of"),
    (("info", "data"), "PK\x03\x04 and no more", "data must be a whole .npz file"),
]


@pytest.mark.parametrize(("arguments", "content", "reason"), WRONG)
def test_what_is_wrong_is_one_sentence(refusal, tmp_path, arguments, content, reason):
    for name in ("data", "data.csv"):
        (tmp_path / name).write_text(content)
    assert reason in refusal(*arguments, stdin=content.encode())


@pytest.mark.parametrize("sparse", [False, True])
def test_missing_values_are_named_by_every_subcommand(kpegasos, refusal, tmp_path, sparse):
    X, y = examples()
    write_table(tmp_path / "good.npz", X, y)
    kpegasos("train", "-q", "good.npz", "m")
    X = np.where(np.abs(X) > 0.6, X, 0.0) if sparse else X
    X[7, 2] = np.nan
    names = [f"x{column}" for column in range(13)]
    write_table(tmp_path / "data.npz", csr_matrix(X) if sparse else X, y, feature_names=names)
    sentence = "data.npz, example 8, column x2: a finite number must be there, got none\n"
    for command, *model in (("train",), ("predict", "m"), ("scale",)):
        assert refusal(command, "data.npz", *model) == sentence


@pytest.mark.parametrize(
    ("name", "part", "reason"),
    [("m.model", slice(-2000), "broken, line"), ("m.skops", slice(2000), "broken")],
)
def test_broken_models_are_one_sentence(kpegasos, refusal, data, tmp_path, name, part, reason):
    kpegasos("train", data, name)
    (tmp_path / "broken").write_bytes((tmp_path / name).read_bytes()[part])
    assert reason in refusal("predict", "data", "broken", "out")
