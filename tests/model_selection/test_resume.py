"""Searches that are stopped: what they have, what they say, and how they go on, from a file too."""

import os
import signal
import warnings
from functools import cache

import numpy as np
import pytest
import skops.io
from search_cases import after_cells
from searches import blobs, small
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, make_scorer, precision_score, recall_score

from kpegasos import PegasosSVC
from kpegasos.exports.native import TRUSTED
from kpegasos.model_selection import cells
from kpegasos.model_selection import search as search_module
from kpegasos.solvers.path import PathRun

pytestmark = pytest.mark.usefixtures("default_handler")


def press():
    os.kill(os.getpid(), signal.SIGINT)


#: Of the 40 that a fold is tested on.
ONE_EXAMPLE = 1 / 40 + 1e-12


def time_is_up(stopper):
    stopper.deadline = 0.0


def assert_same_search(one, other):
    assert one.missing_ == other.missing_ == []
    assert one.status_ == other.status_ == "completed"
    assert list(one.cv_results_) == list(other.cv_results_)
    # What is solved after a stop may begin elsewhere, and is certified as well.
    assert max(one.relative_gaps_.max(), other.relative_gaps_.max()) <= one.tol
    np.testing.assert_allclose(one.scores_, other.scores_, atol=ONE_EXAMPLE)
    difference = np.abs(one.oof_decision_ - other.oof_decision_).max()
    assert difference <= 0.02 * np.abs(one.oof_decision_).max()
    assert one.best_params_ == other.best_params_


def settings_of_cells(search):
    return {"Cs": [0.1, 0.5, 5.0], "gammas": [0.02, 0.2, 1.0], "tol": 1e-4, **search}


def cells_done(n_classes, n_cells):
    """Of so many that were solved on one thread: with several classes those of whole kernels."""
    return n_cells if n_classes == 2 else n_cells // 9 * 9


def count_cells(monkeypatch):
    """How many cells searches solve from now on, one number after the other."""
    search_surface, solved = search_module.search_surface, []

    def counted_search(*arguments, on_cells, **options):
        search_surface(*arguments, on_cells=solved.append, **options)

    monkeypatch.setattr(search_module, "search_surface", counted_search)
    return solved


ENDS = {
    "max_time": (
        time_is_up,
        lambda: pytest.warns(ConvergenceWarning, match=r"max_time with \d+ of 27 cells missing"),
    ),
    "interrupted": (
        lambda stopper: press(),
        lambda: pytest.raises(KeyboardInterrupt, match=r"by Ctrl-C with \d+ of 27 cells missing"),
    ),
}


@cache
def whole_search(n_classes):
    settings = settings_of_cells({"calibration": "sigmoid", "n_jobs": 1})
    return settings, small(**settings).fit(*blobs(n_classes))


@pytest.mark.parametrize("n_cells", [1, 10, 20])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("end", ENDS)
def test_search_that_was_stopped_has_what_it_found_and_goes_on(
    end, n_classes, n_cells, monkeypatch
):
    X, y = blobs(n_classes)
    settings, whole = whole_search(n_classes)
    search = small(warm_start=True, **settings)
    happens, told = ENDS[end]
    with monkeypatch.context() as patch:
        after_cells(patch, n_cells, happens)
        with told():
            search.fit(X, y)
    assert search.status_ == end
    done = ~np.isnan(search.scores_)
    assert hasattr(search, "best_params_") == done.all(axis=0).any()
    if end == "interrupted":
        assert not hasattr(search, "best_estimator_")
    assert cells_done(n_classes, n_cells) <= done.sum() == 27 - len(search.missing_) < 27
    np.testing.assert_allclose(search.scores_[done], whole.scores_[done], atol=ONE_EXAMPLE)
    before = search.cv_results_["mean_fit_time"].copy()
    search.fit(X, y)
    assert_same_search(search, whole)
    np.testing.assert_allclose(search.predict_proba(X), whole.predict_proba(X), atol=0.02)
    complete = ~np.isnan(before)
    np.testing.assert_array_equal(search.cv_results_["mean_fit_time"][complete], before[complete])


def test_cells_that_are_done_are_not_solved_again(monkeypatch):
    X, y = blobs()
    search = small(warm_start=True)
    with monkeypatch.context() as patch:
        after_cells(patch, 5, time_is_up)
        with pytest.warns(ConvergenceWarning, match="max_time"):
            search.fit(X, y)
    n_missing = len(search.missing_)
    assert 0 < n_missing <= 7
    solved = count_cells(monkeypatch)
    search.fit(X, y)
    assert sum(solved) == n_missing
    search.fit(X, y)
    assert sum(solved) == n_missing


