"""A kernel matrix that pairs of classes share."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import RBF, KernelMatrix, Laplacian, Linear, Polynomial, Sigmoid
from kpegasos.kernels import gemm
from kpegasos.kernels.matrix import ClassSortedMatrix

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
ORDER = RNG.permutation(60)[:53]  # seven rows belong to no class
MEMBERS = [ORDER[:20], ORDER[20:23], ORDER[23:]]
KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(0.5, 3, 1.0),
    "rbf": RBF(0.5),
    "laplacian": Laplacian(0.5),
    "sigmoid": Sigmoid(0.5, -1.0),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_format = pytest.mark.parametrize(
    "as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"]
)
each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])
each_pair = pytest.mark.parametrize("classes", list(permutations(range(3), 2)))
same_bits = pytest.mark.skipif(gemm.IMPLEMENTATION != "compiled", reason="the compiled tile only")


def pair_and_own(kernel, rows, classes):
    """A view of two classes, and the kernel matrix of their examples alone."""
    pair = ClassSortedMatrix(KERNELS[kernel], rows, MEMBERS).pair(*classes)
    members = np.concatenate([MEMBERS[c] for c in classes])
    return pair, KernelMatrix(KERNELS[kernel], rows, members)


@same_bits
@each_pair
@each_kernel
@each_format
@each_dtype
def test_pair_has_the_bits_of_its_own_matrix(classes, kernel, as_rows, dtype):
    pair, own = pair_and_own(kernel, as_rows(X.astype(dtype)), classes)
    assert (pair.n_samples, pair.dtype) == (own.n_samples, own.dtype)
    assert (pair.can_pack, pair.row_bytes) == (own.can_pack, own.row_bytes)
    assert_array_equal(pair.diagonal, own.diagonal)
    chosen = RNG.permutation(own.n_samples)[: own.n_samples // 2]
    outs = [np.full((chosen.size, own.n_samples), np.nan, dtype) for _ in range(2)]
    assert pair.write_rows(chosen, outs[0]) == own.write_rows(chosen, outs[1]) == outs[0].size
    assert_array_equal(*outs)
    left, right = np.array([4, 0, 9]), slice(2, None)
    assert_array_equal(pair.block(left, right), own.block(left, right))


@same_bits
@each_pair
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@each_dtype
def test_pair_packs_the_subsets_of_its_own_matrix(classes, kernel, dtype):
    outs = []
    for values in pair_and_own(kernel, X.astype(dtype), classes):
        subset = values.pack_subset()
        subset.append(np.array([2, 21]))
        subset.append(np.array([0]))
        assert_array_equal(subset.members, [2, 21, 0])
        outs.append(np.empty((2, 3), dtype))
        subset.write(np.array([1, 22]), outs[-1])
    assert_array_equal(*outs)


@each_kernel
def test_pair_by_the_book(kernel):
    pair, _ = pair_and_own(kernel, X, (2, 0))
    rows = X[np.concatenate((MEMBERS[2], MEMBERS[0]))]
    out = np.empty((50, 50))
    pair.write_rows(np.arange(50), out)
    assert_allclose(out, KERNELS[kernel].block(rows, rows), rtol=1e-9, atol=1e-12)
    assert_allclose(pair.diagonal, KERNELS[kernel].diag(rows))


@pytest.mark.parametrize("chosen", [[], [0], [19], [20], [22], [18, 19], [20, 21], [19, 20]])
def test_pair_rows_of_one_side(chosen):
    pair, own = pair_and_own("rbf", X, (0, 1))
    out = np.empty((len(chosen), 23))
    assert pair.write_rows(np.array(chosen, dtype=int), out) == out.size
    every = np.empty((23, 23))
    own.write_rows(np.arange(23), every)
    assert_allclose(out, every[chosen], rtol=1e-12)


def test_pairs_pack_the_examples_once(monkeypatch):
    packed = []

    class Counting(gemm.PackedMatrix):
        def append(self, rows):
            packed.append(rows.shape[0])
            super().append(rows)

        def put(self, first, rows):
            packed.append(rows.shape[0])
            super().put(first, rows)

    monkeypatch.setattr(gemm, "PackedMatrix", Counting)
    shared = ClassSortedMatrix(RBF(0.5), X, MEMBERS)
    for classes in ((0, 1), (0, 2), (1, 2)):
        pair = shared.pair(*classes)
        pair.write_rows(np.arange(5), np.empty((5, pair.n_samples)))
    assert sum(packed) == 53
