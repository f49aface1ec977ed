"""Searches that are cloned, written and read back: pickle, skops."""

import pickle

import numpy as np
import pytest
import skops.io
from search_cases import after_cells
from searches import blobs, small
from sklearn.exceptions import ConvergenceWarning

from kpegasos.exports.native import TRUSTED


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
