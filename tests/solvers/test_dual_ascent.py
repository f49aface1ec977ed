"""Dual ascent: to the optimum from nothing, and from where a Pegasos run ended.

Polishing ends, whatever is asked for, and never returns a worse model than it began with."""

import tracemalloc
from itertools import product

import naive
import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from solver_cases import (
    ALL_SOURCES,
    DATA,
    Countdown,
    M,
    assert_same_result,
    every_rows,
    exact_gram,
    finished_run,
    make_any_rows,
    make_task,
    noisy,
    polish,
    run_pegasos,
    true_optimum,
)

from kpegasos import (
    RBF,
    KernelMatrix,
    LinearPegasosSVC,
    PegasosSVC,
    Polynomial,
    linear_rows,
    losses,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.core.draws import IndexStream
from kpegasos.core.state import AVERAGES, PegasosOptions
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.features import HeldFactor, StreamedFactor
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding


@pytest.mark.pure_python
@each_pair(source=ALL_SOURCES, weighted=[False, True], B=[0.0, 2.0])
def test_sdca_reaches_the_optimum(source, weighted, B):
    rows = make_any_rows(source, intercept_scaling=B)
    result = sdca(make_task(weighted), rows, tol=1e-7, max_epochs=300, random_state=0)
    weight = DATA.omega if weighted else None
    best = true_optimum(weighted, B**2)
    assert result.status == "tolerance"
    assert result.relative_gap <= 1e-7
    assert result.dual_bound <= best + 1e-9
    assert best <= result.objective + 1e-9
    assert_allclose(result.objective, best, rtol=2e-7)
    assert (result.alpha >= 0).all()
    assert (result.alpha <= 1).all()
    problem = exact_gram("linear"), DATA.y, DATA.lam, weight
    objective = naive.primal(result.coef, *problem, offset=B**2)
    assert_allclose(result.objective, objective, rtol=1e-9)
    assert_allclose(result.dual_bound, naive.dual(result.alpha, *problem, offset=B**2), rtol=1e-6)
    if result.w is not None:
        assert_allclose(result.w, DATA.X.T @ result.coef, rtol=1e-9, atol=1e-12)
    margins = exact_gram("linear") @ result.coef + result.intercept
    assert_allclose(result.margins, margins, rtol=1e-9, atol=1e-9)
    assert_allclose(result.intercept, B**2 * result.coef.sum(), rtol=1e-6, atol=1e-9)


@every_rows
def test_sdca_returns_the_best_iterate(source):
    """The returned objective never rises, where that of the last iterate swings."""
    X, y = noisy()
    rows = make_any_rows(source, X=X)
    result = sdca(make_problem(y, 1e-4), rows, tol=0.0, max_epochs=60, random_state=0)
    assert result.status == "completed"
    assert_array_equal(result.history["iteration"], y.size * np.arange(1, 61))
    assert (np.diff(result.history["dual_bound"]) >= 0).all()
    last, returned = (result.history[f"objective_{name}"] for name in ("last", "average"))
    assert (np.diff(last) > 0).any()
    assert_array_equal(returned[:-1], np.minimum.accumulate(last)[:-1])
    assert result.objective == returned[-1] == pytest.approx(last.min(), rel=1e-12)
    assert_allclose(result.objective, naive.primal(result.coef, np.inner(X, X), y, 1e-4), rtol=1e-9)


# --- from where a run ended ---


@pytest.mark.pure_python
@each_pair(source=ALL_SOURCES, average=AVERAGES, weighted=[False, True])
def test_polish_finishes_a_run(source, average, weighted):
    """Dual ascent goes on from a run to the optimum; counts and state stay those of the run."""
    task, options = make_task(weighted), {"batch_size": 3, "average": average}
    running = finished_run(task, make_any_rows(source), n_steps=30, **options)
    before, n_records = running.result(), len(running.history)
    result = polish(running, tol=1e-8, max_epochs=200)
    best = true_optimum(weighted)
    assert result.status == "tolerance"
    assert result.dual_bound <= best + 1e-10
    assert_allclose(result.objective, best, rtol=2e-8)
    K, weight = exact_gram("linear"), DATA.omega if weighted else None
    objective = naive.primal(result.coef, K, DATA.y, DATA.lam, weight)
    assert_allclose(result.objective, objective, rtol=1e-9)
    assert_array_equal(result.alpha, before.alpha)
    assert result.n_steps == 30
    history = result.history
    assert len(history) > n_records
    for column in ("dual_bound", "epoch", "iteration", "seconds"):
        assert (np.diff(history[column]) >= 0).all()
    assert history["objective_average"][0] == before.objective
    assert (np.diff(history["objective_average"]) <= 0).all()
    running = finished_run(task, make_any_rows(source), n_steps=30, **options)
    short = polish(running, tol=1e-8, stopper=Countdown(1))
    assert short.dual_bound <= best + 1e-10
    assert short.objective >= best - 1e-10
    # Going on from the state is as if nothing had been polished.
    whole = finished_run(task, make_any_rows(source), n_steps=50, **options)
    further = run_pegasos(
        make_any_rows(source), n_steps=20, weighted=weighted, state=result.state, **options
    )
    assert_same_result(further, whole.result())
    # Polishing leaves a good run alone.
    assert_same_result(polish(whole, tol=whole.result().relative_gap), whole.result())


def test_ascent_after_a_run_draws_what_no_run_draws():
    """Neither what its own run has drawn, nor what the runs of other pairs draw."""
    y = np.where(np.arange(40) % 2, 1, -1)
    problem, rows = make_problem(y, lam=0.1), linear_rows(np.eye(40))
    options = {"n_steps": 10, "epochs": None, "checkpoints": None, "tol": None, "seed": 0}
    run = make_run(problem, rows, PegasosOptions(), spawn_key=(1,), **options)
    run.advance(Stopper())
    draws = DualAscent.after(run, max_epochs=3)._stream.take(0, 3 * y.size)
    for key in ((), (0,), (1,), (2,), (1, 0)):
        other = IndexStream(y.size, "permutation", 0, key).take(0, 3 * y.size)
        same = draws.reshape(3, -1)[:, None] == other.reshape(3, -1)
        assert not same.all(axis=2).any()


# --- kernels that are none ---


def test_indefinite_kernel_that_a_run_has_found_stays_found():
    """By a polish, and by a run that goes on from its state."""
    values = np.random.default_rng(0).normal(size=(M, M))
    problem, rows = make_problem(DATA.y, 1e-3), GramRows(values + values.T)
    run = finished_run(problem, rows, epochs=5)
    assert np.isnan(run.result().gap)
    with pytest.raises(ValueError, match="positive semi-definite"):
        polish(run, tol=0.5)
    again = pegasos(problem, rows, epochs=1, state=run.state, random_state=0)
    assert np.isnan(again.gap)
    assert np.isnan(again.history["dual_bound"]).all()


ROWS = {"precomputed": GramRows.from_values, "cached": CachedRows}
each_rows = pytest.mark.parametrize("source", ROWS)
each_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])


