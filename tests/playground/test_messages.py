"""Whatever a page sends, it is answered by a sentence that names the parameter, or does nothing."""

import json

import pytest
from playground_cases import refusal, session_of, state_of

from kpegasos.playground.messages import (
    MOST_TEXT,
    REQUESTS,
    MessageError,
    parsed,
    request_of,
    scene_of,
)
from kpegasos.playground.session import ANSWERS, Session

NAN, HUGE = float("nan"), 10**400
BAD_STATES = [
    ("points", {"points": 3}),
    ("points", {"points": [[1.0]] * 60}),
    ("points", {"points": [[1.0, 2.0, 3.0]] * 60}),
    ("points", {"points": [["1", "2"]] * 60}),
    ("points", {"points": [[True, 2.0]] * 60}),
    ("points", {"points": [[1.0, NAN]] * 60}),
    ("points", {"points": [[1.0, float("inf")]] * 60}),
    ("points", {"points": [[1.0, 1.1e6]] * 60}),
    ("points", {"points": [[1.0, HUGE]] * 60}),
    ("points", {"points": [[0.0, 0.0]] * 2001}),
    ("labels", {"labels": [0] * 59}),
    ("labels", {"labels": [4] * 60}),
    ("labels", {"labels": [-1] * 60}),
    ("labels", {"labels": [0.0] * 60}),
    ("labels", {"labels": [True] * 60}),
    ("labels", {"labels": "ab"}),
    ("test", {"test": [0] * 60}),
    ("test", {"test": [False]}),
    ("panes", {"panes": []}),
    ("panes", {"panes": [{"kernel": "rbf"}] * 3}),
    ("panes[0]", {"panes": ["rbf"]}),
    ("panes[0].kernel", {"panes": [{}]}),
    ("panes[0].kernel", {"panes": [{"kernel": "precomputed"}]}),
    ("panes[1].kernel", {"panes": [{"kernel": "rbf"}, {"kernel": ["rbf"]}]}),
    ("panes[0].gamma", {"panes": [{"kernel": "rbf", "gamma": 0}]}),
    ("panes[0].gamma", {"panes": [{"kernel": "rbf", "gamma": "auto"}]}),
    ("panes[0].gamma", {"panes": [{"kernel": "rbf", "gamma": 1e10}]}),
    ("panes[0].gamma", {"panes": [{"kernel": "rbf", "gamma": None}]}),
    ("panes[0].degree", {"panes": [{"kernel": "poly", "degree": 0}]}),
    ("panes[0].degree", {"panes": [{"kernel": "poly", "degree": 2.0}]}),
    ("panes[0].degree", {"panes": [{"kernel": "poly", "degree": HUGE}]}),
    ("panes[0].coef0", {"panes": [{"kernel": "poly", "coef0": NAN}]}),
    ("cache", {"panes": [{"kernel": "rbf", "cache": "streamed"}]}),
    ("C", {"C": None}),
    ("C", {"lam": 0.1}),
    ("C", {"C": 0}),
    ("C", {"C": "10"}),
    ("C", {"C": NAN}),
    ("lam", {"C": None, "lam": -0.1}),
    ("lam", {"C": None, "lam": 1e-10}),
    ("fit_intercept", {"fit_intercept": 1}),
    ("batch_size", {"batch_size": 0}),
    ("batch_size", {"batch_size": 1.0}),
    ("batch_size", {"batch_size": 2001}),
    ("sampling", {"sampling": "contiguous"}),
    ("projection", {"projection": None}),
    ("average", {"average": "mean"}),
    ("loss", {"loss": "huber"}),
    ("loss", {"loss": {"value": "__import__('os')"}}),
    ("step", {"step": "constant"}),
    ("step.rule", {"step": {}}),
    ("step.rule", {"step": {"rule": "adam"}}),
    ("step.scale", {"step": {"rule": "constant", "scale": 0}}),
    ("eta", {"step": {"rule": "constant", "eta": 1}}),
    ("seed", {"seed": -1}),
    ("seed", {"seed": 2**32}),
    ("seed", {"seed": 0.5}),
    ("random_state", {"random_state": 0}),
    ("__class__", {"__class__": "object"}),
]
SHOW = {"kind": "show", "revision": 1, "t": 5, "id": 3}
BAD_MESSAGES = [
    ("message", None),
    ("message", 5),
    ("message", "show"),
    ("message", [SHOW]),
    ("kind", {}),
    ("kind", {"kind": "eval", "code": "1"}),
    ("kind", {"kind": "_show"}),
    ("kind", {"kind": ["show"]}),
    ("kind", {"kind": {"show": 1}}),
    ("revision", {"kind": "state", "state": {}}),
    ("state", {"kind": "state", "revision": 1}),
    ("state", {"kind": "state", "revision": 1, "state": []}),
    ("C", {"kind": "state", "revision": 1, "state": {}}),
    ("revision", {**SHOW, "revision": -1}),
    ("revision", {**SHOW, "revision": "1"}),
    ("revision", {**SHOW, "revision": 2}),
    ("revision", {**SHOW, "revision": HUGE}),
    ("t", {**SHOW, "t": -1}),
    ("t", {**SHOW, "t": 1.5}),
    ("t", {**SHOW, "t": None}),
    ("t", {**SHOW, "t": 10_000_001}),
    ("t", {**SHOW, "t": HUGE}),
    ("t", {name: value for name, value in SHOW.items() if name != "t"}),
    ("id", {**SHOW, "id": None}),
    ("id", {**SHOW, "id": True}),
    ("id", {**SHOW, "id": 2**53 + 1}),
    ("explain", {**SHOW, "explain": 1}),
    ("history", {**SHOW, "history": "yes"}),
    ("path", {**SHOW, "path": "/etc/passwd"}),
    ("what", {"kind": "export", "id": 1, "revision": 1, "t": 5, "what": "pickle"}),
    ("what", {"kind": "export", "id": 1, "revision": 1, "t": 5, "what": "csv"}),
    ("file", {"kind": "export", "id": 1, "revision": 1, "t": 5, "what": "png", "file": "/x"}),
    ("points", {"kind": "export", "id": 1, "revision": 1, "t": 0, "what": "png"}),
    (
        "algorithm",
        {"kind": "export", "id": 1, "revision": 1, "t": 1, "what": "png", "algorithm": 1},
    ),
]


