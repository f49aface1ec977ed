"""The same model, to the last bit on any data, whatever memory, threads and tiles there are."""

import numpy as np
from covering import each_value
from models import counts_of
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import n_kept
from sklearn.datasets import make_blobs, make_moons
from solver_cases import with_tiles

from kpegasos import RBF, KernelMatrix, Linear, PegasosSVC, make_problem, pegasos
from kpegasos.core.problem import primal
from kpegasos.core.state import AVERAGES
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning

X, LABELS = make_blobs(1800, centers=3, n_features=20, cluster_std=6.0, random_state=0)
X = X.astype(np.float32)
COMMON = {"C": 5.0, "gamma": 0.01, "cache": "cached", "random_state": 0, "epochs": 4}
COMMON |= {"polish": True, "tol": 1e-3}


def test_model_is_the_same_for_any_memory_and_threads():
    """Rows given up, all rows of a pair kept, classes shared by pairs; in runs and polished."""
    reference = PegasosSVC(**COMMON).fit(X, LABELS)
    for n_jobs, cache_mb in ((1, 3.0), (2, 80.0), (3, 12000.0)):
        found = PegasosSVC(**COMMON, cache_mb=cache_mb, n_jobs=n_jobs).fit(X, LABELS)
        assert_array_equal(counts_of(found), counts_of(reference))
        for name in ("dual_coef_", "intercept_", "support_"):
            assert_array_equal(getattr(found, name), getattr(reference, name), err_msg=name)
        # Margins are the same sums in another order where rows are not kept.
        assert_allclose(found.objective_, reference.objective_, rtol=1e-12)


def test_support_that_does_not_fit_is_scored():
    """And costs far less than rows that are given up before they are used again."""
    few, many = make_cached(cache_mb=2.5), make_cached(cache_mb=40.0)
    task = make_problem(np.where(SIGNS > 0, 1, -1), 1e-2)
    for source in (few, many):
        result = pegasos(task, source, epochs=10, random_state=0, checkpoints=None)
    assert np.count_nonzero(result.alpha) > 2.5 * 2**20 / (8 * SIGNS.size)
    assert many.evaluations < few.evaluations < 10 * SIGNS.size**2


MOONS, SIGNS = make_moons(1500, noise=0.2, random_state=0)
TASK = make_problem(np.where(SIGNS > 0, 1, -1), 1e-4)


def make_cached(**parameters):
    return CachedRows(KernelMatrix(RBF(2.0), MOONS), **parameters)


def test_tiles_compute_no_row_that_is_not_needed():
    source = make_cached()
    result = pegasos(TASK, source, epochs=1, random_state=0, checkpoints=None)
    assert n_kept(source._cache.view) == np.count_nonzero(result.alpha)


# --- working sets ---------------------------------------------------------------------------------


@each_value(average=AVERAGES, cache_mb=[1024.0, 2.5])
def test_projection_with_large_c_has_the_objective_of_its_coefficients(average, cache_mb):
    """Counts vanish while their stamps do not; margins used to leave the rows of those out."""
    task = make_problem(np.where(SIGNS > 0, 1, -1), 1 / (1000 * SIGNS.size))
    source = make_cached(cache_mb=cache_mb, intercept_scaling=1.0)
    result = pegasos(task, source, epochs=1, projection=True, average=average, random_state=0)
    margins = (RBF(2.0).block(MOONS, MOONS) + 1.0) @ result.coef
    own = primal(margins, result.coef @ margins, task)
    assert_allclose(result.objective, own, rtol=1e-9)
    assert_allclose(result.margins, margins, rtol=1e-6, atol=1e-6 * np.abs(margins).max())


def test_margins_of_a_run_with_projection_do_not_follow_its_slices(monkeypatch):
    """Counts are no integers there: a tile of draws used to round what they gain otherwise."""
    found = []
    monkeypatch.setattr(tuning, "TILED_ABOVE_ADDITIONS", 300)
    for draws in (7, 13, 1 << 20):
        for name in ("FIRST_SLICE", "FEWEST_DRAWS", "MOST_DRAWS"):
            monkeypatch.setattr(tuning, name, draws)
        source = make_cached(cache_mb=2.5)
        found.append(pegasos(TASK, source, epochs=3, projection=True, random_state=0))
    for other in found[1:]:
        assert_array_equal(other.alpha, found[0].alpha)
        assert_array_equal(other.margins, found[0].margins)


# --- ties: margins that are 1 but for rounding ----------------------------------------------------


def test_ties_depend_neither_on_the_budget_nor_on_tiles():
    """6 MiB hold 570 rows or so, and used to give 18 other counts than 1 GiB."""
    # One point 1,080 times, and lam such that five violations bring its margin to 1.
    A = np.zeros((1100, 8))
    A[:1080, 0] = 0.7
    task = make_problem(np.where(np.arange(1100) < 1080, 1, -1), 0.7 * 0.7 / 5)
    values = KernelMatrix(Linear(), A)

    def counts(source):
        return pegasos(task, source, epochs=2, random_state=0, checkpoints=None).alpha

    expected = counts(GramRows.from_values(values))
    assert 0 < np.count_nonzero(expected) < 500
    for cache_mb in (6.0, 12.0, 1024.0):
        assert_array_equal(counts(CachedRows(values, cache_mb=cache_mb)), expected)
    for tile_rows, tile_draws in ((1, 100), (16, 10_000), (100, 16), (256, 50), (256, 128)):
        source = with_tiles(values, TILE_ROWS=tile_rows, TILE_DRAWS=tile_draws)
        assert_array_equal(counts(source), expected)
