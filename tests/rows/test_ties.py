"""Margins that are 1 but for rounding: a tie is decided alike, however the sums are rounded."""

import numpy as np
import pytest
from covering import each_value
from numpy.testing import assert_array_equal

from kpegasos import CachedRows, GramRows, KernelMatrix, Linear, UncachedRows, make_problem, pegasos

# One point 1,080 times, and lam such that five violations bring its margin to 1.
X = np.zeros((1100, 784))
X[:1080, 0] = 0.7
Y = np.where(np.arange(1100) < 1080, 1, -1)
LAM = 0.7 * 0.7 / 5


def count_violations(source):
    result = pegasos(make_problem(Y, LAM), source, epochs=2, random_state=0, checkpoints=None)
    return result.alpha


@pytest.fixture(scope="module")
def expected():
    counts = count_violations(GramRows.from_values(KernelMatrix(Linear(), X)))
    assert 0 < np.count_nonzero(counts) < 500
    return counts


@pytest.mark.parametrize("cache_mb", [6.0, 12.0, 1024.0])
def test_ties_do_not_depend_on_the_budget(expected, cache_mb):
    """6 MiB hold 570 rows or so, and used to give 18 other counts than 1 GiB."""
    source = CachedRows(KernelMatrix(Linear(), X), cache_mb=cache_mb)
    assert_array_equal(count_violations(source), expected)


@each_value(tile_rows=[1, 16, 100, 256], tile_draws=[16, 50, 100, 128, 10_000])
def test_ties_do_not_depend_on_tiles(expected, tile_rows, tile_draws):
    source = CachedRows(KernelMatrix(Linear(), X), tile_rows=tile_rows, tile_draws=tile_draws)
    assert_array_equal(count_violations(source), expected)
    source = UncachedRows(KernelMatrix(Linear(), X), tile_rows=tile_rows)
    assert_array_equal(count_violations(source), expected)
