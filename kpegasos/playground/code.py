"""Python code that makes the picture: the points, the models, their regions."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from kpegasos.playground.checks import MessageError
from kpegasos.playground.runs import parameters_of
from kpegasos.playground.scenes import Scene

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
