"""Decisions on new examples: by the book from any rows, and without what they do not need."""

import gc
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
from kernel_cases import each_dtype, each_format
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import KERNELS, RNG, N, X, each_cache, make_gram
from scipy import sparse

from kpegasos import KernelMatrix, linear_rows, make_rows
from kpegasos.kernels import CallableKernel
from kpegasos.rows.base import GramDecisions, KernelDecisions
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows

NEW = RNG.normal(size=(31, 4))
COEF = np.where(RNG.random(N) < 0.6, RNG.normal(size=N), 0.0)


def decisions(rows, coef=COEF, w=None, intercept=0.75):
    return rows.decisions(coef, w, intercept)


def by_the_book(kernel, coef=COEF):
    return make_gram(kernel, NEW, X) @ coef + 0.75


# --- values ---------------------------------------------------------------------------------------


@each_format
@each_dtype
def test_feature_decisions_by_the_book(as_rows, dtype):
    w = RNG.normal(size=4)
    decide = decisions(linear_rows(as_rows(X.astype(dtype)), intercept_scaling=2.0), w=w)
    for new in (NEW, as_rows(NEW), NEW.tolist(), pd.DataFrame(NEW), np.asfortranarray(NEW)):
        assert_allclose(decide(new), NEW @ w + 0.75, rtol=1e-12, atol=1e-12)
    assert_allclose(decide(np.rint(NEW).astype(int)), np.rint(NEW) @ w + 0.75, atol=1e-12)


def test_gram_decisions_by_the_book():
    decide = decisions(make_rows(make_gram("rbf"), "precomputed"))
    given = make_gram("rbf", NEW, X)
    for values in (given, given.tolist(), np.asfortranarray(given), pd.DataFrame(given)):
        assert_allclose(decide(values), by_the_book("rbf"), rtol=1e-12, atol=1e-12)


def test_decisions_of_some_members_by_the_book():
    members = np.arange(N)[::-3]
    rows = CachedRows(KernelMatrix(KERNELS["rbf"], X, members))
    expected = make_gram("rbf", NEW, X[members]) @ COEF[members] + 0.75
    for new in (NEW, NEW.tolist(), pd.DataFrame(NEW), sparse.csr_matrix(NEW)):
        assert_allclose(decisions(rows, COEF[members])(new), expected, rtol=1e-10)
    pair = KernelMatrix(KERNELS["rbf"], X).subset(np.arange(N))
    for rows in (GramRows.from_values(pair), CachedRows(pair)):
        assert_allclose(decisions(rows)(NEW), by_the_book("rbf"), rtol=1e-10)


def test_decisions_without_a_support_are_the_intercept_and_of_nothing_empty():
    for rows, new in (
        (make_rows(X, "rbf"), NEW),
        (linear_rows(X), NEW),
        (make_rows(make_gram("rbf"), "precomputed"), make_gram("rbf", NEW, X)),
    ):
        decide = decisions(rows, np.zeros(N), np.zeros(4))
        assert_array_equal(decide(new), np.full(31, 0.75))
        assert decide(new[:0]).shape == decisions(rows, w=np.ones(4))(new[:0]).shape == (0,)


# --- what is refused ------------------------------------------------------------------------------

each_kind = pytest.mark.parametrize("kind", ["rbf", "laplacian", "features"])


def decide_by(kind):
    if kind == "features":
        return decisions(linear_rows(X), w=np.ones(4))
    return decisions(make_rows(X, kind))


FEATURES = "X must have the 4 features of the training examples, got"


