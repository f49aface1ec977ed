"""Rounding of kernel values: bounded in any precision, and small where rows can be centred."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kernel_cases import (
    MAPPED,
    A,
    B,
    Y,
    all_rows,
    compositions,
    each_dtype,
    each_format,
    exact,
    point_sets,
    shared,
    simple,
    whole,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import KernelMatrix, PegasosSVC, make_rows
from kpegasos.fitting import pairs
from kpegasos.fitting.pairs import dtype_of_rows
from kpegasos.kernels import RBF, Chi2, Laplacian, Linear, Polynomial, Sigmoid, make_kernel
from kpegasos.kernels.decision import decision_rounding, kernel_decision
from kpegasos.kernels.exact import errors_of_sums, exact_products
from kpegasos.kernels.matrix import products_of
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning

RNG = np.random.default_rng(0)
ALONE = st.one_of(simple, st.sampled_from([Sigmoid(0.1, 0.1), Chi2(0.1), Chi2(3.0)]))


def clusters(far, dtype=np.float32):
    """Two clusters of unit variance, ``2 far`` apart along the diagonal."""
    rng = np.random.default_rng(0)
    side = 2 * rng.integers(2, size=(200, 1)) - 1
    return (rng.normal(size=(200, 2)) + far * side).astype(dtype)


# --- bounds ---------------------------------------------------------------------------------------


def taken_by(kernel, X):
    """Rows, or histograms where a kernel must have them."""
    return np.abs(X.toarray() if sparse.issparse(X) else X) if isinstance(kernel, Chi2) else X


def off_by(matrix, true):
    """The bound on the rounding of values, after it has been kept."""
    bound = matrix.rounding[:, None] + matrix.rounding
    assert (np.abs(whole(matrix) - true) <= bound).all()
    return bound.max()


#: A composition as often as a kernel alone.
MOSTLY_COMPOSED = st.booleans().flatmap(lambda some: compositions() if some else ALONE)


@settings(max_examples=400)
@given(MOSTLY_COMPOSED, point_sets(), st.sampled_from([None, "float32", "float64"]))
def test_values_are_within_their_rounding(kernel, X, row_dtype):
    X = taken_by(kernel, X)
    matrix, true = KernelMatrix(kernel, X, row_dtype=row_dtype), exact(kernel, X)
    bound = off_by(matrix, true)
    # A bound that is far beyond what the arithmetic does would certify nothing.
    eps = np.finfo(np.float32 if np.float32 in (X.dtype, matrix.dtype) else np.float64).eps
    squares = np.asarray((X.multiply(X) if sparse.issparse(X) else X**2).sum(axis=1), float)
    largest = kernel.value_bound(squares.ravel())
    assert bound <= 4000 * (X.shape[1] + 10) * eps * max(largest, np.abs(true).max())


@settings(max_examples=200)
@given(MOSTLY_COMPOSED, point_sets())
def test_decisions_are_within_their_rounding(kernel, X):
    assume(kernel.positive_definite)
    X = taken_by(kernel, X)
    X = X.astype(np.float64)
    n_vectors = (X.shape[0] + 1) // 2
    coefs, true = RNG.normal(size=(2, n_vectors)), exact(kernel, X)
    decisions = kernel_decision(kernel, X, X[:n_vectors], coefs)
    rounding, diagonal = decision_rounding(kernel, X, X[:n_vectors], coefs, 0.0)
    assert (np.abs(decisions - true[:, :n_vectors] @ coefs.T) <= rounding).all()
    assert (true.diagonal() <= diagonal).all()
    assert_allclose(diagonal, true.diagonal().astype(float), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(0.01, 3, 1.0), RBF(0.05), Linear() * RBF(1e-7), Linear() + RBF(1e-7)],
    ids=repr,
)
@pytest.mark.parametrize("n_features", [1, 784, 3000])
@each_format
def test_rounding_is_bounded_where_all_features_round_to_one_side(kernel, n_features, as_rows):
    """Sums of equal terms round by their number, not by its square root."""
    rng = np.random.default_rng(0)
    X = np.full((24, n_features), 1 / 3) * rng.integers(1, 3, size=(24, 1))
    true = exact(kernel, X.astype(np.float32))
    bound = off_by(KernelMatrix(kernel, as_rows(X.astype(np.float32))), true)
    largest = max(float(np.abs(true).max()), 0.05 * float(np.square(X).sum(axis=1).max()))
    assert bound <= 8 * (n_features + 8) * np.finfo(np.float32).eps * largest


def test_bounds_hold_where_only_the_features_are_rounded():
    """One feature, each just between two float32 numbers: products of these are nearly exact."""
    X = (1.0 + RNG.integers(0, 100, (60, 1)) * 2.0**-23) * (1 + 2.0**-24 - 2.0**-40)
    for kernel in (Linear(), Polynomial(1.0, 5, 0.0)):
        off_by(KernelMatrix(kernel, X, row_dtype="float32"), exact(kernel, X))


@settings(max_examples=200)
@given(MOSTLY_COMPOSED, point_sets(), st.integers(0, 99))
def test_exact_products_are_within_their_bounds(kernel, X, seed):
    """Those of rows as given, and of products that kernels share, of all examples or of some."""
    X = taken_by(kernel, X)
    rng, n = np.random.default_rng(seed), X.shape[0]
    chosen = rng.permutation(n)[: rng.integers(1, n + 1)]
    coef = rng.normal(size=chosen.size) * (rng.random(chosen.size) < 0.7)
    matrix = KernelMatrix(kernel, X, work_dtype="float64", row_dtype="float64")
    sources = [KernelMatrix(kernel, X).subset(chosen)]
    if products_of(kernel) is not None:
        sources.append(shared(matrix).subset(chosen))
    true = exact(kernel, X)[np.ix_(chosen, chosen)]
    everybody, largest = np.ones(chosen.size, dtype=bool), float(np.abs(true).max())
    for values in sources:
        sums, rounding, evaluations = exact_products(values, coef, everybody, largest)
        assert (np.abs(sums - true @ coef) <= rounding).all()
        assert evaluations <= np.count_nonzero(coef) * chosen.size
        assert (rounding <= 1e-9 * max(1.0, kernel.diag(X).max()) * np.abs(coef).sum()).all()


@settings(max_examples=200)
@given(point_sets(), st.sampled_from([0.05, 1.0, 30.0]), st.integers(0, 99))
def test_sums_of_gaussians_are_within_bounds_by_what_is_close(X, gamma, seed):
    """Those of values that are kept, by sizes of terms that are computed anew."""
    values, n = KernelMatrix(RBF(gamma), X, row_dtype="float32"), X.shape[0]
    coef = np.random.default_rng(seed).normal(size=n) * (np.arange(n) % 3 > 0)
    doubtful, errors = np.flatnonzero(coef == 0.0), np.full(n, np.inf)
    evaluations = errors_of_sums(values, np.abs(coef), doubtful, errors)
    assert evaluations in (0, doubtful.size * np.count_nonzero(coef))
    off = np.abs((whole(values).astype(np.longdouble) - exact(RBF(gamma), X)) @ coef)
    assert (off <= errors).all()
    assert np.isinf(errors[coef != 0.0]).all()


def test_bounds_by_what_is_close_are_small_where_most_points_are_far():
    values = KernelMatrix(RBF(1.0), clusters(3.0))
    coef, doubtful = (np.arange(200) >= 100).astype(float), np.arange(100)
    before = 100.0 * values.rounding + coef @ values.rounding
    errors = before.copy()
    assert errors_of_sums(values, coef, doubtful, errors) == 10_000
    assert np.median(errors[:100] / before[:100]) < 0.3
    assert_array_equal(errors[100:], before[100:])
    assert errors_of_sums(KernelMatrix(Linear(), clusters(3.0)), coef, doubtful, errors) == 0


@pytest.mark.parametrize("kernel", [RBF(0.7), MAPPED["distances"]])
@pytest.mark.parametrize("far", [0.0, 30.0, 1e4])
def test_values_of_distances_far_from_the_origin(far, kernel):
    """‖a‖² + ‖b‖² − 2<a, b> loses all its digits there; centred rows keep them."""
    X, Z, coefs = A + far, B + far, RNG.normal(size=(2, 23))
    true = exact(kernel, X)
    for cache in ("precomputed", "cached", "streamed"):
        rows = make_rows(X, kernel, cache=cache)
        assert_allclose(all_rows(rows), true, atol=1e-11)
    decision = kernel_decision(kernel, Z, X, coefs)
    assert_allclose(decision, exact(kernel, Z, X) @ coefs.T, atol=1e-10)
    assert far < 1e4 or np.abs(kernel.block(X, X) - true).max() > 1e-9
    sums, rounding, _ = exact_products(KernelMatrix(kernel, X), np.ones(23), Y != 0, 4.0)
    assert (np.abs(sums - true.sum(axis=1)) <= rounding).all()
    assert rounding.max() < 1e-11


def test_exact_products_by_differences_are_within_their_bounds():
    """Two clusters so far apart that inner products keep too few digits."""
    X = A + 1e5 * (np.arange(23) % 2)[:, None]
    kernel = MAPPED["distances"] + RBF(1e-11)
    matrix = KernelMatrix(kernel, X)
    sums, rounding, _ = exact_products(matrix, np.ones(23), np.ones(23, dtype=bool), 5.0)
    assert (np.abs(sums - exact(kernel, X).sum(axis=1)) <= rounding).all()
    assert rounding.max() < 1e-11 < matrix.rounding.max()


# --- far from the mean ----------------------------------------------------------------------------


@pytest.mark.parametrize("far", [0, 1, 10, 100, 300, 1000, 10000])
@each_format
def test_float32_values_of_clusters(far, as_rows):
    X = as_rows(clusters(far))
    expected = exact(RBF(1.0), X).astype(float)
    matrix = KernelMatrix(RBF(1.0), X)
    block = matrix.block(np.arange(50), np.arange(200))
    assert block.dtype == matrix.dtype == np.float32
    decision = kernel_decision(RBF(1.0), X, X, np.eye(200))
    for values, true in ((whole(matrix), expected), (block, expected[:50]), (decision, expected)):
        assert_allclose(values, true, rtol=0, atol=1e-5)


# --- which dtype, and that nothing else changes ---------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "least", "most"),
    [
        (RBF(1.0), 6, 12),
        (RBF(1e-4), 900, 1300),
        (Linear(), 1000, None),
        (Polynomial(1.0, 2, 0.0), 1000, None),
        (Laplacian(1.0), 1000, None),
    ],
    ids=str,
)
def test_arithmetic_is_float64_where_float32_rounds_too_much(kernel, least, most):
    for far, expected in ((least, np.float32), (most, np.float64)):
        if far is not None:
            points = KernelMatrix(kernel, clusters(far))
            assert (points.work_dtype, points.dtype) == (expected, np.float32)
        if isinstance(kernel, RBF):  # as it is with rows of float64
            matrix = KernelMatrix(kernel, clusters(far, np.float64), row_dtype="float32")
            assert (matrix.work_dtype, matrix.dtype) == (expected, np.float32)


def test_a_few_far_examples_do_not_have_all_values_computed_in_float64():
    """Certificates know how far off each is; what a model decides about others is not known yet."""
    X = np.concatenate((RNG.normal(size=(5000, 2)), [[400.0, 0.0], [401.0, 0.0]])).astype("f4")
    values = KernelMatrix(RBF(0.1), X)
    assert values.work_dtype == np.float32
    last = np.arange(4900, 5002)
    true = exact(RBF(0.1), (X - X.mean(axis=0, dtype=float))[last])
    bound = values.rounding[last, None] + values.rounding[last]
    assert (np.abs(values.block(last, last) - true) <= bound).all()
    assert KernelMatrix(RBF(0.1), X, predicts=True).work_dtype == np.float64
    assert KernelMatrix(RBF(0.1), X[4000:]).work_dtype == np.float64


def test_rounding_is_that_of_the_exponent_or_a_kernels_own():
    class Careful(RBF):
        def rounding(self, eps, largest_squared_norm):
            return 1.0 if eps > 1e-10 else 0.0

    assert_allclose(RBF(0.3).rounding(1e-7, 50.0), 4 * 1e-7 * 0.3 * 50.0, rtol=1e-4)
    assert Linear().rounding(1e-7, 50.0) == Polynomial().rounding(1e-7, 50.0) == 0.0
    assert KernelMatrix(Careful(1e-9), A.astype(np.float32)).work_dtype == np.float64


def test_mixed_translation_invariance_far_from_the_origin_is_computed_in_float64():
    X = (A + 30.0).astype(np.float32)
    kernel = RBF(0.7) + 1e-3 * Linear()
    matrix = KernelMatrix(kernel, X)
    assert (matrix.work_dtype, matrix.dtype) == (np.float64, np.float32)
    assert_allclose(whole(matrix), exact(kernel, X), atol=1e-5)
    with pytest.raises(ValueError, match=r"apart, got RBF.* from the origin"):
        KernelMatrix(kernel, A + 1e7)


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        (1e-30 * Polynomial(1.0, 20) + Linear(), 4.0),
        (1e-60 * (1e30 * (1e30 * Linear())) + Linear(), 4.0),
        (Polynomial(1e72, 3, 0.5), 1e-36),
        (Sigmoid(1e72), 1e-36),
    ],
)
def test_parameters_beyond_float32_are_those_of_float64(kernel, scale):
    """Products that underflow in float32, times a gamma that is infinite there, were NaN."""
    X = (scale * A).astype(np.float32)
    matrix = KernelMatrix(kernel, X)
    assert matrix.work_dtype == np.float64
    assert_allclose(whole(matrix), kernel.block(X.astype(float), X.astype(float)), rtol=1e-6)


def test_gamma_that_float32_holds_with_few_digits_is_used_in_float64():
    X = (4e18 * RNG.uniform(-1, 1, size=(20, 2))).astype(np.float32)
    assert KernelMatrix(RBF(1e-36), X).work_dtype == np.float32
    assert KernelMatrix(RBF(5.2e-42), X).work_dtype == np.float64


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1e18, 1e40])
def test_float64_stays_where_float32_has_not_the_range(size):
    X = size * RNG.normal(size=(20, 3))
    matrix = KernelMatrix(Linear(), X, row_dtype="float32")
    assert matrix.dtype == np.float64
    assert_array_equal(whole(matrix), whole(KernelMatrix(Linear(), X)))


# --- what is refused ------------------------------------------------------------------------------


@each_dtype
@pytest.mark.parametrize(("gamma", "far"), [(1e39, 1.0), (1e20, 1.0), (1.0, 1e7)])
@each_format
def test_gamma_beyond_float64_is_refused(dtype, gamma, far, as_rows):
    X = as_rows(clusters(far, dtype))
    with pytest.raises(ValueError, match=r"X and gamma must be small enough .* RBF\(gamma=1"):
        KernelMatrix(RBF(gamma), X)
    with pytest.raises(ValueError, match=r"X and gamma must be small enough"):
        kernel_decision(RBF(gamma), X, X, np.ones((1, 200)))
    # Of equal rows nothing cancels: ones are right, not what infinity times zero is.
    assert_array_equal(whole(KernelMatrix(RBF(1e39), np.ones((5, 2), dtype))), 1.0)


# --- the estimator's choice -----------------------------------------------------------------------


def test_auto_is_float32_for_many_examples():
    few, many = (np.zeros((tuning.FLOAT32_SAMPLES + more, 1)) for more in (0, 1))
    plain = np.zeros((tuning.PLAIN_FLOAT32_SAMPLES + 1, 1))
    rbf, own = RBF(0.5), make_kernel(lambda A, B: A @ B.T)
    for arguments, named, expected in (
        (("auto", rbf, few), {}, None),
        (("auto", rbf, many), {}, "float32"),
        (("auto", rbf, many, 1e-3), {}, "float32"),
        (("auto", rbf, many, 1e-7), {}, None),
        (("auto", own, many), {}, None),
        (("auto", rbf, many, 1e-3, 2e3), {}, None),
        (("float64", rbf, many), {}, "float64"),
        (("auto", rbf, plain), {}, None),
        (("auto", rbf, plain), {"plain": True}, "float32"),
        (("auto", rbf, plain[1:]), {"plain": True}, None),
        (("float32", rbf, few), {}, "float32"),
    ):
        assert dtype_of_rows(*arguments, **named) == expected, (arguments[0], arguments[3:], named)


MANY = np.random.default_rng(0).normal(size=(2100, 3))


@pytest.mark.parametrize(
    ("options", "dtype"),
    [({}, np.float32), ({"polish": True}, np.float64), ({"warm_start": True}, np.float64)],
)
def test_only_fits_that_ask_for_no_gap_have_float32_rows_of_fewer_examples(
    monkeypatch, options, dtype
):
    dtypes, subset = set(), GramRows.subset

    def noting(rows, *arguments, **options):
        dtypes.add(rows.gram.dtype)
        return subset(rows, *arguments, **options)

    monkeypatch.setattr(GramRows, "subset", noting)
    y = np.minimum(np.arange(1500) % 7, 2)  # two pairs of more than 1,000
    PegasosSVC(epochs=1, random_state=0, **options).fit(MANY[:1500], y)
    assert dtypes == {np.dtype(dtype)}


def test_auto_of_a_warm_start_does_not_depend_on_tol(monkeypatch):
    """What the first fit kept in float32 is not to be certified as float64."""
    y = (np.hypot(MANY[:, 0], MANY[:, 1]) > 1.2).astype(int)
    chosen, choose = [], pairs.dtype_of_rows

    def choosing(*arguments, **plain):
        chosen.append(choose(*arguments, **plain))
        return chosen[-1]

    monkeypatch.setattr(pairs, "dtype_of_rows", choosing)
    model = PegasosSVC(gamma=1.0, epochs=1, warm_start=True, random_state=0).fit(MANY, y)
    model.set_params(tol=1e-6, epochs=0.01)
    with pytest.warns(ConvergenceWarning, match="tol"):
        model.fit(MANY, y)
    PegasosSVC(gamma=1.0, epochs=0.01, random_state=0).fit(MANY[:1000], y[:1000])
    assert chosen == ["float32", "float32", None]
