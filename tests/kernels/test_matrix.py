"""The kernel matrix: values by the book, the same bits wherever they stand, overflow refused."""

import itertools
from types import SimpleNamespace

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import RBF, KernelMatrix, Laplacian, Linear, Polynomial, Sigmoid, make_rows
from kpegasos.kernels import gemm
from kpegasos.kernels.decision import kernel_product
from kpegasos.kernels.functions import Cosine
from kpegasos.utils import patience, tuning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(53, 4))
N = 53
EVERY_KERNEL = {
    "linear": Linear(),
    "poly": Polynomial(0.5, 3, 1.0),
    "rbf": RBF(0.5),
    "laplacian": Laplacian(0.5),
    "sigmoid": Sigmoid(0.5, -1.0),
}
each_format = pytest.mark.parametrize(
    "as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"]
)
#: numpy's products may be rounded by where they stand; those of the compiled tile are not.
same_bits = pytest.mark.skipif(gemm.IMPLEMENTATION != "compiled", reason="the compiled tile only")


def gram(kernel, A=X, B=X):
    k = EVERY_KERNEL[kernel]
    return naive.gram(A, B, kernel, **{name: getattr(k, name) for name in vars(k)})


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@each_format
def test_matrix_of_slices_and_indices(kernel, as_rows):
    matrix = KernelMatrix(EVERY_KERNEL[kernel], as_rows(X))
    left, right = np.array([5, 1, 17, 1]), slice(10, 40)
    expected = gram(kernel, X[left], X[right])
    assert_allclose(matrix.block(left, right), expected, rtol=1e-10, atol=1e-12)
    out = np.empty((3, N))
    assert matrix.write_rows(np.array([2, 50, 3]), out) == 3 * N
    assert_allclose(out, gram(kernel, X[[2, 50, 3]]), rtol=1e-10, atol=1e-12)
    assert (matrix.n_samples, matrix.dtype) == (N, np.float64)
    assert matrix.can_pack == (as_rows is np.asarray and kernel != "laplacian")


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_packed_subset_grows(kernel):
    matrix = KernelMatrix(EVERY_KERNEL[kernel], X)
    subset = matrix.pack_subset()
    assert subset.members.size == 0
    subset.append(np.array([7, 3]))
    subset.append(np.array([50, 0, 11]))
    assert_array_equal(subset.members, [7, 3, 50, 0, 11])
    members = np.array([1, 7])
    out = np.empty((2, 5))
    subset.write(members, out)
    assert_allclose(out, gram(kernel, X[members], X[subset.members]), rtol=1e-10, atol=1e-12)
    part = np.empty((2, 3))
    subset.write(members, part, 1, 4)
    assert_array_equal(part, out[:, 1:4])


@same_bits
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_packed_subset_has_the_bits_of_the_rows(dtype):
    matrix = KernelMatrix(RBF(0.5), X.astype(dtype))
    rows, out = np.empty((N, N), dtype), np.empty((N, 3), dtype)
    matrix.write_rows(np.arange(N), rows)
    subset = matrix.pack_subset()
    subset.append(np.array([20, 5, 9]))
    subset.write(np.arange(N), out)
    assert_array_equal(out, rows[:, [20, 5, 9]])


@pytest.mark.parametrize(
    ("kernel", "rows"), [(Laplacian(1.0), X), (Linear(), sparse.csr_matrix(X))], ids=str
)
def test_packed_subset_of_other_rows_is_refused(kernel, rows):
    with pytest.raises(TypeError, match="must be one of inner products, and X dense"):
        KernelMatrix(kernel, rows).pack_subset()


@pytest.mark.parametrize("height", [1, 7, 53, 1000])
@pytest.mark.parametrize("width", [None, 1, 7, 53])
def test_kernel_product_in_tiles(height, width):
    columns = RNG.normal(size=(N, 3)) * (RNG.random(N) < 0.5)[:, None]
    product = kernel_product(KernelMatrix(RBF(0.5), X), columns, 2.0, height, width)
    assert_allclose(product, (gram("rbf") + 2.0) @ columns, rtol=1e-10, atol=1e-10)
    nothing = kernel_product(KernelMatrix(RBF(0.5), X), np.zeros((N, 2)), 2.0, height, width)
    assert_array_equal(nothing, np.zeros((N, 2)))


