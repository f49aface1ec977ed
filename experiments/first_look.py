"""A linear and an RBF kernel on the same points: where they decide, and how the objective falls.

The picture is what the README's first code draws. Below each model stand its objective and the dual
bound; between them lies the optimum, and the shaded gap is what the certificate leaves open.
"""

from __future__ import annotations

from typing import Any

from experiments import _plots as plots
from experiments._catalog import ROOT
from experiments._run import ExperimentContext
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy

FULL_TIME = "5 s"
QUICK_TIME = "5 s"

N_SAMPLES, C = 200, 10.0


def _fit(kernel: str, epochs: int) -> dict[str, Any]:
    X, y = make_toy("moons", N_SAMPLES, random_state=0)
    model = PegasosSVC(kernel=kernel, C=C, epochs=epochs, checkpoints="epoch", random_state=0)
    model.fit(X, y)
    accuracy = model.score(X, y)
    return {"kernel": kernel, "accuracy": accuracy, "relative_gap": model.relative_gap_}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit each kernel once."""
    epochs = 10 if context.quick else 200
    table = [context.part(kernel, _fit, kernel, epochs) for kernel in ("linear", "rbf")]
    return {"seeds": [0], "C": C, "table": table}


def plot(results: dict[str, Any]) -> plots.Figure:
    """Run the README's first code, which fits the same models, in matplotlib's own style."""
    import matplotlib.pyplot as plt

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.partition("```python\n")[2].partition("plt.show()")[0]
    with plt.rc_context():
        plt.rcdefaults()
        exec(code, {})
        figure = plt.gcf()
        figure.draw_without_rendering()  # ticks are made when they are drawn
    for ax in figure.axes:
        for line in ax.get_lines():
            line.set_label("_")  # which the legends name, and not the ends of lines
    return figure
