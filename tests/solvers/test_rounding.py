"""Rounding is part of the certificate: float32 rows against float64 optima of the same numbers."""

from functools import cache

import naive_losses
import numpy as np
import pytest
from covering import each_pair
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from solver_cases import finished_run

from kpegasos import PegasosSVC, linear_rows, losses, make_problem, make_rows, pegasos, sdca
from kpegasos.kernels.base import CallableKernel
from kpegasos.kernels.exact import exact_products
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.polish import polish
from kpegasos.utils.patience import CutShort, heeding

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_blobs(120, n_features=6, centers=2, cluster_std=6.0, random_state=0)
X32 = X.astype(np.float32)
SIGNS = 2.0 * Y - 1.0
KERNELS = {"rbf": {"gamma": 0.02}, "linear": {}, "poly": {"gamma": 0.1, "degree": 3, "coef0": 1.0}}


def exact_gram(kernel, rows):
    """Values of the formula on the given numbers."""
    wide = rows.astype(np.longdouble)
    if kernel == "rbf":
        distances = ((wide[:, None] - wide) ** 2).sum(axis=2)
        return np.exp(-np.longdouble(KERNELS["rbf"]["gamma"]) * distances)
    gram = wide @ wide.T
    if kernel == "poly":
        gram = (np.longdouble(0.1) * gram + 1) ** 3
    return gram


def true_objective(result, kernel, problem):
    coef = result.coef
    margins = exact_gram(kernel, X32).astype(np.float64) @ coef
    hinge = np.maximum(0.0, 1.0 - problem.y * margins)
    return 0.5 * problem.lam * (coef @ margins) + (problem.weight * hinge).mean()


@cache
def optimum(kernel, C):
    """An objective that can be reached, of the formula's values on the given numbers."""
    problem = make_problem(SIGNS, C=C)
    run = finished_run(problem, GramRows(exact_gram(kernel, X32).astype(np.float64)), epochs=5)
    return true_objective(polish(run, tol=1e-9), kernel, problem)


# --- certificates ---------------------------------------------------------------------------------


@each_pair(
    kernel=[*KERNELS, "features"],
    as_rows=[np.asarray, sparse.csr_array],
    C=[1.0, 1e4],
    polished=[False, True],
)
def test_float32_certificate_holds_for_the_formula(kernel, as_rows, C, polished):
    """What float32 makes of the kernel has another optimum, which used to be told."""
    problem = make_problem(SIGNS, C=C)
    if kernel == "features":
        kernel, rows = "linear", linear_rows(as_rows(X32))
    else:
        rows = make_rows(as_rows(X32), kernel, **KERNELS[kernel])
    if polished:
        result = polish(finished_run(problem, rows, epochs=5), tol=1e-6, max_epochs=300)
    else:
        result = sdca(problem, rows, tol=1e-6, max_epochs=300, random_state=0)
    truth = true_objective(result, kernel, problem)
    assert abs(result.objective - truth) <= max(result.gap, 1e-9 * truth)
    assert result.dual_bound <= optimum(kernel, C) * (1 + 1e-12)
    assert truth - result.dual_bound <= result.gap * (1 + 1e-9)


@each_pair(
    loss=[losses.EpsilonInsensitive(1.0), losses.SquaredEpsilonInsensitive(1.0), losses.Huber()],
    targets=["near epsilon", "small beside an offset", "large"],
    kernel=["rbf", "features"],
    free=[False, True],
)
def test_certificate_of_a_regression_has_the_rounding_of_its_targets(loss, targets, kernel, free):
    """A target less a decision less epsilon leaves the last digits of the target."""
    rng, offset = np.random.default_rng(0), 0.0
    points, y = X[:9] / 10.0, 1.0 + 1e-5 * rng.normal(size=9)
    if targets == "small beside an offset":
        offset = 1e9
    elif targets == "large":
        y = 1e5 * rng.normal(size=9)
    problem = make_problem(y, C=3e3, loss=loss, free_intercept=free)._replace(offset=offset)
    if kernel == "rbf":
        rows = make_rows(points, "rbf", gamma=0.02, intercept_scaling=1.0)
    else:
        rows = linear_rows(points, intercept_scaling=1.0)
    result = polish(finished_run(problem, rows, epochs=5), tol=1e-9, max_epochs=300)
    if kernel == "rbf":
        coef = result.coef.astype(np.longdouble)
        f, constant = exact_gram("rbf", points) @ coef, coef.sum()
        norm = coef @ f
    else:
        w, constant = result.w.astype(np.longdouble), np.longdouble(result.intercept)
        f, norm = points @ w, w @ w
    norm += 0 if free else constant**2
    found = np.longdouble(result.intercept + offset) - offset
    book = naive_losses.LOSSES[type(loss).__name__]
    own = problem.lam / 2 * norm + book(f + found, y.astype(np.longdouble), **loss._asdict()).mean()
    assert own - result.dual_bound <= result.gap * (1 + 1e-9)
    assert abs(own - result.objective) <= result.gap * (1 + 1e-9)


