"""Figures from results: one style, and the same bytes each time."""

from __future__ import annotations

from typing import Any

from experiments._catalog import Experiment
from experiments._plots import PALETTE
from experiments._store import Output, read

STYLE: dict[str, Any] = {
    # An opaque white card reads well in a light and in a dark README alike; at 150 dpi a figure is
    # 1350 pixels wide, half as many again as a page shows.
    "figure.facecolor": "white",
    "figure.figsize": (9.0, 4.5),
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    "savefig.bbox": "standard",
    "font.size": 11,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": f"cycler('color', {list(PALETTE)})",
    # Text as outlines: the same picture wherever it is looked at, whatever fonts are there.
    "svg.fonttype": "path",
}


def draw(experiment: Experiment, output: Output) -> None:
    """Make the figure, and what moves, from the results in the file.

    Parameters
    ----------
    experiment : Experiment
        The experiment to draw.
    output : Output
        Folders of the results and of the figures.
    """
    results = read(output.document(experiment.name))["results"]
    module = experiment.load()
    import matplotlib
    from matplotlib import pyplot as plt

    from kpegasos.plotting.labels import freeze

    output.figures.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's matplotlibrc says
        style: Any = {**STYLE, "svg.hashsalt": experiment.name}
        matplotlib.rcParams.update(style)
        figure = module.plot(results)
        freeze(figure)
        stem = output.figures / experiment.name
        figure.savefig(stem.with_suffix(".png"), metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
        plt.close(figure)
        if hasattr(module, "animate"):
            module.animate(results, stem)
