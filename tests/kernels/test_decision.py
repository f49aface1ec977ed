"""Decisions on new rows: by the book, and the same however many are decided together."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from kernel_cases import A, B, each_dtype, each_format, same_bits, whole
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import RBF, KernelMatrix, Linear, LinearPegasosSVC, PegasosSVC, Polynomial, Sigmoid
from kpegasos.estimators import base
from kpegasos.fitting.pairs import pair_coefficients
from kpegasos.kernels import decision as decision_module
from kpegasos.kernels.decision import gram_decision, kernel_decision

RNG = np.random.default_rng(0)


# --- pairs of classes -----------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[3, 5], [0, 4, 7, 1], [6, 0, 1, 9, 2, 2, 5, 11]])
@pytest.mark.parametrize("tile", [4, 1024])
@each_dtype
def test_decision_of_pairs_by_the_book(sizes, tile, dtype, monkeypatch):
    """The coefficients of SVC's layout make the same decisions as those of pairs with zeros."""
    monkeypatch.setattr(decision_module, "_TILE_VECTORS", tile)
    n_support = np.array(sizes)
    vectors = RNG.normal(size=(n_support.sum(), 4)).astype(dtype)
    dual_coef = RNG.normal(size=(n_support.size - 1, n_support.sum()))
    coefs = pair_coefficients(dual_coef, n_support)
    gram = RBF(0.7).block(A, vectors.astype(np.float64))
    decisions = kernel_decision(RBF(0.7), A, vectors, dual_coef, n_support=n_support)
    atol = 1e-12 if dtype == np.float64 else 1e-5
    assert_allclose(decisions, gram @ coefs.T, atol=atol)
    columns = RNG.permutation(n_support.sum())
    shuffled = np.empty_like(gram)
    shuffled[:, columns] = gram
    for given in ((dual_coef, n_support), (coefs,)):
        assert_allclose(gram_decision(shuffled, columns, *given), gram @ coefs.T, atol=1e-12)


def test_prediction_goes_by_blocks_and_is_that_of_the_whole(monkeypatch):
    """Decisions of 45 pairs for all rows at once would take much memory."""
    X = RNG.normal(size=(500, 3))
    model = LinearPegasosSVC(epochs=1, random_state=0).fit(X[:100], np.arange(100) % 10)
    predicted, decisions = model.predict(X), model.decision_function(X)
    heights, decide = [], LinearPegasosSVC._decide
    monkeypatch.setattr(
        LinearPegasosSVC, "_decide", lambda self, X: heights.append(len(X)) or decide(self, X)
    )
    monkeypatch.setattr(base, "_VOTED_TOGETHER", 1 << 12)
    assert_array_equal(model.predict(X), predicted)
    assert_allclose(model.decision_function(X), decisions, rtol=1e-12)
    assert max(heights) * 45 <= 1 << 12


# --- the same bits, however many ------------------------------------------------------------------


@same_bits
@pytest.mark.parametrize(
    ("kernel", "n_features", "order", "far"),
    [
        (Linear(), 1, "C", 0),
        (Polynomial(0.7, 3, 0.5), 2, "F", 0),
        (RBF(0.7), 5, "C", 0),
        (RBF(0.7), 33, "F", 100),
        (RBF(0.7), 3, "C", 10_000),
        (Sigmoid(0.7, -0.5), 130, "C", 0),
    ],
)
@each_dtype
def test_decision_is_the_same_bits_in_any_batch_and_on_any_threads(
    kernel, n_features, order, far, dtype, monkeypatch
):
    rng = np.random.default_rng(1)
    X = np.asarray(rng.normal(size=(1000, n_features)) + far, order=order)
    vectors = (rng.normal(size=(1100, n_features)) / n_features + far).astype(dtype)
    coefs = rng.normal(size=(3, 1100))
    at_once = kernel_decision(kernel, X, vectors, coefs)
    for size in (1, 2, 63, 64):
        for top in (0, 501, 1000 - size):
            part = kernel_decision(kernel, X[top : top + size], vectors, coefs)
            assert_array_equal(part, at_once[top : top + size], err_msg=f"{size} rows from {top}")
    for threads in (2, 50):
        monkeypatch.setattr(decision_module, "threads_for", lambda work, n=threads: n)
        assert_array_equal(kernel_decision(kernel, X, vectors, coefs), at_once)


