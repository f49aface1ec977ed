"""An animation shows the models of one run, frame by frame, and its files are what they say."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.animation import FFMpegWriter
from pictures import difference
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVR
from kpegasos.plotting import TrainingAnimation

STEPS = [1, 7, 60, 400]
MODEL = PegasosSVC(gamma=2.0, C=10.0, n_steps=400, checkpoints=STEPS, random_state=0)


def core_of(model):
    return model[-1] if isinstance(model, Pipeline) else model


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.15, random_state=0)


@pytest.fixture(scope="module")
def animation(moons):
    return TrainingAnimation.from_estimator(MODEL, *moons, grid_resolution=30)


def stored(frames=3):
    """A run of three frames that nobody trained: a line that turns."""
    xx, yy = np.linspace(-2, 2, 21), np.linspace(-1, 1, 11)
    angles = np.linspace(0, 1, frames)[:, None, None]
    alpha = np.arange(frames)[:, None] * [0, 1, 2, 6]
    history = {"iteration": [1, 10, 100], "objective_last": [9.0, 5.0, 1.0]}
    history |= {"objective_average": [8.0, 4.0, 1.5], "dual_bound": [0.1, 0.3, 0.9]}
    return {
        "xx": xx,
        "yy": yy,
        "values": 2 * (np.cos(angles) * xx + np.sin(angles) * yy[:, None]),
        "history": {name: column[:frames] for name, column in history.items()},
        "X": [[-1.0, -0.5], [-0.5, 0.5], [0.5, -0.5], [1.0, 0.5]],
        "y": [0, 0, 1, 1],
        "alpha": alpha,
    }


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        LinearPegasosSVC(n_steps=400, checkpoints=STEPS, random_state=0),
        make_pipeline(StandardScaler(), MODEL),
    ],
    ids=["kernel", "linear", "pipeline"],
)
def test_animation_each_frame_is_the_model_of_a_run_that_ends_there(moons, model):
    X, y = moons
    animation = TrainingAnimation.from_estimator(model, X, y, grid_resolution=20)
    assert not hasattr(core_of(model), "classes_")
    assert animation.history["iteration"].tolist() == STEPS
    grid = [part.ravel() for part in np.meshgrid(animation.xx, animation.yy)]
    for frame, n_steps in enumerate(STEPS):
        alone = clone(model)
        core = core_of(alone).set_params(n_steps=n_steps)
        alone.fit(X, y)
        np.testing.assert_array_equal(animation.alpha[frame], core.alpha_)
        np.testing.assert_allclose(
            animation.values[frame].ravel(), alone.decision_function(np.column_stack(grid))
        )
        last = core.history_.records[-1]
        for name in ("objective_last", "objective_average"):
            assert animation.history[name][frame] == pytest.approx(getattr(last, name))


@pytest.mark.parametrize("kind", [PegasosSVC, LinearPegasosSVC])
def test_animation_of_a_polished_run_ends_with_the_polished_model(moons, kind):
    model = kind(polish=True, random_state=0)
    animation = TrainingAnimation.from_estimator(model, *moons, grid_resolution=5)
    assert len(animation.values) > 5
    alone = model.fit(*moons)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(animation.xx, animation.yy)])
    decisions = alone.decision_function(grid)
    np.testing.assert_allclose(animation.values[-1].ravel(), decisions)
    assert animation.history["objective_average"][-1] == pytest.approx(alone.objective_)
    assert np.flatnonzero(animation.alpha[-1]).tolist() == sorted(alone.support_)


def test_animation_has_the_names_of_features_and_classes(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=["length", "width"])
    named = TrainingAnimation.from_estimator(MODEL, frame, np.where(y, "setosa", "other"))
    left, _ = named.plot().axes_
    assert (left.get_xlabel(), left.get_ylabel()) == ("length", "width")
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["other", "setosa"]


def test_animation_of_several_classes_adds_up_the_pairs():
    X, y = make_blobs(60, centers=3, random_state=0)
    model = PegasosSVC(n_steps=50, checkpoints=[5, 50], random_state=0)
    animation = TrainingAnimation.from_estimator(model, X, y, grid_resolution=10)
    alone = clone(model).fit(X, y)
    assert animation.history["iteration"].tolist() == [15, 150]
    assert animation.history["objective_average"][-1] == pytest.approx(alone.objective_.sum())
    assert animation.alpha[-1].tolist() == alone.alpha_.sum(axis=0).tolist()
    grid = np.column_stack([part.ravel() for part in np.meshgrid(animation.xx, animation.yy)])
    assert animation.values[-1].ravel().tolist() == alone.predict(grid).tolist()
    _, right = animation.plot().axes_
    assert right.get_ylabel() == "objective f(w), sum over pairs"


def test_animation_curves_grow_within_the_limits_of_the_whole_run(animation):
    animation.plot(frame=1)
    limits = animation.axes_[1].axis()
    for name, line in animation.convergence_.lines_.items():
        assert line.get_xdata().tolist() == STEPS[:2]
        np.testing.assert_array_equal(line.get_ydata(), animation.history[name][:2])
    animation.plot()
    assert animation.axes_[1].axis() == limits
    lines = animation.convergence_.lines_.values()
    assert [line.get_xdata().size for line in lines] == [4, 4, 4]


def test_animation_picture(tmp_path):
    def frame(ax):
        ax.set_position([0.1, 0.1, 0.4, 0.8])
        other = ax.figure.add_axes((0.6, 0.1, 0.35, 0.8))
        TrainingAnimation(**stored()).plot([ax, other], frame=1)
        other.get_legend().remove()

    assert difference(frame, "frame", tmp_path) is None


def test_animation_gif_has_all_frames_that_do_not_jump_and_holds_the_last(animation, tmp_path):
    animation.save(tmp_path / "run.gif", fps=10, dpi=40, hold=1.0)
    frames, durations = [], []
    with Image.open(tmp_path / "run.gif") as image:
        assert (image.n_frames, image.size, image.info["loop"]) == (4, (360, 168), 0)
        for frame in range(4):
            image.seek(frame)
            durations.append(image.info["duration"])
            frames.append(np.asarray(image.convert("L"), dtype=int))
    assert durations == [100, 100, 100, 1100]
    # Ticks and names below and to the left of the regions; each frame has colours of its own.
    assert np.abs(frames[0] - frames[3])[-15:].max() < 16
    assert np.abs(frames[0] - frames[3])[20:, :12].max() < 16


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="ffmpeg is not installed")
def test_animation_video_has_all_frames_and_holds_the_last(animation, tmp_path, caplog):
    with caplog.at_level("DEBUG", "matplotlib.animation"):
        animation.save(tmp_path / "run.mp4", fps=10, dpi=40, hold=0.5)
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"
    assert sum("Grabbing frame" in record.message for record in caplog.records) == 4 + 5


def test_animation_page_has_all_frames_and_needs_no_network(animation, tmp_path):
    for name in ("one.html", "other.html"):
        animation.save(str(tmp_path / name), fps=10, dpi=40)
    page = (tmp_path / "one.html").read_text(encoding="ascii")
    assert page == (tmp_path / "other.html").read_text(encoding="ascii")
    texts = re.findall(r'frames\[\d+\] = "data:image/png;base64,([^"]+)"', page)
    pictures = [Image.open(BytesIO(b64decode(text.replace("\\\n", "")))) for text in texts]
    assert [picture.size for picture in pictures] == [(360, 168)] * 4
    assert len({picture.tobytes() for picture in pictures}) == 4
    assert not re.search(r"https?:|<link|src=|url\(|fa-", page)
    buttons = re.findall(r"<button[^>]*>\s*(.*?)</button>", page, re.DOTALL)
    assert len(buttons) == len(set(buttons)) == 9
    assert all(buttons)
    before = plt.get_fignums()
    assert animation._repr_html_().count("data:image/png;base64,") == 4
    assert plt.get_fignums() == before


def test_animation_page_has_all_frames_beyond_the_limit_of_matplotlib(animation, tmp_path):
    with plt.rc_context({"animation.embed_limit": 1e-3}):
        animation.save(tmp_path / "run.html", dpi=40)
    assert (tmp_path / "run.html").read_text().count("data:image/png;base64,") == 4


@pytest.mark.parametrize("name", ["run.gif", "run.html"])
@pytest.mark.parametrize("n_drawn", [0, 2])
def test_animation_interrupted_leaves_the_file_as_it_was(tmp_path, monkeypatch, name, n_drawn):
    run, frames = TrainingAnimation(**stored()), []

    def draw(frame):
        frames.append(frame)
        if len(frames) > n_drawn + 1:  # one when it was plotted
            raise KeyboardInterrupt

    monkeypatch.setattr(run, "_draw", draw)
    (tmp_path / name).write_text("earlier")
    with pytest.raises(KeyboardInterrupt):
        run.save(tmp_path / name, dpi=40)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "earlier"


def test_animation_what_does_not_fit_is_refused(animation, moons, tmp_path):
    (X, y), run, train = moons, stored(), TrainingAnimation.from_estimator

    def made(**change):
        return TrainingAnimation(**{**run, **change})

    for call, parts in (
        (lambda: made(y=[1] * 4), ("y must hold labels of two classes at least", "got")),
        (lambda: made(feature_names=["one"]), ("feature_names must be two names", "one")),
        (lambda: made(values=np.zeros((3, 5, 5))), ("values must have", r"got \(3, 5, 5\)")),
        (lambda: made(alpha=np.zeros((2, 4))), (r"alpha must have .*\(3, 4\)", r"got \(2, 4\)")),
        (lambda: made(history=stored(2)["history"]), (r"history\['iteration'\] must have", "(2,)")),
        (lambda: train(MODEL, X, np.zeros(80)), ("y must have at least two classes",)),
        (lambda: train(MODEL, X[:, :1], y), (r"X must have shape .*, got \(80, 1\)",)),
        (lambda: train(PegasosSVR(), X, y), ("estimator must be a PegasosSVC or Linear",)),
        (lambda: train(make_pipeline(SVC()), X, y), ("estimator must be .* got Pipeline",)),
        (lambda: animation.save(tmp_path / "run.avi"), ("in .gif, .html or .mp4, got 'run.avi'",)),
        (lambda: animation.save(b"run.gif"), ("path must end in .* got b'run.gif'",)),
        (lambda: animation.plot(plt.subplots(1, 3)[1]), ("ax must hold 2 axes, got 3",)),
        (lambda: animation.plot(frame=4), ("frame must be from -4 to 3, got 4",)),
    ):
        with pytest.raises(ValueError, match=parts[0]) as caught:
            call()
        assert re.search(parts[-1].replace("(2,)", r"\(2,\)"), str(caught.value))
