"""What reviewers found, each by public behaviour alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from metamorphic_cases import grid_blobs, true_objectives
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from kpegasos import (
    RBF,
    LinearPegasosSVC,
    PegasosSVC,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.kernels.base import InnerProductKernel

X, Y = grid_blobs(2)
START = {"epochs": 5, "random_state": 0}


def one_sentence(*words):
    """A message of one line that has one of the words, for ``match``."""
    return rf"\A[^\n]*({'|'.join(words)})[^\n]*\Z"


# --- kernel values and decisions that are not numbers ---------------------------------------------


class Root(InnerProductKernel):
    """``√⟨a, b⟩``: not a number where the product is negative."""

    positive_definite = True

    def from_inner_products(self, products, norms_a, norms_b):
        with np.errstate(invalid="ignore"):
            np.sqrt(products, out=products)

    def diag(self, A):
        return np.sqrt((A.astype(np.float64) ** 2).sum(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_kernel_of_inner_products_must_return_finite_values(cache, dtype):
    with pytest.raises(ValueError, match="finite"):
        PegasosSVC(kernel=Root(), cache=cache, **START).fit(X.astype(dtype), Y)
    # One value alone is enough, and none is none.
    positive = np.abs(X).astype(dtype) + 1
    PegasosSVC(kernel=Root(), cache=cache, **START).fit(positive, Y)
    positive[7] *= -1
    with pytest.raises(ValueError, match="finite"):
        PegasosSVC(kernel=Root(), cache=cache, **START).fit(positive, Y)


@pytest.mark.parametrize("ask", ["predict", "decision_function"])
@pytest.mark.parametrize("n_rows", [1, 100])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_that_are_not_numbers_are_an_error(ask, n_rows, n_classes):
    A, y = grid_blobs(n_classes)
    clf = PegasosSVC(kernel="poly", **START).fit(A.astype(np.float32), y)
    far = np.resize(np.float32([1e30, -1e30, 1e30]), (n_rows, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match=one_sentence("X", "decision", "finite")):
            getattr(clf, ask)(far)


# --- parameters -----------------------------------------------------------------------------------


def test_misspelt_parameters_of_a_kernel_are_refused():
    for build in (
        lambda: make_rows(X, "rbf", gama=50.0),
        lambda: make_rows(X, RBF(1.0), gamma=50.0),
        lambda: make_kernel("rbf", gama=50.0),
        lambda: make_kernel(RBF(1.0), gamma=50.0),
    ):
        with pytest.raises(TypeError, match=r"gam+a"):
            build()
    assert make_kernel("rbf", gamma=2.0) == RBF(2.0)


@pytest.mark.parametrize("seed", range(5))
def test_early_stopping_where_few_examples_count(seed):
    """Works, or is refused in the words of the parameters; never dies of a score."""
    weight = np.zeros(Y.size)
    weight[:4] = 1.0
    clf = LinearPegasosSVC(early_stopping=True, epochs=5, random_state=seed)
    try:
        clf.fit(X, Y, weight)
    except ValueError as error:
        assert "sample_weight" in str(error)  # noqa: PT017
        assert "early_stopping" in str(error) or "validation" in str(error)  # noqa: PT017
        assert not hasattr(clf, "coef_")
    else:
        assert np.isfinite(clf.validation_scores_).all()


# --- polish ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled_polish():
    for dtype in (np.float32, np.float64):
        PegasosSVC(C=100.0, polish=True, tol=0.05, **START).fit(X.astype(dtype), Y)


@pytest.mark.usefixtures("compiled_polish")
@pytest.mark.parametrize(
    ("C", "tol", "dtype"),
    [(0.01, 1e-17, "float64"), (100.0, 1e-15, "float64"), (0.01, 1e-17, "float32")],
)
def test_polish_ends_where_rounding_leaves_nothing_to_gain(C, tol, dtype):
    A, y = make_moons(80, noise=0.3, random_state=1)
    clf = PegasosSVC(C=C, gamma=2.0, polish=True, tol=tol, max_time=300.0, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(A.astype(dtype), y)
    messages = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert not any("max_time" in message for message in messages)
    assert clf.relative_gap_ <= tol or any("did not reach tol" in m for m in messages)
    assert clf.relative_gap_ < 1e-4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.usefixtures("compiled_polish")
@pytest.mark.parametrize("cache", ["auto", "cached"])
def test_polish_that_is_cut_short_keeps_the_best_model(cache):
    A, y = make_moons(1500, noise=0.25, random_state=0)
    options = {"C": 1e4, "gamma": 2.0, "random_state": 0, "epochs": 5, "cache": cache}
    clf = PegasosSVC(polish=True, tol=1e-9, max_time=0.2, **options).fit(A, y)
    assert clf.relative_gap_ > 1e-9, "the fit is cut short"
    # The last look sums the margins anew, and dual coefficients are as large as C.
    rounding = 100 * np.finfo(float).eps * options["C"]
    assert clf.objective_ <= clf.history_["objective_average"].min() * (1 + rounding)
    assert clf.objective_ == pytest.approx(true_objectives(clf, A, y)[0], rel=1e-6)


# --- chunks and rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["cached", "streamed"])
def test_rows_used_within_a_monitor_count_the_values_of_either_run(cache):
    A, y = make_moons(1200, noise=0.2, random_state=0)
    problem = make_problem(2 * y - 1, 1e-3)
    rows = make_rows(A, "rbf", gamma=2.0, cache=cache)
    inner = []

    def monitor(run):
        if not inner:
            inner.append(pegasos(problem, rows, epochs=2, random_state=1))

    outer = pegasos(problem, rows, epochs=3, random_state=0, monitor=monitor)
    of_runs = [run.history["kernel_evaluations"][-1] for run in (outer, *inner)]
    assert min(of_runs) > 0
    assert sum(of_runs) == rows.evaluations


def test_rows_used_again_within_the_first_epoch_are_not_computed_again():
    A, y = make_moons(1200, noise=0.2, random_state=0)
    problem = make_problem(2 * y - 1, 1e-3)
    rows = make_rows(A, "rbf", gamma=2.0, cache="cached")
    first = pegasos(problem, rows, epochs=3, random_state=0)
    once = rows.evaluations
    again = pegasos(problem, rows, epochs=3, random_state=0)
    assert_array_equal(again.alpha, first.alpha)
    assert rows.evaluations - once <= once
    assert again.history["kernel_evaluations"][-1] == rows.evaluations - once
