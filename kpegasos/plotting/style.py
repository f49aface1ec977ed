"""Style of all pictures: colours and markers of classes, ticks of logarithmic axes, legends.

Two classes that are drawn side by side differ in more than hue: for the colour-blind, vermilion and
orange are alike, and so are green and purple.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotParams
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from kpegasos.plotting import checks
from kpegasos.utils.validation import as_flag

VERMILLION, BLUE, GREEN, PURPLE = "#D55E00", "#0072B2", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#666666"
#: Okabe and Ito's palette, which the colour-blind can tell apart, in the order of the classes. Grey
#: stands for their black, the colour of lines and rings.
COLORS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
_MARKERS = "os^DvP"

#: A legend inside of axes, which may be narrow.
INSIDE: dict[str, Any] = {
    "loc": "best",
    "fontsize": "small",
    "framealpha": 0.8,
    "handlelength": 1.5,
    "handletextpad": 0.5,
    "labelspacing": 0.3,
}
_TITLES = {
    "gap": "certified gap",
    "relative_gap": "certified relative gap",
    "support_size": "support vectors",
    "seconds": "seconds in the solver",
}


def title_of(name: str) -> str:
    """Return what a column of a history is called where it stands alone."""
    return _TITLES.get(name, name.replace("_", " "))


def ink() -> str:
    """Return the colour of lines and rings: that of axes, light where a style is dark."""
    return str(plt.rcParams["axes.edgecolor"])


def color_of(index: int) -> str:
    """Return the colour of a class by its index."""
    return COLORS[index % len(COLORS)]


def marker_of(index: int) -> str:
    """Return the marker of a class by its index: the second cue beside the colour."""
    return _MARKERS[index % len(_MARKERS)]


def class_name(label: Any) -> str:
    """Return the name of a class in a legend, where a bare number says too little."""
    return label if isinstance(label, str) else f"class {label}"


def log_ticks(ax: Axes) -> None:
    """Label logarithmic axes by plain numbers, if few decades are shown at 3 of each, too."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(partial(_log_label, axis))
            axis.set_minor_formatter(partial(_log_label, axis))


def _log_label(axis: Axis, value: float, _: int | None = None) -> str:
    """Return the label of a tick, empty where labels of all ticks would overlap."""
    low, high = sorted(axis.get_view_interval())
    exponent = math.floor(math.log10(value) + 1e-9)
    first = round(value / 10.0**exponent, 6)
    labelled = (1, 2, 3, 5) if high < 10 * low else (1, 3) if high < 100 * low else (1,)
    if first not in labelled and high > 2 * low:
        return ""
    plain = first != 1 or (low > 1e-4 and high < 1e6)
    return f"{value:,.6g}" if plain else f"$10^{{{exponent}}}$"


def _lay_out(ax: Axes) -> None:
    """Lay out a figure that nobody else has: plain margins may cut the labels of small axes."""
    figure, place = ax.get_figure(root=True), ax.get_subplotspec()
    assert figure is not None
    plain = figure.get_layout_engine() is None and vars(figure.subplotpars) == vars(SubplotParams())
    grid = place.get_topmost_subplotspec().get_gridspec() if plain and place else None
    if isinstance(grid, GridSpec) and not grid.locally_modified_subplot_params():
        figure.set_layout_engine("constrained")


def _said(legend: Legend | None) -> list[tuple[str, bytes]]:
    """Return the texts of a legend, each with the colour that it explains."""
    if legend is None:
        return []
    handles: list[Any] = legend.legend_handles
    colors = [
        handle.get_color() if isinstance(handle, Line2D) else handle.get_facecolor()
        for handle in handles
    ]
    return [
        (text.get_text(), to_rgba_array(color).tobytes())
        for text, color in zip(legend.get_texts(), colors, strict=True)
    ]


class AxesDisplay:
    """A display on one set of axes, with a legend inside them."""

    figure_: Figure

    def _take_axes(self, ax: Axes | None) -> Axes:
        """Keep the axes given, or those of a new figure."""
        self.ax_ = plt.subplots()[1] if ax is None else checks.axes(ax)
        self.figure_ = self.ax_.get_figure(root=True)  # type: ignore[assignment]
        _lay_out(self.ax_)
        return self.ax_

    def _add_legend(
        self, wanted: bool, handles: Sequence[Artist], labels: Sequence[str], **place: Any
    ) -> None:
        """Add a legend of what that of no other axes of the figure says already."""
        self.legend_ = None
        if not as_flag("legend", wanted):
            return
        others = [ax.get_legend() for ax in self.figure_.axes if ax is not self.ax_]
        known = set(chain.from_iterable(map(_said, others)))
        legend = self.ax_.legend(handles, labels, **INSIDE | place)
        new = [at for at, entry in enumerate(_said(legend)) if entry not in known]
        legend.remove()
        if new:
            left = [handles[at] for at in new], [labels[at] for at in new]
            self.legend_ = self.ax_.legend(*left, **INSIDE | place)
