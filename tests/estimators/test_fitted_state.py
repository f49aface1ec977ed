"""What a fit leaves behind: its own attributes, all of them, and nothing of an earlier fit."""

import warnings

import numpy as np
import pytest
from models import BOTH, assert_same_model, integers, two_classes
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC


def fitted_names(clf):
    return {name for name in vars(clf) if name.endswith("_") and not name.endswith("__")}


# --- attributes of an earlier fit -----------------------------------------------------------------


def test_fit_drops_the_attributes_of_an_earlier_fit():
    X, y = integers(2)
    clf = LinearPegasosSVC(early_stopping=True, epochs=3, random_state=0).fit(X, y)
    assert "validation_scores_" in fitted_names(clf)
    clf.set_params(early_stopping=False).fit(X, y)
    fresh = LinearPegasosSVC(epochs=3, random_state=0).fit(X, y)
    assert fitted_names(clf) == fitted_names(fresh)
    assert_same_model(clf, fresh, X)


def test_partial_fit_drops_the_scores_of_an_earlier_fit():
    X, y = integers(2)
    clf = LinearPegasosSVC(early_stopping=True, epochs=3, random_state=0).fit(X, y)
    fresh = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1])
    assert fitted_names(clf.partial_fit(X, y)) == fitted_names(fresh)


def test_failed_fit_restores_every_attribute():
    X, y = integers(2)
    clf = LinearPegasosSVC(early_stopping=True, epochs=3, random_state=0).fit(X, y)
    before = dict(vars(clf))
    with pytest.raises(ValueError, match="batch_size"):
        clf.set_params(early_stopping=False, batch_size=1000).fit(X[:, :3], y)
    after = dict(vars(clf), early_stopping=True, batch_size=1)
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in fitted_names(clf))


def test_coef_is_that_of_the_fitted_kernel():
    X, y = integers(2)
    rbf = PegasosSVC(random_state=0, epochs=2).fit(X, y).set_params(kernel="linear")
    assert not hasattr(rbf, "coef_")
    linear = PegasosSVC(kernel="linear", random_state=0, epochs=2).fit(X, y)
    coef = linear.coef_
    np.testing.assert_array_equal(linear.set_params(kernel="rbf").coef_, coef)


@BOTH
def test_warning_as_error_leaves_a_whole_model(Estimator):
    X, y = two_classes()
    clf = Estimator(tol=1e-9, epochs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="did not reach tol"):
            clf.fit(X, y)
    assert clf.n_features_in_ == 2
    assert_same_model(clf, Estimator(epochs=2, random_state=0).fit(X, y), X)


# --- counts of several pairs ----------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("projection", [False, True])
def test_alpha_of_several_pairs_is_sparse(Estimator, projection):
    X, y = integers(4)
    clf = Estimator(projection=projection, epochs=2, random_state=0).fit(X, y)
    assert isinstance(clf.alpha_, sparse.csr_array)
    assert clf.alpha_.shape == (6, y.size)
    assert clf.alpha_.dtype == (np.float64 if projection else np.int64)
    assert clf.alpha_.has_canonical_format
    assert np.all(clf.alpha_.data > 0)
    assert isinstance(Estimator(epochs=2).fit(X[y < 2], y[y < 2]).alpha_, np.ndarray)


# --- numbers of every kind ------------------------------------------------------------------------


@BOTH
def test_numpy_scalars_are_plain_numbers(Estimator):
    """Small integer types would overflow, and float32 would round what is made from it."""
    X, y = two_classes(200)
    small = {
        "C": np.float32(0.1), "n_steps": np.int16(600), "batch_size": np.int8(2),
        "intercept_scaling": np.float16(1.5), "epochs": np.int8(3), "tol": np.float32(1e-9),
    }  # fmt: skip
    plain = {name: value.item() for name, value in small.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a = Estimator(random_state=0, **small).fit(X, y)
        b = Estimator(random_state=0, **plain).fit(X, y)
    assert_same_model(a, b, X)
    assert type(a.lam_) is float
    assert type(a.n_steps_) is int


# --- parameters that change after a fit -----------------------------------------------------------


def written(clf, path):
    pytest.importorskip("onnx", reason="needs kpegasos[onnx]")
    clf.to_onnx(path)
    return path.read_bytes()


@BOTH
@pytest.mark.parametrize(("loss", "other"), [("hinge", "log_loss"), ("log_loss", "hinge")])
def test_probabilities_go_by_the_fitted_loss(Estimator, loss, other, tmp_path):
    X, y = integers(3)
    clf = Estimator(loss=loss, epochs=2, random_state=0)
    assert hasattr(clf, "predict_proba") == (loss == "log_loss")
    before = written(clf.fit(X, y), tmp_path / "model")
    clf.set_params(loss=other)
    assert hasattr(clf, "predict_proba") == (loss == "log_loss")
    assert written(clf, tmp_path / "model") == before
    clf.fit(X, y)
    assert hasattr(clf, "predict_proba") == (other == "log_loss")


@BOTH
def test_shape_and_ties_of_decisions_are_those_of_the_fit(Estimator, tmp_path):
    X, y = integers(4)
    clf = Estimator(decision_function_shape="ovo", epochs=2, random_state=0).fit(X, y)
    decisions, text = clf.decision_function(X), written(clf, tmp_path / "model")
    clf.set_params(decision_function_shape="ovr", break_ties=True, intercept_scaling=3.0)
    np.testing.assert_array_equal(clf.decision_function(X), decisions)
    assert written(clf, tmp_path / "model") == text
    assert clf.to_sklearn().decision_function_shape == "ovo"


def test_kernel_that_was_given_as_a_matrix_stays_one():
    X, y = integers(2)
    clf = PegasosSVC(kernel="precomputed", epochs=2, random_state=0).fit(X @ X.T, y)
    predicted = clf.predict(X @ X.T)
    np.testing.assert_array_equal(clf.set_params(kernel="rbf").predict(X @ X.T), predicted)
    with pytest.raises(TypeError, match="dense"):
        clf.predict(sparse.csr_matrix(X @ X.T))


@BOTH
def test_fit_keeps_what_a_subclass_has_set(Estimator):
    class Shifted(Estimator):
        def fit(self, X, y):
            self.shift_ = X.mean(axis=0)
            return super().fit(X - self.shift_, y)

        def predict(self, X):
            return super().predict(X - self.shift_)

    X, y = two_classes()
    clf = Shifted(epochs=2, random_state=0).fit(X, y)
    alone = Estimator(epochs=2, random_state=0).fit(X - X.mean(axis=0), y)
    np.testing.assert_array_equal(clf.predict(X), alone.predict(X - X.mean(axis=0)))
    clf.mine_ = 3
    assert clf.fit(X, y).mine_ == 3
