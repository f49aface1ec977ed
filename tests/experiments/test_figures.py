"""Every figure, from the committed results: it states a finding, and its texts can be read."""

import json
import re
import struct

import matplotlib
import pytest
from figure_checks import faults
from matplotlib import pyplot as plt

from experiments._catalog import HERE, ROOT, discover
from experiments._plots import STYLE, WIDTH

EXPERIMENTS = {
    name: experiment
    for name, experiment in discover().items()
    if (HERE / "results" / f"{name}.json").exists()
}


def drawn(name):
    results = json.loads((HERE / "results" / f"{name}.json").read_bytes())["results"]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**STYLE, "backend": "agg"})
        figure = EXPERIMENTS[name].load().plot(results)
        found = faults(figure)
    title = figure.get_suptitle()
    plt.close(figure)
    return found, title


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_figure_states_a_finding_and_can_be_read(name):
    found, title = drawn(name)
    assert found == []
    # A sentence: it has a verb's worth of words, and is no name of a panel.
    assert len(title.split()) >= 6, title


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_published_figure_has_the_one_width_in_both_formats(name):
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
    for words in (
        "4 inches",
        "no finding",
        "'one over' lies over",
        "has 5 points",
        "leaves the page",
    ):
        assert words in found, words
