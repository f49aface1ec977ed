"""Bounds of the theory beside measured curves, and the ground where a bound says nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from kpegasos.plotting.checks import numbers
from kpegasos.plotting.style import GREY, PURPLE, SKY

#: A bound as a function of the step T, or its values at the checkpoints.
Bound = Callable[[np.ndarray], ArrayLike] | ArrayLike

_COLORS = (PURPLE, GREY, SKY)
_POINTS = 400
#: Opacity of the ground where bounds are vacuous, grey whatever the bound.
VACUOUS_ALPHA = 0.15


def bound_curve(
    name: str, bound: Bound, iterations: np.ndarray, positions: np.ndarray, first: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return where a bound is drawn, and its values there.

    A function is asked for steps T from ``first`` to the last iteration, which are mapped to
    positions on the axis as the iterations of the checkpoints are.
    """
    if callable(bound):
        last = iterations[-1]
        steps = np.geomspace(min(max(first, iterations[0]), last), last, _POINTS)
        # Rounding must not lead outside of where the function is defined.
        steps = steps.clip(first, last) if first <= last else steps[:0]
        with np.errstate(divide="ignore"):
            known = np.log(iterations), np.log(positions)
            positions = np.exp(np.interp(np.log(steps), *known))
        values = numbers(f"bounds[{name!r}]", bound(steps))
    else:
        values = numbers(f"bounds[{name!r}]", bound)
    if values.shape != positions.shape:
        raise ValueError(
            f"bounds[{name!r}] must have a value for each step of shape {positions.shape}, "
            f"got shape {values.shape}"
        )
    return positions, values


def draw_bound(
    ax: Axes,
    name: str,
    number: int,
    curve: tuple[np.ndarray, np.ndarray],
    *,
    offset: float,
    limit: float,
) -> tuple[Line2D, Collection | None]:
    """Draw a bound above an offset, and shade the ground where it is not below a limit."""
    positions, values = curve
    color = _COLORS[number % len(_COLORS)]
    shown = ax.get_xlim()
    (line,) = ax.plot(positions, values + offset, color=color, linestyle="--", label=name)
    vacuous = values >= limit
    shade = None
    if vacuous.any():
        shade = ax.fill_between(
            positions,
            0.0,
            1.0,
            where=vacuous,
            transform=ax.get_xaxis_transform(),
            color=GREY,
            alpha=VACUOUS_ALPHA,
            linewidth=0,
        )
    ax.set_xlim(shown)
    return line, shade
