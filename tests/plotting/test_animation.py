"""An animation shows the models of one run, frame by frame, and its files are what they say."""

import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from pictures import difference
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.plotting import TrainingAnimation

STEPS = [1, 7, 60, 400]
RUN = {"n_steps": 400, "checkpoints": STEPS, "random_state": 0}
MODEL = PegasosSVC(gamma=2.0, C=10.0, **RUN)


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.15, random_state=0)


def run_of_three(**changes):
    """A run of three frames that nobody trained: a line that turns."""
    xx, yy = np.linspace(-2, 2, 21), np.linspace(-1, 1, 11)
    angles = np.linspace(0, 1, 3)[:, None, None]
    history = {"iteration": [1, 10, 100], "objective_last": [9.0, 5.0, 1.0]}
    history |= {"objective_average": [8.0, 4.0, 1.5], "dual_bound": [0.1, 0.3, 0.9]}
    parts = {
        "xx": xx,
        "yy": yy,
        "values": 2 * (np.cos(angles) * xx + np.sin(angles) * yy[:, None]),
        "history": history,
        "X": [[-1.0, -0.5], [-0.5, 0.5], [0.5, -0.5], [1.0, 0.5]],
        "y": [0, 0, 1, 1],
        "alpha": np.arange(3)[:, None] * [0, 1, 2, 6],
    }
    return TrainingAnimation(**{**parts, **changes})


def grid_of(animation):
    return np.column_stack([part.ravel() for part in np.meshgrid(animation.xx, animation.yy)])


@pytest.mark.parametrize(
    "model",
    [MODEL, LinearPegasosSVC(**RUN), make_pipeline(StandardScaler(), MODEL)],
    ids=["kernel", "linear", "pipeline"],
)
def test_animation_each_frame_is_the_model_of_a_run_that_ends_there(moons, model):
    animation = TrainingAnimation.from_estimator(model, *moons, grid_resolution=20)
    assert not hasattr(model[-1] if isinstance(model, Pipeline) else model, "classes_")
    assert animation.history["iteration"].tolist() == STEPS
    for frame, n_steps in enumerate(STEPS):
        alone = clone(model)
        core = alone[-1] if isinstance(model, Pipeline) else alone
        core.set_params(n_steps=n_steps)
        alone.fit(*moons)
        np.testing.assert_array_equal(animation.alpha[frame], core.alpha_)
        decisions = alone.decision_function(grid_of(animation))
        np.testing.assert_allclose(animation.values[frame].ravel(), decisions)
        last = core.history_.records[-1]
        for name in ("objective_last", "objective_average"):
            assert animation.history[name][frame] == pytest.approx(getattr(last, name))


@pytest.mark.parametrize("kind", [PegasosSVC, LinearPegasosSVC])
def test_animation_of_a_polished_run_ends_with_the_polished_model(moons, kind):
    model = kind(polish=True, random_state=0)
    animation = TrainingAnimation.from_estimator(model, *moons, grid_resolution=5)
    assert len(animation.values) > 5
    decisions = model.fit(*moons).decision_function(grid_of(animation))
    np.testing.assert_allclose(animation.values[-1].ravel(), decisions)
    assert animation.history["objective_average"][-1] == pytest.approx(model.objective_)
    assert np.flatnonzero(animation.alpha[-1]).tolist() == sorted(model.support_)


def test_animation_of_several_classes_adds_up_the_pairs():
    X, y = make_blobs(60, centers=3, random_state=0)
    model = PegasosSVC(n_steps=50, checkpoints=[5, 50], random_state=0)
    animation = TrainingAnimation.from_estimator(model, X, y, grid_resolution=10)
    alone = clone(model).fit(X, y)
    assert animation.history["iteration"].tolist() == [15, 150]
    assert animation.history["objective_average"][-1] == pytest.approx(alone.objective_.sum())
    assert animation.alpha[-1].tolist() == alone.alpha_.sum(axis=0).tolist()
    assert animation.values[-1].ravel().tolist() == alone.predict(grid_of(animation)).tolist()
    _, right = animation.plot().axes_
    assert right.get_ylabel() == "objective f(w), sum over pairs"


def test_animation_curves_grow_within_the_limits_of_the_whole_run():
    animation = run_of_three().plot(frame=1)
    limits = animation.axes_[1].axis()
    assert limits[1] > 100
    for name, line in animation.convergence_.lines_.items():
        assert line.get_xdata().tolist() == [1, 10]
        np.testing.assert_array_equal(line.get_ydata(), animation.history[name][:2])
    animation.plot()
    assert animation.axes_[1].axis() == limits
    lines = animation.convergence_.lines_.values()
    assert [line.get_xdata().size for line in lines] == [3, 3, 3]


def test_animation_picture(tmp_path):
    def frame(ax):
        ax.set_position([0.1, 0.1, 0.4, 0.8])
        other = ax.figure.add_axes((0.6, 0.1, 0.35, 0.8))
        run_of_three().plot([ax, other], frame=1)
        other.get_legend().remove()

    assert difference(frame, "frame", tmp_path) is None


def test_animation_gif_has_all_frames_that_do_not_jump_and_holds_the_last(tmp_path):
    run_of_three().save(tmp_path / "run.gif", fps=10, dpi=40, hold=0.3)
    frames, durations = [], []
    with Image.open(tmp_path / "run.gif") as image:
        assert (image.n_frames, image.size, image.info["loop"]) == (3, (360, 168), 0)
        for frame in range(3):
            image.seek(frame)
            durations.append(image.info["duration"])
            frames.append(np.asarray(image.convert("L"), dtype=int))
    assert durations == [100, 100, 400]
    # Ticks and names below and to the left of the regions; each frame has colours of its own.
    assert np.abs(frames[0] - frames[2])[-15:].max() < 16
    assert np.abs(frames[0] - frames[2])[20:, :12].max() < 16


def test_animation_in_a_notebook_is_a_player_of_all_frames():
    animation = run_of_three()
    before = plt.get_fignums()
    page = animation._repr_html_()
    assert len(set(re.findall(r'frames\[\d+\] = "data:image/png;base64,([^"]+)"', page))) == 3
    assert plt.get_fignums() == before
