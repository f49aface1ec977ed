"""Probabilities go with a model: to svm-predict, and from svm-train."""

from functools import partial

import numpy as np
import pytest
from cli_cases import libsvm, needs_libsvm
from export_cases import (
    as_taken,
    classifier,
    data,
    linear_classifier,
    regressors,
    search,
)
from scipy.special import expit
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError

from kpegasos import PegasosSVC
from kpegasos.estimators.base import couple


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


@needs_libsvm
def test_svm_predict_agrees_on_a_search(tmp_path):
    X, y, new = data(2)
    searched = search(calibration="sigmoid").fit(X, y)
    searched.to_libsvm(tmp_path / "model")
    found = by_libsvm(tmp_path, tmp_path / "model", new)[1]
    np.testing.assert_allclose(found, searched.predict_proba(new), atol=1e-6)


def test_what_is_no_sigmoid_of_a_pair_is_not_written(tmp_path):
    (X, y, _), (X3, y3, _) = data(2), data(3)
    isotonic, three = search(calibration="isotonic"), search(calibration="sigmoid").fit(X3, y3)
    without = search().fit(X, y).set_params(calibration="sigmoid")
    for model in (isotonic.fit(X, y), three, without, classifier().fit(X, y)):
        model.to_libsvm(tmp_path / "model")
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
