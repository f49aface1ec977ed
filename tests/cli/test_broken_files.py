"""Broken data and models: one line with file, line and reason, status 1, nothing written."""

import gzip
import os
import threading

import numpy as np
import pytest
from cli_cases import examples, write_examples
from scipy.sparse import csr_matrix

from kpegasos.datasets import write_table

DATA = {
    "empty": (b"", "must have rows"),
    "binary": (bytes(range(256)) * 20, "line 2: text must be in UTF-8"),
    "label": (b"1 1:2\none 1:2\n", "line 2: the label must be a finite number, got 'one'"),
    "no value": (b"1 1:2\n-1 1:\n", "line 2"),
    "no colon": (b"1 1:2\n-1 2\n", "line 2"),
    "zero index": (b"1 0:2\n", "line 1: columns must increase from 1"),
    "negative index": (b"1 1:2\n1 -3:2\n", "line 2"),
    "huge index": (b"1 1:2\n1 99999999999:2\n", "line 2: columns must increase from 1"),
    "unsorted": (b"1 1:2\n1 3:1 2:1\n", "line 2: columns must increase from 1"),
    "duplicate": (b"1 1:2\n1 3:1 3:1\n", "line 2: columns must increase from 1"),
    "qid": (b"1 qid:x 1:2\n", "line 1: qid must be a whole number, got 'x'"),
    "nan": (b"1 1:2\n1 1:nan\n", "line 2"),
    "nul": (b"1 1:2\n1 1:\x002\n", "line 2"),
    "truncated.gz": (gzip.compress(b"1 1:2\n-1 1:1\n" * 99)[:-9], "truncated.gz"),
    "columns.csv": (b"a,b,label\n1,2,1\n1,-1\n", "line 3"),
    "text.csv": (b"a,b,label\n1,2,1\n1,x,-1\n", "line 3"),
    "missing.csv": (b"a,b,label\n1,2,1\n1,,-1\n", "example 2, column b: a finite number must be"),
    "cut.npz": (b"PK\x03\x04cut", "cut.npz"),
    "text.tsv": (b"a\tkind\n1\tgood\n", "'good'; a column of labels must be named by label"),
    "one class": (b"1 1:2\n1 1:3\n", "labels must be of at least two classes, got 1 alone"),
}


@pytest.mark.parametrize("name", DATA)
def test_broken_data_are_one_sentence(kpegasos, tmp_path, name):
    content, reason = DATA[name]
    (tmp_path / name).write_bytes(content)
    ran = kpegasos("train", name)
    assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert ran.err.startswith("kpegasos train: ")
    assert reason in ran.err
    assert name in ran.err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_texts_are_no_targets_of_a_regression(kpegasos, tmp_path):
    (tmp_path / "text.csv").write_text("a,label\n1,yes\n2,no\n")
    ran = kpegasos("train", "--regression", "text.csv")
    sentence = "text.csv: labels must be numbers for --regression, got 'yes'"
    assert (ran.status, ran.err) == (1, f"kpegasos train: {sentence}\n")


@pytest.mark.parametrize("sparse", [False, True])
def test_missing_values_are_named_by_every_subcommand(kpegasos, tmp_path, sparse):
    X, y = examples()
    write_table(tmp_path / "good.npz", X, y)
    kpegasos("train", "-q", "good.npz", "m")
    X = np.where(np.abs(X) > 0.6, X, 0.0) if sparse else X
    X[7, 2] = np.nan
    names = [f"x{column}" for column in range(13)]
    write_table(tmp_path / "data.npz", csr_matrix(X) if sparse else X, y, feature_names=names)
    for arguments in (("train",), ("predict", "m"), ("scale",)):
        name, *model = arguments
        ran = kpegasos(name, "data.npz", *model)
        sentence = "data.npz, example 8, column x2: a finite number must be there, got none"
        assert (ran.status, ran.out) == (1, "")
        assert ran.err == f"kpegasos {name}: {sentence}\n"


