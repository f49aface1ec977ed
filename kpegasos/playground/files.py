"""Files that a page saves: code, points, and pictures by the package's own displays."""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from kpegasos.playground.checks import MessageError
from kpegasos.playground.code import script_of
from kpegasos.playground.presets import table_of
from kpegasos.playground.scenes import Scene

if TYPE_CHECKING:
    from kpegasos.estimators import PegasosSVC

_MEDIA_TYPES = {
    "code": "text/x-python",
    "csv": "text/csv",
    "png": "image/png",
    "svg": "image/svg+xml",
    "gif": "image/gif",
}
#: Of an animation; each takes some tenths of a second.
_FRAMES = 24


def file_message(
    request: dict[str, Any], scene: Scene, models: Callable[[int], list[PegasosSVC]]
) -> dict[str, Any]:
    """A file as a message to the page.

    Parameters
    ----------
    request : dict
        Checked, of kind "export".
    scene : Scene
    models : callable
        The fitted estimators of the panes after so many steps; none without two classes.

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
    fitted = models(t)
    if not fitted:
        raise MessageError(
            "what",
            f"what must be 'csv' before the first step and where points are of fewer than two "
            f"classes, got {what!r} instead",
        )
    if what == "code":
        return {**message, "text": script_of(scene, t)}
    if what == "svg":
        return {**message, "text": _picture(scene, fitted, "svg").decode()}
    content = _animation(scene, fitted) if what == "gif" else _picture(scene, fitted, "png")
    return {**message, "base64": base64.b64encode(content).decode()}


def _picture(scene: Scene, fitted: list[PegasosSVC], kind: str) -> bytes:
    """Regions of the panes, and below them objectives and bounds."""
    # Only who saves a picture waits for Matplotlib.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay

    X, y = scene.points[~scene.test], scene.labels[~scene.test]
    figure = Figure(figsize=(6.0 * len(fitted), 8.0), layout="constrained")
    rows = figure.subplots(2, len(fitted), squeeze=False, height_ratios=(3, 2))
    for model, regions, curves in zip(fitted, *rows, strict=True):
        DecisionRegionDisplay.from_estimator(model, X, y, ax=regions)
        held_out = scene.points[scene.test]
        regions.scatter(*held_out.T, s=14, facecolors="none", edgecolors="black", linewidths=0.6)
        regions.set_title(f"{model.kernel}, T = {model.n_steps:,}", loc="left", fontsize="medium")
        pair = None if len(model.classes_) == 2 else tuple(model.classes_[:2])
        ConvergenceDisplay.from_estimator(model, pair=pair, ax=curves)
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
    if len(set(y.tolist())) != 2:
        raise MessageError("what", "what must not be 'gif' with more than two classes")
    t = int(fitted[-1].n_steps_)
    steps = sorted({round(t ** (number / _FRAMES)) for number in range(1, _FRAMES + 1)})
    model = clone(fitted[-1]).set_params(checkpoints=steps)
    animation = TrainingAnimation.from_estimator(model, X, y)
    # Its writer wants a file by name, and this one is gone before the page has it.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "playground.gif"
        animation.save(path, hold=1.0)
        return path.read_bytes()
