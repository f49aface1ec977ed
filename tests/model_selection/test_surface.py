"""The cells of a search against fits by themselves and optima, for any budget and threads."""

import time
import weakref
from functools import cache

import naive
import numpy as np
import pytest
from covering import each_pair
from kernel_cases import exact
from row_cases import SLACK_MB, large_data, peak_mb
from scipy import sparse
from sklearn.datasets import make_blobs

from kpegasos import RBF, Laplacian, Linear, PegasosSVC, Polynomial
from kpegasos.kernels.base import CallableKernel
from kpegasos.model_selection import cells
from kpegasos.model_selection.cells import Surface
from kpegasos.model_selection.grid import Folds
from kpegasos.model_selection.results import KernelOutcome
from kpegasos.rows.budget import ACCOUNT
from kpegasos.rows.choose import choose_source
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from kpegasos.utils.threads import at_work

CS = (0.3, 3.0)


def classes(n_classes, n_samples=150):
    """Examples of classes that overlap, in no order of the classes; labels are their numbers."""
    return make_blobs(
        n_samples, centers=n_classes, n_features=3, cluster_std=3.5, random_state=n_classes
    )


def uneven_folds(labels, n_folds=3, *, seed=0, tested=0.3, unused=0.2):
    """Weights and class weights of each fold's own, tests that overlap, and examples in neither."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, (n_folds, labels.size))
    weights *= rng.uniform(0.5, 2.0, (n_folds, labels.max() + 1))[:, labels]
    weights[:, rng.random(labels.size) < unused] = 0.0
    tests = [np.flatnonzero(rng.random(labels.size) < tested) for _ in range(n_folds)]
    for weight, test in zip(weights, tests, strict=True):
        weight[test] = 0.0
    return Folds(weights, tests)


def searched(X, labels, folds, kernels, Cs=CS, n_jobs=1, **changed):
    """The outcome of each kernel, by its number."""
    outcomes = {}

    def on_kernel(outcome):
        assert outcome.kernel not in outcomes
        outcomes[outcome.kernel] = outcome

    settings = {
        "tol": 1e-6,
        "intercept_scaling": 1.0,
        "cache_mb": "auto",
        "row_dtype": "float64",
        "stopper": Stopper(),
        "on_kernel": on_kernel,
    }
    with at_work(n_jobs):
        Surface(X, labels, folds, kernels, np.array(Cs), **{**settings, **changed}).solve()
    return outcomes


def single_decisions(X, labels, folds, fold, kernel, C):
    """Decisions of the model of one cell by itself, of shape (n_test, n_pairs)."""
    train, test = np.flatnonzero(folds.weights[fold]), folds.tests[fold]
    columns = train if kernel is None else slice(None)
    model = PegasosSVC(
        C,
        kernel="precomputed" if kernel is None else kernel,
        polish=True,
        tol=1e-6,
        row_dtype="float64",
        decision_function_shape="ovo",
        random_state=0,
    )
    model.fit(X[train][:, columns], labels[train], folds.weights[fold, train])
    return model.decision_function(X[test][:, columns]).reshape(test.size, -1)


def largest_difference(one, other):
    """Between the decisions of the same kernels, relative to the largest decision."""
    assert one.keys() == other.keys()
    differences = [
        np.abs(a - b).max() / np.abs(b).max()
        for number in one
        for a, b in zip(one[number].decisions, other[number].decisions, strict=True)
    ]
    return max(differences)


KERNELS = {
    "rbf": [RBF(0.05), RBF(0.5)],
    "laplacian": [Laplacian(0.1), Laplacian(0.5)],
    "poly": [Polynomial(0.05, 2, 1.0), Polynomial(0.05, 3, 0.5)],
    "linear": [Linear()],
    "callable": [CallableKernel(lambda A, B: 1.0 / (1.0 + 0.1 * ((A[:, None] - B) ** 2).sum(2)))],
}


def assert_cells_are_single_fits(X, labels, folds, kernels, **changed):
    """Decisions of both, whose gaps are 1e-6 at most, differ by far less than these would allow."""
    outcomes = searched(X, labels, folds, kernels, tol=1e-6, **changed)
    assert sorted(outcomes) == list(range(len(kernels)))
    for number, kernel in enumerate(kernels):
        outcome = outcomes[number]
        assert outcome.done.all()
        assert np.all(outcome.relative_gaps <= 1e-6)
        assert np.all(outcome.n_support > 0)
        for fold in range(len(folds.tests)):
            for C, decisions in zip(CS, outcome.decisions[fold], strict=True):
                expected = single_decisions(X, labels, folds, fold, kernel, C)
                most = 1e-3 * np.abs(expected).max()
                np.testing.assert_allclose(decisions, expected, atol=most, rtol=0)


@pytest.mark.parametrize(("n_classes", "dtype"), [(2, np.float64), (4, np.float32)])
@pytest.mark.parametrize("kernels", KERNELS)
def test_cells_are_single_fits(kernels, n_classes, dtype):
    X, labels = classes(n_classes)
    assert_cells_are_single_fits(X.astype(dtype), labels, uneven_folds(labels), KERNELS[kernels])


@each_pair(kernels=["rbf", "laplacian", "poly"], n_classes=[2, 3], cache_mb=["auto", 0.12])
def test_cells_of_sparse_rows_are_single_fits(kernels, n_classes, cache_mb):
    X, labels = classes(n_classes)
    rows = sparse.csr_matrix(np.where(np.abs(X) < 2.0, 0.0, X))
    folds = uneven_folds(labels)
    assert_cells_are_single_fits(rows, labels, folds, KERNELS[kernels], cache_mb=cache_mb)


def test_examples_in_no_fold_change_nothing():
    X, labels = classes(3)
    folds = uneven_folds(labels, unused=0.4)
    absent = ~folds.weights.any(axis=0)
    absent[np.concatenate(folds.tests)] = False
    assert np.count_nonzero(absent) > 10
    moved = X.copy()
    moved[absent] = 1e6
    one, other = (searched(rows, labels, folds, [Laplacian(0.1)]) for rows in (X, moved))
    for a, b in zip(one[0].decisions, other[0].decisions, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("tol", "row_dtype"), [(0.1, "float32"), (1e-2, "float64"), (1e-4, "float32")]
)
def test_gaps_are_true(tol, row_dtype):
    """The objective of a cell is made of its decisions, and held against the optimum.

    Each example is there twice: once to train on, and once to be tested on, which gives the
    decisions of the training part. ``w`` is in the span of these, so ‖w‖² is f K⁻¹ f.
    """
    X, labels = classes(2, 36)
    n_samples, B = labels.size, 1.0
    kernel = Laplacian(0.5)  # well conditioned
    weight = np.random.default_rng(2).uniform(0.5, 2.0, n_samples)
    folds = Folds(
        np.array([np.append(weight, np.zeros(n_samples))]), [np.arange(n_samples) + n_samples]
    )
    Cs = (0.05, 0.5, 5.0)
    found = searched(
        np.vstack((X, X)), np.tile(labels, 2), folds, [kernel], Cs, tol=tol, row_dtype=row_dtype
    )
    gram = exact(kernel, X).astype(float)
    y, omega = 2 * labels - 1, weight / weight.mean()
    gaps, decisions = found[0].relative_gaps[0], found[0].decisions[0][:, :, 0]
    assert np.all(gaps <= tol)
    worst, slack = 0.0, 1e-6 if row_dtype == "float32" else 1e-9  # rounding of the decisions
    for C, gap, f in zip(Cs, gaps, decisions, strict=True):
        lam = 1.0 / (C * weight.sum())
        norm = float(f @ np.linalg.solve(gram + B**2, f))
        hinge = float(omega @ np.maximum(0.0, 1.0 - y * f)) / n_samples
        objective = 0.5 * lam * norm + hinge
        optimum, _ = naive.optimum(gram, y, lam, omega, offset=B**2)
        suboptimality = (objective - optimum) / objective
        assert -slack <= suboptimality <= gap + slack
        worst = max(worst, suboptimality)
    assert worst > 1e-3 * tol  # cells are not solved further than they are asked to be


N_SAMPLES = 240
SEVERAL = [RBF(0.05), RBF(0.5), Laplacian(0.1), Polynomial(0.05, 2, 1.0)]
WHOLE_MB = N_SAMPLES**2 * 8 / tuning.MEBIBYTE
#: MiB for products and a matrix with its part for a pair, for a matrix, and for some of its rows.
BUDGETS = {"shared": 2.5 * WHOLE_MB, "whole": 1.9 * WHOLE_MB, "rows": 0.4 * WHOLE_MB}


@cache
def problem(n_classes):
    X, labels = classes(n_classes, N_SAMPLES)
    return X, labels, uneven_folds(labels, unused=0.0)


@cache
def whole_search(n_classes, tol):
    return searched(*problem(n_classes), SEVERAL, tol=tol)


@each_pair(tol=[1e-2, 1e-6], n_classes=[2, 3], budget=["auto", *BUDGETS])
def test_cells_do_not_depend_on_budget_and_threads(tol, n_classes, budget):
    whole, cache_mb = whole_search(n_classes, tol), BUDGETS.get(budget, budget)
    one, two = (
        searched(*problem(n_classes), SEVERAL, tol=tol, cache_mb=cache_mb, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert largest_difference(one, whole) < 1e-9
    assert sorted(one) == sorted(two)
    for number, found in one.items():
        np.testing.assert_array_equal(found.n_support, whole[number].n_support)
        gaps = found.relative_gaps
        np.testing.assert_allclose(gaps, whole[number].relative_gaps, atol=1e-3 * tol)
        np.testing.assert_array_equal(gaps, two[number].relative_gaps)
        for a, b in zip(found.decisions, two[number].decisions, strict=True):
            np.testing.assert_array_equal(a, b)


def test_budget_without_room_for_a_few_rows_is_refused():
    with pytest.raises(ValueError, match="cache_mb must be at least"):
        searched(*problem(2), [RBF(0.1)], cache_mb=0.01)


def test_outcomes_take_memory_while_their_kernel_is_in_work(monkeypatch):
    begun, empty = [], KernelOutcome.empty

    def watched(*arguments):
        begun.append(weakref.ref(outcome := empty(*arguments)))
        assert sum(each() is not None for each in begun) == 1
        return outcome

    monkeypatch.setattr(KernelOutcome, "empty", watched)
    searched(*problem(2), SEVERAL, on_kernel=lambda outcome: None)
    searched(*problem(3), SEVERAL, on_kernel=lambda outcome: None)


def test_rows_that_are_not_all_held_are_granted_once(monkeypatch):
    granted = []

    def watched(*arguments, **options):
        granted.append(ACCOUNT.granted_mb - before)
        return choose_source(*arguments, **options)

    monkeypatch.setattr(cells, "choose_source", watched)
    before = ACCOUNT.granted_mb
    searched(*problem(2), [RBF(0.1)], cache_mb=BUDGETS["rows"])
    assert granted == [0.0]


def test_values_of_a_slow_function_and_its_rows_share_the_budget(monkeypatch):
    budgets = []

    def slow(A, B):
        time.sleep(1e-3 * len(A) * len(B))
        return RBF(0.1).block(A, B)

    def watched(*arguments, cache_mb, **options):
        budgets.append(cache_mb)
        return choose_source(*arguments, cache_mb=cache_mb, **options)

    monkeypatch.setattr(cells, "choose_source", watched)
    X, labels = classes(2, 30)
    searched(X, labels, uneven_folds(labels), [CallableKernel(slow)], cache_mb=0.02)
    assert budgets == [0.01]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cache_mb", "n_jobs"), [(8.0, 1), (20.0, 1), (28.0, 1), (40.0, 1), (50.0, 1), (110.0, 2)]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_values_stay_within_the_budget(n_classes, cache_mb, n_jobs):
    """A matrix takes 17 MiB, products as much, and the part of it for a pair up to 9."""
    X, y = large_data(1500)
    labels = (y > 0).astype(int) if n_classes == 2 else (X[:, 0] * 2).astype(int) % 3
    folds = uneven_folds(labels, unused=0.0)
    kernels = [RBF(0.05), RBF(0.1), RBF(0.2)]

    def search():
        searched(X, labels, folds, kernels, tol=1e-2, cache_mb=cache_mb, n_jobs=n_jobs)

    search()  # compiled before
    assert peak_mb(search) <= cache_mb + SLACK_MB


# --- stops ------------------------------------------------------------------------------------


def test_what_is_told_is_told_one_at_a_time():
    inside, overlaps = [], []

    def tell(what):
        overlaps.extend(inside)
        inside.append(what)
        time.sleep(1e-3)
        inside.pop()

    searched(*problem(2), SEVERAL, n_jobs=4, on_cells=tell, on_kernel=tell)
    assert overlaps == []
