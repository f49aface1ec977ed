"""What an early end leaves: one model or the other, and streams that have seen whole chunks."""

import signal
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.fitting import streams
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils import tuning

BOTH = pytest.mark.parametrize("Estimator", [PegasosSVC, LinearPegasosSVC])


def data(n_classes, n_samples=600):
    return make_blobs(n_samples, centers=n_classes, n_features=5, cluster_std=3.0, random_state=0)


pytestmark = pytest.mark.usefixtures("default_handler")


def press_twice():
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


def fail():
    raise MemoryError("at the second pair")


@pytest.mark.parametrize(
    ("end", "error"),
    [(press_twice, KeyboardInterrupt), (fail, MemoryError)],
    ids=["twice", "error"],
)
def test_stream_that_is_cut_short_has_not_moved(end, error, monkeypatch):
    """One pair of three had learned the chunk, and the next call went on from there."""
    X, y = data(3)
    clf = LinearPegasosSVC(random_state=0, average="suffix").partial_fit(X, y, classes=[0, 1, 2])
    same = LinearPegasosSVC(random_state=0, average="suffix").partial_fit(X, y, classes=[0, 1, 2])
    coef = clf.coef_.copy()
    advance_stream = streams.advance_stream

    def advance(stream, *arguments):
        advance_stream(stream, *arguments)
        if stream.state.spawn_key == (1,):
            end()

    monkeypatch.setattr(streams, "advance_stream", advance)
    with pytest.raises(error):
        clf.partial_fit(X[:200], y[:200])
    monkeypatch.undo()
    np.testing.assert_array_equal(clf.coef_, coef)
    for chunk in (slice(200, 400), slice(400, 600)):
        clf.partial_fit(X[chunk], y[chunk])
        same.partial_fit(X[chunk], y[chunk])
    np.testing.assert_array_equal(clf.coef_, same.coef_)
    np.testing.assert_array_equal(clf.n_steps_, same.n_steps_)


@BOTH
def test_pairs_that_come_too_late_are_brief(Estimator):
    """Each of them used to make a thousand draws, whatever these cost."""
    X, y = data(4)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        clf = Estimator(n_steps=10**6, max_time=1e-9, checkpoints=None, random_state=0).fit(X, y)
    assert clf.n_steps_.tolist() == [tuning.FEWEST_DRAWS] * 6


@pytest.mark.parametrize("cache", ["auto", "precomputed"])
def test_pairs_that_come_too_late_compute_no_gram_matrix(cache, monkeypatch):
    """Ten classes used to compute 45 whole matrices after Ctrl-C."""
    for name in ("GRAM_SAMPLES", "SMALL_PAIRS_GRAM"):
        monkeypatch.setattr(tuning, name, 250)  # of a pair, not of all classes
    X, y = data(6)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        clf = PegasosSVC(cache=cache, max_time=1e-9, epochs=100, random_state=0).fit(X, y)
    for history in clf.history_:
        assert history["kernel_evaluations"][-1] < 200**2


def test_error_on_one_thread_ends_the_others():
    """They used to train on in the background, here for a minute."""
    X, y = data(3)
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) == 100:
            raise MemoryError("at the hundredth call")
        return A @ B.T

    clf = PegasosSVC(
        kernel=kernel, cache="streamed", n_jobs=2, n_steps=10**9, max_time=60.0, checkpoints=None
    )
    with pytest.raises(MemoryError, match="hundredth"):
        clf.fit(X, y)
    deadline = time.monotonic() + 20.0
    made = -1
    while made != len(calls) and time.monotonic() < deadline:
        made = len(calls)
        time.sleep(0.5)
    assert made == len(calls)
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


def test_presses_after_the_second_do_not_cut_the_way_out():
    """They belong to it, as those of a key that bounces."""
    seen = []

    def work():
        with interruptible(Stopper()) as stopper:
            try:
                press_twice()
            finally:
                press_twice()
                seen.append(stopper.interrupted)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert seen == [True]


def test_block_inside_an_interrupted_one_is_interrupted():
    """The outer fit waits for the inner, which had not heard of Ctrl-C."""
    with interruptible(Stopper()) as outer:
        signal.raise_signal(signal.SIGINT)
        with interruptible(Stopper()) as inner:
            assert inner.reason() == "interrupted"
    assert outer.reason() == "interrupted"


def test_failed_stopper_stops_all_parts():
    stopper = Stopper()
    part = stopper.split(2)
    stopper.fail()
    assert part.reason() == "stopped"
    assert not part.interrupted


@BOTH
def test_max_time_counts_from_the_call(Estimator, monkeypatch):
    """Validation and kernel rows used to come on top."""
    X, y = data(2)
    prepare = Estimator._prepare

    def slow(*arguments):
        time.sleep(0.3)
        return prepare(*arguments)

    monkeypatch.setattr(Estimator, "_prepare", slow)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        clf = Estimator(n_steps=10**6, max_time=0.2, checkpoints=None).fit(X, y)
    assert clf.n_steps_ == tuning.FEWEST_DRAWS


def test_interrupted_validation_raises_at_once(monkeypatch):
    """There is no model to wait for."""
    X, y = data(2)
    clf = PegasosSVC(epochs=1, random_state=0).fit(X, y)
    before = clf.decision_function(X)

    def press(*arguments):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(PegasosSVC, "_targets", press)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X[:, :2], y)
    np.testing.assert_array_equal(clf.decision_function(X), before)
