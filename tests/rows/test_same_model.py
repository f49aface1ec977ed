"""The same model, to the last bit on any data, whatever memory, threads and tiles there are."""

from __future__ import annotations

import numpy as np
import pytest
from covering import each_value
from models import counts_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from solver_cases import finished_run

from kpegasos import RBF, CachedRows, KernelMatrix, PegasosSVC, make_problem, pegasos
from kpegasos.core.averaging import AVERAGES
from kpegasos.core.problem import primal
from kpegasos.solvers.dual_ascent import sdca
from kpegasos.solvers.polish import polish

X, LABELS = make_blobs(1800, centers=3, n_features=20, cluster_std=6.0, random_state=0)
X = X.astype(np.float32)
COMMON = {"C": 5.0, "gamma": 0.01, "cache": "cached", "random_state": 0, "epochs": 4}


def fit_svc(**parameters):
    return PegasosSVC(**{**COMMON, **parameters}).fit(X, LABELS)


def assert_same_bits(a, b):
    assert_array_equal(counts_of(a), counts_of(b))
    for name in ("dual_coef_", "intercept_", "support_"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    # Margins are the same sums in another order where rows are not kept.
    assert_allclose(a.objective_, b.objective_, rtol=1e-12)


@pytest.mark.parametrize("polish", [{}, {"polish": True, "tol": 1e-3}], ids=["plain", "polished"])
def test_model_is_the_same_for_any_memory_and_threads(polish):
    """Rows given up, all rows of a pair kept, classes shared by pairs."""
    reference = fit_svc(**polish)
    for n_jobs, cache_mb in ((1, 3.0), (2, 80.0), (3, 12000.0)):
        assert_same_bits(reference, fit_svc(cache_mb=cache_mb, n_jobs=n_jobs, **polish))


def test_support_that_does_not_fit_is_scored():
    """And costs far less than rows that are given up before they are used again."""
    evaluations = {}
    for cache_mb in (2.5, 40.0):
        source = make_cached(cache_mb=cache_mb)
        task = make_problem(np.where(SIGNS > 0, 1, -1), 1e-2)
        result = pegasos(task, source, epochs=10, random_state=0, checkpoints=None)
        evaluations[cache_mb] = source.evaluations
    assert np.count_nonzero(result.alpha) > 2.5 * 2**20 / (8 * SIGNS.size)
    assert evaluations[40.0] < evaluations[2.5] < 10 * SIGNS.size**2


MOONS, SIGNS = make_moons(1500, noise=0.2, random_state=0)
TASK = make_problem(np.where(SIGNS > 0, 1, -1), 1e-4)


def make_cached(**parameters):
    return CachedRows(KernelMatrix(RBF(2.0), MOONS), **parameters)


@each_value(tile_draws=[50, 128, 10_000], average=["weighted", "suffix", None])
def test_tiles_change_costs_alone(tile_draws, average):
    """With any tile of draws, or no warm-up at all."""
    kwargs = {"epochs": 3, "random_state": 0, "average": average}
    expected = pegasos(TASK, make_cached(), **kwargs)
    result = pegasos(TASK, make_cached(tile_draws=tile_draws), **kwargs)
    assert_array_equal(result.alpha, expected.alpha)
    assert_allclose(result.margins, expected.margins, rtol=1e-9, atol=1e-12)
    assert_allclose(result.objective, expected.objective, rtol=1e-12)


def test_tiles_compute_no_row_that_is_not_needed():
    source = make_cached()
    result = pegasos(TASK, source, epochs=1, random_state=0, checkpoints=None)
    assert source.n_kept == np.count_nonzero(result.alpha)


def test_tiles_can_be_looked_at_and_left_at_any_step():
    """Checkpoints in its middle bring the margins up to date, and are the same model."""
    whole = pegasos(
        TASK, make_cached(), n_steps=1400, random_state=0, checkpoints=[1, 100, 700, 1400]
    )
    part = pegasos(TASK, make_cached(), n_steps=700, random_state=0, checkpoints=None)
    assert part.objective == pytest.approx(whole.history.records[2].objective_average, rel=1e-12)
    rest = pegasos(
        TASK, make_cached(), n_steps=700, random_state=0, checkpoints=None, state=part.state
    )
    assert_array_equal(rest.alpha, whole.alpha)
    assert_allclose(rest.margins, whole.margins, rtol=1e-9, atol=1e-12)


# --- working sets ---------------------------------------------------------------------------------


def polished_run(source, tol, weight=None, lam=1e-3):
    task = make_problem(np.where(SIGNS > 0, 1, -1), lam, weight)
    run = finished_run(task, source, epochs=1)
    return run, polish(run, tol=tol)


WEIGHTS = 1.0 + np.arange(SIGNS.size) % 3


@each_value(weighted=[False, True], tol=[1e-1, 1e-2, 1e-4])
def test_working_sets_certify_what_is_asked(tol, weighted):
    weight = WEIGHTS if weighted else None
    source = make_cached(intercept_scaling=1.0)
    _, result = polished_run(source, tol, weight)
    task = make_problem(np.where(SIGNS > 0, 1, -1), 1e-3, weight)
    truth = sdca(task, make_cached(intercept_scaling=1.0), tol=1e-7)
    assert result.status == "tolerance"
    assert result.relative_gap <= tol
    assert result.dual_bound <= truth.objective * (1 + 1e-9)
    assert result.objective >= truth.dual_bound * (1 - 1e-9)
    assert result.objective <= truth.objective * (1 + tol) + 1e-12


def test_working_sets_need_few_rows():
    """Some sets and the support, where single random steps touch most examples."""
    source = make_cached()
    _, result = polished_run(source, 1e-3, lam=1e-4)
    assert np.count_nonzero(result.coef) < source.n_kept < SIGNS.size / 3


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
