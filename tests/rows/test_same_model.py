"""The same model, to the last bit on any data, whatever memory, threads and blocks there are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons

from kpegasos import RBF, CachedRows, KernelMatrix, PegasosSVC, UncachedRows, make_problem, pegasos
from kpegasos.core.state import PegasosOptions
from kpegasos.kernels import packed as packed_module
from kpegasos.rows.choose import choose_source
from kpegasos.solvers.dual_ascent import WorkingSetAscent, polish, sdca
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

X, LABELS = make_blobs(1800, centers=3, n_features=20, cluster_std=6.0, random_state=0)
X = X.astype(np.float32)
COMMON = {"C": 5.0, "gamma": 0.01, "cache": "cached", "random_state": 0, "epochs": 4}


def fit(**parameters):
    return PegasosSVC(**{**COMMON, **parameters}).fit(X, LABELS)


def assert_same_bits(a, b):
    for name in ("alpha_", "dual_coef_", "intercept_", "support_"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    # Margins are the same sums in another order where rows are not kept.
    assert_allclose(a.objective_, b.objective_, rtol=1e-12)


@pytest.fixture(scope="module")
def reference():
    return fit()


@pytest.fixture(scope="module")
def polished():
    return fit(polish=True, tol=1e-3)


@pytest.mark.parametrize("cache_mb", [3.0, 40.0, 4000.0])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_model_is_the_same_for_any_memory_and_threads(reference, cache_mb, n_jobs):
    """Rows given up, all rows of a pair kept, blocks of classes shared."""
    assert_same_bits(reference, fit(cache_mb=cache_mb * n_jobs, n_jobs=n_jobs))


def test_support_that_does_not_fit_is_streamed():
    """And costs far less than rows that are given up before they are used again."""
    evaluations = {}
    for cache_mb in (2.5, 40.0):
        source = rows(cache_mb=cache_mb)
        task = make_problem(np.where(SIGNS > 0, 1, -1), 1e-2)
        result = pegasos(task, source, epochs=10, random_state=0, checkpoints=None)
        evaluations[cache_mb] = source.evaluations
    assert np.count_nonzero(result.alpha) > 2.5 * 2**20 / (8 * SIGNS.size)
    assert evaluations[40.0] < evaluations[2.5] < 10 * SIGNS.size**2


@pytest.mark.parametrize("cache_mb", [3.0, 4000.0])
def test_polished_model_is_the_same_for_any_memory_and_threads(polished, cache_mb):
    """To the last bit while the budget holds the support's rows, to rounding otherwise."""
    assert polished.relative_gap_.max() <= 1e-3
    result = fit(cache_mb=cache_mb, n_jobs=2, polish=True, tol=1e-3)
    if cache_mb > 100:
        assert_same_bits(polished, result)
    assert_array_equal(result.alpha_, polished.alpha_)
    assert_allclose(result.dual_coef_, polished.dual_coef_, rtol=1e-8, atol=1e-10)


def test_model_is_the_same_for_any_threads_of_a_product(reference, monkeypatch):
    monkeypatch.setattr(packed_module, "available_threads", lambda: 5)
    monkeypatch.setattr(tuning, "WORK_OF_A_THREAD", 1.0)
    assert_same_bits(reference, fit())


MOONS, SIGNS = make_moons(1500, noise=0.2, random_state=0)
TASK = make_problem(np.where(SIGNS > 0, 1, -1), 1e-4)


def rows(**parameters):
    return CachedRows(KernelMatrix(RBF(2.0), MOONS), **parameters)


@pytest.mark.parametrize("tile_rows", [1, 17, 256])
def test_model_is_the_same_for_any_block_size(tile_rows):
    expected = pegasos(TASK, rows(), epochs=3, random_state=0)
    result = pegasos(TASK, rows(tile_rows=tile_rows), epochs=3, random_state=0)
    assert_array_equal(result.alpha, expected.alpha)
    assert_array_equal(result.margins, expected.margins)


@pytest.mark.parametrize("opening_rows", [50, 128, 10_000])
@pytest.mark.parametrize("average", ["weighted", "suffix", None])
def test_opening_changes_costs_alone(opening_rows, average):
    """With any blocks of draws, or none of an opening at all."""
    kwargs = {"epochs": 3, "random_state": 0, "average": average}
    expected = pegasos(TASK, rows(), **kwargs)
    result = pegasos(TASK, rows(warmup_draws=opening_rows), **kwargs)
    assert_array_equal(result.alpha, expected.alpha)
    assert_allclose(result.margins, expected.margins, rtol=1e-9, atol=1e-12)
    assert_allclose(result.objective, expected.objective, rtol=1e-12)


