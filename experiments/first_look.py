"""A linear and an RBF kernel on the same points: where they decide, and how the objective falls.

The picture is what the README's first code draws. Below each model stand its objective and the dual
bound; between them lies the optimum, and the shaded gap is what the certificate leaves open.
"""

from __future__ import annotations

from typing import Any

from experiments import _plots as plots
from experiments._run import ROOT, Context
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy

N_SAMPLES, C = 200, 10.0


def _fit(kernel: str, epochs: int) -> dict[str, Any]:
    X, y = make_toy("moons", N_SAMPLES, random_state=0)
    model = PegasosSVC(kernel=kernel, C=C, epochs=epochs, checkpoints="epoch", random_state=0)
    accuracy = model.fit(X, y).score(X, y)
    return {"kernel": kernel, "accuracy": accuracy, "relative_gap": model.relative_gap_}


def compute(context: Context) -> dict[str, Any]:
    """Fit each kernel once."""
    epochs = 10 if context.quick else 200
    return {"table": [_fit(kernel, epochs) for kernel in ("linear", "rbf")]}


def plot(results: dict[str, Any]) -> plots.Figure:
    """Run the README's first code, which fits the same models, in matplotlib's own style."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.partition("```python\n")[2].partition("plt.show()")[0]
    with plots.mpl.rc_context():
        plots.mpl.rcdefaults()
        exec(code, {})
        figure = plots.plt.gcf()
        figure.draw_without_rendering()  # ticks are made when they are drawn
    return figure
