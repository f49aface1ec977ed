"""Parts of the figures: bands, logarithmic axes, lines named at their ends, sentences above them.

A method has one colour, one marker, one line and one name, and a quantity one name.  Methods that
are drawn side by side differ in more than hue.  A name at the end of its line is read faster than a
legend; how far names are moved apart is known only when the layout is, so that `freeze` does it.
Nothing is imported that a measurement would notice: experiments import this module before they know
whether they are to compute or to draw.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.typing import ColorType
    from numpy.typing import ArrayLike

#: Okabe and Ito's palette, told apart by the colour-blind too, without the yellow that is too faint
#: for a line.
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


@dataclass(frozen=True)
class Look:
    """The name and the style of a method."""

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
    "last": Look("last iterate", VERMILION, "o"),
    "weighted": Look("t-weighted average", BLUE, "s"),
    "suffix": Look("suffix average", SKY, "D", "--"),
    "uniform": Look("uniform average", PURPLE, "^", "-."),
    "gap": Look("certified gap", GREEN, "v"),
    "dual": Look("dual bound", GREEN, "v"),
    "independent": Look("independent draws", VERMILION, "o"),
    "permutation": Look("a new permutation each epoch", BLUE, "s"),
    "one permutation": Look("one permutation", GREEN, "^"),
    "contiguous": Look("contiguous blocks", SKY, "D"),
    "Pegasos": Look("Pegasos", BLUE, "s"),
    "polished": Look("Pegasos, polished", BLACK, "o"),
    "SDCA": Look("SDCA", PURPLE, "P"),
    "SVC": Look("SVC (LIBSVM)", ORANGE, "v"),
    "LinearSVC": Look("LinearSVC", ORANGE, "v"),
    "intelex": Look("SVC (intelex)", GREEN, "^"),
    "LASVM": Look("LASVM", SKY, "D", "-."),
    "Nyström": Look("Nyström features", PURPLE, "P", "--"),
    "Fourier": Look("random features", VERMILION, "X", ":"),
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
_TITLE_SIZE, _NOTE_SIZE = 13.0, 9.5
#: What tells the names of lines from other texts.
END = "end of a line"


def shades(number: int) -> list[str]:
    """Return colours for increasing values, from dark to light, all legible on white."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](at)) for at in np.linspace(0.0, 0.82, number)]


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

    return plt.subplots(n_rows, n_columns, figsize=(WIDTH, height), squeeze=False, **options)


def empty(height: float) -> Figure:
    """Make a figure of the one width, without panels."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(WIDTH, height))


def outer_labels(axes: Any, x: str = "", y: str = "") -> None:
    """Label the lowest row and the first column of panels."""
    for ax in axes[-1] if x else ():
        ax.set_xlabel(x)
    for ax in axes[:, 0] if y else ():
        ax.set_ylabel(y)


def band(
    ax: Axes, x: ArrayLike, values: ArrayLike, *, color: str, alpha: float = 0.2, **options: Any
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
    **options
        Options of the line; its label is written at its end.
    """
    low, middle, high = np.asarray(values, dtype=float)
    ax.plot(x, middle, color=color, **options)
    ax.fill_between(x, low, high, color=color, alpha=alpha, linewidth=0)


def rows_down(ax: Axes, names: Sequence[str], **options: Any) -> None:
    """Name the rows of axes, the first at the top."""
    ax.set_yticks(range(len(names)), names, **options)
    ax.set_ylim(len(names) - 0.5, -0.5)


def apart(ax: Axes, shift: float = 0.16) -> None:
    """Move the single markers on the rows of axes apart, each kind to a height of its own."""
    dots = [line for line in ax.get_lines() if line.get_marker() not in ("None", "|")]
    kinds = list(dict.fromkeys(line.get_marker() for line in dots))
    for line in dots:
        up = shift * (kinds.index(line.get_marker()) - (len(kinds) - 1) / 2)
        line.set_ydata(np.asarray(line.get_ydata(), dtype=float) + up)


