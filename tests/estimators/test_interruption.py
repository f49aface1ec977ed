"""Ctrl-C and max_time: a fit that is cut short leaves the model reached so far."""

import itertools
import os
import signal
import threading
import time
import types
import warnings

import numpy as np
import pytest
from models import counts_of
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC, make_problem, make_rows, pegasos
from kpegasos.fitting.observers import HAS_CALLBACKS
from kpegasos.solvers import stopping
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils import tuning

BOTH = pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])

NEEDS_CALLBACKS = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks yet")

# Never to be reached; max_time only keeps a failing test from running for ever.
ENDLESS = {"n_steps": 10**9, "checkpoints": None, "max_time": 60.0, "random_state": 0}


def data(n_classes):
    return make_blobs(600, centers=n_classes, n_features=5, cluster_std=3.0, random_state=0)


pytestmark = pytest.mark.usefixtures("default_handler")


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    for Estimator in (PegasosSVC, LinearPegasosSVC):
        Estimator(epochs=1).fit(*data(2))


def keeps_a_press():
    """Whether steps are being made: before them, Ctrl-C has no model to wait for."""
    stopper = getattr(signal.getsignal(signal.SIGINT), "_stopper", None)
    return stopper is not None and stopper.presses_kept > 0


def press_once_running(delay=0.2):
    """Send SIGINT to this process ``delay`` seconds after a fit has begun to make steps."""

    def wait_and_press():
        deadline = time.monotonic() + 30
        while not keeps_a_press():
            if time.monotonic() > deadline:
                return
            time.sleep(0.005)
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        timer.join()

    thread = threading.Thread(target=wait_and_press)
    thread.start()
    return thread


def fit_interrupted(clf, X, y):
    """Fit under Ctrl-C; returns the seconds it took."""
    presser = press_once_running()
    begin = time.perf_counter()
    assert_stops(clf, X, y)
    seconds = time.perf_counter() - begin
    presser.join()
    return seconds


def assert_stops(clf, X, y):
    """A fit that Ctrl-C stops raises, warns of nothing and says how far it has come."""
    message = rf"{type(clf).__name__} was stopped by Ctrl-C after \d+ steps.*relative gap of \d"
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(KeyboardInterrupt, match=message):
            clf.fit(X, y)


def assert_usable(clf, X, y):
    n_classes = np.unique(y).size
    assert np.all(clf.n_steps_ >= 1)
    assert np.all(clf.n_steps_ < 10**9)
    assert clf.intercept_.size == n_classes * (n_classes - 1) // 2
    assert np.isfinite(clf.decision_function(X)).all()
    assert np.isfinite(clf.duality_gap_).all()
    assert clf.score(X, y) > 0.6
    histories = [clf.history_] if n_classes == 2 else clf.history_
    assert all(len(history) >= 1 for history in histories)
    np.testing.assert_array_equal([h["iteration"][-1] for h in histories], np.ravel(clf.n_steps_))


@pytest.mark.parametrize(
    "clf",
    [
        PegasosSVC(**ENDLESS),
        PegasosSVC(cache="cached", **ENDLESS),
        PegasosSVC(cache="streamed", **ENDLESS),
        PegasosSVC(average="suffix", batch_size=10, **ENDLESS),
        LinearPegasosSVC(**ENDLESS),
    ],
    ids=["precomputed", "cached", "streamed", "suffix", "linear"],
)
def test_ctrl_c_binary(clf):
    X, y = data(2)
    assert fit_interrupted(clf, X, y) < 5.0
    assert_usable(clf, X, y)
    # Stopping is all that Ctrl-C did: the model is that of as many steps.
    steps = {"n_steps": int(clf.n_steps_), "max_time": None}
    if clf.n_steps_ < 10**6:
        whole = type(clf)(**{**clf.get_params(), **steps}).fit(X, y)
        np.testing.assert_array_equal(counts_of(whole), counts_of(clf))