def test_opening_computes_no_row_that_is_not_needed():
    source = rows()
    result = pegasos(TASK, source, epochs=1, random_state=0, checkpoints=None)
    n_kept = int((source._rows.slots >= 0).sum())
    assert n_kept == np.count_nonzero(result.alpha)


def test_opening_can_be_looked_at_and_left_at_any_step():
    """Checkpoints in its middle bring the margins up to date, and are the same model."""
    whole = pegasos(TASK, rows(), n_steps=1400, random_state=0, checkpoints=[1, 100, 700, 1400])
    part = pegasos(TASK, rows(), n_steps=700, random_state=0, checkpoints=None)
    assert part.objective == pytest.approx(whole.history.records[2].objective_average, rel=1e-12)
    rest = pegasos(TASK, rows(), n_steps=700, random_state=0, checkpoints=None, state=part.state)
    assert_array_equal(rest.alpha, whole.alpha)
    assert_allclose(rest.margins, whole.margins, rtol=1e-9, atol=1e-12)


# --- the finisher by blocks -----------------------------------------------------------------------


def finished(source, tol, weight=None, lam=1e-3, **options):
    task = make_problem(np.where(SIGNS > 0, 1, -1), lam, weight)
    run = make_run(
        task,
        source,
        PegasosOptions(),
        n_steps=None,
        epochs=1,
        checkpoints=None,
        tol=None,
        seed=0,
        **options,
    )
    while not run.finished:
        run.advance(Stopper())
    return run, polish(run, tol=tol)


WEIGHTS = 1.0 + np.arange(SIGNS.size) % 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_polish_by_blocks_certifies_what_is_asked(tol, weighted):
    weight = WEIGHTS if weighted else None
    source = rows(intercept_scaling=1.0)
    _, result = finished(source, tol, weight)
    task = make_problem(np.where(SIGNS > 0, 1, -1), 1e-3, weight)
    truth = sdca(task, rows(intercept_scaling=1.0), tol=1e-7)
    assert result.status == "tolerance"
    assert result.relative_gap <= tol
    assert result.dual_bound <= truth.objective * (1 + 1e-9)
    assert result.objective >= truth.dual_bound * (1 - 1e-9)
    assert result.objective <= truth.objective * (1 + tol) + 1e-12


def test_polish_by_blocks_raises_the_dual_and_stays_feasible(monkeypatch):
    duals = []
    original = WorkingSetAscent._evaluate

    def watch(self):
        original(self)
        beta = self.loop.alpha
        assert beta.min() >= 0
        assert beta.max() <= 1
        coef = beta * self.problem.weight / (self.problem.lam * beta.size)
        gram = RBF(2.0).block(MOONS, MOONS)
        signed = coef * self.problem.y
        squared_norm = signed @ gram @ signed
        duals.append(self.problem.lam * (coef.sum() - 0.5 * squared_norm))
        assert_allclose(self.loop.base / (self.problem.lam * beta.size), gram @ signed, atol=1e-8)

    monkeypatch.setattr(WorkingSetAscent, "_evaluate", watch)
    finished(rows(), 1e-6, lam=1e-5)
    assert len(duals) > 2
    assert np.all(np.diff(duals) >= -1e-12)


def test_polish_by_blocks_needs_few_rows():
    """Some blocks and the support, where single random steps touch most examples."""
    source = rows()
    _, result = finished(source, 1e-3, lam=1e-4)
    n_kept = int((source._rows.slots >= 0).sum())
    assert np.count_nonzero(result.coef) < n_kept < SIGNS.size / 3


def test_polish_by_blocks_within_a_small_budget():
    """Rows given up are computed again, and the model is the same."""
    small = choose_source(
        KernelMatrix(RBF(2.0), MOONS), cache="cached", cache_mb=1.0, intercept_scaling=0.0
    )
    assert small.row_capacity < 100
    _, result = finished(small, 1e-2)
    assert result.relative_gap <= 1e-2


def test_polish_without_held_rows_goes_one_by_one():
    run, result = finished(UncachedRows(KernelMatrix(RBF(2.0), MOONS[:, :])), 0.2, lam=1e-2)
    assert run.rows.row_capacity == 0
    assert result.relative_gap <= 0.2


def test_polish_hears_a_deadline():
    source = rows()
    run, _ = finished(source, 0.9)
    late = Stopper(max_time=1e-9)
    result = polish(run, tol=1e-12, stopper=late)
    assert result.status == "max_time"
    assert 0 < result.relative_gap < 1
