"""scikit-learn's callbacks on a search."""

import pytest
from callback_cases import Failing, Recorder
from searches import blobs, small

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")


def test_hooks_come_in_pairs():
    recorder = Recorder()
    small().set_callbacks(recorder).fit(*blobs())
    kernels = ["begin kernel", "end kernel"] * 2
    fit = ["begin fit", *kernels, "begin refit", "end refit", "end fit"]
    assert recorder.events == ["setup", *fit, "teardown"]


def test_callback_stops_the_search():
    X, y = blobs()
    search = small(gammas=[0.02, 0.2, 1.0]).set_callbacks(Recorder(1, "kernel"))
    search.fit(X, y)
    assert search.status_ == "stopped"
    assert 0 < len(search.missing_) < 18
    assert search.predict(X).shape == y.shape


def test_failing_callback_is_torn_down():
    failing = Failing()
    search = small().set_callbacks(failing)
    with pytest.raises(RuntimeError, match="this callback fails"):
        search.fit(*blobs())
    assert failing.events == ["setup", "begin fit", "begin kernel", "teardown"]
    assert not hasattr(search, "scores_")
