"""Names at the ends of lines, titles that state a finding, and a layout that stays as it is.

A name at the end of its line is read faster than a legend. Names of lines that end close to each
other are moved apart; how far is known only when the layout is, so that `freeze` does it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import IdentityTransform
from numpy.typing import ArrayLike

from kpegasos.plotting.style import GREY

#: Least contrast of text with white, as the web's guidelines for accessibility ask for.
_CONTRAST = 4.5
#: Points from the end of a line to its name.
_AWAY = 5.0
_TITLE_SIZE, _NOTE_SIZE = 13.0, 9.5


class EndLabel(Annotation):
    """The name of a line, to the right of the axes at the height at which the line ends."""


def ink(color: Any) -> tuple[float, float, float]:
    """Return a colour for text on white: the given one, darker if it is too light to be read.

    Parameters
    ----------
    color : matplotlib colour
        Colour of a line.

    Returns
    -------
    tuple of three float
        Red, green and blue from 0 to 1.
    """
    rgb = np.array(to_rgb(color))
    while 1.05 / (_luminance(rgb) + 0.05) < _CONTRAST:
        rgb = 0.95 * rgb
    return tuple(rgb.tolist())


def label_end(
    ax: Axes, x: ArrayLike, y: ArrayLike, text: str, color: Any, **options: Any
) -> EndLabel | None:
    """Write the name of a line to the right of the axes, at the height of its last point in view.

    Parameters
    ----------
    ax : Axes
        Axes of the line, whose limits are final.
    x, y : array-like of shape (n_points,)
        The line; points that are not finite do not count.
    text : str
        The name.
    color : matplotlib colour
        Colour of the line.
    **options
        Options of the text.

    Returns
    -------
    EndLabel or None
        The name; None if no point is in view.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    low, high = sorted(ax.get_ylim())
    shown = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & (y >= low) & (y <= high))
    if not shown.size:
        return None
    rightmost = np.argmin if ax.xaxis_inverted() else np.argmax
    label = EndLabel(
        text,
        (1.0, float(y[shown[rightmost(x[shown])]])),
        xycoords=("axes fraction", "data"),
        xytext=(_AWAY, 0.0),
        textcoords="offset points",
        va="center",
        color=ink(color),
        annotation_clip=False,
        **{"fontsize": "medium", **options},
    )
    # As ``Axes.annotate`` does: positions are not those of data, and text outside is not clipped.
    label.set_transform(IdentityTransform())
    ax.add_artist(label)
    label.set_clip_path(None)
    label.set_clip_box(None)
    return label


def state(figure: Figure, finding: str, setting: str = "") -> None:
    """Put a finding above a figure, and below it, in grey, what was measured.

    Parameters
    ----------
    figure : Figure
        The figure, whose layout is constrained.
    finding : str
        A sentence; it is broken into lines of the figure's width.
    setting : str, default=""
        Data, parameters, number of runs, and what bands are.
    """
    points = 72.0 * figure.get_figwidth()
    title = _wrapped(finding, int(points / (0.64 * _TITLE_SIZE)))
    figure.suptitle(title, x=0.01, ha="left", fontsize=_TITLE_SIZE, fontweight="bold")
    if setting:
        note = _wrapped(setting, int(points / (0.55 * _NOTE_SIZE)))
        figure.supxlabel(note, x=0.01, ha="left", fontsize=_NOTE_SIZE, color=GREY)


def freeze(figure: Figure) -> None:
    """Lay a figure out for good: names at line ends are moved apart, and nothing moves any more.

    Without it each format that a figure is saved in is laid out anew, by slightly other sizes of
    text.

    Parameters
    ----------
    figure : Figure
        The figure.
    """
    figure.draw_without_rendering()
    for ax in figure.axes:
        labels = [text for text in ax.get_children() if isinstance(text, EndLabel)]
        _move_apart(ax, labels)
    figure.set_layout_engine("none")


def _move_apart(ax: Axes, labels: Sequence[EndLabel]) -> None:
    """Move names of lines that end close to each other up and down, in their order."""
    if not labels:
        return
    figure = ax.get_figure(root=True)
    assert figure is not None
    points = 72.0 / figure.dpi
    ends = np.array([ax.transData.transform((1.0, label.xy[1]))[1] for label in labels]) * points
    heights = np.array([label.get_window_extent().height for label in labels]) * points
    order = np.argsort(ends, kind="stable")
    box = ax.bbox
    placed = spread_out(ends[order], heights[order], box.y0 * points, box.y1 * points)
    for number, height in zip(order, placed, strict=True):
        labels[number].set_position((_AWAY, float(height - ends[number])))


def spread_out(
    centres: np.ndarray, heights: np.ndarray, low: float = -np.inf, high: float = np.inf
) -> np.ndarray:
    """Return positions of boxes on a line that do not overlap, as near as can be to the asked ones.

    Parameters
    ----------
    centres : ndarray of shape (n_boxes,)
        Centres that are asked for, in ascending order.
    heights : ndarray of shape (n_boxes,)
        Heights of the boxes.
    low, high : float, default=-inf and inf
        Ends of the line; boxes leave it only if there is no room.

    Returns
    -------
    ndarray of shape (n_boxes,)
        Centres of least squared distance from those asked for.
    """
    # Less the room that the boxes below take, centres need only not decrease: isotonic regression.
    below = np.concatenate(([0.0], np.cumsum((heights[:-1] + heights[1:]) / 2)))
    blocks: list[tuple[float, int]] = []
    for value in centres - below:
        size = 1
        while blocks and blocks[-1][0] > value:
            mean, count = blocks.pop()
            value, size = (mean * count + value * size) / (count + size), count + size
        blocks.append((float(value), size))
    free = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    least = low + heights[0] / 2
    most = max(least, high - below[-1] - heights[-1] / 2)
    return np.asarray(free.clip(least, most) + below)


def _wrapped(text: str, width: int) -> str:
    """Break a text into lines, but for formulas such as "m = 10"."""
    return textwrap.fill(re.sub(r" ([=<>≤≥×≈]) ", "\u00a0\\1\u00a0", text), width)


def _luminance(rgb: np.ndarray) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
