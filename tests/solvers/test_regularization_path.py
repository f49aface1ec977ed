"""`regularization_path`: each value as if it were solved alone, on whatever serves the rows."""

import os
import signal
from functools import cache
from itertools import count

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import Countdown, noisy, smallest_cache

from kpegasos import KernelMatrix, Linear, Sigmoid, linear_rows, make_problem, regularization_path
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.solvers import path as path_module
from kpegasos.solvers.path import PathRun
from kpegasos.solvers.stopping import Interrupted, Stopper
from kpegasos.utils import tuning

X, Y = noisy(60)
#: In an order of no kind.
CS = np.array([1.0, 0.05, 4.0, 0.3])
WEIGHT = 0.5 + np.random.default_rng(1).uniform(size=60)
HELD_OUT = np.arange(60) % 4 == 1
TOL = 1e-3


HELD = {"gram": GramRows.from_values, "cached": CachedRows, "evicting": smallest_cache}
ROWS = {**HELD, "features": lambda values, **kw: linear_rows(X, **kw)}
each_source = pytest.mark.parametrize("source", ROWS)


@pytest.fixture(autouse=True)
def steady_slices(monkeypatch):
    """Have rows that are not kept sum in one order, whatever the load of the machine."""
    monkeypatch.setattr(tuning, "SLICE_SECONDS", np.inf)


def rows_of(source, kernel=None, *, intercept_scaling=1.0):
    values = KernelMatrix(kernel or Linear(), X)
    return ROWS[source](values, intercept_scaling=intercept_scaling)


def task(weight=WEIGHT):
    return make_problem(Y, 1.0, weight)


def path_of(source="gram", Cs=CS, **options):
    options = {"tol": TOL, "random_state": 0} | options
    return regularization_path(options.pop("problem", task()), rows_of(source), Cs, **options)


GRAM = X @ X.T + 1.0


@cache
def optimum(C, *, all_trained=True):
    """Of the mean-weighted problem over the examples that are trained on, by the reference."""
    trained = ~HELD_OUT | all_trained
    weight = WEIGHT[trained] / WEIGHT[trained].mean()
    K, lam = GRAM[np.ix_(trained, trained)], 1.0 / (C * weight.size)
    # `weight` of the problem has mean one over all, and so C times another sum.
    sums = (WEIGHT / WEIGHT.mean())[trained].sum() / weight.size
    return naive.optimum(K, Y[trained], lam / sums, weight, gap=1e-7)[0]


def assert_belongs_together(path):
    """Coefficients and margins by the definitions."""
    weight = task().weight
    assert path.alphas.min() >= 0.0
    assert path.alphas.max() <= 1.0
    for k, C in enumerate(path.Cs):
        assert_allclose(path.margins[k], GRAM @ path.coefs[k], atol=1e-8)
        assert_allclose(path.coefs[k], C * path.alphas[k] * weight * Y, atol=1e-9)
        assert path.intercepts[k] == pytest.approx(path.coefs[k].sum())


# --- every source, every value --------------------------------------------------------------------


@each_source
def test_each_value_is_solved_to_its_certificate(source):
    path = path_of(source)
    assert_array_equal(path.Cs, CS)
    assert path.status == "tolerance"
    assert path.missing.size == 0
    assert path.n_steps == CS.size
    assert path.relative_gap == path.relative_gaps.max() <= TOL
    for k, C in enumerate(CS):
        assert path.dual_bounds[k] <= optimum(C) + 1e-7
        assert optimum(C) <= path.objectives[k] <= optimum(C) + TOL * path.objectives[k]
        lam = 1.0 / (C * 60)
        expected = naive.primal(path.coefs[k], GRAM, Y, lam, WEIGHT / WEIGHT.mean())
        assert path.objectives[k] == pytest.approx(expected)
    assert_belongs_together(path)
    assert_array_equal(path.n_support, (path.coefs != 0.0).sum(axis=1))
    # Neither the order in which values come nor the lam of the problem matters.
    order = np.argsort(CS)
    ascending = path_of(source, CS[order], problem=make_problem(Y, 123.0, WEIGHT))
    for name in ("alphas", "coefs", "intercepts", "margins", "objectives", "dual_bounds"):
        assert_array_equal(getattr(path, name)[order], getattr(ascending, name))
    assert path.objectives[order][0] > path.objectives[order][-1]


@pytest.mark.parametrize("source", HELD)
def test_held_out_examples_are_as_good_as_absent(source):
    path = path_of(source, held_out=HELD_OUT)
    assert not path.alphas[:, HELD_OUT].any()
    for k, C in enumerate(CS):
        best = optimum(C, all_trained=False)
        assert path.objectives[k] == pytest.approx(best, rel=1.01 * TOL)
        assert path.dual_bounds[k] <= best + 1e-7
    assert_belongs_together(path)


def test_one_class_is_solved_too():
    ones = make_problem(np.ones(60), 1.0)
    path = path_of(problem=ones, held_out=HELD_OUT)
    assert path.status == "tolerance"
    assert (path.margins[CS == 4.0] > 0.0).all()