@each_kind
@pytest.mark.parametrize(
    ("match", "values"),
    [
        (f"{FEATURES} \\d+ instead$", [np.zeros((2, width)) for width in (0, 3, 5, N)]),
        (f"{FEATURES} 5 instead$", [sparse.csr_array((2, 5))]),
        ("X must be finite, got NaN or infinity$", [[[np.nan] * 4], [[np.inf] * 4]]),
        ("X must have two dimensions", [NEW[0], 3, np.zeros((2, 2, 4))]),
        ("X must have rows of one length", [[[1, 2], [3]]]),
        ("X must hold real numbers", [np.full((2, 4), "a")]),
    ],
)
def test_decisions_refuse_other_data(kind, match, values):
    for new in values:
        with pytest.raises(ValueError, match=f"^{match}"):
            decide_by(kind)(new)


def test_gram_decisions_refuse_other_matrices():
    decide, gram = decisions(make_rows(make_gram("rbf"), "precomputed")), make_gram("rbf")
    for match, given in (
        (rf"X must hold kernel values with the {N} training", NEW),
        (rf"X must hold kernel values with the {N} training", make_gram("rbf", X, NEW)),
        ("X must be a dense array of kernel values, got a sparse", sparse.csr_array(gram)),
        (".*finite", np.full((2, N), np.nan)),
    ):
        with pytest.raises(ValueError, match=f"^{match}"):
            decide(given)


def test_coefficients_of_other_vectors_are_refused():
    for members in (None, np.arange(N)):
        decide = decide_by("rbf")
        decide._terms = X, members, np.ones(N + 1)
        with pytest.raises(ValueError, match=r"coef must have shape \(53,\), got \(54,\) instead"):
            decide(X)
    with pytest.raises(ValueError, match=r"coef must have shape \(3,\), got \(3, 1\) instead"):
        GramDecisions(np.ones((3, 1)), 0.0)(np.ones((2, 3)))


# --- what is held ---------------------------------------------------------------------------------


@each_cache
def test_decisions_do_not_hold_the_rows(cache):
    rows = make_rows(X, KERNELS["rbf"], cache=cache)
    decide, gone = decisions(rows), weakref.ref(rows)
    del rows
    gc.collect()
    assert gone() is None
    assert_allclose(decide(NEW), by_the_book("rbf"), rtol=1e-10)


@each_format
def test_decisions_let_the_data_go(as_rows):
    """From the first decision on they hold the support vectors."""
    few, A = np.zeros(N), as_rows(X.copy())
    few[[3, 7]] = 1.0, -2.0
    decide = decisions(make_rows(A, "rbf"), few)
    gone = weakref.ref(A.data if sparse.issparse(A) else A)
    expected = decide(NEW)
    del A
    gc.collect()
    assert gone() is None
    assert_array_equal(decide(NEW), expected)


@each_kind
def test_pickled_decisions_are_the_same_and_those_of_the_support(kind):
    decide = decide_by(kind)
    loaded = pickle.loads(pickle.dumps(decide))
    assert_array_equal(pickle.loads(pickle.dumps(loaded))(NEW), decide(NEW))
    many = np.repeat(X, 100, axis=0)
    few = decisions(make_rows(many, "rbf", cache="streamed"), 1.0 * (np.arange(len(many)) < 50))
    assert len(pickle.dumps(few)) < 0.1 * many.nbytes
    assert_array_equal(pickle.loads(pickle.dumps(few))(NEW), few(NEW))


def test_decisions_of_a_kernel_that_cannot_be_pickled_say_so():
    decide = KernelDecisions(KernelMatrix(CallableKernel(lambda A, B: A @ B.T), X), COEF, 0.75)
    expected = X @ NEW.T
    loaded = pickle.loads(pickle.dumps(decide))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^kernel must be one that can be pickled"):
            loaded(NEW)
        loaded = pickle.loads(pickle.dumps(loaded))
    assert_allclose(decide(NEW), COEF @ expected + 0.75, rtol=1e-10)


def test_function_of_a_users_own_may_take_what_is_not_finite():
    decide = decisions(make_rows(X, lambda A, B: np.ones((A.shape[0], B.shape[0]))))
    assert_allclose(decide(np.full((2, 4), np.nan)), np.full(2, COEF.sum() + 0.75))
