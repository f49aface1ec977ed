"""Points to begin with: presets, tables, files."""

import numpy as np
import pytest
from playground_cases import refusal, state_of

from kpegasos.playground.checks import PRESETS, MessageError
from kpegasos.playground.presets import state_of_table, table_of, table_points
from kpegasos.playground.scenes import scene_of
from kpegasos.playground.session import Session


def points_of_preset(**changes):
    message = {"kind": "preset", "id": 4, "name": "moons", "n": 50, "noise": 0.1, **changes}
    (answer,) = Session().handle(message)
    assert answer["kind"] == "points", answer
    return answer


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_preset_makes_a_state_that_is_accepted(name, noise):
    points = points_of_preset(name=name, noise=noise, test_share=0.2)
    scene = scene_of({**state_of(), **{key: points[key] for key in ("points", "labels", "test")}})
    assert scene.points.shape == (50, 2)
    assert set(scene.labels) == {0, 1}
    assert scene.test.sum() == 10
    assert np.abs(scene.points).max() < 5
    assert points["id"] == 4


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_drawn_by_its_seed(name):
    assert points_of_preset(name=name, seed=3) == points_of_preset(name=name, seed=3)
    assert points_of_preset(name=name, seed=3) != points_of_preset(name=name, seed=4)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_blobs_are_of_as_many_classes(n_classes):
    points = points_of_preset(name="blobs", classes=n_classes)
    assert set(points["labels"]) == set(range(n_classes))


def test_rare_class_is_a_tenth():
    assert sum(points_of_preset(name="imbalanced")["labels"]) == 5


def test_label_noise_flips_labels():
    kept = points_of_preset(name="label_noise", noise=0.0)
    x_of_first = [
        x + y for (x, y), label in zip(kept["points"], kept["labels"], strict=True) if label
    ]
    assert min(x_of_first) > -1


def test_table_is_read_however_it_is_divided():
    expected = None
    for mark in (",", ";", "\t", "  ", ", "):
        text = "\n".join(
            mark.join(row) for row in (("1", "2.5", "7"), ("-3e-1", "4", "10"), ("0", "0", "7"))
        )
        points = table_points(1, text)
        expected = expected or points
        assert points == expected
    assert expected["points"] == [[1.0, 2.5], [-0.3, 4.0], [0.0, 0.0]]
    assert expected["labels"] == [0, 1, 0]
    assert expected["test"] == [False] * 3


def test_names_of_columns_and_empty_lines_are_passed_over():
    points = table_points(1, 'a,b,"name"\n\n1,2,"setosa"\n3,4,virginica\n\n')
    assert points["points"] == [[1.0, 2.0], [3.0, 4.0]]
    assert points["labels"] == [0, 1]


def test_numbers_are_sorted_as_numbers():
    assert table_points(1, "0,0,10\n0,0,9\n0,0,-1")["labels"] == [2, 1, 0]


def test_table_of_points_comes_back():
    rng = np.random.default_rng(0)
    X, labels, test = rng.standard_normal((30, 2)), np.arange(30) % 4, np.arange(30) % 3 == 0
    points = table_points(None, table_of(X, labels, test))
    assert points["points"] == X.tolist()
    assert points["labels"] == labels.tolist()
    assert points["test"] == test.tolist()


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
    error = refusal(Session(), {"kind": "table", "id": 1, "table": text})
    assert error["parameter"] == "table"
    assert sentence in error["message"]


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
