"""Displays show what they are given: read back from the artists, and held against pictures."""

from __future__ import annotations

import json
import warnings
from functools import partial

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt
from pictures import difference, says
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.plotting import (
    COLORS,
    ConvergenceDisplay,
    DecisionRegionDisplay,
    MarginHistogramDisplay,
    OneVsOneDisplay,
)
from kpegasos.theory import average_iterate_bound, weighted_average_bound

plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _nothing_left_open():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.15, random_state=0)
    return X, y, PegasosSVC(gamma=2.0, C=10.0, epochs=50, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, PegasosSVC(random_state=0).fit(X, y)


def coloured(collection):
    return colors.to_hex(collection.get_facecolor()[0]).upper()


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


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


class TestDecisionRegions:
    def test_regions_have_the_colour_of_the_predicted_class(self, ax, moons):
        X, y, model = moons
        display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax, legend=False)
        for group in (*display.points_, display.support_, display.lines_):
            group.remove()
        for point in ([-0.5, 1.1], [1.5, -0.6], [0.0, 0.2], [1.0, 0.3]):
            assert nearest_class(pixel(ax, *point), 2) == model.predict([point])[0]

    def test_points_lines_and_rings(self, ax, moons):
        X, y, model = moons
        display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
        assert [coloured(points) for points in display.points_] == list(COLORS[:2])
        assert [points.get_label() for points in display.points_] == ["class 0", "class 1"]
        np.testing.assert_allclose(display.points_[1].get_offsets(), X[y == 1])
        np.testing.assert_allclose(display.support_.get_offsets(), model.support_vectors_)
        # The line at zero separates the predictions.
        np.testing.assert_array_equal(display.lines_.levels, [-1, 0, 1])
        on_line = display.lines_.get_paths()[1].vertices
        assert np.abs(model.decision_function(on_line)).max() < 0.1

    def test_rings_grow_with_the_counts(self, ax, moons):
        X, y, model = moons
        display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
        counts = model.alpha_[model.support_]
        np.testing.assert_array_equal(display.counts, counts)
        areas = display.support_.get_sizes()
        slope = np.diff(areas[np.argsort(counts)])
        np.testing.assert_allclose(
            slope, np.diff(np.sort(counts)) * (areas.max() - 20) / counts.max(), atol=1e-9
        )
        entries = texts(display.legend_)
        assert f"support vector, α = {counts.max():,}" in entries
        assert f"support vector, α = {counts.min():,}" in entries

    def test_rings_of_several_displays_on_one_scale(self, ax):
        rings = [
            DecisionRegionDisplay.from_predictions(
                [0, 1], [0, 1], np.zeros((2, 2)), [[0, 0]], [0], support=[0], counts=[5], ax=ax
            ).plot(ax, max_count=top)
            for top in (5, 50)
        ]
        large, small = (display.support_.get_sizes()[0] for display in rings)
        assert large > small > 20

    def test_new_axes_and_estimator_of_scikit_learn(self, moons):
        X, y, _ = moons
        model = SVC().fit(X, y)
        display = DecisionRegionDisplay.from_estimator(model, X, y)
        assert display.ax_.get_xlim()[0] == pytest.approx(X[:, 0].min() - 0.2)
        np.testing.assert_allclose(display.counts, np.abs(model.dual_coef_[0]))
        assert "support vector, α = 1" in texts(display.legend_)

    def test_linear_model_with_support(self, ax, moons):
        X, y, _ = moons
        model = LinearPegasosSVC(random_state=0).fit(X, y)
        display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
        assert display.support_ is None
        assert texts(display.legend_) == ["class 0", "class 1", "f(x) = 0", "f(x) = ±1"]
        display = DecisionRegionDisplay.from_estimator(model, X, y, support=model.support_, ax=ax)
        np.testing.assert_allclose(display.support_.get_offsets(), X[model.support_])
        np.testing.assert_array_equal(display.counts, model.alpha_[model.support_])

    def test_data_frame_names_the_axes(self, ax, moons):
        pandas = pytest.importorskip("pandas")
        X, y, _ = moons
        frame = pandas.DataFrame(X, columns=["length", "width"])
        model = PegasosSVC(random_state=0).fit(frame, y)
        DecisionRegionDisplay.from_estimator(model, frame, y, ax=ax)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")

    def test_several_classes_with_names(self, ax):
        X, number = make_blobs(150, centers=4, cluster_std=0.6, random_state=0)
        y = np.array(["ant", "bee", "cat", "dog"])[number]
        model = PegasosSVC(random_state=0).fit(X, y)
        display = DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
        assert display.lines_ is None
        assert texts(display.legend_)[:4] == ["ant", "bee", "cat", "dog"]
        # A support vector of several pairs counts for all of them.
        np.testing.assert_array_equal(display.counts, model.alpha_.sum(axis=0)[model.support_])
        for group in (*display.points_, display.support_, display.legend_):
            group.remove()
        for label in range(4):
            centre = X[number == label].mean(axis=0)
            expected = model.classes_.tolist().index(model.predict([centre])[0])
            assert nearest_class(pixel(ax, *centre), 4) == expected

    def test_legend_is_beside_the_data(self, moons):
        X, y, model = moons
        display = DecisionRegionDisplay.from_estimator(model, X, y)
        display.figure_.canvas.draw()
        legend, panel = display.legend_.get_window_extent(), display.ax_.get_window_extent()
        assert panel.x1 < legend.x0
        assert legend.x1 <= display.figure_.bbox.x1

    def test_stored_values_give_the_same_lines(self, moons):
        X, y, model = moons
        _, (left, right) = plt.subplots(1, 2)
        direct = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=40, ax=left)
        stored = {"xx": direct.xx, "yy": direct.yy, "values": direct.values, "X": X, "y": y}
        stored |= {"support": model.support_, "counts": direct.counts}
        stored = json.loads(json.dumps({key: value.tolist() for key, value in stored.items()}))
        again = DecisionRegionDisplay.from_predictions(**stored, ax=right)
        for one, other in zip(direct.lines_.get_paths(), again.lines_.get_paths(), strict=True):
            np.testing.assert_allclose(one.vertices, other.vertices, atol=1e-6)
        np.testing.assert_allclose(again.support_.get_offsets(), direct.support_.get_offsets())
        np.testing.assert_allclose(again.support_.get_sizes(), direct.support_.get_sizes())

    def test_classes_without_a_cell_keep_colours_in_place(self, ax):
        display = DecisionRegionDisplay.from_predictions(
            [0, 1, 2], [0, 1], [[0, 0, 2], [0, 0, 2]], classes=["a", "b", "c"], ax=ax
        )
        assert (display.points_, display.support_) == ([], None)
        assert nearest_class(pixel(ax, 1.9, 0.5), 3) == 2
        assert nearest_class(pixel(ax, 0.1, 0.5), 3) == 0

    def test_no_line_beyond_the_values_and_two_classes_by_default(self, ax):
        values = [[-0.5, 0.5], [-0.5, 0.5]]
        display = DecisionRegionDisplay.from_predictions([0, 1], [0, 1], values, ax=ax)
        sizes = [len(path.vertices) for path in display.lines_.get_paths()]
        assert sizes[0] == sizes[2] == 0 < sizes[1]

    @pytest.mark.parametrize(
        ("change", "parts"),
        [
            ({"values": np.zeros((3, 2))}, (r"values .*\(n_y, n_x\) = \(2, 3\), got \(3, 2\)",)),
            ({"X": np.zeros((4, 3)), "y": np.zeros(4)}, (r"X .*\(n, 2\), got \(4, 3\)",)),
            ({"y": np.zeros(3)}, (r"y .*4 rows of X, got shape \(3,\)",)),
            ({"counts": [1.0]}, (r"counts .*2 support vectors, got shape \(1,\)",)),
            ({"counts": [1.0, -1.0]}, ("counts must not be negative, got -1",)),
        ],
    )
    def test_what_does_not_fit_is_refused(self, change, parts):
        good = {"xx": [0, 1, 2], "yy": [0, 1], "values": np.zeros((2, 3))}
        good |= {"X": np.zeros((4, 2)), "y": np.zeros(4), "support": [0, 1], "classes": [0, 1]}
        with pytest.raises(ValueError, match=says(*parts)):
            DecisionRegionDisplay.from_predictions(**{**good, **change})
        assert not plt.get_fignums(), "no empty figure is left behind"

    def test_fitted_models_in_the_plane_only(self, iris):
        X, y, model = iris
        with pytest.raises(NotFittedError):
            DecisionRegionDisplay.from_estimator(PegasosSVC(), X, y)
        with pytest.raises(ValueError, match="n_features must be equal to 2"):
            DecisionRegionDisplay.from_estimator(model, X, y)


