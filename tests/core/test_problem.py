"""Problems of any two labels; objective, dual and the certificate between them."""

import naive
import numpy as np
import pandas as pd
import pytest
from covering import each_pair
from kernel_cases import exact
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import LabelEncoder
from solver_cases import DATA, M

from kpegasos import RBF, make_problem
from kpegasos.core.certificate import dual_bounds, limits_of
from kpegasos.core.problem import mean_loss, primal

pytestmark = pytest.mark.pure_python

K = exact(RBF(0.25), DATA.X).astype(float)


# --- values -------------------------------------------------------------------------------------


@each_pair(weighted=[False, True], offset=[0.0, 2.25], seed=range(5))
def test_primal_and_dual_bound_by_the_book(weighted, offset, seed):
    """The bound is the dual value of the best feasible multiple of β."""
    rng = np.random.default_rng(seed)
    problem = make_problem(
        DATA.y, float(rng.choice([1e-3, 0.1, 4.0])), DATA.weight if weighted else None
    )
    coef = rng.exponential(size=M) * (rng.random(M) < 0.6)
    signed = coef * problem.weight * DATA.y
    margins = (K + offset) @ signed
    norm = signed @ margins
    data = (DATA.y, problem.lam, DATA.omega if weighted else None)
    expected = naive.primal(signed, K, *data, offset=offset)
    assert_allclose(primal(margins, norm, problem), expected, rtol=1e-12)
    assert_allclose(mean_loss(margins, problem), primal(margins, 0.0, problem), rtol=1e-15)
    beta = problem.lam * M * coef
    # A parabola through zero, its value half of the way to the end of the box, and that at the end.
    half, whole = (
        naive.dual(share * beta / beta.max(), K, *data, offset=offset) for share in (0.5, 1.0)
    )
    slope, curvature = 4 * half - whole, 4 * half - 2 * whole
    share = min(1.0, slope / (2 * curvature))
    expected = share * slope - share**2 * curvature
    known = problem.examples, limits_of(problem.loss)
    assert_allclose(dual_bounds(*known, coef, norm, 0.0, problem.lam)[0], expected, rtol=1e-9)
    # It is never negative.
    assert dual_bounds(*known, np.zeros(M), 0.0, 0.0, problem.lam)[0] == 0.0
    assert dual_bounds(*known, np.full(M, 1e6), 1e30, 0.0, problem.lam)[0] >= 0.0


# --- labels of two classes, and C -----------------------------------------------------------------

SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
BOTH = {
    "signs": [1, -1, -1, 1],
    "unsigned": np.array([7, 3, 3, 7], np.uint8),
    "negative": [-1, -5, -5, -1],
    "booleans": [True, False, False, True],
    "bytes": [b"y", b"n", b"n", b"y"],
    "objects": np.array(["spam", "ham", "ham", "spam"], object),
    "numbers as objects": np.array([2, 1.0, 1, 2], object),
    "nullable": pd.Series([True, False, False, True], dtype="boolean"),
    "categories": pd.Series(["b", "a", "a", "b"], dtype="category"),
}


@pytest.mark.parametrize("kind", BOTH)
def test_problem_has_signs_for_any_two_labels(kind):
    """Classes are sorted as scikit-learn sorts them."""
    problem, labels = make_problem(BOTH[kind], 0.5), np.asarray(BOTH[kind])
    if kind == "numbers as objects":
        labels = labels.astype(float)
    assert problem.y.dtype == np.float64
    assert_array_equal(problem.y, SIGNS)
    assert_array_equal(problem.classes, LabelEncoder().fit(labels).classes_)
    assert_array_equal(problem.examples.label, SIGNS)


def test_problem_of_one_sign_keeps_it():
    for sign in (1, -1, 1.0, -1.0):
        problem = make_problem([sign] * 3, 1.0)
        assert_array_equal(problem.y, np.full(3, float(sign)))
        assert_array_equal(problem.classes, [-1, 1])


def test_problem_of_c_is_that_of_svc():
    assert make_problem(SIGNS, C=0.5).lam == 1 / (0.5 * 4)
    weighted = make_problem(SIGNS, sample_weight=[1, 2, 3, 4], C=0.5)
    assert weighted.lam == 1 / (0.5 * 10)
    assert_array_equal(weighted.weight, [0.4, 0.8, 1.2, 1.6])
