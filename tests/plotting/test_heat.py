"""Cells of pairs and of searches are where they are, what they are, and marked if as good."""

from __future__ import annotations

import numpy as np
from matplotlib import colors
from pictures import texts
from search_cases import CS, GAMMAS, table
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kpegasos.plotting import OneVsOneDisplay, ValidationSurfaceDisplay

SCORES = [[0.5, 0.6, 0.7], [0.8, 0.9, 0.88]]
GRID = {"C": CS, "gamma": GAMMAS}


def drawn(results=None, **options):
    found = table(SCORES) if results is None else results
    return ValidationSurfaceDisplay.from_results(found, **options)


def cells(display, name="score"):
    return np.ma.filled(display.images_[name].get_array().astype(float), np.nan)


def test_surface_cells_are_the_mean_scores_with_a_frame_around_the_chosen_one(ax, moons):
    search = GridSearchCV(SVC(), GRID, cv=3).fit(*moons[:2])
    display = ValidationSurfaceDisplay.from_estimator(search, ax=ax)
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(cells(display), means.reshape(3, 2).T)
    splits = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    errors = splits.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(display.standard_errors.T.ravel(), errors)
    frame, chosen = display.chosen_["score"].get_bbox(), search.best_params_
    assert frame.x0 < chosen["C"] < frame.x1
    assert frame.y0 < chosen["gamma"] < frame.y1
    other = drawn(best_index=0).chosen_["score"].get_bbox()
    assert other.x0 < CS[0] < other.x1 < CS[1]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.1", "1", "10"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0.5", "2"]


def test_surface_line_surrounds_the_cells_within_one_standard_error_of_the_best():
    # 0.1 / sqrt(5 - 1) below 0.9 is 0.85.
    display = drawn()
    assert display.within_.tolist() == [[False] * 3, [False, True, True]]
    segments = np.array(display.outlines_["score"].get_segments())
    np.testing.assert_allclose(segments.min(axis=(0, 1)), [np.sqrt(0.1), 1.0])
    np.testing.assert_allclose(segments.max(axis=(0, 1)), [np.sqrt(1000), 4.0])
    assert len(segments) == 6  # two cells beside each other have six sides
    wide = drawn(table(SCORES, deviations=0.21))
    assert wide.within_.tolist() == [[False] * 3, [True, True, True]]
    alone = drawn(table(SCORES, n_splits=1))
    assert alone.outlines_["score"] is None
    assert texts(alone.legend_) == ["chosen cell"]
    corners = display.images_["score"].get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], np.sqrt([0.001, 0.1, 10, 1000]))
    np.testing.assert_allclose(corners[:, 0, 1], [0.25, 1.0, 4.0])


def test_surface_missing_cells_are_hatched_and_not_dropped(ax):
    scores = [[0.5, np.nan, 0.7], [np.nan, 0.9, 0.88]]
    display = drawn(table(scores), ax=ax)
    np.testing.assert_array_equal(cells(display), scores)
    first, second = display.missing_["score"].get_paths()
    assert first.contains_point((1.0, 0.5))
    assert second.contains_point((0.1, 2.0))
    assert texts(display.legend_)[-1] == "missing"
    assert len(display.texts_["score"]) == 4
    display = drawn(table(np.full((2, 3), np.nan)))
    assert display.chosen is display.chosen_["score"] is None
    assert texts(display.legend_) == ["missing"]


def test_surface_panels_show_what_each_cell_cost():
    costs = {
        "mean_n_support": [[1200, 30, 20], [90, 80, 70]],
        "max_relative_gap": [[0.0001, 0.002, 0.003], [0.004, 0.0055, 0.01]],
        "mean_fit_time": [[0.1, 0.2, 0.3], [1.0, 10.0, 100.0]],
    }
    panels = ("score", "support_size", "relative_gap", "seconds")
    display = drawn(table(SCORES, **costs), panels=panels)
    assert list(display.images_) == list(panels)
    for name, column in zip(panels[1:], costs.values(), strict=True):
        np.testing.assert_array_equal(cells(display, name), column)
        assert display.chosen_[name].get_bbox().bounds == display.chosen_["score"].get_bbox().bounds
    assert display.texts_["support_size"][0].get_text() == "1,200"
    assert [text.get_text() for text in display.texts_["relative_gap"]][-2:] == ["0.55%", "1.0%"]
    assert isinstance(display.images_["seconds"].norm, colors.LogNorm)
    assert not isinstance(display.images_["relative_gap"].norm, colors.LogNorm)
    assert [panel.get_subplotspec().rowspan.start for panel in display.axes_] == [0, 0, 1, 1]