@pytest.mark.parametrize(("parameter", "changes"), BAD_STATES)
def test_bad_state_is_told_by_its_parameter(parameter, changes):
    with pytest.raises(MessageError) as caught:
        scene_of({**state_of(), **changes})
    assert caught.value.parameter == parameter
    sentence = str(caught.value)
    assert " must " in sentence
    assert len(sentence) < 500
    assert "\n" not in sentence


@pytest.mark.parametrize("name", sorted(state_of()))
def test_state_has_every_key(name):
    state = state_of()
    del state[name]
    with pytest.raises(MessageError, match=f"{name} must be in the state"):
        scene_of(state)


@pytest.mark.parametrize(("parameter", "message"), BAD_MESSAGES)
def test_bad_message_is_told_by_its_parameter(parameter, message):
    error = refusal(session_of(), message)
    assert error["parameter"] == parameter
    assert " must " in error["message"]
    assert json.loads(json.dumps(error, allow_nan=False)) == error


def test_error_has_the_number_of_the_request():
    assert refusal(session_of(), {**SHOW, "t": -1})["id"] == 3
    assert refusal(session_of(), {"kind": "show", "id": "3"})["id"] is None


def test_requests_may_leave_out_what_is_optional():
    request = request_of(SHOW)
    assert request["explain"] is request["history"] is False


def test_nothing_is_done_with_a_bad_message():
    session = session_of()
    scene = session.scene
    for _, message in BAD_MESSAGES:
        session.handle(message)
        assert session.scene is scene


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        '{"kind": "show", "t": Infinity}',
        "[" * 100_000,
        "1" * 100_000,
        "\x00",
        b"{}",
        "[" + " " * MOST_TEXT + "]",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_text_that_is_no_message_is_refused(text):
    with pytest.raises(MessageError, match=r"^message must ") as caught:
        parsed(text)
    assert caught.value.parameter == "message"


def test_deep_and_wide_messages_are_told_in_a_line():
    deep = json.loads("[" * 500 + "]" * 500)
    for message in (deep, {"kind": "show", "t": deep}, {"kind": "state", "state": {"C": deep}}):
        assert len(refusal(Session(), message)["message"]) < 500
    long_key = {"kind": "hello", "k" * 100_000: 1}
    error = refusal(Session(), long_key)
    assert len(error["message"]) < 500
    assert error["parameter"] == "hello"


def test_an_error_nobody_thought_of_does_not_end_the_session(monkeypatch):
    session = session_of()
    monkeypatch.setitem(ANSWERS, "polish", lambda session, request: 1 / 0)
    error = refusal(session, {"kind": "polish", "revision": 1, "id": 5})
    assert error["message"] == "message led to ZeroDivisionError: division by zero"
    assert session.handle(SHOW)[0]["kind"] == "frame"


def test_every_kind_of_request_has_an_answer():
    assert set(ANSWERS) == set(REQUESTS)
