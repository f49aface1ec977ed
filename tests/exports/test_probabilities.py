"""Probabilities go with a model: to onnxruntime and svm-predict, and from svm-train."""

from functools import partial

import numpy as np
import pytest
from cli_cases import libsvm, needs_libsvm
from covering import each_pair
from export_cases import (
    as_taken,
    by_onnx,
    classifier,
    data,
    linear_classifier,
    regressors,
    search,
    targets,
)
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from kpegasos import PegasosSVC
from kpegasos.estimators.base import couple

pytest.importorskip("onnx", reason="needs onnx")


def log_loss(make=classifier, **parameters):
    return make(loss="log_loss", **parameters)


def assert_onnx_agrees(model, path, X, probabilities):
    found = by_onnx(path, X)
    assert list(found) == ["label", "decision", "probabilities"]
    np.testing.assert_allclose(found["probabilities"], probabilities, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["decision"], model.decision_function(X), rtol=1e-10)
    np.testing.assert_array_equal(found["label"], model.predict(X))


def by_libsvm(folder, model, X):
    """Classes, and probabilities with the classes in ascending order, of ``svm-predict -b 1``."""
    dump_svmlight_file(X, np.zeros(len(X)), str(folder / "rows"), zero_based=False)
    libsvm("svm-predict", "-b", "1", "-q", folder / "rows", model, folder / "out")
    head, *lines = (folder / "out").read_text().splitlines()
    order = np.argsort(np.array(head.split()[1:], dtype=int))
    rows = np.array([list(map(float, line.split())) for line in lines])
    return rows[:, 0], rows[:, 1:][:, order]


# --- ONNX ---


@each_pair(
    make=[log_loss, partial(log_loss, linear_classifier), partial(search, calibration="sigmoid")],
    n_classes=[2, 3],
    shape=["ovr", "ovo"],
)
def test_graph_has_the_probabilities_of_its_model(make, n_classes, shape, tmp_path):
    X, y, new = data(n_classes)
    model = make(decision_function_shape=shape).fit(X, y)
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


def test_graph_has_no_probabilities_where_there_is_no_sigmoid(tmp_path):
    X, y, new = data(2)
    isotonic = search(calibration="isotonic").fit(X, y)
    without = search().fit(X, y).set_params(calibration="sigmoid")
    for model in (classifier().fit(X, y), isotonic, without):
        model.to_onnx(tmp_path / "model")
        assert by_onnx(tmp_path / "model", new).keys() == {"label", "decision"}


@pytest.mark.parametrize("n_classes", [2, 4])
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
    # Classes share the probability where all sigmoids are zero.
    for calibrator in frozen.calibrated_classifiers_[0].calibrators:
        calibrator.a_, calibrator.b_ = 0.0, 1e4
    model.to_onnx(tmp_path / "model", calibrated=frozen)
    assert_onnx_agrees(model, tmp_path / "model", new, frozen.predict_proba(new))


# --- LIBSVM ---


@needs_libsvm
@pytest.mark.parametrize(
    ("make", "n_classes"), [(classifier, 2), (classifier, 4), (linear_classifier, 3)]
)
def test_svm_predict_agrees_to_its_own_precision(make, n_classes, tmp_path):
    X, y, new = data(n_classes)
    model = log_loss(make).fit(X, y)
    model.to_libsvm(tmp_path / "model")
    labels, found = by_libsvm(tmp_path, tmp_path / "model", new)
    # LIBSVM stops its coupling of more than two classes early.
    tolerance = 1e-6 if n_classes == 2 else 0.005
    np.testing.assert_allclose(found, model.predict_proba(new), atol=tolerance)
    if n_classes == 2:
        np.testing.assert_array_equal(labels, model.predict(new))


@needs_libsvm
def test_svm_predict_agrees_on_calibrated_models(tmp_path):
    X, y, new = data(2)
    frozen = CalibratedClassifierCV(FrozenEstimator(classifier().fit(X, y))).fit(X, y)
    searched = search(calibration="sigmoid").fit(X, y)
    frozen.estimator.estimator.to_libsvm(tmp_path / "frozen", calibrated=frozen)
    searched.to_libsvm(tmp_path / "searched")
    for name, each in (("frozen", frozen), ("searched", searched)):
        found = by_libsvm(tmp_path, tmp_path / name, new)[1]
        np.testing.assert_allclose(found, each.predict_proba(new), atol=1e-6)


