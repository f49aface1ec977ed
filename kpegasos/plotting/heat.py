"""Heat maps over C and γ: cells on logarithmic axes, their colours, marks, and numbers in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.ticker import PercentFormatter

from kpegasos.plotting.style import MISSING, VERMILLION
from kpegasos.plotting.ticks import ticks_at
from kpegasos.utils.validation import shown


def check_format(values_format: Any) -> None:
    """Check a format of numbers.

    Raises
    ------
    ValueError
        If it is none.
    """
    try:
        format(0.5, "" if values_format is None else values_format)
    except (TypeError, ValueError):
        raise ValueError(
            f"values_format must be a format of numbers, got {shown(values_format)} instead"
        ) from None


def color_map(cmap: Any) -> Any:
    """Return a colour map, its name, or None for matplotlib's default.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    named = isinstance(cmap, str) and cmap in colormaps
    if cmap is None or named or isinstance(cmap, Colormap):
        return cmap
    raise ValueError(f"cmap must be a colour map of matplotlib's, got {shown(cmap)} instead")


def text_of(value: float, values_format: str | None) -> str:
    """Return the number in a cell: whole numbers in full and others to two digits by default."""
    if not np.isfinite(value):
        return "–"
    if values_format is not None:
        return format(value, values_format)
    return f"{value:,.0f}" if value == np.round(value) else f"{value:.2g}"


def ink_on(image: ScalarMappable, value: float) -> str:
    """Return black or white, whichever stands out from the cell."""
    if not np.isfinite(value):
        return "black"
    red, green, blue, _ = image.cmap(image.norm(np.asarray(value)))
    return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.5 else "black"


def log_edges(centres: np.ndarray) -> np.ndarray:
    """Return the edges of cells around increasing positive numbers, halfway on a log scale."""
    logs = np.log(centres)
    halves = np.diff(logs) / 2
    inner = logs[:-1] + halves
    ends = logs[[0, -1]] + [-halves[0], halves[-1]]
    return np.exp(np.concatenate((ends[:1], inner, ends[1:])))


# Lines that stand out from dark cells and from light ones.
_HALO = [patheffects.Stroke(linewidth=4.5, foreground="white"), patheffects.Normal()]
_RIM = [patheffects.Stroke(linewidth=3.2, foreground="black"), patheffects.Normal()]
_CHOSEN: dict[str, Any] = {"linewidth": 2.4, "path_effects": _HALO, "clip_on": False}
_WITHIN: dict[str, Any] = {
    "color": "white",
    "linewidth": 1.6,
    "path_effects": _RIM,
    "clip_on": False,
}
#: From this ratio of largest to smallest on, colours are logarithmic.
_LOG_FROM = 10.0


