"""Displays look as they did, up to smoothing."""

import numpy as np
import pytest
from pictures import difference
from search_cases import search_of, table

from kpegasos.plotting import (
    ConvergenceDisplay,
    DecisionRegionDisplay,
    RegularizationPathDisplay,
    ValidationSurfaceDisplay,
)


def regions(ax):
    """Two classes: rings of three sizes."""
    xx, yy = np.linspace(-2, 2, 41), np.linspace(-1.5, 1.5, 31)
    values = xx**2 + 2 * yy[:, None] ** 2 - 1.5
    X = [[0, 0], [0.5, 0.2], [-1.6, -1], [1.5, 1], [-0.3, 0.9], [1.2, -0.2]]
    rings = {"support": [1, 4, 5], "counts": [1, 10, 40]}
    y = [0, 0, 1, 1, 1, 0]
    display = DecisionRegionDisplay(xx=xx, yy=yy, values=values, X=X, y=y, **rings)
    display.plot(ax, legend=False)


def many_regions(ax):
    """Four classes, one without examples."""
    xx, yy = np.linspace(0, 4, 33), np.linspace(0, 3, 25)
    values = (xx > 2) + 2.0 * (yy[:, None] > 1.5)
    X, y = [[1, 1], [3, 1], [1, 2], [1.2, 2.2]], ["a", "b", "c", "c"]
    given = {"X": X, "y": y, "support": [3], "classes": list("abcd")}
    DecisionRegionDisplay(xx=xx, yy=yy, values=values, **given).plot(ax, legend=False)


def curves(ax):
    """Several runs, and the gap."""
    steps = np.geomspace(1, 1e4, 9)
    spread = np.array([[0.7], [1.0], [1.5]])
    columns = {"iteration": steps, "objective_average": 0.1 + spread * 20 / steps}
    columns["objective_last"] = 0.1 + spread * 40 / steps**1.1
    columns["dual_bound"] = 0.1 - 0.09 * spread / steps**0.3
    ConvergenceDisplay.from_history(columns, optimum=0.1, ax=ax, legend=False)


def surface(ax):
    """Six cells: one chosen, three within one standard error, one missing."""
    scores = [[0.5, np.nan, 0.87], [0.8, 0.9, 0.88]]
    ValidationSurfaceDisplay.from_estimator(search_of(table(scores)), ax=ax, legend=False)


def path(ax):
    """A curve with its band, and two marks."""
    scores = [[0.5, 0.6, 0.7], [0.7, 0.88, 0.9]]
    RegularizationPathDisplay.from_estimator(search_of(table(scores)), ax=ax, legend=False)


PICTURES = [regions, many_regions, curves, surface, path]


@pytest.mark.parametrize("picture", PICTURES)
def test_picture_is_as_before(picture, tmp_path):
    assert difference(picture, picture.__name__, tmp_path) is None
