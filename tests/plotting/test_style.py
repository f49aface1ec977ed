"""Ticks of logarithmic axes that can be read."""

from itertools import pairwise

import pytest
from matplotlib.axis import Tick
from matplotlib.figure import Figure

from kpegasos.plotting.style import log_ticks


def labels_of(limits, width=8.0):
    """Labels of a logarithmic axis, by their texts."""
    ax = Figure((width, 3)).subplots(gridspec_kw={"left": 0.05, "right": 0.98})
    ax.set(xscale="log", xlim=limits)
    log_ticks(ax)
    ax.figure.draw_without_rendering()
    low, high = sorted(limits)
    ticks = [*ax.xaxis.get_major_ticks(), *ax.xaxis.get_minor_ticks()]
    ticks = [tick for tick in sorted(ticks, key=Tick.get_loc) if low <= tick.get_loc() <= high]
    return {tick.label1.get_text(): tick.label1 for tick in ticks if tick.label1.get_text()}


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((1, 80), ["1", "3", "10", "30"]),
        ((3000, 40), ["100", "300", "1,000", "3,000"]),
        ((0.01, 0.055), ["0.01", "0.02", "0.03", "0.05"]),
        ((0.55, 0.95), ["0.6", "0.7", "0.8", "0.9"]),
        ((100, 1e5), ["100", "1,000", "10,000", "100,000"]),
        ((1e-6, 1), [f"$10^{{{power}}}$" for power in range(-6, 1)]),
    ],
)
def test_ticks_are_plain_numbers_or_powers_of_ten(limits, expected):
    assert list(labels_of(limits)) == expected


def test_ticks_of_other_axes_are_left():
    ax = Figure().subplots()
    before = ax.xaxis.get_major_formatter()
    log_ticks(ax)
    assert ax.xaxis.get_major_formatter() is before


@pytest.mark.parametrize(
    "limits", [(200, 1100), (200, 4000), (200, 19_000), (1, 1e6), (0.03, 0.07), (1e-9, 1e4)]
)
@pytest.mark.parametrize("width", [2.5, 4.0])
def test_tick_labels_do_not_overlap(limits, width):
    boxes = [label.get_window_extent() for label in labels_of(limits, width).values()]
    assert len(boxes) >= 2
    for left, right in pairwise(sorted(boxes, key=lambda box: box.x0)):
        assert left.x1 < right.x0
