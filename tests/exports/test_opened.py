"""What `to_sklearn` opens: tools that know scikit-learn's own classes."""

import numpy as np
import pytest
from export_cases import by_onnx, classifier, data, linear_classifier, regressors, targets

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "primal"])
def test_skl2onnx_takes_classifiers_and_regressors(kernel, n_classes):
    """Its arithmetic is float32."""
    X, y, new = data(n_classes)
    ours = (linear_classifier() if kernel == "primal" else classifier(kernel)).fit(X, y)
    for model in (ours, regressors()[kernel].fit(X, targets(X))):
        graph = skl2onnx.to_onnx(model.to_sklearn(), X[:1].astype(np.float32))
        found, *_ = by_onnx(graph.SerializeToString(), new.astype(np.float32)).values()
        np.testing.assert_allclose(found.ravel(), model.predict(new), atol=1e-3)