def moons(n_samples, C, *, noise=0.25, seed=0, source="cached", dtype=np.float64, **options):
    """A Pegasos run at its end."""
    X, classes = make_moons(n_samples, noise=noise, random_state=seed)
    if source == "features":
        rows = linear_rows(X)
    else:
        rows = ROWS[source](KernelMatrix(RBF(2.0), X.astype(dtype)))
    return finished_run(make_problem(classes, C=C), rows, **options)


@each_pair(source=list(ROWS), dtype=[np.float64, np.float32], goal=[(0.01, 1e-17), (100.0, 1e-15)])
def test_polish_ends_below_rounding(source, dtype, goal):
    """A tolerance that rounding does not allow used to be asked for forever."""
    C, tol = goal
    run = moons(80, C, noise=0.3, seed=1, source=source, dtype=dtype, epochs=20)
    result = polish(run, tol=tol)
    assert len(result.history) < 1000
    assert result.status in ("completed", "tolerance")
    # Rounds that gain less than 1e-9 are idle, and where they end depends on the start.
    assert result.relative_gap < (1e-9 if dtype == np.float64 else 1e-5)
    if C == 0.01 and dtype == np.float64:
        assert result.status == "completed"  # the gap is a rounding error, and not 0


class Forgetful(Stopper):
    """A deadline that comes in a round after `end`, and finds the ascent back where it is zero."""

    loop = None

    def end(self, ascent):
        if ascent.evaluate()[1].objective < 0.3:
            self.loop = ascent.state.loop

    def reason(self):
        if self.loop is None:
            return None
        self.loop.alpha[:] = self.loop.image[:] = 0.0
        return "max_time"


