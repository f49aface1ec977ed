"""`to_libsvm` and `from_libsvm`: the same model before and after, and in LIBSVM's own programs."""

import numpy as np
import pytest
from cli_cases import libsvm, needs_libsvm
from covering import each_pair
from export_cases import (
    LIBSVM_KERNELS,
    as_taken,
    classifier,
    data,
    linear_classifier,
    regressors,
    targets,
)
from rejections import refusal
from row_cases import peak_mb
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

from kpegasos import PegasosSVC, PegasosSVR
from kpegasos.kernels.functions import KERNELS, Polynomial


def predicted(folder, model, X, *, zero_based=False):
    """What svm-predict makes of a model and rows."""
    dump_svmlight_file(X, np.zeros(X.shape[0]), str(folder / "rows"), zero_based=zero_based)
    libsvm("svm-predict", folder / "rows", model, folder / "out")
    return np.loadtxt(folder / "out")


def decisions_by_libsvm(folder, model, X):
    """Decisions of two classes, which svm-predict writes of a regression only."""
    head, body = model.read_text().replace("c_svc", "epsilon_svr").split("SV\n")
    lines = [line for line in head.splitlines() if not line.startswith(("label", "nr_sv"))]
    (folder / "regression").write_text("\n".join([*lines, "SV", body]))
    return predicted(folder, folder / "regression", X)


@needs_libsvm
@each_pair(kernel=[*LIBSVM_KERNELS, "primal"], n_classes=[2, 4], kind=["dense", "sparse"])
def test_svm_predict_agrees_on_a_classifier(kernel, n_classes, kind, tmp_path):
    X, y, new = data(n_classes, kind=kind)
    model = (linear_classifier() if kernel == "primal" else classifier(kernel)).fit(X, y)
    model.to_libsvm(tmp_path / "model")
    np.testing.assert_array_equal(predicted(tmp_path, tmp_path / "model", new), model.predict(new))
    if n_classes == 2:
        found = decisions_by_libsvm(tmp_path, tmp_path / "model", new)
        np.testing.assert_allclose(found, model.decision_function(new), rtol=1e-5, atol=1e-5)


@needs_libsvm
@pytest.mark.parametrize("name", [*regressors(), "epsilon", "nu"])
def test_svm_predict_agrees_on_a_regressor_of_both_programs(name, tmp_path):
    X, _, new = data()
    path = tmp_path / "model"
    if name in regressors():
        model = regressors()[name].fit(X, targets(X))
        model.to_libsvm(path)
    else:
        dump_svmlight_file(X, targets(X), str(tmp_path / "train"), zero_based=False)
        kind = {"epsilon": 3, "nu": 4}[name]
        libsvm("svm-train", "-q", "-s", kind, tmp_path / "train", path)
        model = PegasosSVR.from_libsvm(path)
    found = predicted(tmp_path, path, new)
    for each in (model, model.to_sklearn()):
        np.testing.assert_allclose(each.predict(new), found, rtol=1e-5, atol=1e-5)


@needs_libsvm
@each_pair(kernel=list(LIBSVM_KERNELS), n_classes=[2, 4])
def test_model_of_svm_train_is_read(kernel, n_classes, tmp_path):
    X, y, new = data(n_classes)
    dump_svmlight_file(X, y, str(tmp_path / "train"), zero_based=False)
    number = list(LIBSVM_KERNELS).index(kernel)
    options = ["-q", "-t", number, "-g", 0.05, "-d", 2, "-r", 0.3]
    libsvm("svm-train", *options, tmp_path / "train", tmp_path / "model")
    model = PegasosSVC.from_libsvm(tmp_path / "model")
    assert model.kernel == kernel
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    np.testing.assert_array_equal(model.predict(new), predicted(tmp_path, tmp_path / "model", new))
    # Which of the classes LIBSVM has first depends on the data; the way back and forth does not.
    model.to_libsvm(tmp_path / "again")
    again = PegasosSVC.from_libsvm(tmp_path / "again")
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


