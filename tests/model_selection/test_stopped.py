"""Searches that are stopped: what they have, and what they say."""

import os
import signal
import warnings
from functools import cache

import numpy as np
import pytest
from covering import each_pair
from search_cases import after_cells, blobs, small
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, make_scorer

from kpegasos import PegasosSVC
from kpegasos.model_selection import search as search_module
from kpegasos.solvers.path import PathRun

pytestmark = pytest.mark.usefixtures("default_handler")


#: Of the 40 that a fold is tested on.
ONE_EXAMPLE = 1 / 40 + 1e-12


def time_is_up(stopper):
    stopper.deadline = 0.0


ENDS = {
    "max_time": (
        time_is_up,
        lambda: pytest.warns(ConvergenceWarning, match=r"max_time with \d+ of 27 cells missing"),
    ),
    "interrupted": (
        lambda stopper: os.kill(os.getpid(), signal.SIGINT),
        lambda: pytest.raises(KeyboardInterrupt, match=r"by Ctrl-C with \d+ of 27 cells missing"),
    ),
}


def cells(**settings):
    """A search of nine cells in each of three folds."""
    own = {"Cs": [0.1, 0.5, 5.0], "gammas": [0.02, 0.2, 1.0], "tol": 1e-4, "n_jobs": 1}
    return small(**own, **settings)


@cache
def whole_search(n_classes):
    return cells().fit(*blobs(n_classes))


@each_pair(n_cells=[1, 10, 20], n_classes=[2, 3], end=list(ENDS))
def test_search_that_was_stopped_has_what_it_found(n_cells, n_classes, end, monkeypatch):
    X, y = blobs(n_classes)
    whole, search = whole_search(n_classes), cells()
    happens, told = ENDS[end]
    with monkeypatch.context() as patch:
        after_cells(patch, n_cells, happens)
        with told():
            search.fit(X, y)
    assert search.status_ == end
    done, means = ~np.isnan(search.scores_), search.cv_results_["mean_test_score"]
    assert hasattr(search, "best_params_") == done.all(axis=0).any()
    if done.all(axis=0).any():
        assert search.best_score_ == np.nanmax(means)
        assert hasattr(search, "best_estimator_") == (end == "max_time")
    # With several classes cells are done with the whole of their kernel.
    least = n_cells if n_classes == 2 else n_cells // 9 * 9
    assert least <= done.sum() == np.isfinite(search.relative_gaps_).sum() < 27
    np.testing.assert_allclose(search.scores_[done], whole.scores_[done], atol=ONE_EXAMPLE)


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


def test_search_without_a_complete_cell_chooses_nothing():
    X, y = blobs()
    search = small(max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="with 12 of 12 cells missing; nothing is chosen"):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match=r"no model of all examples.*stopped before it"):
        search.predict(X)
    with pytest.raises(AttributeError, match="since the search ended before any cell was done"):
        search.best_params_  # noqa: B018


@pytest.mark.parametrize("model_is_fitted", [True, False])
def test_interrupted_refit_leaves_the_search(model_is_fitted, monkeypatch):
    X, y = blobs()
    expected, search, fit = small().fit(X, y), small(), PegasosSVC.fit

    def stopped(self, *arguments):
        if model_is_fitted:
            fit(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(PegasosSVC, "fit", stopped)
    with pytest.raises(KeyboardInterrupt, match="with 0 of 12 cells missing"):
        search.fit(X, y)
    assert np.isfinite(search.scores_).all()
    assert search.status_ == "interrupted"
    assert search.best_score_ == expected.best_score_
    assert hasattr(search, "best_estimator_") == model_is_fitted


def test_cells_that_do_not_reach_tol_are_told(monkeypatch):
    X, y = blobs()
    Surface = search_module.Surface

    def coarse(*arguments, tol, **options):
        return Surface(*arguments, tol=0.1, **options)

    monkeypatch.setattr(search_module, "Surface", coarse)
    search = small(tol=1e-4)
    with pytest.warns(ConvergenceWarning, match=r"did not reach tol in \d+ of 12 cells"):
        search.fit(X, y)
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        small(tol=1e-3).fit(X, y)


def test_error_leaves_the_earlier_search():
    X, y = blobs()
    search = small().fit(X, y)
    table, left = search.cv_results_, [1, 2, 3]

    def failing(truth, predicted):
        return accuracy_score(truth, predicted) / left.pop()

    with pytest.raises(IndexError, match="pop from empty list"):
        search.set_params(scoring=make_scorer(failing)).fit(X, y)
    assert search.cv_results_ is table
    assert np.mean(search.predict(X) == y) > 0.5
