"""What `to_sklearn` opens: tools that know scikit-learn's own classes, or work better with them."""

import numpy as np
import pytest
from export_cases import LIBSVM_KERNELS, classifier, data, linear_classifier, regressors, targets
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    permutation_importance,
)
from sklearn.svm import SVC

N_CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def by_skl2onnx(model, X):
    """Outputs of the graph that skl2onnx makes, whose arithmetic is float32."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    from skl2onnx.common.data_types import FloatTensorType

    of_svc = {"raw_scores": True, "zipmap": False}
    options = of_svc if isinstance(model, SVC) else None
    graph = skl2onnx.convert_sklearn(
        model, initial_types=[("X", FloatTensorType([None, X.shape[1]]))], options=options
    )
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X.astype(np.float32)})


@N_CLASSES
@pytest.mark.parametrize("kernel", LIBSVM_KERNELS)
def test_skl2onnx_takes_a_kernel_model(kernel, n_classes):
    X, y, new = data(n_classes)
    ours = classifier(kernel).fit(X, y)
    labels, scores = by_skl2onnx(ours.to_sklearn(), new)
    np.testing.assert_array_equal(labels, ours.predict(new))
    expected = ours.decision_function(new)
    found = scores[:, 1] if n_classes == 2 else scores
    np.testing.assert_allclose(found, expected, atol=1e-4)


@N_CLASSES
def test_skl2onnx_takes_a_linear_model(n_classes):
    X, y, new = data(n_classes)
    ours = linear_classifier().fit(X, y)
    labels, _ = by_skl2onnx(ours.to_sklearn(), new)
    np.testing.assert_array_equal(labels, ours.predict(new))


@pytest.mark.parametrize("name", regressors())
def test_skl2onnx_takes_a_regressor(name):
    X, _, new = data()
    ours = regressors()[name].fit(X, targets(X))
    (found,) = by_skl2onnx(ours.to_sklearn(), new)
    np.testing.assert_allclose(found.ravel(), ours.predict(new), atol=1e-3)


def test_shap_explains_a_kernel_model():
    shap = pytest.importorskip("shap", reason="needs shap")
    X, y, new = data(2)
    ours = classifier().fit(X, y)
    explainer = shap.KernelExplainer(ours.to_sklearn().decision_function, X[:20])
    values = explainer.shap_values(new[:5], nsamples=50, silent=True)
    sums = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(sums, ours.decision_function(new[:5]), rtol=1e-9)


def test_shap_explains_a_linear_model():
    shap = pytest.importorskip("shap", reason="needs shap")
    X, y, new = data(2)
    ours = linear_classifier().fit(X, y)
    explainer = shap.LinearExplainer(ours.to_sklearn(), X)
    expected = ours.coef_[0] * (new - X.mean(axis=0))
    np.testing.assert_allclose(explainer.shap_values(new), expected, atol=1e-9)


@N_CLASSES
def test_calibration_is_that_of_the_estimator(n_classes):
    X, y, new = data(n_classes)
    ours = classifier().fit(X, y)
    of_ours, of_svc = (
        CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y).predict_proba(new)
        for model in (ours, ours.to_sklearn())
    )
    np.testing.assert_allclose(of_svc, of_ours, rtol=1e-9)


@N_CLASSES
def test_importances_are_those_of_the_estimator(n_classes):
    X, y, _ = data(n_classes)
    ours = classifier().fit(X, y)
    of_ours, of_svc = (
        permutation_importance(model, X, y, random_state=0).importances
        for model in (ours, ours.to_sklearn())
    )
    assert np.abs(of_ours).max() > 0
    np.testing.assert_array_equal(of_svc, of_ours)


@N_CLASSES
def test_boundaries_are_those_of_the_estimator(n_classes):
    X, y, _ = data(n_classes)
    X = X[:, :2]
    ours = classifier().fit(X, y)
    of_ours, of_svc = (
        DecisionBoundaryDisplay.from_estimator(model, X, response_method="predict").response
        for model in (ours, ours.to_sklearn())
    )
    assert len(np.unique(of_ours)) == n_classes
    np.testing.assert_array_equal(of_svc, of_ours)


def test_partial_dependence_is_that_of_the_estimator():
    X, y, _ = data(2)
    ours = classifier().fit(X, y)
    of_ours, of_svc = (
        PartialDependenceDisplay.from_estimator(model, X, [0]).pd_results[0]["average"]
        for model in (ours, ours.to_sklearn())
    )
    np.testing.assert_allclose(of_svc, of_ours, rtol=1e-9)


def test_copy_is_fitted_as_scikit_learn_does():
    X, y, _ = data(2)
    svc = clone(classifier(C=5.0).fit(X, y).to_sklearn())
    assert not hasattr(svc, "support_")
    assert svc.fit(X, y).score(X, y) > 0.6
    assert svc.C == 5.0
