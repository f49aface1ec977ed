"""What a first click would wait for, done before: compiled loops are loaded or compiled."""

from __future__ import annotations

from typing import Any

from kpegasos.playground.checks import KERNELS
from kpegasos.playground.scenes import DEFAULTS
from kpegasos.playground.session import Session

_POINTS = [[0.0, 0.0], [1.0, 0.2], [0.3, 1.0], [1.0, 1.1], [0.1, 0.4], [0.9, 0.7]]
_LABELS = [0, 1, 0, 1, 0, 1]


def warm_up() -> None:
    """Ask for everything once, what a page begins with at first."""
    session, state = Session(), _state(DEFAULTS["panes"])
    for revision, panes in enumerate([state["panes"], *([{"kernel": each}] for each in KERNELS)]):
        session.handle({"kind": "state", "revision": revision, "state": {**state, "panes": panes}})
        for message in (
            {"kind": "show", "t": 0},
            {"kind": "show", "t": 40, "explain": True, "history": True},
            {"kind": "polish"},
        ):
            session.handle({**message, "revision": revision, "id": 0})


def _state(panes: list[dict[str, Any]]) -> dict[str, Any]:
    test = [False] * (len(_POINTS) - 1) + [True]
    return {**DEFAULTS, "points": _POINTS, "labels": _LABELS, "test": test, "panes": panes}
