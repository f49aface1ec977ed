"""Runs along a path: their certificates, and what stops them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from path_cases import GRAM, LABEL, LAMS, OFFSET, POINTS, WEIGHTS, N, optimum
from solver_cases import Countdown, smallest_cache

from kpegasos import RBF, KernelMatrix
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.path import PathRun
from kpegasos.solvers.stopping import Stopper

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
    _, whole = solved(tol=1e-6)
    run = make_run(tol=1e-6)
    assert run.advance(Countdown(questions)) == "max_time"
    assert not run.finished
    part = run.solutions()
    assert part.objectives.size == run.n_solved < LAMS.size
    assert run.advance(Stopper()) is None
    found = run.solutions()
    assert_consistent(whole)
    for array, other, before in zip(found, whole, part, strict=True):
        assert_array_equal(array, other)
        assert_array_equal(array[: len(before)], before)
    assert run.seconds > 0.0


def test_values_that_are_not_positive_semi_definite_are_noticed():
    """Whatever their kernel has promised."""
    wrong = 4.0 * GRAM - 3.0 * np.diag(GRAM.diagonal())  # which does not show it
    run = PathRun(LABEL, WEIGHTS, GramRows(wrong), CS, tol=1e-2, max_epochs=10)
    run.advance(Stopper())
    with pytest.raises(ValueError, match="kernel must be positive semi-definite for certified"):
        run.solutions()
