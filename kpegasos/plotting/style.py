"""What all pictures share: colours and markers of methods and classes, words of axes, legends.

A method has one colour, one marker, one line and one name, in the displays of the package and in
the figures of the experiments; a quantity has one name. Methods that are drawn side by side differ
in more than hue: for the colour-blind, vermilion and orange are alike, and so are green and purple.
Ticks are left to `kpegasos.plotting.ticks`, names at the ends of lines to
`kpegasos.plotting.labels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend

from kpegasos.plotting import checks
from kpegasos.utils.validation import as_flag

VERMILLION, BLUE, GREEN, PURPLE = "#D55E00", "#0072B2", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#666666"
#: Okabe and Ito's palette, which the colour-blind can tell apart, in the order of the classes. Grey
#: stands for their black, the colour of lines and rings.
COLORS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
MARKERS = "os^DvP"
BLACK = "#000000"


@dataclass(frozen=True)
class Look:
    """What a method is called, and how it is drawn."""

    name: str
    color: str
    marker: str = "o"
    line: str = "-"

    def line_options(self, **more: Any) -> dict[str, Any]:
        """Return options of ``Axes.plot`` for a line without markers."""
        return {"color": self.color, "linestyle": self.line, **more}

    def options(self, **more: Any) -> dict[str, Any]:
        """Return options of ``Axes.plot`` for a line with markers."""
        return {**self.line_options(), "marker": self.marker, "markersize": 5, **more}


#: Every method that a figure compares, by a short key.
METHODS = {
    "last": Look("last iterate", VERMILLION, "o"),
    "weighted": Look("t-weighted average", BLUE, "s"),
    "suffix": Look("suffix average", SKY, "D", "--"),
    "uniform": Look("uniform average", PURPLE, "^", "-."),
    "gap": Look("certified gap", GREEN, "v"),
    "dual": Look("dual bound", GREEN, "v"),
    "independent": Look("independent draws", VERMILLION, "o"),
    "permutation": Look("a new permutation each epoch", BLUE, "s"),
    "one permutation": Look("one permutation", GREEN, "^"),
    "contiguous": Look("contiguous blocks", SKY, "D"),
    "Pegasos": Look("Pegasos", BLUE, "s"),
    "polished": Look("Pegasos, polished", BLACK, "o"),
    "SDCA": Look("SDCA", PURPLE, "P"),
    "SVC": Look("SVC (LIBSVM)", ORANGE, "v"),
    "LinearSVC": Look("LinearSVC", ORANGE, "v"),
    "intelex": Look("SVC (intelex)", GREEN, "^"),
    "LASVM": Look("LASVM", SKY, "D"),
    "SGDClassifier": Look("SGDClassifier", SKY, "^"),
}

#: The one name of each quantity on an axis.
WORDS = {
    "steps": "steps T",
    "epochs": "epochs",
    "fit_seconds": "seconds to fit",
    "solver_seconds": "seconds in the solver",
    "kernel_values": "kernel values",
    "objective": "objective f(w)",
    "suboptimality": "suboptimality f(w) − f*",
    "relative_suboptimality": "relative suboptimality",
    "test_error": "test error, %",
    "test_accuracy": "test accuracy, %",
    "examples": "training examples m",
    "batch": "batch size k",
    "lam": "λ",
    "lam_T": "λT",
}
#: Width of a figure in inches; at 100 pixels an inch, the 900 pixels of a page.
WIDTH = 9.0

#: A legend to the right of the axes.
BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.02, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
}

#: A legend above the axes, where colour bars or more panels are beside them.
_ABOVE: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0.0, 1.0),
    "borderaxespad": 0.2,
    "frameon": False,
}
#: Where there is no number.
MISSING: dict[str, Any] = {"facecolor": "white", "edgecolor": GREY, "hatch": "////"}

Panels = Axes | Sequence[Axes] | np.ndarray


def shades(number: int) -> list[str]:
    """Return colours for increasing values, from dark to light, all legible on white."""
    return [to_hex(colormaps["viridis"](at)) for at in np.linspace(0.0, 0.82, number)]


def color_of(number: int) -> str:
    """Return the colour of a class by its number."""
    return COLORS[number % len(COLORS)]


def marker_of(number: int) -> str:
    """Return the marker of a class by its number: the second cue beside the colour."""
    return MARKERS[number % len(MARKERS)]


def class_name(label: Any) -> str:
    """Return the name of a class in a legend, where a bare number says too little."""
    return label if isinstance(label, str) else f"class {label}"


def panels_or_new(
    ax: Panels | None, n_panels: int, figsize: tuple[float, float], n_columns: int | None = None
) -> np.ndarray:
    """Return the axes given as an array, or those of a new figure.

    Its panels of ``figsize`` inches are in one row, or in rows of ``n_columns``.
    """
    if ax is None:
        width = min(n_panels, n_columns or n_panels)
        height = -(-n_panels // width)
        layout = ConstrainedLayoutEngine(wspace=0.05 if n_columns else None)
        figure = plt.figure(figsize=(figsize[0] * width, figsize[1] * height), layout=layout)
        panels = figure.subplots(height, width, squeeze=False).ravel()
        for unused in panels[n_panels:]:
            unused.remove()
        return panels[:n_panels]
    axes = np.ravel(np.asarray(ax, dtype=object))
    if axes.size != n_panels:
        raise ValueError(f"ax must hold {n_panels} axes, got {axes.size}")
    for panel in axes:
        checks.axes(panel)
    return axes


def legend_above(
    axes: np.ndarray, entries: Mapping[str, Artist], *, own: bool, wanted: bool
) -> Legend | None:
    """Add a legend above the first panel, or above all panels of a figure of one's own."""
    if not wanted or not entries:
        return None
    handles, labels = list(entries.values()), list(entries)
    if own and len(axes) > 1:
        figure = axes[0].get_figure(root=True)
        place: dict[str, Any] = {"loc": "outside upper left", "frameon": False}
        return figure.legend(handles, labels, ncols=len(labels), **place)
    return axes[0].legend(handles, labels, **_ABOVE)


class AxesDisplay:
    """A display on one set of axes, with a legend beside them."""

    legend_: Legend | None
    ax_: Axes
    figure_: Figure

    def _take_axes(self, ax: Axes | None) -> Axes:
        """Keep the axes given, or those of a new figure that makes room for a legend."""
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else checks.axes(ax)
        self.figure_ = self.ax_.get_figure(root=True)  # type: ignore[assignment]
        return self.ax_

    def _add_legend(self, wanted: bool, handles: Sequence[Artist], labels: Sequence[str]) -> None:
        shown = as_flag("legend", wanted)
        self.legend_ = self.ax_.legend(handles, labels, **BESIDE) if shown else None
