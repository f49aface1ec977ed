"""The path shows score, gap or support size at each C, and which C the rules choose."""

import numpy as np
from pictures import texts
from search_cases import CS, search_of, table

from kpegasos.plotting import RegularizationPathDisplay

SCORES = [[0.5, 0.6, 0.7], [0.8, 0.88, 0.9]]


def drawn(results=None, best_index=None, **options):
    search = search_of(table(SCORES) if results is None else results, best_index)
    return RegularizationPathDisplay.from_estimator(search, **options)


def heights(display):
    return display.line_.get_ydata()


def test_path_curve_is_that_of_the_chosen_gamma(ax):
    display = drawn(ax=ax)
    assert display.line_.get_xdata().tolist() == CS
    assert heights(display).tolist() == SCORES[1]
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "mean score")
    assert heights(drawn(best_index=2)).tolist() == SCORES[0]
    display = drawn(ax=ax, color="black", legend=False)
    assert display.line_.get_color() == "black"
    assert display.legend_ is None
    one = RegularizationPathDisplay(Cs=[1.0], values=[0.5]).plot(ax)
    assert heights(one).tolist() == [0.5]


def test_path_marks_the_chosen_C_and_the_smallest_that_is_nearly_as_good():
    display = drawn()
    (band,) = display.band_.get_paths()  # one standard error: 0.1 / sqrt(5 - 1)
    np.testing.assert_allclose(band.get_extents().intervaly, [0.75, 0.95])
    assert (display.chosen, display.one_standard_error_C_) == (10.0, 1.0)
    assert [line.get_xdata()[0] for line in display.marks_] == [10.0, 1.0]
    assert len(texts(display.legend_)) == 3
    close = drawn(table(SCORES, deviations=0.01))
    assert close.one_standard_error_C_ == 10.0
    assert len(close.marks_) == 1
    alone = drawn(table(SCORES, n_splits=1))
    assert alone.band_ is alone.one_standard_error_C_ is None


def test_path_shows_any_column_of_the_results():
    costs = {
        "mean_n_support": [[9, 8, 7], [1200, 80, 70]],
        "max_relative_gap": [[0.1, 0.1, 0.1], [0.004, 0.005, 0.01]],
    }
    for name, column in costs.items():
        display = drawn(table(SCORES, **costs), y=name)
        assert heights(display).tolist() == column[1]
        assert display.ax_.get_ylabel() == name.replace("_", " ")
        assert display.ax_.get_yscale() == ("log" if name == "mean_n_support" else "linear")
        assert display.one_standard_error_C_ is display.band_ is None
        assert [line.get_xdata()[0] for line in display.marks_] == [10.0]
