"""Ticks of logarithmic axes that can be read."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from kpegasos.plotting.style import log_ticks


def labelled(limits, width=8.0):
    """Return positions and labels of the ticks of an axis, as they are drawn."""
    figure, ax = plt.subplots(figsize=(width, 3), gridspec_kw={"left": 0.05, "right": 0.98})
    ax.set(xscale="log", xlim=limits)
    log_ticks(ax, "x")
    figure.draw_without_rendering()
    plt.close(figure)
    shown = [tick.label1 for tick in ax.xaxis.get_major_ticks()]
    return ax.xaxis.get_majorticklocs(), shown


@settings(max_examples=25)
@given(st.floats(-200, 200), st.floats(0.02, 12))
@example(22.08, 0.2)  # no whole power of ten, nor 2 or 5 times one
def test_ticks_are_few_within_the_axis_and_at_least_two(low, decades):
    low, high = 10.0**low, 10.0 ** (low + decades)
    ticks, _ = labelled((low, high))
    assert 2 <= len(ticks) <= 22
    assert ((ticks >= low * (1 - 1e-6)) & (ticks <= high * (1 + 1e-6))).all()
    assert (np.diff(ticks) > 0).all()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 100, ["1", "2", "5", "10", "20", "50", "100"]),
        (200, 4000, ["200", "500", "1,000", "2,000"]),
        (3000, 0.9, ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000", "2,000"]),
        (0.01, 0.05, ["0.01", "0.02", "0.05"]),
    ],
)
def test_ticks_are_labelled_1_2_5(low, high, expected):
    _, labels = labelled((low, high))
    assert [label.get_text() for label in labels] == expected
    ticks, labels = labelled((1e-9, 1e9))
    np.testing.assert_allclose(np.log10(ticks) % 1, 0, atol=1e-9)
    assert all("10^{" in label.get_text() for label in labels)
    _, ax = plt.subplots()
    before = ax.xaxis.get_major_locator()
    log_ticks(ax)
    assert ax.xaxis.get_major_locator() is before, "it is not logarithmic"


@pytest.mark.parametrize("limits", [(200, 4000), (1, 1e6), (0.03, 0.05), (1e-9, 1e4), (1, 3e5)])
@pytest.mark.parametrize("width", [1.5, 3.0, 8.0])
def test_tick_labels_do_not_overlap(limits, width):
    boxes = [label.get_window_extent() for label in labelled(limits, width)[1] if label.get_text()]
    for left, right in pairwise(boxes):
        assert left.x1 < right.x0
