"""Kernels by name, as objects, as functions, composed, precomputed."""

import numpy as np
import pytest
from models import EXACT, assert_close_model, assert_same_model, integers, two_classes
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, polynomial_kernel
from sklearn.svm import SVC
from sklearn.utils import get_tags

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV

POLY = {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}
# --- names ---


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
@pytest.mark.parametrize("Estimator", [PegasosSVC, PegasosSVCCV])
def test_every_name_of_sklearn_is_a_kernel(name, Estimator):
    X, y = integers(2)
    X = np.abs(X)
    options = {"Cs": [1.0], "gammas": [0.1], "cv": 2} if Estimator is PegasosSVCCV else {}
    model = Estimator(**options, kernel=name, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    if name not in ("sigmoid", "additive_chi2"):
        assert model.score(X, y) > 0.6
    if name == "chi2" and options:
        assert model.best_params_.keys() == {"C", "gamma"}


@pytest.mark.parametrize(("kernel", "form"), [("sigmoid", sparse.csr_matrix), ("chi2", np.abs)])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_names(kernel, form, gamma):
    X, y = integers(2)
    Z = form(X)
    variance = X.var() if sparse.issparse(Z) else Z.var()
    value = 1 / (5 * variance) if gamma == "scale" else 1 / 5
    a, b = (PegasosSVC(kernel=kernel, gamma=g, random_state=0).fit(Z, y) for g in (gamma, value))
    assert_allclose(a.decision_function(Z), b.decision_function(Z), rtol=1e-9)


@pytest.mark.parametrize(("kernel", "C"), [("rbf", 10.0), ("poly", 10.0), ("primal", 1.0)])
def test_accuracy_is_that_of_svc(kernel, C):
    X, y = load_digits(return_X_y=True)
    X, y = X[:1200] / 16, y[:1200]
    if kernel == "primal":
        clf, svc = LinearPegasosSVC(C, epochs=50, random_state=0), SVC(C=C, kernel="linear")
    else:
        clf, svc = PegasosSVC(C, kernel=kernel, random_state=0), SVC(C=C, kernel=kernel)
    ours = clf.fit(X[:600], y[:600]).score(X[600:], y[600:])
    theirs = svc.fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert theirs > 0.9
    assert abs(ours - theirs) <= 0.02


# --- functions, and matrices ---


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_is_the_name(n_classes, dtype, tmp_path):
    X, y = integers(n_classes)
    train, test = slice(0, None, 2), slice(1, None, 2)
    gram = polynomial_kernel(X, degree=2, gamma=0.5, coef0=1.0).astype(dtype)
    a = PegasosSVC(**POLY, **EXACT).fit(X[train], y[train])
    b = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train])
    assert_close_model(a, b, X[test], gram[test, train], rtol=1e-5)
    assert_array_equal(a.predict(X[test]), b.predict(gram[test, train]))
    assert_array_equal(a.support_, b.support_)
    np.save(tmp_path / "gram.npy", gram[train, train])
    mapped = np.load(tmp_path / "gram.npy", mmap_mode="r")
    c = PegasosSVC(kernel="precomputed", **EXACT).fit(mapped, y[train])
    assert_same_model(b, c, gram[test, train])
    weight = np.tile([0.0, 1.0, 2.0], y.size)[: y[train].size]
    d = PegasosSVC(kernel="precomputed", **EXACT).fit(gram[train, train], y[train], weight)
    e = clone(a).fit(X[train], y[train], weight)
    assert_close_model(d, e, gram[test, train], X[test], rtol=1e-5)
    assert get_tags(d).input_tags.pairwise