def test_gap_of_just_the_tolerance_is_settled(monkeypatch):
    problem = make_problem(SIGNS, 1.0 / (1e3 * Y.size))
    run = finished_run(problem, make_rows(X32, "rbf", gamma=0.02), epochs=5)
    certifier, evaluation, settled = run._certifier, run.evaluate()[1], []
    gaps = certifier.gaps(evaluation)
    assert gaps.proven > gaps.computed > 0.0
    monkeypatch.setattr(certifier, "_settle", lambda each: settled.append(each) or each)
    certifier.reaches(evaluation, gaps.computed / evaluation.objective)
    assert settled


# --- who is blamed --------------------------------------------------------------------------------


@each_pair(seed=[0, 1], kernel=list(KERNELS))
def test_definite_kernel_is_not_blamed_for_float32(kernel, seed):
    """A matrix of rank one or two, large C: rounding makes eigenvalues negative."""
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(60, 2)) + 3.0).astype(np.float32)
    y = rng.integers(2, size=60)
    y[:2] = 0, 1
    clf = PegasosSVC(kernel=kernel, C=1e6, polish=True, max_time=1.0, random_state=0)
    clf.set_params(**KERNELS[kernel]).fit(rows, y)
    assert clf.duality_gap_ >= 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_given_matrix_is_not_blamed_for_its_type(dtype):
    gram = (X32 @ X32.T).astype(dtype)
    result = sdca(
        make_problem(SIGNS, 1e-6), GramRows((gram + gram.T) / 2), max_time=1.0, random_state=0
    )
    assert result.gap >= 0


@pytest.mark.parametrize(
    "indefinite", [lambda K: np.tanh(0.5 * K - 1.0), lambda K: -K, lambda K: K - 300.0]
)
def test_indefinite_matrix_is_still_found(indefinite):
    """A negative squared norm, or a dual value above the primal, is no gap of zero."""
    gram = indefinite(X32 @ X32.T)
    problem = make_problem(SIGNS, 1e-4)
    with pytest.raises(ValueError, match="positive semi-definite"):
        sdca(problem, GramRows(gram), max_epochs=50, random_state=0)
    assert np.isnan(pegasos(problem, GramRows(gram), epochs=20, random_state=0).gap)


@pytest.mark.parametrize("cache", ["precomputed", "cached"])
def test_kernel_with_a_negative_diagonal_is_not_believed(cache):
    """The constant feature hides it: all values are zero beside it, and nothing is contradicted."""
    nowhere = CallableKernel(lambda A, B: -np.ones((len(A), len(B))))
    problem = make_problem(SIGNS, 1e-2)
    rows = make_rows(X, nowhere, cache=cache, intercept_scaling=1.0)
    assert np.isnan(pegasos(problem, rows, epochs=2, random_state=0).gap)
    with pytest.raises(ValueError, match="positive semi-definite"):
        sdca(problem, rows)
    model = PegasosSVC(kernel="precomputed").fit(-np.ones((Y.size, Y.size)), Y)
    assert np.isnan(model.duality_gap_)


# --- bounds and records ---------------------------------------------------------------------------


def test_records_say_what_rounding_may_add():
    problem, best = make_problem(SIGNS, C=1e3), optimum("rbf", 1e3)
    result = pegasos(problem, make_rows(X32, "rbf", gamma=0.02), epochs=50, random_state=0)
    history = result.history
    assert (history["rounding"][:-1] > 0).all()
    assert history["rounding"][-1] == 0
    assert (history["dual_bound"] <= best).all()
    assert (np.diff(history["dual_bound"]) >= 0).all()
    certified = history["objective_average"] - history["gap"] - history["rounding"]
    assert (certified <= best).all()
    assert result.gap == history["gap"][-1]


def test_last_look_can_be_cut_short():
    """Who waits is asked before each block."""
    problem = make_problem(SIGNS, 1e-4)
    rows = make_rows(X32, "rbf", gamma=0.02)
    coef = np.ones(Y.size)
    state = pegasos(problem, rows, epochs=2, average=None, random_state=0).state
    (evaluated,) = rows.evaluate([state.iterate(None)], state.loop, problem.examples)
    with heeding(lambda: False):
        with pytest.raises(CutShort):
            rows.settle(evaluated, problem.examples)
        with pytest.raises(CutShort):
            exact_products(rows.exact, coef, coef > 0, 1.0)


def test_usual_float64_fits_need_no_second_look():
    moons, labels = make_moons(200, noise=0.2, random_state=0)
    clf = PegasosSVC(gamma=2.0, C=10.0, random_state=0).fit(moons, labels)
    assert clf.history_["kernel_evaluations"][-1] == 200**2
    assert (clf.history_["rounding"] < 1e-7 * clf.objective_).all()
