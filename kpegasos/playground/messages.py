"""What may cross the wire: every message of the page is checked here, and becomes plain values.

The page owns the state, one object, and sends all of it after each edit. An engine answers
requests about it and keeps nothing that it could not compute again.

To the engine::

    {"kind": "hello"}                                                   -> hello
    {"kind": "state", "revision": r, "state": {...}}                    -> nothing, or an error
    {"kind": "show", "revision": r, "t": t, "id": k, "explain": false, "history": false} -> frame
    {"kind": "polish", "revision": r, "id": k}                          -> frame
    {"kind": "compare", "revision": r, "id": k}                         -> frame
    {"kind": "preset", "id": k, "name": "moons", "n": 200, "noise": 0.2, "test_share": 0.0,
     "classes": 2, "seed": 0}                                           -> points
    {"kind": "table", "id": k, "table": "x,y,label and so on"}         -> points
    {"kind": "export", "id": k, "revision": r, "t": t, "what": "code", "algorithm": "pegasos"}
                                                                        -> file

To the page: "hello" at first, then "frame", "points", "file", "error", as `kpegasos.playground`'s
other modules make them, and "state" where Python replaces the whole state. Numbers that are not
finite cross as null.

A page has two requests to show unanswered at the most. Of more, an engine may answer the newest
only. Answers come in the order of the requests.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NoReturn

from kpegasos.playground.checks import (
    ALGORITHMS,
    EXPORTS,
    LARGEST_SEED,
    MOST_CLASSES,
    MOST_POINTS,
    MOST_STEPS,
    MOST_TEXT,
    PRESETS,
    Check,
    MessageError,
    checked,
    checked_object,
    choice,
    flag,
    integer,
    number,
)
from kpegasos.playground.scenes import scene_of
from kpegasos.utils.validation import as_choice, shown


def parsed(text: Any) -> Any:
    """What a message says as JSON.

    Raises
    ------
    MessageError
        If it is too long, or no JSON; NaN and infinities are none.
    """
    if not isinstance(text, str):
        raise MessageError("message", f"message must be text, got {type(text).__name__} instead")
    if len(text) > MOST_TEXT:
        raise MessageError(
            "message", f"message must have at most {MOST_TEXT} characters, got {len(text)} instead"
        )
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse_constant)
    raise MessageError("message", f"message must be JSON, got {shown(text)} instead")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _table(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise MessageError(
            "table", f"table must have at most {MOST_TEXT} characters, got {shown(value)} instead"
        )
    return value


_ID, _REVISION = integer("id"), integer("revision")
_T = integer("t", most=MOST_STEPS)
#: Keys of each kind of request, beside "kind".
REQUESTS: dict[str, dict[str, Check]] = {
    "hello": {},
    "state": {"revision": _REVISION, "state": scene_of},
    "show": {
        "revision": _REVISION,
        "t": _T,
        "id": _ID,
        "explain": flag("explain"),
        "history": flag("history"),
    },
    "polish": {"revision": _REVISION, "id": _ID},
    "compare": {"revision": _REVISION, "id": _ID},
    "preset": {
        "id": _ID,
        "name": choice("name", PRESETS),
        "n": integer("n", least=2, most=MOST_POINTS),
        "noise": number("noise", 0.0, 10.0),
        "test_share": number("test_share", 0.0, 0.9),
        "classes": integer("classes", least=2, most=MOST_CLASSES),
        "seed": integer("seed", most=LARGEST_SEED),
    },
    "table": {"id": _ID, "table": _table},
    "export": {
        "id": _ID,
        "revision": _REVISION,
        "t": _T,
        "what": choice("what", EXPORTS),
        "algorithm": choice("algorithm", ("pegasos", *ALGORITHMS)),
    },
}
#: Keys that a request may leave out.
_OPTIONAL: dict[str, Any] = {
    "explain": False,
    "history": False,
    "test_share": 0.0,
    "classes": 2,
    "seed": 0,
    "algorithm": "pegasos",
}


def request_of(message: Any) -> dict[str, Any]:
    """A request with checked values, all keys there.

    Raises
    ------
    MessageError
        Naming the parameter, what was expected and what came.
    """
    if not isinstance(message, dict):
        raise MessageError("message", f"message must be an object, got {shown(message)} instead")
    kind = checked("kind", as_choice, message.get("kind"), choices=tuple(REQUESTS))
    checks = REQUESTS[kind]
    checked_object(kind, message, {"kind", *checks})
    request = {"kind": kind}
    for name, check in checks.items():
        if name not in message and name in _OPTIONAL:
            request[name] = _OPTIONAL[name]
        elif name not in message:
            raise MessageError(name, f"{name} must be in a message of kind {kind!r}, got none")
        else:
            request[name] = check(message[name])
    return request


def id_of(message: Any) -> int | None:
    """The number of a request, if it has a proper one."""
    found = message.get("id") if isinstance(message, dict) else None
    with suppress(MessageError):
        return int(_ID(found))
    return None