class TestConvergence:
    CURVES = {  # noqa: RUF012
        "iteration": [1, 10, 100],
        "epoch": [0.1, 1, 10],
        "objective_average": [[3.0, 2.0, 1.5], [5.0, 3.0, 1.25], [4.0, 2.5, 1.0]],
        "objective_last": [[9.0, 9.0, 9.0]] * 3,
        "dual_bound": [[-1.0, 0.0, 0.5]] * 3,
    }

    def show(self, ax, **options):
        return ConvergenceDisplay.from_history(self.CURVES, ax=ax, **options)

    def test_median_and_band_of_suboptimality(self, ax):
        y = "suboptimality"
        display = self.show(ax, y=y, optimum=1.0, label="runs", band=(0, 100))
        line, band = display.lines_[y], display.bands_[y]
        np.testing.assert_allclose(line.get_ydata(), [3.0, 1.5, 0.25])
        np.testing.assert_array_equal(line.get_xdata(), [1, 10, 100])
        corners = band.get_paths()[0].vertices
        assert (corners[:, 1].min(), corners[:, 1].max()) == (1.0, 4.0)
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "suboptimality f(w) − f*")
        assert texts(display.legend_) == ["runs"]
        assert coloured(band) == colors.to_hex(line.get_color()).upper()

    def test_objectives_and_dual_bound_beside_the_optimum(self, ax):
        display = self.show(ax, optimum=0.75)
        assert list(display.lines_) == ["objective_last", "objective_average", "dual_bound"]
        names = ["last iterate", "averaged iterate", "dual bound", "f*"]
        assert texts(display.legend_) == names
        assert len({line.get_color() for line in display.lines_.values()}) == 3
        assert set(display.optimum_.get_ydata()) == {0.75}
        assert ax.get_ylabel() == "objective f(w)"
        assert self.show(ax).optimum_ is None

    def test_last_iterate(self, ax):
        display = self.show(ax, y="suboptimality_last", optimum=1.0)
        np.testing.assert_allclose(display.lines_["suboptimality_last"].get_ydata(), 8.0)

    def test_what_is_not_positive_is_left_out(self, ax):
        display = self.show(ax, y=["suboptimality"], optimum=1.25)
        np.testing.assert_allclose(
            display.lines_["suboptimality"].get_ydata(), [2.75, 1.25, np.nan]
        )
        assert np.isnan(self.show(ax).lines_["dual_bound"].get_ydata()[:2]).all()

    def test_several_histories_and_another_axis(self, ax, moons):
        X, y, _ = moons
        fits = [PegasosSVC(epochs=5, random_state=seed).fit(X, y) for seed in range(3)]
        histories = [fit.history_ for fit in fits]
        display = ConvergenceDisplay.from_history(
            histories, ax=ax, x="epoch", y="gap", color="black"
        )
        expected = np.median([history["gap"] for history in histories], axis=0)
        np.testing.assert_allclose(display.lines_["gap"].get_ydata(), expected)
        assert display.lines_["gap"].get_color() == "black"
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("passes over the data", "certified gap")

    @pytest.mark.parametrize(
        ("x", "label"),
        [
            ("iteration", "iteration"),
            ("epoch", "passes over the data"),
            ("seconds", "time in the solver, s"),
            ("kernel_evaluations", "kernel evaluations"),
        ],
    )
    def test_every_horizontal_axis(self, ax, moons, x, label):
        display = ConvergenceDisplay.from_estimator(moons[2], ax=ax, x=x, y="relative_gap")
        line = display.lines_["relative_gap"]
        np.testing.assert_array_equal(line.get_xdata(), moons[2].history_[x])
        assert display.bands_["relative_gap"] is None
        assert (ax.get_xlabel(), ax.get_ylabel()) == (label, "certified relative gap")

    def test_pair_of_several_classes(self, ax, iris):
        model = iris[2]
        display = ConvergenceDisplay.from_estimator(model, pair=(2, 0), ax=ax, y="gap")
        np.testing.assert_array_equal(display.lines_["gap"].get_ydata(), model.history_[1]["gap"])

    def test_bounds_are_functions_of_the_step_whatever_the_axis(self, ax):
        display = self.show(
            ax, x="epoch", y="suboptimality", optimum=0.5, bounds={"10 / T": lambda T: 10 / T}
        )
        line = display.bounds_["10 / T"]
        np.testing.assert_allclose(line.get_ydata(), 1 / line.get_xdata())
        assert texts(display.legend_) == ["averaged iterate", "10 / T", "bound vacuous"]

    def test_bounds_of_the_theory(self, ax):
        bounds = {
            "average": partial(average_iterate_bound, lam=0.01, radius=1.0),
            "t-weighted average": partial(weighted_average_bound, lam=0.01, radius=1.0),
        }
        display = self.show(ax, optimum=0.5, y="suboptimality", bounds=bounds)
        line = display.bounds_["average"]
        assert line.get_xdata().min() == pytest.approx(3)
        np.testing.assert_allclose(line.get_ydata(), bounds["average"](line.get_xdata()))
        # A run that is shorter has none.
        short = {"iteration": [1, 2], "gap": [2.0, 1.0]}
        display = ConvergenceDisplay.from_history(short, y="gap", bounds=bounds)
        assert display.bounds_["average"].get_xdata().size == 0
        assert display.vacuous_["average"] is None

    def test_ground_is_shaded_where_the_bound_says_less_than_no_model(self, ax):
        bounds = {"10 / T": lambda T: 10 / T, "small": [0.3, 0.2, 0.1], "large": [3, 2, 1]}
        display = self.show(ax, optimum=0.5, bounds=bounds)
        edges = {
            name: area.get_paths()[0].vertices[:, 0] if area is not None else None
            for name, area in display.vacuous_.items()
        }
        # 10 / T is at most f(0) − f* = 1/2 from T = 20 on.
        assert edges["10 / T"].min() == pytest.approx(3), "the theorems hold from 3 on"
        assert edges["large"].min() == 1
        assert edges["10 / T"].max() == pytest.approx(20, rel=0.02)
        assert edges["small"] is None
        assert edges["large"].max() == 100
        # Beside objectives, bounds are added to the optimum.
        np.testing.assert_allclose(display.bounds_["small"].get_ydata(), [0.8, 0.7, 0.6])

    @pytest.mark.parametrize(("optimum", "end"), [(None, 10 / 0.5), (0.9, 10 / 0.1)])
    def test_dual_bound_stands_for_an_unknown_optimum(self, optimum, end):
        known = {"iteration": [1.0, 10.0, 100.0], "gap": [1.0, 1.0, 1.0]}
        curves = {"gap": known["gap"]}
        display = ConvergenceDisplay(positions=known["iteration"], curves=curves, optimum=optimum)
        display.plot(bounds={"b": lambda T: 10 / T})
        edge = display.vacuous_["b"].get_paths()[0].vertices[:, 0].max()
        assert edge == pytest.approx(10 if optimum is None else end, rel=0.02)

    def test_legend_is_beside_the_curves(self, moons):
        display = ConvergenceDisplay.from_estimator(moons[2])
        display.figure_.canvas.draw()
        legend = display.legend_.get_window_extent()
        assert display.ax_.get_window_extent().x1 < legend.x0

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            ({"y": "suboptimality"}, ("optimum must be given", "got None")),
            ({"y": ["gap", "dual_bound"]}, ("y must name columns of one kind", "got")),
            ({"y": []}, ("y must name columns of one kind", r"got \[\]")),
            ({"x": "cache_hits"}, ("x must be one of", "got 'cache_hits'")),
            ({"label": "one"}, ("label must name each of the 3 curves", "got 1 names")),
            ({"bounds": {"b": lambda T: T}}, ("optimum must be given", "got None")),
            (
                {"y": "epoch", "bounds": {"b": lambda T: T}},
                ("bounds must stand beside objectives or suboptimality", "got"),
            ),
            (
                {"optimum": 0.0, "bounds": {"b": lambda T: 1.0}},
                (r"bounds\['b'\] must have a value for each step", r"got shape \(\)"),
            ),
        ],
    )
    def test_what_does_not_fit_is_refused(self, ax, options, parts):
        curves = {**self.CURVES, "gap": [1, 1, 1], "cache_hits": [1, 2, 3]}
        with pytest.raises(ValueError, match=says(*parts)):
            ConvergenceDisplay.from_history(curves, ax=ax, **options)

    def test_runs_of_different_length_are_refused(self, ax):
        runs = [{"iteration": [1], "gap": [1.0]}, {"iteration": [1, 2], "gap": [1.0, 0.5]}]
        with pytest.raises(ValueError, match=says(r"same checkpoints, got \[1, 2\]")):
            ConvergenceDisplay.from_history(runs, ax=ax, y="gap")
        with pytest.raises(ValueError, match=says("gap must have", "2 checkpoints, got 3")):
            ConvergenceDisplay(positions=[1, 2], curves={"gap": [1, 2, 3]})

    def test_estimators_without_a_history_are_refused(self, moons, iris):
        X, y, _ = moons
        stream = LinearPegasosSVC().partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValueError, match=says("history_", "got LinearPegasosSVC")):
            ConvergenceDisplay.from_estimator(stream)
        for pair in (None, (0, 0), (0, 7), (0, 1, 2)):
            with pytest.raises(ValueError, match=says("pair must name two of the", "got")):
                ConvergenceDisplay.from_estimator(iris[2], pair=pair)


