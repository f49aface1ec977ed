"""Compiled kernels refuse arrays that do not fit together, and write nothing then."""

import numpy as np
import pytest

from kpegasos import RBF, KernelMatrix
from kpegasos.kernels import decision, gemm
from kpegasos.kernels.gemm import PackedKernel, PackedMatrix, panel_width
from kpegasos.kernels.maps import gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 5))
NORMS = (X**2).sum(axis=1)
FLOAT32 = np.ones((3, 4), np.float32)


def packed(n_rows=30):
    matrix = PackedMatrix(5, np.dtype(np.float64))
    matrix.append(X[:n_rows])
    return matrix


@pytest.mark.parametrize(
    ("first", "last", "shape"),
    [(0, 31, (4, 31)), (-1, 3, (4, 4)), (5, 3, (4, 0)), (0, 3, (4, 2)), (0, 3, (3, 3))],
)
def test_kernel_values_refuse_a_range_beyond_the_examples(first, last, shape):
    out = np.zeros(shape)
    kernel = PackedKernel(RBF(0.3), 5, np.dtype(np.float64))
    kernel.append(X, NORMS)
    with pytest.raises(ValueError, match=r"(first and last|out) must"):
        kernel.write(X[:4], NORMS[:4], out, first, last)
    with pytest.raises(ValueError, match=r"(first and last|out) must"):
        KernelMatrix(RBF(0.3), X).write_rows(np.arange(4), out, first, last)
    assert not out.any()


def test_kernel_values_refuse_norms_of_other_rows():
    kernel = PackedKernel(RBF(0.3), 5, np.dtype(np.float64))
    with pytest.raises(ValueError, match=r"squared_norms must have shape \(30,\)"):
        kernel.append(X, NORMS[:-1])
    kernel.append(X, NORMS)
    with pytest.raises(ValueError, match=r"squared_norms must have shape \(4,\)"):
        kernel.write(X[:4], NORMS, np.empty((4, 30)))


@pytest.mark.parametrize("rows", [X[:, :4], X[0], X.astype(np.float32), np.ones((2, 6))])
def test_packed_rows_refuse_other_rows(rows):
    matrix = packed()
    with pytest.raises(ValueError, match="rows must be float64 with 5 features"):
        matrix.append(rows)
    with pytest.raises(ValueError, match="rows must be float64 with 5 features"):
        matrix.products(rows)
    assert matrix.n_rows == 30


@pytest.mark.parametrize("implementation", ["compiled", "numpy"])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"left": np.zeros((1, 4, gemm._ROWS))}, "left must have shape"),
        ({"left": np.zeros((1, 5, gemm._ROWS + 1))}, "left must have shape"),
        ({"left": np.zeros((1, gemm._ROWS, 5)).transpose(0, 2, 1)}, "contiguous"),
        ({"panels": np.zeros((2, 5, panel_width(np.float64) - 1))}, "panels must have shape"),
        ({"panels": np.zeros((2, 5, panel_width(np.float64)), np.float32)}, "of one dtype"),
        ({"n_rows": gemm._ROWS + 1}, "n_rows must be"),
        ({"last": 3 * panel_width(np.float64)}, "first and last must be"),
        ({"first": -1}, "first and last must be"),
        ({"out": np.zeros((4, 8))}, "out must have shape"),
    ],
)
def test_products_refuse_shapes_that_do_not_fit(change, match, implementation, monkeypatch):
    monkeypatch.setattr(gemm, "IMPLEMENTATION", implementation)
    arguments = {
        "left": np.zeros((1, 5, gemm._ROWS)),
        "panels": np.zeros((2, 5, panel_width(np.float64))),
        "n_rows": 4,
        "first": 0,
        "last": 7,
        "out": np.zeros((4, 7)),
    }
    gemm.multiply(**arguments)
    with pytest.raises(ValueError, match=match):
        gemm.multiply(**arguments | change)


def test_gaussian_refuses_norms_of_other_rows():
    a, b = np.ones(3, np.float32), np.ones(4, np.float32)
    products = FLOAT32.copy()
    with pytest.raises(ValueError, match=r"norms_a must have shape \(3,\), got \(2,\) instead"):
        gaussian(products, a[:2], b, np.float32(1.0))
    with pytest.raises(ValueError, match=r"norms_b must have shape \(4,\), got \(3,\) instead"):
        gaussian(products, a, b[:3], np.float32(1.0))
    assert (products == FLOAT32).all()


@pytest.mark.parametrize(
    ("values", "first", "coefs", "result", "match"),
    [
        ((3, 4), 0, (2, 5), (3, 2), "first and last must be a range within 0 and 4"),
        ((3, 4), 2, (2, 3), (3, 2), "first and last must be a range within 0 and 4"),
        ((3, 4), 0, (2, 4), (2, 2), "result must have shape"),
        ((3, 4), 0, (2, 4), (3, 1), "outputs must be indices from 0 to 0"),
        ((3, 4), 0, (3, 4), (3, 3), "outputs must have shape"),
        ((3, 0), 0, (2, 0), (3, 2), "coefs must have at least one column"),
    ],
)
def test_sums_of_decisions_refuse_other_shapes(values, first, coefs, result, match):
    sums = np.zeros(result)
    with pytest.raises(ValueError, match=match):
        decision._add_products(np.ones(values), first, np.ones(coefs), np.arange(2), sums)
    assert not sums.any()
