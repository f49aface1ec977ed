"""Rings round support vectors, which grow with their counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D

_RING: dict[str, Any] = {
    "facecolors": "none",
    "edgecolors": "black",
    "linewidths": 0.6,
    "zorder": 2.6,
}
_RING_MARKER: dict[str, Any] = {
    "marker": "o",
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markeredgewidth": 0.6,
    "linestyle": "none",
}
#: Areas in points²: of a ring without a count, of the smallest and of the largest count.
_AREA, _MIN_AREA, _MAX_AREA = 36.0, 20.0, 220.0


def draw_rings(
    ax: Axes, vectors: np.ndarray, counts: np.ndarray | None, max_count: float | None
) -> PathCollection | None:
    """Draw a ring round each support vector; return None if there are none."""
    if not len(vectors):
        return None
    x, y = vectors.T
    areas = _AREA if counts is None else _areas(counts, _top(counts, max_count))
    return ax.scatter(x, y, s=areas, label="support vector", **_RING)


def ring_entries(
    rings: PathCollection | None, counts: np.ndarray | None, max_count: float | None
) -> tuple[list[Artist], list[str]]:
    """Return entries of a legend: the rings, or those of the smallest and the largest count."""
    if rings is None:
        return [], []
    if counts is None:
        return [rings], [str(rings.get_label())]
    ends = np.unique([counts.min(), counts.max()])
    texts = [f"{end:,}" if ends.dtype.kind in "iu" else f"{end:.2g}" for end in ends]
    areas = _areas(ends, _top(counts, max_count))
    by_text = dict(zip(texts, areas, strict=True))  # two ends may read alike
    # The marker of a line is as wide as the ring of the same area.
    handles: list[Artist] = [
        Line2D([], [], markersize=np.sqrt(area), **_RING_MARKER) for area in by_text.values()
    ]
    return handles, [f"support vector, α = {text}" for text in by_text]


def _top(counts: np.ndarray, max_count: float | None) -> float:
    """Return the count of the largest ring."""
    return float(counts.max()) if max_count is None else max_count


def _areas(counts: np.ndarray, top: float) -> np.ndarray:
    share = np.asarray(counts, dtype=float) / (top or 1.0)
    return np.asarray(_MIN_AREA + (_MAX_AREA - _MIN_AREA) * share)
