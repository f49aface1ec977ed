"""Gram matrices: checked, only read, not copied."""

import numpy as np
import pytest
from covering import each_pair
from kernel_cases import each_dtype, same_bits
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import N, X, Y, make_gram, peak_mb

from kpegasos import RBF, KernelMatrix, make_problem, make_rows, pegasos
from kpegasos.core.state import LoopParameters, PegasosOptions, new_state
from kpegasos.kernels import gemm
from kpegasos.kernels.base import InnerProductKernel
from kpegasos.kernels.functions import make_kernel
from kpegasos.rows.base import Steps
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.pegasos import PRIMAL
from kpegasos.utils import tuning
from kpegasos.utils.patience import heeding
from kpegasos.utils.validation import check_gram


@each_dtype
def test_check_gram_symmetric_to_rounding(dtype):
    for n in (3, 600, 1100):
        K = np.eye(n, dtype=dtype)
        K[n - 1, 0] = 1e-2
        with pytest.raises(ValueError, match=r"symmetric kernel matrix, got entries .* by 0.01"):
            make_rows(K, "precomputed")
    K = (1e3 * make_gram("rbf")).astype(dtype)
    K[3, 5] *= 1 + 8 * np.finfo(dtype).eps
    assert K[3, 5] != K[5, 3]
    assert make_rows(K, "precomputed").gram is K  # and not a copy


def test_check_gram_of_other_types():
    K = np.eye(4)
    for given in (K.tolist(), K.astype(int), K.astype(np.float16), K.astype(bool)):
        checked = check_gram(given)
        assert checked.dtype == np.float64
        assert_array_equal(checked, K)


def test_gram_is_only_read():
    """A matrix may be a memory map that nobody may write to, in either order."""
    K = make_gram("rbf")
    expected = pegasos(make_problem(Y, 0.1), make_rows(K.copy(), "precomputed"), random_state=0)
    K.flags.writeable = False
    for matrix in (K, np.asfortranarray(K)):
        result = pegasos(make_problem(Y, 0.1), make_rows(matrix, "precomputed"), random_state=0)
        assert_array_equal(result.alpha, expected.alpha)
        assert_allclose(result.coef, expected.coef)


@same_bits
@each_pair(
    dtype=[np.float32, np.float64],
    row_dtype=["float32", "float64"],
    kernel=["rbf", "poly", "linear", "sigmoid"],
    n_features=[2, 37, 300],
)
def test_half_of_a_matrix_and_its_mirror_image_are_the_whole(dtype, row_dtype, kernel, n_features):
    A = np.random.default_rng(0).normal(size=(2 * tuning.TILE_ROWS + 41, n_features)).astype(dtype)
    values = KernelMatrix(make_kernel(kernel, gamma=0.3 / n_features), A, row_dtype=row_dtype)
    whole = np.empty((len(A), len(A)), values.dtype)
    values.write_rows(np.arange(len(A)), whole)
    rows = GramRows.from_values(values)
    assert_array_equal(rows.gram, whole)
    assert rows.evaluations < 0.75 * whole.size


class OneNormFirst(InnerProductKernel):
    """``1 / (1 + ‖a − b‖²)``, whose bits depend on which example comes first."""

    positive_definite = translation_invariant = True

    def from_inner_products(self, products, norms_a, norms_b):
        products *= -2.0
        products += norms_a
        products += norms_b
        products[...] = 1.0 / (1.0 + np.maximum(products, 0.0))

    def diag(self, A):
        return np.ones(A.shape[0])


@same_bits
def test_matrix_of_an_unsymmetric_kernel_or_another_product_is_computed_as_a_whole(monkeypatch):
    rng = np.random.default_rng(0)
    values, n = KernelMatrix(OneNormFirst(), rng.normal(size=(300, 13))), 300
    whole = np.empty((n, n))
    values.write_rows(np.arange(n), whole)
    assert not np.array_equal(whole, whole.T)
    rows = GramRows.from_values(values)
    assert_array_equal(rows.gram, whole)
    assert rows.evaluations == whole.size
    monkeypatch.setattr(gemm, "IMPLEMENTATION", "numpy")
    rng = np.random.default_rng(0)
    rows = GramRows.from_values(KernelMatrix(RBF(0.5), rng.normal(size=(30, 3))))
    assert rows.evaluations == 30**2


def test_part_of_a_matrix_takes_little_more_than_itself(monkeypatch):
    monkeypatch.setattr(tuning, "GATHER_BYTES", 1 << 16)
    gram, members = np.eye(800), np.random.default_rng(0).permutation(800)[:400]
    source, parts = GramRows(gram), []
    assert peak_mb(lambda: parts.append(source.subset(members))) < 1.3 * 8 * 400**2 / 2**20
    assert_array_equal(parts[0].gram, np.eye(400))


def test_squared_norms_are_the_callers_own():
    rows = make_rows(make_gram("rbf"), "precomputed")
    rows.squared_norms()[:] = 7.0
    assert_array_equal(rows.squared_norms(), np.ones(Y.size))


def test_draws_that_are_less_than_a_batch_are_left():
    for cache in ("precomputed", "cached", "streamed"):
        source = make_rows(X, "rbf", cache=cache)
        state = new_state(N, source.image_size, PegasosOptions(batch_size=3), 0.1, 0)
        parameters = LoopParameters(0.1, N, 3, False, False)
        steps = Steps(PRIMAL, state.loop, make_problem(Y, 0.1).examples, parameters)
        source.advance(steps, np.arange(8), 8)
        assert state.steps == 2


def test_symmetric_values_are_copied_while_somebody_waits(monkeypatch):
    """Memory that is written to for the first time may take long: each tile of it is asked for."""
    monkeypatch.setattr(tuning, "TILE_ROWS", 8)
    values, asked, between = KernelMatrix(RBF(1.0), np.eye(64)), [], []
    write_rows = values.write_rows

    def noted(*arguments):
        between.append(len(asked))
        n_values = write_rows(*arguments)
        between.append(len(asked))
        return n_values

    monkeypatch.setattr(values, "write_rows", noted)
    with heeding(lambda: asked.append(1) or True):
        rows = GramRows.from_values(values)
    assert np.diff(between)[1::2].tolist() == [7, 6, 5, 4, 3, 2, 1]
    assert_array_equal(rows.gram, rows.gram.T)