def beside(
    ax: Axes, text: str, at: Any, shift: tuple[float, float], of: str = BLACK, **options: Any
) -> None:
    """Write beside a point, shifted by some points of type, in the colour of what it is about."""
    options = {"color": text_color(of), "va": "center", **options}
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **options)


def handle(label: str, **style: Any) -> Line2D:
    """Return an entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def log_x(ax: Axes, **properties: Any) -> None:
    """Make the horizontal axis logarithmic, with ticks that can be read, and add a grid."""
    from kpegasos.plotting.style import log_ticks

    ax.set(xscale="log", **properties)
    log_ticks(ax)
    ax.grid(alpha=0.25)


def log_log(ax: Axes, **properties: Any) -> None:
    """Make both axes logarithmic, with ticks that can be read, and add a grid."""
    log_x(ax, yscale="log", **properties)


def legend_above(
    ax: Axes,
    looks: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    over_title: bool = False,
    **options: Any,
) -> None:
    """Put a legend above axes, in one line unless said otherwise, for what has no ends to name.

    Parameters
    ----------
    ax : Axes
        The axes; with a title of one line if the legend is to be above that.
    looks : mapping of str to mapping or None
        What the legend has: options of lines, by their labels; the lines of the axes if None.
    over_title : bool, default False
        Whether the legend is above the title and may be wider than the axes.
    **options
        Options of the legend.
    """
    from matplotlib.transforms import ScaledTranslation

    handles: Any = [handle(label, **style) for label, style in (looks or {}).items()]
    handles = handles or [line for line in ax.get_lines() if str(line.get_label())[0] != "_"]
    own = {"columnspacing": 1.3, "handletextpad": 0.4, "borderaxespad": 0.2, "ncols": len(handles)}
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), **own, **options}
    if over_title:
        figure = ax.get_figure(root=True)
        assert figure is not None
        up = (1.6 * float(ax.title.get_fontsize()) + 2) / 72
        place["bbox_transform"] = ax.transAxes + ScaledTranslation(0, up, figure.dpi_scale_trans)
        n_rows = -(-len(handles) // place["ncols"])
        ax.set_title("\n" * (n_rows + 1) + ax.get_title(loc="left"))  # for the room
    legend = ax.legend(handles=handles, **place)
    legend.set_in_layout(not over_title)


def name_end(ax: Axes, name: str, height: float, color: ColorType) -> None:
    """Write the name of a line to the right of the axes, at the height at which it ends."""
    place: dict[str, Any] = {"xytext": (5.0, 0.0), "textcoords": "offset points", "va": "center"}
    place |= {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
    label = ax.annotate(name, (1.0, height), color=text_color(color), **place)
    label.set(fontsize="medium", label=END)


def _name_lines(figure: Figure) -> None:
    """Name the lines that have a label at the last of their points in view, if any is.

    Each is named once in a figure: in the rightmost of its panels, and there in the uppermost.
    """
    named = set()
    for ax in sorted(figure.axes, key=lambda ax: (-round(ax.bbox.x1), -ax.bbox.y1)):
        low, high = sorted(ax.get_ylim())
        rightmost = np.argmin if ax.xaxis_inverted() else np.argmax
        for line in ax.get_lines() if ax.get_legend() is None else ():
            x, y = np.asarray(line.get_data(), dtype=float)
            shown = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & (y >= low) & (y <= high))
            look = name, _ = str(line.get_label()), line.get_color()
            if shown.size and not name.startswith("_") and look not in named:
                named.add(look)
                name_end(ax, name, float(y[shown[rightmost(x[shown])]]), line.get_color())


def freeze(figure: Figure) -> None:
    """Lay a figure out for good: lines are named, names moved apart, and nothing moves any more.

    Lines of axes with a legend are not named. Without this each format that a figure is saved in
    is laid out anew, by slightly other sizes of text.
    """
    _name_lines(figure)
    figure.draw_without_rendering()
    points = 72.0 / figure.dpi
    for ax in figure.axes:
        labels: list[Any] = [text for text in ax.texts if text.get_label() == END]
        if not labels:
            continue
        ends = np.array([ax.transData.transform((1.0, label.xy[1]))[1] for label in labels])
        order = np.argsort(ends, kind="stable")
        heights = np.array([labels[at].get_window_extent().height for at in order]) * points
        ends = points * ends[order]
        placed = spread_out(ends, heights, ax.bbox.y0 * points, ax.bbox.y1 * points)
        for at, shift in zip(order, placed - ends, strict=True):
            labels[at].set_position((5.0, float(shift)))
    figure.set_layout_engine("none")


def spread_out(
    centres: np.ndarray, heights: np.ndarray, low: float = -np.inf, high: float = np.inf
) -> np.ndarray:
    """Return centres of boxes on a line that do not overlap, as near as can be to the asked ones.

    Parameters
    ----------
    centres : ndarray of shape (n_boxes,)
        Centres that are asked for, in ascending order.
    heights : ndarray of shape (n_boxes,)
        Heights of the boxes.
    low, high : float, default=-inf and inf
        Ends of the line; boxes leave it only if there is no room.
    """
    from sklearn.isotonic import isotonic_regression

    # Less the room that the boxes below take, centres need only not decrease.
    below = np.concatenate(([0.0], np.cumsum((heights[:-1] + heights[1:]) / 2)))
    least = low + heights[0] / 2
    most = max(least, high - below[-1] - heights[-1] / 2)
    return np.asarray(isotonic_regression(centres - below, y_min=least, y_max=most) + below)


def text_color(color: ColorType) -> tuple[float, float, float]:
    """Return a colour in which text on white can be read: darker if the given one is too light."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(color))

    def contrast() -> float:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return 1.05 / (float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)

    while contrast() < 4.5:  # as the web's guidelines for accessibility ask for
        rgb = 0.95 * rgb
    return tuple(rgb.tolist())


