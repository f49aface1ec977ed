"""Tables of points to begin with, and pictures that a page saves, by the package's own displays."""

from __future__ import annotations

import base64
import io
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from kpegasos.playground.messages import (
    DEFAULTS,
    FARTHEST,
    MOST_CLASSES,
    MOST_POINTS,
    MOST_TEXT,
    MessageError,
    Scene,
)
from kpegasos.utils.validation import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kpegasos.estimators import PegasosSVC
    from kpegasos.plotting import DecisionRegionDisplay
    from kpegasos.solvers.result import History

# --- points to begin with ---


def state_of_points(X: Any, y: Any, test: Any) -> dict[str, Any]:
    """Make a state with the points given and default settings."""
    return {
        "points": np.asarray(X, dtype=np.float64).tolist(),
        "labels": np.asarray(y).tolist(),
        "test": np.asarray(test).tolist(),
        **DEFAULTS,
    }


def state_of_table(path: Path) -> dict[str, Any]:
    """Make a state with the points of a file.

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
            f"{path.name} must have at most {MOST_TEXT} characters, got more", "table"
        )
    try:
        return state_of_text(text)
    except MessageError as error:
        raise MessageError(f"{path.name}: {error}", error.parameter) from None


def state_of_text(text: str) -> dict[str, Any]:
    """Read a table: two columns of features, one of labels, and maybe one named "test".

    Columns are divided by commas, semicolons, tabs or blanks; numbers may have decimal commas where
    the first line has semicolons or tabs. The first line may name columns. Labels may be any names,
    which the state has as "names"; the first in their order is class 0. The page reads tables in
    the same way.

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
        raise MessageError("table must have a line for each point, got none")
    if len(rows) > MOST_POINTS:
        raise MessageError(
            f"table must have at most {MOST_POINTS:,} points, got {len(rows):,} instead"
        )
    width = len(rows[0][1])
    if width not in (3, 4):
        raise MessageError(
            f"table must have two columns of features and one of labels, got {width} columns; "
            f"choose two features",
        )
    X, names, test = [], [], []
    for place, row in rows:
        if len(row) != width or not all(map(_is_near, row[:2])):
            raise MessageError(
                f"table must have two numbers of at most {FARTHEST:,.0f} in size and a label in "
                f"each line, got {shown(' '.join(row))} in line {place}",
            )
        X.append([float(row[0]), float(row[1])])
        names.append(row[2])
        if width == 4 and row[3].lower() not in _HELD_OUT:
            raise MessageError(
                f"table must have 1 or 0 in its fourth column, for points that are held out or "
                f"not, got {shown(row[3])} in line {place}",
            )
        test.append(width == 4 and _HELD_OUT[row[3].lower()])
    classes = sorted(set(names), key=_natural)
    if len(classes) > MOST_CLASSES:
        raise MessageError(
            f"table must have at most {MOST_CLASSES} classes, got {len(classes)} instead"
        )
    return {**state_of_points(X, [classes.index(name) for name in names], test), "names": classes}


#: What the fourth column of a table may have.
_HELD_OUT = {
    **dict.fromkeys(("1", "true", "test", "yes"), True),
    **dict.fromkeys(("0", "false", "train", "no", ""), False),
}


def _divider(line: str) -> Any:
    """Find out what divides a line as this one wants it."""
    for mark in "\t;,":
        if mark in line:
            return lambda text: [
                part.replace(",", ".") if place < 2 else part
                for place, part in enumerate(each.strip().strip("\"'") for each in text.split(mark))
            ]
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
    """Sort numbers by size, before names."""
    try:
        value = float(name)
    except ValueError:
        return True, 0.0, name
    return value != value, 0.0 if value != value else value, name


# --- files ---

_MEDIA_TYPES = {"png": "image/png", "svg": "image/svg+xml", "gif": "image/gif"}
_NAMES = {"pegasos": "Pegasos, t = {:,}", "polish": "polished", "SVC": "SVC (LIBSVM)"}
#: Of an animation; each takes some tenths of a second.
_FRAMES = 24


