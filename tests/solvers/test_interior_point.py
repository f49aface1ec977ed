"""The finisher on features knows no scale, keeps its certificate, and leaves a usable model."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs
from solver_cases import Countdown, finished_run

from kpegasos import LinearPegasosSVC, linear_rows, make_problem, sdca
from kpegasos.rows.features import HeldFactor, StreamedFactor
from kpegasos.solvers.polish import polish
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding


def shifted_blobs():
    X, y = make_blobs(300, centers=3, random_state=0)
    return X + 100, y


RAW = {
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: tuple(part[:400] for part in load_digits(return_X_y=True)),
    "shifted blobs": shifted_blobs,
}


def binary(n_samples=120, n_features=7, *, scale=100.0, seed=0, C=1.0, weighted=False):
    """A problem, and features of which one is large and all share a mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) + 3.0
    y = np.where(X @ rng.normal(size=n_features) + rng.normal(size=n_samples) > 0, 1, -1)
    X[:, 0] *= scale
    weight = rng.uniform(0.1, 3.0, n_samples) if weighted else None
    return make_problem(y, 1.0 / (C * n_samples), weight), X


def run_on(task, X, *, intercept_scaling=1.0, epochs=1):
    return finished_run(task, linear_rows(X, intercept_scaling=intercept_scaling), epochs=epochs)