class HeatMap:
    """One panel of a surface.

    Parameters
    ----------
    panel : Axes
    Cs : ndarray of shape (n_Cs,)
    gammas : ndarray of shape (n_gammas,)
    name : str
        The quantity that is shown.
    values : ndarray of shape (n_gammas, n_Cs)
        Those that are not finite are hatched.
    """

    missing: PatchCollection | None = None
    outline: LineCollection | None = None
    chosen: Rectangle | None = None

    def __init__(
        self, panel: Axes, Cs: np.ndarray, gammas: np.ndarray, name: str, values: np.ndarray
    ) -> None:
        self.panel, self.name, self.values = panel, name, values
        self.Cs, self.gammas = Cs, gammas
        self.x, self.y = log_edges(Cs), log_edges(gammas)

    def draw(self, cmap: Any, title: str) -> tuple[QuadMesh, Colorbar]:
        """Draw the cells and the colour bar."""
        self.panel.set(xscale="log", yscale="log", xlabel="C", ylabel="γ")
        known = np.ma.masked_invalid(self.values)
        norm = self._norm()
        image = self.panel.pcolormesh(self.x, self.y, known, cmap=cmap, norm=norm)
        ticks_at(self.panel.xaxis, self.Cs)
        ticks_at(self.panel.yaxis, self.gammas)
        figure: Any = self.panel.get_figure(root=True)
        share = PercentFormatter(1.0) if self.name == "relative_gap" else None
        lower = "min" if known.min() < norm.vmin else "neither"
        bar = figure.colorbar(image, ax=self.panel, label=title, format=share, extend=lower)
        if known.mask.any():
            self._hatch(np.ma.getmaskarray(known))
        return image, bar

    def _norm(self) -> Normalize:
        """Return the scale of the colours.

        That of scores has their median in the middle: cells far from the optimum are many times
        worse than the good ones differ, and would leave these one colour.
        """
        known = self.values[np.isfinite(self.values)]
        if not known.size:
            return Normalize(0.0, 1.0)
        low, high = float(known.min()), float(known.max())
        if self.name == "score":
            middle = float(np.median(known))
            return Normalize(max(low, 2 * middle - high) if middle < high else low, high)
        if self.name != "relative_gap" and low > 0.0 and high >= _LOG_FROM * low:
            return LogNorm(low, high)
        return Normalize(low, high)

    def _cell(self, at: tuple[int, int], style: dict[str, Any]) -> Rectangle:
        (low, high), (left, right) = self.y[at[0] :][:2], self.x[at[1] :][:2]
        return Rectangle((left, low), right - left, high - low, **style)

    def _hatch(self, unknown: np.ndarray) -> None:
        cells = [self._cell((i, j), {}) for i, j in np.argwhere(unknown).tolist()]
        self.missing = PatchCollection(cells, linewidth=0, **MISSING)
        self.panel.add_collection(self.missing)

    def mark(self, inside: np.ndarray | None, chosen: tuple[int, int] | None) -> None:
        """Draw the line around a set of cells, and the frame of the chosen one."""
        if inside is not None:
            lines = outline_of(inside, self.x, self.y)
            self.outline = LineCollection(lines, capstyle="projecting", zorder=3, **_WITHIN)
            self.panel.add_collection(self.outline)
        if chosen is not None:
            frame = {"fill": False, "edgecolor": VERMILLION, "zorder": 4, **_CHOSEN}
            self.chosen = self._cell(chosen, frame)
            self.panel.add_patch(self.chosen)

    def write(self, image: QuadMesh, values_format: str | None) -> list[Text]:
        """Write the values into the cells, row by row."""
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
        texts = []
        for gamma, row in zip(self.gammas.tolist(), self.values.tolist(), strict=True):
            for C, value in zip(self.Cs.tolist(), row, strict=True):
                if math.isfinite(value):
                    label, ink = self._text(value, values_format), ink_on(image, value)
                    texts.append(self.panel.text(C, gamma, label, color=ink, **style))
        return texts

    def _text(self, value: float, values_format: str | None) -> str:
        if values_format is None and self.name == "relative_gap":
            return f"{100 * value:#.2g}".rstrip(".") + "%"
        if values_format is None and self.name == "support_size":
            return f"{value:,.0f}"
        if values_format is None and self.name == "score":
            return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
        return text_of(value, values_format)


def key_of(maps: list[HeatMap]) -> dict[str, Any]:
    """Return the entries of a legend: what the marks on heat maps mean."""
    entries: dict[str, Any] = {}
    if any(heat_map.chosen is not None for heat_map in maps):
        entries["chosen cell"] = Line2D([], [], color=VERMILLION, **_CHOSEN)
    if any(heat_map.outline is not None for heat_map in maps):
        entries["within one standard error of the best"] = Line2D([], [], **_WITHIN)
    if any(heat_map.missing is not None for heat_map in maps):
        entries["missing"] = Patch(linewidth=0.8, **MISSING)
    return entries


def outline_of(inside: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Return the line segments between cells that are inside a set and cells that are not.

    Parameters
    ----------
    inside : ndarray of shape (n_rows, n_columns), bool
    x : ndarray of shape (n_columns + 1,)
        Edges of the columns.
    y : ndarray of shape (n_rows + 1,)
        Edges of the rows.

    Returns
    -------
    list of ndarray of shape (2, 2)
    """
    framed = np.pad(inside, 1)
    upright = np.argwhere(framed[1:-1, 1:] != framed[1:-1, :-1])
    level = np.argwhere(framed[1:, 1:-1] != framed[:-1, 1:-1])
    segments = [np.array([[x[j], y[i]], [x[j], y[i + 1]]]) for i, j in upright]
    return segments + [np.array([[x[j], y[i]], [x[j + 1], y[i]]]) for i, j in level]
