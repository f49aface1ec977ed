"""Pegasos in the browser: points drawn by hand, a model at every step, its objective and bound.

Lives here: messages and sessions, which know no transport; a server and a notebook widget, which
know nothing of models; the page, plain JavaScript under ``static``.
May import: everything of the package. No room imports it.
`Playground` needs anywidget and the server websockets: ``pip install kpegasos[playground]``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Playground", "serve"]


def __getattr__(name: str) -> Any:
    if name == "Playground":
        from kpegasos.playground.widget import Playground

        return Playground
    if name == "serve":
        from kpegasos.playground.server import serve

        return serve
    raise AttributeError(f"module 'kpegasos.playground' has no attribute {name!r}")
