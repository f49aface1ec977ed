"""Displays look as they did, up to smoothing."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import difference
from search_cases import table

from kpegasos.plotting import (
    ConvergenceDisplay,
    DecisionRegionDisplay,
    MarginHistogramDisplay,
    OneVsOneDisplay,
    RegularizationPathDisplay,
    ValidationSurfaceDisplay,
)


def regions(ax):
    """Two classes: rings of three sizes."""
    xx, yy = np.linspace(-2, 2, 41), np.linspace(-1.5, 1.5, 31)
    values = xx**2 + 2 * yy[:, None] ** 2 - 1.5
    X = [[0, 0], [0.5, 0.2], [-1.6, -1], [1.5, 1], [-0.3, 0.9], [1.2, -0.2]]
    rings = {"support": [1, 4, 5], "counts": [1, 10, 40]}
    DecisionRegionDisplay.from_predictions(
        xx, yy, values, X, [0, 0, 1, 1, 1, 0], **rings, ax=ax, legend=False
    )


def many_regions(ax):
    """Four classes, one without examples."""
    xx, yy = np.linspace(0, 4, 33), np.linspace(0, 3, 25)
    values = (xx > 2) + 2.0 * (yy[:, None] > 1.5)
    X, y = [[1, 1], [3, 1], [1, 2], [1.2, 2.2]], ["a", "b", "c", "c"]
    DecisionRegionDisplay.from_predictions(
        xx, yy, values, X, y, support=[3], classes=list("abcd"), ax=ax, legend=False
    )


def curves(ax):
    """Several runs with bounds, one of them vacuous up to T = 100."""
    steps = np.geomspace(1, 1e4, 9)
    spread = np.array([[0.7], [1.0], [1.5]])
    columns = {"iteration": steps, "objective_average": 0.1 + spread * 20 / steps}
    columns["objective_last"] = 0.1 + spread * 40 / steps**1.1
    columns["dual_bound"] = 0.1 - 0.09 * spread / steps**0.3
    bounds = {"one": lambda T: 90 / T, "other": np.full(9, 0.02)}
    ConvergenceDisplay.from_history(columns, optimum=0.1, ax=ax, bounds=bounds, legend=False)


def histogram(ax):
    """Margins of two classes."""
    decisions = np.linspace(-2, 3, 40)
    y = (np.arange(40) % 7 + decisions > 3).astype(int)
    MarginHistogramDisplay.from_predictions(y, decisions, bins=12, ax=ax, legend=False)


def pairs(ax):
    """Four classes, one pair without a certificate."""
    values = {"gap": [0.1, 0.2, 0.3, np.nan, 0.5, 0.9]}
    OneVsOneDisplay(values=values, classes="abcd").plot(ax, annotate=False)


def surface(ax):
    """Six cells: one chosen, three within one standard error, one missing."""
    scores = [[0.5, np.nan, 0.87], [0.8, 0.9, 0.88]]
    options = {"annotate": False, "legend": False}
    ValidationSurfaceDisplay.from_results(table(scores), ax=ax, **options)


def path(ax):
    """A curve with its band, two marks and a value that is missing."""
    scores = [[0.5, 0.6, 0.7], [np.nan, 0.88, 0.9]]
    RegularizationPathDisplay.from_results(table(scores), ax=ax, legend=False)


PICTURES = [regions, many_regions, curves, histogram, pairs, surface, path]


@pytest.mark.parametrize("picture", PICTURES)
def test_picture_is_as_before(picture, tmp_path):
    assert difference(picture, picture.__name__, tmp_path) is None


def test_picture_comparison_sees_lost_rings(tmp_path):
    def without(ax):
        regions(ax)
        ax.collections[-1].remove()

    assert difference(without, "regions", tmp_path) is not None
