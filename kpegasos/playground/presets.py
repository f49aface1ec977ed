"""Points to begin with: the page's presets, and tables that somebody pastes or opens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from kpegasos.datasets import make_gaussian_noise, make_toy
from kpegasos.playground.checks import (
    FARTHEST,
    MOST_CLASSES,
    MOST_POINTS,
    MOST_TEXT,
    MessageError,
)
from kpegasos.playground.scenes import DEFAULTS
from kpegasos.utils.validation import shown

#: Share of the rare class of "imbalanced".
_RARE = 0.1
#: Presets that have more than two classes.
_MANY = ("blobs",)


def preset_points(request: dict[str, Any]) -> dict[str, Any]:
    """Points of a preset, as a message to the page.

    Parameters
    ----------
    request : dict
        Checked, of kind "preset".

    Raises
    ------
    MessageError
        If the preset does not go with a parameter.
    """
    name, n_points, n_classes = request["name"], request["n"], request["classes"]
    if n_classes != 2 and name not in _MANY:
        raise MessageError("classes", f"classes must be 2 for {name!r}, got {n_classes} instead")
    if name == "label_noise" and request["noise"] > 1.0:
        raise MessageError(
            "noise",
            f"noise must be a fraction of labels for {name!r}, got {request['noise']} instead",
        )
    rng = np.random.RandomState(request["seed"])
    X, y = _drawn(name, n_points, request["noise"], n_classes, rng)
    # Held out: the last of a random order, as many as asked for.
    test = np.zeros(n_points, dtype=bool)
    test[rng.permutation(n_points)[: round(request["test_share"] * n_points)]] = True
    return points_message(request["id"], X, y, test)


def _drawn(name: str, n: int, noise: float, n_classes: int, rng: Any) -> tuple[Any, Any]:
    if name == "blobs":
        angles = 2 * np.pi * np.arange(n_classes) / n_classes
        centers = np.column_stack([np.cos(angles), np.sin(angles)])
        return make_blobs(n, centers=centers, cluster_std=max(noise, 1e-9), random_state=rng)
    if name == "label_noise":
        X, y = make_gaussian_noise(n, noise=noise, random_state=rng)
        return X / 3.0, y
    if name == "imbalanced":
        rare = max(1, round(_RARE * n))
        y = rng.permutation(np.repeat([0, 1], [n - rare, rare]))
        centers = np.array([[-0.5, -0.5], [0.5, 0.5]])
        return centers[y] + max(noise, 1e-9) * rng.standard_normal((n, 2)), y
    return make_toy(name, n, noise, rng)


def points_message(number: int | None, X: Any, y: Any, test: Any) -> dict[str, Any]:
    """Points as a message to the page."""
    return {
        "kind": "points",
        "id": number,
        "points": np.asarray(X, dtype=np.float64).tolist(),
        "labels": np.asarray(y).tolist(),
        "test": np.asarray(test).tolist(),
    }


def state_of_points(X: Any, y: Any, test: Any) -> dict[str, Any]:
    """A state with the points given and default settings."""
    points = points_message(None, X, y, test)
    return {**{name: points[name] for name in ("points", "labels", "test")}, **DEFAULTS}


# --- tables ---


def state_of_table(path: Path) -> dict[str, Any]:
    """A state with the points of a file.

    Raises
    ------
    MessageError
        If the file is no such table.
    OSError
        If it cannot be read.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        text = file.read(MOST_TEXT + 1)
    if len(text) > MOST_TEXT:
        raise MessageError(
            "table", f"{path.name} must have at most {MOST_TEXT} characters, got more"
        )
    try:
        points = table_points(None, text)
    except MessageError as error:
        raise MessageError(error.parameter, f"{path.name}: {error}") from None
    return state_of_points(points["points"], points["labels"], points["test"])


def table_points(number: int | None, text: str) -> dict[str, Any]:
    """Points of a table: two columns of features, one of labels, and maybe one named "test".

    Columns are divided by commas, semicolons, tabs or blanks. The first line may name them. Labels
    may be any names; the first in their order is class 0.

    Raises
    ------
    MessageError
        Naming the line that will not do.
    """
    lines = [(place, line) for place, line in enumerate(text.splitlines(), 1) if line.strip()]
    divide = _divider(lines[0][1] if lines else "")
    rows = [(place, divide(line)) for place, line in lines]
    if rows and not any(_is_number(cell) for cell in rows[0][1][:2]):
        rows = rows[1:]
    if not rows:
        raise MessageError("table", "table must have a line for each point, got none")
    if len(rows) > MOST_POINTS:
        raise MessageError(
            "table", f"table must have at most {MOST_POINTS:,} points, got {len(rows):,} instead"
        )
    width = len(rows[0][1])
    if width not in (3, 4):
        raise MessageError(
            "table",
            f"table must have two columns of features and one of labels, got {width} columns; "
            f"choose two features",
        )
    X, names, test = [], [], []
    for place, row in rows:
        if len(row) != width or not all(map(_is_near, row[:2])):
            raise MessageError(
                "table",
                f"table must have two numbers of at most {FARTHEST:,.0f} in size and a label in "
                f"each line, got {shown(' '.join(row))} in line {place}",
            )
        X.append([float(row[0]), float(row[1])])
        names.append(row[2])
        test.append(width == 4 and row[3].lower() in ("1", "true", "test", "yes"))
    classes = sorted(set(names), key=_natural)
    if len(classes) > MOST_CLASSES:
        raise MessageError(
            "table", f"table must have at most {MOST_CLASSES} classes, got {len(classes)} instead"
        )
    return points_message(number, X, [classes.index(name) for name in names], test)


def _divider(line: str) -> Any:
    """What divides a line as this one wants it."""
    for mark in "\t;,":
        if mark in line:
            return lambda text: [part.strip().strip("\"'") for part in text.split(mark)]
    return lambda text: re.split(r"\s+", text.strip())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_near(text: str) -> bool:
    return _is_number(text) and abs(float(text)) <= FARTHEST


def _natural(name: str) -> tuple[bool, float, str]:
    """Numbers by size, before names."""
    try:
        value = float(name)
    except ValueError:
        return True, 0.0, name
    return value != value, 0.0 if value != value else value, name


def table_of(points: np.ndarray, labels: np.ndarray, test: np.ndarray) -> str:
    """Points as such a table, with all digits."""
    lines = ["x,y,label,test"]
    for (x, y), label, held_out in zip(
        points.tolist(), labels.tolist(), test.tolist(), strict=True
    ):
        lines.append(f"{x!r},{y!r},{'ABCD'[label]},{int(held_out)}")
    return "\n".join(lines) + "\n"
