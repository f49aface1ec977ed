"""Check what may cross the wire: every message of the page becomes plain values here.

The page owns the state, one object, and sends all of it after each edit. An engine answers
requests about it and keeps nothing that it could not compute again.

To the engine::

    {"kind": "hello"}                                                   -> hello
    {"kind": "state", "revision": r, "state": {...}}                    -> nothing, or an error
    {"kind": "show", "revision": r, "t": t, "id": k, "explain": false, "history": false} -> frame
    {"kind": "polish", "revision": r, "id": k}                          -> frame
    {"kind": "compare", "revision": r, "id": k}                         -> frame
    {"kind": "export", "id": k, "revision": r, "t": t, "what": "png", "algorithm": "pegasos"}
                                                                        -> file

To the page: "hello" at first, then "frame", "file", "error", as `kpegasos.playground`'s
other modules make them, and "state" where Python replaces the whole state. Numbers that are not
finite cross as null.

A page has two requests to show unanswered at the most. Of more, an engine may answer the newest
only. Answers come in the order of the requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from kpegasos.core.averaging import AVERAGES
from kpegasos.losses import CLASSIFICATION
from kpegasos.utils.validation import as_choice, as_flag, as_integer, as_number, shown

#: Characters of a message, and of a table.
MOST_TEXT = 1 << 20
MOST_POINTS = 2000
MOST_CLASSES = 4
MOST_STEPS = 10_000_000
#: Size of a coordinate.
FARTHEST = 1e6
KERNELS = ("linear", "rbf", "poly", "laplacian", "sigmoid")
SAMPLINGS = ("permutation", "uniform")
STEP_RULES = ("inverse_sqrt", "constant", "delayed")
#: Others than Pegasos.
ALGORITHMS = ("polish", "SVC")
EXPORTS = ("png", "svg", "gif")
#: Bounds of C, lam, gamma and step sizes.
_SMALLEST, _LARGEST = 1e-9, 1e9
_LARGEST_SEED = 2**32 - 1

#: Checks a value, and returns it as a plain one.
Check = Callable[[Any], Any]


class MessageError(ValueError):
    """A message will not do.

    Attributes
    ----------
    parameter : str
        What is wrong, by its name in the message: the first word of the sentence unless given.
    """

    def __init__(self, sentence: str, parameter: str | None = None) -> None:
        super().__init__(sentence)
        self.parameter = parameter or sentence.partition(" ")[0]


# --- checks of values ---


def _checked(check: Callable[..., Any], name: str, value: Any, **limits: Any) -> Any:
    """Apply a check of `kpegasos.utils.validation`.

    Raises
    ------
    MessageError
        With its sentence.
    """
    try:
        return check(name, value, **limits)
    except (ValueError, TypeError) as error:
        raise MessageError(str(error), name) from None


def _integer(name: str, *, least: int = 0, most: int = 2**53) -> Check:
    """Make a check of whole numbers; JavaScript counts no further than 2**53."""
    return partial(_checked, as_integer, name, least=least, most=most)


def _number(name: str, least: float = _SMALLEST, most: float = _LARGEST) -> Check:
    return partial(_checked, as_number, name, least=least, most=most)


def _choice(name: str, choices: tuple[str, ...]) -> Check:
    return partial(_checked, as_choice, name, choices=choices)


def _flag(name: str) -> Check:
    return partial(_checked, as_flag, name)


def _or_null(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _object(name: str, value: Any, known: Collection[str]) -> dict:
    """Check for an object whose keys are all known."""
    if not isinstance(value, dict):
        raise MessageError(f"{name} must be an object, got {shown(value)} instead")
    for key in value:
        if key not in known:
            raise MessageError(
                f"{name} must have no other keys than {', '.join(sorted(known))}, got {shown(key)}",
                key if len(key) <= 40 else name,
            )
    return value


# --- the state ---


class Pane(NamedTuple):
    """One of the models beside each other."""

    kernel: str
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0


class StepRule(NamedTuple):
    """Step sizes other than ``1 / (lam t)``."""

    rule: str
    scale: float = 1.0


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
    settings : dict
        What all panes share, in the words of `PegasosSVC`, and the step.
    """

    points: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    panes: tuple[Pane, ...]
    settings: dict[str, Any]


