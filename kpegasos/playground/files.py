"""Files that a page saves: points, pictures by the package's own displays, code of a picture."""

from __future__ import annotations

import base64
import io
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from kpegasos.playground.checks import MessageError
from kpegasos.playground.presets import table_of
from kpegasos.playground.runs import parameters_of
from kpegasos.playground.scenes import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kpegasos.estimators import PegasosSVC
    from kpegasos.plotting import DecisionRegionDisplay
    from kpegasos.solvers.history import History

_IMPORTS = """\
import matplotlib.pyplot as plt
import numpy as np

from kpegasos import PegasosSVC
from kpegasos.plotting import DecisionRegionDisplay
"""
_HELD_OUT = """\
held_out = np.isin(np.arange(len(y)), {places})
X, y, X_test, y_test = X[~held_out], y[~held_out], X[held_out], y[held_out]
"""
_PICTURE = """\
figure, axes = plt.subplots(1, len(models), figsize=(6 * len(models), 5), layout="constrained")
for model, ax in zip(models, np.atleast_1d(axes)):
    model.fit(X, y)
    DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(model.kernel)
    objective, gap = np.sum(model.objective_), np.sum(model.duality_gap_)
    print(f"{model.kernel}: objective {objective:.17g}, certified gap {gap / objective:.3%}")
"""
_TEST_ERROR = '    print(f"{model.kernel}: test error {1 - model.score(X_test, y_test):.3%}")\n'


def script_of(scene: Scene, t: int, algorithm: str = "pegasos") -> str:
    """A script that trains the models of the panes, tells their objectives and draws them.

    Parameters
    ----------
    scene : Scene
        With two classes at least.
    t : int
        Steps, at least one.
    algorithm : {"pegasos", "polish", "SVC"}, default="pegasos"
        Beside SVC the script is that of Pegasos.

    Raises
    ------
    MessageError
        If there is no estimator that does the same.
    """
    if scene.settings.step is not None:
        raise own_step(scene, "code")
    polished = algorithm == "polish"
    when = "by dual ascent" if polished else f"after {t:,} steps"
    parts = [
        f'"""The picture of the kpegasos playground {when}."""\n\n',
        _IMPORTS,
        "\n",
        _assigned("X", "np.array(", _points(scene.points), ")"),
        _assigned("y", "np.array(", _values(scene.labels), ")"),
    ]
    if scene.test.any():
        parts.append(_HELD_OUT.format(places=_values(np.flatnonzero(scene.test))))
    parts.append("\nmodels = [\n")
    for pane in scene.panes:
        course = {"polish": True} if polished else {"n_steps": t, "checkpoints": "log"}
        parameters = {**parameters_of(pane, scene.settings), **course}
        parts.append(f"    PegasosSVC({_arguments(parameters)}),\n")
    parts += ["]\n", _PICTURE, _TEST_ERROR if scene.test.any() else "", "plt.show()\n"]
    return "".join(parts)


def own_step(scene: Scene, what: str) -> MessageError:
    """What says that no estimator takes the steps of a scene."""
    assert scene.settings.step is not None
    return MessageError(
        "step",
        f"step must be Pegasos' own, 1/(λt), for {what}, as PegasosSVC has no other, "
        f"got {scene.settings.step.rule!r}",
    )


def _arguments(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


def _points(points: np.ndarray) -> str:
    return "[" + ", ".join(f"[{x!r}, {y!r}]" for x, y in points.tolist()) + "]"


def _values(values: np.ndarray) -> str:
    return repr(values.tolist())


def _assigned(name: str, before: str, values: str, after: str) -> str:
    """An assignment whose values are wrapped into lines."""
    wrapped = textwrap.fill(
        values, 99, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
    return f"{name} = {before}\n{wrapped}\n{after}\n"


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
