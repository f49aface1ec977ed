"""``kpegasos export``: the same decisions in every format."""

from __future__ import annotations

import numpy as np
import pytest
from shell_cases import blobs
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import PegasosSVC, PegasosSVCCV, load, save
from kpegasos.cli.main import main


@pytest.fixture
def model(tmp_path):
    X, y = blobs()
    save(PegasosSVC(gamma=0.1, random_state=0).fit(X, y), tmp_path / "a.skops")
    return str(tmp_path / "a.skops")


def decisions_of(path):
    """Decisions of the blobs by a file, whatever it is."""
    X, _ = blobs()
    if path.suffix == ".model":
        return PegasosSVC.from_libsvm(path).decision_function(X)
    if path.suffix == ".skops":
        return load(path).decision_function(X)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(path)
    return session.run(["decision"], {"X": X})[0].ravel()


@pytest.mark.parametrize("ending", [".model", ".skops", ".onnx"])
def test_decisions_are_the_same(model, tmp_path, capsys, ending):
    if ending == ".onnx":
        pytest.importorskip("onnx")
    out = tmp_path / f"b{ending}"
    assert main(["export", model, str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: PegasosSVC as ")
    expected = load(model).decision_function(blobs()[0])
    np.testing.assert_allclose(decisions_of(out), expected, atol=1e-9)


def test_models_of_libsvm_go_elsewhere(model, tmp_path):
    assert main(["export", model, str(tmp_path / "b.model"), "-q"]) == 0
    assert main(["export", str(tmp_path / "b.model"), str(tmp_path / "b.skops"), "-q"]) == 0
    expected = load(model).decision_function(blobs()[0])
    np.testing.assert_allclose(decisions_of(tmp_path / "b.skops"), expected, atol=1e-9)


def test_format_may_be_told(model, tmp_path):
    assert main(["export", model, str(tmp_path / "b"), "--format", "native", "-q"]) == 0
    assert load(tmp_path / "b").get_params() == load(model).get_params()


def test_standard_output_is_a_file(model, tmp_path, capfdbinary):
    assert main(["export", model, "-", "--format", "libsvm"]) == 0
    (tmp_path / "b.model").write_bytes(capfdbinary.readouterr().out)
    expected = load(model).decision_function(blobs()[0])
    np.testing.assert_allclose(decisions_of(tmp_path / "b.model"), expected, atol=1e-9)


def test_search_is_exported_as_its_model(tmp_path):
    X, y = blobs()
    search = PegasosSVCCV([1.0], gammas=[0.1], cv=3, random_state=0).fit(X, y)
    save(search, tmp_path / "a.skops")
    assert main(["export", str(tmp_path / "a.skops"), str(tmp_path / "b.skops"), "-q"]) == 0
    np.testing.assert_allclose(
        decisions_of(tmp_path / "b.skops"), search.decision_function(X), atol=1e-9
    )


def test_probabilities_around_a_model_go_with_it(tmp_path):
    X, y = blobs()
    clf = CalibratedClassifierCV(PegasosSVC(gamma=0.1), ensemble=False).fit(X, y)
    save(clf, tmp_path / "a.skops")
    assert main(["export", str(tmp_path / "a.skops"), str(tmp_path / "b.model"), "-q"]) == 0
    read = PegasosSVC.from_libsvm(tmp_path / "b.model")
    np.testing.assert_allclose(read.predict_proba(X), clf.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("ending", [".model", ".onnx"])
@pytest.mark.parametrize("calibrated", [False, True])
def test_scaling_is_not_left_out_in_silence(tmp_path, capsys, ending, calibrated):
    X, y = blobs()
    model = make_pipeline(StandardScaler(), PegasosSVC())
    model = CalibratedClassifierCV(model, ensemble=False) if calibrated else model
    save(model.fit(X, y), tmp_path / "a.skops")
    assert main(["export", str(tmp_path / "a.skops"), str(tmp_path / f"b{ending}")]) == 1
    err = capsys.readouterr().err
    assert "has no place for StandardScaler; train on what 'kpegasos scale' writes" in err
    assert not (tmp_path / f"b{ending}").exists()


def test_whole_pipeline_stays_a_native_file(tmp_path):
    X, y = blobs()
    save(make_pipeline(StandardScaler(), PegasosSVC(random_state=0)).fit(X, y), tmp_path / "a")
    assert main(["export", str(tmp_path / "a"), str(tmp_path / "b.skops"), "-q"]) == 0
    np.testing.assert_array_equal(
        load(tmp_path / "b.skops").decision_function(X), load(tmp_path / "a").decision_function(X)
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "must be a model of kpegasos or LIBSVM"),
        (b"1 1:2\n", "must be a model of kpegasos or LIBSVM"),
        (b"svm_type nu_svm\n", "svm_type must be one of"),
        (b"svm_type c_svc\nkernel_type cubic\n", "line 2"),
        (b"PK\x03\x04", "a.bad"),
    ],
)
def test_broken_models_are_one_line(tmp_path, capsys, content, expected):
    (tmp_path / "a.bad").write_bytes(content)
    assert main(["export", str(tmp_path / "a.bad"), str(tmp_path / "b.skops")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("kpegasos export: ")
    assert err.count("\n") == 1
    assert expected in err


def test_what_a_format_cannot_say_is_one_line(tmp_path, capsys):
    X, y = blobs()
    save(PegasosSVC(kernel="cosine").fit(X, y), tmp_path / "a")
    assert main(["export", str(tmp_path / "a"), str(tmp_path / "b.model")]) == 1
    assert "kernel must be one that LIBSVM has" in capsys.readouterr().err
    assert not (tmp_path / "b.model").exists()


def test_name_that_tells_no_format_is_a_usage_error(model, capsys):
    assert main(["export", model, "b"]) == 2
    assert "--format must be given unless OUT ends in .model" in capsys.readouterr().err