#: What a new page begins with, but for the points.
DEFAULTS: dict[str, Any] = {
    "panes": [{"kernel": "linear"}, Pane("rbf")._asdict()],
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
_STATE_KEYS = {"points", "labels", "test", *DEFAULTS}


def _step(value: Any) -> StepRule:
    given = StepRule(**{"rule": None, **_object("step", value, StepRule._fields)})
    rule = _choice("step.rule", STEP_RULES)(given.rule)
    return StepRule(rule, _number("step.scale")(given.scale))


_SETTINGS: dict[str, Check] = {
    "C": _or_null(_number("C")),
    "lam": _or_null(_number("lam")),
    "fit_intercept": _flag("fit_intercept"),
    "batch_size": _integer("batch_size", least=1, most=MOST_POINTS),
    "sampling": _choice("sampling", SAMPLINGS),
    "projection": _flag("projection"),
    "average": _or_null(_choice("average", tuple(filter(None, AVERAGES)))),
    "loss": _choice("loss", tuple(CLASSIFICATION)),
    "step": _or_null(_step),
    "seed": _integer("seed", most=_LARGEST_SEED),
}


def scene_of(value: Any) -> Scene:
    """Check a state.

    Raises
    ------
    MessageError
        Naming the parameter, what was expected and what came.
    """
    state = _object("state", value, _STATE_KEYS)
    for name in sorted(_STATE_KEYS):
        if name not in state:
            raise MessageError(f"{name} must be in the state, got none")
    points = _points(state["points"])
    labels = _column(
        "labels",
        state["labels"],
        len(points),
        lambda label: type(label) is int and 0 <= label < MOST_CLASSES,
        f"classes from 0 to {MOST_CLASSES - 1}",
    )
    test = _column(
        "test", state["test"], len(points), lambda each: isinstance(each, bool), "true or false"
    )
    panes = state["panes"]
    if not isinstance(panes, list) or not 1 <= len(panes) <= 2:
        raise MessageError(f"panes must be a list of one or two, got {shown(panes)}")
    settings = {name: check(state[name]) for name, check in _SETTINGS.items()}
    C, lam = settings["C"], settings["lam"]
    if (C is None) == (lam is None):
        raise MessageError(
            f"C or lam must be a number and the other null, got {C} and {lam} instead"
        )
    return Scene(
        points,
        np.array(labels, dtype=np.int64),
        np.array(test, dtype=bool),
        tuple(_pane(f"panes[{place}]", pane) for place, pane in enumerate(panes)),
        settings,
    )


def _pane(name: str, value: Any) -> Pane:
    given = Pane(**{"kernel": None, **_object(name, value, Pane._fields)})
    return Pane(
        _choice(f"{name}.kernel", KERNELS)(given.kernel),
        given.gamma if given.gamma == "scale" else _number(f"{name}.gamma")(given.gamma),
        _integer(f"{name}.degree", least=1, most=10)(given.degree),
        _number(f"{name}.coef0", -FARTHEST, FARTHEST)(given.coef0),
    )


def _listed(name: str, value: Any) -> list:
    if not isinstance(value, list):
        raise MessageError(f"{name} must be a list, got {shown(value)} instead")
    if len(value) > MOST_POINTS:
        raise MessageError(
            f"{name} must be at most {MOST_POINTS:,} points, got {len(value):,} instead"
        )
    return value


def _points(value: Any) -> np.ndarray:
    points = _listed("points", value)
    for place, point in enumerate(points):
        proper = isinstance(point, list) and len(point) == 2
        if not proper or not all(
            type(x) in (int, float) and -FARTHEST <= x <= FARTHEST for x in point
        ):
            raise MessageError(
                f"points must be pairs of numbers of at most {FARTHEST:,.0f} in size, "
                f"got {shown(point)} at place {place} instead",
            )
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def _column(name: str, value: Any, n_points: int, proper: Check, expected: str) -> list:
    entries = _listed(name, value)
    if len(entries) != n_points:
        raise MessageError(
            f"{name} must have an entry for each of {n_points} points, got {len(entries)}"
        )
    for place, entry in enumerate(entries):
        if not proper(entry):
            raise MessageError(
                f"{name} must be {expected}, got {shown(entry)} at place {place} instead"
            )
    return entries


# --- requests ---


def parsed(text: Any) -> Any:
    """Read a message as JSON.

    Raises
    ------
    MessageError
        If it is too long, or no JSON; NaN and infinities are none.
    """
    if not isinstance(text, str):
        raise MessageError(f"message must be text, got {type(text).__name__} instead")
    if len(text) > MOST_TEXT:
        raise MessageError(
            f"message must have at most {MOST_TEXT} characters, got {len(text)} instead"
        )
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse_constant)
    raise MessageError(f"message must be JSON, got {shown(text)} instead")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_ABOUT = {"revision": _integer("revision"), "id": _integer("id")}
_T = _integer("t", most=MOST_STEPS)
#: Keys of each kind of request, beside "kind".
REQUESTS: dict[str, dict[str, Check]] = {
    "hello": {},
    "state": {"revision": _ABOUT["revision"], "state": scene_of},
    "show": {**_ABOUT, "t": _T, "explain": _flag("explain"), "history": _flag("history")},
    "polish": _ABOUT,
    "compare": _ABOUT,
    "export": {
        **_ABOUT,
        "t": _T,
        "what": _choice("what", EXPORTS),
        "algorithm": _choice("algorithm", ("pegasos", *ALGORITHMS)),
    },
}
#: Keys that a request may leave out.
_OPTIONAL = {"explain": False, "history": False, "algorithm": "pegasos"}


def request_of(message: Any) -> dict[str, Any]:
    """Check a request; in what is returned all keys are there.

    Raises
    ------
    MessageError
        Naming the parameter, what was expected and what came.
    """
    if not isinstance(message, dict):
        raise MessageError(f"message must be an object, got {shown(message)} instead")
    kind = _choice("kind", tuple(REQUESTS))(message.get("kind"))
    checks = REQUESTS[kind]
    given = {**_OPTIONAL, **_object(kind, message, {"kind", *checks})}
    for name in checks:
        if name not in given:
            raise MessageError(f"{name} must be in a message of kind {kind!r}, got none")
    return {"kind": kind, **{name: check(given[name]) for name, check in checks.items()}}


def id_of(message: Any) -> int | None:
    """Return the number of a request, if it has a proper one."""
    found = message.get("id") if isinstance(message, dict) else None
    with suppress(MessageError):
        return int(_ABOUT["id"](found))
    return None