def file_message(request: dict[str, Any], scene: Scene, models: list[PegasosSVC]) -> dict[str, Any]:
    """Make a file as a message to the page.

    Parameters
    ----------
    request : dict
        Checked, of kind "export".
    scene : Scene
    models : list of PegasosSVC
        The fitted estimators of the panes; none before the first step and without two classes.

    Raises
    ------
    MessageError
        If there is no such file of these points.
    """
    what = request["what"]
    message = {
        "kind": "file",
        "id": request["id"],
        "name": f"playground.{what}",
        "media_type": _MEDIA_TYPES[what],
    }
    if not models:
        raise MessageError(
            "points must be of two classes, and t 1 at least, for a picture of models",
        )
    if what == "gif":
        content = _animation(scene, models)
    else:
        content = _saved(figure_of(scene, models, request["algorithm"]), what)
    if what == "svg":
        return {**message, "text": content.decode()}
    return {**message, "base64": base64.b64encode(content).decode()}


def figure_of(scene: Scene, models: list[PegasosSVC], algorithm: str) -> Figure:
    """Draw regions of the panes, and below them objectives and bounds where there are any.

    Parameters
    ----------
    scene : Scene
    models : list of PegasosSVC
        Those of the panes; without a history, there are no curves.
    algorithm : {"pegasos", "polish", "SVC"}
        What has made them.

    Returns
    -------
    Figure
    """
    # Only who saves a picture waits for Matplotlib.
    from matplotlib.figure import Figure

    from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay

    has_curves = algorithm != "SVC"
    figure = Figure(figsize=(6.0 * len(models), 8.0 if has_curves else 4.8), layout="constrained")
    heights = (3, 2) if has_curves else (1,)
    rows = figure.subplots(len(heights), len(models), squeeze=False, height_ratios=heights)
    for model, ax in zip(models, rows[0], strict=True):
        # Points that are held out are within the picture as well.
        display = DecisionRegionDisplay.from_estimator(
            model, scene.points, scene.labels, ax=ax, legend=False
        )
        _finish(display, scene)
        name = _NAMES[algorithm].format(model.n_steps)
        ax.set_title(f"{model.kernel}, {name}", loc="left", fontsize="medium")
    for model, ax in zip(models, rows[1], strict=True) if has_curves else ():
        ConvergenceDisplay.from_history(_summed(model.history_), ax=ax)
        if len(model.classes_) > 2:
            ax.set_ylabel("objective f(w), sum over pairs")
    return figure


def _finish(display: DecisionRegionDisplay, scene: Scene) -> None:
    """Name classes as the page does, make marks hollow that are held out, and add the legend."""
    from kpegasos.plotting.style import INSIDE, color_of, marker_of

    for number, (label, points) in enumerate(zip(display.classes, display.points_, strict=True)):
        points.set_label(f"class {'ABCD'[label]}")
        x, y = scene.points[scene.test & (scene.labels == label)].T
        look: dict[str, Any] = {
            "marker": marker_of(number),
            "edgecolors": color_of(number),
            "linewidths": 1.0,
        }
        hollow = display.ax_.scatter(x, y, s=14, facecolors="white", zorder=2.55, **look)
    handles, labels = display.legend_entries()
    if scene.test.any():
        handles.insert(len(display.points_), hollow)
        labels.insert(len(display.points_), "held out")
    display.ax_.legend(handles, labels, **INSIDE)


def _summed(history: History | list[History]) -> dict[str, np.ndarray]:
    """Add the curves of all pairs: at each step the sum of what each pair had last."""
    from kpegasos.plotting.convergence import VALUES

    histories = history if isinstance(history, list) else [history]
    steps = [history["iteration"] for history in histories]
    shown = np.unique(np.concatenate(steps))
    shown = shown[shown >= max(each[0] for each in steps)]
    places = [np.searchsorted(each, shown, side="right") - 1 for each in steps]
    sums = {
        name: sum(history[name][at] for history, at in zip(histories, places, strict=True))
        for name in VALUES
    }
    return {"iteration": shown, **sums}


def _saved(figure: Figure, kind: str) -> bytes:
    from matplotlib import rc_context

    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "kpegasos"}):
        figure.savefig(
            stream, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None
        )
    return stream.getvalue()


def _animation(scene: Scene, fitted: list[PegasosSVC]) -> bytes:
    """Draw the run of the last pane's model."""
    from kpegasos.plotting import TrainingAnimation

    X, y = scene.points[~scene.test], scene.labels[~scene.test]
    t = int(np.max(fitted[-1].n_steps_))
    steps = sorted({round(t ** (number / _FRAMES)) for number in range(1, _FRAMES + 1)})
    model = clone(fitted[-1]).set_params(checkpoints=steps)
    animation = TrainingAnimation.from_estimator(model, X, y)
    # Its writer wants a file by name, and this one is gone before the page has it.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "playground.gif"
        animation.save(path, hold=1.0)
        return path.read_bytes()
