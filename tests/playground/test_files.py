"""Pictures that a page saves."""

import base64
from io import BytesIO

import numpy as np
import pytest
from matplotlib import image
from playground_cases import session_of, state_of

from kpegasos.playground.files import figure_of


def saved(session, what, t=120):
    (answer,) = session.handle({"kind": "export", "revision": 1, "id": 2, "t": t, "what": what})
    assert answer["kind"] == "file", answer
    return answer


def test_pictures_are_drawn():
    session = session_of(state_of(3, held_out=5, panes=[{"kernel": "linear"}]))
    picture = image.imread(BytesIO(base64.b64decode(saved(session, "png")["base64"])))
    assert picture.shape[1] == 720
    assert np.unique(picture.sum(axis=2)).size > 100  # colours
    drawing = saved(session, "svg")["text"]
    assert drawing.startswith("<?xml")
    assert saved(session, "svg")["text"] == drawing


@pytest.mark.parametrize(
    ("algorithm", "message", "name"),
    [
        ("pegasos", {"kind": "show", "t": 120}, "Pegasos, t = 120"),
        ("polish", {"kind": "polish"}, "polished"),
        ("SVC", {"kind": "compare"}, "SVC (LIBSVM)"),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_figures_are_of_the_models_on_the_panes(n_classes, algorithm, message, name):
    state = state_of(n_classes, held_out=8)
    session = session_of(state)
    (frame,) = session.handle({"revision": 1, "id": 1, **message})
    runs = session._pane_runs()
    models = session.models(120) if algorithm == "pegasos" else [r.others[algorithm] for r in runs]
    figure = figure_of(session.scene, models, algorithm)
    regions, curves = figure.axes[:2], figure.axes[2:]
    assert [ax.get_title("left") for ax in regions] == [f"linear, {name}", f"rbf, {name}"]
    X, y, test = (np.array(state[key]) for key in ("points", "labels", "test"))
    for ax, model, pane in zip(regions, models, frame["panes"], strict=True):
        wrong = model.predict(X) != y
        errors = wrong[~test].mean(), wrong[test].mean()
        assert errors == (pane["train_error"], pane["test_error"])
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        letters = [f"class {letter}" for letter in "ABC"[:n_classes]]
        assert texts[: n_classes + 1] == [*letters, "held out"]
        assert texts[n_classes + 1].startswith("support vector")
        white = [each for each in ax.collections if each.get_facecolor()[:1].tolist() == [[1] * 4]]
        assert sum(len(each.get_offsets()) for each in white) == 8
    assert len(curves) == (0 if algorithm == "SVC" else 2)
    for ax, pane, model in zip(curves, frame["panes"], models, strict=False):
        lines = {line.get_label(): line.get_xydata() for line in ax.lines}
        assert list(lines) == ["last iterate", "averaged iterate", "dual bound"]
        assert {len(line) for line in lines.values()} == {len(lines["dual bound"])}
        assert len(lines["dual bound"]) >= (2 if algorithm == "polish" else 19)
        assert lines["averaged iterate"][-1, 1] == pytest.approx(np.sum(model.objective_))
        assert lines["dual bound"][-1, 1] == pytest.approx(pane["bound"])
        assert algorithm == "polish" or lines["dual bound"][-1, 0] == 120
        assert ("sum over pairs" in ax.get_ylabel()) == (n_classes > 2)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_run_is_saved_as_an_animation(n_classes):
    file = saved(session_of(state_of(n_classes)), "gif", t=40)
    content = base64.b64decode(file["base64"])
    assert content.startswith(b"GIF8")
    assert file["media_type"] == "image/gif"
