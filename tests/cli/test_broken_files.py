"""Broken data and models: one line with file, line and reason, status 1, nothing written."""

import gzip

import numpy as np
import pytest
from cli_cases import examples, write_examples
from scipy.sparse import csr_matrix

from kpegasos.datasets import write_table

#: Without its end; the time is in the file, and in the name of the test.
CUT = gzip.compress(b"1 1:2\n-1 1:1\n" * 99, mtime=0)[:-9]
RANGES = ("scale", "-r", "data.csv", "good", "out")
#: Arguments, content of the files, and the sentence.
WRONG = [
    (("train", "data"), b"", "data: a table must have rows"),
    (("train", "data"), bytes(range(256)) * 20, "data, line 2: text must be in UTF-8"),
    (("convert", "data.gz", "out.svm"), CUT, "data.gz"),
    (("info", "data"), b"PK\x03\x04 and no more", "data must be a whole .npz file"),
    (("info", "data"), b"svm_type one_class\n", "svm_type must be one of"),
    (("predict", "data", "data"), b"svm_type c_svc\nSV\n1 1:x\n", "data, line 2: the header must"),
    (("train", "data"), b"1 1:2\n1 1:3\n", "data: labels must be of at least two classes, got 1"),
    (("tune", "data"), b"1 1:1\n1 1:2\n2 1:3\n", "--folds must be at most the number of examples"),
    (("train", "data.csv"), b"a,kind\n1,good\n", "'good'; a column of labels must be named by la"),
    (
        ("train", "-s3", "data.csv"),
        b"a,label\n1,yes\n2,no\n",
        "must be numbers for --regression, g",
    ),
    (("train", "--label", "two", "data.csv"), b"a,b\n1,2\n", "columns of data.csv, got 'two' inst"),
    (("train", "data.csv"), b"a,b\n1,2\n", "--label names their column\n"),
    (("convert", "data.csv", "b.svm"), b"a,b\n1,2\n", "must have labels for svmlight; --label"),
    (("convert", "-", "out.csv"), b"1 1:2\n1 2:1 1:2\n", "standard input, line 2: columns must"),
    (("train", "."), b"", ".: "),
    (("playground", "no.csv"), b"", "no.csv"),
    (("playground", "data.csv"), b"1,2,3,4,5,0\n", "data.csv: table must have two columns"),
    (("export", "data", "b.skops"), b"1 1:2\n", "must be a model of kpegasos or LIBSVM"),
    (RANGES, b"", "data.csv, line 1: must be there, but the file ends"),
    (RANGES, b"z\n", "data.csv, line 1: must be 'x' or 'standard', got 'z'"),
    (RANGES, b"x\n-1 1\n\n1 0 nan\n", "line 4: must hold 3 finite numbers, got '1 0 nan'"),
    (RANGES, b"x\n-1 1\n0 0 1\n", "line 3: must begin with the number of a feature, from 1 on,"),
    (RANGES, b"y\n0 1\n0 one\nx\n", "line 3: must hold 2 finite numbers, got '0 one'"),
    (RANGES, b"standard\n1.5 0 1\n", "line 2: must begin with the number of a feature"),
    (("scale", "-s", "r", "data.csv", "a.svm"), b"a,y\n1,cat\n", "be numbers for svmlight, got 'c"),
]


@pytest.mark.parametrize(("arguments", "content", "reason"), WRONG)
def test_what_is_wrong_is_one_sentence(refusal, tmp_path, arguments, content, reason):
    for name in ("data", "data.csv", "data.gz"):
        (tmp_path / name).write_bytes(content)
    write_examples(tmp_path / "good")
    assert reason in refusal(*arguments, stdin=content)


@pytest.mark.parametrize("storage", [np.asarray, csr_matrix])
def test_missing_values_are_named_by_every_subcommand(kpegasos, refusal, tmp_path, storage):
    X, y = examples()
    X[X < -0.6] = 0.0
    write_table(tmp_path / "good.npz", X, y)
    kpegasos("train", "-q", "good.npz", "m")
    X[7, 2] = np.nan
    names = [f"x{column}" for column in range(13)]
    write_table(tmp_path / "data.npz", storage(X), y, feature_names=names)
    sentence = "data.npz, example 8, column x2: a finite number must be there, got none\n"
    for command, *model in (("train",), ("predict", "m"), ("scale",)):
        assert refusal(command, "data.npz", *model) == sentence
