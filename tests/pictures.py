"""Figures held against small pictures in ``tests/baseline``.

Pictures have no text and no layout that makes room for it, since fonts differ between machines.
After a wanted change, ``UPDATE_BASELINES=1 python -m pytest tests/plotting tests/test_docs.py``
draws them again.
"""

import os
from collections.abc import Callable
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib import rc_context, rcdefaults
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

_BASELINE = Path(__file__).parent / "baseline"
#: Root mean square over all pixels: what smoothing may change, but no lost line or ring.
_TOLERANCE = 2.0


def _draw(picture: Callable[[Axes], object], path: Path) -> None:
    with rc_context():
        rcdefaults()
        _, ax = plt.subplots(figsize=(4, 3))
        picture(ax)
        figure = plt.gcf()  # which may be another one
        for text in figure.findobj(Text):
            text.set_visible(False)
        figure.set_layout_engine("none")
        figure.savefig(path, dpi=60, metadata={"Software": None})
        plt.close("all")


def difference(picture: Callable[[Axes], object], name: str, folder: Path) -> str | None:
    """Say how far a picture is from the one of this name, if it is too far."""
    expected, actual = _BASELINE / f"{name}.png", folder / f"{name}.png"
    if os.environ.get("UPDATE_BASELINES") and picture.__name__ == name:
        _BASELINE.mkdir(exist_ok=True)
        _draw(picture, expected)
    _draw(picture, actual)
    message: str | None = compare_images(str(expected), str(actual), _TOLERANCE)
    return message


def texts(legend: Legend) -> list[str]:
    """Texts of a legend."""
    return [text.get_text() for text in legend.get_texts()]
