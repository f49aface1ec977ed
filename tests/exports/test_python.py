"""`to_python`: a module without the package that agrees with the estimators to rounding."""

import subprocess
import sys

import numpy as np
import pytest
from export_cases import KERNELS, LABELS, classifier, data, linear_classifier, regressors, targets
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from kpegasos import RBF, Laplacian, Linear, PegasosSVC, PegasosSVCCV, PegasosSVR, Polynomial
from kpegasos.exports import python_module

N_CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 4])
SHAPES = pytest.mark.parametrize("shape", ["ovr", "ovo"])


def module_of(model, folder, **options):
    """What the module of a model defines."""
    model.to_python(folder / "model.py", **options)
    namespace = {}
    text = (folder / "model.py").read_text(encoding="ascii")
    exec(compile(text, "model.py", "exec"), namespace)
    assert max(map(len, text.splitlines())) <= 120
    return namespace


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def assert_same(model, folder, X):
    module = module_of(model, folder)
    decisions, labels = model.decision_function(X), model.predict(X)
    X = X.toarray() if sparse.issparse(X) else X
    found = module["decision_function"](X)
    assert found.shape == decisions.shape
    assert_close(found, decisions)
    np.testing.assert_array_equal(module["predict"](X), labels)
    assert module["predict"](X).dtype == labels.dtype
    return module


@SHAPES
@N_CLASSES
@pytest.mark.parametrize("kernel", [*KERNELS, "chi2", "additive_chi2"])
def test_module_of_a_kernel_agrees(kernel, n_classes, shape, tmp_path):
    X, y, new = data(n_classes)
    if "chi2" in kernel:
        X, new = np.abs(X), np.abs(new)
        new[0] = X[0] = 0.0
    model = classifier(kernel, decision_function_shape=shape).fit(X, y)
    assert "predict_proba" not in assert_same(model, tmp_path, new)


@SHAPES
@N_CLASSES
@pytest.mark.parametrize("make", [classifier, linear_classifier])
def test_module_of_sparse_data_agrees(make, n_classes, shape, tmp_path):
    X, y, new = data(n_classes, kind="sparse")
    assert_same(make(decision_function_shape=shape).fit(X, y), tmp_path, new)


@pytest.mark.parametrize("name", regressors())
def test_module_of_a_regressor_agrees(name, tmp_path):
    X, _, new = data()
    model = regressors()[name].fit(X, targets(X))
    module = module_of(model, tmp_path)
    assert_close(module["predict"](new), model.predict(new))
    assert "decision_function" not in module


@N_CLASSES
def test_module_of_a_given_matrix_agrees(n_classes, tmp_path):
    X, y, new = data(n_classes)
    assert_same(classifier("precomputed").fit(X @ X.T, y), tmp_path, new @ X.T)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(0.1) + 0.5 * Linear(),
        Laplacian(0.1) * RBF(0.2) + Laplacian(0.5),
        2.0 * (Polynomial(0.1, 2, 1.0) * RBF(0.05)),
        (RBF(0.1) + Linear()) * (Laplacian(0.1) + Linear()),
    ],
)
def test_module_of_a_composed_kernel_agrees(kernel, tmp_path):
    X, y, new = data(3)
    assert_same(classifier(kernel).fit(X, y), tmp_path, new)


@pytest.mark.parametrize("labels", LABELS)
def test_module_has_labels_of_every_kind(labels, tmp_path):
    X, y, new = data(3, labels=labels)
    assert_same(classifier().fit(X, y), tmp_path, new)


@pytest.mark.parametrize(
    "values",
    [
        [False, True],
        np.array(["b", "a"], dtype=object),
        ["\u00e9\n'\"\\", '"""'],
        np.array([2**63, 1], dtype=np.uint64),
        np.array([-3, 5], dtype=np.int8),
    ],
)
def test_module_has_labels_of_odd_kinds(values, tmp_path):
    X, y, new = data(2)
    y = np.asarray(values)[(y == 7).astype(int)]
    assert_same(classifier().fit(X, y), tmp_path, new)


