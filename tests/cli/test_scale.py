"""``kpegasos scale``: limits, standard scores, files of ranges, tables."""

import numpy as np
import pytest
from cli_cases import examples, write_rows
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler, minmax_scale

from kpegasos.datasets import load_svmlight, read_table


def matrix_of(path):
    return load_svmlight(path, dtype=np.float64)[0].toarray()


@pytest.mark.parametrize("full", [True, False])
def test_standard_scores_are_those_of_scikit_learn(kpegasos, tmp_path, full):
    X, y = examples()
    X = 3.0 * X + 5.0 * (X != 0)
    X[:, 4] = 0.0
    if not full:
        X[np.abs(X) > 4.0] = 0.0
    write_rows(tmp_path / "data", X, y)
    ran = kpegasos("scale", "--method", "standard", "--exact", "-s", "ranges", "data", "out")
    assert (ran.status, ran.err) == (0, "")
    wanted = StandardScaler(with_mean=full).fit_transform(X)
    np.testing.assert_allclose(matrix_of("out"), wanted, rtol=0, atol=1e-12)
    write_rows(tmp_path / "few", X[:7], y[:7])
    kpegasos("scale", "-r", "ranges", "--exact", "few", "out")
    np.testing.assert_allclose(matrix_of("out"), wanted[:7], rtol=0, atol=1e-12)


def test_labels_that_svmlight_cannot_hold_are_refused_before_a_file_is_written(refusal, tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,cat\n2,dog\n")
    said = refusal("scale", "-s", "ranges", "a.csv", "a.svm")
    assert "a.csv: labels must be numbers for svmlight, got 'cat'" in said
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_zeros_that_are_lost_are_told(kpegasos, tmp_path):
    X, y = examples()
    write_rows(tmp_path / "data", np.where(np.abs(X) > 0.7, X, 0.0), y)
    assert "zeros become other numbers" in kpegasos("scale", "data", "out").err
    assert kpegasos("scale", "-q", "data", "out").err == ""
    write_rows(tmp_path / "positive", np.where(X > 0.7, X, 0.0), y)
    assert kpegasos("scale", "-l", "0", "positive", "out").err == ""
    before, after = (load_svmlight(tmp_path / name)[0].nnz for name in ("positive", "out"))
    assert before == after


@pytest.mark.parametrize("out", ["out.npz", "out.svm.gz", "out.csv"])
def test_sparse_rows_whose_zeros_stay_are_never_dense(kpegasos, tmp_path, monkeypatch, out):
    X, y = examples()
    write_rows(tmp_path / "data", np.where(X > 0.7, X, 0.0), y)
    kpegasos("scale", "--exact", "-l", "0", "data", "wanted.svm")
    wanted, _ = load_svmlight(tmp_path / "wanted.svm", dtype=np.float64)
    with monkeypatch.context() as patched:
        if out != "out.csv":
            patched.setattr("scipy.sparse.csr_matrix.toarray", lambda *_: pytest.fail("all zeros"))
        assert kpegasos("scale", "-l", "0", "data", out).status == 0
    found = read_table(tmp_path / out, dtype=np.float64).X
    found = found.toarray() if issparse(found) else found
    np.testing.assert_array_equal(found, wanted.toarray())


def test_streams_and_blocks_of_rows_are_scaled_as_files_are(kpegasos, tmp_path, monkeypatch):
    X, y = examples()
    write_rows(tmp_path / "data", X, y)
    kpegasos("scale", "-s", "ranges", "data", "out")
    assert kpegasos("scale", "data").out == (tmp_path / "out").read_text()
    wanted = minmax_scale(X, (-1.0, 1.0))
    np.testing.assert_allclose(matrix_of("out"), wanted, rtol=0, atol=1e-6)
    monkeypatch.setattr("kpegasos.cli.scale._BLOCK", 8 * 13 * 7)
    ran = kpegasos("scale", "-", "-s", "-", "again", stdin=(tmp_path / "data").read_bytes())
    assert ran.out == (tmp_path / "ranges").read_text()
    assert (tmp_path / "again").read_text() == (tmp_path / "out").read_text()


BROKEN = {
    "": "line 1: must be there, but the file ends",
    "z\n": "line 1: must be 'x' or 'standard', got 'z'",
    "x\n-1 1\n\n1 0 nan\n": "line 4: must hold 3 finite numbers, got '1 0 nan'",
    "x\n-1 1\n0 0 1\n": "line 3: must begin with the number of a feature, from 1 on, got '0 0 1'",
    "y\n0 1\n0 one\nx\n": "line 3: must hold 2 finite numbers, got '0 one'",
    "standard\n1.5 0 1\n": "line 2: must begin with the number of a feature",
}


@pytest.mark.parametrize("content", BROKEN)
def test_broken_ranges_are_named_with_their_line(refusal, tmp_path, content):
    X, y = examples()
    write_rows(tmp_path / "data", X, y)
    (tmp_path / "ranges").write_text(content)
    sentence = refusal("scale", "-r", "ranges", "data", "out")
    assert sentence.startswith(f"ranges, {BROKEN[content]}")