def state(figure: Figure, finding: str, setting: str = "") -> Figure:
    """Put a finding above a figure, and below it, in grey, its numbers and what was measured.

    Parameters
    ----------
    figure : Figure
        The figure, whose layout is constrained.
    finding : str
        A short sentence, and after a colon its numbers, which go below.
    setting : str, default=""
        Data, parameters, number of runs, and what bands are.

    Returns
    -------
    Figure
        The same figure.
    """
    points = 72.0 * figure.get_figwidth()
    title, _, numbers = finding.partition(": ")
    figure.suptitle(title, x=0.01, ha="left", fontsize=_TITLE_SIZE, fontweight="bold")
    first = numbers[:1].upper() if numbers[:1].isascii() else numbers[:1]  # λ is not Λ
    note = " ".join([first + numbers[1:] + "."] * bool(numbers) + [setting])
    note = _wrapped(note, int(points / (0.55 * _NOTE_SIZE)))
    figure.supxlabel(note, x=0.01, ha="left", fontsize=_NOTE_SIZE, color=DARK_GREY)
    return figure


def _wrapped(text: str, width: int) -> str:
    """Break a text into lines, but for formulas such as "m = 10"."""
    return textwrap.fill(re.sub(r" ([=<>≤≥×≈]) ", "\u00a0\\1\u00a0", text), width)


def power_of_ten(value: float) -> str:
    """Write a number as mathtext: a power of ten, times a factor if it has one."""
    mantissa, exponent = f"{value:.2e}".split("e")
    digits = mantissa.rstrip("0").rstrip(".")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if digits == "1" else rf"${digits}\times{power}$"


def power(symbol: str, exponent: float) -> str:
    """Write a power as mathtext, its exponent to two digits."""
    return rf"${symbol}^{{{round(exponent, 2) + 0.0:.2f}}}$"


def times(ratio: float) -> str:
    """Write a factor to the digits that it deserves."""
    digits = 2 if ratio < 1 else 1 if ratio < 10 else 0
    return f"{ratio:,.{digits}f}"
