"""Displays of a search: its cells as a surface, and what they have along C as a path."""

import numpy as np
import pandas as pd
import pytest
from pictures import texts
from search_cases import CS, GAMMAS, search_of, table
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kpegasos.plotting import RegularizationPathDisplay, ValidationSurfaceDisplay

SCORES = [[0.5, 0.6, 0.7], [0.8, 0.9, 0.88]]
GRID = {"C": CS, "gamma": GAMMAS}
WITHIN = "within one standard error of the best"


def drawn(results=None, best_index=None, **options):
    search = search_of(table(SCORES) if results is None else results, best_index)
    return ValidationSurfaceDisplay.from_estimator(search, **options)


def cells(display):
    return np.ma.filled(display.image_.get_array().astype(float), np.nan)


def places(marks):
    """Rows and columns of the cells that marks are in."""
    columns, rows = marks.get_data()
    return np.transpose([np.floor(rows), columns]).astype(int).tolist()


def test_surface_cells_are_the_mean_scores_with_a_star_in_the_chosen_one(ax, moons):
    search = GridSearchCV(SVC(), GRID, cv=3).fit(*moons[:2])
    display = ValidationSurfaceDisplay.from_estimator(search, ax=ax)
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(cells(display), means.reshape(3, 2).T)
    splits = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    errors = splits.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(display.standard_errors.T.ravel(), errors)
    chosen = search.best_params_
    at = [GAMMAS.index(chosen["gamma"]), CS.index(chosen["C"])]
    assert places(display.star_) == [at]
    assert places(drawn(best_index=0).star_) == [[0, 0]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.1", "1", "10"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0.5", "2"]
    assert [text.get_text() for text in display.texts_] == [
        f"{score:.3f}" for score in cells(display).ravel()
    ]


def test_surface_dots_are_in_the_cells_within_one_standard_error_of_the_best():
    # 0.1 / sqrt(5 - 1) below 0.9 is 0.85.
    display = drawn()
    assert display.within_.tolist() == [[False] * 3, [False, True, True]]
    assert places(display.dots_) == [[1, 1], [1, 2]]
    assert texts(display.legend_) == [WITHIN, "chosen cell"]
    wide = drawn(table(SCORES, deviations=0.21))
    assert wide.within_.tolist() == [[False] * 3, [True, True, True]]
    alone = drawn(table(SCORES, n_splits=1))
    assert alone.dots_ is None
    assert texts(alone.legend_) == ["chosen cell"]


@pytest.mark.parametrize("as_frame", [False, True])
def test_surface_of_a_step_of_a_pipeline_is_that_of_its_scores(moons, as_frame):
    pipeline = make_pipeline(StandardScaler(), SVC())
    grid = {f"svc__{name}": values for name, values in GRID.items()}
    search = GridSearchCV(pipeline, grid, cv=3).fit(*moons[:2])
    means = search.cv_results_["mean_test_score"].reshape(3, 2).T
    if as_frame:
        search.cv_results_ = pd.DataFrame(search.cv_results_)
    display = ValidationSurfaceDisplay.from_estimator(search)
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


def test_surface_other_parameters_are_those_of_the_chosen_cell(moons):
    grid = [{"kernel": ["linear"], "C": CS}, {"kernel": ["rbf", "sigmoid"], **GRID}]
    search = GridSearchCV(SVC(), grid, cv=3).fit(*moons[:2])
    results = search.cv_results_
    kernels = [params["kernel"] for params in results["params"]]
    for kernel in ("rbf", "sigmoid"):
        chosen = kernels.index(kernel)
        display = ValidationSurfaceDisplay.from_estimator(search_of(results, chosen))
        means = results["mean_test_score"][np.array(kernels) == kernel].reshape(3, 2).T
        np.testing.assert_array_equal(cells(display), means)


@pytest.mark.parametrize("size", [1.0, 1e8, 1e-7])
def test_surface_numbers_of_scores_of_any_size_differ_and_fit_their_cells(ax, size):
    scores = -size * np.linspace(0.1, 0.9, 49).reshape(7, 7)
    axes = np.logspace(-3, 3, 7)
    display = ValidationSurfaceDisplay(Cs=axes, gammas=axes, scores=scores).plot(ax)
    ax.figure.draw_without_rendering()
    width = max(text.get_window_extent().width for text in display.texts_)
    assert width < ax.get_window_extent().width / 7
    assert len({text.get_text() for text in display.texts_}) == 49


# --- along C --------------------------------------------------------------------------------------

ALONG_C = [[0.5, 0.6, 0.7], [0.8, 0.88, 0.9]]


def drawn_path(results=None, best_index=None, **options):
    search = search_of(table(ALONG_C) if results is None else results, best_index)
    return RegularizationPathDisplay.from_estimator(search, **options)


def heights(display):
    return display.line_.get_ydata()


def test_path_curve_is_that_of_the_chosen_gamma(ax):
    display = drawn_path(ax=ax)
    assert display.line_.get_xdata().tolist() == CS
    assert heights(display).tolist() == ALONG_C[1]
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "mean score")
    assert heights(drawn_path(best_index=2)).tolist() == ALONG_C[0]
    display = drawn_path(ax=ax, color="black", legend=False)
    assert display.line_.get_color() == "black"
    assert display.legend_ is None
    one = RegularizationPathDisplay(Cs=[1.0], values=[0.5]).plot(ax)
    assert heights(one).tolist() == [0.5]


def test_path_marks_the_chosen_C_and_the_smallest_that_is_nearly_as_good():
    display = drawn_path()
    (band,) = display.band_.get_paths()  # one standard error: 0.1 / sqrt(5 - 1)
    np.testing.assert_allclose(band.get_extents().intervaly, [0.75, 0.95])
    assert (display.chosen, display.one_standard_error_C_) == (10.0, 1.0)
    assert [line.get_xdata()[0] for line in display.marks_] == [10.0, 1.0]
    assert len(texts(display.legend_)) == 3
    close = drawn_path(table(ALONG_C, deviations=0.01))
    assert close.one_standard_error_C_ == 10.0
    assert len(close.marks_) == 1
    alone = drawn_path(table(ALONG_C, n_splits=1))
    assert alone.band_ is alone.one_standard_error_C_ is None


def test_path_shows_any_column_of_the_results():
    costs = {
        "mean_n_support": [[9, 8, 7], [1200, 80, 70]],
        "max_relative_gap": [[0.1, 0.1, 0.1], [0.004, 0.005, 0.01]],
    }
    for name, column in costs.items():
        display = drawn_path(table(ALONG_C, **costs), y=name)
        assert heights(display).tolist() == column[1]
        assert display.ax_.get_ylabel() == name.replace("_", " ")
        assert display.ax_.get_yscale() == ("log" if name == "mean_n_support" else "linear")
        assert display.one_standard_error_C_ is display.band_ is None
        assert [line.get_xdata()[0] for line in display.marks_] == [10.0]
