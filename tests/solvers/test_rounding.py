"""Rounding is part of the certificate: float32 rows against float64 optima of the same numbers."""

import naive_losses
import numpy as np
import pytest
from kernel_cases import exact
from sklearn.datasets import make_blobs, make_moons

from kpegasos import RBF, PegasosSVC, make_problem, make_rows, pegasos, sdca
from kpegasos.core.state import CLOCK
from kpegasos.core.steps import Constant
from kpegasos.kernels.base import CallableKernel
from kpegasos.kernels.exact import exact_products
from kpegasos.rows.gram import GramRows
from kpegasos.utils.patience import CutShort, heeding

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_blobs(120, n_features=6, centers=2, cluster_std=6.0, random_state=0)
X32 = X.astype(np.float32)
SIGNS = 2.0 * Y - 1.0

# --- who is blamed --------------------------------------------------------------------------------


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
    problem = make_problem(SIGNS, C=1e3)
    task = "Hinge", exact(RBF(0.02), X32).astype(float), SIGNS, problem.lam
    best = naive_losses.objective(*task, naive_losses.solution(*task)[1])
    result = pegasos(problem, make_rows(X32, "rbf", gamma=0.02), epochs=50, random_state=0)
    history = result.history
    assert (history["rounding"][:-1] > 0).all()
    assert history["rounding"][-1] == 0
    assert (history["dual_bound"] <= best).all()
    assert (np.diff(history["dual_bound"]) >= 0).all()
    certified = history["objective_average"] - history["gap"] - history["rounding"]
    assert (certified <= best).all()
    assert result.gap == history["gap"][-1]


@pytest.mark.parametrize("step", [None, Constant(1e-3)])
def test_largest_clock_bounds_that_of_a_run(step):
    """Short steps make the scale grow, and so the stamps, whose rounding the bound stands for."""
    rows = make_rows(X32, "rbf", gamma=0.02)
    state = pegasos(make_problem(SIGNS, 1e-4), rows, n_steps=500, step=step, random_state=0).state
    assert state.iterates()[-1].largest_clock >= state.loop.scalars[CLOCK]


def test_last_look_can_be_cut_short():
    """Who waits is asked before each block."""
    problem = make_problem(SIGNS, 1e-4)
    rows = make_rows(X32, "rbf", gamma=0.02)
    coef = np.ones(Y.size)
    state = pegasos(problem, rows, epochs=2, average=None, random_state=0).state
    (evaluated,) = rows.evaluate(state.iterates(), state.loop, problem.examples)
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