def test_best_of_the_complete_cells_is_refitted(monkeypatch):
    X, y = blobs()
    after_cells(monkeypatch, 8, time_is_up)
    search = small(n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="the best of those that are complete is chosen"):
        search.fit(X, y)
    complete = {name for name in search.cv_results_ if name.startswith("split")}
    assert complete
    means = search.cv_results_["mean_test_score"]
    assert np.isnan(means).any()
    assert search.best_score_ == np.nanmax(means)
    one = PegasosSVC(**search.best_params_, polish=True, tol=0.01, random_state=0).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), one.decision_function(X))


@pytest.mark.parametrize("cache_mb", ["auto", 0.05])
def test_search_that_solved_a_cell_of_each_fold_has_a_choice(cache_mb, monkeypatch):
    """Folds are solved in turn, the smallest C of each first, where there is a deadline."""
    X, y = blobs()
    after_cells(monkeypatch, 3, time_is_up)
    search = small(n_jobs=1, max_time=1e6, cache_mb=cache_mb, Cs=[0.1, 1.0, 10.0], tol=1e-4)
    monkeypatch.setattr(PathRun, "sets_before_pause", 1)
    with pytest.warns(ConvergenceWarning, match="with 15 of 18 cells missing; the best of those"):
        search.fit(X, y)
    assert search.best_params_ == {"C": 0.1, "gamma": search.gammas_[0]}
    assert np.isfinite(search.oof_decision_).all()


def test_folds_that_are_many_are_solved_one_after_the_other(monkeypatch):
    """So that their states need not be kept at the same time."""
    X, y = blobs()
    monkeypatch.setattr(PathRun, "sets_before_pause", 1)
    whole = small(n_jobs=1).fit(X, y)
    after_cells(monkeypatch, 2, time_is_up)
    monkeypatch.setattr(cells, "_FOLDS_IN_TURN", 2)
    search = small(n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="nothing is chosen"):
        search.fit(X, y)
    done = ~np.isnan(search.scores_)
    assert done[0, 0].all()
    np.testing.assert_array_equal(search.scores_[done], whole.scores_[done])


def test_pairs_that_are_solved_are_joined_later_if_there_is_no_time(monkeypatch):
    X, y = blobs(3)
    whole = small(n_jobs=1).fit(X, y)
    decisions, stoppers = cells.GramPairs.decisions, []

    def slow(*arguments):
        time_is_up(stoppers.pop())
        return decisions(*arguments)

    with monkeypatch.context() as patch:
        after_cells(patch, 0.1, stoppers.append)
        patch.setattr(cells.GramPairs, "decisions", slow)
        search = small(n_jobs=1, warm_start=True)
        with pytest.warns(ConvergenceWarning, match="with 10 of 12 cells missing; nothing"):
            search.fit(X, y)
    assert not np.isnan(search.scores_[0, 0]).any()
    solved = count_cells(monkeypatch)
    search.fit(X, y)
    assert sum(solved) == pytest.approx(6.0)  # those of the other kernel
    assert_same_search(search, whole)
    np.testing.assert_array_equal(search.scores_, whole.scores_)


def test_search_without_a_complete_cell_chooses_nothing():
    X, y = blobs()
    search = small(max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="with 12 of 12 cells missing; nothing is chosen"):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")
    assert len(search.missing_) == 12
    assert search.missing_[0] == {"C": 0.5, "gamma": 0.02, "fold": 0}
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match=r"no model of all examples.*stopped before it"):
        search.predict(X)
    with pytest.raises(AttributeError, match="since the search ended before any cell was done"):
        search.best_params_  # noqa: B018


def test_interrupted_refit_leaves_the_search(monkeypatch):
    X, y = blobs()
    fit = PegasosSVC.fit
    for model_is_fitted in (True, False):

        def stopped(self, *arguments, whole=model_is_fitted):
            if whole:
                fit(self, *arguments)
            raise KeyboardInterrupt

        search = small()
        with monkeypatch.context() as patch:
            patch.setattr(PegasosSVC, "fit", stopped)
            with pytest.raises(KeyboardInterrupt, match="with 0 of 12 cells missing"):
                search.fit(X, y)
        assert search.missing_ == []
        assert search.status_ == "interrupted"
        assert search.best_score_ == small().fit(X, y).best_score_
        assert hasattr(search, "best_estimator_") == model_is_fitted


