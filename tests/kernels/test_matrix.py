"""The kernel matrix: the same bits wherever values stand, in pairs and in shared products."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from kernel_cases import each_dtype, each_format, same_bits, shared, whole
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import RBF, KernelMatrix, Laplacian, Linear, Polynomial, Sigmoid, make_rows
from kpegasos.kernels import matrix as matrix_module
from kpegasos.kernels.base import CallableKernel
from kpegasos.kernels.decision import _add_products
from kpegasos.kernels.exact import exact_products
from kpegasos.kernels.functions import Cosine
from kpegasos.kernels.gemm import PackedKernel, PackedMatrix
from kpegasos.kernels.maps import gaussian
from kpegasos.kernels.matrix import products_of
from kpegasos.utils import patience, tuning
from kpegasos.utils.patience import CutShort, heeding
from kpegasos.utils.threads import at_work

RNG = np.random.default_rng(0)
X = RNG.normal(loc=1.0, size=(203, 5))
NORMS = np.square(X).sum(axis=1)
N = 203
KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(0.5, 3, 1.0),
    "rbf": RBF(0.3),
    "sigmoid": Sigmoid(0.1, -1.0),
    "laplacian": Laplacian(0.5),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_packed = pytest.mark.parametrize("kernel", list(KERNELS)[:4])


# --- values do not depend on where they stand -----------------------------------------------------


@each_kernel
@each_format
def test_matrix_of_slices_and_indices(kernel, as_rows, monkeypatch):
    matrix = KernelMatrix(KERNELS[kernel], as_rows(X))
    left, right = np.array([5, 1, 17, 1]), np.arange(10, 40)
    block = KERNELS[kernel].block
    expected = block(X[left], X[right])
    assert_allclose(matrix.block(left, right), expected, rtol=1e-9, atol=1e-12)
    out = np.empty((3, N))
    assert matrix.write_rows(np.array([2, 50, 3]), out) == 3 * N
    assert_allclose(out, block(X[[2, 50, 3]], X), rtol=1e-9, atol=1e-12)
    parts = np.empty_like(out)
    with monkeypatch.context() as patch:
        patch.setattr(tuning, "GATHER_BYTES", 7 * max(1, matrix.row_bytes))
        matrix.write_rows(np.array([2, 50, 3]), parts)
    assert_allclose(parts, out, rtol=1e-12, atol=1e-14)
    assert (matrix.n_samples, matrix.dtype) == (N, np.float64)
    assert matrix.can_pack == (as_rows is np.asarray and kernel != "laplacian")
    members = RNG.permutation(N)[:23]
    some = KernelMatrix(KERNELS[kernel], as_rows(X), members)
    assert_allclose(whole(some), block(X[members], X[members]), rtol=1e-9, atol=1e-12)
    assert_allclose(some.diagonal, KERNELS[kernel].diag(X[members]))
    nobody = np.arange(0)
    assert KernelMatrix(KERNELS[kernel], as_rows(X), nobody).write_rows(nobody, out[:0, :0]) == 0


@same_bits
@each_packed
@each_dtype
@pytest.mark.parametrize(
    ("height", "threads", "hot_bytes"), [(1, 1, 1), (8, 2, 1024), (40, 7, 1 << 18)]
)
def test_rows_are_the_same_bits_in_any_block_on_any_threads(
    kernel, dtype, height, threads, hot_bytes, monkeypatch
):
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    rows = RNG.normal(size=(N, 33)).astype(dtype)
    blocks = KernelMatrix(KERNELS[kernel], rows)
    with at_work(1):
        gram = whole(KernelMatrix(KERNELS[kernel], rows))
    assert_array_equal(gram, gram.T)
    monkeypatch.setattr(tuning, "HOT_BYTES", hot_bytes)
    for top in range(0, N, height):
        members = np.arange(top, min(N, top + height))
        out, single = np.empty((members.size, 120), dtype), np.empty((members.size, 120), "f")
        with at_work(threads):
            for values in (out, single):
                assert blocks.write_rows(members, values, 50, 170) == members.size * 120
        assert_array_equal(out, gram[members, 50:170])
        assert_array_equal(single, out.astype(np.float32))


def test_pieces_of_a_built_in_kernel_do_not_follow_the_clock(monkeypatch):
    shapes, block, clock = [], Cosine.block, itertools.count()
    monkeypatch.setattr(
        Cosine, "block", lambda self, *rows: shapes.append((*map(len, rows),)) or block(self, *rows)
    )
    slow = SimpleNamespace(perf_counter=lambda: float(next(clock)))
    monkeypatch.setattr(patience, "time", slow)
    KernelMatrix(Cosine(), X).block(np.arange(N), np.arange(N))
    assert shapes == [(N, N)]


# --- some of the examples -------------------------------------------------------------------------

ORDER = RNG.permutation(60)[:53]  # seven rows belong to no class


@same_bits
@pytest.mark.parametrize(
    "places",
    [np.arange(23), np.r_[20:23, :20], np.r_[23:53, :20], RNG.permutation(53)[:19]],
    ids=["front", "two ranges", "apart", "any"],
)
@each_kernel
@each_format
@each_dtype
def test_subset_has_the_bits_of_its_own_matrix(places, kernel, as_rows, dtype):
    rows = as_rows(X[:60].astype(dtype))
    subset = KernelMatrix(KERNELS[kernel], rows, ORDER).subset(places)
    own = KernelMatrix(KERNELS[kernel], rows, ORDER[places])
    for name in ("n_samples", "dtype", "can_pack", "row_bytes"):
        assert getattr(subset, name) == getattr(own, name)
    for name in ("diagonal", "squared_norms", "members"):
        assert_array_equal(getattr(subset, name), getattr(own, name))
    size = places.size
    halves = [RNG.permutation(size)[: size // 2], np.array([0, size - 1])]
    for chosen in (np.arange(size), *halves):
        outs = [np.full((chosen.size, size), np.nan, dtype) for _ in range(2)]
        for each, out in zip((subset, own), outs, strict=True):
            assert each.write_rows(chosen, out) == out.size
        assert_array_equal(*outs)
        blocks = [each.block(chosen, np.arange(2, size)) for each in (subset, own)]
        assert_array_equal(*blocks)
        if own.can_pack:
            assert_array_equal(blocks[0], outs[0][:, 2:])
    twice = subset.subset(np.arange(size)[::-2])
    assert_array_equal(whole(twice), whole(own)[::-2, ::-2])


def test_subsets_pack_the_examples_once(monkeypatch):
    packed, put = [], PackedMatrix.put
    monkeypatch.setattr(
        PackedMatrix, "put", lambda self, *given: packed.append(len(given[-1])) or put(self, *given)
    )
    matrix = KernelMatrix(RBF(0.5), X[:60], ORDER)
    for first in (0, 10, 20):
        whole(matrix.subset(np.arange(first, first + 30)))
    assert sum(packed) == 53


# --- products that kernels share ------------------------------------------------------------------


def values_of(kernel, rows=X, row_dtype="float64"):
    return KernelMatrix(kernel, rows, ORDER, row_dtype=row_dtype, work_dtype="float64")


@pytest.mark.parametrize("row_dtype", ["float32", "float64"])
@each_kernel
@each_format
@each_dtype
def test_values_made_of_products_are_those_of_the_kernel(
    kernel, as_rows, dtype, row_dtype, monkeypatch
):
    rows = as_rows(X.astype(dtype))
    expected = whole(values_of(KERNELS[kernel], rows, row_dtype))
    values = shared(values_of(KERNELS[kernel], rows, row_dtype))
    rtol = 1e-5 * ((kernel, dtype) == ("laplacian", np.float32))  # whose exponential is float32
    at_once = whole(values)
    monkeypatch.setattr(matrix_module, "threads_for", lambda work: 3)
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * 53 * 4)  # four rows at a time
    for computed in (at_once, whole(values)):
        assert computed.dtype == values.dtype
        assert_allclose(computed, expected, rtol=rtol, atol=0.0)


@pytest.mark.parametrize(
    "kernels",
    [
        [RBF(0.01), RBF(1.0)],
        [Laplacian(0.01), Laplacian(0.1)],
        [Linear(), Polynomial(0.1, 2, 0.0), Sigmoid(0.1, 0.0)],
    ],
)
def test_kernels_of_a_kind_are_made_of_the_same_products(kernels):
    products = [whole(values_of(kernel).of_products()) for kernel in kernels]
    assert len({products_of(kernel) for kernel in kernels}) == 1
    for other in products[1:]:
        assert_array_equal(products[0], other)


def test_functions_of_ones_own_share_nothing():
    class Halved(Laplacian):
        """Its values are not those of distances any more."""

        def block(self, A, B):
            return 0.5 * super().block(A, B)

    assert {products_of(kernel) for kernel in KERNELS.values()} == {"inner", "centred", "distances"}
    assert products_of(CallableKernel(lambda A, B: A @ B.T)) is None
    assert products_of(Halved(0.1)) is None


def test_sums_of_products_go_block_by_block_and_are_given_up_when_told_to(monkeypatch):
    coef, everybody = RNG.normal(size=53), np.ones(53, dtype=bool)
    values = shared(values_of(RBF(0.3)))
    at_once, bound, evaluations = exact_products(values, coef, everybody, 1.0)
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * 53 * 10)  # ten rows at a time
    in_blocks = exact_products(values, coef, everybody, 1.0)
    assert np.all(np.abs(in_blocks[0] - at_once) <= 2 * bound)
    assert in_blocks[2] == evaluations == 53 * 53
    for n_blocks in (0, 1, 3):
        answers = iter([True] * n_blocks + [False])
        with pytest.raises(CutShort), heeding(lambda answers=answers: next(answers)):
            exact_products(values, coef, everybody, 1.0)


# --- what is refused: overflow, and arrays that do not fit together -------------------------------


@pytest.mark.parametrize(
    ("kernel", "largest", "dtype"),
    [
        (Linear(), 1e20, np.float32),
        (Linear(), 1e160, np.float64),
        (Polynomial(1.0, 3, 0.0), 1e7, np.float32),
        (RBF(1.0), 1e160, np.float64),
        (1e300 * Linear(), 1e10, np.float64),
        (Polynomial(1e80, 2) * Linear() * Linear(), 1e40, np.float64),
        (RBF(1.0), np.inf, np.float64),
    ],
    ids=str,
)
@each_format
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_refused(kernel, largest, dtype, as_rows):
    rows = X.astype(dtype)
    rows[7, 2] = largest
    match = rf"{type(kernel).__name__} values fit in {dtype.__name__}"
    with pytest.raises(ValueError, match=match):
        KernelMatrix(kernel, as_rows(rows))


def test_values_near_the_limit_are_not_refused():
    rows = np.array([[1e18], [-1e18]], dtype=np.float32)
    assert_array_equal(make_rows(rows, Linear()).gram > 0, np.eye(2, dtype=bool))


def test_a_grid_is_refused_that_decisions_on_other_rows_have_no_digits_for():
    """Its own distances are exact; those of other rows are squares that cancel."""
    X = np.arange(64, dtype=np.float32)[:, None]
    with pytest.raises(ValueError, match="gamma must be small enough"):
        KernelMatrix(RBF(0.2), np.float32(2.0**43) * X)
    assert KernelMatrix(RBF(0.2), X)._grid is not None


def test_support_vectors_may_lie_farther_from_their_centre_than_examples_do():
    """Whatever is trained can predict: most support vectors are on one side."""
    X = np.repeat([[-1.0], [1.0]], 50, axis=0)
    kernel = RBF(1e11)
    KernelMatrix(kernel, X)
    assert KernelMatrix(kernel, X[49:], predicts=True).squared_norms.max() > 3.0
    with pytest.raises(ValueError, match="gamma must be small enough"):
        KernelMatrix(kernel, X[49:])


def write_rows(first, last, height=4, width=None):
    width = max(0, last - first) if width is None else width
    KernelMatrix(RBF(0.3), X).write_rows(np.arange(4), np.empty((height, width)), first, last)


def pack(rows, norms):
    PackedKernel(RBF(0.3), PackedMatrix(N, 5, np.dtype(np.float64)), lambda part: (rows, norms))


def mapped(norms_a, norms_b):
    gaussian(np.zeros((4, 3)), norms_a, norms_b, 1.0)


def added(values, first, coefs, result):
    first, begin, end = first
    arrays = np.arange(2), np.zeros(result)
    _add_products(np.ones(values), first, np.ones(coefs), begin, end, *arrays)


@pytest.mark.parametrize(
    ("call", "arguments", "match"),
    [
        (write_rows, (0, N + 1), "first and last must"),
        (write_rows, (-1, 3), "first and last must"),
        (write_rows, (5, 3), "first and last must"),
        (write_rows, (0, 3, 4, 2), "out must"),
        (write_rows, (0, 3, 3), "out must"),
        (pack, (X, NORMS[:29]), r"squared_norms must have shape \(203,\)"),
        (pack, (X[:, :4], NORMS), "rows must be float64 with 5 features"),
        (pack, (X.astype(np.float32), NORMS), "rows must be float64 with 5 features"),
        (mapped, (np.ones(2), np.ones(3)), r"norms_a must have shape \(4,\), got \(2,\) instead"),
        (mapped, (np.ones(4), np.ones(4)), r"norms_b must have shape \(3,\), got \(4,\) instead"),
        (added, ((3, 4), (0, 0, 5), (2, 4), (3, 2)), "begin and end must be a range within 0 and"),
        (added, ((3, 4), (0, 0, 5), (2, 5), (3, 2)), "less first must be a range within 0 and 4"),
        (added, ((3, 4), (2, 2, 7), (2, 9), (3, 2)), "less first must be a range within 0 and 4"),
        (added, ((3, 4), (2, 1, 3), (2, 9), (3, 2)), "less first must be a range within 0 and 4"),
        (added, ((3, 4), (0, 0, 4), (2, 4), (2, 2)), "result must have shape"),
        (added, ((3, 4), (0, 0, 4), (2, 4), (3, 1)), "outputs must be indices from 0 to 0"),
        (added, ((3, 4), (0, 0, 4), (3, 4), (3, 3)), "outputs must have shape"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(call, arguments, match):
    """Compiled code would write beyond them."""
    with pytest.raises(ValueError, match=match):
        call(*arguments)
