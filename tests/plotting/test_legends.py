"""Legends leave room for what they explain, and stay within their figure, whatever its size."""

import numpy as np
import pytest
from covering import each_value
from matplotlib import pyplot as plt
from matplotlib.axis import Tick
from matplotlib.figure import Figure

from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay
from kpegasos.plotting.style import log_ticks

#: Figures by their size, and how wide each axes is at least, in pixels.
SIZES = {"one": (None, (1, 1), 520), "two columns": ((6.8, 2.6), (1, 2), 240)}
SIZES["grid"] = (None, (2, 2), 230)


def bounds_of(artist):
    return np.ravel(artist.get_window_extent())


def assert_within(inner, outer):
    assert (inner[:2] >= outer[:2] - 1).all()
    assert (inner[2:] <= outer[2:] + 1).all()


def assert_fits(figure, width):
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert_within(np.ravel(ax.get_tightbbox()), np.ravel(figure.bbox))
        assert ax.bbox.width >= width
        if ax.get_legend() is not None:
            assert_within(bounds_of(ax.get_legend()), bounds_of(ax.patch))


@each_value(size=SIZES, layout=[None, "constrained"], style=["default", "dark_background"])
def test_legends_are_within_the_axes_and_leave_them_wide(moons, style, layout, size):
    X, y, model = moons
    figsize, shape, width = SIZES[size]
    with plt.style.context(style):
        for draw in (
            lambda ax: ConvergenceDisplay.from_estimator(model, ax=ax),
            lambda ax: DecisionRegionDisplay.from_estimator(model, X, y, ax=ax),
        ):
            figure, axes = plt.subplots(*shape, figsize=figsize, layout=layout, squeeze=False)
            for ax in axes.flat:
                draw(ax)
            assert_fits(figure, width)


# --- ticks of logarithmic axes that can be read ---------------------------------------------------


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
