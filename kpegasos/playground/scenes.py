"""The state of a page, checked: points, panes and settings as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kpegasos.core.averaging import AVERAGES
from kpegasos.losses import CLASSIFICATION
from kpegasos.playground.checks import (
    FARTHEST,
    KERNELS,
    LARGEST,
    LARGEST_SEED,
    MOST_CLASSES,
    MOST_POINTS,
    SAMPLINGS,
    SMALLEST,
    STEP_RULES,
    Check,
    MessageError,
    checked,
    checked_object,
    number,
)
from kpegasos.utils.validation import as_choice, as_flag, as_integer, optional, shown


@dataclass(frozen=True)
class Pane:
    """One of the models beside each other."""

    kernel: str
    gamma: str | float
    degree: int
    coef0: float


#: What a pane has, in the order of its documentation.
PANE_KEYS = tuple(field.name for field in fields(Pane))


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
    classes = f"classes from 0 to {MOST_CLASSES - 1}"
    labels = _column("labels", state["labels"], len(points), _is_class, classes)
    test = _column("test", state["test"], len(points), _is_flag, "true or false")
    return Scene(
        points,
        np.array(labels, dtype=np.int64),
        np.array(test, dtype=bool),
        _panes(state["panes"]),
        settings_of(state),
    )


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
        seed=checked("seed", as_integer, state["seed"], least=0, most=LARGEST_SEED),
    )


def _cost(name: str, value: Any) -> float | None:
    return None if value is None else number(name, SMALLEST, LARGEST)(value)


def _average(name: str, value: Any) -> str:
    names = tuple(average for average in AVERAGES if average is not None)
    return str(checked(name, as_choice, value, choices=names))


def _step(name: str, value: Any) -> StepRule:
    rule = checked_object(name, value, {"rule", "scale"})
    chosen = checked("step.rule", as_choice, rule.get("rule"), choices=STEP_RULES)
    return StepRule(chosen, number("step.scale", SMALLEST, LARGEST)(rule.get("scale", 1.0)))


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
    for place, point in enumerate(points):
        proper = isinstance(point, list) and len(point) == 2
        if not proper or not all(
            type(x) in (int, float) and -FARTHEST <= x <= FARTHEST for x in point
        ):
            raise MessageError(
                "points",
                f"points must be pairs of numbers of at most {FARTHEST:,.0f} in size, "
                f"got {shown(point)} at place {place} instead",
            )
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def _is_class(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST_CLASSES


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _column(name: str, value: Any, n_points: int, proper: Check, expected: str) -> list:
    entries = _listed(name, value)
    if len(entries) != n_points:
        raise MessageError(
            name, f"{name} must have an entry for each of {n_points} points, got {len(entries)}"
        )
    for place, entry in enumerate(entries):
        if not proper(entry):
            raise MessageError(
                name, f"{name} must be {expected}, got {shown(entry)} at place {place} instead"
            )
    return entries


def _panes(value: Any) -> tuple[Pane, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= 2:
        raise MessageError("panes", f"panes must be a list of one or two, got {shown(value)}")
    return tuple(_pane(f"panes[{number}]", pane) for number, pane in enumerate(value))


def _pane(name: str, value: Any) -> Pane:
    pane = checked_object(name, value, set(PANE_KEYS))
    gamma = pane.get("gamma", "scale")
    if gamma != "scale":
        gamma = number(f"{name}.gamma", SMALLEST, LARGEST)(gamma)
    return Pane(
        checked(f"{name}.kernel", as_choice, pane.get("kernel"), choices=KERNELS),
        gamma,
        checked(f"{name}.degree", as_integer, pane.get("degree", 3), least=1, most=10),
        number(f"{name}.coef0", -FARTHEST, FARTHEST)(pane.get("coef0", 0.0)),
    )
