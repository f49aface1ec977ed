"""Ctrl-C and max_time: a fit that is cut short leaves the model reached so far."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from models import BOTH
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.utils import tuning

# Never to be reached; max_time only keeps a failing test from running for ever.
ENDLESS = {"n_steps": 10**9, "checkpoints": None, "max_time": 60.0, "random_state": 0}

pytestmark = pytest.mark.usefixtures("default_handler")


def data(n_classes, n_samples=600):
    return make_blobs(n_samples, centers=n_classes, n_features=5, cluster_std=3.0, random_state=0)


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    for Estimator in (PegasosSVC, LinearPegasosSVC):
        Estimator(epochs=1).fit(*data(2))


# --- errors ---


def test_error_on_one_thread_ends_the_others():
    """They used to train on in the background, here for a minute."""
    X, y = data(3)
    calls = []

    def kernel(A, B):
        calls.append(threading.current_thread())
        if len(calls) == 40:
            raise MemoryError("at the fortieth call")
        return A @ B.T

    clf = PegasosSVC(kernel=kernel, cache="streamed", n_jobs=2, **ENDLESS)
    with pytest.raises(MemoryError, match="fortieth"):
        clf.fit(X, y)
    made = len(calls)
    time.sleep(0.05)
    assert len(calls) == made
    assert not hasattr(clf, "classes_")


def test_error_after_ctrl_c_does_not_hide_it():
    """A search that goes on after errors would have gone on after Ctrl-C."""
    X, y = data(2)
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) == 20:
            signal.raise_signal(signal.SIGINT)
            raise ValueError("after Ctrl-C")
        return A @ B.T

    with pytest.raises(KeyboardInterrupt) as caught:
        PegasosSVC(kernel=kernel, cache="streamed", epochs=10**4).fit(X, y)
    assert isinstance(caught.value.__cause__, ValueError)


# --- Ctrl-C on what runs fits ---

PROGRAM = """
import os, signal, sys, threading, time
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from kpegasos import LinearPegasosSVC

X, y = make_blobs(600, centers=2, n_features=5, cluster_std=3.0, random_state=0)
LinearPegasosSVC(epochs=1).fit(X, y)

def press():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler and "jobs" not in sys.argv:
        time.sleep(0.005)
    time.sleep(3.0 if "jobs" in sys.argv else 0.2)
    os.kill(os.getpid(), signal.SIGINT)

slow = LinearPegasosSVC(n_steps=10**9, max_time=40.0, checkpoints=None, random_state=0)
threading.Thread(target=press, daemon=True).start()
print("begun", flush=True)
"""
CALLS = {
    "search": "GridSearchCV(slow, {'C': [1, 2]}, cv=2).fit(X, y); print('is done')",
    "jobs": "cross_val_score(slow, X, y, cv=4, n_jobs=2); print('is done')",
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_stops_what_runs_fits(call):
    """One press ends a script: neither the next of its fits, nor the next fold, begins."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + CALLS[call], call],
        capture_output=True,
        text=True,
        timeout=90,
        start_new_session=True,
    )
    assert done.stdout == "begun\n"
    assert "KeyboardInterrupt" in done.stderr
    assert done.returncode != 0


# --- max_time ---


tells_max_time = partial(pytest.warns, ConvergenceWarning, match="max_time")


@BOTH
@pytest.mark.parametrize(
    ("n_classes", "checkpoints"), [(2, None), (4, "log"), (4, (1, 2, 3)), (2, "epoch")], ids=str
)
def test_max_time_that_is_over_leaves_a_brief_and_useful_model(Estimator, n_classes, checkpoints):
    """Wherever the first checkpoint lies, and were there a million epochs of them."""
    X, y = data(n_classes)
    clf = Estimator(**ENDLESS | {"checkpoints": checkpoints, "max_time": 1e-9})
    with tells_max_time(match="max_time.*gap") as caught:
        clf.fit(X, y)
    assert len(caught) == 1
    assert clf.score(X, y) > 0.6
    assert np.isfinite(clf.duality_gap_).all()
    histories = [clf.history_] if n_classes == 2 else clf.history_
    np.testing.assert_array_equal([h["iteration"][-1] for h in histories], np.ravel(clf.n_steps_))
    assert np.all((clf.n_steps_ >= 1) & (clf.n_steps_ < 2 * tuning.FEWEST_DRAWS))
    assert vars(clf).keys() == vars(Estimator(epochs=1).fit(X, y)).keys()


@pytest.mark.parametrize("cache", ["auto", "precomputed"])
def test_pairs_that_come_too_late_compute_no_gram_matrix(cache, monkeypatch):
    """Ten classes used to compute 45 whole matrices after Ctrl-C."""
    for name in ("GRAM_SAMPLES", "SMALL_PAIRS_GRAM"):
        monkeypatch.setattr(tuning, name, 250)  # of a pair, not of all classes
    X, y = data(6)
    with tells_max_time():
        clf = PegasosSVC(cache=cache, max_time=1e-9, epochs=100, random_state=0).fit(X, y)
    for history in clf.history_:
        assert history["kernel_evaluations"][-1] < 200**2


# --- slow kernels ---


class Slow:
    """A kernel that takes a moment for each value, and presses Ctrl-C on the way."""

    def __init__(self, presses_at=()):
        self.values, self._presses_at = 0, list(presses_at)

    def __call__(self, A, B):
        self.values += len(A) * len(B)
        while self._presses_at and self.values >= self._presses_at[0]:
            del self._presses_at[0]
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(4e-4 * len(A) * len(B))
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))


X60, Y60 = make_blobs(60, centers=2, cluster_std=3.0, random_state=0)


@pytest.mark.parametrize("cache", ["auto", "cached"])
def test_max_time_leaves_the_matrix_of_a_slow_kernel(cache):
    kernel = Slow()
    model = PegasosSVC(kernel=kernel, max_time=0.1, epochs=100, cache=cache, random_state=0)
    with tells_max_time(match="stopped by max_time"):
        model.fit(X60, Y60)
    assert kernel.values < 1500
    assert np.isfinite(model.duality_gap_)


@pytest.mark.parametrize("polish", [False, True])
def test_ctrl_c_leaves_the_matrix_of_a_slow_kernel_with_a_model(polish):
    kernel = Slow(presses_at=[500])
    model = PegasosSVC(kernel=kernel, polish=polish, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="the estimator holds the model reached so far"):
        model.fit(X60, Y60)
    assert kernel.values < 1500
    assert np.isfinite(model.decision_function(X60[:1])).all()
