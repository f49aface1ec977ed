"""What a page saves: code that makes the picture, points, pictures."""

import base64
import re
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from matplotlib import image
from playground_cases import refusal, session_of, shown, state_of

from kpegasos.playground.presets import table_points

CASES = [
    {"held_out": 7, "batch_size": 2, "projection": True, "average": "suffix", "seed": 5},
    *(
        pytest.param(changes, marks=pytest.mark.slow)
        for changes in (
            {},
            {
                "n_classes": 3,
                "C": None,
                "lam": 0.01,
                "loss": "squared_hinge",
                "fit_intercept": False,
                "sampling": "uniform",
                "panes": [{"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.5}],
            },
            {
                "panes": [
                    {"kernel": "sigmoid", "gamma": 0.1},
                    {"kernel": "laplacian", "gamma": "scale"},
                ]
            },
        )
    ),
]


def saved(session, what, t=120):
    (answer,) = session.handle({"kind": "export", "revision": 1, "id": 2, "t": t, "what": what})
    assert answer["kind"] == "file", answer
    return answer


@pytest.mark.parametrize("changes", CASES, ids=lambda changes: "-".join(changes))
def test_code_gives_the_same_objective(changes, tmp_path):
    state = state_of(**changes)
    session = session_of(state)
    script = tmp_path / "playground.py"
    script.write_text(saved(session, "code")["text"], encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", script],
        env={**__import__("os").environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    told = [float(number) for number in re.findall(r"objective ([^,]+),", run.stdout)]
    assert told == [pane["averaged"] for pane in shown(session, 120)["panes"]]
    if changes.get("held_out"):
        errors = [float(number) / 100 for number in re.findall(r"test error ([\d.]+)%", run.stdout)]
        expected = [pane["test_error"] for pane in shown(session, 120)["panes"]]
        assert errors == pytest.approx(expected, abs=1e-5)


def test_code_is_short_and_readable():
    text = saved(session_of(state_of(held_out=3)), "code")["text"]
    assert max(map(len, text.splitlines())) <= 110
    assert "PegasosSVC(kernel='linear', C=10.0, random_state=0, n_steps=120" in text


def test_step_rules_have_no_code():
    session = session_of(state_of(step={"rule": "delayed"}))
    message = {"kind": "export", "revision": 1, "id": 2, "t": 5, "what": "code"}
    assert refusal(session, message)["parameter"] == "step"


def test_points_are_saved_as_a_table():
    state = state_of(4, held_out=5)
    file = saved(session_of(state), "csv")
    points = table_points(None, file["text"])
    assert {name: state[name] for name in ("points", "labels", "test")}.items() <= points.items()
    assert (file["name"], file["media_type"]) == ("playground.csv", "text/csv")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_pictures_are_drawn(n_classes):
    session = session_of(state_of(n_classes, held_out=5))
    picture = image.imread(BytesIO(base64.b64decode(saved(session, "png")["base64"])))
    assert picture.shape[1] == 1440
    assert np.unique(picture.reshape(-1, picture.shape[2]), axis=0).shape[0] > 100
    drawing = saved(session, "svg")
    assert drawing["text"].startswith("<?xml")
    assert "<svg" in drawing["text"]
    assert saved(session, "svg")["text"] == drawing["text"]


@pytest.mark.slow
def test_run_is_saved_as_an_animation():
    file = saved(session_of(), "gif", t=40)
    content = base64.b64decode(file["base64"])
    assert content.startswith(b"GIF8")
    assert file["media_type"] == "image/gif"


def test_animation_is_of_two_classes():
    message = {"kind": "export", "revision": 1, "id": 2, "t": 5, "what": "gif"}
    assert refusal(session_of(state_of(3)), message)["parameter"] == "what"


def test_points_can_be_saved_before_there_is_a_model():
    session = session_of(state_of(labels=[1] * 60))
    assert saved(session, "csv", t=0)["text"].startswith("x,y,label,test\n")
    message = {"kind": "export", "revision": 1, "id": 2, "t": 50, "what": "code"}
    assert "fewer than two classes" in refusal(session, message)["message"]
