"""What `to_sklearn` opens: tools that know scikit-learn's own classes, such as those of ONNX."""

import numpy as np
import pytest
from export_cases import LIBSVM_KERNELS, classifier, data, linear_classifier, regressors, targets
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


def by_onnx(model, X, **options):
    """Values that onnxruntime makes of rows, in float32, as skl2onnx does."""
    rows = X.astype(np.float32)
    graph = skl2onnx.to_onnx(model, rows[:1], options=options or None).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", [*LIBSVM_KERNELS, "primal"])
def test_onnx_takes_classifiers_and_regressors(kernel, n_classes):
    X, y, new = data(n_classes)
    classifies = (linear_classifier() if kernel == "primal" else classifier(kernel)).fit(X, y)
    regressor = regressors()[kernel].fit(X, targets(X))
    (found,) = by_onnx(regressor.to_sklearn(), new)
    np.testing.assert_allclose(found.ravel(), regressor.predict(new), atol=1e-3)
    if kernel == "primal":
        np.testing.assert_array_equal(
            by_onnx(classifies.to_sklearn(), new)[0], classifies.predict(new)
        )
        return
    labels, scores = by_onnx(classifies.to_sklearn(), new, raw_scores=True, zipmap=False)
    np.testing.assert_array_equal(labels, classifies.predict(new))
    decisions = scores[:, 1] if n_classes == 2 else scores
    np.testing.assert_allclose(decisions, classifies.decision_function(new), atol=1e-4)


def test_onnx_takes_a_pipeline():
    X, y, new = data(3)
    pipeline = make_pipeline(StandardScaler(), classifier()).fit(X, y)
    exported = make_pipeline(pipeline[0], pipeline[-1].to_sklearn())
    np.testing.assert_array_equal(by_onnx(exported, new)[0], pipeline.predict(new))
