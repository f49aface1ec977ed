"""Whatever a page sends, or a table holds: a sentence that names the parameter, or nothing."""

import json
import re

import pytest
from playground_cases import BAD_STATES, HUGE, TABLES, refusal, session_of, state_of

from kpegasos.playground.files import state_of_table, state_of_text
from kpegasos.playground.messages import MOST_TEXT, REQUESTS, MessageError, parsed, scene_of
from kpegasos.playground.session import ANSWERS, Session

SHOW = {"kind": "show", "revision": 1, "t": 5, "id": 3}
EXPORT = {"kind": "export", "id": 1, "revision": 1, "t": 5, "what": "png"}
BAD_MESSAGES = [
    ("message", None),
    ("kind", {}),
    ("kind", {"kind": "_show"}),
    ("revision", {"kind": "state", "state": {}}),
    ("state", {"kind": "state", "revision": 1, "state": []}),
    ("revision", {**SHOW, "revision": -1}),
    ("revision", {**SHOW, "revision": 2}),
    ("t", {**SHOW, "t": 1.5}),
    ("t", {**SHOW, "t": HUGE}),
    ("t", {name: value for name, value in SHOW.items() if name != "t"}),
    ("id", {**SHOW, "id": 2**53 + 1}),
    ("explain", {**SHOW, "explain": 1}),
    ("history", {**SHOW, "history": "yes"}),
    ("path", {**SHOW, "path": "/etc/passwd"}),
    ("what", {**EXPORT, "what": "pickle"}),
    ("points", {**EXPORT, "t": 0}),
    ("algorithm", {**EXPORT, "algorithm": 1}),
]
#: Keys that a state does not have; the engine of the page looks at none of them.
UNKNOWN = [
    ("cache", {"panes": [{"kernel": "rbf", "cache": "streamed"}]}),
    ("eta", {"step": {"rule": "constant", "eta": 1}}),
    ("__class__", {"__class__": "object"}),
]


@pytest.mark.parametrize(("parameter", "changes"), BAD_STATES + UNKNOWN)
def test_bad_state_is_told_by_its_parameter(parameter, changes):
    with pytest.raises(MessageError) as caught:
        scene_of({**state_of(), **changes})
    assert caught.value.parameter == parameter
    assert " must " in str(caught.value)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


def test_state_has_every_key():
    for name in state_of():
        state = state_of()
        del state[name]
        with pytest.raises(MessageError, match=f"{name} must be in the state"):
            scene_of(state)


def test_bad_message_is_told_by_its_parameter_and_does_nothing():
    session = session_of()
    scene = session.scene
    for parameter, message in BAD_MESSAGES:
        error = refusal(session_of(), message)
        assert error["parameter"] == parameter
        assert " must " in error["message"]
        assert json.loads(json.dumps(error, allow_nan=False)) == error
        session.handle(message)
        assert session.scene is scene
    assert refusal(session, {**SHOW, "t": -1})["id"] == 3
    assert refusal(session, {"kind": "show", "id": "3"})["id"] is None


def test_text_that_is_no_message_is_refused():
    long = "[" + " " * MOST_TEXT + "]"
    for text in ("", "{", "NaN", '{"t": Infinity}', "[" * 100_000, "\x00", b"{}", long):
        with pytest.raises(MessageError, match=r"^message must ") as caught:
            parsed(text)
        assert caught.value.parameter == "message"


def test_deep_and_wide_messages_are_told_in_a_line():
    deep = json.loads("[" * 500 + "]" * 500)
    for message in (deep, {"kind": "show", "t": deep}, {"kind": "hello", "k" * 100_000: 1}):
        assert len(refusal(Session(), message)["message"]) < 500


def test_an_error_nobody_thought_of_does_not_end_the_session(monkeypatch):
    assert set(ANSWERS) == set(REQUESTS)
    session = session_of()
    monkeypatch.setitem(ANSWERS, "polish", lambda session, request: 1 / 0)
    error = refusal(session, {"kind": "polish", "revision": 1, "id": 5})
    assert error["message"] == "message led to ZeroDivisionError: division by zero"
    assert session.handle(SHOW)[0]["kind"] == "frame"


# --- tables ---


@pytest.mark.parametrize("text", TABLES)
def test_table_is_read_or_told_by_its_line(text):
    if isinstance(TABLES[text], list):
        assert state_of_text(text)["labels"] == TABLES[text]
        return
    with pytest.raises(MessageError, match=re.escape(TABLES[text])) as caught:
        state_of_text(text)
    assert caught.value.parameter == "table"


def test_table_is_read_however_it_is_divided(tmp_path):
    path = tmp_path / "data.csv"
    for mark in (",", ";", "\t", "  ", ", "):
        rows = [("x", "y", "class", "test"), ("1", "2.5", "7", "yes"), ("-3e-1", "4", "10", "0")]
        path.write_text("\ufeff" + "\n".join(map(mark.join, rows)), encoding="utf-8")
        state = state_of_table(path)
        scene = scene_of({name: state[name] for name in state if name != "names"})
        assert scene.points.tolist() == [[1.0, 2.5], [-0.3, 4.0]]
        assert (scene.labels.tolist(), scene.test.tolist()) == ([0, 1], [True, False])
        assert state["names"] == ["7", "10"]


def test_file_that_is_too_long_is_not_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2,3\n" * 200_000)
    with pytest.raises(MessageError, match=r"data\.csv must have at most"):
        state_of_table(path)
