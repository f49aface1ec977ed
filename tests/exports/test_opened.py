"""What `to_sklearn` opens: tools that know scikit-learn's own classes."""

import numpy as np
import pytest
from export_cases import LIBSVM_KERNELS, classifier, data, linear_classifier, regressors, targets
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
