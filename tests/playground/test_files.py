"""Pictures that a page saves."""

import base64
from io import BytesIO

import numpy as np
import pytest
from matplotlib import image
from playground_cases import refusal, session_of, state_of

from kpegasos.playground.files import figure_of


def saved(session, what, t=120):
    (answer,) = session.handle({"kind": "export", "revision": 1, "id": 2, "t": t, "what": what})
    assert answer["kind"] == "file", answer
    return answer


def test_step_rules_have_no_animation():
    session = session_of(state_of(step={"rule": "delayed"}))
    message = {"kind": "export", "revision": 1, "id": 2, "t": 5, "what": "gif"}
    error = refusal(session, message)
    assert error["parameter"] == "step"
    assert error["message"].startswith("step must be Pegasos' own, 1/(λt), for ")


def test_there_are_no_pictures_before_there_is_a_model():
    session = session_of(state_of(labels=[1] * 60))
    message = {"kind": "export", "revision": 1, "id": 2, "t": 50, "what": "svg"}
    assert "points must be of two classes" in refusal(session, message)["message"]


def test_pictures_are_drawn():
    session = session_of(state_of(3, held_out=5))
    picture = image.imread(BytesIO(base64.b64decode(saved(session, "png")["base64"])))
    assert picture.shape[1] == 1440
    assert np.unique(picture.reshape(-1, picture.shape[2]), axis=0).shape[0] > 100
    drawing = saved(session, "svg")
    assert drawing["text"].startswith("<?xml")
    assert "<svg" in drawing["text"]
    assert saved(session, "svg")["text"] == drawing["text"]


def drawn(n_classes, algorithm):
    """The figure of a session, and its frame."""
    session = session_of(state_of(n_classes, held_out=8))
    kind = {"pegasos": "show", "polish": "polish", "SVC": "compare"}[algorithm]
    t = {"t": 120} if kind == "show" else {}
    (frame,) = session.handle({"kind": kind, "revision": 1, "id": 1, **t})
    runs = session._pane_runs()
    models = session.models(120) if algorithm == "pegasos" else [r.others[algorithm] for r in runs]
    return figure_of(session.scene, models, algorithm), frame, models


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("algorithm", ["pegasos", "polish"])
def test_figures_have_the_curves_of_all_pairs(algorithm, n_classes):
    figure, frame, models = drawn(n_classes, algorithm)
    for ax, pane, model in zip(figure.axes[2:], frame["panes"], models, strict=True):
        lines = {line.get_label(): line for line in ax.lines}
        assert list(lines) == ["last iterate", "averaged iterate", "dual bound"]
        assert {len(line.get_xdata()) for line in lines.values()} == {len(ax.lines[0].get_xdata())}
        assert len(ax.lines[0].get_xdata()) >= (2 if algorithm == "polish" else 19)
        last = {name: line.get_ydata()[-1] for name, line in lines.items()}
        assert last["averaged iterate"] == pytest.approx(np.sum(model.objective_))
        assert last["dual bound"] == pytest.approx(pane["bound"])
        assert ("sum over pairs" in ax.get_ylabel()) == (n_classes > 2)
    assert algorithm != "pegasos" or figure.axes[2].lines[0].get_xdata()[-1] == 120


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [("pegasos", "Pegasos, t = 120"), ("polish", "polished"), ("SVC", "SVC (LIBSVM)")],
)
def test_figures_are_of_the_models_on_the_panes(algorithm, name):
    figure, frame, models = drawn(3, algorithm)
    regions = figure.axes[:2]
    assert [ax.get_title("left") for ax in regions] == [f"linear, {name}", f"rbf, {name}"]
    assert len(figure.axes) == (2 if algorithm == "SVC" else 4)
    state = state_of(3, held_out=8)
    X, y, test = (np.array(state[key]) for key in ("points", "labels", "test"))
    for model, pane in zip(models, frame["panes"], strict=True):
        wrong = model.predict(X) != y
        assert wrong[~test].mean() == pane["train_error"]
        assert wrong[test].mean() == pane["test_error"]
        assert len(model.support_) == pane["support"]


def test_held_out_points_are_hollow_and_in_the_legend():
    figure, _, _ = drawn(2, "polish")
    for ax in figure.axes[:2]:
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts[:4] == ["class A", "class B", "held out", "support vector"]
        hollow = [
            each
            for each in ax.collections
            if len(each.get_facecolor()) and each.get_facecolor()[0].tolist() == [1, 1, 1, 1]
        ]
        assert sum(len(each.get_offsets()) for each in hollow) == 8


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_run_is_saved_as_an_animation(n_classes):
    file = saved(session_of(state_of(n_classes)), "gif", t=40)
    content = base64.b64decode(file["base64"])
    assert content.startswith(b"GIF8")
    assert file["media_type"] == "image/gif"
