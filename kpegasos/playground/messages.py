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
    {"kind": "table", "id": k, "text": "x,y,label and so on"}          -> points
    {"kind": "export", "id": k, "revision": r, "t": t, "what": "code"}  -> file

To the page: "hello" at first, then "frame", "points", "file", "error", as `kpegasos.playground`'s
other modules make them, and "state" where Python replaces the whole state. Numbers that are not
finite cross as null.

A page has two requests to show unanswered at the most. Of more, an engine may answer the newest
only. Answers come in the order of the requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from kpegasos.core.averaging import AVERAGES
from kpegasos.losses import CLASSIFICATION
from kpegasos.utils.validation import as_choice, as_flag, as_integer, as_number, optional, shown

#: Characters of a message, and of a table in it.
MOST_TEXT = 1 << 20
MOST_POINTS = 2000
MOST_CLASSES = 4
MOST_STEPS = 10_000_000
#: Of a coordinate.
FARTHEST = 1e6
KERNELS = ("linear", "rbf", "poly", "laplacian", "sigmoid")
SAMPLINGS = ("permutation", "uniform")
STEP_RULES = ("inverse_sqrt", "constant", "delayed")
PRESETS = ("moons", "circles", "xor", "spirals", "blobs", "imbalanced", "label_noise")
EXPORTS = ("code", "csv", "png", "svg", "gif")
#: Of C, lam, gamma and step sizes.
_SMALLEST, _LARGEST = 1e-9, 1e9
#: Beyond this JavaScript does not count.
_MOST_NUMBER = 2**53
_LARGEST_SEED = 2**32 - 1


class MessageError(ValueError):
    """A message will not do.

    Attributes
    ----------
    parameter : str
        What is wrong, by its name in the message.
    """

    def __init__(self, parameter: str, sentence: str) -> None:
        super().__init__(sentence)
        self.parameter = parameter


@dataclass(frozen=True)
class Pane:
    """One of the models beside each other."""

    kernel: str
    gamma: str | float
    degree: int
    coef0: float


@dataclass(frozen=True)
class StepRule:
    """Step sizes other than ``1 / (lam t)``."""

    rule: str
    scale: float


@dataclass(frozen=True)
class Settings:
    """What all panes share, in the words of `PegasosSVC`."""

    C: float | None
    lam: float | None
    fit_intercept: bool
    batch_size: int
    sampling: str
    projection: bool
    average: str | None
    loss: str
    step: StepRule | None
    seed: int


@dataclass(frozen=True)
class Scene:
    """The state of a page.

    Attributes
    ----------
    points : ndarray of shape (n_points, 2)
    labels : ndarray of shape (n_points,), int64
        Classes 0 to 3.
    test : ndarray of shape (n_points,), bool
        Points that are held out.
    panes : tuple of Pane
    settings : Settings
    """

    points: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    panes: tuple[Pane, ...]
    settings: Settings


#: What a new page begins with, but for the points.
DEFAULTS: dict[str, Any] = {
    "panes": [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0},
    ],
    "C": 10.0,
    "lam": None,
    "fit_intercept": True,
    "batch_size": 1,
    "sampling": "permutation",
    "projection": False,
    "average": "weighted",
    "loss": "hinge",
    "step": None,
    "seed": 0,
}


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


def checked(parameter: str, check: Callable[..., Any], value: Any, **limits: Any) -> Any:
    """Apply a check of `kpegasos.utils.validation`.

    Raises
    ------
    MessageError
        With its sentence.
    """
    try:
        return check(parameter, value, **limits)
    except (ValueError, TypeError) as error:
        raise MessageError(parameter, str(error)) from None


def checked_object(parameter: str, value: Any, known: Mapping[str, Any] | set[str]) -> dict:
    """An object whose keys are all known.

    Raises
    ------
    MessageError
        If it is something else.
    """
    if not isinstance(value, dict):
        raise MessageError(parameter, f"{parameter} must be an object, got {shown(value)} instead")
    for key in value:
        if key not in known:
            raise MessageError(
                key if len(key) <= 40 else parameter,
                f"{parameter} must have no other keys than {', '.join(sorted(known))}, "
                f"got {shown(key)}",
            )
    return value


# --- requests ---

#: Keys of each kind of request, beside "kind".
REQUESTS: dict[str, dict[str, Callable[[Any], Any]]] = {}
_Check = Callable[[Any], Any]


def _integer(name: str, *, least: int = 0, most: int = _MOST_NUMBER) -> _Check:
    return lambda value: checked(name, as_integer, value, least=least, most=most)


def _number(name: str, least: float, most: float) -> _Check:
    return lambda value: checked(name, as_number, value, least=least, most=most)


def _choice(name: str, choices: tuple[str, ...]) -> _Check:
    return lambda value: checked(name, as_choice, value, choices=choices)