GOOD_MARKS = {
    "comments": b"# ours\n1 1:2 # two\n\n-1 1:1\n",
    "CRLF": b"1 1:2\r\n-1 1:1\r\n",
    "BOM": b"\xef\xbb\xbf1 1:2\n-1 1:1\n",
    "no end": b"1 1:2\n-1 1:1",
    "qid": b"1 qid:7 1:2\n-1 qid:7 1:1\n",
}


@pytest.mark.parametrize("name", GOOD_MARKS)
def test_marks_that_say_nothing_are_read_over(kpegasos, tmp_path, name):
    (tmp_path / "data").write_bytes(GOOD_MARKS[name])
    (tmp_path / "plain").write_bytes(b"1 1:2\n-1 1:1\n")
    assert kpegasos("train", "data").status == kpegasos("train", "plain").status == 0
    assert (tmp_path / "data.model").read_text() == (tmp_path / "plain.model").read_text()


@pytest.fixture
def models(kpegasos, tmp_path):
    """A good model of either format, as bytes."""
    write_examples(tmp_path / "data")
    kpegasos("train", "data", "m.model")
    kpegasos("train", "data", "m.skops")
    return {name: (tmp_path / name).read_bytes() for name in ("m.model", "m.skops")}


MODELS = {
    "cut text": ("m.model", lambda good: good[:-2000], "broken, line"),
    "no header": ("m.model", lambda good: good.partition(b"SV\n")[2], "got another file"),
    "other kind": ("m.model", lambda good: good.replace(b"c_svc", b"one_class"), "got one_class"),
    "no kernel": ("m.model", lambda good: good.replace(b"rbf", b"wavelet"), "line 2"),
    "support": ("m.model", lambda good: good.replace(b"SV\n", b"SV\nx "), "broken, line"),
    "cut zip": ("m.skops", lambda good: good[: len(good) // 2], "broken"),
    "damaged zip": ("m.skops", lambda good: good[:200] + b"\0" * 50 + good[250:], "broken"),
    "empty": ("m.model", lambda good: b"", "got another file"),
    "data": ("m.model", lambda good: b"1 1:2\n", "got another file"),
}


@pytest.mark.parametrize("name", MODELS)
def test_broken_models_are_one_sentence(kpegasos, tmp_path, models, name):
    source, broken, reason = MODELS[name]
    (tmp_path / "broken").write_bytes(broken(models[source]))
    ran = kpegasos("predict", "data", "broken", "out")
    assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert ran.err.startswith("kpegasos predict: ")
    assert reason in ran.err
    assert not (tmp_path / "out").exists()


def test_folders_and_missing_files_are_named(kpegasos, tmp_path):
    write_examples(tmp_path / "data")
    for arguments in (("train", "."), ("predict", "data", "."), ("scale", "missing")):
        ran = kpegasos(*arguments)
        assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert arguments[-1] in ran.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_hold_data_and_no_models(kpegasos, tmp_path):
    write_examples(tmp_path / "data", n_samples=500)
    os.mkfifo(tmp_path / "pipe")
    content = (tmp_path / "data").read_bytes()
    threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content], daemon=True).start()
    ran = kpegasos("info", "--no-forecast", "pipe")
    assert (ran.status, ran.err) == (0, "")
    assert "500 rows" in ran.out
    ran = kpegasos("predict", "data", "pipe")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == (
        "kpegasos predict: pipe: a model must be in a plain file, got a pipe or a device\n"
    )


@pytest.mark.parametrize("arguments", [("info", "-"), ("convert", "-", "out.csv")])
def test_errors_of_the_standard_input_name_it(kpegasos, arguments):
    ran = kpegasos(*arguments, stdin=b"1 1:2\n1 2:1 1:2\n")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"kpegasos {arguments[0]}: standard input, line 2: columns must")


@pytest.mark.parametrize("label", ["²", "two"])
def test_label_that_is_no_column_is_named(kpegasos, tmp_path, label):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    ran = kpegasos("train", "--label", label, "data.csv")
    assert ran.status == 1
    assert ran.err.endswith(f"one of the 2 columns of data.csv, got '{label}' instead\n")
