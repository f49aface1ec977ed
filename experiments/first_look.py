"""A linear and an RBF kernel on the same points: where they decide, and how the objective falls.

The picture that the README's first lines of code draw. Below each model stand its objective and the
dual bound; between them lies the optimum, and the shaded gap is what the certificate leaves open.
"""

from __future__ import annotations

from typing import Any

from experiments import _plots as plots
from experiments._run import ExperimentContext
from experiments._runs import plane
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy

FULL_TIME = "5 s"
QUICK_TIME = "5 s"

N_SAMPLES, C = 200, 10.0
#: Kernels, and what they are called.
KERNELS = {"linear": "linear", "rbf": "RBF"}
COLUMNS = ("iteration", "objective_last", "objective_average", "dual_bound")


def _fit(kernel: str, epochs: int) -> dict[str, Any]:
    X, y = make_toy("moons", N_SAMPLES, random_state=0)
    model = PegasosSVC(kernel=kernel, C=C, epochs=epochs, checkpoints="epoch", random_state=0)
    model.fit(X, y)
    row = {"kernel": kernel, "accuracy": model.score(X, y), "relative_gap": model.relative_gap_}
    return {
        "row": row,
        "panel": plane(model.decision_function, X, 0.2, 70) | {"y": y, "support": model.support_},
        "history": {name: model.history_[name] for name in COLUMNS},
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit each kernel once."""
    epochs = 10 if context.quick else 200
    fits = [context.part(kernel, _fit, kernel, epochs) for kernel in KERNELS]
    return {
        "seeds": [0],
        "C": C,
        "table": [fit["row"] for fit in fits],
        "panels": [fit["panel"] for fit in fits],
        "histories": [fit["history"] for fit in fits],
    }


def plot(results: dict[str, Any]) -> plots.Figure:
    """One column a kernel: regions above, objective and dual bound below."""
    from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay

    figure, axes = plots.panels(2, 2, 6.2, height_ratios=[3, 2], sharex="row", sharey="row")
    parts = (results[key] for key in ("table", "panels", "histories"))
    for (above, below), row, panel, history in zip(axes.T, *parts, strict=True):
        last = above is axes[0, -1]
        names: dict[str, Any] = {} if last else {"label": ["_"] * 3}  # once for both
        DecisionRegionDisplay.from_predictions(**panel, ax=above, legend=last)
        ConvergenceDisplay.from_history(history, ax=below, legend=last, **names)
        above.set_title(f"{KERNELS[row['kernel']]}: {row['accuracy']:.1%} right")
        below.set_title(f"within {row['relative_gap']:.1%} of the optimum")
    axes[1, 1].set_ylabel("")
    return plots.state(
        figure,
        "A line, a curve, and their certified gaps",
        f"{N_SAMPLES} points, C = {results['C']:g}. Rings: support vectors; dashed lines: margins. "
        "The optimum lies in the shaded gap.",
    )
