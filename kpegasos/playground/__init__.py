"""Pegasos in the browser: points drawn by hand, a model at every step, its objective and bound.

Lives here: the page, plain JavaScript under ``static``, which has its own engine and needs no
Python; a server of its files, and a notebook widget, which exchanges points and settings with it.
May import: everything of the package. No room imports it.
`Playground` needs anywidget: ``pip install kpegasos[playground]``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["Playground"]

#: Where the page's files are.
STATIC = Path(__file__).parent / "static"


def __getattr__(name: str) -> Any:
    if name == "Playground":
        from kpegasos.playground.widget import Playground

        return Playground
    raise AttributeError(f"module 'kpegasos.playground' has no attribute {name!r}")