@pytest.mark.parametrize("method", ["to_python", "to_json"])
def test_labels_that_are_no_words_or_numbers_are_refused(method, tmp_path):
    X, y, _ = data(2)
    model = classifier().fit(X, y)
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    with pytest.raises(ValueError, match=r"classes_ must be integers, floats, strings or truth v"):
        getattr(model, method)(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("break_ties", [False, True])
def test_module_breaks_ties_as_the_estimator_does(break_ties, tmp_path):
    X, y, _ = data(4)
    model = classifier("linear", break_ties=break_ties).fit(X, y)
    zero, chosen = np.zeros((1, 4)), set()
    for signs in list(np.ndindex(*[3] * 6))[::23]:
        model.intercept_ = (np.array(signs) - 1.0) * np.linspace(0.5, 1.5, 6)
        assert_same(model, tmp_path, zero)
        chosen.add(model.predict(zero)[0])
    assert len(chosen) > 2


def test_module_of_a_model_that_was_read_breaks_ties_by_its_file(tmp_path):
    X, y, new = data(4)
    classifier().fit(X, y).to_libsvm(tmp_path / "model")
    text = (tmp_path / "model").read_text().replace("label -1 3 7 12", "label 12 7 -1 3")
    (tmp_path / "model").write_text(text)
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    assert_same(model, tmp_path, new)
    far = np.full((1, 4), 1e6)  # where decisions are intercepts: -1, 3 and 7 beat each other and 12
    model.intercept_ = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    assert model.predict(far) == 7
    assert_same(model, tmp_path, far)


@pytest.mark.parametrize("method", ["to_python", "to_onnx"])
def test_impossible_ties_are_refused(method, tmp_path):
    pytest.importorskip("onnx", reason="needs onnx")
    X, y, _ = data(3)
    model = classifier(decision_function_shape="ovo", break_ties=True).fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False when decision_function_shape"):
        getattr(model, method)(tmp_path / "model")


@N_CLASSES
def test_module_has_probabilities(n_classes, tmp_path):
    X, y, new = data(n_classes)
    model = classifier(loss="log_loss").fit(X, y)
    found = module_of(model, tmp_path)["predict_proba"](new)
    np.testing.assert_allclose(found, model.predict_proba(new), rtol=1e-11)
    model = classifier().fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    found = module_of(model, tmp_path, calibrated=calibrated)["predict_proba"](new)
    np.testing.assert_allclose(found, calibrated.predict_proba(new), rtol=1e-11)
    search = PegasosSVCCV(Cs=[1.0], gammas=[0.05], cv=2, calibration="sigmoid", random_state=0)
    found = module_of(search.fit(X, y), tmp_path)["predict_proba"](new)
    np.testing.assert_allclose(found, search.predict_proba(new), rtol=1e-11)


def test_module_of_float32_data_agrees_to_float32(tmp_path):
    X, y, new = data(2, kind="float32")
    model = classifier().fit(X, y)
    found = module_of(model, tmp_path)["decision_function"](new)
    np.testing.assert_allclose(found, model.decision_function(new), atol=1e-5)


def test_module_of_a_model_without_support_vectors_decides_by_its_intercept(tmp_path):
    (tmp_path / "model").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 0\nrho 0.25\nlabel 1 2\n"
        "nr_sv 0 0\nSV\n"
    )
    model = PegasosSVC.from_libsvm(tmp_path / "model", n_features=3)
    assert_same(model, tmp_path, np.ones((2, 3)))


def test_module_needs_numpy_only(tmp_path):
    X, y, new = data(3)
    model = classifier().fit(X, y)
    model.to_python(tmp_path / "model.py")
    np.save(tmp_path / "rows.npy", new)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import model, numpy\n"
        f"rows = numpy.load({str(tmp_path / 'rows.npy')!r})\n"
        "print(*model.predict(rows), *{'kpegasos', 'scipy', 'sklearn', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
    assert done.stdout.decode().split() == list(map(str, model.predict(new)))


@pytest.mark.parametrize("X", [np.ones(4), np.ones((2, 3)), np.ones((1, 2, 4))])
def test_module_tells_of_rows_of_another_shape(X, tmp_path):
    module = module_of(classifier().fit(*data(2)[:2]), tmp_path)
    with pytest.raises(ValueError, match=r"X must have the shape \(n_samples, 4\), got "):
        module["predict"](X)


def of_users(A, B):
    return A @ B.T


@pytest.mark.parametrize("method", ["to_python", "to_json"])
@pytest.mark.parametrize("kernel", [of_users, RBF(0.1) + of_users])
def test_kernel_of_users_is_refused(kernel, method, tmp_path):
    X, y, _ = data(2)
    with pytest.raises(ValueError, match=r"^kernel must be one of the package's, or made of these"):
        getattr(classifier(kernel).fit(X, y), method)(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_large_model_is_refused(tmp_path, monkeypatch):
    X, y, _ = data(2, kind="sparse")
    model = classifier().fit(X, y)
    monkeypatch.setattr(python_module, "LARGEST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"^support_vectors_ must be below 1 GiB with their"):
        model.to_python(tmp_path / "model.py")


@pytest.mark.parametrize("method", ["to_python", "to_onnx"])
@pytest.mark.parametrize("kernel", ["rbf\ngamma 1", "linear"])
def test_wide_sparse_model_is_refused_before_it_is_dense(kernel, method, tmp_path):
    pytest.importorskip("onnx", reason="needs onnx")
    (tmp_path / "model").write_text(
        f"svm_type c_svc\nkernel_type {kernel}\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\n"
        "nr_sv 1 1\nSV\n1 1:1\n-1 2000000000:1\n"
    )
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match=r"^support_vectors_ must be below . GiB.*for "):
        getattr(model, method)(tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("method", ["to_python", "to_json"])
@pytest.mark.parametrize("model", [classifier(), PegasosSVR(), linear_classifier(), PegasosSVCCV()])
def test_model_must_be_fitted(model, method, tmp_path):
    with pytest.raises(NotFittedError):
        getattr(model, method)(tmp_path / "model")