@same_bits
@each_dtype
def test_decision_is_made_of_the_values_of_training(dtype):
    """A single support vector with coefficient one: the decision is the kernel value."""
    X = 0.3 * RNG.normal(size=(30, 7)).astype(dtype)
    for kernel in (Linear(), Polynomial(0.7, 3, 0.5)):
        values = kernel_decision(kernel, X, X, np.eye(30))
        assert_array_equal(values, whole(KernelMatrix(kernel, X)))


# --- what is kept between predictions -------------------------------------------------------------


def fitted(dtype=np.float64):
    X = RNG.normal(size=(60, 3)).astype(dtype)
    return PegasosSVC(gamma=0.5, epochs=3, random_state=0).fit(X, np.arange(60) % 2), X


@each_dtype
def test_support_vectors_are_packed_once_and_go_with_the_model(dtype, monkeypatch):
    model, X = fitted(dtype)
    attributes, size = set(vars(model)), len(pickle.dumps(model))
    expected = model.decision_function(X)
    made = []
    expansion = decision_module.KernelExpansion
    monkeypatch.setattr(
        decision_module, "KernelExpansion", lambda *parts: made.append(1) or expansion(*parts)
    )
    rows = [model.decision_function(X[i : i + 1])[0] for i in range(60)]
    assert not made
    assert_array_equal(rows, expected)
    assert (set(vars(model)), len(pickle.dumps(model))) == (attributes, size)
    made = weakref.ref(model._kept._made[-1])
    model.fit(X, np.arange(60) % 2)
    gc.collect()
    assert made() is None


def test_predictions_follow_edits_of_the_model():
    model, X = fitted()

    def edits():
        yield model.dual_coef_.__setitem__((0, 3), 2 * model.dual_coef_[0, 3])
        yield setattr(model, "dual_coef_", model.dual_coef_ / 3)
        yield setattr(model, "support_vectors_", model.support_vectors_[::-1].copy())
        whole = model.support_vectors_ + 1.0
        yield setattr(model, "support_vectors_", whole[:])
        whole[2, 1] += 1e-9
        yield
        yield setattr(model, "_kernel", RBF(0.1))

    before = model.decision_function(X)
    for _ in edits():
        now = model.decision_function(X)
        assert_array_equal(now, pickle.loads(pickle.dumps(model)).decision_function(X))
        assert not np.array_equal(now, before)
        before = now


def test_support_vectors_of_a_model_that_has_predicted_cannot_be_edited_unnoticed():
    model, X = fitted()
    model.decision_function(X)
    with pytest.raises(ValueError, match="read-only"):
        model.support_vectors_[2, 1] += 1e-9


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "large"), [(Linear(), 1e25), (RBF(0.7), 1e300)])
@each_format
def test_rows_beyond_the_dtype_of_the_model_are_refused(kernel, large, as_rows):
    X = A.copy()
    X[5, 1] = large
    with pytest.raises(ValueError, match=r"X must be small enough that .* values fit in float32"):
        kernel_decision(kernel, as_rows(X), as_rows(B.astype(np.float32)), np.ones((1, 11)))


# --- float32 rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.05, 2)], ids=repr)
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e3])
def test_decisions_of_float32_rows_keep_their_digits(kernel, size):
    """Large values that cancel, and products below float32."""
    rng = np.random.default_rng(0)
    X = (size * rng.uniform(1, 2, size=(200, 20))).astype(np.float32)
    coefs = rng.normal(size=(1, 200))
    exact = X.astype(np.float64)
    expected = kernel.block(exact, exact) @ coefs.T
    error = np.abs(kernel_decision(kernel, X, X, coefs) - expected).max()
    largest = np.abs(expected).max()
    assert error <= 1e-3 * min(1.0, largest) + 1e-14 * largest
