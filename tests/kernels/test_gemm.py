"""Products with packed rows are exact on integers, compiled or not."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import config
from numpy.testing import assert_array_equal

from kpegasos.kernels import gemm
from kpegasos.kernels.gemm import PackedMatrix, panel_width

RNG = np.random.default_rng(0)
WIDTH = panel_width(np.dtype(np.float64))


@pytest.fixture(params=["compiled", "numpy"], autouse=True)
def implementation(request, monkeypatch):
    if request.param == "compiled" and config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(gemm, "IMPLEMENTATION", request.param)
    return request.param


def packed(X):
    """Packed in two parts, which share a panel."""
    rows = PackedMatrix(*X.shape, X.dtype)
    for first, last in ((0, len(X) // 3), (len(X) // 3, len(X))):
        rows.put(first, X[first:last])
    return rows


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n_samples=st.integers(1, 150),
    n_features=st.integers(0, 40) | st.sampled_from([1023, 1024, 1025, 2100]),
    n_rows=st.integers(1, 30),
    dtype=st.sampled_from([np.float32, np.float64]),
    data=st.data(),
)
def test_products_of_integers_are_exact(n_samples, n_features, n_rows, dtype, data):
    first = data.draw(st.integers(0, n_samples))
    last = data.draw(st.integers(first, n_samples))
    X = RNG.integers(-50, 50, (n_samples, n_features))
    rows = RNG.integers(-50, 50, (n_rows, n_features))
    out = np.full((n_rows, last - first), np.nan, dtype)
    packed(X.astype(dtype)).products(rows.astype(dtype))(first, last, out)
    assert_array_equal(out, rows @ X[first:last].T)


@pytest.mark.parametrize("n_rows", [1, 8, 9, 40])
@pytest.mark.parametrize("n_samples", [3, 48, 130])
def test_products_are_written_in_any_layout_and_dtype_and_nothing_else(n_rows, n_samples):
    X = RNG.integers(-9, 9, (n_samples, 150)).astype(np.float32)
    rows = RNG.integers(-9, 9, (n_rows, 150)).astype(np.float32)
    memory = np.full((2 * n_rows, 2 * n_samples + 5), np.nan, np.float32)
    outs = {
        "apart": memory[::2, 2 : n_samples + 2],
        "fortran": np.empty((n_samples, n_rows), np.float32).T,
        "every other": memory[:n_rows, 1 : 2 * n_samples : 2],
        "wider": np.empty((n_rows, n_samples)),
    }
    for name, out in outs.items():
        packed(X).products(rows)(0, n_samples, out)
        assert_array_equal(out, rows @ X.T, err_msg=name)
        out[...] = np.nan
        assert np.isnan(memory).all()
    first = n_samples // 3
    memory[:] = np.nan
    part = memory[:n_rows, 4 : 4 + n_samples - first]
    packed(X).products(rows)(first, n_samples, part)
    assert_array_equal(part, rows @ X[first:].T)
    part[...] = np.nan
    assert np.isnan(memory).all()


def test_implementation_is_the_one_chosen(implementation, monkeypatch):
    called = []
    for name in ("compiled", "numpy"):
        function = getattr(gemm, f"_multiply_{name}")
        monkeypatch.setattr(
            gemm, f"_multiply_{name}", lambda *a, f=function, n=name: (called.append(n), f(*a))
        )
    packed(np.eye(5)).products(np.eye(5))(0, 5, np.empty((5, 5)))
    assert called == [implementation]
    assert gemm._implementation("numpy", False) == "numpy"
    assert gemm._implementation("compiled", False) == "compiled"
    assert gemm._implementation("compiled", True) == "numpy"
    with pytest.raises(ValueError, match="KPEGASOS_GEMM must be 'compiled' or 'numpy', got 'blas'"):
        gemm._implementation("blas", False)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"left": np.zeros((1, 4, gemm._ROWS))}, "left must have shape"),
        ({"left": np.zeros((1, 5, gemm._ROWS + 1))}, "left must have shape"),
        ({"left": np.zeros((1, gemm._ROWS, 5)).transpose(0, 2, 1)}, "contiguous"),
        ({"panels": np.zeros((2, 5, WIDTH - 1))}, "panels must have shape"),
        ({"panels": np.zeros((2, 5, WIDTH), np.float32)}, "of one dtype"),
        ({"n_rows": gemm._ROWS + 1}, "n_rows must be"),
        ({"last": 3 * WIDTH}, "first and last must be"),
        ({"first": -1}, "first and last must be"),
        ({"out": np.zeros((4, 8))}, "out must have shape"),
    ],
)
def test_products_refuse_shapes_that_do_not_fit(change, match):
    arguments = {"left": np.zeros((1, 5, gemm._ROWS)), "panels": np.zeros((2, 5, WIDTH))}
    arguments |= {"n_rows": 4, "first": 0, "last": 7, "out": np.zeros((4, 7))}
    gemm.multiply(**arguments)
    with pytest.raises(ValueError, match=match):
        gemm.multiply(**arguments | change)
