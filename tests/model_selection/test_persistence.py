"""Searches that are cloned, written and read back: pickle, skops."""

import pickle

import numpy as np
import pytest
import skops.io
from searches import blobs, small
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kpegasos.exports.native import TRUSTED
from kpegasos.model_selection import search as search_module


def test_clone_is_not_fitted():
    search = small(calibration="isotonic", warm_start=True).fit(*blobs(3))
    copy = clone(search)
    assert copy.get_params() == search.get_params()
    assert [name for name in vars(copy) if name.endswith("_")] == []


def test_search_that_was_pickled_predicts_and_goes_on():
    X, y = blobs(3)
    search = small(calibration="isotonic", scoring="f1_macro", warm_start=True).fit(X, y)
    back = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(back.predict_proba(X), search.predict_proba(X))
    assert back.score(X, y) == search.score(X, y)
    np.testing.assert_array_equal(back.fit(X, y).scores_, search.scores_)


def unfinished(X, y, monkeypatch):
    """A search whose second kernel has some of its cells."""
    search_surface = search_module.search_surface

    def cut(*arguments, stopper, on_cells, **options):
        done = []

        def counted(n_cells):
            done.append(n_cells)
            on_cells(n_cells)
            stopper.deadline = 0.0 if sum(done) > 6 else None

        search_surface(*arguments, stopper=stopper, on_cells=counted, **options)

    search = small(warm_start=True, n_jobs=1)
    with monkeypatch.context() as patch:
        patch.setattr(search_module, "search_surface", cut)
        with pytest.warns(ConvergenceWarning):
            search.fit(X, y)
    return search


def test_skops_gives_every_search_back_and_asks_for_trusted_types(monkeypatch):
    X, y = blobs(3)
    searches = [
        small(kernel="poly", degrees=[2]).fit(X, y),
        small(calibration="sigmoid", kernel="linear").fit(X, y),
        small(calibration="isotonic", scoring="f1_macro").fit(X, y),
        unfinished(X, y, monkeypatch),
    ]
    seen = set()
    for search in searches:
        stored = skops.io.dumps(search)
        types = set(skops.io.get_untrusted_types(data=stored))
        assert types <= set(TRUSTED)
        seen |= types
        back = skops.io.loads(stored, trusted=list(types))
        np.testing.assert_array_equal(back.decision_function(X), search.decision_function(X))
        np.testing.assert_array_equal(back.scores_, search.scores_)
        assert back.best_params_ == search.best_params_
        assert back.cv_results_["params"] == search.cv_results_["params"]
        if search.calibration is not None:
            np.testing.assert_array_equal(back.predict_proba(X), search.predict_proba(X))
        if search.missing_:
            assert back.fit(X, y).missing_ == []
    assert {name for name in TRUSTED if "model_selection" in name} <= seen
