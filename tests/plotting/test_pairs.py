"""Heat maps show what each pair of classes reached."""

from __future__ import annotations

import numpy as np

from kpegasos.plotting import OneVsOneDisplay


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
    assert panel.get_title() == "seconds in the solver"
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
