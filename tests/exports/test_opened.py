"""What `to_sklearn` opens: tools that know scikit-learn's own classes."""

import numpy as np
import pytest
from export_cases import (
    LIBSVM_KERNELS,
    by_onnx,
    classifier,
    data,
    linear_classifier,
    regressors,
    targets,
)
from sklearn.svm import SVC


def by_skl2onnx(model, X):
    """Outputs of the graph that skl2onnx makes, whose arithmetic is float32."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType

    options = {"raw_scores": True, "zipmap": False} if isinstance(model, SVC) else None
    of_rows = [("X", FloatTensorType([None, X.shape[1]]))]
    graph = skl2onnx.convert_sklearn(model, initial_types=of_rows, options=options)
    return list(by_onnx(graph.SerializeToString(), X.astype(np.float32)).values())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", [*LIBSVM_KERNELS, "primal"])
def test_skl2onnx_takes_classifiers_and_regressors(kernel, n_classes):
    X, y, new = data(n_classes)
    ours = (linear_classifier() if kernel == "primal" else classifier(kernel)).fit(X, y)
    labels, scores = by_skl2onnx(ours.to_sklearn(), new)
    np.testing.assert_array_equal(labels, ours.predict(new))
    if kernel != "primal":
        found = scores[:, 1] if n_classes == 2 else scores
        np.testing.assert_allclose(found, ours.decision_function(new), atol=1e-4)
    regressor = regressors()[kernel].fit(X, targets(X))
    (found,) = by_skl2onnx(regressor.to_sklearn(), new)
    np.testing.assert_allclose(found.ravel(), regressor.predict(new), atol=1e-3)