def _flag(name: str) -> _Check:
    return lambda value: checked(name, as_flag, value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise MessageError(
            "text", f"text must have at most {MOST_TEXT} characters, got {shown(value)} instead"
        )
    return value


_ID, _REVISION = _integer("id"), _integer("revision")
_T = _integer("t", most=MOST_STEPS)
REQUESTS |= {
    "hello": {},
    "state": {"revision": _REVISION, "state": lambda value: scene_of(value)},
    "show": {
        "revision": _REVISION,
        "t": _T,
        "id": _ID,
        "explain": _flag("explain"),
        "history": _flag("history"),
    },
    "polish": {"revision": _REVISION, "id": _ID},
    "compare": {"revision": _REVISION, "id": _ID},
    "preset": {
        "id": _ID,
        "name": _choice("name", PRESETS),
        "n": _integer("n", least=2, most=MOST_POINTS),
        "noise": _number("noise", 0.0, 10.0),
        "test_share": _number("test_share", 0.0, 0.9),
        "classes": _integer("classes", least=2, most=MOST_CLASSES),
        "seed": _integer("seed", most=_LARGEST_SEED),
    },
    "table": {"id": _ID, "text": _text},
    "export": {"id": _ID, "revision": _REVISION, "t": _T, "what": _choice("what", EXPORTS)},
}
#: Keys that a request may leave out.
_OPTIONAL: dict[str, Any] = {
    "explain": False,
    "history": False,
    "test_share": 0.0,
    "classes": 2,
    "seed": 0,
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


# --- the state ---

_STATE_KEYS = {"points", "labels", "test", *DEFAULTS}


def scene_of(value: Any) -> Scene:
    """A state with checked values.

    Raises
    ------
    MessageError
        Naming the parameter, what was expected and what came.
    """
    state = checked_object("state", value, _STATE_KEYS)
    for name in sorted(_STATE_KEYS):
        if name not in state:
            raise MessageError(name, f"{name} must be in the state, got none")
    points = _points(state["points"])
    labels = _whole_column("labels", state["labels"], len(points))
    test = _flag_column("test", state["test"], len(points))
    return Scene(points, labels, test, _panes(state["panes"]), settings_of(state))


def settings_of(state: Mapping[str, Any]) -> Settings:
    """The settings among the keys of a state."""
    C = _cost("C", state["C"])
    lam = _cost("lam", state["lam"])
    if (C is None) == (lam is None):
        raise MessageError(
            "C", f"C or lam must be a number and the other null, got {C} and {lam} instead"
        )
    batch_size = checked("batch_size", as_integer, state["batch_size"], least=1, most=MOST_POINTS)
    return Settings(
        C=C,
        lam=lam,
        fit_intercept=checked("fit_intercept", as_flag, state["fit_intercept"]),
        batch_size=batch_size,
        sampling=checked("sampling", as_choice, state["sampling"], choices=SAMPLINGS),
        projection=checked("projection", as_flag, state["projection"]),
        average=optional(_average, "average", state["average"]),
        loss=checked("loss", as_choice, state["loss"], choices=tuple(CLASSIFICATION)),
        step=optional(_step, "step", state["step"]),
        seed=checked("seed", as_integer, state["seed"], least=0, most=_LARGEST_SEED),
    )


def _cost(name: str, value: Any) -> float | None:
    return None if value is None else _number(name, _SMALLEST, _LARGEST)(value)


def _average(name: str, value: Any) -> str:
    names = tuple(average for average in AVERAGES if average is not None)
    return str(checked(name, as_choice, value, choices=names))


def _step(name: str, value: Any) -> StepRule:
    rule = checked_object(name, value, {"rule", "scale"})
    chosen = checked("step.rule", as_choice, rule.get("rule"), choices=STEP_RULES)
    return StepRule(chosen, _number("step.scale", _SMALLEST, _LARGEST)(rule.get("scale", 1.0)))


def _listed(name: str, value: Any) -> list:
    if not isinstance(value, list):
        raise MessageError(name, f"{name} must be a list, got {shown(value)} instead")
    if len(value) > MOST_POINTS:
        raise MessageError(
            name, f"{name} must be at most {MOST_POINTS:,} points, got {len(value):,} instead"
        )
    return value


def _points(value: Any) -> np.ndarray:
    points = _listed("points", value)
    for number, point in enumerate(points):
        proper = isinstance(point, list) and len(point) == 2
        if not proper or not all(
            type(x) in (int, float) and -FARTHEST <= x <= FARTHEST for x in point
        ):
            raise MessageError(
                "points",
                f"points must be pairs of numbers of at most {FARTHEST:,.0f} in size, "
                f"got {shown(point)} at place {number} instead",
            )
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def _whole_column(name: str, value: Any, n_points: int) -> np.ndarray:
    return _column(
        name,
        value,
        n_points,
        lambda x: type(x) is int and 0 <= x < MOST_CLASSES,
        np.dtype(np.int64),
        f"classes from 0 to {MOST_CLASSES - 1}",
    )


def _flag_column(name: str, value: Any, n_points: int) -> np.ndarray:
    is_flag: _Check = lambda x: isinstance(x, bool)  # noqa: E731
    return _column(name, value, n_points, is_flag, np.dtype(np.bool_), "true or false")


def _column(
    name: str, value: Any, n_points: int, proper: _Check, dtype: np.dtype, expected: str
) -> np.ndarray:
    entries = _listed(name, value)
    if len(entries) != n_points:
        raise MessageError(
            name, f"{name} must have an entry for each of {n_points} points, got {len(entries)}"
        )
    for number, entry in enumerate(entries):
        if not proper(entry):
            raise MessageError(
                name, f"{name} must be {expected}, got {shown(entry)} at place {number} instead"
            )
    return np.array(entries, dtype=dtype)


def _panes(value: Any) -> tuple[Pane, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= 2:
        raise MessageError("panes", f"panes must be a list of one or two, got {shown(value)}")
    return tuple(_pane(f"panes[{number}]", pane) for number, pane in enumerate(value))


def _pane(name: str, value: Any) -> Pane:
    pane = checked_object(name, value, {"kernel", "gamma", "degree", "coef0"})
    gamma = pane.get("gamma", "scale")
    if gamma != "scale":
        gamma = _number(f"{name}.gamma", _SMALLEST, _LARGEST)(gamma)
    return Pane(
        checked(f"{name}.kernel", as_choice, pane.get("kernel"), choices=KERNELS),
        gamma,
        checked(f"{name}.degree", as_integer, pane.get("degree", 3), least=1, most=10),
        _number(f"{name}.coef0", -FARTHEST, FARTHEST)(pane.get("coef0", 0.0)),
    )