# --- values do not depend on where they stand -----------------------------------------------------

KERNELS = [Linear(), Polynomial(0.5, 3, 1.0), RBF(0.3)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def whole(blocks):
    out = np.empty((blocks.n_samples, blocks.n_samples), blocks.dtype)
    blocks.write_rows(np.arange(blocks.n_samples), out)
    return out


@same_bits
@each_kernel
@each_dtype
def test_rows_are_symmetric_to_the_last_bit(kernel, dtype):
    gram = whole(KernelMatrix(kernel, RNG.normal(size=(203, 33)).astype(dtype)))
    assert_array_equal(gram, gram.T)


@same_bits
@each_kernel
@each_dtype
@pytest.mark.parametrize("height", [1, 3, 8, 40])
def test_rows_are_the_same_bits_in_any_block(kernel, dtype, height):
    X = RNG.normal(size=(203, 33)).astype(dtype)
    blocks = KernelMatrix(kernel, X)
    gram = whole(blocks)
    for top in range(0, 203, height):
        members = np.arange(top, min(203, top + height))
        out = np.empty((members.size, 120), dtype)
        assert blocks.write_rows(members, out, 50, 170) == members.size * 120
        assert_array_equal(out, gram[members, 50:170])


@same_bits
@each_kernel
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_rows_are_the_same_bits_on_any_number_of_threads(kernel, threads, monkeypatch):
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    X = RNG.normal(size=(203, 33))
    assert_array_equal(
        whole(KernelMatrix(kernel, X, threads=threads)), whole(KernelMatrix(kernel, X, threads=1))
    )


@each_kernel
def test_rows_of_some_members(kernel):
    X = RNG.normal(size=(60, 4))
    members = RNG.permutation(60)[:23]
    blocks = KernelMatrix(kernel, X, members)
    assert blocks.n_samples == 23
    assert_allclose(whole(blocks), kernel.block(X[members], X[members]), rtol=1e-9)
    assert_allclose(blocks.diagonal, kernel.diag(X[members]))


def test_rows_raise_what_a_thread_raised(monkeypatch):
    class Broken(RBF):
        def from_inner_products(self, products, norms_a, norms_b):
            if 2 < norms_b.size < 100:
                raise RuntimeError("broken kernel")

    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    blocks = KernelMatrix(Broken(1.0), RNG.normal(size=(203, 2)), threads=4)
    with pytest.raises(RuntimeError, match="broken kernel"):
        whole(blocks)


# --- overflow -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "largest", "dtype"),
    [
        (Linear(), 1e20, np.float32),
        (Linear(), 1e160, np.float64),
        (Polynomial(1.0, 3, 0.0), 1e7, np.float32),
        (Polynomial(1.0, 3, 0.0), 1e60, np.float64),
        (RBF(1.0), 1e20, np.float32),
        (RBF(1.0), 1e160, np.float64),
        (Linear(), np.nan, np.float64),
        (RBF(1.0), np.inf, np.float64),
    ],
    ids=str,
)
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_refused(kernel, largest, dtype, as_rows):
    rows = X.astype(dtype)
    rows[7, 2] = largest
    with pytest.raises(
        ValueError, match=rf"{type(kernel).__name__} values fit in {dtype.__name__}"
    ):
        KernelMatrix(kernel, as_rows(rows))


def test_values_near_the_limit_are_not_refused():
    rows = np.array([[1e18], [-1e18]], dtype=np.float32)
    assert_array_equal(make_rows(rows, Linear()).product(np.eye(2)) > 0, np.eye(2, dtype=bool))


def test_pieces_of_a_built_in_kernel_do_not_follow_the_clock(monkeypatch):
    shapes, block, clock = [], Cosine.block, itertools.count()

    def counted(kernel, A, B):
        shapes.append((len(A), len(B)))
        return block(kernel, A, B)

    monkeypatch.setattr(Cosine, "block", counted)
    slow = SimpleNamespace(perf_counter=lambda: float(next(clock)))
    monkeypatch.setattr(patience, "time", slow)
    KernelMatrix(Cosine(), X).block(slice(None), slice(None))
    assert shapes == [(53, 53)]
