"""Cells of a search for any budget and number of threads; searches that stop and go on."""

from __future__ import annotations

import time

import numpy as np
import pytest
from row_cases import SLACK_MB, large_data, peak_mb
from surface_cases import CS, classes, largest_difference, searched, uneven_folds

from kpegasos import RBF, Laplacian, Polynomial, Sigmoid
from kpegasos.kernels.matrix import SharedProducts
from kpegasos.model_selection import surface
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

N_SAMPLES = 300
KERNELS = [RBF(0.05), RBF(0.5), Laplacian(0.1), Polynomial(0.05, 2, 1.0)]
WHOLE_MB = N_SAMPLES**2 * 8 / tuning.MEBIBYTE
#: MiB for products and a matrix with its part for a pair, for a matrix, and for some of its rows.
BUDGETS = {"shared": 2.5 * WHOLE_MB, "whole": 1.9 * WHOLE_MB, "rows": 0.4 * WHOLE_MB}


class Watched:
    """How matrices were made: of shared products, by themselves, or row by row."""

    def __init__(self, monkeypatch):
        self.shared = self.whole = self.rows = 0
        gram, from_values = SharedProducts.gram, GramRows.from_values
        choose_source, share_classes = surface.choose_source, surface.share_classes

        def counted(name, function):
            def call(*arguments, **options):
                setattr(self, name, getattr(self, name) + 1)
                return function(*arguments, **options)

            return call

        monkeypatch.setattr(SharedProducts, "gram", counted("shared", gram))
        monkeypatch.setattr(GramRows, "from_values", counted("whole", from_values))
        monkeypatch.setattr(surface, "choose_source", counted("rows", choose_source))
        monkeypatch.setattr(surface, "share_classes", counted("rows", share_classes))


def problem(n_classes):
    X, labels = classes(n_classes, N_SAMPLES)
    return X, labels, uneven_folds(labels, unused=0.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_budgets_decide_what_is_held(n_classes, monkeypatch):
    how = {}
    for name, cache_mb in BUDGETS.items():
        with monkeypatch.context() as patch:
            watched = Watched(patch)
            searched(*problem(n_classes), KERNELS, cache_mb=cache_mb)
            how[name] = (watched.shared > 0, watched.whole == len(KERNELS), watched.rows > 0)
    assert how["shared"][0]
    assert not how["shared"][2]
    assert how["whole"] == (False, True, False)
    # A source of rows may be a whole matrix where there is room.
    assert how["rows"][0] is False
    assert how["rows"][2]


def test_matrix_is_held_where_there_is_just_room_for_it(monkeypatch):
    """Beside the matrix there is a fifth of it for hard cells."""
    watched, n_values = Watched(monkeypatch), N_SAMPLES**2 + N_SAMPLES**2 // 5
    searched(*problem(2), KERNELS[:1], cache_mb=8 * n_values / tuning.MEBIBYTE)
    assert (watched.shared, watched.whole, watched.rows) == (0, 1, 0)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_cells_do_not_depend_on_the_budget(tol, n_classes, budget):
    whole = searched(*problem(n_classes), KERNELS, tol=tol)
    other = searched(*problem(n_classes), KERNELS, tol=tol, cache_mb=BUDGETS[budget])
    assert largest_difference(other, whole) < 1e-9
    for number in whole:
        np.testing.assert_array_equal(other[number].n_support, whole[number].n_support)
        np.testing.assert_allclose(
            other[number].relative_gaps, whole[number].relative_gaps, atol=1e-3 * tol
        )


@pytest.mark.parametrize("budget", ["auto", *BUDGETS])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_cells_are_the_same_bits_on_several_threads(n_classes, budget):
    cache_mb = BUDGETS.get(budget, budget)
    one, two = (
        searched(*problem(n_classes), KERNELS, cache_mb=cache_mb, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert sorted(one) == sorted(two)
    for number in one:
        for a, b in zip(one[number].decisions, two[number].decisions, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one[number].relative_gaps, two[number].relative_gaps)


def test_budget_without_room_for_a_few_rows_is_refused():
    with pytest.raises(ValueError, match="cache_mb must be at least"):
        searched(*problem(2), [RBF(0.1)], cache_mb=0.01)


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


def stopped_after(n_cells, *arguments, **options):
    """Outcomes of a search whose stopper has a reason after so many cells."""
    stopper, done = Stopper(), []

    def on_cells(number):
        done.append(number)
        if sum(done) >= n_cells:
            stopper.interrupt()

    outcomes = searched(*arguments, stopper=stopper, on_cells=on_cells, **options)
    assert stopper.interrupted
    return outcomes


def test_cells_are_counted_once():
    done = []
    X, labels, folds = problem(3)
    searched(X, labels, folds, KERNELS, on_cells=done.append)
    assert sum(done) == pytest.approx(len(KERNELS) * len(CS) * len(folds.tests))


def test_what_is_told_is_told_one_at_a_time():
    inside, overlaps = [], []

    def tell(what):
        overlaps.extend(inside)
        inside.append(what)
        time.sleep(1e-3)
        inside.pop()

    searched(*problem(2), KERNELS, n_jobs=4, on_cells=tell, on_kernel=tell)
    assert overlaps == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cells_that_are_runs_of_pegasos_go_on(n_jobs):
    arguments, settings = (*problem(3), [Sigmoid(0.01, 0.0)]), {"n_jobs": n_jobs, "seed": 3}
    whole = searched(*arguments, **settings)
    known = stopped_after(2, *arguments, **settings)
    assert 2 <= np.count_nonzero(known[0].done) < known[0].done.size
    counted = []
    found = searched(*arguments, known=known, on_cells=counted.append, **settings)
    assert found[0].done.all()
    assert sum(counted) < found[0].done.size
    assert largest_difference(found, whole) == 0.0
