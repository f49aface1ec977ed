"""What all displays share: colours, markers, names of classes, axes."""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

#: Okabe and Ito's palette, told apart by the colour-blind too; class 0 first.
COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#666666")
MARKERS = "os^DvP"

#: A legend to the right of the axes.
BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.02, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
}


def color_of(number: int) -> str:
    """Colour of a class by its number."""
    return COLORS[number % len(COLORS)]


def marker_of(number: int) -> str:
    """Marker of a class by its number: the second cue beside the colour."""
    return MARKERS[number % len(MARKERS)]


def class_name(label: Any) -> str:
    """Name of a class in a legend; a bare number says too little."""
    return label if isinstance(label, str) else f"class {label}"


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes given, or those of a new figure that makes room for a legend."""
    return plt.subplots(layout="constrained")[1] if ax is None else ax