@each_pair(kernel=[*LIBSVM_KERNELS, "precomputed"], n_classes=[2, 4], kind=["dense", "sparse"])
def test_model_is_the_same_after_writing_and_reading(kernel, n_classes, kind, tmp_path):
    X, y, new = data(n_classes, kind="dense" if kernel == "precomputed" else kind)
    rows, others = as_taken(kernel, X, new)
    model = classifier(kernel).fit(rows, y)
    model.to_libsvm(tmp_path / "model")
    read = PegasosSVC.from_libsvm(tmp_path / "model", n_features=rows.shape[1])
    np.testing.assert_array_equal(read.predict(others), model.predict(others))
    found, expected = read.decision_function(others), model.decision_function(others)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    for name in ("classes_", "n_support_", "dual_coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(read, name), getattr(model, name))
    if kernel == "precomputed":
        np.testing.assert_array_equal(read.support_, model.support_)


def test_model_that_was_read_has_no_certificate(tmp_path):
    X, y, _ = data(2)
    classifier().fit(X, y).to_libsvm(tmp_path / "model")
    read = PegasosSVC.from_libsvm(tmp_path / "model")
    for name in ("relative_gap_", "objective_", "history_", "alpha_", "support_", "n_steps_"):
        assert not hasattr(read, name)
    assert "support vectors" in read._repr_html_()
    assert clone(read).get_params() == read.get_params()
    read.set_params(warm_start=True).fit(X, y)
    assert read.relative_gap_ >= 0.0


def test_from_libsvm_learns_the_number_of_features(tmp_path):
    X, y, _ = data(2)
    wide = np.column_stack([X, np.zeros(len(X))])
    classifier("linear").fit(wide, y).to_libsvm(tmp_path / "model")
    assert PegasosSVC.from_libsvm(tmp_path / "model").n_features_in_ == 4
    assert PegasosSVC.from_libsvm(tmp_path / "model", n_features=5).predict(wide).shape == y.shape
    message = refusal(PegasosSVC.from_libsvm, tmp_path / "model", n_features=3)
    assert "n_features must be at least 4, the largest index in " in message


def test_columns_that_a_small_model_names_take_no_memory(tmp_path):
    width = 2**31 - 1
    (tmp_path / "model").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\n"
        f"nr_sv 1 1\nSV\n1 1:1 {width}:1\n-1 1:-1\n"
    )
    read = PegasosSVC.from_libsvm(tmp_path / "model")
    new = sparse.csr_matrix(([1.0, 1.0], ([0, 1], [0, width - 1])), shape=(2, width))
    expected = [np.exp(-0.5) - np.exp(-2), np.exp(-0.5) - np.exp(-1)]
    np.testing.assert_allclose(read.decision_function(new), expected)
    assert peak_mb(lambda: read.decision_function(new)) < 32


def test_to_libsvm_refuses_what_the_format_cannot_say(tmp_path):
    X, y, _ = data(2)
    of_numbers = PegasosSVR(epochs=3, epsilon=0.0, random_state=0).fit(X * np.pi, targets(X) / 1e50)
    of_numbers.to_libsvm(tmp_path / "model")  # numbers of any size are written to the last bit
    read = PegasosSVR.from_libsvm(tmp_path / "model")
    np.testing.assert_array_equal(read.support_vectors_, of_numbers.support_vectors_)
    np.testing.assert_array_equal(read.dual_coef_, of_numbers.dual_coef_)
    (tmp_path / "model").unlink()
    kernels = sorted({*KERNELS} - {*LIBSVM_KERNELS, "polynomial"})
    labels = "classes_ must be integers below 2**31 for LIBSVM, g"
    for model, own, sentence in (
        *((classifier(kernel), y, "kernel must be one that LIBSVM has") for kernel in kernels),
        (classifier(Polynomial(0.1, 2.5, 100.0)), y, "degrees are integers), got Polynomial"),
        (classifier(), np.where(y == 7, "a", "b"), labels),
        (classifier(), np.where(y == 7, 0, 2**31), labels),
    ):
        fitted = model.fit(np.abs(X), own)
        assert sentence in refusal(fitted.to_libsvm, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
