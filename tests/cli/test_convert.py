"""``kpegasos convert`` and ``export``: the same numbers and decisions in every format."""

import numpy as np
import pytest
from cli_cases import blobs, write_blobs
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import PegasosSVC, PegasosSVCCV, load, save
from kpegasos.datasets import read_table, write_table


@pytest.mark.parametrize("name", ["a.libsvm.xz", "a.tsv.bz2", "a.npz", "a.npy"])
def test_numbers_are_the_same_there_and_back(kpegasos, tmp_path, name):
    said = kpegasos("convert", write_blobs(tmp_path / "data"), name).out
    assert said.startswith(f"{name}: 120 rows, 3 features, labels, ")
    label = ["--label", "last"] if name.endswith(".npy") else []
    assert kpegasos("convert", name, "back.svm", *label).status == 0
    found = read_table("back.svm")
    for part, expected in zip((found.X.toarray(), found.y), blobs(), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_format_streams_names_and_width_may_be_told(kpegasos, tmp_path):
    content = b"width,kind,height\n1,cat,2\n3,dog,4\n"
    (tmp_path / "a.csv").write_bytes(content)
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

MODELS = {
    "plain": lambda: PegasosSVC(gamma=0.1, random_state=0),
    "scaled": lambda: make_pipeline(StandardScaler(), PegasosSVC(random_state=0)),
    "search": lambda: PegasosSVCCV([1.0], gammas=[0.1], cv=3, random_state=0),
    "calibrated": lambda: CalibratedClassifierCV(PegasosSVC(gamma=0.1), ensemble=False),
}


@pytest.fixture
def models(tmp_path):
    """Fitted models, each in a file of its name."""
    fitted = {name: make().fit(*blobs()) for name, make in MODELS.items()}
    for name, model in fitted.items():
        save(model, tmp_path / name)
    return fitted


def test_exported_model_has_the_same_decisions(kpegasos, models, tmp_path):
    (X, _), decisions = blobs(), models["plain"].decision_function(blobs()[0])
    for name, out in (("plain", "p.skops"), ("scaled", "s.skops"), ("search", "c.skops")):
        assert kpegasos("export", name, out).out.startswith(f"{out}: Pegasos" * (name == "plain"))
        expected = models[name].decision_function(X)
        np.testing.assert_allclose(load(out).decision_function(X), expected, atol=1e-9)
    assert kpegasos("export", "plain", "p.model").status == 0
    assert kpegasos("export", "p.model", "again", "--format", "native", "-q").status == 0
    np.testing.assert_allclose(load("again").decision_function(X), decisions, atol=1e-9)
    (tmp_path / "out.model").write_text(kpegasos("export", "plain", "-", "--format", "libsvm").out)
    assert (tmp_path / "out.model").read_text() == (tmp_path / "p.model").read_text()
    assert kpegasos("export", "calibrated", "b.model", "-q").status == 0
    found = PegasosSVC.from_libsvm("b.model").predict_proba(X)
    np.testing.assert_allclose(found, models["calibrated"].predict_proba(X), atol=1e-6)
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    for name in ("plain", "scaled"):
        assert kpegasos("export", name, "p.onnx").status == 0
        found = onnxruntime.InferenceSession("p.onnx").run(["decision"], {"X": X})[0].ravel()
        np.testing.assert_allclose(found, models[name].decision_function(X), atol=1e-9)


@pytest.mark.parametrize("ending", [".model", ".onnx"])
@pytest.mark.usefixtures("models")
def test_what_a_format_cannot_say_is_one_line(refusal, ending):
    save(CalibratedClassifierCV(MODELS["scaled"](), ensemble=False).fit(*blobs()), "both")
    save(PegasosSVC(kernel="cosine").fit(*blobs()), "cosine")
    place = "has no place for StandardScaler; train on what 'kpegasos scale' writes"
    wrong = {"scaled": place, "both": place, "cosine": "kernel must be one that LIBSVM has"}
    for name in wrong if ending == ".model" else ("both",):
        assert wrong[name] in refusal("export", name, f"b{ending}")
