"""`to_libsvm` and `from_libsvm`: the same model before and after, and in LIBSVM's own programs."""

from functools import partial

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
    search,
    targets,
)
from rejections import refusal
from row_cases import peak_mb
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError

from kpegasos import PegasosSVC, PegasosSVR, save
from kpegasos.estimators.base import couple
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


# --- probabilities go with a model: to svm-predict, and from svm-train ----------------------------


def log_loss(make=classifier, **parameters):
    return make(loss="log_loss", **parameters)


def by_libsvm(folder, model, X):
    """Classes, and probabilities with the classes in ascending order, of ``svm-predict -b 1``."""
    dump_svmlight_file(X, np.zeros(len(X)), str(folder / "rows"), zero_based=False)
    libsvm("svm-predict", "-b", "1", "-q", folder / "rows", model, folder / "out")
    head, *lines = (folder / "out").read_text().splitlines()
    order = np.argsort(np.array(head.split()[1:], dtype=int))
    rows = np.array([list(map(float, line.split())) for line in lines])
    return rows[:, 0], rows[:, 1:][:, order]


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


def test_what_is_no_sigmoid_of_a_pair_is_not_written(tmp_path):
    X, y, _ = data(2)
    for model in (search(), classifier()):
        model.fit(X, y).to_libsvm(tmp_path / "model")
        assert "probA" not in (tmp_path / "model").read_text()


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


def test_model_that_is_not_fitted_is_told_of(tmp_path):
    X, y, _ = data(2)
    path, message = tmp_path / "model", "not fitted yet|has no model of all examples to write"
    for model in (classifier(), regressors()["primal"], search(), search(refit=False).fit(X, y)):
        for write in (model.to_sklearn, partial(model.to_libsvm, path)):
            with pytest.raises(NotFittedError, match=message):
                write()
    assert not path.exists()


# --- files that are broken, paths that are none ---------------------------------------------------

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 2:1
-1 1:2
"""


def changed(line, text):
    """The good file with another line."""
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(line for line in lines if line is not None) + "\n"


def number(words):
    """A model of a precomputed kernel, with the example that a support vector was."""
    return changed(2, "kernel_type precomputed").replace("1 1:0.5 2:1", f"1 {words}")


def sigmoids(lines):
    """The good file with parameters of probabilities."""
    return GOOD.replace("nr_sv", f"{lines}\nnr_sv")


ONE_ROW = "must be 1 coefficients and 'index:value', indices ascending from 1 on, got "
EXAMPLE = "must be 1 coefficients and '0:' and a number from 1 on, got "
BROKEN = {
    "empty": ("", 0, "the file must have a line 'SV' after its header, got its end"),
    "kind": (changed(1, "svm_type one_class"), 1, "svm_type must be one of c_svc, nu_svc, got"),
    "kernel": (changed(2, "kernel_type cubic"), 2, "kernel_type must be one of linear, pol"),
    "again": (changed(3, "svm_type c_svc"), 3, "must begin with a name that LIBSVM has, and once"),
    "gamma": (changed(3, "gamma -1"), 3, "gamma must be finite numbers of at least 0, got '-1'"),
    "no gamma": (changed(3, None), 8, "the header must have 1 entries of gamma, got 0"),
    "classes": (changed(4, "nr_class 1"), 4, "nr_class must be whole numbers of at least 2, got"),
    "rho": (changed(6, "rho 1 2"), 9, "the header must have 1 entries of rho, got 2"),
    "label": (changed(7, "label 1 1"), 9, "label must name each class once"),
    "counts": (changed(8, "nr_sv 2 1"), 9, "nr_sv must sum to total_sv, 2, got 3"),
    "few": (GOOD.partition("-1 1:2")[0], 10, "the file must have 2 support vectors, got 1"),
    "many": (GOOD + "1 1:1\n", 12, "the file must end after 2 support vectors"),
    "coefficient": (changed(10, "x 1:1"), 10, ONE_ROW),
    "index": (changed(10, "1 0:1"), 10, ONE_ROW),
    "unsorted": (changed(10, "1 2:1 1:1"), 10, ONE_ROW),
    "value": (changed(10, "1 1:x"), 10, ONE_ROW),
    "no number": (number("1:1"), 10, EXAMPLE),
    "two examples": (number("0:1 0:2"), 10, EXAMPLE),
    "probA": (sigmoids("probA -1"), 10, "the header must have 1 entries of probB, got 0"),
}


def write(folder, text):
    (folder / "model").write_text(text, encoding="latin-1")
    return folder / "model"


@pytest.mark.parametrize(
    "text", [GOOD, GOOD.replace("\n", "\r\n"), "\xef\xbb\xbf" + GOOD, GOOD + "\n"]
)
def test_good_file_is_read(text, tmp_path):
    model = PegasosSVC.from_libsvm(write(tmp_path, text))
    X = np.array([[0.5, 1.0], [2.0, 0.0]])
    own = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) @ [1.0, -1.0] - 0.25
    np.testing.assert_allclose(model.decision_function(X), own)
    np.testing.assert_array_equal(model.predict(X), [1, -1])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_told_of_with_its_line(name, tmp_path):
    text, line, message = BROKEN[name]
    path = write(tmp_path, text)
    assert refusal(PegasosSVC.from_libsvm, path).startswith(f"{path}, line {line}: {message}")


def test_broken_regression_is_told_of(tmp_path):
    text = "svm_type nu_svr\nkernel_type linear\nnr_class 2\nrho {}\nprobA 0.5\ntotal_sv 0\nSV\n"
    sentence = "the header must have 1 entries of rho, got 3"
    assert sentence in refusal(PegasosSVR.from_libsvm, write(tmp_path, text.format("0 0 0")))
    good = PegasosSVR.from_libsvm(write(tmp_path, text.format("0")))
    assert good.predict([[1.0]]) == 0.0, "the width of a regression's noise is no sigmoid"


def test_model_without_support_vectors_decides_by_its_intercept(tmp_path):
    text = GOOD.partition("SV\n")[0].replace("total_sv 2", "total_sv 0").replace("1 1", "0 0")
    model = PegasosSVC.from_libsvm(write(tmp_path, text + "SV\n"), n_features=2)
    X = np.ones((3, 2))
    np.testing.assert_array_equal(model.decision_function(X), -0.25)
    np.testing.assert_array_equal(model.to_sklearn().decision_function(X), -0.25)


def test_bad_paths_are_told_of_and_nothing_is_written(tmp_path):
    X, y, _ = data(2)
    model = classifier().fit(X, y)
    for path, kind, message in (
        (None, TypeError, "path must be the path of a file, got None instead"),
        ("a\0b", ValueError, "null byte"),
        (tmp_path, ValueError, "path must be the path of a plain file, got "),
        (tmp_path / "no" / "model", FileNotFoundError, "no/model"),
        ("/dev/null", ValueError, "path must be the path of a plain file, got '/dev/null'"),
    ):
        for write_to in (model.to_libsvm, partial(save, model)):
            with pytest.raises(kind, match=message):
                write_to(path)
    assert list(tmp_path.iterdir()) == []
    for path in (3, "", "no such file", tmp_path):
        with pytest.raises(
            (TypeError, ValueError, OSError), match=r"path must|No such f|directory"
        ):
            PegasosSVC.from_libsvm(path)
