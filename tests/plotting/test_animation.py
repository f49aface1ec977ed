"""An animation shows the models of one run, frame by frame, and its files are what they say."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from pictures import difference, says
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons

from experiments.__main__ import main
from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVR
from kpegasos.plotting import TrainingAnimation

ROOT = Path(__file__).parents[2]
STEPS = [1, 7, 60, 400]
MODEL = PegasosSVC(gamma=2.0, C=10.0, n_steps=400, checkpoints=STEPS, random_state=0)


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.15, random_state=0)


@pytest.fixture
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
    [MODEL, LinearPegasosSVC(n_steps=400, checkpoints=STEPS, random_state=0)],
    ids=["kernel", "linear"],
)
def test_animation_each_frame_is_the_model_of_a_run_that_ends_there(moons, model):
    X, y = moons
    animation = TrainingAnimation.from_estimator(model, X, y, grid_resolution=20)
    assert animation.history["iteration"].tolist() == STEPS
    grid = [part.ravel() for part in np.meshgrid(animation.xx, animation.yy)]
    for frame, n_steps in enumerate(STEPS):
        alone = clone(model).set_params(n_steps=n_steps).fit(X, y)
        np.testing.assert_array_equal(animation.alpha[frame], alone.alpha_)
        np.testing.assert_allclose(
            animation.values[frame].ravel(), alone.decision_function(np.column_stack(grid))
        )
        last = alone.history_.records[-1]
        for name in ("objective_last", "objective_average"):
            assert animation.history[name][frame] == pytest.approx(getattr(last, name))


def test_animation_the_estimator_itself_is_left_alone(moons):
    model = clone(MODEL)
    TrainingAnimation.from_estimator(model, *moons, grid_resolution=10)
    assert not hasattr(model, "classes_")
    assert not getattr(model, "_skl_callbacks", [])


def test_animation_grid_reaches_beyond_the_examples(moons, animation):
    X, _ = moons
    assert animation.values.shape == (4, 30, 30)
    width, height = np.ptp(X, axis=0)
    assert animation.xx[0] == pytest.approx(X[:, 0].min() - width / 15)
    assert animation.yy[-1] == pytest.approx(X[:, 1].max() + height / 15)
    far = TrainingAnimation.from_estimator(MODEL, *moons, grid_resolution=5, eps=0.5)
    assert far.xx[0] == pytest.approx(X[:, 0].min() - 0.5)


def test_animation_grid_follows_the_scale_of_the_features(moons, animation):
    X, y = moons
    large = TrainingAnimation.from_estimator(
        clone(MODEL).set_params(gamma=2e-6), 1000 * X, y, grid_resolution=30
    )
    np.testing.assert_allclose(large.xx, 1000 * animation.xx)
    np.testing.assert_allclose(large.values, animation.values, rtol=1e-6, atol=1e-6)


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


def test_animation_in_a_notebook_is_a_player_and_no_second_picture(moons):
    animation = TrainingAnimation.from_estimator(MODEL, *moons, grid_resolution=10)
    before = plt.get_fignums()
    page = animation._repr_html_()
    assert page.count("data:image/png;base64,") == 4
    assert "<button" in page
    assert plt.get_fignums() == before


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


def test_animation_rings_grow_on_one_scale():
    animation = TrainingAnimation(**stored())
    areas = []
    for frame in range(3):
        animation.plot(frame=frame)
        rings = animation.regions_.support_
        areas.append([] if rings is None else rings.get_sizes().tolist())
    assert areas[0] == []
    assert areas[1][2] == pytest.approx((20 + areas[2][2]) / 2), "half the count"
    assert "T = 100: 3 support vectors" in animation.axes_[0].get_title("left")


def test_animation_axes_that_are_given_and_stored_numbers():
    _, axes = plt.subplots(1, 2)
    plain = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in stored().items()
    }
    animation = TrainingAnimation(**json.loads(json.dumps(plain))).plot(axes)
    assert animation.axes_.tolist() == axes.tolist()
    labels = [ax.get_xlabel() for ax in axes], [ax.get_ylabel() for ax in axes]
    assert labels == (["feature 1", "steps T"], ["feature 2", "objective f(w)"])


def test_animation_picture(tmp_path):
    def frame(ax):
        ax.set_position([0.1, 0.1, 0.4, 0.8])
        other = ax.figure.add_axes((0.6, 0.1, 0.35, 0.8))
        TrainingAnimation(**stored()).plot([ax, other], frame=1)
        other.get_legend().remove()

    assert difference(frame, "frame", tmp_path) is None


def test_animation_gif_has_all_frames_and_holds_the_last(animation, tmp_path):
    animation.save(tmp_path / "run.gif", fps=10, dpi=40, hold=1.0)
    with Image.open(tmp_path / "run.gif") as image:
        assert image.n_frames == 4
        assert image.size == (360, 168)
        durations = []
        for frame in range(4):
            image.seek(frame)
            durations.append(image.info["duration"])
        assert durations == [100, 100, 100, 1100]
        assert image.info["loop"] == 0


def pictures_of(page):
    """The frames that are embedded in a page, as arrays."""
    texts = re.findall(r'frames\[\d+\] = "data:image/png;base64,([^"]+)"', page.read_text())
    files = [BytesIO(b64decode(text.replace("\\\n", ""))) for text in texts]
    return [np.asarray(Image.open(file)) for file in files]


def test_animation_page_has_all_frames_and_the_same_each_time(animation, tmp_path):
    for name in ("one.html", "other.html"):
        animation.save(str(tmp_path / name), fps=10, dpi=40)
    one, other = (pictures_of(tmp_path / name) for name in ("one.html", "other.html"))
    assert [picture.shape[:2] for picture in one] == [(168, 360)] * 4
    assert len({picture.tobytes() for picture in one}) == 4
    np.testing.assert_array_equal(one, other)


def test_animation_page_needs_no_network_and_has_signs_on_its_buttons(animation, tmp_path):
    animation.save(tmp_path / "run.html", dpi=40)
    page = (tmp_path / "run.html").read_text(encoding="ascii")
    assert not re.search(r"https?:|<link|src=|url\(|fa-", page)
    buttons = re.findall(r"<button[^>]*>\s*(.*?)</button>", page, re.DOTALL)
    assert len(buttons) == len(set(buttons)) == 9
    assert all(buttons)


def test_animation_the_same_run_makes_the_same_page(animation, tmp_path):
    for name in ("one.html", "other.html"):
        animation.save(tmp_path / name, dpi=40)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_animation_marks_where_the_run_is_and_says_its_gap(animation):
    history = animation.history
    for frame in (0, 2):
        animation.plot(frame=frame)
        for line in animation.convergence_.lines_.values():
            assert line.get_marker() == "o"
            assert line.get_markevery() == [frame]
            assert np.isfinite(line.get_ydata()[frame])
        gap = history["objective_average"][frame] - history["dual_bound"][frame]
        words, number = animation.axes_[1].get_title("left").split(": ")
        assert words == "certified gap"
        assert float(number.replace(",", "")) == pytest.approx(gap, rel=0.05)


@pytest.mark.parametrize(("scale", "thin"), [(1.0, False), (1e4, True)])
def test_animation_boundary_is_thin_where_the_band_between_margins_is(scale, thin):
    run = stored()
    run["values"] = scale * run["values"]
    animation = TrainingAnimation(**run).plot()
    width = animation.regions_.lines_.get_linewidth()
    assert (np.max(width) < 1) == thin


def test_animation_frames_do_not_jump(animation, tmp_path):
    animation.save(tmp_path / "run.gif", dpi=40, hold=0)
    with Image.open(tmp_path / "run.gif") as image:
        frames = []
        for frame in (0, 3):
            image.seek(frame)
            frames.append(np.asarray(image.convert("L"), dtype=int))
    # Ticks and names below and to the left of the regions; each frame has colours of its own.
    assert np.abs(frames[0] - frames[1])[-15:].max() < 16
    assert np.abs(frames[0] - frames[1])[20:, :12].max() < 16


@pytest.mark.slow
def test_animation_experiment_writes_figure_and_both_animations(tmp_path):
    assert main(["animation", "--quick", "--output", str(tmp_path)]) == 0
    figures = {path.suffix: path for path in (tmp_path / "figures").glob("animation.*")}
    assert set(figures) == {".png", ".svg", ".gif", ".html"}
    table = json.loads((tmp_path / "results" / "animation.json").read_text())["results"]
    with Image.open(figures[".gif"]) as image:
        assert image.n_frames == len(table["table"])


def test_animation_published_animation_is_small():
    published = ROOT / "figures" / "animation.gif"
    assert published.stat().st_size < 2e6


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"y": [1, 1, 1, 1]}, ("y must hold labels of two classes at least", r"got")),
        ({"feature_names": ["one"]}, ("feature_names must be two names", "one")),
        ({"values": np.zeros((3, 5, 5))}, ("values must have shape", r"got \(3, 5, 5\)")),
        ({"alpha": np.zeros((2, 4))}, (r"alpha must have shape .*\(3, 4\)", r"got \(2, 4\)")),
    ],
)
def test_animation_what_does_not_fit_is_refused(change, parts):
    with pytest.raises(ValueError, match=says(*parts)):
        TrainingAnimation(**{**stored(), **change})


def test_animation_history_must_have_an_entry_for_each_frame():
    run = stored()
    run["history"] = stored(2)["history"]
    with pytest.raises(ValueError, match=says(r"history\['iteration'\] must have", r"\(2,\)")):
        TrainingAnimation(**run)


def test_animation_two_classes_in_the_plane(moons):
    with pytest.raises(ValueError, match="y must have at least two classes"):
        TrainingAnimation.from_estimator(MODEL, moons[0], np.zeros(80))
    with pytest.raises(ValueError, match=says(r"X must have shape .*, got \(80, 1\)")):
        TrainingAnimation.from_estimator(MODEL, moons[0][:, :1], moons[1])


def test_animation_files_and_axes(animation, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .gif or .html, got 'run.mp4'"):
        animation.save(tmp_path / "run.mp4")
    with pytest.raises(ValueError, match=says("ax must hold 2 axes, got 3")):
        animation.plot(plt.subplots(1, 3)[1])
    with pytest.raises(ValueError, match="frame must be from -4 to 3, got 4"):
        animation.plot(frame=4)
    with pytest.raises(ValueError, match=r"path must end in .gif or .html, got b'run.gif'"):
        animation.save(b"run.gif")


class _Place:
    """A path that is neither a string nor pathlib's."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)


def test_animation_file_may_be_any_path(animation, tmp_path):
    animation.save(_Place(tmp_path / "run.gif"), hold=0)
    assert (tmp_path / "run.gif").read_bytes().startswith(b"GIF89a")


def test_animation_refuses_a_regressor():
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match="estimator must be a PegasosSVC or LinearPegasosSVC"):
        TrainingAnimation.from_estimator(PegasosSVR(), X, y)


def test_animation_of_a_run_without_support_vectors_is_drawn():
    still = TrainingAnimation(
        xx=[0, 1],
        yy=[0, 1],
        values=np.ones((1, 2, 2)),
        history=dict.fromkeys(
            ("iteration", "objective_last", "objective_average", "dual_bound"), (1.0,)
        ),
        X=[[0, 0], [1, 1]],
        y=[0, 1],
        alpha=np.zeros((1, 2)),
    )
    assert still.plot().regions_.support_ is None
