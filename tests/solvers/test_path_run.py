"""Runs along a path: their certificates, their starts, and cells that take many working sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from path_cases import GRAM, LABEL, LAMS, OFFSET, POINTS, WEIGHTS, N, optimum
from solver_cases import Countdown, noisy, smallest_cache

from kpegasos import RBF, CachedRows, GramRows, KernelMatrix
from kpegasos.solvers.path import PathRun, solve_among
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

CS = 1.0 / (N * LAMS[0])
SCALING = OFFSET**0.5


def values_of(row_dtype="float64"):
    return KernelMatrix(RBF(1.0), POINTS, row_dtype=row_dtype)


SOURCES = {"gram": GramRows.from_values, "cached": CachedRows, "evicting": smallest_cache}
each_source = pytest.mark.parametrize("source", SOURCES)
#: Rows that a run shares with others are all held.
each_source_and_alone = pytest.mark.parametrize(
    ("source", "alone"), [*((source, False) for source in SOURCES), ("gram", True)]
)


def make_run(source="gram", weights=WEIGHTS, Cs=CS, *, tol=1e-3, row_dtype="float64", **options):
    rows = SOURCES[source](values_of(row_dtype), intercept_scaling=SCALING)
    return PathRun(LABEL, weights, rows, Cs, tol=tol, **({"max_epochs": 1000} | options))


def solved(*arguments, **options):
    run = make_run(*arguments, **options)
    assert run.advance(Stopper()) is None
    assert run.finished
    return run, run.solutions()


def assert_certified(solutions, tol):
    for cell, gap in enumerate(solutions.relative_gaps):
        objective, bound = solutions.objectives[cell], solutions.dual_bounds[cell]
        # The reference is a dual value that is 1e-10 off.
        assert bound <= optimum(cell) + 1e-10
        assert optimum(cell) <= objective * (1.0 + 1e-14) + gap * objective
        assert objective - bound <= gap * objective * (1.0 + 1e-9)
        assert gap <= tol


def assert_consistent(solutions):
    """Coefficients, intercepts and margins of float64 rows belong to each other."""
    scaled = (WEIGHTS * LABEL)[[0, 0, 0, 1, 1, 1]] * np.tile(CS, 2)[:, None]
    assert_allclose(solutions.coefs, solutions.alphas * scaled, rtol=1e-9)
    assert_allclose(solutions.intercepts, OFFSET * solutions.coefs.sum(axis=1))
    assert_allclose(solutions.margins, solutions.coefs @ (GRAM + OFFSET), atol=1e-9)


# --- what a run comes to --------------------------------------------------------------------------


@each_source
def test_certificates_of_float32_rows_are_settled_where_they_must_be(source, monkeypatch):
    """Rounding of these rows is more than the tolerance, until margins are computed again."""
    settled = []
    plain = SOURCES[source]

    def counting(values, **options):
        rows = plain(values, **options)
        settle = rows.settle
        monkeypatch.setattr(rows, "settle", lambda *a, **k: settled.append(1) or settle(*a, **k))
        return rows

    monkeypatch.setitem(SOURCES, source, counting)
    tol = 2e-6
    run, found = solved(source, tol=tol, row_dtype="float32")
    assert settled
    assert_certified(found, tol)
    needed = found.coefs != 0.0
    exact = found.coefs @ (GRAM + OFFSET)
    assert np.abs(found.margins - exact)[needed].max() < 1e-12
    assert run.evaluations == run.rows.evaluations > N * N  # what is settled costs values, too


@pytest.mark.parametrize("questions", [0, 1, 2])
def test_a_run_that_was_stopped_goes_on(questions, monkeypatch):
    monkeypatch.setattr(PathRun, "sets_before_pause", 2)
    expected, whole = solved(tol=1e-6)
    run = make_run(tol=1e-6)
    assert run.advance(Countdown(questions)) == "max_time"
    assert not run.finished
    part = run.solutions()
    assert part.objectives.size == run.n_solved < LAMS.size
    assert run.advance(Stopper()) is None
    found = run.solutions()
    for array, other, before in zip(found, whole, part, strict=True):
        assert_array_equal(array, other)
        assert_array_equal(array[: len(before)], before)
    assert run.seconds > 0.0
    assert_array_equal(run.path.n_sets, expected.path.n_sets)


def test_values_that_are_not_positive_semi_definite_are_noticed():
    """Whatever their kernel has promised."""
    wrong = 4.0 * GRAM - 3.0 * np.diag(GRAM.diagonal())  # which does not show it
    run = PathRun(LABEL, WEIGHTS, GramRows(wrong), CS, tol=1e-2, max_epochs=10)
    run.advance(Stopper())
    with pytest.raises(ValueError, match="kernel must be positive semi-definite for certified"):
        run.solutions()


# --- starts ---------------------------------------------------------------------------------------


@each_source_and_alone
def test_start_from_leaves_images_that_belong_to_their_coefficients(source, alone):
    everything = WEIGHTS.max(axis=0)[None]
    whole, _ = solved(source, everything, CS[:1], alone=alone)
    run = make_run(source, alone=alone)
    run.start_from(whole)
    path, first = run.path, np.array([0, 3])
    assert path.alphas[first].any(axis=1).all()
    assert not path.alphas[first][WEIGHTS == 0.0].any()
    expected = (path.alphas[first] * path.signed) @ (GRAM + OFFSET)
    assert_allclose(path.images[first], expected, atol=1e-11)
    rest = np.delete(np.arange(LAMS.size), first)
    assert not path.images[rest].any()
    assert (path.additions[first] > whole.path.additions[0]).all()
    run.advance(Stopper())
    for found in (run.solutions(), solved(source, alone=alone)[1]):
        assert found.alphas.shape == (LAMS.size, N)
        assert_certified(found, run.tol)
        assert_consistent(found)
        assert not found.coefs[np.repeat(WEIGHTS == 0.0, 3, axis=0)].any()
        for array, all_cells in zip(found.part(3, 6), found, strict=True):
            assert_array_equal(array, all_cells[3:6])


# --- hard cells -----------------------------------------------------------------------------------


def overlapping(n_samples=400):
    """Two folds of classes that overlap, with a C that makes most of them free or bound."""
    X, y = noisy(n_samples, seed=2)
    weights = np.array([np.arange(n_samples) % 5 != fold for fold in range(2)], dtype=float)
    return X, y.astype(float), weights, np.array([1.0, 30.0, 300.0])


@pytest.fixture
def hard_cells(monkeypatch):
    """Cells that are hard after a few sets; returns how often they were."""
    monkeypatch.setattr(tuning, "WORKING_SET", 16)
    monkeypatch.setattr(tuning, "SMALL_WORKING_SET", 16)
    monkeypatch.setattr(tuning, "PATIENT_SETS", 3)
    monkeypatch.setattr(tuning, "ACTIVE_EXAMPLES", 96)
    monkeypatch.setattr(tuning, "ACTIVE_WORKING_SET", 12)
    calls = []

    def counting(view, members, *rest):
        calls.append(members)
        solve_among(view, members, *rest)

    monkeypatch.setattr("kpegasos.solvers.path.solve_among", counting)
    return calls


@pytest.mark.parametrize(("alone", "dtype"), [(False, np.float32), (True, np.float64)])
def test_hard_cells_end_where_others_do(hard_cells, monkeypatch, dtype, alone):
    X, y, weights, Cs = overlapping()
    tol, found = 1e-3, []
    for patience in (3, 10**9):
        monkeypatch.setattr(tuning, "PATIENT_SETS", patience)
        rows = GramRows.from_values(KernelMatrix(RBF(0.5), X, row_dtype=np.dtype(dtype).name))
        run = PathRun(y, weights, rows, Cs, tol=tol, max_epochs=1000, alone=alone)
        run.advance(Stopper())
        found.append((run, run.solutions(), len(hard_cells)))
    (hard, by_parts, n_calls), (plain, at_once, n_calls_at_end) = found
    assert n_calls_at_end == n_calls > 10
    assert hard.path.n_sets.sum() < plain.path.n_sets.sum()
    for solutions in (by_parts, at_once):
        assert (solutions.relative_gaps <= tol).all()
    assert_allclose(by_parts.objectives, at_once.objectives, rtol=tol)
    assert (by_parts.dual_bounds <= at_once.objectives).all()
    assert (at_once.dual_bounds <= by_parts.objectives).all()
    # The image has kept up with all that was done to parts of it.
    gram = RBF(0.5).block(X, X)
    exact = by_parts.coefs @ gram
    atol = 1e-9 if dtype == np.float64 else 1e-4 * np.abs(by_parts.coefs).sum(axis=1).max()
    assert_allclose(by_parts.margins, exact, atol=atol)
    path = hard.path
    images = (path.alphas * path.signed[path.folds]) @ gram
    counts = np.abs(path.alphas * path.signed[path.folds]).sum(axis=1)
    values = np.finfo(dtype).eps if dtype == np.float32 else 0.0
    rounding = (path.additions + 4.0) * np.finfo(float).eps * (
        counts + y.size
    ) + 4 * values * counts
    assert (np.abs(path.images - images).max(axis=1) <= rounding).all()


def test_hard_cells_stay_within_the_rows_that_are_held(hard_cells):
    """A problem of active examples takes a fifth of the memory that rows have."""
    X, y, weights, Cs = overlapping()
    values = KernelMatrix(RBF(0.5), X)
    rows = CachedRows(values, cache_mb=64 * 1.3 * values.n_samples * 8 / tuning.MEBIBYTE)
    run = PathRun(y, weights, rows, Cs, tol=1e-2, max_epochs=1000)
    run.advance(Stopper())
    assert hard_cells
    assert max(members.size for members in hard_cells) <= rows.row_capacity < y.size
    assert max(members.size**2 for members in hard_cells) <= 0.2 * rows.row_capacity * y.size
    assert (run.solutions().relative_gaps <= 1e-2).all()


def test_cells_are_not_hard_where_no_rows_are_left_for_it(hard_cells):
    X, y, weights, Cs = overlapping(100)
    rows = smallest_cache(KernelMatrix(RBF(0.5), X))
    run = PathRun(y, weights, rows, Cs[:2], tol=1e-2, max_epochs=1000)
    run.advance(Stopper())
    assert not hard_cells
    assert (run.solutions().relative_gaps <= 1e-2).all()


def test_a_deadline_ends_a_hard_cell(hard_cells):
    X, y, weights, Cs = overlapping()
    run = PathRun(y, weights, GramRows(RBF(0.5).block(X, X)), Cs, tol=1e-6, max_epochs=1000)
    assert run.advance(Countdown(6)) == "max_time"
    assert hard_cells
    assert not run.finished
    assert run.advance(Stopper()) is None
    assert (run.solutions().relative_gaps <= 1e-6).all()