class TestMarginHistogram:
    def test_bars_count_the_margins_of_each_class(self, ax, moons):
        X, y, model = moons
        display = MarginHistogramDisplay.from_estimator(model, X, y, ax=ax, bins=7)
        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
        np.testing.assert_allclose(display.margins, margins)
        heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_])
        edges = np.histogram_bin_edges(margins, 7)
        for number in range(2):
            expected = np.histogram(margins[y == number], edges)[0]
            np.testing.assert_array_equal(heights[number], expected)
        shown = [coloured_patch(bars[0]) for bars in display.bars_]
        assert shown == list(COLORS[:2])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("margin y f(x)", "examples")

    def test_legend_tells_the_shares_below_0_and_1(self, ax):
        decisions = [-2.0, 0.5, 0.5, 1.0]
        display = MarginHistogramDisplay.from_predictions([0, 0, 1, 1], decisions, ax=ax)
        assert texts(display.legend_) == [
            *("class 0", "class 1", "margin 0: 25.0% below", "margin 1: 50.0% below")
        ]
        assert [line.get_xdata()[0] for line in display.lines_] == [0, 1]

    @pytest.mark.parametrize("Estimator", [PegasosSVC, SVC])
    def test_pair_of_several_classes(self, ax, iris, Estimator):
        X, y, _ = iris
        model = Estimator(decision_function_shape="ovr", random_state=0).fit(X, y)
        display = MarginHistogramDisplay.from_estimator(model, X, y, pair=(1, 2), ax=ax)
        kept = y > 0
        assert display.y.tolist() == y[kept].tolist()
        # Of several classes, a positive decision is for the first of the pair.
        alone = Estimator(decision_function_shape="ovo", random_state=0).fit(X, y)
        expected = np.where(y[kept] == 2, -1, 1) * alone.decision_function(X)[kept, 2]
        np.testing.assert_allclose(display.margins, expected)
        assert np.mean(display.margins > 0) > 0.9
        assert model.decision_function_shape == "ovr"

    @pytest.mark.parametrize(
        ("y", "decisions", "parts"),
        [
            ([0, 0], [1.0, 1.0], ("y must hold labels of two classes", r"got \[0\]")),
            ([0, 1], [1.0], (r"decisions must have shape \(2,\)", r"got \(1,\)")),
            ([0, 1], [1.0, np.nan], ("margins must be finite", "got 1 that are not")),
        ],
    )
    def test_what_does_not_fit_is_refused(self, y, decisions, parts):
        with pytest.raises(ValueError, match=says(*parts)):
            MarginHistogramDisplay.from_predictions(y, decisions)
        with pytest.raises(ValueError, match=says("margins must have an entry", r"got shape")):
            MarginHistogramDisplay(margins=[], y=[])


