"""What heat maps share: colour maps, edges of cells, and numbers in them that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap

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
