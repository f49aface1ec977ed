"""Pegasos at work: decision boundary and objective over the iterations, as a GIF.

Two noisy moons and the RBF kernel. Each frame is a checkpoint, ten a decade: the averaged iterate
with its margins, and rings that grow with the number of times that an example was drawn while it
violated the margin.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import _plots as plots
from experiments._run import ExperimentContext
from experiments._tables import shortened
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy
from kpegasos.plotting.animation import TrainingAnimation

FULL_TIME = "10 s"
QUICK_TIME = "10 s"

N_SAMPLES, C, GAMMA = 200, 10.0, 2.0
N_ITER, GRID = 40_000, 50


def _record(n_steps: int) -> dict[str, Any]:
    X, y = make_toy("moons", N_SAMPLES, random_state=0)
    model = PegasosSVC(C=C, gamma=GAMMA, n_steps=n_steps, checkpoints="log", random_state=0)
    recorded = TrainingAnimation.from_estimator(model, X.round(3), y, grid_resolution=GRID)
    return {
        "xx": recorded.xx.round(4),
        "yy": recorded.yy.round(4),
        "values": shortened(recorded.values, 3),
        "history": recorded.history,
        "X": recorded.X,
        "y": recorded.y,
        "alpha": recorded.alpha,
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Train once and record every checkpoint."""
    n_steps = 10 if context.quick else N_ITER
    recorded = context.part("run", lambda: _record(n_steps))
    history = recorded["history"]
    rows = zip(*history.values(), strict=True)
    return {
        "seeds": [0],
        "C": C,
        "gamma": GAMMA,
        "table": [dict(zip(history, row, strict=True)) for row in rows],
        "animation": recorded,
    }


def _stated(results: dict[str, Any]) -> TrainingAnimation:
    """The run, drawn at its end, under a sentence about it."""
    animation = TrainingAnimation(**results["animation"]).plot()
    m, gamma, C = len(results["animation"]["y"]), results["gamma"], results["C"]
    last = results["table"][-1]
    gap = last["objective_average"] / last["dual_bound"] - 1
    plots.state(
        animation.figure_,
        f"Pegasos finds the boundary and certifies how well: after {int(last['iteration']):,} "
        f"steps it is within {gap:.0%} of the optimum",
        f"Two moons, m = {m}, RBF kernel, γ = {gamma:g}, C = {C:g}. Rings grow with the number of "
        "times that an example was drawn while it violated the margin; dashed: margins.",
    )
    return animation


def plot(results: dict[str, Any]) -> plots.Figure:
    """Draw the last frame."""
    return _stated(results).figure_


def animate(results: dict[str, Any], stem: Path) -> None:
    """Write all frames as a GIF."""
    import matplotlib.pyplot as plt

    animation = _stated(results)
    animation.save(stem.with_suffix(".gif"))
    plt.close(animation.figure_)
