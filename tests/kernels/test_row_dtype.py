"""Kernel values of float64 data in float32, and the other way round: bounded, and certified."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import (
    RBF,
    KernelMatrix,
    Laplacian,
    Linear,
    PegasosSVC,
    Polynomial,
    Sigmoid,
    make_rows,
)
from kpegasos.fitting import rows
from kpegasos.fitting.rows import dtype_of_rows
from kpegasos.kernels.functions import make_kernel
from kpegasos.kernels.matrix import ClassSortedMatrix
from kpegasos.utils import tuning

RNG = np.random.default_rng(0)
KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(0.1, 3, 1.0),
    "rbf": RBF(0.1),
    "sigmoid": Sigmoid(0.1, 0.1),
    "laplacian": Laplacian(0.1),
}
FORMATS = {"dense": np.asarray, "csr": sparse.csr_matrix}


def whole(matrix):
    values = np.empty((matrix.n_samples, matrix.n_samples), matrix.dtype)
    matrix.write_rows(np.arange(matrix.n_samples), values)
    return values


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("as_rows", FORMATS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 3.0])
@pytest.mark.parametrize("n_features", [1, 3, 300])
def test_float32_values_of_float64_rows_are_within_their_rounding(
    kernel, as_rows, scale, n_features
):
    X = RNG.normal(loc=scale, scale=scale, size=(60, n_features)) / n_features**0.5
    matrix = KernelMatrix(KERNELS[kernel], FORMATS[as_rows](X), row_dtype="float32")
    exact = KERNELS[kernel].block(X, X)
    assert matrix.dtype == np.float32
    errors = np.abs(whole(matrix) - exact)
    assert (errors <= matrix.rounding[:, None] + matrix.rounding).all()
    assert matrix.rounding.max() <= 1e-3 * max(1.0, np.abs(exact).max())


def test_bounds_hold_where_only_the_features_are_rounded():
    """One feature, each just between two float32 numbers: products of these are nearly exact."""
    X = (1.0 + RNG.integers(0, 100, (60, 1)) * 2.0**-23) * (1 + 2.0**-24 - 2.0**-40)
    for kernel in (Linear(), Polynomial(1.0, 5, 0.0)):
        matrix = KernelMatrix(kernel, X, row_dtype="float32")
        errors = np.abs(whole(matrix) - kernel.block(X, X))
        assert (errors <= matrix.rounding[:, None] + matrix.rounding).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_float64_values_of_float32_rows_are_exact(kernel):
    X = RNG.normal(size=(40, 5)).astype(np.float32)
    matrix = KernelMatrix(KERNELS[kernel], X, row_dtype="float64")
    assert matrix.dtype == np.float64
    if kernel != "laplacian":  # differences are taken in the dtype of X
        exact = KERNELS[kernel].block(X.astype(float), X.astype(float))
        assert_allclose(whole(matrix), exact, rtol=1e-12, atol=1e-12)


def test_arithmetic_is_float64_where_float32_rounds_too_much():
    X = RNG.normal(size=(60, 2)) + 1000 * RNG.integers(2, size=(60, 1))
    matrix = KernelMatrix(RBF(1.0), X, row_dtype="float32")
    assert (matrix.dtype, matrix.work_dtype) == (np.float32, np.float64)
    assert_allclose(
        whole(matrix), KernelMatrix(RBF(1.0), X).block(slice(0, 60), slice(0, 60)), 1e-6
    )


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1e18, 1e40])
def test_float64_stays_where_float32_has_not_the_range(size):
    X = size * RNG.normal(size=(20, 3))
    matrix = KernelMatrix(Linear(), X, row_dtype="float32")
    assert matrix.dtype == np.float64
    assert_array_equal(whole(matrix), whole(KernelMatrix(Linear(), X)))


def test_exact_values_are_of_the_rows_as_given():
    X = RNG.normal(size=(50, 4))
    matrix = KernelMatrix(RBF(0.5), X, row_dtype="float32")
    coef = RNG.normal(size=50)
    sums, rounding, _ = matrix.exact.products(coef, np.ones(50, dtype=bool), 1.0)
    assert_allclose(sums, RBF(0.5).block(X, X) @ coef, rtol=1e-12, atol=1e-12)
    assert rounding.max() < 1e-11


def test_pairs_and_rows_take_the_dtype():
    X = RNG.normal(size=(60, 4))
    members = [np.arange(30), np.arange(30, 60)]
    shared = ClassSortedMatrix(RBF(0.5), X, members, row_dtype="float32")
    assert shared.pair(0, 1).dtype == np.float32
    assert make_rows(X, "rbf", gamma=0.5, row_dtype="float32").gram.dtype == np.float32
    assert make_rows(X, "rbf", gamma=0.5).gram.dtype == np.float64
    with pytest.raises(ValueError, match="row_dtype must be one of"):
        make_rows(X, "rbf", gamma=0.5, row_dtype="float16")


# --- the estimator's choice -----------------------------------------------------------------------


def test_auto_is_float32_for_many_examples():
    few, many = (np.zeros((tuning.FLOAT32_SAMPLES + more, 1)) for more in (0, 1))
    rbf, own = RBF(0.5), make_kernel(lambda A, B: A @ B.T)
    assert dtype_of_rows("auto", rbf, few) is None
    assert dtype_of_rows("auto", rbf, many) == "float32"
    assert dtype_of_rows("auto", rbf, many, 1e-3) == "float32"
    assert dtype_of_rows("auto", rbf, many, 1e-7) is None
    assert dtype_of_rows("auto", own, many) is None
    assert dtype_of_rows("auto", rbf, many, 1e-3, 2e3) is None
    assert dtype_of_rows("float64", rbf, many) == "float64"
    plain = np.zeros((tuning.PLAIN_FLOAT32_SAMPLES + 1, 1))
    assert dtype_of_rows("auto", rbf, plain) is None
    assert dtype_of_rows("auto", rbf, plain, plain=True) == "float32"
    assert dtype_of_rows("auto", rbf, plain[1:], plain=True) is None
    assert dtype_of_rows("float32", rbf, few) == "float32"


@pytest.fixture(scope="module")
def two_thousand_and_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 3))
    return X, (np.hypot(X[:, 0], X[:, 1]) > 1.2).astype(int)


@pytest.mark.parametrize(
    ("options", "dtype"),
    [({}, np.float32), ({"polish": True}, np.float64), ({"warm_start": True}, np.float64)],
)
def test_only_fits_that_ask_for_no_gap_have_float32_rows_of_fewer_examples(
    two_thousand_and_more, monkeypatch, options, dtype
):
    X, y = two_thousand_and_more
    dtypes = []

    original = rows.GramParts

    def parts(gram, *arguments, **others):
        dtypes.append(gram.dtype)
        return original(gram, *arguments, **others)

    monkeypatch.setattr(rows, "GramParts", parts)
    y = y + 2 * (X[:, 2] > 0.5)
    PegasosSVC(epochs=1, random_state=0, **options).fit(X[:1500], y[:1500])
    assert dtypes == [dtype]


@pytest.mark.parametrize("C", [1.0, 1e3])
def test_certified_intervals_of_both_precisions_overlap(two_thousand_and_more, C):
    X, y = two_thousand_and_more
    intervals = []
    for row_dtype in ("auto", "float64"):
        model = PegasosSVC(
            C, gamma=1.0, epochs=1, polish=True, tol=1e-3, row_dtype=row_dtype, random_state=0
        ).fit(X, y)
        assert model.relative_gap_ <= 1e-3
        intervals.append((model.objective_ - model.duality_gap_, model.objective_))
        assert model.support_vectors_.dtype == np.float64
    (low, high), (low64, high64) = intervals
    assert max(low, low64) <= min(high, high64)


def test_auto_of_a_warm_start_does_not_depend_on_tol(two_thousand_and_more, monkeypatch):
    """What the first fit kept in float32 is not to be certified as float64."""
    X, y = two_thousand_and_more
    chosen = []
    choose = rows.dtype_of_rows
    monkeypatch.setattr(
        rows,
        "dtype_of_rows",
        lambda *arguments, **plain: chosen.append(choose(*arguments, **plain)) or chosen[-1],
    )
    model = PegasosSVC(gamma=1.0, epochs=1, warm_start=True, random_state=0).fit(X, y)
    model.set_params(tol=1e-6, epochs=0.01)
    with pytest.warns(ConvergenceWarning, match="tol"):
        model.fit(X, y)
    PegasosSVC(gamma=1.0, epochs=0.01, random_state=0).fit(X[:1000], y[:1000])
    assert chosen == ["float32", "float32", None]