def test_polish_cut_short_returns_its_best_iterate():
    """With large C the objective swings; the last iterate used to be returned."""
    run, stopper = moons(500, 1e4, epochs=5), Forgetful()
    result = polish(run, tol=1e-9, stopper=stopper, on_round=stopper.end)
    assert result.status == "max_time"
    objectives = result.history["objective_last"]
    assert objectives[-1] == 1.0
    assert result.objective <= objectives.min() * (1 + 1e-11) < 0.3


@pytest.mark.parametrize(
    ("questions", "source", "C", "epochs"),
    [
        *((*each, 1e4, 0.5) for each in (*product([0, 1, 20], ROWS), (1, "features"))),
        *((0, "features", C, epochs) for C, epochs in ((1e4, 0.5), (1.0, 0.02))),
    ],
)
def test_polish_cut_short_returns_no_worse_than_any_multiple_of_its_start(
    questions, source, C, epochs
):
    """A few sets of examples are no model of all, and a short run is too large by far."""
    run = moons(1000, C, source=source, epochs=epochs)
    late = questions == 0
    if late:
        run.status = "max_time"  # the time is over while Pegasos still runs
    start, y, lam = run.result(), run.problem.y, run.problem.lam
    result = polish(run, tol=1e-9, stopper=None if late else Countdown(questions))
    assert result.status == "max_time"
    assert result.n_steps == start.n_steps
    X, _ = make_moons(1000, noise=0.25, random_state=0)
    K = X @ X.T if source == "features" else rbf_kernel(X, gamma=2.0)
    image, polished = K @ start.coef, K @ result.coef

    def objective(coef, image):
        return 0.5 * lam * coef @ image + np.maximum(0, 1 - y * image).mean()

    assert start.objective == pytest.approx(objective(start.coef, image))
    factors = np.geomspace(1e-6, 10, 400)
    least = min(objective(factor * start.coef, factor * image) for factor in factors)
    assert least < 0.2 * start.objective
    assert result.objective <= least * (1 + 1e-6)
    assert result.objective == pytest.approx(objective(result.coef, polished))
    assert_allclose(result.margins, polished, rtol=1e-9, atol=1e-9)
    assert result.dual_bound <= result.objective
    assert not late or len(result.history) == len(start.history)
    assert result.history["objective_average"][-1] == pytest.approx(result.objective)


@each_rows
def test_polish_returns_the_run_itself_where_that_is_better(source, monkeypatch):
    """The first iterate of an ascent may be worse than an average of many Pegasos iterates."""
    monkeypatch.setattr(tuning, "WORKING_SET", 4)
    run = moons(300, 100.0, source=source, epochs=300)
    before = run.result()
    result = polish(run, tol=1e-12, max_epochs=1)
    assert result.status == "completed"
    assert result.history["objective_last"][-1] > before.objective
    assert result.objective == before.objective
    assert_array_equal(result.coef, before.coef)
    assert_array_equal(result.margins, before.margins)
    assert result.intercept == before.intercept


