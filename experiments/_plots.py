"""What the figures share: the palette, bands, logarithmic axes, legends outside.

Nothing is imported that a measurement would notice: experiments import this module before they
know whether they are to compute or to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

#: Okabe and Ito's palette, told apart by the colour-blind too. Not in the order of
#: `kpegasos.plotting.COLORS`: there is no class 0 here, and a line in yellow would be too faint.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
DARK_GREY, GREY, SILVER, LIGHT_GREY = "#666666", "#999999", "#BBBBBB", "#DDDDDD"


def band(
    ax: Axes, x: ArrayLike, values: ArrayLike, *, color: str, alpha: float = 0.2, **line: Any
) -> None:
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
    **line
        Options of the line.
    """
    low, middle, high = np.asarray(values, dtype=float)
    ax.plot(x, middle, color=color, **line)
    ax.fill_between(x, low, high, color=color, alpha=alpha, linewidth=0)


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
    ax.set(xscale="log", yscale="log", **properties)
    ax.grid(alpha=alpha, which=which)


def legend_below(
    figure: Figure, entries: tuple[Sequence[Artist], Sequence[str]] | Axes, **options: Any
) -> None:
    """Put a legend below all axes.

    Parameters
    ----------
    figure : Figure
        The figure.
    entries : Axes or (handles, labels)
        What the legend has; those of some axes, or given.
    **options
        Options of the legend, ``ncols`` among them.
    """
    if not isinstance(entries, tuple):
        entries = entries.get_legend_handles_labels()
    figure.legend(*entries, **{"loc": "outside lower center", "frameon": False, **options})
