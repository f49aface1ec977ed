"""Objectives are the model's own, and lower bounds lie below the optimum, on any small problem."""

from __future__ import annotations

import numpy as np
import pytest
from metamorphic_cases import (
    ROUNDING,
    Case,
    grid_blobs,
    interval,
    objective,
    pair_problems,
    reference_coef,
    rounding_error,
)
from sklearn.datasets import make_blobs

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.kernels.functions import scale_gamma

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_certified(clf, X, y, weight=None, dtype="float64"):
    """What the fit says of itself is true of its coefficients and of the problem."""
    problems = pair_problems(clf, X, y, weight)
    for problem, low, high in zip(problems, *interval(clf), strict=True):
        error = rounding_error(problem, dtype)
        assert high == pytest.approx(objective(problem), rel=0, abs=error)
        # Any objective that can be reached is an upper bound of the optimum; this one is close.
        assert low <= objective(problem, reference_coef(problem)) + error


def test_oracle_finds_the_optimum_of_two_points():
    """At ±1 on a line, without intercept: w = min(1, 1/λ)."""
    X, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    for lam, w in ((0.25, 1.0), (2.0, 0.5)):
        clf = PegasosSVC(kernel="linear", lam=lam, fit_intercept=False, random_state=0).fit(X, y)
        (problem,) = pair_problems(clf, X, y)
        expected = 0.5 * lam * w**2 + max(0.0, 1.0 - w)
        assert objective(problem, reference_coef(problem)) == pytest.approx(expected, rel=1e-9)


def random_problem(seed):
    """A case, its examples with their weights, and parameters."""
    rng = np.random.default_rng(seed)

    def draw(values):
        return values[rng.integers(len(values))]

    case = Case(
        draw(["rbf", "laplacian", "poly", "linear"]),
        draw(list(ROUNDING)),
        draw(["dense", "csr"]),
        draw([2, 3]),
    )
    case = case._replace(primal=case.kernel == "linear" and draw([True, False]))
    X, y = grid_blobs(case.n_classes, int(rng.integers(12, 61)))
    X = X + np.round(64 * rng.normal(size=X.shape)) / 64
    if case.kernel in ("rbf", "laplacian"):
        X += draw([0.0, 3000.0]) * rng.integers(2, size=(y.size, 1))
    weight = None
    if draw([True, False]):
        weight = rng.choice([0.0, 0.5, 1.0, 7.0], size=y.size, p=[0.1, 0.3, 0.3, 0.3])
        weight[: 2 * case.n_classes] = 1.0
    parameters = {
        "C": 10.0 ** draw(range(-3, 5)),
        "epochs": draw([1, 5, 20]),
        "polish": draw([True, False]),
        "projection": draw([True, False]),
        "average": draw(["weighted", "suffix", "uniform", None]),
        "fit_intercept": draw([True, False]),
        "max_time": 0.3,
    }
    if not case.primal:
        parameters["cache"] = draw(["precomputed", "cached", "streamed"])
    return case, X, y, weight, parameters


@pytest.mark.parametrize("seed", range(50))
def test_certificate_is_true_of_any_small_problem(seed):
    case, X, y, weight, parameters = random_problem(seed)
    clf = case.fit(X, y, weight, **parameters)
    assert_certified(clf, X, y, weight, case.dtype)


# --- problems that were hard ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", list(ROUNDING))
def test_intercept_scaling_beside_whose_square_margins_lose_their_digits_is_refused(dtype):
    case = Case("rbf", dtype, "dense", 2)
    with pytest.raises(ValueError, match=r"intercept_scaling must be at most .* for lam=0\.0011"):
        case.fit(*case.data(), intercept_scaling=1e8, C=10.0)


@pytest.mark.parametrize("estimator", [PegasosSVC, LinearPegasosSVC])
def test_float32_rows_of_a_large_c_are_polished(estimator):
    """A linear kernel is positive semi-definite, whatever rounding does to its values."""
    X, y = make_blobs(40, n_features=3, centers=2, cluster_std=3.0, random_state=0)
    X = X.astype(np.float32)
    kernel = {"kernel": "linear"} if estimator is PegasosSVC else {}
    clf = estimator(C=1e4, polish=True, max_time=2.0, random_state=0, **kernel).fit(X, y)
    assert_certified(clf, X, y, dtype="float32")


def test_certificate_of_tiny_features():
    """With ``gamma="scale"`` they make a gamma that is as large as they are small."""
    X, y = grid_blobs(2)
    X = (1e-20 * X).astype(np.float32)
    clf = PegasosSVC(C=2.0, epochs=5, random_state=0).fit(X, y)
    clf.gamma = scale_gamma("scale", X)
    assert_certified(clf, X, y, dtype="float32")
