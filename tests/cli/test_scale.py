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


def test_zeros_that_are_lost_are_told(kpegasos, tmp_path):
    X, y = examples()
    write_rows(tmp_path / "data", np.where(np.abs(X) > 0.7, X, 0.0), y)
    assert "zeros become other numbers" in kpegasos("scale", "data", "out").err
    assert kpegasos("scale", "-q", "data", "out").err == ""


@pytest.mark.parametrize("out", ["out.npz", "out.svm.gz", "out.csv"])
def test_sparse_rows_whose_zeros_stay_are_never_dense(kpegasos, tmp_path, monkeypatch, out):
    X, y = examples()
    X[X < 0.7] = 0.0
    write_rows(tmp_path / "data", X, y)
    with monkeypatch.context() as patched:
        if out != "out.csv":
            patched.setattr("scipy.sparse.csr_matrix.toarray", lambda *_: pytest.fail("all zeros"))
        ran = kpegasos("scale", "--exact", "-l", "0", "data", out)
        assert (ran.status, ran.err) == (0, "")
    found = read_table(tmp_path / out, dtype=np.float64).X
    found = found.toarray() if issparse(found) else found
    np.testing.assert_allclose(found, minmax_scale(X), rtol=0, atol=1e-12)


def test_streams_and_blocks_of_rows_are_scaled_as_files_are(kpegasos, data, tmp_path, monkeypatch):
    kpegasos("scale", "-s", "ranges", "data", "out")
    scaled = (tmp_path / "out").read_text()
    assert kpegasos("scale", "data").out == scaled
    wanted = minmax_scale(examples()[0], (-1.0, 1.0))
    np.testing.assert_allclose(matrix_of("out"), wanted, rtol=0, atol=1e-6)
    monkeypatch.setattr("kpegasos.cli.scale._BLOCK", 8 * 13 * 7)
    ran = kpegasos("scale", "-", "-s", "-", "again", stdin=data.read_bytes())
    assert ran.out == (tmp_path / "ranges").read_text()
    assert (tmp_path / "again").read_text() == scaled
