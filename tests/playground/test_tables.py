"""Tables of points to begin with."""

import re

import numpy as np
import pytest

from kpegasos.playground.files import state_of_points, state_of_table, state_of_text
from kpegasos.playground.messages import MessageError, scene_of


def test_table_is_read_however_it_is_divided():
    expected = None
    for mark in (",", ";", "\t", "  ", ", "):
        text = "\n".join(
            mark.join(row) for row in (("1", "2.5", "7"), ("-3e-1", "4", "10"), ("0", "0", "7"))
        )
        points = state_of_text(text)
        expected = expected or points
        assert points == expected
    assert expected["points"] == [[1.0, 2.5], [-0.3, 4.0], [0.0, 0.0]]
    assert expected["labels"] == [0, 1, 0]
    assert expected["test"] == [False] * 3


def test_names_of_columns_and_empty_lines_are_passed_over():
    points = state_of_text('a,b,"name"\n\n1,2,"setosa"\n3,4,virginica\n\n')
    assert points["points"] == [[1.0, 2.0], [3.0, 4.0]]
    assert points["labels"] == [0, 1]


def test_numbers_are_sorted_as_numbers():
    assert state_of_text("0,0,10\n0,0,9\n0,0,-1")["labels"] == [2, 1, 0]


def test_points_make_a_state():
    X, labels, test = np.arange(6.0).reshape(3, 2), np.arange(3), np.array([False, True, False])
    scene = scene_of(state_of_points(X, labels, test))
    np.testing.assert_array_equal(scene.points, X)
    assert (scene.labels.tolist(), scene.test.tolist()) == (labels.tolist(), test.tolist())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "got none"),
        ("1,2\n", "got 2 columns"),
        ("1,2,3,4,5\n", "got 5 columns; choose two features"),
        ("1,2,a\n1,x,a", "in line 2"),
        ("1,2,a\n\n1,nan,a", "in line 3"),
        ("1,2,a\n1,2", "in line 2"),
        ("1,2,a\n1,9e9,a", "in line 2"),
        ("\n".join(f"1,2,{name}" for name in "abcde"), "at most 4 classes, got 5"),
        ("1,2,3\n" * 2001, "at most 2,000 points, got 2,001"),
    ],
)
def test_bad_table_is_told_by_its_line(text, sentence):
    with pytest.raises(MessageError, match=re.escape(sentence)) as caught:
        state_of_text(text)
    assert caught.value.parameter == "table"


def test_file_becomes_a_state(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("\ufeffx,y,label\n1,2,b\n3,4,a\n".encode())
    state = state_of_table(path)
    assert state["labels"] == [1, 0]
    scene_of(state)


def test_file_that_is_too_long_is_not_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2,3\n" * 200_000)
    with pytest.raises(MessageError, match=r"data\.csv must have at most"):
        state_of_table(path)
