"""Ticks of logarithmic axes that can be read."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from kpegasos.plotting.style import log_ticks


def axis_of(limits, width=8.0):
    """A logarithmic axis, not drawn yet."""
    ax = Figure((width, 3)).subplots(gridspec_kw={"left": 0.05, "right": 0.98})
    ax.set(xscale="log", xlim=limits)
    log_ticks(ax, "x")
    return ax.xaxis


def labels_of(axis):
    axis.get_figure().draw_without_rendering()
    return [tick.label1 for tick in axis.get_major_ticks()]


@settings(max_examples=40)
@given(st.floats(-200, 200), st.floats(0.02, 12))
@example(22.08, 0.2)  # no whole power of ten, nor 2 or 5 times one
def test_ticks_are_few_within_the_axis_and_at_least_two(low, decades):
    low, high = 10.0**low, 10.0 ** (low + decades)
    ticks = axis_of((low, high)).get_majorticklocs()
    assert 2 <= len(ticks) <= 22
    assert ((ticks >= low * (1 - 1e-6)) & (ticks <= high * (1 + 1e-6))).all()
    assert (np.diff(ticks) > 0).all()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 100, ["1", "2", "5", "10", "20", "50", "100"]),
        (3000, 0.9, ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000", "2,000"]),
        (0.01, 0.05, ["0.01", "0.02", "0.05"]),
    ],
)
def test_ticks_are_labelled_1_2_5(low, high, expected):
    assert [label.get_text() for label in labels_of(axis_of((low, high)))] == expected


def test_ticks_of_many_decades_are_powers_of_ten_and_others_are_left():
    axis = axis_of((1e-9, 1e9))
    np.testing.assert_allclose(np.log10(axis.get_majorticklocs()) % 1, 0, atol=1e-9)
    assert all("10^{" in label.get_text() for label in labels_of(axis))
    ax = Figure().subplots()
    before = ax.xaxis.get_major_locator()
    log_ticks(ax)
    assert ax.xaxis.get_major_locator() is before, "it is not logarithmic"


@pytest.mark.parametrize("limits", [(200, 4000), (1, 1e6), (0.03, 0.05), (1e-9, 1e4)])
@pytest.mark.parametrize("width", [1.5, 3.0])
def test_tick_labels_do_not_overlap(limits, width):
    labels = labels_of(axis_of(limits, width))
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    for left, right in pairwise(boxes):
        assert left.x1 < right.x0
