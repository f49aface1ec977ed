"""Pegasos at work: decision boundary and objective over the iterations, as GIF.

Two noisy moons and the RBF kernel. Each frame is a checkpoint, ten a decade: the averaged iterate
with its margins, and rings that grow with the number of times that an example was drawn while it
violated the margin.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import _plots as plots
from experiments._results import shortened
from experiments._run import Context
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy
from kpegasos.plotting import TrainingAnimation

N_SAMPLES, C, GAMMA = 200, 10.0, 2.0
N_ITER, GRID = 40_000, 50


def compute(context: Context) -> dict[str, Any]:
    """Train once and record every checkpoint."""
    n_steps = 10 if context.quick else N_ITER
    X, y = make_toy("moons", N_SAMPLES, random_state=0)
    model = PegasosSVC(C=C, gamma=GAMMA, n_steps=n_steps, checkpoints="log", random_state=0)
    recorded = TrainingAnimation.from_estimator(model, X.round(3), y, grid_resolution=GRID)
    names = ("history", "X", "y", "alpha")
    return {
        "C": C,
        "gamma": GAMMA,
        "animation": {
            "xx": recorded.xx.round(4),
            "yy": recorded.yy.round(4),
            "values": shortened(recorded.values, 3),
            **{name: getattr(recorded, name) for name in names},
        },
    }


def _stated(results: dict[str, Any]) -> TrainingAnimation:
    """The run, drawn at its end, under a sentence about it."""
    animation = TrainingAnimation(**results["animation"]).plot()
    plots.state(
        animation.figure_,
        "Pegasos finds the boundary and certifies how well",
        f"Two moons, m = {N_SAMPLES}, RBF kernel, γ = {results['gamma']:g}, C = {results['C']:g}. "
        "Rings grow with the number of times that an example was drawn while it violated the "
        "margin; dashed: margins.",
    )
    return animation


def plot(results: dict[str, Any]) -> plots.Figure:
    """Draw the last frame."""
    return _stated(results).figure_


def animate(results: dict[str, Any], path: Path) -> None:
    """Write all frames."""
    animation = _stated(results)
    animation.save(path)
    plots.plt.close(animation.figure_)