def coloured_patch(patch):
    return colors.to_hex(patch.get_facecolor()).upper()


class TestOneVsOne:
    def test_cells_hold_what_each_pair_reached(self, iris):
        model = iris[2]
        display = OneVsOneDisplay.from_estimator(
            model, labels=["setosa", "versicolor", "virginica"]
        )
        assert list(display.images_) == ["relative_gap", "support_size", "seconds"]
        cells = display.images_["relative_gap"].get_array()
        gaps = model.relative_gap_  # of the pairs (0, 1), (0, 2), (1, 2)
        np.testing.assert_allclose(cells[[0, 1, 1], [0, 0, 1]], gaps)
        assert cells.mask.tolist() == [[False, True], [False, False]]
        sizes = [record.records[-1].support_size for record in model.history_]
        numbers = [text.get_text() for text in display.texts_["support_size"]]
        assert numbers == [str(size) for size in sizes]
        panel = display.axes_[2]
        assert panel.get_title() == "time in the solver, s"
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["setosa", "versicolor"]
        assert [tick.get_text() for tick in panel.get_yticklabels()] == ["versicolor", "virginica"]

    def test_axes_that_are_given_and_two_classes(self, ax, moons):
        display = OneVsOneDisplay.from_estimator(moons[2], metrics=["gap"], ax=ax)
        assert display.axes_.tolist() == [ax]
        assert display.images_["gap"].get_array().tolist() == [[moons[2].duality_gap_]]

    def test_many_classes_have_no_numbers_and_no_certificate_leaves_blanks(self):
        values = np.arange(21.0)
        values[3] = np.nan
        display = OneVsOneDisplay(values={"gap": values}, classes=range(7)).plot()
        assert display.texts_["gap"] == []
        # Pair 3 is (0, 4): first column, fourth row.
        assert display.images_["gap"].get_array().mask[3, 0]
        written = display.plot(annotate=True, values_format=".1f").texts_["gap"]
        assert [text.get_text() for text in written[2:5]] == ["2.0", "–", "4.0"]
        assert (written[3].get_color(), written[0].get_color()) == ("black", "white")

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            ({"metrics": ["speed"]}, ("metrics must be columns of a history", r"got \['speed'\]")),
            ({"labels": ["a"]}, ("labels must name each of the 3 classes", "got 1 names")),
            ({"metrics": []}, ("values must hold at least one quantity", "got none")),
        ],
    )
    def test_what_does_not_fit_is_refused(self, iris, options, parts):
        with pytest.raises(ValueError, match=says(*parts)):
            OneVsOneDisplay.from_estimator(iris[2], **options)

    def test_shapes_are_checked(self, ax, iris):
        with pytest.raises(ValueError, match=says(r"\(3,\)", "3 classes", r"got \(2,\)")):
            OneVsOneDisplay(values={"gap": [1, 2]}, classes="abc")
        with pytest.raises(ValueError, match=says("ax must hold 3 axes", "got 1")):
            OneVsOneDisplay.from_estimator(iris[2], ax=ax)


# ---------------------------------------------------------------------------------------------
# Pictures


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


@pytest.mark.parametrize("picture", [regions, many_regions, curves, histogram, pairs])
def test_picture(picture, tmp_path):
    assert difference(picture, picture.__name__, tmp_path) is None


def test_pictures_would_show_lost_rings(tmp_path):
    def without(ax):
        regions(ax)
        ax.collections[-1].remove()

    assert difference(without, "regions", tmp_path) is not None
