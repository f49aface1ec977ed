"""What must not matter to the model: slices, tiles, budgets, checkpoints, earlier runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import (
    DATA,
    KERNELS,
    SOURCES,
    M,
    assert_same_result,
    by_the_book,
    each_average,
    every_rows,
    make_any_rows,
    make_kernel_rows,
    make_task,
    run_pegasos,
)

from kpegasos import (
    RBF,
    CachedRows,
    GramRows,
    KernelMatrix,
    Linear,
    UncachedRows,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.utils import tuning


@every_rows
@each_average
@pytest.mark.parametrize("first_slice", [1, 5, 50])
def test_slices_do_not_matter(source, average, first_slice, monkeypatch):
    options = {"batch_size": 3, "average": average}
    whole = run_pegasos(make_any_rows(source), **options)
    monkeypatch.setattr(tuning, "FIRST_SLICE", first_slice)
    assert_same_result(run_pegasos(make_any_rows(source), **options), whole)


@pytest.mark.parametrize("Rows", [CachedRows, UncachedRows])
@pytest.mark.parametrize("tile_rows", [1, 2, 16, 36, 37, 256])
def test_tile_rows_do_not_matter(Rows, tile_rows):
    for batch_size in (1, 3):
        rows = Rows(KernelMatrix(KERNELS["poly"][0], DATA.X), tile_rows=tile_rows)
        result = run_pegasos(rows, batch_size)
        assert_array_equal(result.alpha, by_the_book("poly", batch_size=batch_size).counts)


@pytest.mark.parametrize("n_rows", [20, 21, 25, 30, 40, 60, 80, 1000])
def test_cache_size_does_not_matter(n_rows):
    values = KernelMatrix(RBF(0.3), DATA.X)
    whole = run_pegasos(GramRows.from_values(values), 3)
    rows = CachedRows(values, cache_mb=n_rows * 8 * M / 2**20)
    result = run_pegasos(rows, 3)
    assert_array_equal(result.alpha, whole.alpha)
    assert_allclose(result.coef, whole.coef, rtol=1e-12)
    assert_allclose(result.margins, whole.margins, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cache_does_not_matter_on_floats(dtype):
    """Rounding in the products does not tell, as margins of just 1 do not occur."""
    X = np.random.default_rng(1).normal(size=(300, 4)).astype(dtype)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    task, options = make_problem(y, 1e-3), {"epochs": 4, "batch_size": 7, "random_state": 0}
    results = [
        pegasos(task, make_rows(X, "rbf", cache=name, cache_mb=mb), **options)
        for name, mb in (("precomputed", 10), ("cached", 10), ("cached", 0.1), ("streamed", 0.1))
    ]
    for result in results[1:]:
        assert_array_equal(result.alpha, results[0].alpha)
        assert_allclose(result.objective, results[0].objective, rtol=1e-6)


def test_rows_can_be_used_again():
    """Rows that another run has left full give the same model."""
    rows = make_kernel_rows("evicting", "poly")
    run_pegasos(rows, random_state=7)
    sdca(make_task(), rows, max_epochs=3, random_state=0)
    assert_array_equal(run_pegasos(rows).alpha, by_the_book("poly").counts)


def test_checkpoints_do_not_matter():
    whole = run_pegasos(make_kernel_rows("cached"), checkpoints=None)
    for checkpoints in ("epoch", "log", [1, 2, 50], range(1, 100, 7)):
        assert_same_result(run_pegasos(make_kernel_rows("cached"), checkpoints=checkpoints), whole)


def test_inputs_are_left_alone():
    X, y, weight = DATA.X.copy(), DATA.y.copy(), DATA.weight.copy()
    for name in SOURCES:
        for kernel in (Linear(), RBF(1.0)):
            rows = SOURCES[name](KernelMatrix(kernel, X))
            pegasos(make_problem(y, 0.1, weight), rows, epochs=2, projection=True)
    pegasos(make_problem(y, 0.1, weight), linear_rows(X), epochs=2, projection=True)
    assert_array_equal(X, DATA.X)
    assert_array_equal(y, DATA.y)
    assert_array_equal(weight, DATA.weight)