@pytest.mark.parametrize("source", HELD)
def test_certificates_of_float32_rows_are_settled_where_they_must_be(source, monkeypatch):
    """Rounding of these rows is more than the tolerance, until margins are computed again."""
    rows = HELD[source](KernelMatrix(Linear(), X, row_dtype="float32"), intercept_scaling=1.0)
    settled, settle = [], rows.settle
    monkeypatch.setattr(rows, "settle", lambda *a, **k: settled.append(1) or settle(*a, **k))
    path = regularization_path(task(), rows, CS, tol=2e-6, random_state=0)
    assert settled
    assert path.relative_gaps.max() <= 2e-6
    for k, C in enumerate(CS):
        assert path.dual_bounds[k] <= optimum(C) + 1e-7
        assert optimum(C) <= path.objectives[k] * (1.0 + path.relative_gaps[k])
        exact = GRAM @ path.coefs[k]
        assert (
            np.abs(path.margins[k] - exact)[path.coefs[k] != 0.0].max() < 1e-12 * abs(exact).max()
        )
    assert path.evaluations == rows.evaluations > 60 * 60


# --- what it costs --------------------------------------------------------------------------------


@each_source
def test_evaluations_are_those_that_the_rows_count(source):
    rows = rows_of(source)
    first, second = (
        regularization_path(task(), rows, CS, tol=TOL, random_state=0) for _ in range(2)
    )
    assert first.evaluations + second.evaluations == rows.evaluations
    if source in ("gram", "cached", "features"):
        assert first.evaluations == (0 if source == "features" else 60 * 60)
        assert second.evaluations == 0
    else:
        assert second.evaluations > 0


def test_values_far_below_are_started_warm(monkeypatch):
    """On features of many columns, by single steps, each value begins at the solution before."""
    monkeypatch.setattr(tuning, "MOST_COLUMNS", 0)
    counts = []

    class Counting(path_module.InteriorPointAscent):
        def result(self):
            counts.append(int(self.state.loop.counters[0]))
            return super().result()

    monkeypatch.setattr(path_module, "InteriorPointAscent", Counting)
    near = [1.0, 1.0 + 1e-9]
    path = path_of("features", near)
    assert path.status == "tolerance"
    assert counts[1] <= counts[0] / 2


# --- time is up -----------------------------------------------------------------------------------


@each_source
def test_no_time_leaves_all_values_missing(source):
    path = path_of(source, max_time=0.0)
    assert (path.status, path.n_steps) == ("max_time", 0)
    assert_array_equal(path.missing, CS)
    for name in ("intercepts", "objectives", "dual_bounds", "relative_gaps", "relative_gap"):
        assert np.isnan(getattr(path, name)).all()
    for name in ("alphas", "coefs", "margins"):
        assert getattr(path, name).shape == (CS.size, 60)
        assert not getattr(path, name).any()
    assert not path.n_support.any()


@pytest.mark.parametrize(("source", "step"), [("gram", 1), ("evicting", 1), ("features", 2)])
def test_a_path_that_is_stopped_keeps_the_smallest_values(source, step, monkeypatch):
    monkeypatch.setattr(PathRun, "sets_before_pause", 1)
    whole = path_of(source, tol=1e-6)
    order, numbers = np.argsort(CS), []
    for questions in count(0, step):
        monkeypatch.setattr(path_module, "Stopper", lambda _, n=questions: Countdown(n))
        path = path_of(source, tol=1e-6)
        there = order[: path.n_steps]
        assert_array_equal(np.sort(path.missing), CS[order][path.n_steps :])
        for name in ("alphas", "coefs", "margins", "objectives"):
            assert_array_equal(getattr(path, name)[there], getattr(whole, name)[there])
        numbers.append(path.n_steps)
        if path.status == "tolerance":
            break
        assert path.status == "max_time"
        assert f"({path.n_steps} of 4 values, status 'max_time'" in repr(path)
    assert (np.diff(numbers) >= 0).all()
    assert numbers[0] == 0
    assert numbers[-1] == 4
    assert {1, 2, 3} & set(numbers)


@each_source
def test_a_value_that_does_not_come_to_its_tolerance_is_told(source):
    path = path_of(source, tol=1e-14, max_epochs=1)
    assert path.status == "completed"
    assert path.missing.size == 0
    assert path.relative_gap > 1e-14
    for k, C in enumerate(CS):
        assert path.dual_bounds[k] <= optimum(C) + 1e-7
        assert path.objectives[k] >= optimum(C) - 1e-12


@pytest.mark.parametrize("source", ["gram", "evicting"])
def test_ctrl_c_is_raised_with_the_path_as_far_as_it_has_come(source, monkeypatch):
    class Pressed(Stopper):
        """Somebody presses Ctrl-C when it is asked for the second time."""

        asked = 0

        def reason(self):
            self.asked += 1
            if self.asked == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return super().reason()

    monkeypatch.setattr(path_module, "Stopper", Pressed)
    monkeypatch.setattr(PathRun, "sets_before_pause", 1)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=r"stopped by Ctrl-C after \d steps") as caught:
        path_of(source, tol=1e-6)
    path = caught.value.result
    assert path.status == "interrupted"
    assert path.n_steps < CS.size
    assert path.missing.size == CS.size - path.n_steps
    assert signal.getsignal(signal.SIGINT) is before


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["gram", "cached", "a matrix that does not show it"])
def test_a_kernel_that_is_not_positive_semi_definite_is_refused(source):
    wrong = GramRows(4.0 * GRAM - 3.0 * np.diag(GRAM.diagonal()))
    rows = rows_of(source, Sigmoid(1.0, -1.0)) if source in ROWS else wrong
    with pytest.raises(ValueError, match=r"kernel.* positive semi-definite"):
        regularization_path(task(), rows, CS)
