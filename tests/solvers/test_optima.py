"""The optimum is that of scikit-learn's solvers, where both solve the same problem."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC, LinearSVC
from solver_cases import noisy

from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.core.averaging import AVERAGES


@pytest.mark.parametrize("B", [1.0, 0.5, 10.0])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_linear_optimum_is_that_of_linear_svc(B, C):
    """LinearSVC penalises its bias as we do: lam = 1 / (C m), the same constant feature."""
    X, y = noisy()
    lam = 1 / (C * y.size)
    svc = LinearSVC(
        C=C, loss="hinge", intercept_scaling=B, tol=1e-9, max_iter=10**6, random_state=0
    ).fit(X, y)
    w = [*svc.coef_[0], svc.intercept_[0] / B]
    theirs = naive.linear_primal(w, X, y, lam, intercept_scaling=B)
    task, rows = make_problem(y, lam), linear_rows(X, intercept_scaling=B)
    best = sdca(task, rows, tol=1e-7, max_epochs=20_000, random_state=0)
    assert_allclose(best.objective, theirs, rtol=1e-6)
    assert best.dual_bound <= theirs * (1 + 1e-12)
    for average in AVERAGES:
        ours = pegasos(task, rows, epochs=60, average=average, random_state=0)
        assert ours.objective - theirs <= ours.gap + 1e-12
        assert ours.objective >= best.dual_bound - 1e-12
    weighted = pegasos(task, rows, epochs=300, random_state=0)
    assert weighted.objective - theirs < 0.05 * theirs


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_kernel_optimum_is_that_of_svc(kernel, C):
    """SVC has a bias that costs nothing, and we none.

    On a set with -x labelled -y for every x labelled y, and an odd kernel expansion, f and -f(-·)
    have the same objective. So by convexity an optimum with bias is odd, hence has bias 0, and is
    the optimum without.
    """
    X, y = noisy(60)
    X, y = np.concatenate([X, -X]), np.concatenate([y, -y])
    parameters = {"linear": {}, "rbf": {"gamma": 0.5}, "poly": {"gamma": 1.0, "degree": 3}}[kernel]
    K = naive.gram(X, X, kernel, **parameters)
    svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    coef = np.zeros(y.size)
    coef[svc.support_] = svc.dual_coef_[0]
    task = make_problem(y, 1 / (C * y.size))
    theirs = naive.primal(coef, K, y, task.lam)
    rows = make_rows(X, kernel, **parameters)
    best = sdca(task, rows, tol=1e-6, max_epochs=20_000, random_state=0)
    assert best.status == "tolerance"
    assert_allclose(best.objective, theirs, rtol=1e-5)
    for average in AVERAGES:
        ours = pegasos(task, rows, epochs=30, average=average, random_state=0)
        assert ours.objective - theirs <= ours.gap + 1e-9
        assert ours.dual_bound <= theirs + 1e-9
