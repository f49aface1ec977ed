"""The path shows score, gap and support size at each C, and which C the rules choose."""

from __future__ import annotations

import numpy as np
from pictures import texts
from search_cases import CS, GAMMAS, solutions, table

from kpegasos.plotting import RegularizationPathDisplay

SCORES = [[0.5, 0.6, 0.7], [0.8, 0.88, 0.9]]


def drawn(results=None, **options):
    found = table(SCORES) if results is None else results
    return RegularizationPathDisplay.from_results(found, **options)


def heights(display, name="score"):
    return display.lines_[name].get_ydata()


def test_path_curve_is_that_of_the_chosen_gamma_or_of_another(ax):
    display = drawn(ax=ax)
    assert display.lines_["score"].get_xdata().tolist() == CS
    assert heights(display).tolist() == SCORES[1]
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.1", "1", "10"]
    assert heights(drawn(where={"gamma": GAMMAS[0]})).tolist() == SCORES[0]
    assert heights(drawn(best_index=2)).tolist() == SCORES[0]
    display = drawn(ax=ax, color="black", legend=False)
    assert display.lines_["score"].get_color() == "black"
    assert display.legend_ is None
    one = RegularizationPathDisplay.from_path(solutions([1.0]), panels="objective", ax=ax)
    assert heights(one, "objective").tolist() == [0.5]


def test_path_marks_the_chosen_C_and_the_smallest_that_is_nearly_as_good():
    display = drawn()
    (band,) = display.bands_["score"].get_paths()  # one standard error: 0.1 / sqrt(5 - 1)
    np.testing.assert_allclose(band.get_extents().intervaly, [0.75, 0.95])
    assert (display.chosen, display.one_standard_error_C_) == (10.0, 1.0)
    assert [line.get_xdata()[0] for line in display.marks_["score"]] == [10.0, 1.0]
    assert len(texts(display.legend_)) == 3
    close = drawn(table(SCORES, deviations=0.01))
    assert close.one_standard_error_C_ == 10.0
    assert len(close.marks_["score"]) == 1
    alone = drawn(table(SCORES, n_splits=1))
    assert alone.bands_["score"] is alone.one_standard_error_C_ is None


def test_path_panels_are_those_that_the_results_have():
    costs = {
        "mean_n_support": [[9, 8, 7], [1200, 80, 70]],
        "max_relative_gap": [[0.1, 0.1, 0.1], [0.004, 0.005, 0.01]],
        "mean_fit_time": [[0.1, 0.2, 0.3], [1.0, 10.0, 100.0]],
    }
    display = drawn(table(SCORES, **costs))
    assert list(display.lines_) == ["score", "relative_gap", "support_size"]
    assert heights(display, "relative_gap").tolist() == [0.004, 0.005, 0.01]
    assert heights(display, "support_size").tolist() == [1200, 80, 70]
    assert display.axes_[1].get_ylim()[0] == 0.0
    seconds = drawn(table(SCORES, **costs), panels=["seconds"])
    assert [line.get_xdata()[0] for line in seconds.marks_["seconds"]] == [10.0, 1.0]


def test_path_of_solutions_shows_objective_and_dual_bound_side_by_side():
    path = solutions()
    display = RegularizationPathDisplay.from_path(path)
    assert list(display.lines_) == ["objective", "dual_bound", "relative_gap", "support_size"]
    objective, bound = display.lines_["objective"], display.lines_["dual_bound"]
    assert objective.axes is bound.axes
    assert objective.get_color() != bound.get_color()
    assert heights(display, "objective").tolist() == path.objectives.tolist()
    assert heights(display, "dual_bound").tolist() == path.dual_bounds.tolist()
    assert heights(display, "support_size").tolist() == path.n_support.tolist()
    assert display.chosen is None


def test_path_of_solutions_may_come_in_any_order_and_have_scores():
    path = solutions([10.0, 0.1, 1.0])
    folds = [[0.9, 0.7, 0.8], [0.8, 0.6, 0.8]]
    display = RegularizationPathDisplay.from_path(path, scores=folds)
    assert display.Cs.tolist() == CS
    np.testing.assert_allclose(heights(display), [0.65, 0.8, 0.85])
    np.testing.assert_allclose(display.standard_errors, [0.05, 0.0, 0.05])
    assert heights(display, "objective").tolist() == sorted(path.objectives)[::-1]
    assert (display.chosen, display.one_standard_error_C_) == (10.0, 1.0)
    one = RegularizationPathDisplay.from_path(path, scores=folds[0])
    assert one.bands_["score"] is None
