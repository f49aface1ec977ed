"""A fit leaves nothing of the one before: with options A, then B, it is a fresh fit with B."""

from __future__ import annotations

import warnings
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from metamorphic_cases import grid_blobs
from models import BOTH, assert_same_attributes
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.large.chunks import ArrayChunks, fit_chunks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TWO, THREE = grid_blobs(2), grid_blobs(3)
GRAM = TWO[0] @ TWO[0].T, TWO[1]
CSR = sparse.csr_array(TWO[0].astype(np.float32)), TWO[1]
WIDE = np.hstack((TWO[0], TWO[0])), TWO[1]


KERNEL_FITS: dict[str, tuple[dict[str, Any], Any]] = {
    "rbf": ({"kernel": "rbf", "gamma": 0.5}, TWO),
    "linear": ({"kernel": "linear"}, TWO),
    "three classes": ({"kernel": "rbf"}, THREE),
    "polish": ({"kernel": "rbf", "polish": True, "tol": 1e-3}, TWO),
    "precomputed": ({"kernel": "precomputed"}, GRAM),
    "sparse": ({"kernel": "poly", "coef0": 1.0}, CSR),
    "wide": ({"kernel": "rbf"}, WIDE),
    "sigmoid": ({"kernel": "sigmoid"}, TWO),
    "warm start": ({"warm_start": True}, TWO),
}
LINEAR_FITS: dict[str, tuple[dict[str, Any], Any]] = {
    "plain": ({}, TWO),
    "three classes": ({}, THREE),
    "early stopping": ({"early_stopping": True}, TWO),
    "polish": ({"polish": True, "tol": 1e-3}, TWO),
    "sparse": ({}, CSR),
    "wide": ({}, WIDE),
    "warm start": ({"warm_start": True}, TWO),
}
START = {"C": 2.0, "epochs": 3, "random_state": 0}


def fit_as(clf, fits, name):
    parameters, (X, y) = fits[name]
    return clf.set_params(**(type(clf)(**START).get_params() | parameters)).fit(X, y)


CHANGES = [
    (fits, first, second)
    for fits in (KERNEL_FITS, LINEAR_FITS)
    for first, second in permutations(fits, 2)
    if second != "warm start"
]


@pytest.mark.parametrize(
    ("fits", "first", "second"), CHANGES, ids=lambda part: part if isinstance(part, str) else ""
)
def test_fit_leaves_nothing_of_the_one_before(fits, first, second):
    estimator = PegasosSVC if fits is KERNEL_FITS else LinearPegasosSVC
    used = fit_as(fit_as(estimator(), fits, first), fits, second)
    assert_same_attributes(used, fit_as(estimator(), fits, second))


def stream(clf):
    X, y = TWO
    clf.set_params(**LinearPegasosSVC(**START).get_params())
    return clf.partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:])


def chunks(clf):
    clf.set_params(**LinearPegasosSVC(**START).get_params())
    return fit_chunks(clf, ArrayChunks(*TWO, chunk_size=40))


@pytest.mark.parametrize("first", LINEAR_FITS)
@pytest.mark.parametrize("second", [stream, chunks])
def test_stream_leaves_nothing_of_a_fit(first, second):
    used = second(fit_as(LinearPegasosSVC(), LINEAR_FITS, first))
    assert_same_attributes(used, second(LinearPegasosSVC()))


@pytest.mark.parametrize("first", [stream, chunks])
@pytest.mark.parametrize("second", [n for n in LINEAR_FITS if n != "warm start"])
def test_fit_leaves_nothing_of_a_stream(first, second):
    used = fit_as(first(LinearPegasosSVC()), LINEAR_FITS, second)
    assert_same_attributes(used, fit_as(LinearPegasosSVC(), LINEAR_FITS, second))


@pytest.mark.parametrize("fits", [KERNEL_FITS, LINEAR_FITS], ids=["kernel", "linear"])
def test_failed_fit_leaves_the_one_before(fits):
    estimator = PegasosSVC if fits is KERNEL_FITS else LinearPegasosSVC
    name = next(iter(fits))
    used, fresh = (fit_as(estimator(), fits, name) for _ in range(2))
    with pytest.raises(ValueError, match="batch_size must be at most"):
        used.set_params(batch_size=1000).fit(*WIDE)
    with pytest.raises(ValueError, match="class"):
        used.fit(WIDE[0], np.zeros(len(WIDE[0])))
    assert_same_attributes(used, fresh)


def test_names_of_columns_of_an_earlier_fit_are_forgotten():
    import pandas as pd

    X, y = TWO
    used = LinearPegasosSVC(**START).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y).fit(X, y)
    assert_same_attributes(used, LinearPegasosSVC(**START).fit(X, y))


# --- parameters that change after a fit ---


def written(clf, path):
    pytest.importorskip("onnx", reason="needs kpegasos[onnx]")
    clf.to_onnx(path)
    return path.read_bytes()


@BOTH
@pytest.mark.parametrize(("loss", "other"), [("hinge", "log_loss"), ("log_loss", "hinge")])
def test_probabilities_go_by_the_fitted_loss(Estimator, loss, other, tmp_path):
    X, y = THREE
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
    X, y = THREE
    clf = Estimator(decision_function_shape="ovo", epochs=2, random_state=0).fit(X, y)
    decisions, text = clf.decision_function(X), written(clf, tmp_path / "model")
    clf.set_params(decision_function_shape="ovr", break_ties=True, intercept_scaling=3.0)
    assert_array_equal(clf.decision_function(X), decisions)
    assert written(clf, tmp_path / "model") == text
    assert clf.to_sklearn().decision_function_shape == "ovo"


def test_kernel_is_that_of_the_fit():
    given = PegasosSVC(kernel="precomputed", **START).fit(*GRAM)
    predicted = given.predict(GRAM[0])
    assert_array_equal(given.set_params(kernel="rbf").predict(GRAM[0]), predicted)
    with pytest.raises(TypeError, match="dense"):
        given.predict(sparse.csr_matrix(GRAM[0]))
    rbf = PegasosSVC(**START).fit(*TWO).set_params(kernel="linear")
    with pytest.raises(AttributeError, match="kernel='linear'"):
        rbf.coef_  # noqa: B018
    linear = PegasosSVC(kernel="linear", **START).fit(*TWO)
    coef = linear.coef_
    assert_array_equal(linear.set_params(kernel="rbf").coef_, coef)


@BOTH
def test_fit_keeps_what_a_subclass_has_set(Estimator):
    class Shifted(Estimator):
        def fit(self, X, y):
            self.shift_ = X.mean(axis=0)
            return super().fit(X - self.shift_, y)

        def predict(self, X):
            return super().predict(X - self.shift_)

    X, y = TWO
    clf = Shifted(epochs=2, random_state=0).fit(X, y)
    alone = Estimator(epochs=2, random_state=0).fit(X - X.mean(axis=0), y)
    assert_array_equal(clf.predict(X), alone.predict(X - X.mean(axis=0)))
    clf.mine_ = 3
    assert clf.fit(X, y).mine_ == 3


@BOTH
def test_warning_turned_into_an_error_leaves_a_whole_model(Estimator):
    X, y = TWO
    clf, expected = (Estimator(tol=1e-12, **START) for _ in range(2))
    with pytest.warns(ConvergenceWarning):
        expected.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="did not reach tol"):
            clf.fit(X, y)
    assert_same_attributes(clf, expected)
    with pytest.raises(ValueError, match="3 features"):
        clf.decision_function(np.ones((4, 50)))
