"""What the figures share: bands, logarithmic axes, lines named at their ends, sentences above them.

Colours, markers and words are those of `kpegasos.plotting.style`; this module says which of them an
experiment's drawing needs most.  Nothing is imported that a measurement would notice: experiments
import this module before they know whether they are to compute or to draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from kpegasos.plotting.style import Look

    NamedLine = tuple[ArrayLike, ArrayLike, str]

#: Okabe and Ito's palette, told apart by the colour-blind too, without the yellow that is too faint
#: for a line; `kpegasos.plotting.style` says which of them are not to meet in one figure.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
DARK_GREY, GREY, SILVER, LIGHT_GREY = "#666666", "#999999", "#BBBBBB", "#DDDDDD"

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


def look(key: str) -> Look:
    """Return name, colour, marker and line of a method."""
    from kpegasos.plotting.style import METHODS

    return METHODS[key]


def words(key: str) -> str:
    """Return what a quantity is called on an axis."""
    from kpegasos.plotting.style import WORDS

    return WORDS[key]


def shades(number: int) -> list[str]:
    """Return colours for increasing values."""
    from kpegasos.plotting import style

    return style.shades(number)


def panels(n_rows: int, n_columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """Make a figure of the one width, with rows of panels.

    Parameters
    ----------
    n_rows, n_columns : int
        How many panels there are.
    height : float
        Height of the figure in inches.
    **options
        Options of ``plt.subplots``.

    Returns
    -------
    figure : Figure
        The figure.
    axes : ndarray of Axes of shape (n_rows, n_columns)
        Its panels.
    """
    import matplotlib.pyplot as plt

    from kpegasos.plotting.style import WIDTH

    return plt.subplots(n_rows, n_columns, figsize=(WIDTH, height), squeeze=False, **options)


def line(ax: Axes, x: ArrayLike, y: ArrayLike, *, color: str, **options: Any) -> NamedLine:
    """Draw a line; return it as `name_lines` takes it."""
    ax.plot(x, y, color=color, **options)
    return x, y, color


def empty(height: float) -> Figure:
    """Make a figure of the one width, without panels."""
    import matplotlib.pyplot as plt

    from kpegasos.plotting.style import WIDTH

    return plt.figure(figsize=(WIDTH, height))


def outer_labels(axes: Any, x: str = "", y: str = "") -> None:
    """Label the lowest row and the first column of panels."""
    for ax in axes[-1] if x else ():
        ax.set_xlabel(x)
    for ax in axes[:, 0] if y else ():
        ax.set_ylabel(y)


def band(
    ax: Axes, x: ArrayLike, values: ArrayLike, *, color: str, alpha: float = 0.2, **options: Any
) -> NamedLine:
    """Draw a line in a band.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    x : array-like of shape (n_points,)
        Positions.
    values : array-like of shape (3, n_points)
        Lower end of the band, line, and upper end.
    color : str
        Colour of both.
    alpha : float, default 0.2
        Opacity of the band.
    **options
        Options of the line.

    Returns
    -------
    tuple of (x, y, colour)
        The line as `name_lines` takes it.
    """
    low, middle, high = np.asarray(values, dtype=float)
    ax.plot(x, middle, color=color, **options)
    ax.fill_between(x, low, high, color=color, alpha=alpha, linewidth=0)
    return x, middle, color


def rows_down(ax: Axes, names: Sequence[str], **options: Any) -> None:
    """Name the rows of axes, the first at the top."""
    ax.set_yticks(range(len(names)), names, **options)
    ax.set_ylim(len(names) - 0.5, -0.5)


def beside(
    ax: Axes, text: str, at: tuple[Any, Any], shift: tuple[float, float], **options: Any
) -> None:
    """Write beside a point, shifted by some points of type."""
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **{"va": "center", **options})


def handle(label: str, **style: Any) -> Line2D:
    """Return an entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def log_log(
    ax: Axes, *, alpha: float = 0.25, which: Literal["major", "both"] = "major", **properties: Any
) -> None:
    """Make both axes logarithmic, with a grid of some opacity.

    Parameters
    ----------
    ax : Axes
        The axes.
    alpha : float, default 0.25
        Opacity of the grid.
    which : {"major", "both"}, default "major"
        Ticks that have a grid line.
    **properties
        More of what ``ax.set`` takes.
    """
    from kpegasos.plotting.ticks import log_ticks

    ax.set(xscale="log", yscale="log", **properties)
    log_ticks(ax)
    ax.grid(alpha=alpha, which=which)


def log_x(ax: Axes, **properties: Any) -> None:
    """Make the horizontal axis logarithmic, with ticks that can be read, and add a grid."""
    from kpegasos.plotting.ticks import log_ticks

    ax.set(xscale="log", **properties)
    log_ticks(ax, "x")
    ax.grid(alpha=0.25)


def legend_above(
    ax: Axes, handles: Sequence[Line2D], *, over_title: bool = False, **options: Any
) -> None:
    """Put a legend in one line above axes, where lines have no ends of their own.

    Parameters
    ----------
    ax : Axes
        The axes; with a title of one line if the legend is to be above that.
    handles : sequence of Line2D
        What the legend has, by their labels.
    over_title : bool, default False
        Whether the legend is above the title and may be wider than the axes.
    **options
        Options of the legend.
    """
    from matplotlib.transforms import ScaledTranslation

    own = {"columnspacing": 1.3, "handletextpad": 0.4, "borderaxespad": 0.2}
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
    if over_title:
        figure = ax.get_figure(root=True)
        assert figure is not None
        up = (1.6 * float(ax.title.get_fontsize()) + 2) / 72
        place["bbox_transform"] = ax.transAxes + ScaledTranslation(0, up, figure.dpi_scale_trans)
        ax.set_title("\n\n" + ax.get_title(loc="left"))  # for the room
    legend = ax.legend(handles=list(handles), ncols=len(handles), **{**place, **own, **options})
    legend.set_in_layout(not over_title)


def name_lines(ax: Axes, names: Mapping[str, NamedLine]) -> None:
    """Write the names of lines at their ends.

    Parameters
    ----------
    ax : Axes
        Axes whose limits are final.
    names : dict of str to (x, y, colour)
        The lines by their names; a line without a point in view has no name.
    """
    from kpegasos.plotting.labels import label_end

    for name, (x, y, color) in names.items():
        label_end(ax, x, y, name, color)


def text_color(color: str) -> Any:
    """Return a colour in which text on white can be read."""
    from kpegasos.plotting.labels import ink

    return ink(color)


def state(figure: Figure, finding: str, setting: str = "") -> None:
    """Put a sentence above a figure, and below it what was measured."""
    from kpegasos.plotting import labels

    labels.state(figure, finding, setting)


def power(symbol: str, exponent: float) -> str:
    """Write a power as mathtext, its exponent to two digits."""
    return rf"${symbol}^{{{round(exponent, 2) + 0.0:.2f}}}$"


def times(ratio: float) -> str:
    """Write a factor to the digits that it deserves."""
    digits = 2 if ratio < 1 else 1 if ratio < 10 else 0
    return f"{ratio:,.{digits}f}"