@BOTH
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_multiclass(Estimator, n_jobs):
    X, y = data(4)
    clf = Estimator(n_jobs=n_jobs, **ENDLESS)
    assert fit_interrupted(clf, X, y) < 5.0
    assert_usable(clf, X, y)


@BOTH
def test_ctrl_c_with_verbose(Estimator, capsys):
    X, y = data(3)
    clf = Estimator(**ENDLESS, verbose=True)
    assert fit_interrupted(clf, X, y) < 5.0
    assert_usable(clf, X, y)
    assert "gap" in capsys.readouterr().out


@BOTH
def test_ctrl_c_then_warm_start_goes_on(Estimator):
    X, y = data(2)
    clf = Estimator(warm_start=True, **ENDLESS)
    fit_interrupted(clf, X, y)
    done = int(clf.n_steps_)
    clf.set_params(n_steps=500).fit(X, y)
    assert clf.n_steps_ == done + 500


class Pressing:
    """A callback that presses Ctrl-C at the first checkpoint."""

    def __init__(self, times):
        self.times = times
        self.torn_down = False

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == "checkpoint":
            while self.times > 0:
                self.times -= 1
                signal.raise_signal(signal.SIGINT)

    def on_fit_task_end(self, estimator, context):
        pass


@NEEDS_CALLBACKS
@BOTH
def test_ctrl_c_with_callbacks(Estimator):
    X, y = data(3)
    clf = Estimator(epochs=10**4, random_state=0).set_callbacks(Pressing(1))
    assert_stops(clf, X, y)
    assert_usable(clf, X, y)


@NEEDS_CALLBACKS
@BOTH
def test_ctrl_c_twice_raises(Estimator):
    X, y = data(3)
    pressing = Pressing(2)
    clf = Estimator(epochs=10**4).set_callbacks(pressing)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert pressing.torn_down
    assert not [name for name in vars(clf) if name.endswith("_")]
    # Nothing is left behind that would disturb the next fit.
    clf.set_callbacks().set_params(epochs=1).fit(X, y)
    assert clf.score(X, y) > 0.6


def test_ctrl_c_twice_inside_a_kernel_raises():
    X, y = data(2)
    pressed = []

    def kernel(A, B):
        if not pressed and B.shape[0] > 100:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return A @ B.T

    clf = PegasosSVC(kernel=kernel, cache="cached", **ENDLESS)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert not [name for name in vars(clf) if name.endswith("_")]


def test_ctrl_c_once_inside_a_kernel_keeps_the_model():
    X, y = data(2)
    pressed = []

    def kernel(A, B):
        if not pressed and B.shape[0] > 100:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return A @ B.T

    clf = PegasosSVC(kernel=kernel, cache="cached", **ENDLESS)
    assert_stops(clf, X, y)
    assert pressed
    assert_usable(clf, X, y)


@NEEDS_CALLBACKS
@BOTH
def test_ctrl_c_twice_keeps_the_earlier_model(Estimator):
    X, y = data(3)
    clf = Estimator(epochs=2, random_state=0).fit(X, y)
    decisions = clf.decision_function(X)
    clf.set_callbacks(Pressing(2)).set_params(C=0.01, epochs=10**4)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X * 2, y)
    np.testing.assert_array_equal(clf.decision_function(X), decisions)


@NEEDS_CALLBACKS
def test_handler_of_the_user_is_restored_and_gets_the_second_press():
    X, y = data(2)
    presses = []

    def own(number, frame):
        presses.append(number)

    signal.signal(signal.SIGINT, own)
    try:
        PegasosSVC(epochs=1).fit(X, y)
        assert signal.getsignal(signal.SIGINT) is own
        assert_stops(PegasosSVC(epochs=10**4).set_callbacks(Pressing(2)), X, y)
        assert signal.getsignal(signal.SIGINT) is own
        assert presses == [signal.SIGINT]
        with pytest.raises(ValueError, match="batch_size"):
            PegasosSVC(batch_size=10**6).fit(X, y)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@NEEDS_CALLBACKS
