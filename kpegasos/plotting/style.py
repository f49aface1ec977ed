"""What the displays share: colours, markers, names of classes, axes and legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.ticker import NullLocator

from kpegasos.plotting import checks
from kpegasos.utils.validation import as_flag

VERMILLION, BLUE, GREEN, PURPLE = "#D55E00", "#0072B2", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#666666"
#: Okabe and Ito's palette, which the colour-blind can tell apart, in the order of the classes. Grey
#: stands for their black, the colour of lines and rings.
COLORS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
MARKERS = "os^DvP"

#: A legend to the right of the axes.
_BESIDE: dict[str, Any] = {
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
#: Up to so many values along an axis have a tick each.
_MOST_TICKS = 10

Panels = Axes | Sequence[Axes] | np.ndarray


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


def ticks_at(axis: Axis, values: np.ndarray) -> None:
    """Put a tick at each of a few values of a logarithmic axis; leave the ticks of many as is."""
    if values.size <= _MOST_TICKS:
        axis.set_ticks(values.tolist(), [_tick_text(value) for value in values])
        axis.set_minor_locator(NullLocator())


def _tick_text(value: float) -> str:
    """Return a label: three digits, or a power of ten for what is far from 1."""
    if 1e-4 <= abs(value) < 1e5:
        return np.format_float_positional(value, precision=3, fractional=False, trim="-")
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = mantissa.rstrip("0").rstrip(".")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if digits == "1" else rf"${digits}\times{power}$"


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
        self.legend_ = self.ax_.legend(handles, labels, **_BESIDE) if shown else None
