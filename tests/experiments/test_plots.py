"""Colours that the colour-blind tell apart, names at the ends of lines, layouts that stay."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from experiments._plots import (
    END,
    METHODS,
    WIDTH,
    freeze,
    spread_out,
    state,
    text_color,
)

#: Methods that figures draw side by side.
TOGETHER = (
    ("last", "weighted", "suffix", "uniform"),
    ("last", "weighted", "gap"),
    ("last", "weighted", "dual"),
    ("independent", "permutation", "one permutation"),
    ("polished", "Pegasos", "SVC", "intelex"),
    ("weighted", "SGDClassifier", "LinearSVC", "SDCA"),
    ("last", "weighted", "SDCA"),
)
#: Deuteranopia by Machado, Oliveira and Fernandes (2009), on linear RGB.
DEUTERANOPIA = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
#: Least difference ΔE of two colours that are told apart at a glance, and of those that have
#: different markers too.
CLEAR, WITH_MARKERS = 24.0, 16.0


def linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB of linear RGB, by the white of daylight."""
    xyz = TO_XYZ @ rgb / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(color):
    """Contrast with white, as the web's guidelines define it."""
    return 1.05 / (linear(color) @ TO_XYZ[1] + 0.05)


def difference(one, other, sight):
    return np.linalg.norm(
        lab(np.clip(sight @ linear(one), 0, 1)) - lab(np.clip(sight @ linear(other), 0, 1))
    )


# Colours


@pytest.mark.parametrize("sight", [np.eye(3), DEUTERANOPIA], ids=["usual", "deuteranopia"])
@pytest.mark.parametrize("group", TOGETHER, ids=" ".join)
def test_methods_drawn_together_are_told_apart(group, sight):
    for one, other in combinations([METHODS[key] for key in group], 2):
        found = difference(one.color, other.color, sight)
        assert one.marker != other.marker, (one.name, other.name)
        assert found > CLEAR, (one.name, other.name, found)


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_text_can_be_read_on_white_and_keeps_its_colour_if_it_can(color):
    assert contrast(text_color(color)) >= 4.5
    if contrast(color) >= 4.5:
        assert text_color(color) == pytest.approx(color)


# Names at the ends of lines


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(1, 20)), min_size=1, max_size=8))
def test_spread_out_boxes_do_not_overlap_and_stay_where_they_can(boxes):
    boxes.sort()
    centres, heights = np.array(boxes).T
    placed = spread_out(centres, heights)
    gaps = np.diff(placed) - (heights[1:] + heights[:-1]) / 2
    assert (gaps > -1e-9).all()
    # What is moved balances: names of a group are moved about its middle.
    assert placed.mean() == pytest.approx(centres.mean(), abs=1e-6)
    apart = np.diff(centres) >= (heights[1:] + heights[:-1]) / 2
    if apart.all():
        np.testing.assert_allclose(placed, centres, atol=1e-9)


def ends_of(ax):
    return [text for text in ax.texts if text.get_label() == END]


def test_names_of_lines_that_end_together_are_moved_apart_and_make_room():
    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    ax.set(xscale="log", yscale="log", xlim=(1, 100), ylim=(1e-3, 1))
    for number in range(4):
        ends = [0.5, 0.01 * (1 + 0.01 * number)]
        ax.plot([1, 100], ends, label=f"a long name {number}")
    freeze(figure)
    boxes = sorted((Text.get_window_extent(label) for label in ends_of(ax)), key=lambda b: b.y0)
    for lower, upper in pairwise(boxes):
        assert lower.y1 <= upper.y0 + 1
    assert all(box.x1 <= figure.bbox.x1 and box.x0 >= ax.bbox.x1 for box in boxes)


def test_a_line_out_of_view_has_no_name():
    figure, (ax, turned, legend) = plt.subplots(1, 3)
    ax.plot([0, 1], [2.0, np.nan], label="out")
    ax.plot([0, 1, 2], [0.2, 0.4, 7.0], label="in")
    ax.plot([0, 1], [0.3, 0.3])
    ax.set_ylim(0, 1)
    turned.plot([1, 2], [0.2, 0.8], label="turned round")
    turned.set(xlim=(3, 0), ylim=(0, 1))
    legend.plot([0, 1], [0.2, 0.2], label="in the legend")
    legend.legend()
    freeze(figure)
    assert [(label.get_text(), label.xy[1]) for label in ends_of(ax)] == [("in", 0.4)]
    assert ends_of(turned)[0].xy[1] == 0.2
    assert not ends_of(legend)


def test_frozen_layout_is_the_same_in_each_format(tmp_path):
    figure, ax = plt.subplots(figsize=(WIDTH, 3), layout="constrained")
    ax.set_ylabel("some quantity")
    state(figure, "A finding of so many words that it needs more lines than one " * 3, "a note")
    freeze(figure)
    places = []
    for name in ("a.png", "a.svg", "b.png"):
        figure.savefig(tmp_path / name)
        places.append(ax.get_position().bounds)
    assert len(set(places)) == 1
    texts = (figure._suptitle, figure._supxlabel)
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in texts)
