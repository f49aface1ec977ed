"""Margin histograms count the margins of each class."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import color_of, texts
from sklearn.svm import SVC

from kpegasos import PegasosSVC
from kpegasos.plotting import COLORS, MarginHistogramDisplay


def test_histogram_bars_count_the_margins_of_each_class(ax, moons):
    X, y, model = moons
    display = MarginHistogramDisplay.from_estimator(model, X, y, ax=ax, bins=7)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(display.margins, margins)
    heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_])
    edges = np.histogram_bin_edges(margins, 7)
    for number in range(2):
        expected = np.histogram(margins[y == number], edges)[0]
        np.testing.assert_array_equal(heights[number], expected)
    shown = [color_of(bars[0]) for bars in display.bars_]
    assert shown == list(COLORS[:2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("margin y f(x)", "examples")


def test_histogram_legend_tells_the_shares_below_0_and_1(ax):
    decisions = [-2.0, 0.5, 0.5, 1.0]
    display = MarginHistogramDisplay.from_predictions([0, 0, 1, 1], decisions, ax=ax)
    assert texts(display.legend_) == [
        *("class 0", "class 1", "margin 0: 25.0% below", "margin 1: 50.0% below")
    ]
    assert [line.get_xdata()[0] for line in display.lines_] == [0, 1]


@pytest.mark.parametrize("Estimator", [PegasosSVC, SVC])
def test_histogram_pair_of_several_classes(ax, iris, Estimator):
    X, y, _ = iris
    model = Estimator(decision_function_shape="ovr", random_state=0).fit(X, y)
    display = MarginHistogramDisplay.from_estimator(model, X.tolist(), y, pair=(1, 2), ax=ax)
    kept = y > 0
    assert display.y.tolist() == y[kept].tolist()
    # Of several classes, a positive decision is for the first of the pair.
    alone = Estimator(decision_function_shape="ovo", random_state=0).fit(X, y)
    expected = np.where(y[kept] == 2, -1, 1) * alone.decision_function(X)[kept, 2]
    np.testing.assert_allclose(display.margins, expected)
    assert np.mean(display.margins > 0) > 0.9
    assert model.decision_function_shape == "ovr"
