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

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", [*LIBSVM_KERNELS, "primal"])
def test_skl2onnx_takes_classifiers_and_regressors(kernel, n_classes):
    """Its arithmetic is float32."""
    X, y, new = data(n_classes)
    classifies = (linear_classifier() if kernel == "primal" else classifier(kernel)).fit(X, y)
    for model in (classifies, regressors()[kernel].fit(X, targets(X))):
        scores = model is classifies and kernel != "primal"
        options = {"raw_scores": True, "zipmap": False} if scores else None
        rows = X[:1].astype(np.float32)
        graph = skl2onnx.to_onnx(model.to_sklearn(), rows, options=options)
        found, *others = by_onnx(graph.SerializeToString(), new.astype(np.float32)).values()
        np.testing.assert_allclose(found.ravel(), model.predict(new), atol=1e-3)
        if scores:
            decisions = others[0][:, 1] if n_classes == 2 else others[0]
            np.testing.assert_allclose(decisions, model.decision_function(new), atol=1e-4)
