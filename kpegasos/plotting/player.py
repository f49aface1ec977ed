"""Files of moving pictures: GIF, and a page with a player that needs no network.

matplotlib's page loads the signs on its buttons from another site, gives its elements random names,
and holds frames in full colour. Here the signs are characters, the same frames make the same page,
and frames have a palette.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from matplotlib.animation import HTMLWriter, PillowWriter
from PIL import Image

#: Signs on the buttons, by the names of the icons that they stand for, as HTML.
_SIGNS = {
    "fa-minus": "&#8722;",
    "fa-fast-backward": "&#124;&#9664;&#xFE0E;",
    "fa-step-backward": "&#8249;",
    "fa-play fa-flip-horizontal": "&#9664;&#xFE0E;",
    "fa-pause": "&#10074;&#10074;",
    "fa-play": "&#9654;&#xFE0E;",
    "fa-step-forward": "&#8250;",
    "fa-fast-forward": "&#9654;&#xFE0E;&#124;",
    "fa-plus": "+",
}
_LINK = re.compile(r"<link\b[^>]*>\s*")
_ICON = re.compile(r'<i class="fa ([^"]*)"></i>')
_FRAME = re.compile(r'(?<="data:image/png;base64,)[^"]+')
_NAME = re.compile(r"_anim_img([0-9a-f]{32})")


class PageWriter(HTMLWriter):
    """Writer of a page with a player, which works without a network."""

    def finish(self) -> None:
        """Write the page, and put characters in the place of icons."""
        super().finish()
        page = Path(self.outfile)
        page.write_text(self_contained(page.read_text(encoding="utf-8")), encoding="utf-8")


class GifWriter(PillowWriter):
    """Writer of a GIF whose last frame may stay for longer."""

    _frames: list[Image.Image]

    def hold(self, n_frames: int) -> None:
        """Show the frame that was grabbed last for so many frames more, without drawing it."""
        self._frames += self._frames[-1:] * n_frames


def self_contained(page: str) -> str:
    """Return matplotlib's page of an animation without what it loads, its names made of itself.

    Parameters
    ----------
    page : str
        HTML that `matplotlib.animation.HTMLWriter` wrote, its frames embedded.

    Returns
    -------
    str
        The page that needs nothing else.
    """
    page = _FRAME.sub(lambda frame: _smaller(frame[0]), _LINK.sub("", page))
    page = _ICON.sub(lambda icon: _SIGNS.get(icon[1], icon[1].removeprefix("fa-")), page)
    found = _NAME.search(page)
    if found:
        bare = page.replace(found[1], "")
        page = page.replace(found[1], hashlib.sha256(bare.encode()).hexdigest()[:32])
    return page


def _smaller(frame: str) -> str:
    """Return an embedded picture with a palette, which takes a quarter of the room."""
    picture = Image.open(BytesIO(b64decode(frame.replace("\\\n", "")))).convert("RGB")
    file = BytesIO()
    picture.quantize(dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return b64encode(file.getvalue()).decode("ascii")


#: Makers of a writer by the end of the file's name, from frames per second.
WRITERS: dict[str, Callable[[int], GifWriter | PageWriter]] = {
    ".gif": lambda fps: GifWriter(fps=fps),
    ".html": lambda fps: PageWriter(fps=fps, embed_frames=True),
}
