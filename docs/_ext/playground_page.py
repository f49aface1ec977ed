"""The playground beside the pages: ``playground/index.html``, on the engine that runs in a browser.

The package's own files are copied as they are, but for the page that a server of Python sends: its
place is taken by the one that needs no server.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STATIC = Path(__file__).resolve().parent.parent.parent / "kpegasos" / "playground" / "static"
#: The page that needs no server, and files that only the other one has.
PAGE, SERVED = "standalone.html", ("index.html", "start.js")


def copy_playground(app: Sphinx, exception: Exception | None) -> None:
    """Copy the playground into a built site."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "playground"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(STATIC, folder, ignore=shutil.ignore_patterns(*SERVED))
    (folder / PAGE).rename(folder / "index.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Copy when all pages are there."""
    app.connect("build-finished", copy_playground)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
