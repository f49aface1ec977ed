"""The playground beside the pages, ``playground/index.html``: a copy of the package's files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STATIC = Path(__file__).resolve().parent.parent.parent / "kpegasos" / "playground" / "static"


def copy_playground(app: Sphinx, exception: Exception | None) -> None:
    """Copy the playground into a built site."""
    if exception is None and app.builder.format == "html":
        shutil.copytree(STATIC, Path(app.outdir) / "playground", dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Copy when all pages are there."""
    app.connect("build-finished", copy_playground)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
