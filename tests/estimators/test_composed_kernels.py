"""Composed kernels and scikit-learn's names in the estimators."""

import numpy as np
import pytest
from models import EXACT, assert_close_model, integers, two_classes
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, chi2_kernel
from sklearn.model_selection import GridSearchCV

from kpegasos import (
    RBF,
    Chi2,
    Cosine,
    Laplacian,
    Linear,
    PegasosSVC,
    PegasosSVCCV,
    Polynomial,
)

KERNELS = {
    "sum": RBF(0.1) + 0.5 * Linear(),
    "product": RBF(0.1) * Polynomial(0.5, 2, 1.0),
    "mixed": 0.5 * Laplacian(0.1) * Linear() + RBF(0.1),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_cache = pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
each_number = pytest.mark.parametrize("n_classes", [2, 3])


@each_kernel
@each_cache
@each_number
def test_model_is_that_of_the_given_matrix(kernel, cache, n_classes):
    X, y = integers(n_classes)
    gram = KERNELS[kernel].block(X, X)
    a = PegasosSVC(kernel=KERNELS[kernel], cache=cache, **EXACT).fit(X, y)
    b = PegasosSVC(kernel="precomputed", **EXACT).fit(gram, y)
    assert_close_model(a, b, X, gram)


@each_kernel
@each_cache
def test_sparse_model_is_the_dense_one(kernel, cache):
    X, y = integers(3)
    common = {"kernel": KERNELS[kernel], "cache": cache, **EXACT}
    a = PegasosSVC(**common).fit(X, y)
    b = PegasosSVC(**common).fit(sparse.csr_matrix(X), y)
    assert_close_model(a, b, X, sparse.csr_matrix(X))


@each_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_polished_model_is_certified(kernel, dtype):
    """The optimum lies in the certified interval, whatever the dtype."""
    X, y = two_classes(200)
    model = PegasosSVC(10.0, kernel=KERNELS[kernel], polish=True, tol=1e-3, random_state=0)
    low = clone(model).set_params(tol=1e-7).fit(X, y).objective_ * (1 - 1e-6)
    model.fit(X.astype(dtype), y)
    assert model.relative_gap_ <= 1e-3
    assert model.objective_ - model.duality_gap_ <= low * (1 + 1e-5)
    assert model.objective_ >= low * (1 - 1e-5)


@each_kernel
def test_float32_rows_of_many_examples_are_certified(kernel):
    X, y = two_classes(2100)
    intervals = []
    for row_dtype in ("auto", "float64"):
        model = PegasosSVC(
            kernel=KERNELS[kernel], polish=True, tol=1e-3, row_dtype=row_dtype, random_state=0
        ).fit(X, y)
        assert model.relative_gap_ <= 1e-3
        intervals.append((model.objective_ - model.duality_gap_, model.objective_))
    (low, high), (low64, high64) = intervals
    assert max(low, low64) <= min(high, high64)


def test_clone_has_the_same_kernel():
    kernel = RBF(1.0) + 0.5 * Linear()
    model = clone(PegasosSVC(kernel=kernel))
    assert model.kernel == kernel
    X, y = two_classes()
    expected = PegasosSVC(kernel=kernel, random_state=0).fit(X, y).decision_function(X)
    model.set_params(random_state=0).fit(X, y)
    assert_array_equal(model.decision_function(X), expected)


def test_grid_search_over_compositions():
    X, y = two_classes()
    kernels = [RBF(2.0) + weight * Linear() for weight in (0.1, 10.0)]
    search = GridSearchCV(PegasosSVC(random_state=0), {"kernel": kernels}, cv=2).fit(X, y)
    assert search.best_estimator_.kernel in kernels
    assert search.best_score_ > 0.8


@each_kernel
def test_search_along_C(kernel):
    X, y = two_classes()
    search = PegasosSVCCV([0.1, 10.0], kernel=KERNELS[kernel], cv=2, random_state=0).fit(X, y)
    assert search.relative_gaps_.max() <= search.tol
    assert search.score(X, y) > 0.8


def test_warm_start_knows_a_composition():
    X, y = two_classes()
    model = PegasosSVC(kernel=KERNELS["sum"], epochs=2, warm_start=True, random_state=0)
    twice = model.fit(X, y).fit(X, y).alpha_
    once = PegasosSVC(kernel=KERNELS["sum"], epochs=4, random_state=0).fit(X, y).alpha_
    assert_array_equal(twice, once)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(kernel=RBF(0.1) + 0.4 * Linear()).fit(X, y)


# --- names ----------------------------------------------------------------------------------------


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


def test_gamma_of_chi2():
    X, y = integers(2)
    X = np.abs(X)
    a = PegasosSVC(kernel="chi2", gamma=0.3, **EXACT).fit(X, y)
    b = PegasosSVC(kernel=Chi2(0.3), **EXACT).fit(X, y)
    c = PegasosSVC(kernel=lambda A, B: chi2_kernel(A, B, gamma=0.3), **EXACT).fit(X, y)
    assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert_allclose(a.decision_function(X), c.decision_function(X), rtol=1e-9)
    scaled = PegasosSVC(kernel="chi2", **EXACT).fit(X, y)
    assert scaled._kernel == Chi2(1.0 / (X.shape[1] * X.var()))


def test_cosine_has_no_gamma():
    X, y = integers(2)
    a = PegasosSVC(kernel="cosine", gamma=0.3, **EXACT).fit(X, y)
    b = PegasosSVC(kernel=Cosine(), **EXACT).fit(X, y)
    assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_search_of_chi2_is_over_gamma():
    X, y = integers(2)
    search = PegasosSVCCV([1.0], gammas=[0.01, 0.1], kernel="chi2", cv=2, random_state=0)
    assert search.fit(np.abs(X), y).best_params_.keys() == {"C", "gamma"}


# --- objects by index -----------------------------------------------------------------------------


@each_cache
def test_kernel_over_objects_by_index(cache):
    """Rows of X are places in a list of things that are no vectors."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), p=p, size=9)) for p in [(0.6, 0.2, 0.2)] * 30]
    words += ["".join(rng.choice(list("abc"), p=p, size=9)) for p in [(0.2, 0.2, 0.6)] * 30]

    def common_letters(A, B):
        left, right = ([words[int(i)] for i in rows[:, 0]] for rows in (A, B))
        return np.array(
            [[sum(s.count(c) * t.count(c) for c in "abc") for t in right] for s in left]
        )

    indices, y = np.arange(60)[:, None], np.repeat([0, 1], 30)
    train = np.arange(60) % 3 > 0
    model = PegasosSVC(kernel=common_letters, cache=cache, random_state=0).fit(
        indices[train], y[train]
    )
    counts = np.array([[word.count(c) for c in "abc"] for word in words], dtype=float)
    expected = PegasosSVC(kernel="linear", cache=cache, random_state=0).fit(counts[train], y[train])
    assert_array_equal(model.alpha_, expected.alpha_)
    assert_allclose(model.relative_gap_, expected.relative_gap_, rtol=1e-6)
    assert_array_equal(model.predict(indices[~train]), expected.predict(counts[~train]))
