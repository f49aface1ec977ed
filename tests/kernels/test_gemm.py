"""Products with packed rows: exact on integers, and the same bits wherever a value stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import RBF, KernelMatrix, Linear, Polynomial
from kpegasos.kernels.gemm import (
    PackedMatrix,
)
from kpegasos.utils import tuning
from kpegasos.utils.threads import available_threads

RNG = np.random.default_rng(0)


def packed(X):
    """Packed in three parts, the first of which sets the capacity."""
    rows = PackedMatrix(X.shape[1], X.dtype, X.shape[0] // 3)
    for part in np.array_split(X, 3):
        rows.append(part)
    return rows


def product(X, rows, first, last):
    out = np.full((rows.shape[0], last - first), np.nan, X.dtype)
    packed(X).products(rows).write(first, last, out)
    return out


@settings(max_examples=60, deadline=None)
@given(
    n_samples=st.integers(1, 150),
    n_features=st.integers(1, 40),
    n_rows=st.integers(1, 30),
    dtype=st.sampled_from([np.float32, np.float64]),
    data=st.data(),
)
def test_products_of_integers_are_exact(n_samples, n_features, n_rows, dtype, data):
    first = data.draw(st.integers(0, n_samples))
    last = data.draw(st.integers(first, n_samples))
    X = RNG.integers(-50, 50, (n_samples, n_features))
    rows = RNG.integers(-50, 50, (n_rows, n_features))
    values = product(X.astype(dtype), rows.astype(dtype), first, last)
    assert values.dtype == dtype
    assert_array_equal(values, rows @ X[first:last].T)


@pytest.mark.parametrize("n_features", [1023, 1024, 1025, 2100])
def test_products_of_many_features(n_features):
    """More than are gone through at a time."""
    X = RNG.integers(-9, 9, (40, n_features)).astype(np.float32)
    assert_array_equal(product(X, X[:5], 0, 40), X[:5] @ X.T)


def test_products_write_nothing_else():
    X = RNG.normal(size=(100, 3))
    out = np.full((7, 50), np.nan)
    packed(X).products(X[:4]).write(10, 40, out[:4, 5:35])
    assert_allclose(out[:4, 5:35], X[:4] @ X[10:40].T)
    out[:4, 5:35] = np.nan
    assert np.isnan(out).all()


def test_packed_rows_are_counted():
    assert packed(RNG.normal(size=(50, 3))).n_rows == 50
    assert PackedMatrix(3, np.float32).width == 2 * PackedMatrix(3, np.float64).width


def test_available_threads_are_at_least_one():
    assert available_threads() >= 1


# --- kernel values do not depend on where they stand ----------------------------------------------

KERNELS = [Linear(), Polynomial(0.5, 3, 1.0), RBF(0.3)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def whole(blocks):
    out = np.empty((blocks.n_samples, blocks.n_samples), blocks.dtype)
    blocks.rows(np.arange(blocks.n_samples), out)
    return out


@each_kernel
@each_dtype
def test_rows_are_symmetric_to_the_last_bit(kernel, dtype):
    gram = whole(KernelMatrix(kernel, RNG.normal(size=(203, 33)).astype(dtype)))
    assert_array_equal(gram, gram.T)


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
        assert blocks.rows(members, out, 50, 170) == members.size * 120
        assert_array_equal(out, gram[members, 50:170])


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
        def finish(self, products, norms_a, norms_b):
            if norms_b.size < 100:
                raise RuntimeError("broken kernel")

    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    blocks = KernelMatrix(Broken(1.0), RNG.normal(size=(203, 2)), threads=4)
    with pytest.raises(RuntimeError, match="broken kernel"):
        whole(blocks)
