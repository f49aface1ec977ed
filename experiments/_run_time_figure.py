"""Figure of `run_time`: m with a kernel, m without, what a step costs, and ε at each λ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._plots import (
    BLUE,
    GREY,
    SKY,
    VERMILION,
    band,
    log_log,
    name_lines,
    panels,
    shades,
    state,
    text_color,
    words,
)
from experiments._run_time_steps import EPSILON, LAM
from experiments._tables import select, spread
from experiments.run_time import (
    FLAT,
    LINEAR,
    NAMES,
    _told_accuracy,
    _told_clock,
    _told_error,
    _told_kernel,
)
from kpegasos.plotting.ticks import power_of_ten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = list[dict[str, Any]]
DOTTED: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.5}
#: Colour, line and name of each kind of step.
CLOCK = {
    "sparse": (VERMILION, "-", "sparse"),
    "dense, projected": (SKY, "--", "projected"),
    "dense": (BLUE, "-", "dense"),
}


def _column(rows: Rows, key: str) -> np.ndarray:
    return np.array([row[key] for row in rows], dtype=float)


def _of_kernel(ax: Axes, results: dict[str, Any]) -> None:
    rows, told = select(results["table"], group="kernel"), _told_kernel(results)
    m, names = _column(rows, "m"), {}
    for key, color, name in (
        ("kernel_values", VERMILION, "kernel\nvalues"),
        ("steps", BLUE, "steps"),
    ):
        values = spread(rows, key)
        band(ax, m, values, color=color, marker="o", markersize=4, linewidth=1.8)
        names[name] = (m, values[1], color)
    last = names["kernel\nvalues"][1][-1]
    ax.plot(m, last * m / m[-1], **DOTTED)
    log_log(ax, xlabel=words("examples"), ylabel=f"until f − f* = {EPSILON:g}")
    low, high = ax.get_ylim()
    ax.set_ylim(low / 3, high * 2)
    flat = "do not depend" if abs(told["steps_exponent"]) <= FLAT else "depend"
    like = abs(told["values_exponent"] - 1) <= LINEAR
    ax.set_title(
        f"Kernel: steps {flat} on m,\ntheir kernel values grow {'like m' if like else 'otherwise'}"
    )
    name_lines(ax, names)


def _of_error(ax: Axes, results: dict[str, Any]) -> None:
    told = _told_error(results)
    m, steps = _column(told["rows"], "m"), spread(told["rows"], "steps")
    band(ax, m, steps, color=BLUE, marker="o", markersize=4, linewidth=1.8)
    target = told["rows"][0]["target"]
    log_log(ax, xlabel=words("examples"), ylabel=f"steps to a test error of {100 * target:g}%")
    shown = steps[np.isfinite(steps)]
    ax.set_ylim(shown.min() / 2, shown.max() * 2)
    if told["too_small"]:
        largest = max(told["too_small"])
        left = min(told["too_small"]) / 1.3
        ax.axvspan(left, largest, color=GREY, alpha=0.15, linewidth=0)
        ax.set_xlim(left, m[-1] * 1.3)
        middle = float(np.sqrt(left * largest))
        place: dict[str, Any] = {
            "transform": ax.get_xaxis_transform(),
            "ha": "center",
            "va": "center",
        }
        ax.text(middle, 0.5, "too few", rotation=90, fontsize=9.5, color=text_color(GREY), **place)
    ax.set_title(
        f"Linear: steps fall {told['fall']:.2f} times with m,\nand no more from "
        f"m = {told['flat_from']:,}"
    )


def _of_clock(ax: Axes, results: dict[str, Any]) -> None:
    rows, lines = select(results["table"], group="timing"), _told_clock(results)
    names: dict[str, Any] = {}
    for kind, (color, line, name) in CLOCK.items():
        own = select(rows, kind=kind)
        d, values = _column(own, "d"), spread(own, "nanoseconds")
        band(ax, d, values, color=color, linestyle=line, marker="o", markersize=4, linewidth=1.8)
        fine = np.geomspace(d[0], d[-1], 50)
        ax.plot(fine, lines[kind][0] + lines[kind][1] * fine, **DOTTED)
        names[name] = (d, values[1], color)
    log_log(ax, xlabel="non-zero features d", ylabel="ns a step")
    a, b, _ = lines["dense"]
    ax.set_title(
        f"A step costs a + b d: dense {a:.0f} + {b:.1f} d ns,\n"
        f"sparse {lines['sparse'][1]:.0f} ns a non-zero"
    )
    name_lines(ax, names)


def _of_accuracy(ax: Axes, results: dict[str, Any]) -> None:
    rows = [
        row
        for row in select(results["table"], group="accuracy", data="moons")
        if row["steps"] is not None
    ]
    lambdas = list(dict.fromkeys(row["lam"] for row in rows))
    names: dict[str, Any] = {}
    for lam, color in zip(lambdas, shades(len(lambdas))[::-1], strict=True):
        own = select(rows, lam=lam)
        x, values = 1 / _column(own, "epsilon"), spread(own, "steps")
        band(ax, x, values, color=color, marker="o", markersize=4, linewidth=1.8)
        last = x >= x[-1] / 12
        ax.plot(x[last], values[1][-1] * x[last] / x[-1], **DOTTED)
        name = f"λ = {power_of_ten(lam)}"
        if x[-1] >= 0.99 / min(row["epsilon"] for row in rows):
            names[name] = (x, values[1], color)
        else:
            at = (x[-1], values[1][-1])
            place: dict[str, Any] = {"textcoords": "offset points", "ha": "right"}
            ax.annotate(name, at, (4, 7), color=text_color(color), **place)
    log_log(ax, xlabel="1/ε", ylabel=words("steps"))
    low, high = ax.get_ylim()
    ax.set_ylim(low, 2.5 * high)
    told = _told_accuracy(results)
    rates = told["in_lam"]["moons"]
    ax.set_title(
        f"Steps grow like 1/ε; with 1/λ to the power\nof {min(rates):.1f} to {max(rates):.1f}"
    )
    name_lines(ax, names)


def draw(results: dict[str, Any]) -> Figure:
    """Draw the four panels.

    Parameters
    ----------
    results : dict
        The results, as read back from the file.

    Returns
    -------
    Figure
    """
    figure, axes = panels(2, 2, 7.4)
    for draw_panel, ax in zip(
        (_of_kernel, _of_error, _of_clock, _of_accuracy), axes.flat, strict=True
    ):
        draw_panel(ax, results)
    kernel = _told_kernel(results)
    chosen = sorted({row["lam"] for row in _told_error(results)["rows"]}, reverse=True)
    lambdas = [power_of_ten(lam) for lam in chosen]
    flat = abs(kernel["steps_exponent"]) <= FLAT
    state(
        figure,
        f"More examples need {'no' if flat else 'some'} more steps to an accuracy; what a step "
        "costs grows with its features, and with a kernel with the number of examples",
        f"Kernel: Adult, RBF, λ = {LAM:g}. Linear: MNIST, even against odd, "
        f"λ = {' or '.join(lambdas)}, chosen on other images. Step: seconds depend on "
        f"the machine. Last: {NAMES['moons']}, RBF. Dotted: in proportion; for the "
        "step, lines that were fitted. "
        f"t-weighted average; median and 20–80% of {len(results['seeds'])} runs.",
    )
    return figure
