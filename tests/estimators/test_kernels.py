"""Kernels by name, as objects, as functions, precomputed."""

import numpy as np
import pytest
from models import EXACT, assert_close_model, assert_same_model, integers, two_classes
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from kpegasos import RBF, Laplacian, Linear, LinearPegasosSVC, PegasosSVC, Polynomial, Sigmoid


def degree_two(A, B):
    return (0.5 * np.asarray(A @ B.T) + 1.0) ** 2


def test_kernel_objects_equal_names():
    X, y = integers(2)
    parameters = {"gamma": 0.5, "degree": 2, "coef0": 1.0, **EXACT}
    for name, kernel in {
        "linear": Linear(),
        "poly": Polynomial(0.5, 2, 1.0),
        "rbf": RBF(0.5),
        "sigmoid": Sigmoid(0.5, 1.0),
        "laplacian": Laplacian(0.5),
    }.items():
        a = PegasosSVC(kernel=name, **parameters).fit(X, y)
        b = PegasosSVC(kernel=kernel, **EXACT).fit(X, y)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
        if name != "sigmoid":
            assert a.score(X, y) > 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_kernel_callable_equals_name(n_classes, cache):
    X, y = integers(n_classes)
    a = PegasosSVC(kernel="poly", gamma=0.5, degree=2, coef0=1.0, cache=cache, **EXACT).fit(X, y)
    b = PegasosSVC(kernel=degree_two, cache=cache, **EXACT).fit(X, y)
    assert_close_model(a, b, X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_precomputed_equals_name(n_classes, dtype, tmp_path):
    X, y = integers(n_classes)
    train, test = slice(0, None, 2), slice(1, None, 2)
    gram = polynomial_kernel(X, degree=2, gamma=0.5, coef0=1.0).astype(dtype)
    a = PegasosSVC(kernel="poly", gamma=0.5, degree=2, coef0=1.0, **EXACT).fit(X[train], y[train])
    b = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train])
    assert_close_model(a, b, X[test], gram[test, train], rtol=1e-5)
    np.testing.assert_array_equal(a.predict(X[test]), b.predict(gram[test, train]))
    np.testing.assert_array_equal(a.support_, b.support_)
    np.save(tmp_path / "gram.npy", gram[train, train])
    mapped = np.load(tmp_path / "gram.npy", mmap_mode="r")
    c = PegasosSVC(kernel="precomputed", **EXACT).fit(mapped, y[train])
    assert_same_model(b, c, gram[test, train])
    weight = np.tile([0.0, 1.0, 2.0], y.size)[: y[train].size]
    d = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train], weight)
    e = clone(a).fit(X[train], y[train], weight)
    assert_close_model(d, e, gram[test, train], X[test], rtol=1e-5)


def test_kernel_precomputed_cross_validation():
    X, y = two_classes(100)
    gram = RBF(2.0).block(X, X)
    a = cross_val_score(PegasosSVC(kernel="precomputed", random_state=0), gram, y, cv=3)
    b = cross_val_score(PegasosSVC(gamma=2.0, random_state=0), X, y, cv=3)
    np.testing.assert_allclose(a, b)


def test_kernel_sigmoid_has_no_certificate():
    X, y = two_classes()
    clf = PegasosSVC(kernel="sigmoid", gamma=0.5, random_state=0).fit(X, y)
    assert np.isnan(clf.duality_gap_)
    assert np.isnan(clf.relative_gap_)
    assert np.isfinite(clf.objective_)
    assert np.isnan(clf.history_["gap"]).all()
    assert np.isfinite(clf.decision_function(X)).all()
    with pytest.raises(ValueError, match=r"tol.*positive semi-definite"):
        clf.set_params(tol=0.1).fit(X, y)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_gamma_names(gamma, as_sparse):
    X, y = integers(2)
    value = 1 / (5 * X.var()) if gamma == "scale" else 1 / 5
    a = PegasosSVC(kernel="sigmoid", gamma=gamma, random_state=0)
    b = PegasosSVC(kernel="sigmoid", gamma=value, random_state=0)
    Z = sparse.csr_matrix(X) if as_sparse else X
    np.testing.assert_allclose(
        a.fit(Z, y).decision_function(Z), b.fit(Z, y).decision_function(Z), rtol=1e-9
    )


def test_coef_only_of_linear_kernel():
    X, y = integers(2)
    with pytest.raises(AttributeError, match="kernel='linear'"):
        PegasosSVC(epochs=1).fit(X, y).coef_  # noqa: B018


@pytest.mark.parametrize(
    ("kernel", "C"), [("rbf", 10.0), ("poly", 10.0), ("linear", 1.0), ("primal", 1.0)]
)
def test_accuracy_is_that_of_svc(kernel, C):
    X, y = load_digits(return_X_y=True)
    X, y = X[:1200] / 16, y[:1200]
    if kernel == "primal":
        clf, svc = LinearPegasosSVC(C, epochs=50, random_state=0), SVC(C=C, kernel="linear")
    else:
        clf = PegasosSVC(C, kernel=kernel, random_state=0)
        svc = SVC(C=C, kernel=kernel)
    ours = clf.fit(X[:600], y[:600]).score(X[600:], y[600:])
    theirs = svc.fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert theirs > 0.9
    assert abs(ours - theirs) <= 0.02