def test_ignored_ctrl_c_stays_ignored():
    X, y = data(2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf = PegasosSVC(epochs=3).set_callbacks(Pressing(2)).fit(X, y)
        assert clf.n_steps_ == 3 * y.size
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@BOTH
def test_fit_in_another_thread_touches_no_handler(Estimator):
    X, y = data(3)
    seen = []
    clf = Estimator(epochs=3, n_jobs=2, random_state=0)

    def fit():
        clf.fit(X, y)
        seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
    assert clf.score(X, y) > 0.6


def test_function_pegasos_is_interruptible():
    X, y = data(2)
    rows = make_rows(X, "rbf", gamma=0.1)
    presser = press_once_running()
    with pytest.raises(Interrupted, match=r"Ctrl-C after \d+ steps") as caught:
        pegasos(make_problem(2.0 * y - 1.0, 1e-3), rows, n_steps=10**9, checkpoints=None)
    presser.join()
    result = caught.value.result
    assert result.status == "interrupted"
    assert 0 < result.n_steps < 10**9


# --- max_time -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed", None])
def test_max_time_is_honoured(cache, n_classes, n_jobs):
    X, y = data(n_classes)
    settings = {**ENDLESS, "max_time": 0.4, "n_jobs": n_jobs}
    clf = PegasosSVC(cache=cache, **settings) if cache else LinearPegasosSVC(**settings)
    begin = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"max_time.*gap") as caught:
        clf.fit(X, y)
    assert 0.2 < time.perf_counter() - begin < 10.0
    assert len(caught) == 1
    assert_usable(clf, X, y)


@BOTH
def test_max_time_is_shared_evenly(Estimator, monkeypatch):
    """The last pair trained has had its part of the time, which a clock here counts in slices."""
    ticks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: tuning.SLICE_SECONDS * next(ticks))
    monkeypatch.setattr(stopping, "time", clock)
    X, y = data(4)
    clf = Estimator(**{**ENDLESS, "max_time": 1.2})
    with pytest.warns(ConvergenceWarning, match="6 of 6 pairs"):
        clf.fit(X, y)
    assert clf.n_steps_.min() > 0.1 * clf.n_steps_.max()


@BOTH
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("checkpoints", [None, "log", (1, 2, 3)], ids=str)
def test_max_time_tiny_still_makes_a_model(Estimator, n_classes, checkpoints):
    """And a useful one, wherever the first checkpoint lies."""
    X, y = data(n_classes)
    clf = Estimator(**{**ENDLESS, "checkpoints": checkpoints, "max_time": 1e-9})
    with pytest.warns(ConvergenceWarning, match="max_time"):
        clf.fit(X, y)
    assert_usable(clf, X, y)


@BOTH
def test_max_time_not_reached_is_silent(Estimator):
    X, y = data(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = Estimator(epochs=2, max_time=60.0, random_state=0).fit(X, y)
    plain = Estimator(epochs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), plain.decision_function(X))


@BOTH
def test_max_time_with_many_epochs(Estimator):
    """Checkpoints that are never reached must cost nothing."""
    X, y = data(2)
    begin = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        Estimator(epochs=2 * 10**6, max_time=0.2).fit(X, y)
    assert time.perf_counter() - begin < 10.0


def test_stopper_splits_time_and_shares_its_flag():
    stopper = Stopper(10.0)
    part = stopper.split(5)
    assert part.deadline == pytest.approx(time.perf_counter() + 2.0, abs=1.0)
    assert part.reason() is None
    stopper.interrupt()
    assert part.reason() == "interrupted"
    assert Stopper(1e-9).reason() == "max_time"
    assert Stopper().reason() is None


def test_interruptible_restores_after_an_error():
    def fail():
        with interruptible(Stopper()):
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@BOTH
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_every_attribute(Estimator, n_jobs):
    X, y = data(3)
    clf = Estimator(n_jobs=n_jobs, **ENDLESS)
    fit_interrupted(clf, X, y)
    whole = Estimator(epochs=1).fit(X, y)
    names = {name for name in vars(whole) if name.endswith("_")}
    assert names == {name for name in vars(clf) if name.endswith("_")}
