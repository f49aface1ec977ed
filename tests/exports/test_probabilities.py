"""Probabilities go with a model: to onnxruntime and svm-predict, and from svm-train."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from export_cases import classifier, data, linear_classifier, regressors, targets
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV, PegasosSVR
from kpegasos.estimators.classifier import couple

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
pytest.importorskip("onnx", reason="needs onnx")
needs_libsvm = pytest.mark.skipif(
    not (shutil.which("svm-train") and shutil.which("svm-predict")), reason="needs libsvm-tools"
)
N_CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 4])
SHAPES = pytest.mark.parametrize("shape", ["ovr", "ovo"])


def log_loss(make=classifier, **parameters):
    return make(loss="log_loss", **parameters)


def search(**parameters):
    options = {"Cs": [1.0, 10.0], "gammas": [0.05], "cv": 2, "random_state": 0, **parameters}
    return PegasosSVCCV(calibration="sigmoid", **options)


def by_onnx(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(X, np.float64)}), strict=True))


def assert_onnx_agrees(model, path, X, probabilities):
    found = by_onnx(path, X)
    assert list(found) == ["label", "decision", "probabilities"]
    np.testing.assert_allclose(found["probabilities"], probabilities, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["decision"], model.decision_function(X), rtol=1e-10)
    np.testing.assert_array_equal(found["label"], model.predict(X))


def by_libsvm(folder, model, X):
    """Classes, and probabilities with the classes in ascending order, of ``svm-predict -b 1``."""
    dump_svmlight_file(X, np.zeros(len(X)), str(folder / "rows"), zero_based=False)
    command = ["svm-predict", "-b", "1", "-q", folder / "rows", model, folder / "out"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    head, *lines = (folder / "out").read_text().splitlines()
    order = np.argsort(np.array(head.split()[1:], dtype=int))
    rows = np.array([list(map(float, line.split())) for line in lines])
    return rows[:, 0], rows[:, 1:][:, order]


# --- ONNX ---


@SHAPES
@N_CLASSES
@pytest.mark.parametrize("make", [classifier, linear_classifier])
def test_graph_has_the_probabilities_of_the_logistic_loss(make, n_classes, shape, tmp_path):
    X, y, new = data(n_classes)
    model = log_loss(make, decision_function_shape=shape).fit(X, y)
    model.to_onnx(tmp_path / "model")
    assert_onnx_agrees(model, tmp_path / "model", new, model.predict_proba(new))


def test_graph_couples_many_classes_and_decisions_of_any_size(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    model = log_loss(linear_classifier).fit(X, np.arange(200) % 9)
    for scale in (0.1, 10.0, 1000.0):
        model.coef_ = rng.normal(size=model.coef_.shape) * scale
        model.to_onnx(tmp_path / "model")
        found, expected = by_onnx(tmp_path / "model", X)["probabilities"], model.predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
        assert expected.max() > (0.99 if scale > 1 else 0.1)


def test_graph_without_probabilities_has_no_such_output(tmp_path):
    X, y, new = data(2)
    classifier().fit(X, y).to_onnx(tmp_path / "model")
    assert by_onnx(tmp_path / "model", new).keys() == {"label", "decision"}


@SHAPES
@N_CLASSES
def test_graph_has_the_probabilities_of_a_search(n_classes, shape, tmp_path):
    X, y, new = data(n_classes)
    model = search(decision_function_shape=shape).fit(X, y)
    model.to_onnx(tmp_path / "model")
    assert_onnx_agrees(model, tmp_path / "model", new, model.predict_proba(new))


def test_graph_of_a_search_leaves_isotonic_probabilities_out(tmp_path):
    X, y, new = data(2)
    model = search().set_params(calibration="isotonic").fit(X, y)
    model.to_onnx(tmp_path / "model")
    assert by_onnx(tmp_path / "model", new).keys() == {"label", "decision"}


def test_graph_of_a_search_without_a_calibrator_has_no_probabilities(tmp_path):
    X, y, new = data(2)
    model = search().set_params(calibration=None).fit(X, y).set_params(calibration="sigmoid")
    model.to_onnx(tmp_path / "model")  # there is no calibrator
    assert by_onnx(tmp_path / "model", new).keys() == {"label", "decision"}


@N_CLASSES
def test_graph_has_the_probabilities_that_scikit_learn_calibrated(n_classes, tmp_path):
    X, y, new = data(n_classes)
    model = classifier().fit(X, y)
    frozen = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    model.to_onnx(tmp_path / "model", calibrated=frozen)
    assert_onnx_agrees(model, tmp_path / "model", new, frozen.predict_proba(new))
    whole = CalibratedClassifierCV(classifier(), cv=3, ensemble=False).fit(X, y)
    inner = whole.calibrated_classifiers_[0].estimator
    inner.to_onnx(tmp_path / "model", calibrated=whole)
    assert_onnx_agrees(inner, tmp_path / "model", new, whole.predict_proba(new))


def test_graph_shares_probability_where_all_sigmoids_are_zero(tmp_path):
    X, y, new = data(3)
    model = classifier().fit(X, y)
    frozen = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    for calibrator in frozen.calibrated_classifiers_[0].calibrators:
        calibrator.a_, calibrator.b_ = 0.0, 1e4
    model.to_onnx(tmp_path / "model", calibrated=frozen)
    expected = frozen.predict_proba(new)
    np.testing.assert_array_equal(expected, 1 / 3)
    assert_onnx_agrees(model, tmp_path / "model", new, expected)


# --- LIBSVM ---


@needs_libsvm
@pytest.mark.parametrize("make", [classifier, linear_classifier])
def test_svm_predict_agrees_on_two_classes(make, tmp_path):
    X, y, new = data(2)
    model = log_loss(make).fit(X, y)
    model.to_libsvm(tmp_path / "model")
    labels, found = by_libsvm(tmp_path, tmp_path / "model", new)
    np.testing.assert_allclose(found, model.predict_proba(new), atol=1e-6)
    np.testing.assert_array_equal(labels, model.predict(new))


@needs_libsvm
def test_svm_predict_agrees_on_calibrated_models(tmp_path):
    X, y, new = data(2)
    model = classifier().fit(X, y)
    frozen = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    model.to_libsvm(tmp_path / "model", calibrated=frozen)
    found = by_libsvm(tmp_path, tmp_path / "model", new)[1]
    np.testing.assert_allclose(found, frozen.predict_proba(new), atol=1e-6)
    searched = search().fit(X, y)
    searched.to_libsvm(tmp_path / "model")
    found = by_libsvm(tmp_path, tmp_path / "model", new)[1]
    np.testing.assert_allclose(found, searched.predict_proba(new), atol=1e-6)


@needs_libsvm
@pytest.mark.parametrize("n_classes", [3, 4])
def test_svm_predict_agrees_on_several_classes_to_its_own_precision(n_classes, tmp_path):
    X, y, new = data(n_classes)
    model = log_loss().fit(X, y)
    model.to_libsvm(tmp_path / "model")
    found = by_libsvm(tmp_path, tmp_path / "model", new)[1]
    np.testing.assert_allclose(found, model.predict_proba(new), atol=0.005)


@N_CLASSES
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_probabilities_come_back(kernel, n_classes, tmp_path):
    X, y, new = data(n_classes)
    given = kernel == "precomputed"
    model = log_loss(kernel=kernel).fit(X @ X.T if given else X, y)
    model.to_libsvm(tmp_path / "model")
    back = PegasosSVC.from_libsvm(tmp_path / "model", n_features=len(X) if given else None)
    rows = new @ X.T if given else new
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(back.predict_proba(rows), expected, rtol=1e-9, atol=1e-12)
    logs = back.predict_log_proba(rows)
    np.testing.assert_array_equal(np.exp(logs).argmax(axis=1), expected.argmax(axis=1))
    back.to_libsvm(tmp_path / "again")
    assert (tmp_path / "again").read_text() == (tmp_path / "model").read_text()


@needs_libsvm
@N_CLASSES
def test_model_of_svm_train_has_its_probabilities(n_classes, tmp_path):
    X, y, new = data(n_classes)
    dump_svmlight_file(X, y, str(tmp_path / "train"), zero_based=False)
    command = ["svm-train", "-b", "1", "-q", "-g", "0.05", tmp_path / "train", tmp_path / "model"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    labels, found = by_libsvm(tmp_path, tmp_path / "model", new)
    # LIBSVM stops its coupling of more than two classes early.
    np.testing.assert_allclose(
        model.predict_proba(new), found, atol=1e-6 if n_classes == 2 else 5e-3
    )
    ours = model.classes_[model.predict_proba(new).argmax(axis=1)]
    two_best = np.sort(found, axis=1)[:, -2:]
    clear = two_best[:, 1] - two_best[:, 0] > 0.01
    assert clear.sum() > 20
    np.testing.assert_array_equal(ours[clear], labels[clear])


def test_probabilities_of_a_file_follow_the_order_of_its_classes(tmp_path):
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\nrho -1 -2 -3\n"
        "label 5 9 7\nprobA -1 -2 -3\nprobB 0.5 0.25 -1\nnr_sv 0 0 0\nSV\n"
    )
    (tmp_path / "model").write_text(text)
    model = PegasosSVC.from_libsvm(tmp_path / "model", n_features=1)
    f59, f57, f97 = expit([1 * 1 - 0.5, 2 * 2 - 0.25, 3 * 3 + 1])
    # Pairs (5, 7), (5, 9) and (7, 9).
    expected = couple(np.array([[f57, f59, 1 - f97]]), 3)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), expected, rtol=1e-12)


def test_fit_forgets_the_probabilities_of_a_file(tmp_path):
    X, y, _ = data(2)
    log_loss().fit(X, y).to_libsvm(tmp_path / "model")
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    assert hasattr(model, "predict_proba")
    model.fit(X, y)
    assert not hasattr(model, "predict_proba")


def test_file_of_a_search_leaves_probabilities_of_several_classes_out(tmp_path):
    X, y, _ = data(3)
    search().fit(X, y).to_libsvm(tmp_path / "model")
    assert "prob" not in (tmp_path / "model").read_text()
    assert not hasattr(PegasosSVC.from_libsvm(tmp_path / "model"), "predict_proba")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("probA -1", "line 8: probA and probB must both be there, or none"),
        ("probB -1", "line 8: probA and probB must both be there, or none"),
        ("probA -1 2\nprobB 1", "line 8: probA must have 1 entries, got 2"),
        ("probA -1\nprobB", "line 9: probB must have 1 entries, got 0"),
        ("probA nan\nprobB 1", "line 8: probA must be finite numbers, got 'nan' instead"),
    ],
)
def test_broken_probabilities_are_told_of(lines, message, tmp_path):
    path = tmp_path / "model"
    path.write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\nlabel 1 2\nnr_sv 0 0\n"
        f"{lines}\nSV\n"
    )
    with pytest.raises(ValueError, match=re.escape(f"{path}, {message}")):
        PegasosSVC.from_libsvm(path)


def test_width_of_a_regression_is_no_sigmoid(tmp_path):
    path = tmp_path / "model"
    path.write_text(
        "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\nprobA 0.5\nSV\n"
    )
    np.testing.assert_array_equal(PegasosSVR.from_libsvm(path).predict([[1.0]]), 0.0)


# --- what is no calibration of the model ---


@pytest.mark.parametrize("method", ["to_onnx", "to_libsvm"])
def test_other_calibrations_are_told_of(method, tmp_path):
    X, y, _ = data(2)
    model, path = classifier().fit(X, y), tmp_path / "model"
    write = getattr(model, method)
    frozen = FrozenEstimator(model)
    several = CalibratedClassifierCV(classifier(), cv=2).fit(X, y)
    other = CalibratedClassifierCV(FrozenEstimator(classifier().fit(X, y))).fit(X, y)
    isotonic = CalibratedClassifierCV(frozen, method="isotonic").fit(X, y)
    for calibrated, kind, message in [
        (3, TypeError, "calibrated must be a CalibratedClassifierCV or None, got 3 instead"),
        (CalibratedClassifierCV(frozen), NotFittedError, "not fitted yet"),
        (several, ValueError, "calibrated must have one model, as with ensemble=False, got 2"),
        (other, ValueError, "calibrated must be fitted around this very estimator"),
        (isotonic, ValueError, "calibrated must have the method 'sigmoid', got 'isotonic'"),
    ]:
        with pytest.raises(kind, match=message):
            write(path, calibrated=calibrated)
    assert list(tmp_path.iterdir()) == []


def test_calibration_of_pairs_is_refused(tmp_path):
    X, y, _ = data(3)
    model = classifier(decision_function_shape="ovo").fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    with pytest.raises(ValueError, match="calibrated must be of decisions with decision_function"):
        model.to_onnx(tmp_path / "model", calibrated=calibrated)


def test_calibration_of_several_classes_is_refused_for_libsvm(tmp_path):
    X, y, _ = data(3)
    model = classifier().fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    with pytest.raises(ValueError, match="calibrated must be of two classes for LIBSVM, which"):
        model.to_libsvm(tmp_path / "model", calibrated=calibrated)


def test_regressor_has_no_calibration(tmp_path):
    X, y, _ = data(2)
    model = regressors()["rbf"].fit(X, targets(X))
    calibrated = CalibratedClassifierCV(LinearPegasosSVC(), ensemble=False).fit(X, y)
    with pytest.raises(ValueError, match="calibrated must be None of a regressor, got Calibrated"):
        model.to_onnx(tmp_path / "model", calibrated=calibrated)


def test_search_becomes_what_its_model_becomes(tmp_path):
    X, y, new = data(3)
    model = search().fit(X, y)
    svc = model.to_sklearn()
    np.testing.assert_array_equal(svc.predict(new), model.predict(new))
    np.testing.assert_allclose(svc.decision_function(new), model.decision_function(new))
    model.to_libsvm(tmp_path / "model")
    model.best_estimator_.to_libsvm(tmp_path / "best")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "best").read_bytes()


@pytest.mark.parametrize("fitted", [False, True])
def test_search_without_a_model_becomes_nothing(fitted, tmp_path):
    model = search(refit=False).set_params(calibration=None)
    if fitted:
        model.fit(*data(2)[:2])
    reason = "has no model of all examples to write" if fitted else "not fitted yet"
    for write in (model.to_sklearn, lambda: model.to_libsvm(tmp_path / "model")):
        with pytest.raises(NotFittedError, match=reason):
            write()