def test_polish_goes_on_while_the_dual_rises():
    """The gap stands still for long where a multiple of the iterate is better than it is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 8))
    y = X[:, 0] + 0.3 * rng.normal(size=1000) > 0
    rows = GramRows.from_values(KernelMatrix(Polynomial(0.1, 3, 1.0), X), intercept_scaling=1.0)
    run = finished_run(make_problem(y, C=1e4), rows, epochs=0.5)
    result = polish(run, tol=1e-2, max_epochs=200)
    assert result.history["iteration"][-1] > 200 * 1000


@each_pair(
    n_samples=[1, 2, 3, 4],
    cache=["precomputed", "cached"],
    loss=[losses.Hinge(), losses.EpsilonInsensitive()],
    C=[1.0, 1e2, 1e4],
)
def test_polish_of_one_to_four_examples_reaches_tol_far_from_zero(n_samples, cache, loss, C):
    X = 3.0 * np.arange(n_samples)[:, None] + [[7.0, 8.0]]
    y = np.arange(n_samples) + 1.0 if loss.regression else 2.0 * (np.arange(n_samples) % 2) - 1.0
    rows = make_rows(X, "linear", cache=cache)
    run = finished_run(make_problem(y, C=C, loss=loss), rows, epochs=1)
    assert polish(run, tol=1e-4).relative_gap <= 1e-4


@pytest.mark.parametrize(("n_samples", "seed"), [(2, 8), (2, 19), (3, 12), (4, 34), (4, 35)])
def test_few_examples_of_several_weights_need_few_rounds(n_samples, seed):
    """A flat direction has next to no part in the residual after one step: it took 500."""
    X = np.array([[271.7, 269.3], [269.3, 271.7], [269.3, 276.4], [278.7, 276.4]])[:n_samples]
    y, rng = np.array([0, 1, 1, 0])[:n_samples], np.random.default_rng(seed)
    options = {"epochs": 1, "sampling": "uniform", "average": None, "random_state": seed}
    model = PegasosSVC(kernel="linear", C=300.0, polish=True, tol=1e-4, **options)
    model.set_params(fit_intercept=False).fit(X, y, 10.0 ** -rng.uniform(0, 2, n_samples))
    assert model.relative_gap_ <= 1e-4
    assert len(model.history_) < 10


@pytest.mark.parametrize("seed", [0, 1, 297])
def test_polish_ends_at_the_optimum_of_large_polynomials(seed):
    """The Hessian has one direction of 1e8 and many of none; judged in longer numbers."""
    X, labels = make_blobs(52, n_features=5, centers=2, cluster_std=9.0, random_state=seed)
    task = make_problem(np.where(labels > 0, 1, -1), C=74.0)
    values = KernelMatrix(Polynomial(1.0, 2, 1.0), X)
    run = finished_run(task, GramRows.from_values(values, intercept_scaling=1.0), epochs=0.5)
    result = polish(run, tol=1e-3)
    assert result.status == "tolerance"
    X, y = X.astype(np.longdouble), task.y.astype(np.longdouble)
    coef = result.coef.astype(np.longdouble)
    decisions = ((X @ X.T + 1) ** 2 + 1) @ coef
    norm = task.lam * (coef @ decisions)
    objective = 0.5 * norm + np.maximum(0, 1 - y * decisions).mean()
    dual = task.lam * np.abs(coef).sum() - 0.5 * norm
    assert_allclose(float(objective), result.objective, rtol=1e-6)
    assert float(dual) <= result.objective
    assert result.dual_bound <= float(objective)
    assert result.objective - result.dual_bound <= 1e-3 * float(objective)


# --- features: Newton steps -----------------------------------------------------------------------


RAW = {
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: tuple(part[:400] for part in load_digits(return_X_y=True)),
    "shifted blobs": lambda: make_blobs(300, centers=3, center_box=(90, 110), random_state=0),
}


def binary(n_samples=120, n_features=7, *, scale=100.0, C=1.0, weighted=False):
    """A problem, and features of which one is large and all share a mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features)) + 3.0
    y = np.where(X @ rng.normal(size=n_features) + rng.normal(size=n_samples) > 0, 1, -1)
    X[:, 0] *= scale
    weight = rng.uniform(0.1, 3.0, n_samples) if weighted else None
    return make_problem(y, 1.0 / (C * n_samples), weight), X


def run_on(task, X, *, epochs=1):
    return finished_run(task, linear_rows(X, intercept_scaling=1.0), epochs=epochs)


def test_newton_steps_are_cut_short_by_a_block_around_the_run():
    run = run_on(*binary())
    with pytest.raises(CutShort), heeding(lambda: False):
        polish(run, tol=1e-6)