def test_surface_of_a_step_and_of_several_metrics_is_that_of_one(moons):
    scoring, pipeline = ["accuracy", "f1"], make_pipeline(StandardScaler(), SVC())
    grid = {f"svc__{name}": values for name, values in GRID.items()}
    search = GridSearchCV(pipeline, grid, cv=3, scoring=scoring, refit="f1").fit(*moons[:2])
    display = ValidationSurfaceDisplay.from_estimator(search, metric="f1")
    means = search.cv_results_["mean_test_f1"].reshape(3, 2).T
    np.testing.assert_array_equal(cells(display), means)


def test_surface_of_successive_halving_shows_the_last_score_of_a_cell(moons):
    search = HalvingGridSearchCV(SVC(), GRID, cv=3, random_state=0).fit(*moons[:2])
    display = ValidationSurfaceDisplay.from_estimator(search)
    results = search.cv_results_
    last = {}
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        last[params["gamma"], params["C"]] = score
    assert len(results["params"]) > len(last) == 6
    for (gamma, C), score in last.items():
        assert cells(display)[GAMMAS.index(gamma), CS.index(C)] == score


def test_surface_other_parameters_are_those_of_the_chosen_cell_or_as_said(moons):
    grid = [{"kernel": ["linear"], "C": CS}, {"kernel": ["rbf", "sigmoid"], **GRID}]
    search = GridSearchCV(SVC(), grid, cv=3).fit(*moons[:2])
    results = search.cv_results_
    assert search.best_params_["kernel"] == "rbf"
    for kernel, options in (("rbf", {}), ("sigmoid", {"where": {"kernel": "sigmoid"}})):
        display = ValidationSurfaceDisplay.from_estimator(search, **options)
        of_kernel = [params["kernel"] == kernel for params in results["params"]]
        means = results["mean_test_score"][of_kernel].reshape(3, 2).T
        np.testing.assert_array_equal(cells(display), means)


def test_pairs_cells_hold_what_each_pair_reached(iris):
    model = iris[2]
    display = OneVsOneDisplay.from_estimator(model, labels=["setosa", "versicolor", "virginica"])
    assert list(display.images_) == ["relative_gap", "support_size", "seconds"]
    cells = display.images_["relative_gap"].get_array()
    gaps = model.relative_gap_  # of the pairs (0, 1), (0, 2), (1, 2)
    np.testing.assert_allclose(cells[[0, 1, 1], [0, 0, 1]], gaps)
    assert cells.mask.tolist() == [[False, True], [False, False]]
    sizes = [record.records[-1].support_size for record in model.history_]
    numbers = [text.get_text() for text in display.texts_["support_size"]]
    assert numbers == [str(size) for size in sizes]
    panel = display.axes_[2]
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["setosa", "versicolor"]
    assert [tick.get_text() for tick in panel.get_yticklabels()] == ["versicolor", "virginica"]


def test_pairs_axes_that_are_given_and_two_classes(ax, moons):
    display = OneVsOneDisplay.from_estimator(moons[2], metrics=["gap"], ax=ax)
    assert display.axes_.tolist() == [ax]
    assert display.images_["gap"].get_array().tolist() == [[moons[2].duality_gap_]]


def test_pairs_many_classes_have_no_numbers_and_no_certificate_leaves_blanks():
    values = np.arange(21.0)
    values[3] = np.nan
    display = OneVsOneDisplay(values={"gap": values}, classes=range(7)).plot()
    assert display.texts_["gap"] == []
    # Pair 3 is (0, 4): first column, fourth row.
    assert display.images_["gap"].get_array().mask[3, 0]
    written = display.plot(annotate=True, values_format=".1f").texts_["gap"]
    assert [text.get_text() for text in written[2:5]] == ["2.0", "–", "4.0"]
    assert (written[3].get_color(), written[0].get_color()) == ("black", "white")
