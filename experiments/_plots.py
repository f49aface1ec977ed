"""Parts of the figures: one style, one look for each method, bands, logarithmic axes, one legend.

Methods that are drawn side by side differ in more than hue.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

mpl.use("agg")

#: Okabe and Ito's palette, told apart by the colour-blind too, without the yellow that is too faint
#: for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
DARK_GREY, GREY, SILVER = "#666666", "#999999", "#BBBBBB"
#: Width of a figure in inches; at 150 pixels an inch half as many again as a page shows.
WIDTH = 9.0
STYLE: dict[str, Any] = {
    # An opaque white card reads well in a light and in a dark README alike.
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": f"cycler('color', {list(PALETTE)})",
}
#: The one name of each quantity on an axis.
STEPS, EPOCHS, LAM_T = "steps T", "epochs", "λT"
EXCESS, RELATIVE_EXCESS = "suboptimality f(w) − f*", "relative suboptimality"
SECONDS, TEST_ERROR = "seconds to fit", "test error, %"


@dataclass(frozen=True)
class Look:
    """The name and the style of a method."""

    name: str
    color: str
    marker: str = "o"
    line: str = "-"

    def style(self, **more: Any) -> dict[str, Any]:
        """Return options of ``Axes.plot``."""
        own = {"color": self.color, "marker": self.marker, "linestyle": self.line}
        return {**own, "markersize": 5, "label": self.name, **more}


#: Every method that several figures compare, by a short key.
METHODS = {
    "last": Look("last iterate", VERMILION, "o"),
    "weighted": Look("t-weighted average", BLUE, "s"),
    "suffix": Look("suffix average", SKY, "D", "--"),
    "uniform": Look("uniform average", PURPLE, "^", "-."),
    "Pegasos": Look("Pegasos", BLUE, "s"),
    "polished": Look("Pegasos, polished", BLACK, "o"),
    "SDCA": Look("SDCA", PURPLE, "P"),
    "SVC": Look("SVC (LIBSVM)", ORANGE, "v"),
    "intelex": Look("SVC (intelex)", GREEN, "^"),
}


def shades(number: int) -> list[str]:
    """Return colours for increasing values, from dark to light, all legible on white."""
    return [to_hex(mpl.colormaps["viridis"](at)) for at in np.linspace(0.0, 0.82, number)]


def panels(n_rows: int, n_columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """Make a figure of the one width, with rows of panels."""
    return plt.subplots(n_rows, n_columns, figsize=(WIDTH, height), squeeze=False, **options)


def band(
    ax: Axes, x: ArrayLike, values: ArrayLike, *, color: str, alpha: float = 0.2, **options: Any
) -> None:
    """Draw a line in a band, from the lower end, the line, and the upper end at each position."""
    low, middle, high = np.asarray(values, dtype=float)
    ax.plot(x, middle, color=color, **options)
    ax.fill_between(x, low, high, color=color, alpha=alpha, linewidth=0)


def log_x(ax: Axes, **properties: Any) -> None:
    """Make the horizontal axis logarithmic, and add a grid."""
    ax.set(xscale="log", **properties)
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(alpha=0.25)


def log_log(ax: Axes, **properties: Any) -> None:
    """Make both axes logarithmic, and add a grid."""
    log_x(ax, yscale="log", **properties)
    ax.yaxis.set_minor_formatter(NullFormatter())


def outer_labels(axes: Any, x: str = "", y: str = "") -> None:
    """Label the lowest row and the first column of panels."""
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)


def rows_down(ax: Axes, names: Sequence[str], **options: Any) -> None:
    """Name the rows of axes, the first at the top."""
    ax.set_yticks(range(len(names)), names, **options)
    ax.set_ylim(len(names) - 0.5, -0.5)


def beside(ax: Axes, text: str, at: Any, shift: tuple[float, float], **options: Any) -> None:
    """Write beside a point, shifted by some points of type."""
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **{"va": "center", **options})


def state(figure: Figure, title: str, note: str) -> Figure:
    """Put a title above a figure, a note below, and a legend of all lines with labels beside.

    Parameters
    ----------
    figure : Figure
        The figure, whose layout is constrained.
    title : str
        What it shows, in a short sentence.
    note : str
        Data, parameters, number of runs, and what bands are.

    Returns
    -------
    Figure
        The same figure.
    """
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    # Formulas such as "m = 10" are not broken.
    text = re.sub(r" ([=<>≤≥×≈]) ", "\u00a0\\1\u00a0", note)
    text = textwrap.fill(text, 125)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=9.5, color=DARK_GREY)
    known: dict[str, Any] = {}
    for ax in figure.axes:
        if ax.get_legend() is None:
            handles, labels = ax.get_legend_handles_labels()
            known = dict(zip(labels, handles, strict=True)) | known
    if known:
        figure.legend([*known.values()], [*known], loc="outside right center")
    return figure
