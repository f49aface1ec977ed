"""Style of all pictures: colours and markers of classes, ticks of logarithmic axes, legends.

Two classes that are drawn side by side differ in more than hue: for the colour-blind, vermilion and
orange are alike, and so are green and purple.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotParams
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import AutoLocator, LogFormatterSciNotation, LogLocator, NullLocator

from kpegasos.plotting import checks
from kpegasos.utils.validation import as_flag

VERMILLION, BLUE, GREEN, PURPLE = "#D55E00", "#0072B2", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#666666"
#: Okabe and Ito's palette, which the colour-blind can tell apart, in the order of the classes. Grey
#: stands for their black, the colour of lines and rings.
COLORS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
_MARKERS = "os^DvP"

#: A legend to the right of the axes.
BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.02, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
}
#: A legend inside of axes, which may be narrow.
INSIDE: dict[str, Any] = {
    "loc": "best",
    "fontsize": "small",
    "framealpha": 0.8,
    "handlelength": 1.5,
    "handletextpad": 0.5,
    "labelspacing": 0.3,
}
#: Where there is no number.
MISSING: dict[str, Any] = {"facecolor": "white", "edgecolor": GREY, "hatch": "////"}

_TITLES = {
    "gap": "certified gap",
    "relative_gap": "certified relative gap",
    "support_size": "support vectors",
    "seconds": "seconds in the solver",
}

Panels = Axes | Sequence[Axes] | np.ndarray


def title_of(name: str) -> str:
    """Return what a column of a history is called where it stands alone."""
    return _TITLES.get(name, name.replace("_", " "))


def ink() -> str:
    """Return the colour of lines and rings: that of axes, light where a style is dark."""
    return str(plt.rcParams["axes.edgecolor"])


def color_of(number: int) -> str:
    """Return the colour of a class by its number."""
    return COLORS[number % len(COLORS)]


def marker_of(number: int) -> str:
    """Return the marker of a class by its number: the second cue beside the colour."""
    return _MARKERS[number % len(_MARKERS)]


def class_name(label: Any) -> str:
    """Return the name of a class in a legend, where a bare number says too little."""
    return label if isinstance(label, str) else f"class {label}"


class _LogNumbers(LogFormatterSciNotation):
    """Plain numbers where they are short and span a few decades, else powers of ten."""

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        """Return the labels of all ticks of an axis, in one notation."""
        ticks = sorted(values)
        if ticks and ticks[0] > 0.0005 and ticks[-1] < min(700_000.0, 20_000.0 * ticks[0]):
            return [f"{value:,.6g}" for value in values]
        return [self(value) for value in values]


class _OneTwoFive(LogLocator):
    """Ticks at 1, 2 and 5 of each decade where there is room for them, else at decades."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the positions of the ticks between two values, two at least."""
        low, high = sorted((vmin, vmax))

        def within(ticks: Iterable[float]) -> np.ndarray:  # which rounding must not exclude
            ends = low * (1 - 1e-9), high * (1 + 1e-9)
            return np.array([tick for tick in ticks if ends[0] <= tick <= ends[1]])

        fine = within(LogLocator(subs=(1.0, 2.0, 5.0), numticks=99).tick_values(low, high))
        if len(fine) < 2:
            fine = within(AutoLocator().tick_values(low, high))
        decades = within(super().tick_values(low, high))
        longest = max((len(f"{tick:,.6g}") for tick in fine), default=1)
        # The room along x is meant for labels three times as wide as high.
        width = (0.65 * longest + 1) / 3 if isinstance(self.axis, XAxis) else 1.0
        room = 9 if self.axis is None else self.axis.get_tick_space() / width
        if len(fine) <= room or len(decades) < 2 <= len(fine):
            return fine if len(fine) <= room else fine[[0, -1]]
        return decades


def log_ticks(ax: Axes, which: str = "both") -> None:
    """Give logarithmic axes ticks that can be read.

    Parameters
    ----------
    ax : Axes
        The axes; those of its two axes that are not logarithmic are left as they are.
    which : {"x", "y", "both"}, default="both"
        Which axis.
    """
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if which in (name, "both") and axis.get_scale() == "log":
            axis.set_major_locator(_OneTwoFive())
            axis.set_major_formatter(_LogNumbers(minor_thresholds=(np.inf, np.inf)))
            axis.set_minor_locator(NullLocator())


def ticks_at(axis: Axis, values: np.ndarray) -> None:
    """Put a tick at each of a few values of a logarithmic axis; leave the ticks of many as is."""
    if values.size <= 10:
        power = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf))
        labels = [f"{x:.3g}" if 1e-4 <= x < 1e5 else power(x) for x in values.tolist()]
        axis.set_ticks(values.tolist(), labels)
        axis.set_minor_locator(NullLocator())


def panels_or_new(
    ax: Panels | None, n_panels: int, figsize: tuple[float, float], n_columns: int | None = None
) -> np.ndarray:
    """Return the axes given as an array, or those of a new figure.

    Its panels of ``figsize`` inches are in one row, or in rows of ``n_columns``.
    """
    if ax is None:
        width = min(n_panels, n_columns or n_panels)
        height = -(-n_panels // width)
        size = figsize[0] * width, figsize[1] * height
        layout = ConstrainedLayoutEngine(wspace=0.05 if n_columns else None)
        panels = plt.subplots(height, width, figsize=size, layout=layout, squeeze=False)[1].ravel()
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
    """Add a legend above the first panel, or above all panels of a figure of one's own.

    Colour bars or more panels are beside them.
    """
    if not wanted or not entries:
        return None
    handles, labels = list(entries.values()), list(entries)
    if own and len(axes) > 1:
        place: dict[str, Any] = {"loc": "outside upper left", "ncols": len(labels)}
        return axes[0].get_figure(root=True).legend(handles, labels, frameon=False, **place)
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    return axes[0].legend(handles, labels, frameon=False, **place)


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

    def _add_legend(self, wanted: bool, handles: Sequence[Artist], labels: Sequence[str]) -> None:
        """Add a legend of what that of no other axes of the figure says already."""
        self.legend_ = None
        if not as_flag("legend", wanted):
            return
        others = [ax.get_legend() for ax in self.figure_.axes if ax is not self.ax_]
        known = set(chain.from_iterable(map(_said, others)))
        legend = self.ax_.legend(handles, labels, **INSIDE)
        new = [at for at, entry in enumerate(_said(legend)) if entry not in known]
        legend.remove()
        if new:
            left = [handles[at] for at in new], [labels[at] for at in new]
            self.legend_ = self.ax_.legend(*left, **INSIDE)