@pytest.mark.parametrize(("kernel", "n_classes"), [("linear", 4), ("rbf", 2), ("precomputed", 3)])
def test_probabilities_come_back(kernel, n_classes, tmp_path):
    X, y, new = data(n_classes)
    X, rows = as_taken(kernel, X, new)
    model = log_loss(kernel=kernel).fit(X, y)
    model.to_libsvm(tmp_path / "model")
    back = PegasosSVC.from_libsvm(tmp_path / "model", n_features=X.shape[1])
    expected = model.predict_proba(rows)
    np.testing.assert_allclose(back.predict_proba(rows), expected, rtol=1e-9, atol=1e-12)
    logs = back.predict_log_proba(rows)
    np.testing.assert_array_equal(np.exp(logs).argmax(axis=1), expected.argmax(axis=1))
    back.to_libsvm(tmp_path / "again")
    assert (tmp_path / "again").read_text() == (tmp_path / "model").read_text()
    back.fit(X, y)
    assert not hasattr(back, "predict_proba"), "the loss of a model that was read is the hinge"


@needs_libsvm
@pytest.mark.parametrize("n_classes", [2, 3])
def test_model_of_svm_train_has_its_probabilities(n_classes, tmp_path):
    X, y, new = data(n_classes)
    dump_svmlight_file(X, y, str(tmp_path / "train"), zero_based=False)
    libsvm("svm-train", "-b", "1", "-q", "-g", "0.05", tmp_path / "train", tmp_path / "model")
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    found = by_libsvm(tmp_path, tmp_path / "model", new)[1]
    tolerance = 1e-6 if n_classes == 2 else 0.005
    np.testing.assert_allclose(model.predict_proba(new), found, atol=tolerance)


def test_probabilities_of_a_file_follow_the_order_of_its_classes(tmp_path):
    (tmp_path / "model").write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 0\nrho -1 -2 -3\n"
        "label 5 9 7\nprobA -1 -2 -3\nprobB 0.5 0.25 -1\nnr_sv 0 0 0\nSV\n"
    )
    model = PegasosSVC.from_libsvm(tmp_path / "model", n_features=1)
    f59, f57, f97 = expit([1 * 1 - 0.5, 2 * 2 - 0.25, 3 * 3 + 1])
    # Pairs (5, 7), (5, 9) and (7, 9).
    expected = couple(np.array([[f57, f59, 1 - f97]]), 3)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), expected, rtol=1e-12)


# --- what is no calibration of the model ---


@pytest.mark.parametrize("method", ["to_onnx", "to_libsvm"])
def test_other_calibrations_are_told_of(method, tmp_path):
    (X, y, _), (X3, y3, _) = data(2), data(3)
    model, regressor = classifier().fit(X, y), regressors()["rbf"].fit(X, targets(X))
    shape, pairs = {
        "to_onnx": ("ovo", "calibrated must be of decisions with decision_function"),
        "to_libsvm": ("ovr", "calibrated must be of two classes for LIBSVM, which"),
    }[method]
    three = classifier(decision_function_shape=shape).fit(X3, y3)
    frozen = FrozenEstimator(model)
    several = CalibratedClassifierCV(classifier(), cv=2).fit(X, y)
    other = CalibratedClassifierCV(FrozenEstimator(classifier().fit(X, y))).fit(X, y)
    isotonic = CalibratedClassifierCV(frozen, method="isotonic").fit(X, y)
    of_three = CalibratedClassifierCV(FrozenEstimator(three)).fit(X3, y3)
    for written, calibrated, kind, message in [
        (model, 3, TypeError, "calibrated must be a CalibratedClassifierCV or None, got 3 instead"),
        (model, CalibratedClassifierCV(frozen), NotFittedError, "not fitted yet"),
        (model, several, ValueError, "calibrated must have one model, as with ensemble=False, got"),
        (model, other, ValueError, "calibrated must be fitted around this very estimator"),
        (model, isotonic, ValueError, "calibrated must have the method 'sigmoid', got 'isotonic'"),
        (three, of_three, ValueError, pairs),
        (regressor, several, ValueError, "calibrated must be None of a regressor, got Calibrated"),
    ]:
        with pytest.raises(kind, match=message):
            getattr(written, method)(tmp_path / "model", calibrated=calibrated)
    assert list(tmp_path.iterdir()) == []


def test_model_that_is_not_fitted_is_told_of(tmp_path):
    X, y, _ = data(2)
    path, message = tmp_path / "model", "not fitted yet|has no model of all examples to write"
    for model in (classifier(), regressors()["primal"], search(), search(refit=False).fit(X, y)):
        to_files = (partial(each, path) for each in (model.to_onnx, model.to_libsvm))
        for write in (model.to_sklearn, *to_files):
            with pytest.raises(NotFittedError, match=message):
                write()
    assert not path.exists()
