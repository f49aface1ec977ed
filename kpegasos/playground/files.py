"""Files that a page saves: code, points, and pictures by the package's own displays."""

from __future__ import annotations

import base64
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from kpegasos.playground.checks import MessageError
from kpegasos.playground.code import own_step, script_of
from kpegasos.playground.presets import table_of
from kpegasos.playground.scenes import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kpegasos.estimators import PegasosSVC
    from kpegasos.plotting import DecisionRegionDisplay
    from kpegasos.solvers.history import History

_MEDIA_TYPES = {
    "code": "text/x-python",
    "csv": "text/csv",
    "png": "image/png",
    "svg": "image/svg+xml",
    "gif": "image/gif",
}
#: Those of the model on the panes, whatever has made it.
PICTURES = ("code", "png", "svg")
_NAMES = {"pegasos": "Pegasos, t = {:,}", "polish": "polished", "SVC": "SVC (LIBSVM)"}
#: Of an animation; each takes some tenths of a second.
_FRAMES = 24


def file_message(request: dict[str, Any], scene: Scene, models: list[PegasosSVC]) -> dict[str, Any]:
    """A file as a message to the page.

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
    what, t = request["what"], request["t"]
    message = {
        "kind": "file",
        "id": request["id"],
        "name": f"playground.{'py' if what == 'code' else what}",
        "media_type": _MEDIA_TYPES[what],
    }
    if what == "csv":
        return {**message, "text": table_of(scene.points, scene.labels, scene.test)}
    if not models:
        raise MessageError(
            "points",
            f"points must be of two classes, and t 1 at least, for a file of models, got {what!r}",
        )
    if what == "code":
        return {**message, "text": script_of(scene, t, request["algorithm"])}
    if what == "gif":
        content = _animation(scene, models)
    else:
        content = _saved(figure_of(scene, models, request["algorithm"]), what)
    if what == "svg":
        return {**message, "text": content.decode()}
    return {**message, "base64": base64.b64encode(content).decode()}


def figure_of(scene: Scene, models: list[PegasosSVC], algorithm: str) -> Figure:
    """Regions of the panes, and below them objectives and bounds where the algorithm has them.

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
    from kpegasos.plotting.fitted import histories

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
        ConvergenceDisplay.from_history(_summed(histories(model)), ax=ax)
        if len(model.classes_) > 2:
            ax.set_ylabel("objective f(w), sum over pairs")
    return figure


def _finish(display: DecisionRegionDisplay, scene: Scene) -> None:
    """Name classes as the page does, make marks hollow that are held out, and add the legend."""
    from kpegasos.plotting.style import BESIDE, color_of, marker_of

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
    display.ax_.legend(handles, labels, **BESIDE)


def _summed(histories: list[History]) -> dict[str, np.ndarray]:
    """Curves of all pairs as one: at each step the sum of what each pair had last."""
    from kpegasos.plotting.columns import VALUES

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
    """The run of the last pane's model."""
    from kpegasos.plotting import TrainingAnimation

    X, y = scene.points[~scene.test], scene.labels[~scene.test]
    if scene.settings.step is not None:
        raise own_step(scene, "an animation")
    t = int(np.max(fitted[-1].n_steps_))
    steps = sorted({round(t ** (number / _FRAMES)) for number in range(1, _FRAMES + 1)})
    model = clone(fitted[-1]).set_params(checkpoints=steps)
    animation = TrainingAnimation.from_estimator(model, X, y)
    # Its writer wants a file by name, and this one is gone before the page has it.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "playground.gif"
        animation.save(path, hold=1.0)
        return path.read_bytes()
