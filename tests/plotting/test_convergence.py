"""Convergence curves show the columns of histories, and bounds beside them."""

import numpy as np
import pytest
from pictures import texts

from kpegasos.plotting import ConvergenceDisplay

CURVES = {
    "iteration": [1, 10, 100],
    "epoch": [0.1, 1, 10],
    "objective_average": [[3.0, 2.0, 1.5], [5.0, 3.0, 1.25], [4.0, 2.5, 1.0]],
    "objective_last": [[9.0, 9.0, 9.0]] * 3,
    "dual_bound": [[-1.0, 0.0, 0.5]] * 3,
}


def show(ax, **options):
    return ConvergenceDisplay.from_history(CURVES, ax=ax, **options)


def area_of(band):
    """Positions, and heights from the least to the largest."""
    return band.get_paths()[0].vertices.T


def test_convergence_median_and_band_of_suboptimality(ax):
    y = "suboptimality"
    display = show(ax, y=y, optimum=1.0, label="runs")
    line, heights = display.lines_[y], area_of(display.bands_[y])[1]
    np.testing.assert_allclose(line.get_ydata(), [3.0, 1.5, 0.25])
    np.testing.assert_array_equal(line.get_xdata(), [1, 10, 100])
    # The 20th percentile of 0, 0.25 and 0.5 at the end, the 80th of 2, 3 and 4 at the beginning.
    assert (heights.min(), heights.max()) == (pytest.approx(0.1), pytest.approx(3.6))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert texts(display.legend_) == ["runs"]


def test_convergence_objectives_and_dual_bound_beside_the_optimum_with_the_gap_between(ax):
    display = show(ax, optimum=0.75)
    assert list(display.lines_) == ["objective_last", "objective_average", "dual_bound"]
    assert texts(display.legend_) == ["last iterate", "averaged iterate", "dual bound", "f*"]
    assert len({line.get_color() for line in display.lines_.values()}) == 3
    assert set(display.optimum_.get_ydata()) == {0.75}
    assert show(ax).optimum_ is None
    positions, heights = area_of(show(ax).gap_)  # where the bound is positive: at the end
    assert (set(positions), set(heights)) == ({100}, {0.5, 1.25})
    assert show(ax, y=["objective_average", "objective_last"]).gap_ is None


def test_convergence_what_is_not_positive_is_left_out(ax):
    display = show(ax, y=["suboptimality"], optimum=1.25)
    np.testing.assert_allclose(display.lines_["suboptimality"].get_ydata(), [2.75, 1.25, np.nan])
    assert np.isnan(show(ax).lines_["dual_bound"].get_ydata()[:2]).all()


def test_convergence_of_one_checkpoint_is_a_point(ax):
    one = ConvergenceDisplay.from_history({"epoch": [1], "gap": [0.5]}, x="epoch", y="gap", ax=ax)
    assert one.lines_["gap"].get_marker() == "o"
    assert show(ax).lines_["dual_bound"].get_marker() == "None"


@pytest.mark.parametrize("x", ["iteration", "epoch", "seconds", "kernel_evaluations"])
def test_convergence_every_horizontal_axis(ax, moons, x):
    display = ConvergenceDisplay.from_estimator(moons[2], ax=ax, x=x, y="relative_gap")
    line = display.lines_["relative_gap"]
    np.testing.assert_array_equal(line.get_xdata(), moons[2].history_[x])
    np.testing.assert_array_equal(line.get_ydata(), moons[2].history_["relative_gap"])
    assert display.bands_["relative_gap"] is None