@pytest.mark.parametrize("intercept_scaling", [1.0, 1e3])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", RAW)
def test_raw_features_are_polished_to_a_certified_gap(name, C, intercept_scaling):
    """Single coordinates did not get there in 1,000 epochs."""
    X, y = RAW[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = LinearPegasosSVC(
            C=C, polish=True, epochs=1, intercept_scaling=intercept_scaling, random_state=0
        ).fit(X, y)
    assert np.max(clf.relative_gap_) <= 1e-2
    histories = clf.history_ if isinstance(clf.history_, list) else [clf.history_]
    assert max(history["epoch"][-1] for history in histories) < 60


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("shape", [(120, 7), (30, 60), (5, 3)])
def test_optimum_is_that_of_single_coordinates(shape, make, weighted):
    task, X = binary(*shape, scale=1.0, weighted=weighted)
    X = make(X)
    result = polish(run_on(task, X), tol=1e-5)
    slow = sdca(task, linear_rows(X, intercept_scaling=1.0), tol=1e-5, max_epochs=20_000)
    assert result.status == slow.status == "tolerance"
    assert max(result.dual_bound, slow.dual_bound) <= min(result.objective, slow.objective)
    assert result.objective == pytest.approx(slow.objective, rel=2e-5)


def test_few_examples_have_a_coefficient():
    """Points within the box are moved onto one of its faces."""
    task, X = binary(400)
    result = polish(run_on(task, X), tol=1e-3)
    outside = task.y * result.margins > 1.1
    assert outside.sum() > 100
    assert not result.coef[outside].any()


def test_large_data_are_streamed_to_the_same_model(monkeypatch):
    task, X = binary(500)
    held = polish(run_on(task, X), tol=1e-6)
    monkeypatch.setattr(tuning, "GATHER_BYTES", 4096)
    assert isinstance(linear_rows(X).factor(), StreamedFactor)
    streamed = polish(run_on(task, X), tol=1e-6)
    assert streamed.status == "tolerance"
    assert streamed.objective == pytest.approx(held.objective, rel=2e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_factors_make_the_same_products(form, monkeypatch):
    _, X = binary(50)
    rng = np.random.default_rng(0)
    weights, coef, vector = rng.uniform(size=50), rng.normal(size=50), rng.normal(size=8)
    weights[10:] = 0.0
    rows = linear_rows(form(X), intercept_scaling=2.0)
    held = rows.factor()
    monkeypatch.setattr(tuning, "GATHER_BYTES", 1000)
    streamed = rows.factor()
    assert isinstance(held, HeldFactor)
    assert isinstance(streamed, StreamedFactor)
    Z = np.column_stack((X, np.full(50, 2.0)))
    for factor in (held, streamed):
        assert_allclose(factor.gram(weights), Z.T @ (weights[:, None] * Z))
        assert_allclose(factor.sums(coef), Z.T @ coef, atol=1e-10)
        assert_allclose(factor.margins(vector), Z @ vector)
    with pytest.raises(CutShort), heeding(lambda: False):
        streamed.gram(weights)


def test_wide_rows_have_a_factor_of_few_columns():
    _, X = binary(10, 40)
    factor = linear_rows(X).factor()
    assert factor.size == 10
    assert_allclose(
        [factor.margins(factor.sums(unit)) for unit in np.eye(10)], X @ X.T, atol=1e-7, rtol=1e-9
    )


def test_neither_dimension_small_has_no_factor(monkeypatch):
    monkeypatch.setattr(tuning, "MOST_COLUMNS", 5)
    task, X = binary(50)
    assert linear_rows(X).factor() is None
    assert polish(run_on(task, X[:, 1:]), tol=1e-2).status == "tolerance"


def test_single_coordinates_go_first_where_systems_are_large(monkeypatch):
    monkeypatch.setattr(tuning, "SMALL_SYSTEM", 0.0)
    task, X = binary(300, 5, scale=1.0, C=0.01)
    easy = polish(run_on(task, X, epochs=3), tol=0.05)
    assert easy.status == "tolerance"
    task, X = binary(300, 5, scale=1000.0)
    hard = polish(run_on(task, X, epochs=3), tol=1e-3)
    assert hard.status == "tolerance"
    assert hard.history["epoch"][-1] < 100


@pytest.mark.parametrize("questions", [0, 1, 3, 8, 14])
def test_polish_cut_short_is_never_worse_than_the_run(questions):
    task, X = binary(500)
    run = run_on(task, X)
    before = run.result().objective
    result = polish(run, tol=1e-9, stopper=Countdown(questions))
    assert result.status == "max_time"
    assert result.objective <= before
    assert 0.0 <= result.dual_bound <= result.objective


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_polish_ends_below_rounding(C):
    task, X = binary(80, C=C)
    result = polish(run_on(task, X), tol=1e-17)
    assert result.status in ("completed", "tolerance")
    assert result.relative_gap < 1e-4


@pytest.mark.parametrize("share", [0.4, 0.5, 0.6])
def test_polish_cut_short_keeps_what_newton_steps_reached(share):
    task, X = binary(500)
    whole = Countdown(10_000)
    best = polish(run_on(task, X), tol=1e-9, stopper=whole).objective
    questions = int(share * (10_000 - whole.questions))
    result = polish(run_on(task, X), tol=1e-9, stopper=Countdown(questions))
    assert result.status == "max_time"
    assert result.objective == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("questions", range(0, 14, 2))
def test_more_time_gives_no_worse_model(questions):
    task, X = binary(500)
    short, long = (
        polish(run_on(task, X), tol=1e-9, stopper=Countdown(n)) for n in (questions, questions + 2)
    )
    assert long.objective <= short.objective


def separable(n_samples):
    """A problem whose optimum is tiny, and its features."""
    X = np.random.default_rng(0).normal(size=(n_samples, 5))
    return make_problem(np.where(X[:, 0] > 0.0, 1, -1), 1e-6 / n_samples), X


def test_smaller_tol_gives_no_worse_model():
    """Rounding ends the steps above the gap wanted."""
    task, X = separable(60)
    loose, strict = (polish(run_on(task, X), tol=tol) for tol in (1e-6, 1e-9))
    assert loose.status == "tolerance"
    assert strict.objective <= loose.objective * (1.0 + 1e-6)


def test_steps_go_on_while_both_objectives_fall():
    task, X = separable(2000)
    result = polish(run_on(task, X), tol=1e-3)
    assert result.status == "tolerance"
    assert result.history["epoch"][-1] < 100


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_systems_are_made_within_the_memory_of_features_in_work(dtype, form):
    """However few entries a sparse row has."""
    n_samples, n_features = 60_000, 200
    X = np.zeros((n_samples, n_features), dtype)
    X[np.arange(n_samples), np.arange(n_samples) % n_features] = 1.0
    factor = linear_rows(form(X), intercept_scaling=1.0).factor()
    for weights in (np.ones(n_samples), np.arange(n_samples) % 3 == 0):
        tracemalloc.start()
        total = factor.gram(weights.astype(np.float64))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert_allclose(total[-1, -1], weights.sum())
        assert peak < 3 * tuning.GATHER_BYTES + 32 * n_samples + 32 * n_features**2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_features_that_are_all_zero_are_polished(form):
    X, y = np.zeros((60, 5)), np.repeat([0, 1, 2], 20)
    assert linear_rows(form(X)).factor() is None
    for classes in (y > 0, y):
        clf = LinearPegasosSVC(polish=True, fit_intercept=False, random_state=0)
        assert not clf.fit(form(X), classes).coef_.any()
    X[40:] = 1.0  # of two classes alone
    clf = LinearPegasosSVC(polish=True, fit_intercept=False, random_state=0).fit(form(X), y)
    assert np.max(clf.relative_gap_) <= 1e-2