CHANGES = {
    "X": lambda X, y: ({}, X + 1.0, y, None),
    "y": lambda X, y: ({}, X, 1 - y, None),
    "weight": lambda X, y: ({}, X, y, np.linspace(1, 2, y.size)),
    "Cs": lambda X, y: ({"Cs": [0.5, 5.1]}, X, y, None),
    "order": lambda X, y: ({"Cs": [5.0, 0.5]}, X, y, None),
    "gammas": lambda X, y: ({"gammas": [0.02]}, X, y, None),
    "kernel": lambda X, y: ({"kernel": "laplacian"}, X, y, None),
    "cv": lambda X, y: ({"cv": 4}, X, y, None),
    "scoring": lambda X, y: ({"scoring": "f1"}, X, y, None),
    "tol": lambda X, y: ({"tol": 0.02}, X, y, None),
    "class_weight": lambda X, y: ({"class_weight": {0: 2.0}}, X, y, None),
    "fit_intercept": lambda X, y: ({"fit_intercept": False}, X, y, None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_search_goes_on_with_the_same_problem_only(change):
    X, y = blobs()
    search = small(warm_start=True).fit(X, y)
    scores = search.scores_
    changed, X_new, y_new, weight = CHANGES[change](X, y)
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier search"):
        search.set_params(**changed).fit(X_new, y_new, weight)
    assert search.scores_ is scores


def test_search_does_not_go_on_with_a_scorer_that_calls_another_function():
    X, y = blobs()
    search = small(scoring=lambda e, X, y: precision_score(y, e.predict(X)), warm_start=True)
    search.fit(X, y)
    search.set_params(scoring=lambda e, X, y: recall_score(y, e.predict(X)))
    with pytest.raises(ValueError, match="got others"):
        search.fit(X, y)


def test_cells_that_do_not_reach_tol_are_told(monkeypatch):
    X, y = blobs()
    search_surface = search_module.search_surface

    def coarse(*arguments, tol, **options):
        search_surface(*arguments, tol=0.1, **options)

    monkeypatch.setattr(search_module, "search_surface", coarse)
    search = small(tol=1e-4)
    with pytest.warns(ConvergenceWarning, match=r"did not reach tol in \d+ of 12 cells"):
        search.fit(X, y)
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        small(tol=1e-3).fit(X, y)


def test_error_leaves_the_earlier_search():
    X, y = blobs()
    calls = []

    def failing(truth, predicted):
        calls.append(1)
        if len(calls) > 3:
            raise ZeroDivisionError("this scorer fails")
        return accuracy_score(truth, predicted)

    search = small().fit(X, y)
    table = search.cv_results_
    with pytest.raises(ZeroDivisionError, match="this scorer fails"):
        search.set_params(scoring=make_scorer(failing)).fit(X, y)
    assert search.cv_results_ is table
    assert np.mean(search.predict(X) == y) > 0.5


def test_search_goes_on_with_other_resources():
    X, y = blobs()
    search = small(warm_start=True).fit(X, y)
    scores = search.scores_
    search.set_params(n_jobs=2, cache_mb=10, max_time=60.0, verbose=False, random_state=1)
    np.testing.assert_array_equal(search.fit(X, y).scores_, scores)
    search.set_params(warm_start=False, Cs=[1.0]).fit(X, y)
    assert search.scores_.shape == (3, 2, 1)


def test_skops_gives_an_unfinished_search_back_and_asks_for_trusted_types(monkeypatch):
    X, y = blobs(3)
    unfinished = small(warm_start=True, n_jobs=1)
    with monkeypatch.context() as patch:
        after_cells(patch, 7, lambda stopper: setattr(stopper, "deadline", 0.0))
        with pytest.warns(ConvergenceWarning):
            unfinished.fit(X, y)
    stored = skops.io.dumps(unfinished)
    seen = set(skops.io.get_untrusted_types(data=stored))
    assert seen <= set(TRUSTED)
    back = skops.io.loads(stored, trusted=list(seen))
    np.testing.assert_array_equal(back.scores_, unfinished.scores_)
    assert back.missing_ == unfinished.missing_ != []
    assert back.fit(X, y).missing_ == []
    assert {name for name in TRUSTED if name.endswith(("KernelOutcome", "PairCells"))} <= seen
