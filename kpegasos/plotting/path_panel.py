"""One panel of a regularisation path: a curve over C, its band, and marks at some C."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter, StrMethodFormatter

from kpegasos.plotting.cells import log_edges
from kpegasos.plotting.style import BLUE, GREEN, MISSING, VERMILLION
from kpegasos.plotting.ticks import ticks_at

#: From this ratio of largest to smallest on, the vertical axis is logarithmic.
_LOG_FROM = 10.0


def draw_curve(
    panel: Axes, Cs: np.ndarray, curve: np.ndarray, style: dict[str, Any], *, second: bool = False
) -> Line2D:
    """Draw a curve over C on a logarithmic axis; the second one of a panel looks different."""
    look = {"color": GREEN, "marker": "s"} if second else {"color": BLUE, "marker": "o"}
    (line,) = panel.plot(Cs, curve, **{"markersize": 5, **look, **style})
    panel.set(xscale="log", xlabel="C")
    ticks_at(panel.xaxis, Cs)
    return line


def draw_band(panel: Axes, Cs: np.ndarray, curve: np.ndarray, errors: np.ndarray) -> Collection:
    """Draw the band of one standard error around a curve."""
    area: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
    label = "± one standard error"
    return panel.fill_between(Cs, curve - errors, curve + errors, label=label, **area)


def draw_marks(panel: Axes, chosen: float | None, simplest: float | None) -> list[Line2D]:
    """Draw the lines at the chosen C and at the smallest one that is nearly as good."""
    lines, below = [], {"zorder": 1.0}
    if chosen is not None:
        solid: dict[str, Any] = {"color": VERMILLION, "linewidth": 1.6, **below}
        lines.append(panel.axvline(chosen, label="chosen C", **solid))
    if simplest is not None and simplest != chosen:
        dashed: dict[str, Any] = {"color": "black", "linestyle": "dashed", **below}
        label = "smallest C within one standard error"
        lines.append(panel.axvline(simplest, label=label, linewidth=1.2, **dashed))
    return lines


def hatch_missing(panel: Axes, Cs: np.ndarray, curve: np.ndarray) -> list[Rectangle]:
    """Hatch the values of C for which there is no number."""
    if Cs.size < 2:
        return []
    edges = log_edges(Cs).tolist()
    found: list[Rectangle] = []
    for number in np.flatnonzero(~np.isfinite(curve)).tolist():
        low, high = edges[number : number + 2]
        label = "_" if found else "missing"
        found.append(panel.axvspan(low, high, label=label, linewidth=0, zorder=0.5, **MISSING))
    return found


def scale_axis(panel: Axes, name: str, curve: np.ndarray) -> None:
    """Choose the vertical axis: logarithmic for what differs much, else from zero.

    Gaps are all below one tolerance, and what counts is how far.
    """
    known = curve[np.isfinite(curve)]
    if name == "score" or not known.size:
        return
    differs = known.min() > 0 and known.max() >= _LOG_FROM * known.min()
    if differs and name != "relative_gap":
        panel.set_yscale("log")
    elif known.min() >= 0:
        panel.set_ylim(0.0, 1.08 * max(float(known.max()), 1e-12))
    if name == "relative_gap":
        panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif name == "support_size":
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def key_of(panels: np.ndarray) -> dict[str, Any]:
    """Return the entries of a legend for all panels, each label once."""
    entries: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            entries.setdefault(label, handle)
    if "missing" in entries:  # which is drawn first, below the rest
        entries["missing"] = entries.pop("missing")
    return entries
