"""scikit-learn's callbacks on both estimators, alone and inside meta-estimators."""

import warnings

import numpy as np
import pytest
from models import BOTH, assert_same_model
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC


class Recorder:
    """Notes every hook; stops the fit at the end of the checkpoint that is the last to be seen.

    Parameters
    ----------
    stop_after : int, default=None
        How many checkpoints are seen; all of them if None.
    """

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events, self.given, self.models = [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(f"begin {context.task_name}")
        self.given.append((X, y, metadata))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.events.append(f"end {context.task_name}")
        self.given.append((X, y, metadata))
        if context.task_name == "checkpoint":
            self.models.append(fitted_estimator)
            return len(self.models) == self.stop_after
        return None


class Failing(Recorder):
    """Fails at the end of the first task."""

    def on_fit_task_end(self, estimator, context):
        raise RuntimeError("this callback fails")


callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")
ProgressBar, ScoringMonitor = callback.ProgressBar, callback.ScoringMonitor

CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def data(n_classes=3, n_samples=90):
    return make_blobs(n_samples, centers=n_classes, cluster_std=3.0, random_state=0)


@BOTH
@CLASSES
def test_hooks_come_in_pairs_with_data_and_weights(Estimator, n_classes):
    X, y = data(n_classes)
    weight, recorder = np.ones(y.size), Recorder()
    Estimator(epochs=4, random_state=0).set_callbacks(recorder).fit(X, y, sample_weight=weight)
    checkpoints = ["begin checkpoint", "end checkpoint"] * 4
    assert recorder.events == ["setup", "begin fit", *checkpoints, "end fit", "teardown"]
    for given_X, given_y, metadata in recorder.given:
        assert given_X is X
        assert given_y is y
        assert metadata["sample_weight"] is weight


@BOTH
@pytest.mark.parametrize("checkpoints", ["epoch", "log", [10, 25], None])
def test_hooks_follow_the_checkpoints_and_change_no_model(Estimator, checkpoints):
    X, y = data()
    recorder = Recorder()
    plain = Estimator(n_steps=180, checkpoints=checkpoints, random_state=0)
    clf = clone(plain).set_callbacks(recorder).fit(X, y)
    plain.fit(X, y)
    # Without checkpoints, callbacks still come once an epoch (60 examples of a pair).
    assert len(recorder.models) == (3 if checkpoints is None else len(clf.history_[0]))
    if checkpoints is None:  # callbacks bring checkpoints, and these better dual bounds
        assert np.all(clf.duality_gap_ <= plain.duality_gap_)
        clf.duality_gap_ = plain.duality_gap_
    assert_same_model(plain, clf, X)
    assert {n for n in vars(plain) if n.endswith("_")} == {n for n in vars(clf) if n.endswith("_")}


@BOTH
@CLASSES
def test_callback_sees_the_model_so_far_and_may_end_the_fit(Estimator, n_classes):
    X, y = data(n_classes)
    recorder = Recorder(stop_after=3)
    clf = Estimator(epochs=30, random_state=0).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf.fit(X, y)
    assert recorder.events.count("begin checkpoint") == 3
    assert recorder.events[-2:] == ["end fit", "teardown"]
    for epochs, model in enumerate([*recorder.models, clf], start=1):
        alone = Estimator(epochs=min(epochs, 3), random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))
        np.testing.assert_array_equal(model.n_steps_, alone.n_steps_)
    assert len(clf.history_ if n_classes == 2 else clf.history_[0]) == 3


@pytest.mark.parametrize(
    "model", [PegasosSVC(epochs=3), LinearPegasosSVC()], ids=["kernel", "linear"]
)
def test_failing_callback_is_torn_down_and_leaves_the_model_before(model):
    (X, y), failing = data(), Failing()
    before = model.set_params(random_state=0).fit(X, y).decision_function(X)
    model.set_params(random_state=1).set_callbacks(failing)
    with pytest.raises(RuntimeError, match="this callback fails"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert failing.events == ["setup", "begin fit", "begin checkpoint", "teardown"]
    assert model.set_callbacks().fit(X, y).score(X, y) > 0.5
