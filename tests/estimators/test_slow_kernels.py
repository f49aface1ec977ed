"""Whoever waits for a slow kernel of their own can leave, and keeps what there is."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import PegasosSVC, PegasosSVCCV
from kpegasos.estimators import base

X, y = make_blobs(60, centers=2, cluster_std=3.0, random_state=0)


class Slow:
    """A kernel that takes a moment for each value, and presses Ctrl-C on the way."""

    def __init__(self, presses_at=(), seconds=4e-4):
        self.values, self._presses_at, self._seconds = 0, list(presses_at), seconds

    def __call__(self, A, B):
        self.values += len(A) * len(B)
        while self._presses_at and self.values >= self._presses_at[0]:
            del self._presses_at[0]
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(self._seconds * len(A) * len(B))
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("cache", ["auto", "cached"])
def test_max_time_leaves_the_matrix_of_a_slow_kernel(cache):
    kernel = Slow()
    model = PegasosSVC(kernel=kernel, max_time=0.1, epochs=100, cache=cache, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped by max_time"):
        model.fit(X, y)
    assert kernel.values < 1500
    assert set(model.predict(X[:3])) <= {0, 1}
    assert np.isfinite(model.duality_gap_)


@pytest.mark.parametrize("polish", [False, True])
def test_ctrl_c_leaves_the_matrix_of_a_slow_kernel_with_a_model(polish):
    kernel = Slow(presses_at=[500])
    model = PegasosSVC(kernel=kernel, polish=polish, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="the estimator holds the model reached so far"):
        model.fit(X, y)
    assert kernel.values < 1500
    assert np.isfinite(model.decision_function(X[:1])).all()


def test_second_ctrl_c_leaves_a_slow_kernel_at_once():
    kernel = Slow(presses_at=[500, 501])
    model = PegasosSVC(kernel=kernel, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert kernel.values < 800
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("ended_by", ["max_time", "interrupted"])
def test_search_without_a_cell_says_so(ended_by):
    kernel = Slow(presses_at=[500] if ended_by == "interrupted" else ())
    max_time = 0.1 if ended_by == "max_time" else None
    search = PegasosSVCCV(Cs=[1.0], kernel=kernel, cv=2, max_time=max_time, random_state=0)
    with pytest.raises(AttributeError, match="chosen nothing before it is fitted"):
        search.best_params_  # noqa: B018
    if ended_by == "max_time":
        with pytest.warns(ConvergenceWarning, match="nothing is chosen"):
            search.fit(X, y)
    else:
        with pytest.raises(KeyboardInterrupt, match="with 2 of 2 cells missing"):
            search.fit(X, y)
    assert kernel.values < 1200
    assert search.status_ == ended_by
    with pytest.raises(AttributeError, match="chosen nothing, since the search ended before"):
        search.best_params_  # noqa: B018
    assert not hasattr(search, "best_score_")


def test_progress_goes_on_during_a_polish(monkeypatch):
    """The bar used to stand at 100%, with the gap before the polish."""
    told, bar = [], base.progress_bar

    class Recording:
        def __init__(self, *arguments):
            self._bar = bar(*arguments)

        def __enter__(self):
            update = self._bar.__enter__()

            def recorded(number, run, share):
                told.append((share, run.history.records[-1].relative_gap))
                update(number, run, share)

            return recorded

        def __exit__(self, *error):
            return self._bar.__exit__(*error)

    monkeypatch.setattr(base, "progress_bar", Recording)
    model = PegasosSVC(polish=True, tol=1e-4, C=100.0, epochs=1, verbose=True, random_state=0)
    model.fit(X, y)
    shares, gaps = zip(*told, strict=True)
    assert list(shares) == sorted(shares)
    assert shares[0] <= 0.5 < shares[-1] == 1.0
    assert gaps[-1] == pytest.approx(model.relative_gap_, rel=1e-3)
