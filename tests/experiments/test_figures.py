"""Every figure, from the committed results: it says what it shows, and its texts can be read."""

import struct
from itertools import combinations

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from experiments._plots import STYLE, WIDTH
from experiments._results import document
from experiments._run import ROOT, discover, load

#: Smallest text in points; at 900 pixels it is 11 pixels high.
SMALLEST = 8.0


def _texts(figure):
    """Boxes of all texts that are shown; of ticks those within the axes."""
    figure.draw_without_rendering()
    ticks = [
        tick
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
    ]
    beyond = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not (ax.axison and low <= tick.get_loc() <= high):
                    beyond |= {tick.label1, tick.label2}
    everything = [*figure.findobj(Text), *(t.label1 for t in ticks), *(t.label2 for t in ticks)]
    shown = {
        text
        for text in everything
        if text.get_visible() and text.get_text().strip() and text not in beyond
    }
    return {text: Text.get_window_extent(text) for text in shown}


def faults(figure):
    """Return what is wrong with a figure, a sentence each."""
    found, page, boxes = [], figure.bbox, _texts(figure)
    if figure._suptitle is None:
        found.append("the figure has no title")
    for text, box in boxes.items():
        said = repr(text.get_text())
        if box.x0 < -1 or box.y0 < -1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1:
            found.append(f"{said} leaves the page")
        if text.get_fontsize() < SMALLEST - 1e-9:
            found.append(f"{said} has {text.get_fontsize():g} points")
    upright = [each for each in boxes.items() if each[0].get_rotation() % 90 == 0]
    for (one, first), (other, second) in combinations(upright, 2):
        both = Bbox.intersection(first, second)
        if both is not None and both.width > 1 and both.height > 1:
            found.append(f"{one.get_text()!r} lies over {other.get_text()!r}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", discover())
def test_figure_says_what_it_shows_and_can_be_read(name):
    results = document(ROOT / "experiments" / "results" / f"{name}.json")["results"]
    png = (ROOT / "figures" / f"{name}.png").read_bytes()
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = load(name).plot(results)
        if name != "first_look":  # which is what the README's code draws
            assert faults(figure) == []
            assert 4 <= len(figure.get_suptitle().split()) <= 10
            assert struct.unpack(">I", png[16:20])[0] == WIDTH * STYLE["savefig.dpi"]
        plt.close(figure)
