"""Legends leave room for what they explain, and stay within their figure, whatever its size."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from pictures import texts

from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay

CURVES = ["last iterate", "averaged iterate", "dual bound"]
REGIONS = ["class 0", "class 1", "support vector", "f(x) = ±1"]
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


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("size", SIZES)
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


def test_legend_says_what_no_other_of_the_figure_does(moons):
    X, y, model = moons
    _, axes = plt.subplots(2, 2)
    rings = {"X": X, "y": y, "support": [0, 1, 2], "counts": [1, 2, 3]}
    plain = DecisionRegionDisplay(xx=[0, 1], yy=[0, 1], values=np.zeros((2, 2)), **rings)
    assert texts(plain.plot(axes[0, 0]).legend_) == [*REGIONS[:3], "α = 3", REGIONS[3]]
    assert plain.plot(axes[0, 1]).legend_ is None
    ConvergenceDisplay.from_estimator(model, ax=axes[1, 0])
    other = ConvergenceDisplay.from_estimator(model, ax=axes[1, 1], color="black")
    assert texts(other.legend_) == CURVES, "these have another colour"
    again = ConvergenceDisplay.from_estimator(model, ax=axes[1, 0])
    assert texts(again.legend_) == 2 * CURVES, "its own axes have two of each"


def test_layout_of_a_figure_is_left_if_somebody_has_chosen_one(moons):
    def laid_out(figure, ax):
        ConvergenceDisplay.from_estimator(moons[2], ax=ax)
        return figure.get_layout_engine()

    assert laid_out(*plt.subplots()) is not None
    adjusted = plt.subplots()
    adjusted[0].subplots_adjust(left=0.2)
    assert laid_out(*adjusted) is None
    assert laid_out(*plt.subplots(gridspec_kw={"left": 0.2})) is None
    figure = plt.figure()
    assert laid_out(figure, figure.add_axes((0.1, 0.1, 0.8, 0.8))) is None
    tight = plt.subplots(layout="tight")
    before = tight[0].get_layout_engine()
    assert laid_out(*tight) is before
