"""Ranges of panels, and kernel values against packed examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import RBF
from kpegasos.kernels.gemm import PackedKernel, aligned_ranges
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.utils import tuning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(203, 5))
NORMS = (X**2).sum(axis=1)


@given(
    first=st.integers(0, 300),
    size=st.integers(0, 300),
    width=st.integers(1, 40),
    n_panels=st.integers(1, 20),
)
def test_aligned_ranges_cover_all_and_end_at_panels(first, size, width, n_panels):
    ranges = list(aligned_ranges(first, first + size, width, n_panels))
    assert [i for begin, end in ranges for i in range(begin, end)] == [*range(first, first + size)]
    assert all(begin < end for begin, end in ranges)
    assert all(end % width == 0 for _, end in ranges[:-1])
    assert all((end - 1) // width - begin // width < n_panels for begin, end in ranges)


def packed(dtype=np.float64, **options):
    kernel = PackedKernel(RBF(0.3), 5, np.dtype(dtype), **options)
    for rows in (slice(0, 30), slice(30, 31), slice(31, None)):
        kernel.append(X[rows].astype(dtype), NORMS[rows])
    return kernel


@pytest.mark.parametrize("threads", [1, 2, 50])
@pytest.mark.parametrize("hot_bytes", [1, 1 << 10, 1 << 18])
def test_packed_kernel_values_of_any_cut(threads, hot_bytes, monkeypatch):
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    monkeypatch.setattr(tuning, "HOT_BYTES", hot_bytes)
    out = np.full((3, 150), np.nan)
    kernel = packed(threads=threads)
    assert kernel.n_samples == 203
    kernel.write(X[:3], NORMS[:3], out, 17, 167)
    assert_allclose(out, RBF(0.3).block(X[:3], X[17:167]), rtol=1e-12)


def test_packed_kernel_writes_other_dtypes():
    exact, rounded = np.empty((3, 203)), np.empty((3, 203), np.float32)
    packed().write(X[:3], NORMS[:3], exact)
    packed().write(X[:3], NORMS[:3], rounded)
    assert_array_equal(rounded, exact.astype(np.float32))


def test_packed_kernel_of_nothing():
    packed().write(X[:0], NORMS[:0], np.empty((0, 203)))
    packed().write(X[:3], NORMS[:3], np.empty((3, 0)), 40, 40)
    none = np.empty(0, dtype=int)
    assert KernelMatrix(RBF(1.0), X, none).write_rows(none, np.empty((0, 0))) == 0
