"""``kpegasos convert`` and ``export``: the same numbers and decisions in every format."""

import numpy as np
import pytest
from cli_cases import blobs
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import PegasosSVC, PegasosSVCCV, load, save
from kpegasos.datasets import read_table, write_table


def test_format_streams_names_and_width_may_be_told(kpegasos, tmp_path):
    (tmp_path / "a.csv").write_text("width,kind,height\n1,cat,2\n3,dog,4\n")
    assert kpegasos("convert", "a.csv", "a.npz", "--label", "kind", "-q").status == 0
    found = read_table("a.npz")
    assert (found.feature_names, found.y.tolist()) == (("width", "height"), ["cat", "dog"])
    to = ["--from", "svmlight", "--to", "csv", "--n-features", "5"]
    assert kpegasos("convert", "-", "b", *to, stdin=b"0 1:2\n1 3:4\n").status == 0
    assert read_table("b").X.tolist() == [[2.0, 0, 0, 0, 0], [0, 0, 4.0, 0, 0]]
    assert kpegasos("convert", "a.csv", "-", "--label", "kind", "--to", "csv", "-q").out == (
        "width,height,label\n1,2,cat\n3,4,dog\n"
    )


def test_dense_form_that_memory_has_no_room_for_is_refused(
    kpegasos, refusal, tmp_path, monkeypatch
):
    X = sparse.csr_matrix(([1.0, 2.0], ([0, 99], [0, 99_999])), shape=(100, 100_000))
    write_table(tmp_path / "wide.npz", X, np.arange(100))
    monkeypatch.setattr("kpegasos.utils.memory.free_memory", lambda: 79 * 10**6)
    for name in ("wide.csv", "wide.parquet", "wide.npy"):
        sentence = refusal("convert", "wide.npz", name)
        assert "wide.npz: 100 x 100000 entries take 76 MiB" in sentence
        assert "75 MiB of memory are free; npz and svmlight keep sparse data" in sentence
    assert kpegasos("convert", "wide.npz", "wide.svm").status == 0
    assert kpegasos("convert", "wide.svm", "back.npz").status == 0
    assert (read_table("back.npz").X != X).nnz == 0


# --- models ---

CALIBRATED = CalibratedClassifierCV(PegasosSVC(gamma=0.1), ensemble=False)
SCALED = make_pipeline(StandardScaler(), PegasosSVC(random_state=0))


def test_exported_model_has_the_same_decisions(kpegasos):
    def export(model, *arguments):
        save(model.fit(X, y), "in")
        assert kpegasos("export", "in", *arguments).status == 0
        return model.decision_function(X)

    X, y = blobs()
    search = PegasosSVCCV([1.0], gammas=[0.1], cv=3, random_state=0)
    plain = PegasosSVC(gamma=0.1, random_state=0)
    for model in (SCALED, search, plain):
        expected = export(model, "m.skops")
        np.testing.assert_allclose(load("m.skops").decision_function(X), expected, atol=1e-9)
    expected = export(plain, "p.model")
    assert kpegasos("export", "p.model", "again", "--format", "native", "-q").status == 0
    np.testing.assert_allclose(load("again").decision_function(X), expected, atol=1e-9)
    with open("p.model") as file:
        assert kpegasos("export", "in", "-", "--format", "libsvm").out == file.read()
    save(CALIBRATED.fit(X, y), "in")
    assert kpegasos("export", "in", "b.model", "-q").status == 0
    found = PegasosSVC.from_libsvm("b.model").predict_proba(X)
    np.testing.assert_allclose(found, CALIBRATED.predict_proba(X), atol=1e-6)
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    for model in (SCALED, plain):
        expected = export(model, "p.onnx")
        found = onnxruntime.InferenceSession("p.onnx").run(["decision"], {"X": X})[0].ravel()
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_a_format_cannot_say_is_one_line(refusal, tmp_path):
    both = CalibratedClassifierCV(SCALED, ensemble=False)
    place = "has no place for StandardScaler; train on what 'kpegasos scale' writes"
    for model, ending, sentence in (
        (SCALED, ".model", place),
        (both, ".model", place),
        (both, ".onnx", place),
        (PegasosSVC(kernel="cosine"), ".model", "kernel must be one that LIBSVM has"),
    ):
        save(model.fit(*blobs()), tmp_path / "in")
        assert sentence in refusal("export", "in", f"b{ending}")
