"""`to_onnx`: onnxruntime agrees with the estimators on labels, ties included, and decisions."""

import sys
from functools import partial

import numpy as np
import pytest
from covering import each_pair
from export_cases import (
    KERNELS,
    as_taken,
    by_onnx,
    classifier,
    data,
    linear_classifier,
    regressors,
    targets,
)
from rejections import refusal
from row_cases import peak_mb
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from kpegasos import RBF, Laplacian, Linear, PegasosSVC, Polynomial
from kpegasos.exports import onnx as onnx_graph
from kpegasos.exports.onnx import pipeline_to_onnx

onnx = pytest.importorskip("onnx", reason="needs onnx")


def assert_same(model, path, X, tolerance=1e-10):
    """A graph decides as its model does, by primitive operators and constants that it needs."""
    model.to_onnx(path)
    found = by_onnx(path, np.asarray(X.todense() if hasattr(X, "todense") else X, np.float64))
    assert found.keys() == {"label", "decision"}
    decisions = model.decision_function(X)
    assert found["decision"].shape == decisions.shape
    np.testing.assert_allclose(found["decision"], decisions, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    read = onnx.load(path)
    onnx.checker.check_model(read, full_check=True)
    assert {each.domain for each in read.opset_import} == {""}
    shape = read.graph.input[0].type.tensor_type.shape.dim
    assert [shape[0].dim_param, shape[1].dim_value] == ["n_samples", X.shape[1]]
    inner = [x for node in read.graph.node for a in node.attribute for x in a.g.node]
    used = {name for node in (*read.graph.node, *inner) for name in node.input}
    assert {each.name for each in read.graph.initializer} <= used
    made = [name for node in inner for name in node.output]
    assert len(set(made)) == len(made)


COMPOSED = [
    RBF(0.1) + 0.5 * Linear(),
    Laplacian(0.1) * RBF(0.2) + Laplacian(0.5),
    2.0 * (Polynomial(0.1, 2, 1.0) * RBF(0.05)),
]


@each_pair(
    kernel=[*KERNELS, "chi2", "additive_chi2", "primal", "precomputed", *COMPOSED],
    n_classes=[2, 4],
    shape=["ovr", "ovo"],
)
def test_graph_of_a_kernel_agrees(kernel, n_classes, shape, tmp_path):
    X, y, new = data(n_classes, kind="sparse" if kernel == "primal" else "dense")
    X, new = as_taken(kernel, X, new)
    if kernel in ("chi2", "additive_chi2"):
        new[0] = X[0] = 0.0
    make = linear_classifier if kernel == "primal" else partial(classifier, kernel)
    assert_same(make(decision_function_shape=shape).fit(X, y), tmp_path / "model.onnx", new)


@pytest.mark.parametrize("name", regressors())
def test_graph_of_a_regressor_agrees(name, tmp_path):
    X, _, new = data()
    model = regressors()[name].fit(X, targets(X))
    model.to_onnx(tmp_path / "model.onnx")
    found = by_onnx(tmp_path / "model.onnx", new)
    assert found.keys() == {"prediction"}
    np.testing.assert_allclose(found["prediction"], model.predict(new), rtol=1e-10)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(with_mean=False), MinMaxScaler((-1, 1), clip=True)],
        ["passthrough", StandardScaler(), PCA(2)],
        [SelectKBest(k=3)],
        [StandardScaler(), PolynomialFeatures(2)],
        [SimpleImputer()],
    ],
)
def test_graph_of_a_pipeline_takes_rows_as_they_are(steps, tmp_path):
    pytest.importorskip("skl2onnx", reason="needs skl2onnx")
    X, y, new = data(3)
    pipeline, path = make_pipeline(*steps, classifier("laplacian")).fit(X, y), tmp_path / "m.onnx"
    assert "must end in a model with to_onnx" in refusal(pipeline_to_onnx, pipeline[:-1], path)
    if isinstance(steps[-1], PolynomialFeatures | SimpleImputer):  # mixed types, no float64
        assert "pipeline must have steps of which " in refusal(pipeline_to_onnx, pipeline, path)
        assert not path.exists()
        return
    pipeline_to_onnx(pipeline, path)
    found = by_onnx(path, new)
    decisions = pipeline.decision_function(new)
    np.testing.assert_allclose(found["decision"], decisions, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(found["label"], pipeline.predict(new))


def test_graph_has_labels_of_every_kind_and_rows_of_any_number(tmp_path):
    X, y, new = data(3)
    model, path = classifier().fit(X, y), tmp_path / "model.onnx"
    assert_same(model, path, np.tile(X, (50, 1)))
    assert by_onnx(path, X[:0])["decision"].shape == (0, 3)
    assert_same(classifier().fit(X + 1e6, y), path, new + 1e6, 1e-7)
    for labels in ("strings", "floats"):
        assert_same(classifier().fit(X, data(3, labels=labels)[1]), path, new)
    X, y, new = data(2)
    for values in ([False, True], np.array(["b", "a"], dtype=object)):
        own = np.asarray(values)[(y == 7).astype(int)]
        assert_same(classifier().fit(X, own), path, new)


@pytest.mark.parametrize("break_ties", [False, True])
def test_graph_breaks_ties_as_the_estimator_does(break_ties, tmp_path):
    """Rows of zeros have no decision but the intercepts, here ties of the vote, or none at all."""
    X, y, _ = data(4)
    model = classifier("linear", break_ties=break_ties).fit(X, y)
    chosen = set()
    for signs in np.random.default_rng(0).integers(-1, 2, (12, 6)):
        model.intercept_ = signs * np.linspace(0.5, 1.5, 6)
        assert_same(model, tmp_path / "model.onnx", np.zeros((1, 4)))
        chosen.add(model.predict(np.zeros((1, 4)))[0])
    assert len(chosen) > 2


def test_graph_of_a_model_that_was_read_breaks_ties_by_its_file(tmp_path):
    X, y, new = data(4)
    classifier().fit(X, y).to_libsvm(tmp_path / "model")
    text = (tmp_path / "model").read_text().replace("label -1 3 7 12", "label 12 7 -1 3")
    (tmp_path / "model").write_text(text)
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    assert_same(model, tmp_path / "model.onnx", new)
    far = np.full((1, 4), 1e6)  # where decisions are intercepts: -1, 3 and 7 beat each other and 12
    model.intercept_ = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    assert model.predict(far) == 7
    assert_same(model, tmp_path / "model.onnx", far)


class OfUsers(RBF):
    """A kernel whose values may be any."""


def test_graph_refuses_what_onnx_cannot_say(monkeypatch, tmp_path):
    (X, y, _), (X3, y3, _) = data(2), data(3)
    ties = classifier(break_ties=True, decision_function_shape="ovo").fit(X3, y3)
    kernel, labels = "kernel must be one of the package's, or made of", "classes_ must be integers"
    path = tmp_path / "model.onnx"
    for model, sentence in (
        (classifier().fit(X, np.where(y == 7, np.uint64(2**63), np.uint64(1))), labels),
        (classifier().fit(X, np.where(y == 7, "\ud800", "b").astype(object)), labels),
        (classifier(lambda A, B: A @ B.T).fit(X, y), kernel),
        (classifier(Linear() + OfUsers(1.0)).fit(X, y), kernel),
        (ties, "break_ties must be False when decision_function_shape"),
    ):
        assert sentence in refusal(model.to_onnx, path)
    model = classifier().fit(X, y)
    model.to_onnx(path)
    constants = onnx.load(path).graph.initializer
    held = sum(onnx.numpy_helper.to_array(each).nbytes for each in constants)
    monkeypatch.setattr(onnx_graph, "LARGEST_BYTES", held)
    model.to_onnx(path)
    path.unlink()
    monkeypatch.setattr(onnx_graph, "LARGEST_BYTES", held - 1)
    assert "support_vectors_ must be below 2 GiB for ONNX" in refusal(model.to_onnx, path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"to_onnx needs the package onnx: pip install 'kpegaso"):
        model.to_onnx(path)
    assert list(tmp_path.iterdir()) == []


WIDE = "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\n"
WIDE += "nr_sv 1 1\nSV\n1 1:1\n-1 2000000000:1\n"
WIDE_LINEAR = """svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0 0\nlabel 1 2 3
nr_sv 1 1 1\nSV\n1 1 1:1\n-1 1 2:1\n-1 -1 4000000:1\n"""


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        (WIDE, onnx_graph.LARGEST_BYTES),
        (WIDE_LINEAR, 64 * 10**6),  # weights of two pairs of three
    ],
    ids=["rbf", "linear"],
)
def test_wide_sparse_model_is_refused_before_it_is_dense(text, largest, tmp_path, monkeypatch):
    (tmp_path / "model").write_text(text)
    read = PegasosSVC.from_libsvm(tmp_path / "model")
    monkeypatch.setattr(onnx_graph, "LARGEST_BYTES", largest)
    said = []
    assert peak_mb(lambda: said.append(refusal(read.to_onnx, tmp_path / "other"))) < 30
    assert said[0].startswith("support_vectors_ must be below ")
    assert not (tmp_path / "other").exists()