@pytest.mark.filterwarnings("error")
@each_pair(name=list(RAW), C=[0.01, 1.0, 100.0], intercept_scaling=[1.0, 1e3])
def test_raw_features_are_polished_to_a_certified_gap(name, C, intercept_scaling):
    """Single coordinates did not get there in 1,000 epochs."""
    X, y = RAW[name]()
    clf = LinearPegasosSVC(C=C, polish=True, tol=1e-2, epochs=1, random_state=0)
    clf.set_params(intercept_scaling=intercept_scaling).fit(X, y)
    assert np.max(clf.relative_gap_) <= 1e-2
    histories = clf.history_ if isinstance(clf.history_, list) else [clf.history_]
    assert max(history["epoch"][-1] for history in histories) < 60


@each_pair(
    shape=[(120, 7), (30, 60), (5, 3)],
    make=[np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)],
    weighted=[False, True],
)
def test_newton_optimum_is_that_of_single_coordinates(shape, make, weighted):
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


@each_form
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


def test_neither_dimension_small_has_no_factor(monkeypatch):
    monkeypatch.setattr(tuning, "MOST_COLUMNS", 5)
    task, X = binary(50)
    assert linear_rows(X).factor() is None
    assert polish(run_on(task, X[:, 1:]), tol=1e-2).status == "tolerance"


def test_polish_cut_short_keeps_what_newton_steps_reached():
    """More time gives no worse model."""
    task, X = binary(500)
    run = run_on(task, X)
    least, whole = run.result().objective, Countdown(10_000)
    best = polish(run, tol=1e-9, stopper=whole).objective
    asked = 10_000 - whole.questions
    for questions in (0, 1, 2, 3, 4, 6, 8, 10, 12, 14):
        result = polish(run_on(task, X), tol=1e-9, stopper=Countdown(questions))
        assert result.status == "max_time"
        assert result.objective <= least
        assert 0.0 <= result.dual_bound <= result.objective
        least = result.objective
    for share in (0.4, 0.6):
        result = polish(run_on(task, X), tol=1e-9, stopper=Countdown(int(share * asked)))
        assert result.status == "max_time"
        assert result.objective == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_newton_steps_end_below_rounding(C):
    task, X = binary(80, C=C)
    result = polish(run_on(task, X), tol=1e-17)
    assert result.status in ("completed", "tolerance")
    assert result.relative_gap < 1e-4


def test_newton_steps_go_on_while_both_objectives_fall():
    """To an optimum that is tiny, until rounding ends the steps above the gap wanted."""
    found = {}
    for n_samples, tol in ((2000, 1e-3), (60, 1e-6), (60, 1e-9)):
        X = np.random.default_rng(0).normal(size=(n_samples, 5))
        task = make_problem(X[:, 0] > 0.0, 1e-6 / n_samples)
        found[tol] = polish(run_on(task, X), tol=tol)
    assert found[1e-3].status == found[1e-6].status == "tolerance"
    assert found[1e-3].history["epoch"][-1] < 100
    assert found[1e-9].objective <= found[1e-6].objective * (1.0 + 1e-6)


@each_form
def test_systems_are_made_within_the_memory_of_features_in_work(form):
    """However few entries a sparse row has."""
    n_samples, n_features = 60_000, 200
    X = np.zeros((n_samples, n_features), np.float32)
    X[np.arange(n_samples), np.arange(n_samples) % n_features] = 1.0
    factor = linear_rows(form(X), intercept_scaling=1.0).factor()
    for weights in (np.ones(n_samples), np.arange(n_samples) % 3 == 0):
        tracemalloc.start()
        total = factor.gram(weights.astype(np.float64))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert_allclose(total[-1, -1], weights.sum())
        assert peak < 3 * tuning.GATHER_BYTES + 32 * n_samples + 32 * n_features**2


@each_form
def test_features_that_are_all_zero_are_polished(form):
    X, y = np.zeros((60, 5)), np.repeat([0, 1, 2], 20)
    assert linear_rows(form(X)).factor() is None
    clf = LinearPegasosSVC(polish=True, fit_intercept=False, random_state=0)
    for classes in (y > 0, y):
        assert not clf.fit(form(X), classes).coef_.any()
    X[40:] = 1.0  # of two classes alone
    assert np.max(clf.fit(form(X), y).relative_gap_) <= 1e-2
