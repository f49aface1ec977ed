"""Plots show what they are given: colours, curves and counts are read back from the artists."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVC

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.plotting import (
    COLORS,
    plot_confusion,
    plot_convergence,
    plot_decision_boundary,
    plot_decision_grid,
)

plt.switch_backend("Agg")


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()
    plt.close(figure)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.15, random_state=0)
    return X, y, PegasosSVC(gamma=2.0, C=10.0, epochs=50, random_state=0).fit(X, y)


def coloured(collection):
    return colors.to_hex(collection.get_facecolor()[0]).upper()


def pixel(ax, x, y):
    """Colour of the figure at a data point."""
    figure = ax.figure
    figure.canvas.draw()
    column, row = ax.transData.transform((x, y))
    image = np.asarray(figure.canvas.buffer_rgba())
    return image[image.shape[0] - 1 - int(row), int(column), :3] / 255


def nearest_class(rgb, n_classes):
    """Class whose colour, thinned over white, is the nearest."""
    tints = [0.75 + 0.25 * np.array(colors.to_rgb(color)) for color in COLORS[:n_classes]]
    return int(np.argmin([np.abs(rgb - tint).sum() for tint in tints]))


class TestDecisionBoundary:
    def test_regions_have_the_colour_of_the_predicted_class(self, ax, moons):
        X, y, model = moons
        artists = plot_decision_boundary(model, X, y, ax)
        for group in (*artists.points, artists.support, artists.lines):
            group.remove()
        for point in ([-0.5, 1.1], [1.5, -0.6], [0.0, 0.2], [1.0, 0.3]):
            assert nearest_class(pixel(ax, *point), 2) == model.predict([point])[0]

    def test_points_lines_and_rings(self, ax, moons):
        X, y, model = moons
        artists = plot_decision_boundary(model, X, y, ax)
        assert [coloured(points) for points in artists.points] == list(COLORS[:2])
        assert [points.get_label() for points in artists.points] == ["0", "1"]
        np.testing.assert_allclose(artists.points[1].get_offsets(), X[y == 1])
        np.testing.assert_allclose(artists.support.get_offsets(), model.support_vectors_)
        # The line at zero separates the predictions.
        np.testing.assert_array_equal(artists.lines.levels, [-1, 0, 1])
        on_line = artists.lines.get_paths()[1].vertices
        assert np.abs(model.decision_function(on_line)).max() < 0.1

    def test_new_axes_and_foreign_estimator(self, moons):
        X, y, _ = moons
        artists = plot_decision_boundary(SVC().fit(X, y), X, y)
        assert artists.regions.axes.get_xlim()[0] == pytest.approx(X[:, 0].min() - 0.2)
        plt.close(artists.regions.axes.figure)

    def test_linear_model_with_support(self, ax, moons):
        X, y, _ = moons
        model = LinearPegasosSVC(random_state=0).fit(X, y)
        assert plot_decision_boundary(model, X, y, ax).support is None
        artists = plot_decision_boundary(model, X, y, ax, support=model.support_)
        np.testing.assert_allclose(artists.support.get_offsets(), X[model.support_])

    def test_data_frame_names_the_axes(self, ax, moons):
        pandas = pytest.importorskip("pandas")
        X, y, _ = moons
        frame = pandas.DataFrame(X, columns=["length", "width"])
        plot_decision_boundary(PegasosSVC(random_state=0).fit(frame, y), frame, y, ax)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")

    def test_multiclass_with_string_labels(self, ax):
        X, number = make_blobs(150, centers=4, cluster_std=0.6, random_state=0)
        y = np.array(["ant", "bee", "cat", "dog"])[number]
        model = PegasosSVC(random_state=0).fit(X, y)
        artists = plot_decision_boundary(model, X, y, ax)
        assert artists.lines is None
        assert [points.get_label() for points in artists.points] == ["ant", "bee", "cat", "dog"]
        for group in (*artists.points, artists.support):
            group.remove()
        for label in range(4):
            centre = X[number == label].mean(axis=0)
            expected = model.classes_.tolist().index(model.predict([centre])[0])
            assert nearest_class(pixel(ax, *centre), 4) == expected


class TestDecisionGrid:
    def test_stored_values_give_the_same_lines(self, moons):
        X, y, model = moons
        _, (left, right) = plt.subplots(1, 2)
        direct = plot_decision_boundary(model, X, y, left, grid_resolution=40)
        xs, ys = (np.linspace(*ends, 40) for ends in (left.get_xlim(), left.get_ylim()))
        grid = np.column_stack([part.ravel() for part in np.meshgrid(xs, ys)])
        values = model.decision_function(grid).reshape(40, 40)
        stored = {"xx": xs, "yy": ys, "values": values, "X": X, "y": y, "support": model.support_}
        stored = json.loads(json.dumps({key: value.tolist() for key, value in stored.items()}))
        again = plot_decision_grid(**stored, ax=right)
        for one, other in zip(direct.lines.get_paths(), again.lines.get_paths(), strict=True):
            np.testing.assert_allclose(one.vertices, other.vertices, atol=1e-6)
        np.testing.assert_allclose(again.support.get_offsets(), direct.support.get_offsets())
        plt.close(left.figure)

    def test_classes_without_a_cell_keep_colours_in_place(self, ax):
        artists = plot_decision_grid(
            [0, 1, 2], [0, 1], [[0, 0, 2], [0, 0, 2]], classes=["a", "b", "c"], ax=ax
        )
        assert (artists.points, artists.support) == ([], None)
        assert nearest_class(pixel(ax, 1.9, 0.5), 3) == 2
        assert nearest_class(pixel(ax, 0.1, 0.5), 3) == 0

    def test_no_line_beyond_the_values_and_two_classes_by_default(self, ax):
        values = [[-0.5, 0.5], [-0.5, 0.5]]
        artists = plot_decision_grid([0, 1], [0, 1], values, ax=ax)
        sizes = [len(path.vertices) for path in artists.lines.get_paths()]
        assert sizes[0] == sizes[2] == 0 < sizes[1]

    def test_shape_is_checked(self, ax):
        with pytest.raises(ValueError, match=r"shape \(n_y, n_x\) = \(2, 3\), got \(3, 2\)"):
            plot_decision_grid([0, 1, 2], [0, 1], np.zeros((3, 2)), ax=ax)


class TestConvergence:
    CURVES = {  # noqa: RUF012
        "iteration": [1, 10, 100],
        "objective_average": [[3.0, 2.0, 1.5], [5.0, 3.0, 1.25], [4.0, 2.5, 1.0]],
        "objective_last": [[9.0, 9.0, 9.0]] * 3,
    }

    def test_median_and_band_of_suboptimality(self, ax):
        artists = plot_convergence(self.CURVES, ax, optimum=1.0, label="runs", band=(0, 100))
        np.testing.assert_allclose(artists.line.get_ydata(), [3.0, 1.5, 0.25])
        np.testing.assert_array_equal(artists.line.get_xdata(), [1, 10, 100])
        corners = artists.band.get_paths()[0].vertices
        assert (corners[:, 1].min(), corners[:, 1].max()) == (1.0, 4.0)
        assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlabel()) == ("log", "log", "iteration")
        assert ax.get_legend_handles_labels()[1] == ["runs"]
        assert coloured(artists.band) == colors.to_hex(artists.line.get_color()).upper()

    def test_last_iterate(self, ax):
        artists = plot_convergence(self.CURVES, ax, y="suboptimality_last", optimum=1.0)
        np.testing.assert_allclose(artists.line.get_ydata(), 8.0)

    def test_what_is_not_positive_is_left_out(self, ax):
        artists = plot_convergence(self.CURVES, ax, optimum=1.25)
        np.testing.assert_allclose(artists.line.get_ydata(), [2.75, 1.25, np.nan])

    def test_several_histories_and_another_axis(self, ax, moons):
        X, y, _ = moons
        fits = [PegasosSVC(epochs=5, random_state=seed).fit(X, y) for seed in range(3)]
        histories = [fit.history_ for fit in fits]
        artists = plot_convergence(histories, ax, x="epoch", y="gap", color="black")
        expected = np.median([history["gap"] for history in histories], axis=0)
        np.testing.assert_allclose(artists.line.get_ydata(), expected)
        assert artists.line.get_color() == "black"
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("passes over the data", "certified gap")

    def test_single_history_has_no_band(self, ax, moons):
        artists = plot_convergence(moons[2].history_, ax, x="seconds", y="support_size")
        assert artists.band is None
        assert ax.get_ylabel() == "support size"

    def test_optimum_is_needed(self, ax):
        with pytest.raises(ValueError, match="optimum must be given"):
            plot_convergence(self.CURVES, ax)

    def test_runs_of_different_length_are_refused(self, ax):
        runs = [{"iteration": [1], "gap": [1.0]}, {"iteration": [1, 2], "gap": [1.0, 0.5]}]
        with pytest.raises(ValueError, match=r"same checkpoints, got \[1, 2\]"):
            plot_convergence(runs, ax, y="gap")


def test_confusion_shows_counts_and_names(ax):
    display = plot_confusion([[1234, 1], [0, 56]], ["trouser", "bag"], ax)
    assert [[text.get_text() for text in row] for row in display.text_] == [
        ["1234", "1"],
        ["0", "56"],
    ]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["trouser", "bag"]
    assert ax.get_xticklabels()[0].get_rotation() == 45
