"""The kernel matrix: the same bits wherever values stand, in pairs and in shared products."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from kernel_cases import each_dtype, each_format, same_bits, whole
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import RBF, KernelMatrix, Laplacian, Linear, Polynomial, Sigmoid, make_rows
from kpegasos.kernels import matrix as matrix_module
from kpegasos.kernels.base import CallableKernel
from kpegasos.kernels.decision import _add_products, kernel_product
from kpegasos.kernels.functions import Cosine
from kpegasos.kernels.gemm import PackedKernel, PackedMatrix
from kpegasos.kernels.maps import gaussian
from kpegasos.kernels.matrix import ClassSortedMatrix, KernelPoints, SharedProducts
from kpegasos.rows.gram import GramRows
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
    left, right = np.array([5, 1, 17, 1]), slice(10, 40)
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


@pytest.mark.parametrize(("height", "width"), [(1, 7), (7, None), (53, 1), (1000, 53)])
def test_kernel_product_in_tiles(height, width):
    columns = RNG.normal(size=(N, 3)) * (RNG.random(N) < 0.5)[:, None]
    product = kernel_product(KernelMatrix(RBF(0.5), X), columns, 2.0, height, width)
    assert_allclose(product, (RBF(0.5).block(X, X) + 2.0) @ columns, rtol=1e-10, atol=1e-10)
    nothing = kernel_product(KernelMatrix(RBF(0.5), X), np.zeros((N, 2)), 2.0, height, width)
    assert_array_equal(nothing, np.zeros((N, 2)))


def test_pieces_of_a_built_in_kernel_do_not_follow_the_clock(monkeypatch):
    shapes, block, clock = [], Cosine.block, itertools.count()
    monkeypatch.setattr(
        Cosine, "block", lambda self, *rows: shapes.append((*map(len, rows),)) or block(self, *rows)
    )
    slow = SimpleNamespace(perf_counter=lambda: float(next(clock)))
    monkeypatch.setattr(patience, "time", slow)
    KernelMatrix(Cosine(), X).block(slice(None), slice(None))
    assert shapes == [(N, N)]


# --- pairs of classes -----------------------------------------------------------------------------

ORDER = RNG.permutation(60)[:53]  # seven rows belong to no class
MEMBERS = [ORDER[:20], ORDER[20:23], ORDER[23:]]


@same_bits
@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (2, 0), (1, 2)])
@each_kernel
@each_format
@each_dtype
def test_pair_has_the_bits_of_its_own_matrix(classes, kernel, as_rows, dtype):
    rows = as_rows(X[:60].astype(dtype))
    pair = ClassSortedMatrix(KERNELS[kernel], rows, MEMBERS).pair(*classes)
    own = KernelMatrix(KERNELS[kernel], rows, np.concatenate([MEMBERS[c] for c in classes]))
    for name in ("n_samples", "dtype", "can_pack", "row_bytes"):
        assert getattr(pair, name) == getattr(own, name)
    assert_array_equal(pair.diagonal, own.diagonal)
    last = own.n_samples - 1
    nobody = [[]] if own.can_pack else []
    for chosen in (RNG.permutation(last + 1)[: last // 2], *nobody, [0], [last], [0, last]):
        chosen = np.array(chosen, dtype=int)
        outs = [np.full((chosen.size, last + 1), np.nan, dtype) for _ in range(2)]
        assert pair.write_rows(chosen, outs[0]) == own.write_rows(chosen, outs[1]) == outs[0].size
        assert_array_equal(*outs)
    left, right = np.array([4, 0, 9]), slice(2, None)
    assert_array_equal(pair.block(left, right), own.block(left, right))
    for matrix in (pair, own) if own.can_pack else ():
        subset = matrix.pack_subset()
        assert subset.members.size == 0
        subset.append(np.array([2, 21]))
        subset.append(np.array([0]))
        assert_array_equal(subset.members, [2, 21, 0])
        for first, last in ((0, 3), (1, 2)):
            out = np.empty((2, last - first), dtype)
            subset.write(np.array([1, 22]), out, first, last)
            assert_array_equal(out, whole(own)[np.ix_([1, 22], [2, 21, 0][first:last])])


def test_pairs_pack_the_examples_once(monkeypatch):
    packed = []
    for name in ("append", "put"):
        pack = getattr(PackedMatrix, name)
        monkeypatch.setattr(
            PackedMatrix,
            name,
            lambda self, *given, pack=pack: packed.append(len(given[-1])) or pack(self, *given),
        )
    shared = ClassSortedMatrix(RBF(0.5), X[:60], MEMBERS)
    for classes in ((0, 1), (0, 2), (1, 2)):
        whole(shared.pair(*classes))
    assert sum(packed) == 53


# --- products that kernels share ------------------------------------------------------------------


def values_of(kernel, rows=X, members=ORDER, row_dtype="float64"):
    return KernelMatrix(kernel, rows, members, row_dtype=row_dtype, work_dtype="float64")


def computed(values):
    return GramRows.from_values(values).gram


@pytest.mark.parametrize("row_dtype", ["float32", "float64"])
@each_kernel
@each_format
@each_dtype
def test_shared_matrix_is_that_of_the_kernel(kernel, as_rows, dtype, row_dtype, monkeypatch):
    rows = as_rows(X.astype(dtype))
    values = values_of(KERNELS[kernel], rows, row_dtype=row_dtype)
    rtol = 1e-5 * ((kernel, dtype) == ("laplacian", np.float32))  # whose exponential is float32
    at_once = SharedProducts(rows, ORDER, computed).gram(values)
    monkeypatch.setattr(matrix_module, "threads_for", lambda work: 3)
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * 53 * 4)  # four rows at a time
    for found in (at_once, SharedProducts(rows, ORDER, computed).gram(values)):
        assert found.dtype == values.dtype
        assert_allclose(found, computed(values), rtol=rtol, atol=0.0)


@pytest.mark.parametrize(
    ("kernels", "n_computed"),
    [
        ([RBF(0.01), RBF(0.1), RBF(1.0)], 1),
        ([Laplacian(0.01), Laplacian(0.1)], 1),
        ([Linear(), Polynomial(0.1, 2, 0.0), Sigmoid(0.1, 0.0)], 1),
        ([RBF(0.1), Laplacian(0.1), RBF(0.1), RBF(0.2)], 3),
    ],
)
def test_kernels_of_a_kind_share_one_computation(kernels, n_computed):
    """Products of another kind take the place of those held."""
    count = []
    shared = SharedProducts(X, ORDER, lambda values: count.append(1) or computed(values))
    for kernel in kernels:
        assert_array_equal(shared.gram(values_of(kernel)), computed(values_of(kernel)))
        shared.exact(values_of(kernel))
    assert len(count) == n_computed


def test_functions_of_ones_own_share_nothing():
    class Halved(Laplacian):
        """Its values are not those of distances any more."""

        def block(self, A, B):
            return 0.5 * super().block(A, B)

    assert all(SharedProducts.can_make(kernel) for kernel in KERNELS.values())
    assert not SharedProducts.can_make(CallableKernel(lambda A, B: A @ B.T))
    assert not SharedProducts.can_make(Halved(0.1))


def held_values():
    everybody = np.arange(N)
    return SharedProducts(X, everybody, computed).exact(values_of(RBF(0.3), members=everybody))


def test_subsets_of_held_products_are_those_examples():
    values, inner = held_values(), np.array([5, 3, 40, 8])
    once, twice = values.subset(ORDER[inner]), values.subset(ORDER).subset(inner)
    which = np.array([2, 0])
    expected = RBF(0.3).block(X[ORDER[inner[which]]], X[ORDER[inner]])
    for subset in (once, twice):
        assert subset.n_samples == 4
        for _ in range(2):  # rows leave the products that are held
            assert_allclose(subset.rows(which), expected, rtol=1e-12)


def test_held_products_go_block_by_block_and_are_given_up_when_told_to(monkeypatch):
    coef, everybody = RNG.normal(size=N), np.ones(N, dtype=bool)
    at_once, bound, evaluations = held_values().products(coef, everybody, 1.0)
    monkeypatch.setattr(tuning, "MAP_BYTES", 8 * N * 10)  # ten rows at a time
    in_blocks = held_values().products(coef, everybody, 1.0)
    assert np.all(np.abs(in_blocks[0] - at_once) <= 2 * bound)
    assert in_blocks[2] == evaluations == N * N
    for n_blocks in (0, 1, 3):
        answers = iter([True] * n_blocks + [False])
        with pytest.raises(CutShort), heeding(lambda answers=answers: next(answers)):
            held_values().products(coef, everybody, 1.0)


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
    assert_array_equal(make_rows(rows, Linear()).product(np.eye(2)) > 0, np.eye(2, dtype=bool))


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
    assert KernelPoints(kernel, X[49:], diagonal=False).squared_norms.max() > 3.0
    with pytest.raises(ValueError, match="gamma must be small enough"):
        KernelMatrix(kernel, X[49:])


def test_packed_subset_of_other_rows_is_refused():
    for kernel, rows in ((Laplacian(1.0), X), (Linear(), sparse.csr_matrix(X))):
        with pytest.raises(TypeError, match="must be one of inner products, and X dense"):
            KernelMatrix(kernel, rows).pack_subset()


def write_rows(first, last, height=4, width=None):
    width = max(0, last - first) if width is None else width
    KernelMatrix(RBF(0.3), X).write_rows(np.arange(4), np.empty((height, width)), first, last)


def write_part(first, last, height=4, width=None):
    subset = KernelMatrix(KERNELS["poly"], X).pack_subset()
    subset.append(np.arange(9))
    width = max(0, last - first) if width is None else width
    subset.write(np.arange(4), np.empty((height, width)), first, last)


def append(rows, norms):
    PackedKernel(RBF(0.3), 5, np.dtype(np.float64)).append(rows, norms)


def mapped(norms_a, norms_b):
    gaussian(np.zeros((4, 3)), norms_a, norms_b, 1.0)


def added(values, first, coefs, result):
    _add_products(np.ones(values), first, np.ones(coefs), np.arange(2), np.zeros(result))


@pytest.mark.parametrize(
    ("call", "arguments", "match"),
    [
        (write_rows, (0, N + 1), "first and last must"),
        (write_rows, (-1, 3), "first and last must"),
        (write_rows, (5, 3), "first and last must"),
        (write_rows, (0, 3, 4, 2), "out must"),
        (write_rows, (0, 3, 3), "out must"),
        (write_part, (0, 10), "first and last must"),
        (write_part, (5, 3), "first and last must"),
        (write_part, (0, 3, 4, 2), "out must"),
        (append, (X, NORMS[:29]), r"squared_norms must have shape \(203,\)"),
        (append, (X[:, :4], NORMS), "rows must be float64 with 5 features"),
        (append, (X.astype(np.float32), NORMS), "rows must be float64 with 5 features"),
        (mapped, (np.ones(2), np.ones(3)), r"norms_a must have shape \(4,\), got \(2,\) instead"),
        (mapped, (np.ones(4), np.ones(4)), r"norms_b must have shape \(3,\), got \(4,\) instead"),
        (added, ((3, 4), 0, (2, 5), (3, 2)), "first and last must be a range within 0 and 4"),
        (added, ((3, 4), 2, (2, 3), (3, 2)), "first and last must be a range within 0 and 4"),
        (added, ((3, 4), 0, (2, 4), (2, 2)), "result must have shape"),
        (added, ((3, 4), 0, (2, 4), (3, 1)), "outputs must be indices from 0 to 0"),
        (added, ((3, 4), 0, (3, 4), (3, 3)), "outputs must have shape"),
        (added, ((3, 0), 0, (2, 0), (3, 2)), "coefs must have at least one column"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(call, arguments, match):
    """Compiled code would write beyond them."""
    with pytest.raises(ValueError, match=match):
        call(*arguments)
