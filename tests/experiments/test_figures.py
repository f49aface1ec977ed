"""Every figure, from the committed results: it states a finding, and its texts can be read."""

import json
import re
import struct
from itertools import combinations

import matplotlib
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from experiments._catalog import HERE, ROOT, discover
from experiments._plots import END, STYLE, WIDTH, freeze

#: Smallest text in points; at 900 pixels it is 11 pixels high.
SMALLEST = 8.0


def _shown(texts):
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def _overlap(one, other):
    """Whether two boxes have more than a pixel in common, both ways."""
    both = Bbox.intersection(one, other)
    return both is not None and both.width > 1 and both.height > 1


def _box(text):
    """Where a text is, without empty lines at its top."""
    box, words = Text.get_window_extent(text), text.get_text()
    empty = len(words) - len(words.lstrip("\n"))
    share = empty / (words.rstrip("\n").count("\n") + 1)
    return Bbox.from_extents(box.x0, box.y0, box.x1, box.y1 - share * box.height)


def _ticks(axis):
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    within = [tick for tick in ticks if low <= tick.get_loc() <= high]
    return _shown([tick.label1 for tick in within] + [tick.label2 for tick in within])


def _texts(ax):
    """Names, notes and titles of axes, without the ticks."""
    titles = [ax.title, ax._left_title, ax._right_title]
    written = [child for child in ax.get_children() if isinstance(child, Text)]
    legends = [] if ax.get_legend() is None else ax.get_legend().get_texts()
    return _shown(list(dict.fromkeys([*titles, *written, *legends])))


def faults(figure):
    """Lay a figure out and return what is wrong with it, a sentence each."""
    freeze(figure)
    found = []
    if abs(figure.get_figwidth() - WIDTH) > 1e-9:
        found.append(f"the figure is {figure.get_figwidth():g} inches wide and not {WIDTH:g}")
    if figure._suptitle is None or not figure._suptitle.get_text().strip():
        found.append("the figure states no finding")
    everything = _shown([text for text in (figure._suptitle, figure._supxlabel) if text])
    for ax in figure.axes:
        if not ax.axison and not ax.get_visible():
            continue
        for axis in (ax.xaxis, ax.yaxis):
            everything += _ticks(axis) + _shown([axis.label]) if ax.axison else []
        everything += _texts(ax)
    everything += _shown(text for legend in figure.legends for text in legend.get_texts())
    boxes = {text: _box(text) for text in everything}
    page = figure.bbox
    for text, box in boxes.items():
        said, panel = repr(text.get_text()), text.axes and text.axes.bbox
        if box.x0 < -1 or box.y0 < -1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1:
            found.append(f"{said} leaves the page")
        if text.get_label() == END and not panel.y0 - 14 <= box.y0 <= box.y1 <= panel.y1 + 14:
            found.append(f"{said} leaves its panel")
        if text.get_fontsize() < SMALLEST - 1e-9:
            found.append(f"{said} has {text.get_fontsize():g} points")
    # The boxes of others are not tight.
    upright = [each for each in boxes.items() if each[0].get_rotation() % 90 == 0]
    for (one, first), (other, second) in combinations(upright, 2):
        if _overlap(first, second):
            found.append(f"{one.get_text()!r} lies over {other.get_text()!r}")
    return found


EXPERIMENTS = {
    name: experiment
    for name, experiment in discover().items()
    if (HERE / "results" / f"{name}.json").exists()
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_figure_states_a_finding_and_can_be_read(name):
    results = json.loads((HERE / "results" / f"{name}.json").read_bytes())["results"]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**STYLE, "backend": "agg"})
        figure = EXPERIMENTS[name].load().plot(results)
        assert faults(figure) == []
    # A sentence: it has a verb's worth of words, is no name of a panel, and leaves numbers below.
    title = figure.get_suptitle()
    assert 5 <= len(title.split()) <= 9
    assert not re.search(r"\d", title)
    plt.close(figure)
    png = (ROOT / "figures" / f"{name}.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert width == WIDTH * STYLE["savefig.dpi"]
    svg = (ROOT / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert float(size[1]) == pytest.approx(72 * WIDTH)
    assert float(size[2]) / float(size[1]) == pytest.approx(height / width, abs=1e-3)


def test_checks_see_what_is_wrong():
    figure, ax = plt.subplots(figsize=(4, 3), layout="constrained")
    ax.text(0.5, 0.5, "one over", transform=ax.transAxes)
    ax.text(0.52, 0.5, "the other", transform=ax.transAxes, fontsize=5)
    ax.text(1.5, 0.5, "far out", transform=ax.transAxes).set_in_layout(False)
    found = " ".join(faults(figure))
    for words in ("4 inches", "no finding", "'one over' lies over", "has 5 points", "the page"):
        assert words in found
